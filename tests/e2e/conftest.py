"""One cluster with our processes on it, for all tests that leave it alive.

What is shown beside a failing test is what they logged meanwhile; a process that logs a defect
of its own fails the test during which it did.
"""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# So that tests can import what they share as `tests.e2e.support`.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.support.api import Api
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster, running
from tests.e2e.support.gateway import GatewayCluster
from tests.e2e.support.instances import Instance, bare
from tests.e2e.support.people import People, Person
from tests.e2e.support.processes import Controller, Process, Webhook
from tests.e2e.support.published import PublishingCluster
from tests.e2e.support.rights import Rights
from tests.e2e.support.scheduling import SharedClusterScheduling, rank, shared_cluster
from tests.e2e.support.shared import SharedClusters, all_running, with_lclusters
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import Measurements
from tests.e2e.support.wire import Wire, wire

_MEASUREMENTS = pytest.StashKey[Measurements]()
_SHARED = pytest.StashKey[SharedClusters]()
_LOGS = pytest.StashKey[dict[Process, int]]()


def pytest_configure(config: pytest.Config) -> None:
    # An API server that starts spends a quarter of its time on garbage; helm and kubectl end soon.
    os.environ.setdefault("GOGC", "400")
    config.stash[_MEASUREMENTS] = Measurements()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop the cluster that files share after the last test of the last of them."""
    name = shared_cluster(item.path)
    known = item.config.stash.get(_SHARED, None)
    if known and name and (nextitem is None or shared_cluster(nextitem.path) != name):
        known.stop(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Time tests without their fixtures, and begin with the longest files.

    The first `up` on a machine builds for minutes. A long file that is the last to begin keeps one
    of several workers busy while the others have nothing to do.
    """
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(900, func_only=True))
    items.sort(key=lambda item: rank(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedClusterScheduling | None:
    by_file = config.getvalue("dist") == "loadfile"
    return SharedClusterScheduling(config, log) if by_file else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what a worker measured to the process that tells of it."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["measured"] = session.config.stash[_MEASUREMENTS].seconds


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker measured; one that crashed hands over nothing."""
    for what, seconds in getattr(node, "workeroutput", {}).get("measured", {}).items():
        for each in seconds:
            node.config.stash[_MEASUREMENTS].note(what, each)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if lines := config.stash[_MEASUREMENTS].lines():
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and _LOGS in item.stash:
        for process, since in item.stash[_LOGS].items():
            report.sections.append((f"log of {process}", process.tail(since)))
    return report


@pytest.fixture(scope="session")
def measurements(pytestconfig: pytest.Config) -> Measurements:
    """Return what is shown when all is done."""
    return pytestconfig.stash[_MEASUREMENTS]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start the cluster that the files share.

    A file that does what others would not survive has a fixture of this name by `own_cluster`, or
    by one that such files share; `admin`, `people`, `tenants` and `rights` are then of that one.
    """
    with running(tmp_path_factory.mktemp("e2e")) as shared:
        yield shared


@pytest.fixture(scope="session")
def shared_clusters(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedClusters]:
    """Return the clusters that several files share, each started by the first of them."""
    made = pytestconfig.stash[_SHARED] = SharedClusters(tmp_path_factory)
    yield made
    made.stop_all()


@pytest.fixture(scope="module")
def gateway_cluster(shared_clusters: SharedClusters) -> Iterator[GatewayCluster]:
    """Return the cluster that files about the gateway share, as their fixture `cluster`.

    Each has LClusters of names of its own, and leaves the gateway as it was. To kubectl all of them
    are at one address.
    """
    found = shared_clusters.running("gateway_cluster", GatewayCluster)
    yield found
    found.forget_discovery()


@pytest.fixture(scope="module")
def published_cluster(shared_clusters: SharedClusters) -> Iterator[GatewayCluster]:
    """Return the cluster that files about what the platform publishes share, likewise."""
    found = shared_clusters.running("published_cluster", PublishingCluster)
    yield found
    found.forget_discovery()


@pytest.fixture(scope="module")
def crashing_cluster(shared_clusters: SharedClusters) -> Cluster:
    """Return the cluster that files share which kill what is on it, with all of it running."""
    return all_running(shared_clusters.running("crashing_cluster", Cluster))


@pytest.fixture(scope="module")
def crashing_gateway_cluster(shared_clusters: SharedClusters) -> GatewayCluster:
    """Return the cluster with a gateway that files share which kill what is on it, likewise."""
    return all_running(shared_clusters.running("crashing_gateway_cluster", GatewayCluster))


@pytest.fixture(scope="module")
def lcluster_instance(shared_clusters: SharedClusters) -> Instance:
    """Return where files about LClusters without a gateway start controllers of their own."""
    return shared_clusters.entered("lcluster_instance", with_lclusters)


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster of the file's own."""
    with running(tmp_path_factory.mktemp("own")) as own:
        yield own


@cache
def _people(cluster: Cluster) -> People:
    return People(cluster)


@cache
def _tenants(cluster: Cluster) -> Tenants:
    return Tenants(cluster.admin)


@pytest.fixture
def controller(cluster: Cluster) -> Controller:
    """Return the controller on the cluster."""
    return cluster.controller


@pytest.fixture
def webhook(cluster: Cluster) -> Webhook:
    """Return the webhook of the cluster."""
    return cluster.webhook


@pytest.fixture(autouse=True)
def no_defect(request: pytest.FixtureRequest) -> Iterator[None]:
    """Watch the logs of our processes during each test that has a cluster with them."""
    cluster = "cluster" in request.fixturenames and request.getfixturevalue("cluster")
    if not isinstance(cluster, Cluster):
        yield
        return
    processes = cluster.ours
    logs = request.node.stash[_LOGS] = {process: process.position for process in processes}
    yield
    for process, since in logs.items():
        assert process.defect not in process.log(since)


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Api:
    """Return the administrator's requests."""
    return cluster.admin


@pytest.fixture(scope="module")
def people(cluster: Cluster) -> People:
    """Return everybody who can log in to the cluster, each made once."""
    return _people(cluster)


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    """Return somebody who can log in."""
    return people.person("alice")


@pytest.fixture(scope="module")
def tenants(cluster: Cluster) -> Tenants:
    """Return the LNamespaces of the cluster."""
    return _tenants(cluster)


@pytest.fixture(scope="module")
def rights(cluster: Cluster) -> Rights:
    """Return what anybody may do on the cluster."""
    return Rights(cluster.admin)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """Start a cluster of the file's own, on which nothing is installed yet."""
    with bare(tmp_path_factory.mktemp("release")) as instance:
        yield instance


@pytest.fixture(scope="module")
def line(cluster: Cluster) -> Iterator[Wire]:
    """Yield the controller's only way to the API server."""
    with wire(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)) as it:
        yield it


@pytest.fixture(scope="module")
def remote(
    cluster: Cluster, line: Wire, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    """Yield the controller at the other end of the wire, in place of the usual one."""
    folder = tmp_path_factory.mktemp("remote")
    token = cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
    controller = Controller(line.kubeconfig(token, folder), folder / "controller.log")
    cluster.controller.stop()
    with ExitStack() as stack:
        stack.callback(cluster.controller.start)
        stack.callback(controller.stop)
        controller.start()
        yield controller
    assert controller.defect not in controller.log()
