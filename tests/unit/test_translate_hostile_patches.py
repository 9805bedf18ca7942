"""Whatever a tenant patches, the object upstream stays the tenant's own and reaches nobody else."""

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.objects.confinement.admission import CONDITION, expression
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.structural import merged
from tests.unit.support.translation import ACME, TYPES

LABEL = ACME.tenant_label
SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
BELOW: dict[str, dict[str, Any]] = {
    "namespaces": {"metadata": {"name": "a", "labels": {"a": "b"}}},
    "networkpolicies": {
        "metadata": {"name": "a", "namespace": "prod", "labels": {"a": "b"}},
        "spec": {"ingress": [{"from": [{"namespaceSelector": SELECTOR}]}]},
    },
    "validatingwebhookconfigurations": {
        "metadata": {"name": "a", "labels": {"a": "b"}, "annotations": {"a": "b"}},
        "webhooks": [
            {
                "matchConditions": [{"name": "mine", "expression": "true"}],
                "name": "a.b.c",
                "namespaceSelector": SELECTOR,
                "clientConfig": {"service": {"namespace": "prod", "name": "s"}},
            }
        ],
    },
    "validatingadmissionpolicies": {
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {
            "matchConstraints": {"namespaceSelector": SELECTOR, "resourceRules": []},
            "matchConditions": [{"name": "mine", "expression": "true"}],
            "validations": [],
        },
    },
    "rolebindings": {
        "metadata": {"name": "a", "namespace": "prod"},
        "subjects": [{"kind": "User", "name": "ann"}],
        "roleRef": {"kind": "ClusterRole", "name": "view"},
    },
    "clusterroles": {"metadata": {"name": "a", "labels": {"a": "b"}, "annotations": {"a": "b"}}},
}


def sent(plural: str, verb: str, content_type: str, body: Any) -> Any:
    resource = TYPES[plural]
    name = "a" if verb == "patch" else ""
    request = ResourceRequest(verb, resource, "v1", "prod" if resource.namespaced else "", name)
    _, above = request_up(request, content_type, msgspec.json.encode(body), ACME)
    return msgspec.json.decode(above)


ABOVE = {
    plural: sent(plural, "create", "application/json", below) for plural, below in BELOW.items()
}


def objects_at(value: Any, *path: str) -> Iterator[dict[str, Any]]:
    """Yield the objects at a path, where ``[]`` is each item of an array.

    The API server refuses a value of another type than its schema has.
    """
    if path and path[0] == "[]":
        for each in value if isinstance(value, list) else ():
            yield from objects_at(each, *path[1:])
    elif isinstance(value, dict) and path:
        yield from objects_at(value.get(path[0]), *path[1:])
    elif isinstance(value, dict):
        yield value


def assert_labelled(holder: dict[str, Any], key: str) -> None:
    labels = holder.get(key, {})
    assert not isinstance(labels, dict) or labels.get(LABEL) == "acme"


def assert_own(plural: str, above: Any) -> None:
    if not TYPES[plural].namespaced:
        for metadata in objects_at(above, "metadata"):
            assert_labelled(metadata, "labels")
    if plural == "clusterroles":
        assert not list(objects_at(above, "aggregationRule"))
        for labels in objects_at(above, "metadata", "labels"):
            adding = [key for key in labels if "/aggregate-to-" in key]
            assert all(f".{key}".rpartition("/")[0].endswith(".acme.lcluster") for key in adding)
    for peer in objects_at(above, "spec", "ingress", "[]", "from", "[]", "namespaceSelector"):
        assert_labelled(peer, "matchLabels")
    for subject in objects_at(above, "subjects", "[]"):
        if subject.get("kind") in ("User", "Group") and isinstance(subject.get("name"), str):
            assert subject["name"].startswith(("lcluster:acme:", "system:serviceaccounts:acme-"))
    assert_confined(plural, above)


def assert_confined(plural: str, above: Any) -> None:
    condition = {"name": CONDITION, "expression": expression(ACME)}
    if plural == "validatingadmissionpolicies":
        for spec in objects_at(above, "spec"):
            assert condition in spec["matchConditions"]
        for constraints in objects_at(above, "spec", "matchConstraints"):
            assert_labelled(constraints["namespaceSelector"], "matchLabels")
    for webhook in objects_at(above, "webhooks", "[]"):
        assert condition in webhook["matchConditions"]
        assert_labelled(webhook["namespaceSelector"], "matchLabels")


def paths_in(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield above
    members = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else ()
    for key, each in (*members, *items):
        yield from paths_in(each, (*above, str(key)))


def pointer(path: tuple[str, ...]) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)


HOSTILE: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        "beta",
        "system:masters",
        {},
        [],
        {"matchLabels": None},
        {"matchLabels": {LABEL: "beta"}},
        {"matchLabels": {"x": "y"}},
        {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]},
        {"namespaceSelector": {}},
        {"namespaceSelector": None},
        {"labels": None},
        {"a": "b"},
        {"rbac.authorization.k8s.io/aggregate-to-admin": "true"},
        {"kind": "Group", "name": "system:authenticated"},
        {"clusterRoleSelectors": [{}]},
        [{"namespaceSelector": {}}],
        [{"kind": "User", "name": "admin"}],
        [{"name": "a.b.c"}],
        [{"name": "mine", "expression": "true"}],
    ]
)
KEYS = st.sampled_from(
    [
        "-",
        "0",
        "name",
        "kind",
        "labels",
        "matchLabels",
        "namespaceSelector",
        "matchConditions",
        "aggregationRule",
        "$patch",
        "rbac.authorization.k8s.io/aggregate-to-admin",
        LABEL,
    ]
)


def patches(plural: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    known = st.sampled_from(sorted(set(paths_in(ABOVE[plural]))))
    path = st.builds(lambda each, more: pointer((*each, *more)), known, st.lists(KEYS, max_size=2))
    kinds = st.sampled_from(["add", "replace", "remove", "move", "copy", "test"])
    operation = st.builds(
        lambda kind, where, source, value: {
            "op": kind,
            "path": where,
            "from": source,
            "value": value,
        },
        kinds,
        path,
        path,
        HOSTILE,
    )
    return st.lists(operation, min_size=1, max_size=3)


CONDITIONS = "/webhooks/0/matchConditions"
OWN = "lcluster.tenancy.loblaw.digital/tenant"


@pytest.mark.parametrize(
    ("plural", "kind", "path", "value"),
    [
        ("validatingwebhookconfigurations", "remove", f"{CONDITIONS}/1", None),
        ("validatingwebhookconfigurations", "replace", f"{CONDITIONS}/1", {"name": "a"}),
        ("validatingwebhookconfigurations", "replace", f"{CONDITIONS}/1/expression", "true"),
        ("validatingwebhookconfigurations", "replace", f"{CONDITIONS}/1/name", "mine"),
        ("validatingadmissionpolicies", "remove", "/spec/matchConditions/0", None),
        ("namespaces", "add", "/metadata/labels", "no object"),
        ("namespaces", "add", "", {"metadata": "no object"}),
    ],
)
def test_a_json_patch_of_confined_fields_is_refused(
    plural: str, kind: str, path: str, value: Any
) -> None:
    with pytest.raises(Refused):
        sent(
            plural,
            "patch",
            "application/json-patch+json",
            [{"op": kind, "path": path, "value": value}],
        )


def test_a_strategic_patch_cannot_delete_the_match_condition_of_the_gateway() -> None:
    webhook = {"name": "a.b.c", "$deleteFromPrimitiveList/matchConditions": [{"name": OWN}]}
    with pytest.raises(Refused):
        sent(
            "validatingwebhookconfigurations",
            "patch",
            "application/strategic-merge-patch+json",
            {"webhooks": [webhook]},
        )


DEEP: Any = 1
for _ in range(240):
    DEEP = {"a": DEEP}
DEEPER = {"a": DEEP}
for _ in range(360):
    DEEPER = {"a": DEEPER}


@pytest.mark.parametrize("plural", BELOW)
@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("json-patch+json", [{"op": "add", "path": "/spec" + "/a" * 2_000, "value": 1}]),
        ("json-patch+json", [{"op": "add", "path": "/spec" + "/a" * 300, "value": DEEP}]),
        ("json-patch+json", [{"op": "add", "path": "/spec", "value": DEEPER}]),
        ("merge-patch+json", {"spec": DEEPER}),
        ("strategic-merge-patch+json", {"spec": DEEP}),
        ("apply-patch+yaml", {"spec": DEEPER}),
    ],
)
def test_a_too_deeply_nested_patch_causes_no_crash(plural: str, kind: str, patch: Any) -> None:
    # A pointer of 600 keys, and 250 levels of a strategic merge patch, were answered with 500.
    with suppress(Refused):
        sent(plural, "patch", f"application/{kind}", patch)


@pytest.mark.parametrize("verb", ["create", "update", "patch"])
def test_a_number_that_is_out_of_range_in_a_confined_kind_is_refused(verb: str) -> None:
    body = {"spec": {"a": msgspec.Raw(b"1" * 5_000)}}
    with pytest.raises(Refused, match="cannot be read: Integer value out of range"):
        sent("namespaces", verb, "application/merge-patch+json" * (verb == "patch"), body)


def test_an_apply_without_metadata_has_the_tenants_label() -> None:
    apply = {"apiVersion": "v1", "kind": "Namespace", "metadata": None}
    above = sent("namespaces", "patch", "application/apply-patch+yaml", apply)
    assert above["metadata"]["labels"][LABEL] == "acme"


@pytest.mark.parametrize("plural", BELOW)
@given(st.data())
def test_no_json_patch_gives_an_object_effect_on_other_tenants(
    plural: str, data: st.DataObject
) -> None:
    patch = data.draw(patches(plural))
    try:
        above = sent(plural, "patch", "application/json-patch+json", patch)
        result = jsonpatch.apply_patch(deepcopy(ABOVE[plural]), above)
    except (Refused, jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        return
    assert_own(plural, result)


def parts(plural: str) -> st.SearchStrategy[dict[str, Any]]:
    known = st.sampled_from([each for each in paths_in(BELOW[plural]) if each])

    def nested(path: tuple[str, ...], value: Any) -> Any:
        for key in reversed(path):
            value = [value] if key.isdecimal() else {key: value}
        return value

    return st.builds(nested, known, HOSTILE)


@pytest.mark.parametrize("plural", BELOW)
@given(st.data())
def test_no_merge_patch_gives_an_object_effect_on_other_tenants(
    plural: str, data: st.DataObject
) -> None:
    patch = data.draw(parts(plural))
    try:
        above = sent(plural, "patch", "application/merge-patch+json", patch)
    except Refused:
        return
    assert_own(plural, merged(ABOVE[plural], above))
