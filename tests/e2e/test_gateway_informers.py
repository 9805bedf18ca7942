"""Clients that keep up by lists and watches lose nothing, whatever is cut or restarted."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import NAMESPACES, Api, ApiError, Unreachable, ns_path
from tests.e2e.support.cables import Cable, cable
from tests.e2e.support.cluster import RELEASE_NAMESPACE
from tests.e2e.support.gateway import (
    GATEWAY_ACCOUNT,
    GatewayCluster,
    GatewayProcess,
    LClusters,
    Resident,
)
from tests.e2e.support.informers import ClientGo, Informer, build_client_go, keeping_up, store_of
from tests.e2e.support.people import People
from tests.e2e.support.processes import free_port
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

TENANT = "informed"
SPACES = ("default", "one", "two")


@dataclass
class Line:
    """The way of clients to a gateway of their own, and its way to the API server."""

    gateway: GatewayProcess
    clients: Cable
    upstream: Cable
    resident: Resident


@pytest.fixture(scope="module")
def cluster(crashing_gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return a cluster whose API server crashes."""
    return crashing_gateway_cluster


@pytest.fixture(scope="module")
def line(
    cluster: GatewayCluster, people: People, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Line]:
    """Start a gateway of the file's own, with a cable at either side."""
    made, folder = LClusters(cluster, people), tmp_path_factory.mktemp("informers")
    root = made.make_administered(TENANT)
    for name in SPACES[1:]:
        root.create(NAMESPACES, {"metadata": {"name": name}})
    port = free_port()
    with cable(port) as clients, cable(_api_server(cluster)) as upstream:
        token = cluster.token(RELEASE_NAMESPACE, GATEWAY_ACCOUNT)
        through = upstream.kubeconfig(token, folder / "gateway.kubeconfig")
        log = folder / "gateway.log"
        gateway = GatewayProcess(through, log, port, cluster.certificates)
        gateway.start()
        inside = cluster.behind(TENANT, people.person("alice"))
        kubeconfig = clients.kubeconfig(inside.kubeconfig, folder / "alice.kubeconfig")
        try:
            yield Line(gateway, clients, upstream, Resident(inside.person, kubeconfig))
        finally:
            gateway.stop()
    assert gateway.defect not in gateway.log()


def _api_server(cluster: GatewayCluster) -> int:
    server: str = cluster.admin.address.netloc
    return int(server.rpartition(":")[2])


@dataclass
class Life:
    """Objects that come, change and go at the API server itself, until nobody wants more."""

    admin: Api
    created: dict[str, str] = field(default_factory=dict)
    """The uid of each, and its namespace."""
    deleted: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Make one in turn in each namespace, change each once, and delete all but a few."""
        number = 0
        while not self._stopped.is_set():
            number += 1
            namespace = SPACES[number % len(SPACES)]
            name = f"{threading.get_ident()}-{number}"
            try:
                self._live(namespace, name, stays=number % 7 == 0)
            except (ApiError, Unreachable):
                self.unsure.add(name)
            self._stopped.wait(0.02)

    def _live(self, namespace: str, name: str, *, stays: bool) -> None:
        path = ns_path(f"{TENANT}-{namespace}", "configmaps")
        made = self.admin.create(path, {"metadata": {"name": name}, "data": {"a": "1"}})
        uid = made["metadata"]["uid"]
        self.created[uid] = namespace
        self.admin.patch(f"{path}/{name}", {"data": {"a": "2"}})
        if not stays:
            self.admin.delete(f"{path}/{name}")
            self.deleted.add(uid)

    def stop(self) -> None:
        """Let it end."""
        self._stopped.set()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program with client-go's informer."""
    return build_client_go(tmp_path_factory.mktemp("client-go"))


Clients = Sequence[Informer]


@pytest.fixture(scope="module")
def informers(line: Line, program: Path) -> Iterator[Clients]:
    """Return all kinds of clients that keep up, each from before the first trouble."""
    resident = line.resident
    with keeping_up(program, resident.kubeconfig, resident.api, "one") as started:
        yield started


def live_through(
    cluster: GatewayCluster,
    informers: Clients,
    trouble: Callable[[], None],
    *,
    all_told: bool,
    may_list: bool = False,
) -> None:
    """Let objects live while something happens, and judge what each client was told.

    Parameters
    ----------
    all_told
        Whether all that was is still in the API server's memory: one that starts anew has
        forgotten what came and went before, as everybody knows who has a plain cluster.
    may_list
        Whether any client may be told to list again: one that comes back while a namespace joins
        has some of its objects, and no version says which.
    """
    life, listed = Life(cluster.admin), [each.listed for each in informers]
    thread = threading.Thread(target=life.run)
    thread.start()
    try:
        eventually(lambda: len(life.deleted) > 10)
        trouble()
        before = len(life.deleted)
        eventually(lambda: len(life.deleted) > before + 10)
    finally:
        life.stop()
        thread.join()
    for informer, before in zip(informers, listed, strict=True):
        confirm_same(cluster, informer)
        if all_told:
            confirm_told(informer, life, before, may_list)


def confirm_same(cluster: GatewayCluster, informer: Informer) -> None:
    """Confirm that a client comes to have what there is, and was not told that it is gone."""
    within = f"{TENANT}-one/" if _in_one(informer) else f"{TENANT}-"
    upstream = store_of(cluster.admin.items("/api/v1/configmaps"))
    there = {
        key.removeprefix(f"{TENANT}-"): value
        for key, value in upstream.items()
        if key.startswith(within)
    }

    def equal() -> bool:
        assert informer.store() == there, informer.name
        return True

    eventually(equal, what=f"{informer.name} has something else")
    there_still = {value.split("/")[0] for value in there.values()}
    assert informer.told.deleted().isdisjoint(there_still), informer.name


def confirm_told(informer: Informer, life: Life, listed: int, may_list: bool) -> None:
    """Confirm that a client comes to be told of all that was, in its order.

    client-go lists again after a watch that ends within a second, at once or some seconds later.
    It is not told then what came and went in between, through a plain API server neither. And it
    may be told again what its list had: another of its kind may have been told the list's version
    before what is older elsewhere.
    """
    told, only = informer.told, {"one"} if _in_one(informer) else set(SPACES)
    ours = {uid for uid, namespace in life.created.items() if namespace in only}

    def lists_again() -> bool:
        return (may_list or isinstance(informer, ClientGo)) and informer.listed > listed

    def is_told() -> bool:
        # First: what was created and deleted before a list is told by none.
        assert informer.listed == listed
        missed = (life.deleted & ours) - told.deleted() | (ours - told.created())
        assert not missed, {uid: told.events.get(uid) for uid in missed}
        assert told.disordered(ours) == []
        return True

    eventually(lambda: lists_again() or is_told(), what=f"{informer.name} was not told all")


def _in_one(informer: Informer) -> bool:
    return " in one" in informer.name or "/one/" in informer.name


def _gone(api: Api, path: str) -> bool:
    return api.find(path) is None


def test_informers_receive_every_event_while_no_fault_occurs(
    cluster: GatewayCluster, informers: Clients
) -> None:
    listed = [each.listed for each in informers]
    live_through(cluster, informers, lambda: None, all_told=True)
    assert [each.listed for each in informers] == listed
    assert [each.told.repeated() for each in informers] == [0] * len(informers)


def test_informers_lose_no_event_when_connections_are_cut(
    cluster: GatewayCluster, informers: Clients, line: Line
) -> None:
    def cut() -> None:
        for _ in range(5):
            line.clients.cut()
            eventually(lambda: line.clients.connections >= len(informers))

    live_through(cluster, informers, cut, all_told=True)


def test_informers_lose_no_event_when_connections_are_half_open(
    cluster: GatewayCluster, informers: Clients, line: Line
) -> None:
    def half_open() -> None:
        line.clients.half_open()
        eventually(lambda: line.clients.connections >= len(informers))
        line.upstream.half_open()

    live_through(cluster, informers, half_open, all_told=True)


def test_informers_lose_no_event_during_a_network_outage(
    cluster: GatewayCluster, informers: Clients, line: Line
) -> None:
    def away() -> None:
        line.upstream.unplug()
        line.clients.cut()
        eventually(lambda: line.gateway.position)
        line.upstream.plug_in()
        line.clients.unplug()
        line.clients.plug_in()

    live_through(cluster, informers, away, all_told=True)


@pytest.mark.parametrize("crashes", [True, False])
def test_informers_lose_no_event_when_the_gateway_restarts_or_crashes(
    cluster: GatewayCluster, informers: Clients, line: Line, crashes: bool
) -> None:
    def restart() -> None:
        end = line.gateway.kill if crashes else line.gateway.stop
        end()
        line.gateway.start()

    live_through(cluster, informers, restart, all_told=True)


def test_informers_lose_no_event_when_namespaces_are_created_and_deleted(
    cluster: GatewayCluster, informers: Clients, line: Line
) -> None:
    root = line.resident.api.acting("alice", "system:masters")
    before = [len(each.told.events) for each in informers]

    def come_and_go() -> None:
        for number in range(2):
            name = f"passing-{number}"
            root.create(NAMESPACES, {"metadata": {"name": name}})
            root.create(ns_path(name, "configmaps"), {"metadata": {"name": "in-it"}})
            root.delete(f"{NAMESPACES}/{name}")
            line.clients.cut()
            eventually(partial(_gone, root, f"{NAMESPACES}/{name}"))

    live_through(cluster, informers, come_and_go, all_told=True, may_list=True)
    assert all(len(each.told.events) > count for each, count in zip(informers, before, strict=True))


def test_informers_keep_all_objects_when_the_api_server_crashes(
    cluster: GatewayCluster, informers: Clients
) -> None:
    def crash() -> None:
        cluster.kill("kube-apiserver")
        cluster.up()

    live_through(cluster, informers, crash, all_told=False)


def test_a_watch_from_a_too_old_resource_version_gets_410_expired(
    cluster: GatewayCluster, line: Line
) -> None:
    """Everything before the last start is: clients list again."""
    del cluster
    for path in ("/api/v1/configmaps", ns_path("one", "configmaps")):
        query = "?watch=true&resourceVersion=1&timeoutSeconds=5"
        (event,) = line.resident.api.stream(path + query)
        assert event["type"] == "ERROR", path
        assert event["object"]["code"] == 410, path
        assert event["object"]["reason"] == "Expired", path


def test_client_go_informers_use_watch_list(informers: Clients, line: Line) -> None:
    """That is, these tests are about WatchList, not about the list that it falls back to."""
    streamed = [
        each for each in informers if isinstance(each, ClientGo) and "lists" not in each.name
    ]
    assert len(streamed) == 2
    log = line.gateway.audit_log.read_text()
    assert "sendInitialEvents=true" in log
