"""Deletions are recorded from what the API server shows, in time, and never fail for it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from lnamespace.access.conventions import lnamespace_resource
from lnamespace.admission import caller, deletions
from lnamespace.admission.decisions.review import AdmissionRequest, GroupVersionKind
from lnamespace.admission.deletions import OutboxDeletions, record_nothing
from lnamespace.kube.client import Client
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.model.lnamespace import KIND, VERSION

from tests.unit.support.admission import NAMES, manifest
from tests.unit.support.server import Exchange, Server, client_of, serving
from tests.unit.support.strategies import NOW

LNAMESPACES = lnamespace_resource(NAMES)
FORMER = {
    "costCenter": "1",
    "provenance": {"generation": 2, "effectiveAt": "2026-01-01T00:00:00Z", "source": "User"},
}
PRESENT = {
    "costCenter": "2",
    "provenance": {"generation": 4, "effectiveAt": "2026-02-01T00:00:00Z", "source": "Explicit"},
    "superseded": [FORMER],
}


def request(operation: Any = "DELETE", **more: Any) -> AdmissionRequest:
    kind = GroupVersionKind(NAMES.group, VERSION, KIND)
    return AdmissionRequest("r-1", kind, operation, name="team-a", **more)


def shown(recorded: int = 4, namespace_uid: str = "n-1") -> dict[str, Any]:
    """Return an LNamespace as the API server shows it."""
    status = {"recorded": {"generation": recorded}, "namespaceUID": namespace_uid}
    lns = manifest({"billing": PRESENT}) | {"status": status}
    lns["metadata"] |= {"uid": "u-1", "generation": 5}
    return lns


class Webhook:
    """What records deletions, and the API server behind it."""

    def __init__(self, server: Server, client: Client) -> None:
        outbox = OutboxClient(client, NAMES)
        self.server = server
        self.deletions = OutboxDeletions(client, LNAMESPACES, outbox, lambda: NOW, self._miss)
        self.missed = 0

    async def asked(self, about: AdmissionRequest) -> tuple[asyncio.Task[None], Exchange]:
        """Return what is under way, and the look at the LNamespace that it begins with."""
        task = asyncio.create_task(self.deletions.record(about))
        exchange = await self.server.next("GET")
        assert exchange.path == LNAMESPACES.path("team-a")
        return task, exchange

    async def writes(self, *names: str, status: int = 201) -> list[dict[str, Any]]:
        """Return the records that are made, one after the other."""
        made = []
        for name in names:
            exchange = await self.server.next("POST")
            assert exchange.json["metadata"] == {"name": name}
            made.append(exchange.json["spec"])
            if status == 201:
                exchange.answer(exchange.json, status)
            else:
                exchange.refuse(status, "AlreadyExists" if status == 409 else "")
        return made

    def _miss(self) -> None:
        self.missed += 1


@pytest_asyncio.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serving() as server, client_of(server.url) as client:
        yield Webhook(server, client)


async def test_only_the_ending_record_is_written_after_a_recorded_charge(webhook: Webhook) -> None:
    task, look = await webhook.asked(request())
    look.answer(shown())
    (ending,) = await webhook.writes("u-1.5.ending")
    await task
    assert ending["operation"] == "ENDING"
    assert ending["validFrom"] == "2026-03-01T12:00:00Z"
    assert ending["costCenter"] == "2"
    assert (webhook.missed, webhook.server.arrived.empty()) == (0, True)


async def test_a_deletion_of_a_collection_takes_the_name_from_the_old_object(
    webhook: Webhook,
) -> None:
    all_ = msgspec.structs.replace(request(), name="", old_object=shown())
    task, look = await webhook.asked(all_)
    look.answer(shown())
    await webhook.writes("u-1.5.ending")
    await task


@pytest.mark.parametrize("old", [{}, {"metadata": 7}, {"metadata": {"name": ["x"]}}])
async def test_a_deletion_without_a_name_is_allowed_and_counted(
    webhook: Webhook, old: dict[str, Any]
) -> None:
    task = asyncio.create_task(
        webhook.deletions.record(msgspec.structs.replace(request(), name="", old_object=old))
    )
    (await webhook.server.next("GET")).answer({"items": []})
    await task
    assert webhook.missed == 1


@pytest.mark.parametrize(
    ("recorded", "names"), [(0, ["u-1.2.apply", "u-1.4.apply"]), (2, ["u-1.4.apply"])]
)
async def test_unrecorded_charges_are_written_first_and_in_order(
    webhook: Webhook, recorded: int, names: list[str]
) -> None:
    task, look = await webhook.asked(request())
    look.answer(shown(recorded))
    *_, last, _ = await webhook.writes(*names, "u-1.5.ending")
    await task
    assert (last["operation"], last["costCenter"]) == ("APPLY", "2")


async def test_a_record_that_exists_already_is_no_failure(webhook: Webhook) -> None:
    task, look = await webhook.asked(request())
    look.answer(shown(2))
    await webhook.writes("u-1.4.apply", "u-1.5.ending", status=409)
    await task
    assert webhook.missed == 0


async def test_the_old_object_of_a_request_is_not_trusted(webhook: Webhook) -> None:
    """Anybody can send requests to the port; only the API server knows the object."""
    lie = shown(0) | {"spec": {"billing": PRESENT | {"costCenter": "theirs"}}}
    task, look = await webhook.asked(request(old_object=lie))
    look.answer(shown())
    (ending,) = await webhook.writes("u-1.5.ending")
    await task
    assert ending["costCenter"] == "2"


async def test_an_lnamespace_without_a_namespace_is_not_recorded(
    webhook: Webhook,
) -> None:
    task, look = await webhook.asked(request())
    look.answer(shown(0, namespace_uid=""))
    await task
    assert (webhook.missed, webhook.server.arrived.empty()) == (0, True)


async def test_an_lnamespace_that_does_not_exist_is_not_recorded(webhook: Webhook) -> None:
    task, look = await webhook.asked(request())
    look.refuse(404, "NotFound")
    await task
    assert (webhook.missed, webhook.server.arrived.empty()) == (0, True)


@pytest.mark.parametrize(
    "about", [request(dry_run=True), request("UPDATE"), request("CREATE"), request("CONNECT")]
)
async def test_other_operations_and_dry_runs_are_not_recorded(
    webhook: Webhook, about: AdmissionRequest
) -> None:
    await webhook.deletions.record(about)
    assert webhook.server.arrived.empty()


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_an_api_server_that_refuses_does_not_stop_a_deletion(
    webhook: Webhook, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    task, look = await webhook.asked(request())
    look.answer(shown())
    await webhook.writes("u-1.5.ending", status=status)
    await task
    assert webhook.missed == 1
    assert "let through without a record" in caplog.text


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"metadata": 7}'])
async def test_an_api_server_that_answers_garbage_does_not_stop_a_deletion(
    webhook: Webhook, body: bytes
) -> None:
    task, look = await webhook.asked(request())
    look.answer(body)
    await task
    assert webhook.missed == 1


async def test_an_api_server_that_does_not_answer_does_not_stop_a_deletion(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deletions.PATIENCE < 3
    monkeypatch.setattr(deletions, "PATIENCE", 0.5)
    task, look = await webhook.asked(request())
    await task
    assert webhook.missed == 1
    look.cut()


async def test_no_record_is_written_without_a_client() -> None:
    await record_nothing(request())


async def test_a_record_is_not_written_twice_within_seconds(webhook: Webhook) -> None:
    """Otherwise each request to the port could cause a GET and a POST, without limit."""
    task, look = await webhook.asked(request())
    look.answer(shown())
    await webhook.writes("u-1.5.ending")
    await task
    task, look = await webhook.asked(request())
    look.answer(shown())
    await task
    assert webhook.server.arrived.empty()
    again = shown()
    again["metadata"]["uid"] = "u-2"
    task, look = await webhook.asked(request())
    look.answer(again)
    await webhook.writes("u-2.5.ending")
    await task


async def test_invented_deletions_delay_only_their_own_address(webhook: Webhook) -> None:
    caller.address.set("10.0.0.66")
    invented = [asyncio.create_task(webhook.deletions.record(request())) for _ in range(100)]
    looks = [await webhook.server.next("GET") for _ in range(deletions.CONCURRENT)]
    caller.address.set("10.0.0.1")
    task, look = await webhook.asked(request())
    look.answer(shown())
    await webhook.writes("u-1.5.ending")
    await task
    assert not any(one.done() for one in invented)
    for cancelled in invented:
        cancelled.cancel()
    for open_ in looks:
        open_.cut()
