"""Objects of every kind of Kubernetes go up and come down as they were, whatever they name.

The kinds are those that a recorded API server serves, their fields are those of its Go types.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lnamespace.kube.media_types import APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from lnamespace.translate.bodies.encoded import answer_down, events_down, request_up
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.protobuf.schema import schema_file
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import GroupResource, ResourceTable, ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.schema_objects import objects_of
from tests.unit.support.translation import GADGETS, JSON, RBAC, WIDGETS
from tests.unit.support.upstream import discovered


def _kinds() -> Iterator[tuple[str, str, ResourceType]]:
    """Give the key in the table of types, the version and the type of each kind."""
    for group in discovered():
        for version in group.versions:
            for each in version.resources:
                assert each.response_kind is not None
                kind, namespaced = each.response_kind.kind, each.scope == "Namespaced"
                key = f"{group.name}/{version.version} {kind}".removeprefix("/")
                if key in schema_file().kinds:
                    made = ResourceType(group.name, each.resource, kind, namespaced)
                    yield key, version.version, made


KINDS = {key: (version, resource) for key, version, resource in _kinds()}
ACME = TenantView(
    "acme",
    ResourceTable.from_types([*(resource for _, resource in KINDS.values()), WIDGETS, GADGETS]),
    {
        GroupResource(RBAC, "clusterroles"): frozenset({"admin"}),
        GroupResource("storage.k8s.io", "storageclasses"): frozenset({"standard"}),
    },
)
READ_ONLY = "networking.k8s.io/v1 ServiceCIDR"
"""Of which a tenant writes none."""
DEFAULTS = {
    ".spec.matchConstraints.namespaceSelector": {},
    ".webhooks[].namespaceSelector": {},
    ".spec.rules": [],
    ".spec.devices": [],
    ".spec.limited.nominalConcurrencyShares": 30,
    ".preemptionPolicy": "PreemptLowerPriority",
}
"""What the API server writes itself where a field that is pinned upstream was left out."""
OF_REQUESTER = (".spec.username", ".spec.uid", ".spec.groups", ".spec.extra")
"""What the API server writes over in requests for certificates."""
EXAMPLES = max(8, settings().max_examples // 5)
ABSENT = object()


def differences(own: Any, below: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give the paths at which both differ, with what stands below."""
    if isinstance(own, dict) and isinstance(below, dict):
        for key in own.keys() | below.keys():
            values = own.get(key, ABSENT), below.get(key, ABSENT)
            yield from differences(*values, f"{path}.{key}")
    elif isinstance(own, list) and isinstance(below, list) and len(own) == len(below):
        for each in zip(own, below, strict=True):
            yield from differences(*each, f"{path}[]")
    elif own != below:
        yield path, below


def changes(own: Any, below: Any) -> list[tuple[str, Any]]:
    """Return the differences but those that the API server makes too."""
    return [
        (path, value)
        for path, value in differences(own, below)
        if DEFAULTS.get(path, ABSENT) != value and path not in OF_REQUESTER
    ]


@st.composite
def written(draw: st.DrawFn, key: str) -> dict[str, Any]:
    """Return an object as a tenant may write it."""
    version, resource = key.partition(" ")[0], KINDS[key][1]
    body = {"kind": resource.kind, "apiVersion": version, **draw(objects_of(_type(key), 5))}
    metadata = body.get("metadata") or {}
    for mine in ("managedFields", "selfLink", "generateName", "namespace"):
        metadata.pop(mine, None)
    role = body.get("roleRef")
    if role is not None:  # the API server takes no other
        role["kind"] = draw(st.sampled_from(["ClusterRole", "Role"][: 1 + resource.namespaced]))
    name = {"name": draw(st.sampled_from(["x", "prod", "a.b"]))}
    home = {"namespace": "prod"} if resource.namespaced else {}
    return body | {"metadata": {**metadata, **name, **home}}


def _type(key: str) -> str:
    return schema_file().kinds[key]


def asked(key: str, verb: str, own: dict[str, Any]) -> ResourceRequest:
    version, resource = KINDS[key]
    name = "" if verb in {"list", "watch"} else own["metadata"]["name"]
    return ResourceRequest(verb, resource, version, "prod" * resource.namespaced, name)


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("key", sorted(KINDS.keys() - {READ_ONLY}))
def test_an_object_of_every_kind_round_trips_through_translation(key: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(written(key))
    def comes_back(own: dict[str, Any]) -> None:
        try:
            _, above = request_up(asked(key, "update", own), JSON, encoded(own), ACME)
        except Refused:  # some fields are the platform's to set
            assume(False)
        below = answer_down(asked(key, "get", own), above, ACME)
        assert changes(own, json.loads(below)) == []
        listed = answer_down(asked(key, "list", own), b'{"items":[' + above + b"]}", ACME)
        assert json.loads(listed)["items"] == [json.loads(below)]
        event = b'{"type":"ADDED","object":' + above + b"}"
        told = events_down(asked(key, "watch", own), ACME)(event)
        assert told is not None
        assert json.loads(told)["object"] == json.loads(below)
        _, again = request_up(asked(key, "update", own), JSON, below, ACME)
        assert changes(json.loads(above), json.loads(again)) == []

    comes_back()


MEDIA_TYPES = (JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
WRONG: tuple[Any, ...] = (5, "q", [], [5], [[1]], {}, {"a": 5}, {"a": "b"}, None, True)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of every value within a value."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in members:
        yield (*above, key)
        if isinstance(each, dict | list):
            yield from places(each, (*above, key))


def with_value(own: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy with another value at a place."""
    if not place:
        return value
    changed: Any = own.copy()
    changed[place[0]] = with_value(own[place[0]], place[1:], value)
    return changed


def translated_or_refused(key: str, own: Any, media_type: str) -> None:
    verb = "update" if media_type == JSON else "patch"
    version, resource = KINDS[key]
    request = ResourceRequest(verb, resource, version, "prod" * resource.namespaced, "x")
    with suppress(Refused):
        request_up(request, media_type, encoded(own), ACME)


@pytest.mark.parametrize("key", sorted(KINDS.keys() - {READ_ONLY}))
def test_an_object_of_every_kind_with_a_wrong_value_is_translated_or_refused(key: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(written(key), st.data())
    def is_no_error(own: dict[str, Any], data: st.DataObject) -> None:
        place = data.draw(st.sampled_from([*places(own)]))
        wrong = with_value(own, place, data.draw(st.sampled_from(WRONG)))
        for media_type in MEDIA_TYPES:
            translated_or_refused(key, wrong, media_type)

    is_no_error()


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_a_wrong_group_or_managed_field_is_no_error(wrong: Any, media_type: str) -> None:
    """Both were answered with 500, and a traceback in the log."""
    spec = {"group": wrong, "names": {"plural": "widgets"}}
    key = "apiextensions.k8s.io/v1 CustomResourceDefinition"
    translated_or_refused(key, {"metadata": {"name": "widgets.x.com"}, "spec": spec}, media_type)
    entry = {"manager": "m", "fieldsV1": {"f:metadata": wrong}}
    quota = {"metadata": {"name": "x", "managedFields": [entry]}}
    translated_or_refused("v1 ResourceQuota", quota, media_type)


def test_every_kind_of_the_api_server_is_tested() -> None:
    plurals = {each.resource for group in discovered() for each in group.versions[0].resources}
    assert plurals - {each.plural for _, each in KINDS.values()} == {"gears", "meters", "widgets"}


def nested(levels: int) -> bytes:
    return b'{"f:a":' * levels + b"{}" + b"}" * levels


@pytest.mark.parametrize("levels", [500, 995, 1500, 9900])
@pytest.mark.parametrize(
    "key", ["v1 ConfigMap", "v1 PersistentVolumeClaim", "rbac.authorization.k8s.io/v1 Role"]
)
def test_an_object_with_deeply_nested_managed_fields_is_translated(key: str, levels: int) -> None:
    """Whoever may write an object gives it such: lists and watches go on, with that object."""
    fields = b'[{"manager":"acme","fieldsV1":' + nested(levels) + b"}]"
    above = b'{"metadata":{"name":"x","namespace":"acme-prod","managedFields":' + fields + b"}}"
    below = above.replace(b"acme-prod", b"prod")
    own = {"metadata": {"name": "x"}}
    assert answer_down(asked(key, "get", own), above, ACME) == below
    listed = answer_down(asked(key, "list", own), b'{"items":[' + above + b"]}", ACME)
    assert listed == b'{"items":[' + below + b"]}"
    event = b'{"type":"ADDED","object":' + above + b"}"
    told = events_down(asked(key, "watch", own), ACME)(event)
    assert told == b'{"type":"ADDED","object":' + below + b"}"


KEPT = "lcluster.tenancy.loblaw.digital/"


@pytest.mark.parametrize("text", ["", "{", "7", "[" * 2000])
@pytest.mark.parametrize(
    ("key", "annotation"),
    [
        ("rbac.authorization.k8s.io/v1 ClusterRole", f"{KEPT}aggregation-rule"),
        ("scheduling.k8s.io/v1 PriorityClass", f"{KEPT}original.value"),
        ("flowcontrol.apiserver.k8s.io/v1 FlowSchema", f"{KEPT}original.spec.rules"),
    ],
)
def test_a_list_with_a_malformed_kept_original_is_translated(
    key: str, annotation: str, text: str
) -> None:
    metadata = {"name": "acme-x", "annotations": {annotation: text}}
    above = {"metadata": metadata, "value": 1, "spec": {"rules": []}}
    listed = {"items": [above, {"metadata": {"name": "acme-y"}}]}
    below = answer_down(asked(key, "list", above), encoded(listed), ACME)
    assert [each["metadata"]["name"] for each in json.loads(below)["items"]] == ["x", "y"]


def test_managed_fields_use_the_tenant_spelling_of_prefixed_item_keys() -> None:
    """Managed fields of a CSINode named its drivers as the platform does."""
    key = "storage.k8s.io/v1 CSINode"
    above_item, item = 'k:{"name":"acme-csi.example.com"}', 'k:{"name":"csi.example.com"}'
    fields: dict[str, Any] = {"f:spec": {"f:drivers": {above_item: {"f:nodeID": {}}}}}
    managed = [{"manager": "m", "operation": "Update", "fieldsV1": fields}]
    drivers = [{"name": "acme-csi.example.com", "nodeID": "n"}]
    labels = {ACME.tenant_label: "acme"}
    metadata = {"name": "acme-n", "labels": labels, "managedFields": managed}
    own = {"metadata": {"name": "n"}}
    above = encoded({"metadata": metadata, "spec": {"drivers": drivers}})
    below = json.loads(answer_down(asked(key, "get", own), above, ACME))
    (entry,) = below["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:drivers": {item: {"f:nodeID": {}}}}}
    assert b"acme" not in encoded(below)
