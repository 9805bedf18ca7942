"""Clocks that differ by an hour decide nothing: who leads is told by what changes, not by when.

What a controller with a wrong clock would write into the Lease is written on the wire.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.support.api import Api
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.probes import probe
from tests.e2e.support.processes import Controller
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import Measurements, eventually, measured
from tests.e2e.support.wire import Call, Wire, wire

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{RELEASE_NAMESPACE}/leases"
NAME = "lnamespace-controller"
FAILOVER = 180.0
"""Seconds, on a busy machine too; who believed that clock would wait for an hour."""

ROUNDS = 4
"""So many times one that waits looks at the Lease, and could take it by mistake."""

AHEAD, BEHIND = timedelta(hours=1), timedelta(hours=-1)

_TIME = re.compile(rb'(?<="renewTime":")[^"]+')


@dataclass
class Replica:
    """A controller with a clock of its own."""

    process: Controller
    line: Wire
    error: timedelta = timedelta()
    looked: int = 0

    def __post_init__(self) -> None:
        self.line.plan, self.line.wording = self._count, self._wrong

    @property
    def leads(self) -> bool:
        return "\nlnamespace_controller_leader 1.0\n" in probe(self.process, "/metrics")[1]

    def _count(self, call: Call) -> None:
        self.looked += call.method == "GET" and call.path.startswith(LEASES)

    def _wrong(self, call: Call) -> bytes:
        if not call.path.startswith(LEASES):
            return call.body
        time = (datetime.now(UTC) + self.error).isoformat(timespec="microseconds")
        return _TIME.sub(time.replace("+00:00", "Z").encode(), call.body)


@pytest.fixture
def pair(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[Replica, Replica]]:
    """Two controllers in place of the one that is there otherwise; not started."""
    token = cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
    cluster.controller.stop()
    with ExitStack() as stack:
        stack.callback(cluster.controller.start)
        first = stack.enter_context(replica(token, tmp_path / "a"))
        yield first, stack.enter_context(replica(token, tmp_path / "b"))


@contextmanager
def replica(token: Path, folder: Path) -> Iterator[Replica]:
    folder.mkdir()
    with wire(token) as line:
        lease = f"{RELEASE_NAMESPACE}/{NAME}"
        own = line.kubeconfig(token, folder)
        process = Controller(own, folder / "controller.log", LNAMESPACE_LEASE=lease)
        try:
            yield Replica(process, line)
        finally:
            process.stop()
    assert process.defect not in process.log()


def renewed(admin: Api) -> datetime:
    """When the Lease was renewed, as its holder says."""
    time: str = admin.get(f"{LEASES}/{NAME}")["spec"]["renewTime"]
    return datetime.fromisoformat(time)


@pytest.mark.thorough
def test_wrong_clocks_do_not_affect_leader_election(
    pair: tuple[Replica, Replica], tenants: Tenants, admin: Api, measurements: Measurements
) -> None:
    first, second = pair
    first.error = BEHIND
    first.process.start()
    eventually(lambda: first.leads)
    second.process.start()
    # By its renewal it seems to be over since long.
    eventually(lambda: second.looked >= ROUNDS)
    assert first.leads
    assert not second.leads
    assert renewed(admin) < datetime.now(UTC) + BEHIND / 2
    tenants.make("clocks", users=["una"])

    # Its clock is set; and by its last renewal it seems to be good for another hour.
    first.error = AHEAD
    eventually(lambda: renewed(admin) > datetime.now(UTC) + AHEAD / 2)
    first.process.kill()
    took = measured(lambda: second.leads, FAILOVER, tick=0.1)
    measurements.note("leader killed whose clock was ahead, the next one leads", took)
    tenants.make("clocks", users=["una"])
