"""The ledger's process: its disk is full, the API server fails it. Each event is there once."""

import resource
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.e2e.support.api import Api, Object
from tests.e2e.support.cluster import LEDGER_ACCOUNT, RELEASE_NAMESPACE, Cluster
from tests.e2e.support.ledger import Ledger, drained, outbox
from tests.e2e.support.probes import probe
from tests.e2e.support.processes import Publisher
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import Measurements, eventually, measured
from tests.e2e.support.wire import Call, Kind, Trouble, Wire, every_other, wire

pytestmark = pytest.mark.thorough

UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture
def ledger(cluster: Cluster, tmp_path: Path) -> Ledger:
    """Return a database of its own, with what was there already."""
    found = Ledger(cluster, f"sqlite:///{tmp_path}/ledger.db")
    found.publish()
    return found


def rows(ledger: Ledger, names: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return what the ledger has of each namespace, by one command: each event once."""
    found: dict[str, list[Object]] = {name: [] for name in names}
    for row in ledger.show():
        if row["namespace"] in found:
            found[row["namespace"]].append(row)
    each = Counter(row["event_id"] for rows in found.values() for row in rows)
    assert max(each.values(), default=1) == 1
    return {
        name: [(row["operation"], row["cost_center"]) for row in rows]
        for name, rows in found.items()
    }


def complete(ledger: Ledger, wanted: dict[str, list[tuple[str, str]]]) -> None:
    """Wait until all is there: the record of a deletion is made a moment after it."""
    eventually(lambda: rows(ledger, wanted) == wanted, 240, tick=0.2)


def billed(tenants: Tenants, count: int = 4) -> dict[str, list[tuple[str, str]]]:
    """LNamespaces whose payers change; what the ledger must say of each."""
    names = [tenants.name("faulty-bill") for _ in range(count)]
    for name in names:
        tenants.create(name, managers=["ann"], billing={"costCenter": "one"})
    tenants.all_ready(names)
    for name in names:
        tenants.edit(name, billing={"costCenter": "two"})
    tenants.all_ready(names)
    tenants.delete(names[0])
    told = [("APPLY", "one"), ("APPLY", "two")]
    return {name: told + [("DELETE", "two")] * (name == names[0]) for name in names}


def test_a_full_disk_loses_and_duplicates_no_event(
    cluster: Cluster, ledger: Ledger, tenants: Tenants, admin: Api, measurements: Measurements
) -> None:
    """No file of the process may grow any further, which is what a full disk comes to."""
    with ledger.published() as publisher:
        eventually(lambda: probe(publisher, "/readyz")[0] == 200)
        publisher.limit(resource.RLIMIT_FSIZE, 0)  # Its log cannot grow either.
        wanted = billed(tenants)
        eventually(lambda: probe(publisher, "/readyz")[0] == 503)
        eventually(lambda: "the ledger: " in probe(publisher, "/readyz")[1])
        assert probe(publisher, "/livez")[0] == 200
        assert outbox(admin)
        assert not any(rows(ledger, wanted).values())
        publisher.limit(resource.RLIMIT_FSIZE, UNLIMITED)
        took = measured(lambda: not outbox(admin), tick=0.1)
        measurements.note("disk not full any more, ledger complete", took)
        complete(ledger, wanted)
    assert rows(ledger, wanted) == wanted
    assert cluster.controller.running


@pytest.fixture
def line(cluster: Cluster) -> Iterator[Wire]:
    """Yield the publisher's only way to the API server."""
    with wire(cluster.token(RELEASE_NAMESPACE, LEDGER_ACCOUNT)) as it:
        yield it


TROUBLES = {
    "500": Trouble(Kind.REFUSED, 500, "InternalError"),
    "carried out and cut": Trouble(Kind.LOST),
    "410": Trouble(Kind.EXPIRED),
}


@pytest.mark.parametrize("how", ["carried out and cut", "410", "500"])
def test_a_failing_api_server_loses_and_duplicates_no_event(
    how: str, line: Wire, ledger: Ledger, tenants: Tenants, admin: Api, tmp_path: Path
) -> None:
    trouble = TROUBLES[how]

    def meant(call: Call) -> bool:
        return call.watches if trouble.kind is Kind.EXPIRED else True

    token = ledger.cluster.token(RELEASE_NAMESPACE, LEDGER_ACCOUNT)
    own = line.kubeconfig(token, tmp_path)
    publisher = Publisher(
        own,
        tmp_path / "by-wire.log",
        ledger.url,
        LNAMESPACE_CLUSTER_NAME="main",
        LNAMESPACE_PROJECT_ID="fin-ops",
    )
    try:
        with line.trouble(every_other(trouble, meant)):
            publisher.start()
            wanted = billed(tenants, 2)
            line.cut()
            complete(ledger, wanted)
            drained(admin, 240)
    finally:
        publisher.stop()
    assert publisher.defect not in publisher.log()
    assert rows(ledger, wanted) == wanted
