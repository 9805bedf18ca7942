"""Few definitions of an LCluster wait at a time for their objects to be deleted."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from lnamespace.gateway.objects.deletion_turns import DeletionTurns
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.kube.prefixed import MOST_WAITING
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.server import DEADLINE
from tests.unit.support.translation import ACME


@dataclass
class Call:
    """A call of a tenant, of which the parameters are used."""

    dry: str = ""
    view: Any = ACME

    def parameter(self, name: str) -> str:
        return self.dry if name == "dryRun" else ""


@dataclass
class Response:
    status: int = 200


@dataclass
class Definitions:
    """Definitions by whether they are being deleted, as the watch has them."""

    found: dict[str, bool] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    status: int = 200

    def turns(self, patience: float = 0.0) -> DeletionTurns:
        return DeletionTurns(lambda tenant: self.found if tenant == "acme" else {}, patience)

    async def delete(self, turns: DeletionTurns, name: str, dry: str = "") -> int:
        async def send() -> Answer:
            await asyncio.sleep(0)
            self.sent.append(name)
            return cast("Any", Response(self.status)), b""

        response, _ = await turns.send(cast("Any", Call(dry)), name, send)
        return response.status


def named(*letters: str) -> dict[str, bool]:
    return {f"{letter}.acme-example.com": False for letter in letters}


async def test_no_more_are_deleted_while_some_wait_for_their_objects() -> None:
    """Ten of one LCluster kept all workers of the API server, which has five, from all others."""
    seen = Definitions(named("a", "b", "c", "d"))
    turns, names = seen.turns(), [*seen.found]
    deletions = [seen.delete(turns, name) for name in names]
    answers = await asyncio.gather(*deletions, return_exceptions=True)
    refused = [each for each in answers if isinstance(each, Refused)]
    assert len(seen.sent) == MOST_WAITING == len(names) - len(refused)
    assert refused[0].status.code == 429
    assert refused[0].status.message.startswith("a.example.com and b.example.com are being deleted")
    # A second deletion of one changes nothing, and a dry run deletes nothing.
    assert await seen.delete(turns, names[0]) == 200
    assert await seen.delete(turns, names[3], dry="All") == 200


async def test_a_deletion_that_the_watch_has_reported_counts_in_another_process() -> None:
    seen = Definitions(named("c") | dict.fromkeys(named("a", "b"), True))
    with pytest.raises(Refused):
        await seen.delete(seen.turns(), "c.acme-example.com")


async def test_a_deletion_waits_until_an_earlier_one_is_done() -> None:
    seen = Definitions(named("a", "b", "c"))
    turns = seen.turns(DEADLINE)
    for name in [*seen.found][:MOST_WAITING]:
        await seen.delete(turns, name)
    waiting = asyncio.create_task(seen.delete(turns, "c.acme-example.com"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    del seen.found["a.acme-example.com"]
    async with asyncio.timeout(DEADLINE):
        assert await waiting == 200


async def test_a_deletion_that_is_refused_does_not_count() -> None:
    seen = Definitions(named("a", "b", "c"), status=403)
    turns = seen.turns()
    for name in seen.found:
        assert await seen.delete(turns, name) == 403
    assert len(seen.sent) == 3
