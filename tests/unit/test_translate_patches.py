"""Patches go up as patches, in upstream spelling, and take nothing away that must stay."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonpatch
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.bodies.json_patch import MAX_KEYS, MAX_OPERATIONS
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS, RESERVE
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, TYPES

LABEL = "tenancy.loblaw.digital/lcluster"
OWN = "lcluster.tenancy.loblaw.digital/x"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TENANT = {LABEL: "acme"}


def encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def patched(plural: str, content_type: str, patch: Any, subresource: str = "") -> Any:
    resource = TYPES[plural]
    namespace = "prod" if resource.namespaced else ""
    request = ResourceRequest("patch", resource, "v1", namespace, "a", subresource)
    body = patch if isinstance(patch, bytes) else msgspec.json.encode(patch)
    sent_type, above = request_up(request, content_type, body, ACME)
    assert sent_type == content_type
    return msgspec.json.decode(above)


def refused(plural: str, content_type: str, patch: Any) -> int:
    with pytest.raises(Refused) as refusal:
        patched(plural, content_type, patch)
    return refusal.value.status.code


def term(**selector: Any) -> dict[str, Any]:
    return {"spec": {"ingress": [{"from": [{"namespaceSelector": selector}]}]}}


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
@pytest.mark.parametrize(
    ("plural", "patch", "above"),
    [
        ("configmaps", {"data": {"acme-x": "acme-y", "n": None}}, None),
        ("deployments", {"spec": {"replicas": 2}}, None),
        (
            "deployments",
            {"spec": {"template": {"spec": {"priorityClassName": "high"}}}},
            {"spec": {"template": {"spec": {"priorityClassName": "acme-high"}}}},
        ),
        (
            "deployments",
            {"spec": {"template": {"spec": {"priorityClassName": None}}}},
            {"spec": {"template": {"spec": {"priorityClassName": None}}}},
        ),
        (
            "persistentvolumes",
            {"metadata": {"labels": {"a": "b", "c": None}}},
            {"metadata": {"labels": {"a": "b", "c": None} | TENANT}},
        ),
        (
            "networkpolicies",
            term(matchLabels={"kubernetes.io/metadata.name": "prod"}),
            term(matchLabels={"kubernetes.io/metadata.name": "acme-prod"} | TENANT),
        ),
        ("networkpolicies", term(), term(matchLabels=TENANT)),
    ],
)
def test_a_partial_object_in_a_patch_is_translated_like_the_whole_object(
    content_type: str, plural: str, patch: Any, above: Any
) -> None:
    assert patched(plural, content_type, patch) == (patch if above is None else above)


@pytest.mark.parametrize(
    ("plural", "patch", "above"),
    [
        (
            "pods",
            {
                "metadata": {
                    "$setElementOrder/ownerReferences": [{"uid": "1"}],
                    "ownerReferences": [{"uid": "1", "$patch": "delete"}],
                    "$deleteFromPrimitiveList/finalizers": ["acme-x"],
                }
            },
            None,
        ),
        (
            "deployments",
            {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
            None,
        ),
        (
            "deployments",
            {
                "spec": {
                    "template": {
                        "spec": {"volumes": [{"$retainKeys": ["name", "emptyDir"], "name": "v"}]}
                    }
                }
            },
            None,
        ),
        (
            "persistentvolumes",
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"], "finalizers": ["y"]}},
            None,
        ),
        (
            "persistentvolumes",
            {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "1"}]}},
            None,
        ),
    ],
)
def test_strategic_merge_patch_directives_are_translated(
    plural: str, patch: Any, above: Any
) -> None:
    assert patched(plural, STRATEGIC, patch) == (patch if above is None else above)


def test_a_whole_object_in_a_strategic_patch_has_the_tenants_label() -> None:
    patch = {"$patch": "replace", "metadata": {"name": "a"}}
    above = {"$patch": "replace", "metadata": {"name": "acme-a", "labels": TENANT}}
    assert patched("clusterroles", STRATEGIC, patch) == above


@pytest.mark.parametrize(
    ("plural", "content_type", "patch"),
    [
        ("namespaces", MERGE, {"metadata": None}),
        ("namespaces", MERGE, {"metadata": {"labels": None}}),
        ("namespaces", STRATEGIC, {"metadata": {"labels": None}}),
        ("namespaces", STRATEGIC, {"metadata": {"labels": {"$patch": "replace", "a": "b"}}}),
        ("namespaces", STRATEGIC, {"metadata": {"labels": {"$retainKeys": ["a"]}}}),
        ("namespaces", STRATEGIC, {"metadata": {"$patch": "replace", "name": "a"}}),
        ("namespaces", STRATEGIC, {"$patch": "delete"}),
        ("namespaces", STRATEGIC, {"$retainKeys": ["spec"]}),
        ("clusterroles", MERGE, {"metadata": {"annotations": None}}),
        ("priorityclasses", MERGE, {"metadata": {"annotations": None}}),
        ("storageclasses", STRATEGIC, {"parameters": {"$patch": "replace"}}),
        ("persistentvolumeclaims", MERGE, {"spec": {"selector": {"matchLabels": None}}}),
        ("networkpolicies", STRATEGIC, term(**{"$patch": "delete"})),
        (
            "persistentvolumeclaims",
            STRATEGIC,
            {"spec": {"selector": {"matchLabels": {"$retainKeys": []}}}},
        ),
        ("configmaps", MERGE, b"[]"),
        ("configmaps", MERGE, b"{"),
        ("widgets", APPLY, {"apiVersion": "acme-example.com/v1", "kind": "Widget"}),
    ],
)
def test_a_patch_that_removes_required_fields_is_refused(
    plural: str, content_type: str, patch: Any
) -> None:
    assert refused(plural, content_type, patch) == 400


def test_a_selector_keeps_the_tenants_label_when_its_labels_are_removed() -> None:
    removed = {"spec": {"selector": {"matchLabels": None}}}
    above = {"spec": {"selector": {"matchLabels": {"$patch": "replace"} | TENANT}}}
    assert patched("persistentvolumeclaims", STRATEGIC, removed) == above


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
def test_a_list_element_in_a_patch_is_translated_as_a_whole_object(content_type: str) -> None:
    above = patched("networkpolicies", content_type, term(matchLabels=None))
    assert above == term(matchLabels=TENANT)


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC, APPLY])
def test_untranslated_parts_of_a_patch_are_preserved_byte_for_byte(content_type: str) -> None:
    request = ResourceRequest("patch", TYPES["configmaps"], "v1", "prod", "a")
    body = b'{"data":{"b":1.00,"a":123456789012345678901234567890,"b":"\\u0061"},"x":1e3}'
    assert request_up(request, content_type, body, ACME)[1] == body


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC, APPLY])
@pytest.mark.parametrize(
    ("plural", "patch"),
    [
        ("configmaps", {"metadata": {"labels": {LABEL: "beta"}}}),
        ("namespaces", {"metadata": {"labels": {LABEL: "beta"}}}),
        ("configmaps", {"metadata": {"annotations": {OWN: "y"}}}),
        ("networkpolicies", term(matchLabels={LABEL: "beta"})),
    ],
)
def test_a_patch_of_fields_reserved_for_the_gateway_is_refused(
    content_type: str, plural: str, patch: Any
) -> None:
    assert refused(plural, content_type, patch) == 403


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC, APPLY])
@pytest.mark.parametrize("plural", ["configmaps", "namespaces"])
def test_a_patch_cannot_remove_labels_and_annotations_of_the_gateway(
    content_type: str, plural: str
) -> None:
    marks = {"labels": {LABEL: None, "a": "b"}, "annotations": {OWN: None, "a": "b"}}
    above = patched(plural, content_type, {"metadata": marks})["metadata"]
    assert above["labels"].get(LABEL, "acme") == "acme"
    assert OWN not in above["annotations"]
    assert above["annotations"]["a"] == above["labels"]["a"] == "b"


def test_an_apply_always_has_the_tenants_label() -> None:
    yaml = b"apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: a\n"
    assert patched("persistentvolumes", APPLY, yaml) == {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "acme-a", "labels": TENANT},
    }


@pytest.mark.parametrize("written", [encode_json, json.dumps, yaml.safe_dump])
def test_the_api_server_reads_an_apply_as_the_gateway_has_read_it(
    written: Callable[[Any], str],
) -> None:
    """It reads JSON as YAML, in which three more characters end a line, and a comment of CEL."""
    text = "true // a \x85\x85) : dear ? (true // \u2028 b \u2029\u2029c\x85"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text, "b": text * 2}}
    request = ResourceRequest("patch", TYPES["configmaps"], "v1", "prod", "a")
    _, above = request_up(request, APPLY, written(body).encode(), ACME)
    assert yaml.safe_load(above)["data"] == json.loads(above)["data"] == body["data"]


@pytest.mark.parametrize(
    ("plural", "content_type", "status"),
    [
        ("configmaps", "application/apply-patch+cbor", 415),
        ("configmaps", "application/json", 415),
        ("configmaps", "", 415),
        ("widgets", STRATEGIC, 415),
    ],
)
def test_unsupported_patch_content_types_are_refused(
    plural: str, content_type: str, status: int
) -> None:
    assert refused(plural, content_type, {}) == status


def operation(kind: str, path: str, value: Any = None, source: str = "") -> dict[str, Any]:
    more = {"from": source} if source else {}
    return {"op": kind, "path": path} | more | ({} if value is None else {"value": value})


PEER = "/spec/ingress/0/from/0/namespaceSelector"


@pytest.mark.parametrize(
    ("plural", "below", "above"),
    [
        ("pods", operation("replace", "/spec/x/0", "acme-y"), None),
        ("pods", operation("remove", "/metadata/annotations/a~1b~0c"), None),
        ("pods", operation("move", "/metadata/labels/b", source="/metadata/labels/a"), None),
        ("pods", operation("copy", "/spec/a/-", source="/spec/a/0"), None),
        ("persistentvolumes", operation("remove", "/spec/claimRef/uid"), None),
        (
            "pods",
            operation("test", "/spec/priorityClassName", "high"),
            operation("test", "/spec/priorityClassName", "acme-high"),
        ),
        (
            "widgets",
            operation("add", "/metadata/ownerReferences/-", {"apiVersion": "example.com/v1"}),
            operation("add", "/metadata/ownerReferences/-", {"apiVersion": "acme-example.com/v1"}),
        ),
        (
            "persistentvolumes",
            operation("add", "/metadata/labels", {"a": "b"}),
            operation("add", "/metadata/labels", {"a": "b"} | TENANT),
        ),
        (
            "persistentvolumes",
            operation("remove", "/metadata/labels"),
            operation("replace", "/metadata/labels", TENANT),
        ),
        (
            "clusterroles",
            operation("add", "/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-view", "t"),
            operation(
                "add",
                "/metadata/labels/rbac.authorization.k8s.io.acme.lcluster~1aggregate-to-view",
                "t",
            ),
        ),
        (
            "resourcequotas",
            operation("add", "/spec/hard/fast.storageclass.storage.k8s.io~1requests.storage", "1"),
            operation(
                "add", "/spec/hard/acme-fast.storageclass.storage.k8s.io~1requests.storage", "1"
            ),
        ),
        (
            "networkpolicies",
            operation("replace", PEER, {}),
            operation("replace", PEER, {"matchLabels": TENANT}),
        ),
        (
            "networkpolicies",
            operation("remove", f"{PEER}/matchLabels"),
            operation("replace", f"{PEER}/matchLabels", TENANT),
        ),
        (
            "networkpolicies",
            operation("add", f"{PEER}/matchLabels/kubernetes.io~1metadata.name", "prod"),
            operation("add", f"{PEER}/matchLabels/kubernetes.io~1metadata.name", "acme-prod"),
        ),
        ("networkpolicies", operation("remove", f"{PEER}/matchLabels/a"), None),
        (
            "networkpolicies",
            operation(
                "add",
                f"{PEER}/matchExpressions/0",
                {"key": "kubernetes.io/metadata.name", "values": ["a"]},
            ),
            operation(
                "add",
                f"{PEER}/matchExpressions/0",
                {"key": "kubernetes.io/metadata.name", "values": ["acme-a"]},
            ),
        ),
        (
            "rolebindings",
            operation("add", "/subjects/-", {"kind": "User", "name": "ann"}),
            operation("add", "/subjects/-", {"kind": "User", "name": "lcluster:acme:ann"}),
        ),
    ],
)
def test_a_json_patch_operation_is_translated_by_the_rule_for_its_path(
    plural: str, below: dict[str, Any], above: dict[str, Any] | None
) -> None:
    assert patched(plural, JSON_PATCH, [below]) == [below if above is None else above]


@pytest.mark.parametrize(
    ("plural", "below", "status"),
    [
        ("pods", operation("add", f"/metadata/labels/{LABEL.replace('/', '~1')}", "beta"), 403),
        ("namespaces", operation("remove", f"/metadata/labels/{LABEL.replace('/', '~1')}"), 403),
        ("pods", operation("test", f"/metadata/annotations/{OWN.replace('/', '~1')}", "x"), 403),
        ("networkpolicies", operation("remove", f"{PEER}/matchLabels/{LABEL[:22]}~1lcluster"), 403),
        ("networkpolicies", operation("add", f"{PEER}/matchExpressions/0/values/0", "x"), 400),
        ("networkpolicies", operation("add", f"{PEER}/matchLabels", "x"), 400),
        ("networkpolicies", operation("copy", PEER + "/matchLabels/a", source="/metadata"), 400),
        ("rolebindings", operation("replace", "/subjects/0/name", "admin"), 400),
        ("rolebindings", operation("replace", "/subjects/0/kind", "User"), 400),
        ("rolebindings", operation("replace", "/roleRef/name", "cluster-admin"), 400),
        ("persistentvolumes", operation("replace", "/spec/claimRef/name", "x"), 400),
        ("persistentvolumes", operation("remove", "/metadata"), 400),
        ("persistentvolumes", operation("add", "/metadata", {}), 400),
        ("persistentvolumes", operation("remove", ""), 400),
        ("clusterroles", operation("remove", "/metadata/annotations"), 400),
        ("clusterroles", operation("add", "/aggregationRule", {}), 400),
        (
            "clusterroles",
            operation("copy", "/aggregationRule", source="/metadata/annotations/x"),
            400,
        ),
        (
            "pods",
            operation("copy", "/spec/priorityClassName", source="/metadata/annotations/x"),
            400,
        ),
        ("pods", operation("move", "/metadata/annotations/x", source="/metadata/namespace"), 400),
        ("namespaces", operation("move", "/metadata/labels", source="/metadata/labels"), 400),
        ("pods", operation("add", "spec", {}), 400),
        ("pods", {"op": "add", "value": 1}, 400),
        ("pods", operation("eval", "/spec"), 422),
        ("pods", operation("add", "/metadata/namespace/x", "y"), 400),
    ],
)
def test_a_json_patch_operation_on_a_protected_path_is_refused(
    plural: str, below: dict[str, Any], status: int
) -> None:
    assert refused(plural, JSON_PATCH, [below]) == status


def test_the_number_of_operations_of_a_json_patch_is_limited() -> None:
    operations = [{"op": "remove", "path": "/data/a"}] * (MAX_OPERATIONS + 1)
    assert refused("configmaps", JSON_PATCH, operations) == 413
    assert len(patched("configmaps", JSON_PATCH, operations[1:])) == MAX_OPERATIONS


@pytest.mark.parametrize("slash", ["/", "\\u002f"])
@pytest.mark.parametrize("key", ["path", "from"])
def test_the_length_of_paths_in_a_json_patch_is_limited(key: str, slash: str) -> None:
    # 3 MB of keys held the gateway's one thread for seconds.
    operation = {"op": "move", "path": "/data/a", "from": "/data/b", key: "/a" * MAX_KEYS}
    body = json.dumps([operation]).replace("/a", f"{slash}a").encode()
    assert refused("configmaps", JSON_PATCH, body) == 413


@pytest.mark.parametrize("body", [b"{}", b"[1]", b"[", b'[{"op": 1}]'])
def test_a_malformed_json_patch_is_refused(body: bytes) -> None:
    assert refused("configmaps", JSON_PATCH, body) == 400


def volume_up(volume: dict[str, Any]) -> Any:
    request = ResourceRequest("create", TYPES["persistentvolumes"], "v1")
    body = msgspec.json.encode(volume)
    return msgspec.json.decode(request_up(request, "application/json", body, ACME)[1])


values = st.sampled_from(["a", "acme-a", "high", ""])
operations = st.one_of(
    st.builds(operation, st.just("add"), st.just("/metadata/labels/b"), values),
    st.builds(operation, st.just("replace"), st.just("/metadata/labels"), st.just({"c": "d"})),
    st.just(operation("remove", "/metadata/labels")),
    st.builds(operation, st.just("add"), st.just("/metadata/annotations/x~1y"), values),
    st.builds(operation, st.just("replace"), st.just("/spec/storageClassName"), values),
    st.builds(operation, st.just("add"), st.just("/spec/claimRef/namespace"), st.just("b")),
)


@given(st.lists(operations, max_size=5))
def test_a_translated_json_patch_has_the_same_effect_as_the_original(
    patch: list[dict[str, Any]],
) -> None:
    volume = {
        "metadata": {"name": "a", "labels": {"l": "m"}, "annotations": {"n": "o"}},
        "spec": {
            "storageClassName": "slow",
            "csi": {"driver": "d", "volumeHandle": "h"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "prod", "name": "c"},
        },
    }
    try:
        below = jsonpatch.apply_patch(volume, patch)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        return
    above = jsonpatch.apply_patch(
        volume_up(volume), patched("persistentvolumes", JSON_PATCH, patch)
    )
    assert above == volume_up(below)


UID = {"lcluster.tenancy.loblaw.digital/uid": "1"}
ANNOTATED = replace(ACME, namespace_annotations=UID)
KEPT_ANNOTATIONS = {
    "namespaces": ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, UID),
    "customresourcedefinitions": (
        {"apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "a.b"}},
        {**DEFINITION_ANNOTATIONS},
    ),
}


def annotated_patched(plural: str, content_type: str, patch: Any, subresource: str = "") -> Any:
    request = ResourceRequest("patch", TYPES[plural], "v1", "", "a", subresource)
    body = msgspec.json.encode(patch)
    return msgspec.json.decode(request_up(request, content_type, body, ANNOTATED)[1])


@pytest.mark.parametrize("plural", [*KEPT_ANNOTATIONS])
@pytest.mark.parametrize(
    ("below", "above"),
    [
        (("add", {"a": "b"}), ("add", {"a": "b"})),
        (("replace", {}), ("replace", {})),
        (("remove",), ("replace", {})),
    ],
)
def test_a_json_patch_leaves_the_platforms_annotations(
    plural: str, below: tuple[Any, ...], above: tuple[Any, ...]
) -> None:
    path = "/metadata/annotations"
    kind, value = above
    wanted = operation(kind, path, value | KEPT_ANNOTATIONS[plural][1])
    sent = operation(below[0], path, *below[1:])
    assert annotated_patched(plural, JSON_PATCH, [sent]) == [wanted]
    one = operation("remove", f"{path}/a")
    assert annotated_patched(plural, JSON_PATCH, [one]) == [one]


@pytest.mark.parametrize("plural", [*KEPT_ANNOTATIONS])
@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        (MERGE, {"metadata": {"annotations": None}}),
        (STRATEGIC, {"metadata": {"annotations": None}}),
        (STRATEGIC, {"metadata": {"annotations": {"$patch": "replace"}}}),
        (JSON_PATCH, [operation("replace", "/metadata/annotations", "x")]),
        (JSON_PATCH, [operation("move", "/metadata/annotations", source="/metadata/annotations")]),
    ],
)
def test_a_patch_that_removes_annotations_of_the_platform_is_refused(
    plural: str, content_type: str, patch: Any
) -> None:
    with pytest.raises(Refused) as refusal:
        annotated_patched(plural, content_type, patch)
    assert refusal.value.status.code == 400


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC, JSON_PATCH, APPLY])
@pytest.mark.parametrize("subresource", ["", "status"])
def test_no_patch_writes_the_reserve_of_a_definition(content_type: str, subresource: str) -> None:
    """A tenant would have its room for itself."""
    patch: Any = {"metadata": {"annotations": {RESERVE: ""}}}
    if content_type == JSON_PATCH:
        patch = [operation("replace", f"/metadata/annotations/{RESERVE.replace('/', '~1')}", "")]
    with pytest.raises(Refused) as refusal:
        annotated_patched("customresourcedefinitions", content_type, patch, subresource)
    assert refusal.value.status.code == 403


@pytest.mark.parametrize("subresource", ["", "status"])
@pytest.mark.parametrize("plural", [*KEPT_ANNOTATIONS])
def test_an_apply_has_the_platforms_annotations(plural: str, subresource: str) -> None:
    applied, kept = KEPT_ANNOTATIONS[plural]
    sent = annotated_patched(plural, APPLY, applied, subresource)
    assert sent["metadata"]["annotations"] == kept
