"""The webhook's process on a real cluster: renewed, killed, replaced, and nobody is refused."""

import http.client
import itertools
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import pytest

from tests.e2e.support.api import CONFIGURATIONS, CRD, LNAMESPACES, Api, ApiError
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.processes import Webhook, free_port
from tests.e2e.support.tenants import manifest
from tests.e2e.support.waiting import eventually

SECRET = "/api/v1/namespaces/lnamespace-system/secrets/lnamespace-webhook-certificate"  # noqa: S105


class Load:
    """Creations, each as a dry run, four at a time; keeps what was refused."""

    def __init__(self, admin: Api) -> None:
        self._admin = admin
        self._numbers = itertools.count()
        self.answered = 0
        self.refused: list[str] = []
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(4)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def grows(self, by: int = 20) -> None:
        """Wait for so many more answers."""
        goal = self.answered + by
        eventually(lambda: self.answered >= goal or bool(self.refused), what="no answers")
        assert self.refused == []

    def _ask(self) -> None:
        while not self._enough.is_set():
            name = f"webhook-load-{next(self._numbers)}"
            try:
                body = manifest(name, managers=["somebody"])
                self._admin.create(LNAMESPACES, body, dryRun="All")
                self.answered += 1
            except ApiError as error:
                # Of a kind that is just served anew: every client comes again after the pause
                # that it is told (a Retry-After).
                if "apiserver is shutting down" not in error.message:
                    self.refused.append(str(error))


def bundles(admin: Api) -> list[str]:
    entries = [entry for path in CONFIGURATIONS for entry in admin.get(path)["webhooks"]]
    clients = [entry["clientConfig"] for entry in entries]
    clients.append(admin.get(CRD)["spec"]["conversion"]["webhook"]["clientConfig"])
    return [client.get("caBundle", "") for client in clients]


def certificate(admin: Api) -> str:
    found: str = admin.get(SECRET)["data"]["tls.crt"]
    return found


def served(webhook: Webhook) -> int:
    return webhook.log().count("serving a certificate")


def ready(webhook: Webhook) -> bool:
    """Return what a Service asks before it sends anything."""
    connection = http.client.HTTPConnection("127.0.0.1", webhook.health, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def test_deleting_the_secret_renews_the_certificate_and_refuses_no_request(
    cluster: Cluster, admin: Api
) -> None:
    before, times = certificate(admin), served(cluster.webhook)
    with Load(admin) as load:
        load.grows()
        admin.delete(SECRET)
        eventually(lambda: served(cluster.webhook) > times, 240, what="not renewed")
        load.grows()
    assert load.refused == []
    assert certificate(admin) != before


@pytest.mark.thorough
def test_an_invalid_secret_is_replaced_under_load_and_refuses_no_request(
    cluster: Cluster, admin: Api
) -> None:
    times = served(cluster.webhook)
    with Load(admin) as load:
        admin.patch(SECRET, {"data": {"tls.crt": "Z2FyYmFnZQ==", "tls.key": "Z2FyYmFnZQ=="}})
        eventually(lambda: served(cluster.webhook) > times, 240, what="not renewed")
        load.grows()
    assert load.refused == []


def test_an_emptied_ca_bundle_is_restored(cluster: Cluster, admin: Api) -> None:
    assert cluster.webhook.running
    webhooks = admin.get(CONFIGURATIONS[0])["webhooks"]
    for webhook in webhooks:
        webhook["clientConfig"]["caBundle"] = ""
    admin.patch(CONFIGURATIONS[0], {"webhooks": webhooks})
    eventually(lambda: all(bundles(admin)), what="not trusted")


def test_a_crashed_webhook_restarts_with_the_same_certificate(cluster: Cluster, admin: Api) -> None:
    before = certificate(admin)
    cluster.webhook.kill()
    cluster.webhook.start()
    assert certificate(admin) == before
    with Load(admin) as load:
        load.grows()


class Balancer(socketserver.ThreadingTCPServer):
    """What a Service does: connections go to whoever says that it is ready, in turn."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, webhooks: dict[int, Webhook]) -> None:
        super().__init__(("127.0.0.1", port), _Relay)
        self._webhooks = webhooks
        self._turns = itertools.count()

    def choose(self) -> int | None:
        """Return the port of one that is ready."""
        there = [port for port, webhook in self._webhooks.items() if ready(webhook)]
        return there[next(self._turns) % len(there)] if there else None


class _Relay(socketserver.BaseRequestHandler):
    """One connection, there and back."""

    def handle(self) -> None:
        assert isinstance(self.server, Balancer)
        port = self.server.choose()
        if port is None:
            return
        with socket.create_connection(("127.0.0.1", port)) as there:
            back = threading.Thread(target=_pump, args=(there, self.request), daemon=True)
            back.start()
            _pump(self.request, there)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()


@contextmanager
def balanced(port: int, webhooks: dict[int, Webhook]) -> Iterator[None]:
    with Balancer(port, webhooks) as balancer:
        thread = threading.Thread(target=balancer.serve_forever)
        thread.start()
        try:
            yield
        finally:
            balancer.shutdown()
            thread.join()


def port_of(admin: Api) -> int:
    """Return the port at which the API server calls."""
    url = admin.get(CRD)["spec"]["conversion"]["webhook"]["clientConfig"]["url"]
    return int(url.rpartition(":")[2].partition("/")[0])


@pytest.fixture
def pair_of_webhooks(cluster: Cluster, admin: Api) -> Iterator[list[Webhook]]:
    """Two replicas behind a balancer, in place of the one that is there otherwise."""
    cluster.webhook.stop()
    ports = [free_port(), free_port()]
    # Of what the balancer heard of a webhook, it may make use so much later on a busy machine.
    drain = {"LNAMESPACE_DRAIN_SECONDS": "4"}
    webhooks = [cluster.another_webhook(f"webhook-{port}", port, **drain) for port in ports]
    try:
        with balanced(port_of(admin), dict(zip(ports, webhooks, strict=True))):
            for webhook in webhooks:
                webhook.start()
            yield webhooks
            for webhook in webhooks:
                webhook.stop()
    finally:
        cluster.webhook.start()


@pytest.mark.thorough
def test_a_rolling_restart_of_two_replicas_refuses_no_request(
    pair_of_webhooks: list[Webhook], admin: Api
) -> None:
    with Load(admin) as load:
        for webhook in pair_of_webhooks:
            load.grows()
            webhook.stop()
            load.grows()
            webhook.start()
        load.grows()
    assert load.refused == []
