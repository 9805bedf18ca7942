"""Refusals of the platform's policies and webhooks name none of its parts."""

import pytest
from lnamespace.translate.names.webhook_routes import TenantWebhook
from lnamespace.translate.objects.texts import text_down

from tests.unit.support.translation import ACME
from tests.unit.support.webhook_routes import ROUTE

POLICY = "ValidatingAdmissionPolicy '{0}-secret' with binding '{0}-all' denied request: "


REFUSED = "ValidatingAdmissionPolicy of the platform denied request: "
DIALLED = 'failed calling webhook "v.example.com": failed to call webhook: '
URL = '"https://engine.vault.svc:443/validate?timeout=10s"'


@pytest.mark.parametrize(
    ("upstream", "shown"),
    [
        (
            'configmaps "a" is forbidden: ' + POLICY.format("vault") + "say whose it is",
            f'configmaps "a" is forbidden: {REFUSED}say whose it is',
        ),
        (
            POLICY.format("vault") + "expression 'object.vault' resulted in error: no such key: b",
            f"{REFUSED}an expression failed",
        ),
        (
            POLICY.format("vault") + "failed expression: object.spec.vault == 1",
            f"{REFUSED}an expression failed",
        ),
        (
            "policy 'vault' with binding 'v' denied request: expression 'v' resulted in error: v",
            "policy of the platform denied request: an expression failed",
        ),
        (
            "policy 'acme-pods' with binding 'acme-all' denied request: no",
            "policy 'pods' with binding 'all' denied request: no",
        ),
        (
            f'{DIALLED}Post {URL}: no endpoints available for service "engine"',
            f"{DIALLED}a webhook of the platform does not answer",
        ),
        (
            POLICY.format("acme") + "expression 'false' resulted in error: acme-x",
            POLICY.format("acme").replace("acme-", "")
            + "expression 'false' resulted in error: acme-x",
        ),
    ],
)
def test_policy_refusals_name_the_tenant_and_not_the_platform(upstream: str, shown: str) -> None:
    assert text_down(ACME, upstream) == shown


def test_errors_about_a_tenants_own_webhook_are_kept() -> None:
    url = f"https://{ROUTE.service.host}:443/x"
    text = f'failed calling webhook "a": failed to call webhook: Post "{url}": refused'
    assert text_down(ACME, text).endswith("refused")


@pytest.mark.parametrize(
    "said",
    [
        'no endpoints available for service "{}"',
        'no service port 443 found for service "{}"',
        'service "{}" not found',
        'endpoints "{}" not found',
    ],
)
def test_errors_about_an_unavailable_gateway_do_not_name_its_service(said: str) -> None:
    """Kubernetes 1.30 named the Endpoints of the platform's Service to the tenant."""
    url = (
        f"https://{ROUTE.service.host}:443{ROUTE.path_of(TenantWebhook('acme-hooks', 'hook', 443))}"
    )
    head = 'failed calling webhook "a": failed to call webhook: Post '
    text = f'{head}"{url}?timeout=10s": {said.format(ROUTE.service.name)}'
    whole = f'{head}"https://hook.hooks.svc:443?timeout=10s": the gateway does not answer'
    assert text_down(ACME, text) == whole
    other = f'{head}"{url}": {said.format("another")}'
    assert text_down(ACME, other).endswith(said.format("another"))
