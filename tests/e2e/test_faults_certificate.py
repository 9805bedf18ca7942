"""The webhook's certificate has expired: while nobody looked after it, and under its hands."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from lnamespace.admission.certificates.keypairs import CertificateSpec, KeyPair, make_pair

from tests.e2e.support.api import CONFIGURATIONS, CRD, LNAMESPACES, Api, ApiError, Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.processes import Webhook, answers, trusted
from tests.e2e.support.tenants import manifest
from tests.e2e.support.waiting import Measurements, eventually, measured

SECRET = "/api/v1/namespaces/lnamespace-system/secrets/lnamespace-webhook-certificate"  # noqa: S105


@pytest.fixture
def webhook(cluster: Cluster) -> Iterator[Webhook]:
    """Yield the webhook; afterwards it runs, whatever happened."""
    yield cluster.webhook
    if not cluster.webhook.running:
        cluster.webhook.start()


def expired() -> KeyPair:
    """Return a pair as the webhook makes them, whose time was over a minute ago."""
    life = timedelta(hours=1)
    terms = CertificateSpec(("127.0.0.1",), life, timedelta(seconds=1))
    return make_pair(terms, datetime.now(UTC) - life - timedelta(minutes=1))


def plant(admin: Api, pair: KeyPair) -> None:
    """Have it shared, and trusted everywhere, as it was when it was good."""
    data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.ca}
    admin.patch(SECRET, {"data": {name: _encoded(value) for name, value in data.items()}})
    client = {"caBundle": _encoded(pair.ca)}
    for path in CONFIGURATIONS:
        webhooks = admin.get(path)["webhooks"]
        for webhook in webhooks:
            webhook["clientConfig"] |= client
        admin.patch(path, {"webhooks": webhooks})
    admin.patch(CRD, {"spec": {"conversion": {"webhook": {"clientConfig": client}}}})


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def certificate(admin: Api) -> str:
    found: Object = admin.get(SECRET)
    return str(found["data"]["tls.crt"])


def bundles(admin: Api) -> set[str]:
    """Whom the API server trusts, in all places."""
    entries = [entry for path in CONFIGURATIONS for entry in admin.get(path)["webhooks"]]
    conversion = admin.get(CRD)["spec"]["conversion"]["webhook"]
    return {entry["clientConfig"].get("caBundle", "") for entry in (*entries, conversion)}


def test_a_certificate_expired_during_downtime_is_renewed_at_startup(
    webhook: Webhook, admin: Api, measurements: Measurements
) -> None:
    webhook.stop()
    old = expired()
    plant(admin, old)
    webhook.launch()
    took = measured(lambda: _works(admin), tick=0.05)
    measurements.note("webhook started with an expired certificate, until it is asked", took)
    assert certificate(admin) != _encoded(old.certificate)
    # Else a later test would meet the changes of its definition that are yet to come.
    eventually(lambda: _encoded(old.ca) not in bundles(admin))
    eventually(lambda: _works(admin) and trusted(admin))


def test_an_expired_certificate_put_into_the_secret_is_never_served(
    webhook: Webhook, admin: Api, measurements: Measurements
) -> None:
    old = expired()
    data = {"tls.crt": _encoded(old.certificate), "tls.key": _encoded(old.key)}
    admin.patch(SECRET, {"data": data | {"ca.crt": _encoded(old.ca)}})

    broken: list[str] = []

    def renewed() -> bool:
        broken.extend(_failure(admin))  # All the time.
        return certificate(admin) != data["tls.crt"]

    took = measured(renewed, tick=0.1)
    measurements.note("an expired certificate in the Secret, until it is replaced", took)
    assert broken == []
    assert webhook.running
    eventually(lambda: answers(admin) and trusted(admin))


def _works(admin: Api) -> bool:
    try:
        return answers(admin)
    except ApiError:
        return False


def _failure(admin: Api) -> list[str]:
    """Return the API server's words if it could not speak to the webhook."""
    try:
        admin.create(LNAMESPACES, manifest("knock-knock", managers=["x"]), dryRun="All")
    except ApiError as error:
        return [error.message] if "failed calling webhook" in error.message else []
    return []
