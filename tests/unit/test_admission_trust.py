"""What is written where, so that replicas share a certificate and the API server trusts it."""

import asyncio
import base64
import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.aio.client import Configuration
from lnamespace.admission.certificates import trust
from lnamespace.admission.certificates.keypairs import CertificateSpec, KeyPair, trusts
from lnamespace.admission.certificates.keypairs import problem as keypair_problem
from lnamespace.admission.certificates.rotation import SharedPair, SharedState
from lnamespace.admission.certificates.secret import SecretReference, manifest_of, state_of
from lnamespace.admission.certificates.tls import MountedCertificate, ServingCertificate
from lnamespace.admission.certificates.trust import GeneratedCertificate
from lnamespace.errors import ClusterError, Conflict
from lnamespace.kube.client import Client
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.model.names import Names

from tests.unit.support.reviews import TERMS, fresh, until

NOW = datetime.now(UTC)
PAIR, NEXT = fresh(), fresh()
PLACE = SecretReference("system", "webhook")
SECRET = "/api/v1/namespaces/system/secrets/webhook"  # noqa: S105 - a path
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{REGISTRATION}/mutatingwebhookconfigurations/lnamespace-webhook"
VALIDATING = f"{REGISTRATION}/validatingwebhookconfigurations/lnamespace-webhook"
DEFINITION = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lnamespaces.tenancy.loblaw.digital"
)

Object = dict[str, Any]


def configuration(*bundles: bytes) -> Object:
    return {
        "metadata": {"name": "x", "resourceVersion": "7", "labels": {"a": "b"}},
        "webhooks": [
            {
                "name": f"{index}.example",
                "clientConfig": {"url": "https://x", "caBundle": base64.b64encode(b).decode()},
                "timeoutSeconds": 5,
                "of a later version": [1],
            }
            for index, b in enumerate(bundles)
        ],
    }


def definition(conversion: Object) -> Object:
    return {"metadata": {"name": "y", "resourceVersion": "8"}, "spec": {"conversion": conversion}}


WEBHOOK = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}}}
STATES = st.builds(
    SharedState,
    *(
        st.none()
        | st.builds(SharedPair, st.just(pair), st.none() | st.datetimes(timezones=st.just(UTC)))
        for pair in (PAIR, NEXT)
    ),
)


@given(STATES)
def test_the_state_survives_a_round_trip_through_the_secret(state: SharedState) -> None:
    assert state_of(manifest_of(PLACE, state)) == state


@given(STATES, STATES)
def test_a_changed_secret_keeps_nothing_of_the_old_state(
    before: SharedState, after: SharedState
) -> None:
    there = manifest_of(PLACE, before)
    merge(there, manifest_of(PLACE, after, "7"))
    assert state_of(there) == after


@given(
    st.dictionaries(
        st.sampled_from(["tls.crt", "tls.key", "trusted-since", "next.tls.crt"]),
        st.text() | st.none() | st.integers(),
    )
)
def test_garbage_in_the_secret_counts_as_absent(data: Object) -> None:
    state = state_of({"data": data})
    for held in (state.current, state.next):
        assert held is None or keypair_problem(held.pair, NOW)


@pytest.mark.parametrize("secret", [{}, {"data": None}, {"data": []}, {"data": "x"}])
def test_an_empty_secret_has_no_state(secret: Object) -> None:
    assert state_of(secret) == SharedState()


def test_a_time_without_a_zone_counts_as_absent() -> None:
    secret = manifest_of(PLACE, SharedState(SharedPair(PAIR, NOW)))
    said = NOW.replace(tzinfo=None).isoformat().encode()
    secret["data"]["trusted-since"] = base64.b64encode(said).decode()
    assert state_of(secret) == SharedState(SharedPair(PAIR))


def test_a_certificate_is_valid_for_localhost_too() -> None:
    terms = CertificateSpec.of_options(("door.example", "localhost"), 24, 60)
    assert terms.names == ("door.example", "localhost", "127.0.0.1", "::1")
    assert (terms.life, terms.settle) == (timedelta(hours=24), timedelta(seconds=60))


def test_injection_changes_the_bundles_and_nothing_else() -> None:
    found = configuration(b"", PAIR.ca)
    change = trust.injection(found, SharedState(SharedPair(NEXT)), NOW)
    assert change
    assert change["metadata"] == {"resourceVersion": "7"}
    first, second = trust.bundles_of(change)
    assert first == NEXT.ca
    assert trusts(second, PAIR)
    assert trusts(second, NEXT)
    for webhook in (*found["webhooks"], *change["webhooks"]):
        del webhook["clientConfig"]["caBundle"]
    assert change["webhooks"] == found["webhooks"]


def test_injection_into_the_definition_changes_its_bundle_alone() -> None:
    change = trust.injection(definition(WEBHOOK), SharedState(SharedPair(PAIR)), NOW)
    bundle = base64.b64encode(PAIR.ca).decode()
    conversion = {"webhook": {"clientConfig": {"caBundle": bundle}}}
    assert change == {"metadata": {"resourceVersion": "8"}, "spec": {"conversion": conversion}}


@pytest.mark.parametrize(
    "found",
    [
        {},
        configuration(),
        configuration(PAIR.ca),
        definition({"strategy": "None"}),
        {"metadata": {}, "spec": {}},
    ],
)
def test_an_object_with_the_right_bundles_is_not_written(found: Object) -> None:
    assert trust.injection(found, SharedState(SharedPair(PAIR)), NOW) is None


def merge(target: Object, change: Object) -> None:
    """JSON merge patch, RFC 7386."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            target[key] = target.get(key) or {}
            merge(target[key], value)
        else:
            target[key] = value


class Cluster:
    """Objects by their paths, each with a version, as an API server keeps them."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, Object] = {}
        self.writes: list[str] = []
        self.broken = False
        for path, found in (
            (MUTATING, configuration(b"", b"")),
            (VALIDATING, configuration(b"")),
            (DEFINITION, definition(WEBHOOK)),
        ):
            self.put(path, copy.deepcopy(found))

    def put(self, path: str, found: Object) -> None:
        self.version += 1
        found["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path] = found

    async def answer(self, request: web.BaseRequest) -> web.Response:
        if self.broken:
            return web.Response(status=500)
        body = json.loads(await request.read() or b"null")
        match request.method:
            case "GET":
                found = self.objects.get(request.path)
                return web.json_response(found, status=200 if found else 404)
            case "POST":
                return self.create(f"{request.path}/{body['metadata']['name']}", body)
            case "PATCH":
                return self.patch(request.path, body)
        return web.Response(status=405)

    def create(self, path: str, body: Object) -> web.Response:
        if path in self.objects:
            return web.json_response({"reason": "AlreadyExists"}, status=409)
        self.writes.append(path)
        self.put(path, body)
        return web.json_response(body, status=201)

    def patch(self, path: str, body: Object) -> web.Response:
        found = self.objects[path]
        if body["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            return web.json_response({"reason": "Conflict"}, status=409)
        self.writes.append(path)
        merge(found, body)
        self.put(path, found)
        return web.json_response(found)

    @property
    def bundles(self) -> list[bytes]:
        paths = (MUTATING, VALIDATING, DEFINITION)
        return [bundle for path in paths for bundle in trust.bundles_of(self.objects[path])]


class Replica:
    """One that looks when told to, by a clock that the test turns."""

    def __init__(self, client: Client) -> None:
        self.now = NOW
        self.metrics = WebhookMetrics.new()
        self.identity = ServingCertificate(self.metrics)
        self.source = GeneratedCertificate(
            client, PLACE, Names(), TERMS, self.identity, self.metrics, lambda: self.now
        )

    @property
    def pair(self) -> KeyPair | None:
        return self.identity.pair


@asynccontextmanager
async def running(cluster: Cluster) -> AsyncIterator[Client]:
    runner = web.ServerRunner(web.Server(cluster.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    settings = Configuration()
    settings.host = f"http://{host}:{port}"
    try:
        async with Client(settings) as client:
            yield client
    finally:
        await runner.cleanup()


async def test_the_first_reconcile_shares_serves_and_injects_a_pair() -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replica = Replica(client)
        assert replica.identity.problem() == "there is no certificate yet"
        await replica.source.reconcile()
    assert replica.pair
    assert replica.identity.problem() is None
    assert cluster.bundles == [replica.pair.ca] * 4
    assert cluster.objects[SECRET]["type"] == "kubernetes.io/tls"
    assert state_of(cluster.objects[SECRET]) == SharedState(SharedPair(replica.pair))


async def test_nothing_is_written_when_nothing_is_due() -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replica = Replica(client)
        await replica.source.reconcile()
        await replica.source.reconcile()
        before = len(cluster.writes)
        await replica.source.reconcile()
    assert len(cluster.writes) == before


async def test_a_second_replica_serves_the_same_pair() -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        first, second = Replica(client), Replica(client)
        await first.source.reconcile()
        await first.source.reconcile()
        second.now += TERMS.settle
        await second.source.reconcile()
    assert first.pair == second.pair


async def test_two_replicas_that_start_at_once_share_one_pair() -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replicas = [Replica(client) for _ in range(2)]
        for _ in range(5):
            looks = (replica.source.reconcile() for replica in replicas)
            found = await asyncio.gather(*looks, return_exceptions=True)
            assert all(error is None or isinstance(error, Conflict) for error in found)
        for replica in replicas:
            replica.now += TERMS.settle
            await replica.source.reconcile()
    assert replicas[0].pair == replicas[1].pair


async def test_a_renewal_passes_through_two_replicas() -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replicas = [Replica(client) for _ in range(2)]
        for replica in replicas * 2:
            await replica.source.reconcile()
        first = replicas[0].pair
        for hours in range(0, 48, 4):
            for replica in replicas:
                replica.now = NOW + timedelta(hours=hours)
                await replica.source.reconcile()
                assert replica.pair
                assert all(trusts(b, replica.pair) for b in cluster.bundles)
    assert replicas[0].pair == replicas[1].pair != first


async def test_a_bundle_that_somebody_changes_is_restored() -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replica = Replica(client)
        await replica.source.reconcile()
        cluster.put(MUTATING, configuration(b"", b"garbage"))
        await replica.source.reconcile()
    assert replica.pair
    assert cluster.bundles == [replica.pair.ca] * 4


@pytest.mark.parametrize("spoilt", [None, b"garbage", NEXT.certificate])
async def test_a_garbled_secret_is_replaced_while_the_old_pair_is_served(
    spoilt: bytes | None,
) -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replica = Replica(client)
        await replica.source.reconcile()
        first = replica.pair
        if spoilt is None:
            del cluster.objects[SECRET]
        else:
            cluster.objects[SECRET]["data"]["tls.crt"] = base64.b64encode(spoilt).decode()
        await replica.source.reconcile()
        assert replica.pair == first
        for _ in range(2):
            await replica.source.reconcile()
            replica.now += TERMS.settle
        await replica.source.reconcile()
        assert replica.pair != first


async def test_a_failing_api_server_does_not_change_the_served_pair(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    async with running(cluster) as client:
        replica = Replica(client)
        await replica.source.reconcile()
        pair, cluster.broken = replica.pair, True
        keeping = asyncio.create_task(trust.keep_current(replica.source, replica.metrics))
        await until(lambda: "certificate not looked after" in caplog.messages)
        assert not keeping.done()
        keeping.cancel()
    assert replica.pair == pair
    failures = "lnamespace_webhook_trust_failures_total"
    assert (replica.metrics.registry.get_sample_value(failures) or 0) >= 1


class FailsOnce:
    """A source that can be looked at from the second time on."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.looks = 0

    async def reconcile(self) -> None:
        self.looks += 1
        if self.looks == 1:
            raise self.error


@pytest.mark.parametrize(
    ("error", "failures"),
    [(Conflict("x"), 0), (ClusterError("x"), 1), (OSError("x"), 1), (RuntimeError("x"), 1)],
)
async def test_a_failed_reconcile_is_retried_and_a_conflict_is_no_failure(
    error: Exception, failures: int
) -> None:
    source, metrics = FailsOnce(error), WebhookMetrics.new()
    keeping = asyncio.create_task(trust.keep_current(source, metrics))
    await until(lambda: source.looks == 2 or keeping.done())
    assert not keeping.done()
    keeping.cancel()
    counted = metrics.registry.get_sample_value("lnamespace_webhook_trust_failures_total")
    assert counted == failures


def write(folder: Path, pair: KeyPair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


async def test_files_are_served_when_they_form_a_pair(tmp_path: Path) -> None:
    identity = ServingCertificate(WebhookMetrics.new())
    files = MountedCertificate(tmp_path, identity)
    with pytest.raises(FileNotFoundError):
        await files.reconcile()
    write(tmp_path, PAIR)
    await files.reconcile()
    assert identity.pair
    assert identity.pair.key == PAIR.key
    (tmp_path / "tls.crt").write_bytes(NEXT.certificate)
    await files.reconcile()
    assert identity.pair.key == PAIR.key
    write(tmp_path, NEXT)
    await files.reconcile()
    assert identity.pair.key == NEXT.key
