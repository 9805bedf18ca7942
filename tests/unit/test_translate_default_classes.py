"""Which class an Ingress or a claim gets that names none."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from lnamespace.gateway.tenants.default_classes import DefaultClasses, MarkedClasses
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.default_classes import (
    INGRESS_CLASSES,
    STORAGE_CLASSES,
    default_since,
)
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType

INGRESS = ResourceType("networking.k8s.io", "ingresses", "Ingress", namespaced=True)
CLAIM = ResourceType("", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
DEFAULTS = {INGRESS_CLASSES: "acme-nginx", STORAGE_CLASSES: "acme-fast"}
ACME = TenantView("acme", default_classes=DEFAULTS)
LABEL = "tenancy.loblaw.digital/lcluster"
MARK = "lcluster.tenancy.loblaw.digital/ingressclass.kubernetes.io.is-default-class"


def sent(
    resource: ResourceType, body: dict[str, Any], view: TenantView = ACME, verb: str = "create"
) -> Any:
    request = ResourceRequest(verb, resource, "v1", "prod", "" if verb == "create" else "x")
    return json.loads(request_up(request, "application/json", json.dumps(body).encode(), view)[1])


def ingress_class(name: str, created: str = "2026-01-01T00:00:00Z", mark: str = "true") -> bytes:
    metadata = {"name": name, "creationTimestamp": created, "annotations": {MARK: mark}}
    return json.dumps({"metadata": metadata | {"labels": {LABEL: "acme"}}}).encode()


@pytest.mark.parametrize(
    ("resource", "field", "name"),
    [(INGRESS, "ingressClassName", "acme-nginx"), (CLAIM, "storageClassName", "acme-fast")],
)
@pytest.mark.parametrize("spec", [{}, {"x": 1.50}, {"class": None}])
def test_an_object_created_without_a_class_gets_the_default_class_of_the_tenant(
    resource: ResourceType, field: str, name: str, spec: dict[str, Any]
) -> None:
    """Kubernetes' own spec for default IngressClasses found that it had none."""
    body = {"spec": {field if key == "class" else key: each for key, each in spec.items()}}
    assert sent(resource, body)["spec"] == {**body["spec"], field: name}
    assert sent(resource, {})["spec"] == {field: name}


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"ingressClassName": "other"}},
        {"metadata": {"annotations": {"kubernetes.io/ingress.class": "other"}}, "spec": {}},
    ],
)
def test_an_object_that_names_a_class_keeps_it(body: dict[str, Any]) -> None:
    found = sent(INGRESS, body)
    assert found["spec"] == ({"ingressClassName": "acme-other"} if body["spec"] else {})


def test_no_class_is_added_to_updates_or_without_a_default() -> None:
    assert sent(INGRESS, {"spec": {}}, verb="update")["spec"] == {}
    assert sent(INGRESS, {"spec": {}}, replace(ACME, default_classes={}))["spec"] == {}


def test_the_default_is_the_newest_marked_class_and_then_the_first_name() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    marked = MarkedClasses()
    assert marked.default == ""
    for name, created in {"acme-a": old, "acme-c": new, "acme-b": new, "acme-d": old}.items():
        marked.put(name, created)
    assert marked.default == "acme-b"
    marked.put("acme-b", old)
    assert marked.default == "acme-c"
    marked.remove("acme-c")
    marked.remove("acme-c")
    assert (marked.default, len(marked)) == ("acme-a", 3)
    assert default_since(INGRESS_CLASSES, ingress_class("acme-a", new)) == new
    assert default_since(INGRESS_CLASSES, ingress_class("acme-a", mark="false")) == ""
    assert default_since(STORAGE_CLASSES, ingress_class("acme-a")) == ""


def watched(raw: bytes) -> WatchedObject:
    return read_watched(raw)


def test_the_default_class_of_a_tenant_follows_changes_of_its_classes() -> None:
    found = DefaultClasses(LABEL)
    first, unmarked = watched(ingress_class("acme-a")), watched(ingress_class("acme-a", mark=""))
    assert found.change(INGRESS_CLASSES, None, first) == "acme"
    assert found.defaults_for("acme") == {INGRESS_CLASSES: "acme-a"}
    assert found.change(INGRESS_CLASSES, first, first) == "", "nothing is another"
    assert found.change(INGRESS_CLASSES, first, unmarked) == "acme"
    assert found.defaults_for("acme") == {}
    assert found.change(INGRESS_CLASSES, unmarked, first) == "acme"
    assert found.change(INGRESS_CLASSES, first, None) == "acme"
    assert found.defaults_for("acme") == {}
    assert found.defaults_for("beta") == {}


def test_a_class_of_the_platform_is_no_default_of_a_tenant() -> None:
    plain = json.dumps({"metadata": {"name": "acme-a", "annotations": {MARK: "true"}}}).encode()
    found = DefaultClasses(LABEL)
    assert found.change(INGRESS_CLASSES, None, watched(plain)) == ""
    assert found.defaults_for("acme") == {}


def test_many_default_classes_are_processed_in_linear_time() -> None:
    """Each was compared with all others: of 20,000 the gateway did nothing else for 15 seconds."""
    found, listed = DefaultClasses(LABEL), []
    for number in range(20_000):
        since = f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        listed.append(watched(ingress_class(f"acme-{number}", since)))
    began = time.process_time()
    for each in listed:
        found.change(INGRESS_CLASSES, None, each)
    assert time.process_time() - began < 3
    assert found.defaults_for("acme") == {INGRESS_CLASSES: "acme-19999"}
