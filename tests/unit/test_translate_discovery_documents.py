"""The discovery documents of one tenant, and that they are those of a plain API server."""

import json
from typing import Any

import pytest
from lnamespace.translate.discovery.documents import (
    aggregated_discovery,
    api_versions,
    group_document,
    group_list,
    resource_list_down,
    served_paths,
    storage_version_hash,
    tenant_discovery,
)
from lnamespace.translate.discovery.groups import TenantGroups, parse_discovery, resource_table

from tests.unit.support.upstream import discovered, recorded

NAMES = TenantGroups("acme")
TABLE = resource_table(discovered(), "acme")
SERVED = tenant_discovery(discovered(), NAMES, TABLE)
FOREIGN = (b"beta-", b"platform", b"acme", b"gears", b"meters")
WIDGETS = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "acme-stable.example.com/v1",
    "resources": [
        {
            "name": "widgets",
            "singularName": "widget",
            "namespaced": True,
            "kind": "Widget",
            "verbs": ["get", "list"],
            "shortNames": ["wd"],
            "storageVersionHash": storage_version_hash("acme-stable.example.com", "v1", "Widget"),
        },
        {
            "name": "widgets/scale",
            "singularName": "",
            "namespaced": True,
            "group": "autoscaling",
            "version": "v1",
            "kind": "Scale",
            "verbs": ["get"],
        },
    ],
}


def line(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("name", ["discovery-api.json", "discovery-apis.json"])
def test_a_parsed_discovery_document_is_serialized_to_the_same_bytes(name: str) -> None:
    assert aggregated_discovery(parse_discovery(recorded(name))) == recorded(name)


def test_built_in_groups_without_hidden_resources_are_unchanged() -> None:
    before = {group.name: group for group in discovered()}
    changed = {group.name for group in SERVED if before.get(group.name) != group}
    assert changed == {
        "",
        "apiregistration.k8s.io",
        "networking.k8s.io",  # IPAddresses are read-only
        "stable.example.com",
    }


def test_discovery_documents_contain_no_group_of_other_tenants() -> None:
    for document in (aggregated_discovery(SERVED), group_list(SERVED), served_paths(SERVED, ())):
        assert b"stable.example.com" in document
        assert not [word for word in FOREIGN if word in document]


def test_hidden_resources_are_not_in_the_aggregated_document() -> None:
    core = json.loads(aggregated_discovery(SERVED[:1]))["items"][0]["versions"][0]["resources"]
    by_name = {each["resource"]: each for each in core}
    assert not {"bindings", "componentstatuses"} & set(by_name)
    assert by_name["nodes"]["verbs"] == ["get", "list", "watch"]
    assert "subresources" not in by_name["nodes"]
    assert "binding" not in {each["subresource"] for each in by_name["pods"]["subresources"]}


def test_the_group_of_a_response_kind_is_in_tenant_spelling() -> None:
    group = next(each for each in SERVED if each.name == "stable.example.com")
    kind = group.versions[0].resources[0].response_kind
    assert kind is not None
    assert kind.group == "stable.example.com"


def test_a_group_document_has_the_versions_and_the_preferred_one() -> None:
    group = next(each for each in SERVED if each.name == "autoscaling")
    versions = [
        {"groupVersion": "autoscaling/v2", "version": "v2"},
        {"groupVersion": "autoscaling/v1", "version": "v1"},
    ]
    assert json.loads(group_document(group)) == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "autoscaling",
        "versions": versions,
        "preferredVersion": versions[0],
    }


def test_the_server_address_in_api_versions_is_that_of_the_tenant() -> None:
    assert api_versions("acme.clusters.example.com:443") == line(
        {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": "acme.clusters.example.com:443"}
            ],
        }
    )


def test_a_resource_list_of_a_custom_group_is_in_tenant_spelling() -> None:
    down = json.loads(resource_list_down(line(WIDGETS), NAMES, TABLE))
    assert down["groupVersion"] == "stable.example.com/v1"
    widgets, scale = down["resources"]
    assert widgets["storageVersionHash"] == storage_version_hash(
        "stable.example.com", "v1", "Widget"
    )
    assert widgets["shortNames"] == ["wd"]
    assert scale["group"] == "autoscaling"


def test_a_resource_list_without_hidden_resources_is_unchanged() -> None:
    table = resource_table(discovered(), "acme")
    leases = line(
        {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": "coordination.k8s.io/v1",
            "resources": [
                {
                    "name": "leases",
                    "singularName": "lease",
                    "namespaced": True,
                    "kind": "Lease",
                    "verbs": ["create", "delete", "get", "list", "watch"],
                    "storageVersionHash": "gqkMMb/YqFM=",
                }
            ],
        }
    )
    assert resource_list_down(leases, NAMES, table) == leases


def test_hidden_resources_and_subresources_are_not_in_a_resource_list() -> None:
    names = ["bindings", "nodes", "nodes/proxy", "pods", "pods/binding", "pods/log"]
    verbs = ["get", "create"]
    resources = [
        {
            "name": each,
            "singularName": "",
            "namespaced": True,
            "kind": "X",
            "verbs": verbs,
        }
        for each in names
    ]
    core = {"kind": "APIResourceList", "groupVersion": "v1", "resources": resources}
    down = json.loads(resource_list_down(line(core), NAMES, TABLE))
    assert [each["name"] for each in down["resources"]] == ["nodes", "pods", "pods/log"]
    assert down["resources"][0]["verbs"] == ["get"]


def test_the_hash_of_an_unknown_storage_version_is_left_out() -> None:
    known = storage_version_hash("acme-stable.example.com", "v1", "Widget").encode()
    stored_otherwise = line(WIDGETS).replace(known, b"AAAAAAAAAAA=")
    assert b"storageVersionHash" not in resource_list_down(stored_otherwise, NAMES, TABLE)


def test_discovery_paths_are_sorted_and_unique() -> None:
    paths = json.loads(served_paths(SERVED, ["/version", "/apis"]))["paths"]
    assert paths == sorted(set(paths))
    assert {"/api/v1", "/apis/stable.example.com/v1beta1", "/version"} <= set(paths)
