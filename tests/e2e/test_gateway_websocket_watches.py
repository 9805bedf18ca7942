"""Watches by WebSocket, as browsers and Java's clients open them.

Headlamp and consoles in a browser watch so, and fabric8's client for Java tries it first. The
gateway answered them with chunks of HTTP, which are no answer to a WebSocket: pages stood still.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from tests.e2e.support.api import NAMESPACES, Api, Object, ns_path, rbac_path
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.stream_clients import web_socket
from tests.e2e.support.tenants import Tenants, service_account
from tests.e2e.support.waiting import eventually

HERE = "frames"
BEARER = "base64url.bearer.authorization.k8s.io."
WAIT = 30


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def resident(cluster: GatewayCluster, people: People) -> Resident:
    """Return a sudoer of an LCluster with a namespace."""
    made = LClusters(cluster, people)
    made.make("screens", "wendy", sudoers=("wendy",))
    found = made.resident("screens", "wendy")
    found.api.create(NAMESPACES, {"metadata": {"name": HERE}})
    return found


@pytest.fixture(scope="module")
def root(resident: Resident) -> Api:
    return resident.api.acting("wendy", "system:masters")


def event(opened: ClientConnection) -> tuple[str, Object]:
    """Return the type and the object of the next event that is no bookmark."""
    message = opened.recv(WAIT)
    assert isinstance(message, str), "it is text, as JSON is"
    read = json.loads(message)
    return read["type"], read["object"]


def rest(opened: ClientConnection) -> Iterator[tuple[str, Object]]:
    """Yield all events until the watch is closed."""
    with suppress(ConnectionClosed):
        while True:
            yield event(opened)


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def watched(api: Api, path: str) -> str:
    """Return the path of a watch from now on."""
    version = api.get(path, limit="1")["metadata"]["resourceVersion"]
    return f"{path}?watch=true&resourceVersion={version}"


@pytest.mark.parametrize("everywhere", [False, True], ids=["a namespace", "all namespaces"])
def test_a_websocket_watch_sends_the_same_events_as_the_api_server(
    cluster: GatewayCluster, resident: Resident, everywhere: bool
) -> None:
    direct = ns_path("default", "configmaps")
    maps = ns_path(HERE, "configmaps")
    of_all = "/api/v1/configmaps"
    seen = []
    for api, made_in, asked in (
        (cluster.admin, direct, of_all if everywhere else direct),
        (resident.api, maps, of_all if everywhere else maps),
    ):
        with web_socket(api, watched(api, asked)) as opened:
            api.create(made_in, config_map("screen", text="x"))
            api.patch(f"{made_in}/screen", {"data": {"text": "y"}})
            api.delete(f"{made_in}/screen")
            events: list[tuple[str, str, Object, list[str]]] = []
            while len(events) < 3:
                kind, found = event(opened)
                if found["metadata"].get("name") == "screen":
                    events.append((kind, found["kind"], found["data"], list(found)))
            assert opened.ping().wait(WAIT), "nobody answers a ping"
            opened.close()
            assert opened.close_code == 1000
            seen.append(events)
    assert seen[0] == seen[1]


def test_a_websocket_watch_closes_normally_at_its_timeout(resident: Resident) -> None:
    path = watched(resident.api, ns_path(HERE, "configmaps"))
    with web_socket(resident.api, f"{path}&timeoutSeconds=1") as opened:
        list(rest(opened))
        assert opened.close_code == 1000


def test_a_token_sent_as_a_websocket_protocol_is_not_echoed(
    cluster: GatewayCluster, resident: Resident, root: Api
) -> None:
    """The API server agrees on the protocol besides, and so do we."""
    root.create(ns_path(HERE, "serviceaccounts"), {"metadata": {"name": "page"}})
    body = {
        "metadata": {"name": "page"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "page", "namespace": HERE}],
    }
    root.create(rbac_path("rolebindings", namespace=HERE), body)
    path = ns_path(HERE, "serviceaccounts", "page/token")
    token = root.create(path, {"spec": {}})["status"]["token"]
    encoded = BEARER + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    page = resident.api.with_token(token, cluster.certificates / "page.kubeconfig")
    eventually(lambda: page.answer("GET", ns_path(HERE, "configmaps")).status == 200)
    maps = watched(page, ns_path(HERE, "configmaps"))
    anonymous = page.with_token("x", cluster.certificates / "nobody.kubeconfig")
    for protocols in ((encoded, "base64.binary.k8s.io"), ("base64.binary.k8s.io", encoded)):
        with web_socket(anonymous, maps, *protocols, headers=()) as opened:
            assert opened.subprotocol == "base64.binary.k8s.io"
    wrong = BEARER + base64.urlsafe_b64encode(b"wrong").decode().rstrip("=")
    for refused in ((encoded,), (wrong, "base64.binary.k8s.io")):
        with (
            pytest.raises(InvalidStatus) as told,
            web_socket(anonymous, maps, *refused, headers=()),
        ):
            pass
        assert told.value.response.status_code == 401


def test_invalid_watch_requests_are_refused_before_the_handshake(resident: Resident) -> None:
    api, maps = resident.api, ns_path(HERE, "configmaps")
    for path, headers, status in (
        (f"{maps}?watch=true&labelSelector=a+b+c", (), 400),
        (f"{maps}?watch=true", (("Sec-WebSocket-Version", "8"),), 400),
        (f"{maps}?watch=true", (("Accept", "application/vnd.kubernetes.protobuf"),), 406),
        ("/api/v1/namespaces/elsewhere/nothings?watch=true", (), 404),
    ):
        with (
            pytest.raises(InvalidStatus) as told,
            web_socket(api, path, headers=(*api.headers, *headers)),
        ):
            pass
        response = told.value.response
        assert response.status_code == status, path
        assert json.loads(response.body or b"")["kind"] == "Status"


def test_pings_are_answered_but_not_within_a_fragmented_event(resident: Resident) -> None:
    """A long event is written in parts; a reply among them would be a part of it."""
    api, maps = resident.api, ns_path(HERE, "configmaps")
    long = "x" * 900_000
    with web_socket(api, watched(api, maps)) as opened:
        made = threading.Thread(
            target=lambda: [api.create(maps, config_map(f"long{n}", text=long)) for n in range(4)]
        )
        made.start()
        pings = []
        for number in range(4):
            pings += [opened.ping() for _ in range(200)]
            kind, found = event(opened)
            assert (kind, found["metadata"]["name"]) == ("ADDED", f"long{number}")
            assert found["data"]["text"] == long
        made.join()
        assert all(each.wait(WAIT) for each in pings)


def test_a_watch_ignores_small_client_messages_and_closes_on_large_messages(
    resident: Resident,
) -> None:
    api = resident.api
    path = watched(api, ns_path(HERE, "configmaps"))
    with web_socket(api, path) as opened:
        opened.send("x" * 5000)
        with pytest.raises(ConnectionClosed):
            opened.recv(WAIT)
        assert opened.close_code == 1009, "too big"
    with web_socket(api, path) as opened:
        for _ in range(2000):
            opened.send("hello")
        api.create(ns_path(HERE, "configmaps"), config_map("after"))
        assert event(opened)[1]["metadata"]["name"] == "after"


def test_revocation_updates_and_ends_a_websocket_watch_at_mine(
    cluster: GatewayCluster, people: People
) -> None:
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "screen-people"}})
    caller = cluster.behind("mine", people.account("screen-people", "milo")).api
    milo = service_account("screen-people", "milo")
    tenants = Tenants(cluster.admin)
    team = tenants.make("screened", users=[milo])
    eventually(lambda: team in names(caller))
    with web_socket(caller, f"{NAMESPACES}?watch=true") as opened:
        assert event(opened)[1]["metadata"]["name"] == team
        tenants.edit(team, users=["somebody"])
        kind, found = event(opened)
        assert (kind, found["metadata"]["name"]) == ("DELETED", team)
    tenants.edit(team, users=[milo])
    eventually(lambda: team in names(caller))
    maps = ns_path(team, "configmaps")
    eventually(lambda: caller.answer("GET", maps).status == 200)
    with web_socket(caller, f"{maps}?watch=true") as opened:
        tenants.edit(team, users=["somebody"])
        list(rest(opened))


def names(api: Api) -> set[str]:
    return {each["metadata"]["name"] for each in api.items(NAMESPACES)}
