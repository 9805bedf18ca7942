"""The API server asks the gateway instead of a tenant's webhook, and the tenant reads its own."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.names.webhook_routes import GatewayService, TenantWebhook, WebhookPath
from lnamespace.translate.objects.confinement.clients import confine_client, restore_client
from lnamespace.translate.objects.confinement.rules import ConfinedBody, Form
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.webhook_routes import ROUTE

VIEW = TenantView("acme", webhook_route=ROUTE)
WEBHOOKS = ResourceType(
    "admissionregistration.k8s.io",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
PEM = "-----BEGIN CERTIFICATE-----\naG9vaw==\n-----END CERTIFICATE-----\n"
BUNDLE = base64.b64encode(PEM.encode()).decode()

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
paths = st.lists(labels, max_size=3).map(lambda each: "".join(f"/{part}" for part in each))
services = st.builds(
    lambda namespace, name, port, path: {
        "namespace": f"acme-{namespace}",
        "name": name,
        "port": port,
        **({"path": path} if path else {}),
    },
    labels,
    labels,
    st.integers(1, 65535),
    paths | paths.map(lambda path: f"{path}/"),
)


def confined(config: Any, form: Form = Form.WHOLE, view: TenantView = VIEW) -> Any:
    """Return a client in upstream spelling."""
    holder = {"clientConfig": config}
    confine_client(holder, "clientConfig", ConfinedBody({}, WEBHOOKS, view, form))
    return holder["clientConfig"]


def restored(config: Any) -> Any:
    """Return a client as the tenant wrote it."""
    holder = {"clientConfig": config}
    restore_client(holder, VIEW)
    return holder["clientConfig"]


@given(services)
def test_a_webhook_service_is_replaced_by_the_gateway_and_restored(service: dict[str, Any]) -> None:
    upstream = confined({"service": {**service}, "caBundle": BUNDLE})
    asked = WebhookPath.parse(upstream["service"]["path"])
    assert asked
    assert (asked.tenant, asked.key) == ("acme", ROUTE.key)
    assert upstream["service"] | {"path": ""} == {
        "namespace": "lnamespace-system",
        "name": "lnamespace-gateway-webhooks",
        "port": 443,
        "path": "",
    }
    assert base64.b64decode(upstream["caBundle"]).decode() == ROUTE.authority + PEM
    assert restored(upstream) == {"service": service, "caBundle": BUNDLE}


def test_absent_fields_of_a_client_config_are_not_added() -> None:
    """Another manager may own the bundle: an apply that wrote it would be its conflict."""
    assert set(confined({"service": {"namespace": "acme-a", "name": "b"}})) == {"service"}
    assert set(confined({"caBundle": BUNDLE}, Form.MERGE)) == {"caBundle"}
    assert confined({"caBundle": None}, Form.MERGE) == {"caBundle": None}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"url": "https://169.254.169.254"}, "clientConfig.url: Forbidden: use a Service"),
        ({"service": {"path": "/other"}}, "clientConfig.service: Forbidden: write its namespace"),
        ({"service": {"namespace": "acme-a", "name": "b", "x": 1}}, "it has namespace, name"),
        ({"service": {"namespace": "acme-a", "name": ["b"]}}, "write its namespace and name"),
        ({"service": {"namespace": "kube-system", "name": "b"}}, "service.namespace: Forbidden"),
        ({"service": {"namespace": "acme-a/b", "name": "b"}}, "service.namespace: Forbidden"),
        ({"service": {"namespace": "acme-a", "name": "b/../c"}}, "service.name: Forbidden"),
        ({"service": {"namespace": "acme-a", "name": "b", "port": 0}}, "between 1 and 65535"),
        ({"service": {"namespace": "acme-a", "name": "b", "port": True}}, "between 1 and 65535"),
        ({"service": {"namespace": "acme-a", "name": "b", "path": "x"}}, "must start with a '/'"),
        ({"service": {"namespace": "acme-a", "name": "b", "path": "/a//b"}}, "segment[1]"),
        ({"service": {"namespace": "acme-a", "name": "b", "path": "//"}}, "segment[0]"),
        ({"service": {"namespace": "acme-a", "name": "b", "path": "/a?b"}}, "segment[0]"),
        ({"service": {"namespace": "acme-a", "name": "b", "path": "/.."}}, "segment[0]"),
        ({"caBundle": "bm9uZQ=="}, "clientConfig.caBundle: Forbidden: unable to load root"),
        ({"caBundle": "%"}, "clientConfig.caBundle: Forbidden: unable to load root"),
        ({"caBundle": 7}, "clientConfig.caBundle: Forbidden: unable to load root"),
    ],
)
def test_a_client_config_that_the_api_server_would_refuse_is_refused(config: Any, why: str) -> None:
    """Behind the gateway's path and certificate it would take anything of the tenant's."""
    with pytest.raises(Refused) as refused:
        confined(config)
    assert why in refused.value.status.message


def test_webhooks_are_refused_if_the_gateway_has_no_webhook_service() -> None:
    with pytest.raises(Refused, match="the platform asks no webhooks of LClusters"):
        confined({"service": {"namespace": "acme-a", "name": "b"}}, view=TenantView("acme"))


def test_a_webhook_service_of_another_tenant_is_not_restored() -> None:
    foreign = {"service": {"namespace": "x", "name": "y", "path": "/webhooks/beta/1/beta-a/b/443"}}
    assert restored({"service": {**foreign["service"]}}) == foreign


def test_a_failure_to_connect_names_the_tenants_service() -> None:
    """The path has the key of the tenant's webhooks in it."""
    url = ROUTE.path_of(TenantWebhook("acme-prod", "hook", 443, "/validate"))
    text = f'failed: Post "https://{ROUTE.service.host}:443{url}?timeout=10s": EOF'
    told = ROUTE.text_down(text)
    assert told == 'failed: Post "https://hook.acme-prod.svc:443/validate?timeout=10s": EOF'
    assert ROUTE.text_down(text[:-40]) == 'failed: Post "https://webhook'


@pytest.mark.parametrize("text", ["", "a/b", "a:1", "a/b:c", "A/b:1", "a/b:1/c"])
def test_an_invalid_gateway_service_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAMESPACE/NAME:PORT"):
        GatewayService.parse(text)
