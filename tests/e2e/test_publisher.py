"""The ledger's process, with the rights that the chart gives it: killed, and nothing lost."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.e2e.support.api import GROUP, Api, Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import REPOSITORY
from tests.e2e.support.processes import Publisher
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

RECORDS = f"/apis/{GROUP}/v1beta1/billingrecords"
COMMAND = REPOSITORY / ".venv" / "bin" / "lnamespace"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return a database of its own."""
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def publisher(cluster: Cluster, url: str) -> Iterator[Publisher]:
    """Yield the publisher, running."""
    process = cluster.publisher(url)
    process.start()
    yield process
    process.stop()
    assert process.defect not in process.log()


def rows(cluster: Cluster, url: str) -> list[Object]:
    """Return what the ledger has, by the command that people use."""
    shown = ("ledger", "show", "--ledger-url", url, "--all-clusters")
    found: list[Object] = json.loads(cluster.run(COMMAND, *shown, "-o", "json").ok())
    return found


def test_a_killed_publisher_loses_and_duplicates_no_event(
    cluster: Cluster, publisher: Publisher, url: str, tenants: Tenants, admin: Api
) -> None:
    names = [tenants.name("billed") for _ in range(12)]
    for number, name in enumerate(names):
        tenants.create(name, managers=["ann"], billing={"costCenter": "one"})
        if number % 4 == 3:
            publisher.kill()
            publisher.start()
    tenants.all_ready(names)
    for number, name in enumerate(names):
        tenants.edit(name, billing={"costCenter": "two"})
        if number % 6 == 5:
            publisher.kill()
            publisher.start()
    tenants.all_ready(names)
    for name in names[:3]:
        tenants.delete(name)
    eventually(lambda: admin.items(RECORDS) == [], 240)
    shown = rows(cluster, url)
    for name in names:
        found = [row for row in shown if row["namespace"] == name]
        assert max(Counter(row["event_id"] for row in found).values()) == 1
        told = [(row["operation"], row["cost_center"]) for row in found]
        ended = [("DELETE", "two")] if name in names[:3] else []
        assert told == [("APPLY", "one"), ("APPLY", "two"), *ended]
        moments = [datetime.fromisoformat(row["valid_from"]) for row in found]
        assert moments == sorted(moments)


def test_an_unavailable_database_delays_only_the_publisher(
    cluster: Cluster, tenants: Tenants, admin: Api, tmp_path: Path
) -> None:
    process = cluster.publisher("postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=1")
    process.start()
    try:
        name = tenants.make("unbilled", managers=["ann"], billing={"costCenter": "one"})
        uid = tenants.get(name)["metadata"]["uid"]
        waiting = [item["metadata"]["name"] for item in admin.items(RECORDS)]
        assert any(each.startswith(uid) for each in waiting)
    finally:
        process.stop()
    url = f"sqlite:///{tmp_path}/later.db"
    later = cluster.publisher(url)
    later.start()
    try:
        eventually(lambda: admin.items(RECORDS) == [], 240)
        assert [row["cost_center"] for row in rows(cluster, url) if row["namespace"] == name] == [
            "one"
        ]
    finally:
        later.stop()
