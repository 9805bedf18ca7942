"""Resources of which the gateway makes the objects itself: nodes, addresses, APIServices."""

import json
from dataclasses import replace
from typing import Any

import pytest
from lnamespace.translate.discovery.groups import resource_table
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.synthetic_objects import (
    SyntheticObjects,
    build_synthetic_objects,
    is_synthetic,
)
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.upstream import discovered

VIEW = TenantView("acme", resource_table(discovered(), "acme"))
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def asked(group: str, plural: str, verb: str = "list", **query: str) -> ResourceRequest:
    resource = VIEW.resources.by_plural(group, plural)
    assert resource is not None
    return ResourceRequest(verb, resource, "v1", query=tuple(query.items()))


def services(
    verb: str = "list", accept: str = "", name: str = "", **query: str
) -> SyntheticObjects:
    request = asked("apiregistration.k8s.io", "apiservices", verb, **query)
    return build_synthetic_objects(replace(request, name=name), VIEW, accept)


def events(objects: SyntheticObjects) -> list[dict[str, Any]]:
    return [json.loads(event) for event in objects.events()]


@pytest.mark.parametrize(
    ("group", "plural", "made"),
    [
        ("", "nodes", True),
        ("networking.k8s.io", "ipaddresses", True),
        ("apiregistration.k8s.io", "apiservices", True),
        ("storage.k8s.io", "storageclasses", False),
        ("", "pods", False),
    ],
)
def test_nodes_ip_addresses_and_api_services_are_synthetic(
    group: str, plural: str, *, made: bool
) -> None:
    assert is_synthetic(asked(group, plural)) is made


def test_the_list_of_nodes_is_empty() -> None:
    nodes = build_synthetic_objects(asked("", "nodes"), VIEW, "")
    document = json.loads(nodes.all())
    assert document["kind"] == "NodeList"
    assert document["apiVersion"] == "v1"
    assert document["items"] == []
    assert int(document["metadata"]["resourceVersion"]) > 0
    request = replace(asked("", "nodes", "get"), name="node-1")
    with pytest.raises(Refused) as refusal:
        build_synthetic_objects(request, VIEW, "").one()
    assert refusal.value.status.message == 'nodes "node-1" not found'


def test_api_services_are_those_served_to_the_tenant() -> None:
    items = json.loads(services().all())["items"]
    names = {each["metadata"]["name"] for each in items}
    assert {"v1.", "v1.apps", "v2.autoscaling", "v1beta1.stable.example.com"} <= names
    assert not [name for name in names if "acme" in name or "beta-" in name or "platform" in name]
    assert names == {f"{each['spec']['version']}.{each['spec'].get('group', '')}" for each in items}
    assert len({each["metadata"]["uid"] for each in items}) == len(items)
    assert not [each for each in items if "kind" in each]


def test_an_api_service_is_read_by_its_name() -> None:
    found = json.loads(services("get", name="v1.apps").one())
    assert found["kind"] == "APIService"
    assert found["status"]["conditions"][0]["status"] == "True"


def test_a_table_is_returned_if_it_is_accepted() -> None:
    table = json.loads(services(accept=TABLE, fieldSelector="metadata.name=v1.apps").all())
    assert table["kind"] == "Table"
    assert [row["cells"] for row in table["rows"]] == [["v1.apps", "Local", "True", "<unknown>"]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_partial_object_metadata_is_returned_if_it_is_accepted() -> None:
    document = json.loads(services(accept=PARTIAL).all())
    assert document["kind"] == "PartialObjectMetadataList"
    assert {tuple(each) for each in document["items"]} == {("kind", "apiVersion", "metadata")}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"fieldSelector": "metadata.name=v1.apps"}, 1),
        ({"fieldSelector": "metadata.name=nonsense"}, 0),
        ({"labelSelector": "a=b"}, 0),
        ({"labelSelector": "a!=b", "fieldSelector": "metadata.name=v1.apps"}, 1),
    ],
)
def test_label_and_field_selectors_are_applied(query: dict[str, str], count: int) -> None:
    assert len(json.loads(services(**query).all())["items"]) == count


def test_a_watch_begins_with_existing_objects_and_an_initial_events_end_bookmark() -> None:
    asking = {"sendInitialEvents": "true", "allowWatchBookmarks": "true"}
    begun = events(services("watch", **asking))
    assert {each["type"] for each in begun[:-1]} == {"ADDED"}
    last = begun[-1]["object"]["metadata"]
    assert last["annotations"] == {"k8s.io/initial-events-end": "true"}
    nodes = build_synthetic_objects(asked("", "nodes", "watch", **asking), VIEW, "")
    assert [each["type"] for each in events(nodes)] == ["BOOKMARK"]
    without_bookmarks = services("watch", sendInitialEvents="true")
    assert {each["type"] for each in events(without_bookmarks)} == {"ADDED"}


def test_a_watch_from_the_current_resource_version_has_no_events() -> None:
    version = json.loads(services().all())["metadata"]["resourceVersion"]
    assert events(services("watch", resourceVersion=version)) == []


def test_a_watch_from_a_list_of_other_objects_has_expired() -> None:
    with pytest.raises(Refused) as refusal:
        events(services("watch", resourceVersion="7"))
    assert refusal.value.status.code == 410


@pytest.mark.parametrize(
    ("group", "plural", "columns", "wide"),
    [
        ("", "nodes", ["Name", "Status", "Roles", "Age", "Version"], 5),
        ("networking.k8s.io", "ipaddresses", ["Name", "ParentRef"], 0),
        ("apiregistration.k8s.io", "apiservices", ["Name", "Service", "Available", "Age"], 0),
    ],
)
def test_a_table_has_the_columns_of_its_kind(
    group: str, plural: str, columns: list[str], wide: int
) -> None:
    """That of nodes had the columns of APIServices."""
    table = json.loads(build_synthetic_objects(asked(group, plural), VIEW, TABLE).all())
    shown = [each["name"] for each in table["columnDefinitions"] if not each["priority"]]
    assert shown == columns
    assert len(table["columnDefinitions"]) == len(columns) + wide
