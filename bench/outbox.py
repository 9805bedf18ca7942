"""What the outbox costs: ``python -m bench.outbox``.

Create to Ready while the ledger's database is there and while it is not, in turns on one control
plane, so that whatever else the machine does meets both. Then records put into the outbox all at
once, until the publisher has written them into a file and deleted each: the whole way, with its
start. One delete is one write to etcd, which is what that time is made of.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from uuid import uuid4

from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    billingrecords,
    manifest,
)
from lnamespace.model.names import Names

from bench.client import Bare, connect, each
from bench.latency import Latency, creation
from bench.plane import Plane, Process, plane
from bench.report import Row, machine, table, write

OUTBOX = billingrecords(Names()).path()
NOWHERE = "postgresql+psycopg://nobody@127.0.0.1:1/nothing"
WARM_UP = 5
AT_ONCE = 16
PATIENCE = 600.0


@dataclass(frozen=True)
class Figures:
    """The seconds of each creation with the database up and down, and of publishing all records."""

    up: list[float]
    down: list[float]
    published: float


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(f"{machine()}; {chosen.samples} samples each", file=sys.stderr)
    with plane() as fresh, fresh.controller():
        found = asyncio.run(_measure(fresh, chosen))
    up, down = Latency.of(found.up), Latency.of(found.down)
    each_ms = found.published / chosen.count * 1000
    rows = [
        Row("create to Ready, ledger down / up, p50", "ms", down.p50, up.p50, "<= 1.1"),
        Row("create to Ready, ledger down / up, p99", "ms", down.p99, up.p99),
        Row(f"publish {chosen.count} records, end to end", "s", found.published),
        Row("  each", "ms", each_ms),
    ]
    print(table(rows))
    write(chosen.json, rows, {"up, seconds": found.up, "down, seconds": found.down})
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.outbox", description=__doc__)
    parser.add_argument("--samples", type=int, default=120, help="creations, up and down [120]")
    parser.add_argument("--turns", type=int, default=4, help="turns of up and down [4]")
    parser.add_argument("--count", type=int, default=2000, help="records to publish [2000]")
    parser.add_argument("--json", type=Path, default=Path("build/bench-outbox.json"))
    return parser.parse_args()


async def _measure(fresh: Plane, chosen: argparse.Namespace) -> Figures:
    numbers = iter(range(1_000_000))
    database = f"sqlite:///{fresh.directory}/ledger.db"
    async with connect(fresh.admin_kubeconfig) as admin:
        up: list[float] = []
        down: list[float] = []
        for _ in range(chosen.turns):
            for url, samples in ((NOWHERE, down), (database, up)):
                with _publisher(fresh, url):
                    if url is database:
                        await _drained(admin)
                    count = WARM_UP + chosen.samples // chosen.turns
                    samples.extend((await _creations(admin, numbers, count))[WARM_UP:])
        return Figures(up, down, await _publishing(fresh, admin, chosen.count))


async def _creations(admin: Bare, numbers: Iterator[int], count: int) -> list[float]:
    sample, seconds = creation(admin), []
    for _ in range(count):
        seconds.append(await sample(next(numbers)))
        await asyncio.sleep(0.05)  # For the machine to be idle again.
    return seconds


async def _publishing(fresh: Plane, admin: Bare, count: int) -> float:
    """Return the seconds from the publisher's start until no record is left."""
    at = datetime.now(UTC)
    bodies = [manifest(_record(at), Names()) for _ in range(count)]
    await each(AT_ONCE, bodies, lambda body: admin.post(OUTBOX, body))
    started = perf_counter()
    with _publisher(fresh, f"sqlite:///{fresh.directory}/published.db"):
        await _drained(admin)
        return perf_counter() - started


async def _drained(admin: Bare) -> None:
    """Wait until all present records are gone; a comparison may add others meanwhile."""
    async with asyncio.timeout(PATIENCE), admin.watch(OUTBOX) as events:
        left = {item["metadata"]["name"] for item in (await admin.get(OUTBOX))["items"]}
        while left:
            event = await anext(events)
            if event["type"] == "DELETED":
                left.discard(event["object"]["metadata"]["name"])


@contextmanager
def _publisher(fresh: Plane, url: str) -> Iterator[Process]:
    variables = {"LNAMESPACE_LEDGER_URL": url, "LNAMESPACE_CLUSTER_NAME": "bench"}
    variables["LNAMESPACE_FLUSH_SECONDS"] = "1"
    with fresh.process("ledger", "publish", **variables) as process:
        yield process


def _record(at: datetime) -> BillingRecord:
    uid = str(uuid4())
    return BillingRecord(
        event_id=f"{uid}/1/{BillingOperation.APPLY}",
        operation=BillingOperation.APPLY,
        namespace=f"team-{uid}",
        lnamespace_uid=uid,
        generation=1,
        valid_from=at,
        recorded_at=at,
        requester="somebody@example.com",
        changed_by="somebody@example.com",
        billing_source="Explicit",
        cost_center="4711",
        owner="owner@example.com",
        team="reds",
        environment="production",
        labels={"application": "shop"},
        operator_version="0",
    )


if __name__ == "__main__":
    sys.exit(main())
