"""A custom resource may have the plural of a built-in one, and is treated as any other."""

import json
from typing import Any

import pytest
from lnamespace.kube.media_types import JSON
from lnamespace.rbac.attributes import request_attributes
from lnamespace.translate.bodies.encoded import answer_down, request_up
from lnamespace.translate.bodies.patches import patch_up
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.request import ResourceRequest, parse_request
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType
from lnamespace.translate.requests.targets import upstream_target

from tests.unit.test_translate_every_kind import KINDS

BUILT_IN = sorted({resource.plural for _, resource in KINDS.values()})
NEUTRAL = "neutrals"
OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {
        "name": "x",
        "labels": {"auth.example.com/aggregate-to-view": "true", "a": "b"},
        "annotations": {"c": "d"},
        "managedFields": [
            {
                "apiVersion": "example.com/v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:auth.example.com/aggregate-to-view": {}}},
                    "f:spec": {"f:hard": {"f:widgets.storageclass.storage.k8s.io/x": {}}},
                },
            }
        ],
    },
    "spec": {"hard": {"x.storageclass.storage.k8s.io/requests.storage": 1}, "signerName": "a/b"},
}
PATCH = [{"op": "add", "path": "/aggregationRule/a", "value": 1}]
SELECTORS = "labelSelector=auth.example.com/aggregate-to-view&fieldSelector=spec.signerName=a/b"


def treated(plural: str, *, namespaced: bool) -> list[str]:
    """Return what becomes of requests for a custom resource of a plural."""
    resource = ResourceType("example.com", plural, "Thing", namespaced=namespaced, custom=True)
    view = TenantView("acme", ResourceTable.from_types([resource]))
    inside = "/namespaces/prod" if namespaced else ""
    path = f"/apis/example.com/v1{inside}/{plural}"
    object_ = json.loads(json.dumps(OBJECT))
    if namespaced:
        object_["metadata"]["namespace"] = "prod"
    body = json.dumps(object_).encode()

    def asked(method: str, target: str) -> ResourceRequest:
        request = parse_request(method, target, view.resources, view.tenant)
        assert isinstance(request, ResourceRequest)
        return request

    one, some = asked("GET", f"{path}/x"), asked("GET", f"{path}?{SELECTORS}")
    _, above = request_up(asked("PUT", f"{path}/x"), JSON, body, view)
    patch = asked("PATCH", f"{path}/x")
    results: list[Any] = [
        *(upstream_target(each, view) for each in (one, some)),
        *(request_attributes(each) for each in (one, some)),
        above,
        answer_down(one, above, view),
        patch_up(patch, "application/json-patch+json", json.dumps(PATCH).encode(), view),
        patch_up(patch, "application/merge-patch+json", b'{"metadata":{"annotations":null}}', view),
    ]
    return list(map(str, results))


@pytest.mark.parametrize("namespaced", [True, False])
@pytest.mark.parametrize("plural", BUILT_IN)
def test_a_custom_resource_is_treated_alike_whatever_its_plural(
    plural: str, namespaced: bool
) -> None:
    # As clusterroles its labels did not come back; as namespaces it was judged in a namespace of
    # its own name.
    neutral = treated(NEUTRAL, namespaced=namespaced)
    assert treated(plural, namespaced=namespaced) == [
        each.replace(NEUTRAL, plural) for each in neutral
    ]
