"""The loop that signs the requests of all LClusters."""

import asyncio
from typing import Any, cast

import pytest
from lnamespace.gateway.namespaces import WatchedObject
from lnamespace.gateway.signer import Signer


async def test_a_request_that_cannot_be_signed_ends_nothing_for_others(
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
    async with asyncio.timeout(5):
        assert await signed.get() == "beta-robot"
    work.cancel()
