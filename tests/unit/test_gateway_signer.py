"""The loop that signs the requests of all LClusters."""

import asyncio
from typing import Any, cast

import pytest
from lnamespace.errors import ClusterError, Invalid, Unreachable
from lnamespace.gateway.certificates import signer as module
from lnamespace.gateway.certificates.signer import Signer
from lnamespace.gateway.tenants.namespaces import WatchedObject

from tests.unit.support.reviews import DEADLINE, until


async def test_a_request_that_cannot_be_signed_does_not_stop_the_signer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signed = asyncio.Queue[str]()

    async def sign(_: Signer, item: WatchedObject) -> None:
        if item.name == "acme-strange":
            raise TypeError("a key of a kind that nobody has thought of")
        signed.put_nowait(item.name)

    monkeypatch.setattr(Signer, "_sign", sign)
    nothing = cast(Any, None)
    signer = Signer(nothing, "label", nothing, nothing)
    for name in ("acme-strange", "beta-robot"):
        signer._changed(None, WatchedObject("", name, 1, {}, b"{}"))  # noqa: SLF001
    work = asyncio.create_task(signer._work())  # noqa: SLF001
    async with asyncio.timeout(DEADLINE):
        assert await signed.get() == "beta-robot"
    work.cancel()


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        pytest.param(Unreachable("no answer"), 2, id="it may be written the next time"),
        pytest.param(Invalid("status.certificate"), 1, id="it would be refused for ever"),
    ],
)
async def test_a_status_write_is_retried_only_after_a_retryable_error(
    error: ClusterError, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def sign(_: Signer, item: WatchedObject) -> None:
        seen.append(item.name)
        if len(seen) == 1:
            raise error

    monkeypatch.setattr(Signer, "_sign", sign)
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    nothing = cast(Any, None)
    signer = Signer(nothing, "label", nothing, nothing)
    signer._changed(None, WatchedObject("", "acme-robot", 1, {}, b"{}"))  # noqa: SLF001
    work = asyncio.create_task(signer._work())  # noqa: SLF001
    await until(lambda: len(seen) >= attempts)
    await asyncio.sleep(0.05)
    work.cancel()
    assert len(seen) == attempts
