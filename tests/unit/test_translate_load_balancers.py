"""Upstream no status has an address that a tenant wrote: every node would take traffic for it."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.bodies.cells import PRINTED_NAMES
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, JSON, asked, down, up

OWN = {"loadBalancerClass": "example.com/own"}
INGRESS_CLASSES = GroupResource("networking.k8s.io", "ingressclasses")


def balanced(*entries: Any, **spec: Any) -> Any:
    status = {"loadBalancer": {"ingress": list(entries)}, "conditions": []}
    return {"metadata": {"name": "web"}, "status": status} | ({"spec": spec} if spec else {})


def entries(body: Any) -> Any:
    return body["status"]["loadBalancer"]["ingress"]


def patched(plural: str, body: Any, kind: str) -> Any:
    request = asked(plural, "patch", name="web", subresource="status")
    return msgspec.json.decode(request_up(request, kind, msgspec.json.encode(body), ACME)[1])


@pytest.mark.parametrize("plural", ["services", "ingresses"])
@pytest.mark.parametrize(
    "kind", ["application/merge-patch+json", "application/strategic-merge-patch+json"]
)
def test_an_address_of_a_tenant_is_no_address_upstream(plural: str, kind: str) -> None:
    written = balanced({"ip": "203.0.113.7", "ports": [{"port": 80, "protocol": "TCP"}]})
    (entry,) = entries(patched(plural, written, kind))
    assert entry["hostname"] == "203-0-113-7.vip.acme.lcluster.invalid"
    assert "ip" not in entry
    assert entry["ports"] == [{"port": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    "entry",
    [
        {"ip": "203.0.113.7", "ipMode": "VIP"},
        {"ip": "2001:db8::1", "ipMode": "Proxy"},
        {"ip": "::1", "ipMode": "VIP"},
        {"ip": "::ffff:1.2.3.4", "ipMode": "VIP"},
        {"hostname": "lb.example.com"},
        {"ip": "203.0.113.7", "ipMode": "Proxy", "hostname": "lb.example.com"},
        {"ip": "no address", "ipMode": "VIP"},
        {},
        "nothing",
        None,
    ],
)
def test_an_entry_comes_back_as_it_was_written(entry: Any) -> None:
    above = up("services", balanced(entry, **OWN), subresource="status")
    assert entries(down("services", above)) == [entry]


@given(st.ip_addresses(), st.sampled_from(["VIP", "Proxy"]))
def test_every_address_comes_back(address: Any, mode: str) -> None:
    entry = {"ip": str(address), "ipMode": mode}
    above = up("services", balanced(entry, **OWN), subresource="status")
    assert "ip" not in entries(above)[0]
    assert entries(down("services", above)) == [entry]


def test_an_address_of_an_ingress_has_no_mode() -> None:
    above = up("ingresses", balanced({"ip": "169.1.1.2"}, rules=[]), subresource="status")
    assert "ip" not in entries(above)[0]
    assert entries(down("ingresses", above)) == [{"ip": "169.1.1.2"}]


def test_an_update_leaves_the_address_that_the_platform_wrote() -> None:
    """A controller of the tenant that updates conditions sends all of the status."""
    entry = {"ip": "203.0.113.7", "ipMode": "VIP"}
    platforms = balanced(entry, type="LoadBalancer")
    assert entries(up("services", platforms, subresource="status")) == [entry]


def test_an_ingress_of_any_class_has_the_addresses_that_its_tenant_wrote() -> None:
    """One that names no class is given the default, and conformance writes its status."""
    view = replace(ACME, published={INGRESS_CLASSES: frozenset({"nginx"})})
    request = asked("ingresses", "update", name="web", subresource="status")
    body = msgspec.json.encode(balanced({"ip": "169.1.1.2"}, ingressClassName="nginx"))
    above = msgspec.json.decode(request_up(request, JSON, body, view)[1])
    assert entries(above) == [{"hostname": "169-1-1-2.vip.acme.lcluster.invalid"}]


def test_a_json_patch_replaces_a_whole_entry() -> None:
    kind, path = "application/json-patch+json", "/status/loadBalancer/ingress"
    entry = {"ip": "203.0.113.7"}
    for operation in (
        {"op": "add", "path": f"{path}/-", "value": entry},
        {"op": "replace", "path": path, "value": [entry]},
        {"op": "add", "path": "/status", "value": {"loadBalancer": {"ingress": [entry]}}},
    ):
        above = patched("services", [operation], kind)
        assert "203-0-113-7.vip.acme.lcluster.invalid" in repr(above)
        assert "'ip'" not in repr(above)
    part = {"op": "add", "path": f"{path}/0/ip", "value": "203.0.113.7"}
    with pytest.raises(Refused):
        patched("services", [part], kind)


def test_another_tenants_host_name_is_no_address() -> None:
    entry = {"hostname": "203-0-113-7.vip.globex.lcluster.invalid"}
    assert entries(down("services", balanced(entry))) == [entry]


def test_addresses_are_printed_as_they_were_written() -> None:
    text = "203-0-113-7.vip.acme.lcluster.invalid,lb.example.com,10.0.0.1"
    for key, column in (
        (("", "services"), "External-IP"),
        (("networking.k8s.io", "ingresses"), "Address"),
    ):
        printed = PRINTED_NAMES[key][column](ACME, text)
        assert printed == "203.0.113.7,lb.example.com,10.0.0.1"
