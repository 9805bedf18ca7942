"""The OpenAPI documents of one tenant."""

import json
import re
from typing import Any

import msgspec
import pytest
from lnamespace.translate.discovery.groups import TenantGroups, resource_table
from lnamespace.translate.discovery.openapi_names import (
    GroupRenaming,
    operation_group,
    schema_name_down,
)
from lnamespace.translate.discovery.openapi_paths import ServedPaths
from lnamespace.translate.discovery.openapi_v2 import (
    SwaggerPart,
    parse_swagger,
    platform_part,
    swagger_down,
    tenant_part,
)
from lnamespace.translate.discovery.openapi_v3 import (
    document_down,
    index_down,
    parse_index,
    path_up,
)
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.protocol.resources import GroupResource

from tests.unit.support.upstream import discovered, recorded

OWN = "apis/acme-stable.example.com/v1"
FOREIGN = re.compile(rb"(?i)beta-|-beta|beta_|acme|platform\.|\.platform|gears?\b|meters?\b")
HIDDEN = {
    "/api/v1/componentstatuses",
    "/api/v1/namespaces/{namespace}/bindings",
    "/api/v1/namespaces/{namespace}/pods/{name}/binding",
    "/api/v1/nodes/{name}/proxy",
    "/api/v1/nodes/{name}/status",
}


METERS = GroupResource("platform.example.org", "meters")


def served(tenant: str, published: Published | None = None) -> ServedPaths:
    return ServedPaths(
        TenantGroups(tenant, published or Published()),
        resource_table(discovered(), tenant, published),
    )


def swagger(tenant: str) -> bytes:
    document = parse_swagger(recorded("openapi-v2.json"))
    paths = served(tenant)
    return swagger_down(document, platform_part(document, paths), tenant_part(document, paths))


def references(document: bytes) -> set[str]:
    return {name.decode() for name in re.findall(rb'"\$ref":"#/[\w/]+/([^"/]+)"', document)}


def without_parameters(found: set[str]) -> set[str]:
    return {name for name in found if not re.search(r"-[\w-]{8}$", name)}


def test_the_index_lists_only_documents_served_to_the_tenant() -> None:
    index = parse_index(recorded("openapi-v3.json"))
    paths = json.loads(index_down(index, served("acme")))["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/stable.example.com/v1", "version"} <= set(paths)
    assert not FOREIGN.search(json.dumps(paths).encode())
    assert list(paths) == sorted(paths)
    for path, entry in paths.items():
        assert entry["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")


def test_platform_documents_have_the_same_hash_for_all_tenants() -> None:
    index = parse_index(recorded("openapi-v3.json"))
    acme, other = (
        json.loads(index_down(index, served(each)))["paths"] for each in ("acme", "beta")
    )
    assert acme["apis/apps/v1"] == other["apis/apps/v1"]
    upstream = index.upstream_hash("apis/apps/v1")
    assert upstream
    assert upstream not in json.dumps(acme)


def test_the_hash_of_a_document_changes_with_the_served_resources() -> None:
    index = parse_index(recorded("openapi-v3.json"))
    before = served("acme")
    fewer = before.resources.from_types(
        each for each in before.resources.types if each.plural != "nodes"
    )
    changed = json.loads(index_down(index, ServedPaths(before.groups, fewer)))["paths"]
    same = json.loads(index_down(index, before))["paths"]
    assert {path for path in same if same[path] != changed[path]} == {"api/v1"}


@pytest.mark.parametrize(
    ("path", "upstream"),
    [
        ("apis/stable.example.com/v1", OWN),
        ("apis/apps/v1", "apis/apps/v1"),
        ("api/v1", "api/v1"),
        ("version", "version"),
        (OWN, None),
        ("apis/beta-stable.example.com/v2", None),
        ("apis/platform.example.org/v1", None),
        ("apis/../api/v1", None),
        ("", None),
    ],
)
def test_a_document_is_found_only_by_its_path_in_tenant_spelling(
    path: str, upstream: str | None
) -> None:
    index = parse_index(recorded("openapi-v3.json"))
    assert path_up(path, index, served("acme")) == upstream


def test_a_document_of_a_custom_group_is_renamed_everywhere() -> None:
    down = document_down(recorded("openapi-v3-widgets.json"), OWN, served("acme"))
    document = json.loads(down)
    assert not FOREIGN.search(down)
    assert "com.example.stable.v1.Widget" in document["components"]["schemas"]
    listed = document["paths"]["/apis/stable.example.com/v1/widgets"]["get"]
    assert listed["operationId"] == "listStableExampleComV1WidgetForAllNamespaces"
    assert listed["tags"] == ["stableExampleCom_v1"]
    assert listed["x-kubernetes-group-version-kind"]["group"] == "stable.example.com"
    assert references(down) <= set(document["components"]["schemas"])


def test_a_renamed_document_equals_that_of_a_plain_api_server() -> None:
    """The same CustomResourceDefinition without the prefix has the same document but for it."""
    before = recorded("openapi-v3-widgets.json")
    plain = before
    for prefixed, bare in (
        (b"acme-stable", b"stable"),
        (b"AcmeStable", b"Stable"),
        (b"acmeStable", b"stable"),
    ):
        plain = plain.replace(prefixed, bare)
    assert json.loads(document_down(before, OWN, served("acme"))) == json.loads(plain)


def test_a_document_without_changes_is_returned_unchanged() -> None:
    document = (
        b'{"openapi":"3.0.0","paths":{"/apis/apps/v1/deployments":{"get":{}}},"components":{}}'
    )
    assert document_down(document, "apis/apps/v1", served("acme")) is document


def test_hidden_paths_operations_and_their_schemas_are_left_out() -> None:
    down = document_down(recorded("openapi-v3-core.json"), "api/v1", served("acme"))
    document = json.loads(down)
    assert not HIDDEN & set(document["paths"])
    assert set(document["paths"]["/api/v1/nodes"]) == {"get"}
    assert "put" in document["paths"]["/api/v1/namespaces/{name}/finalize"]
    schemas = set(document["components"]["schemas"])
    assert "io.k8s.api.core.v1.ComponentStatus" not in schemas
    assert "io.k8s.api.core.v1.ConfigMap" in schemas
    assert references(down) <= schemas


def test_the_merged_document_has_the_parts_of_the_platform_and_of_the_tenant() -> None:
    down = swagger("acme")
    document = json.loads(down)
    assert not FOREIGN.search(down)
    assert "/apis/stable.example.com/v1/widgets" in document["paths"]
    assert "com.example.stable.v1beta1.WidgetList" in document["definitions"]
    assert not HIDDEN & set(document["paths"])
    assert "io.k8s.api.core.v1.Binding" not in document["definitions"]
    assert without_parameters(references(down)) <= set(document["definitions"])


def test_every_tenant_sees_its_own_group_in_the_merged_document() -> None:
    document = json.loads(swagger("beta"))
    assert "com.example.stable.v2.Gear" in document["definitions"]
    assert "com.example.stable.v1.Widget" not in document["definitions"]


def test_paths_and_definitions_are_sorted_as_in_the_api_server() -> None:
    document = json.loads(swagger("acme"))
    for part in ("paths", "definitions"):
        assert list(document[part]) == sorted(document[part])


def test_a_parsed_and_rebuilt_merged_document_has_the_same_bytes() -> None:
    document = parse_swagger(recorded("openapi-v2.json"))
    assert swagger_down(document, document.whole, SwaggerPart({}, {})) == recorded(
        "openapi-v2.json"
    )


def test_a_published_group_is_unchanged() -> None:
    paths = served("acme", Published(usable=frozenset({METERS})))
    document = parse_swagger(recorded("openapi-v2.json"))
    part = platform_part(document, paths)
    assert "org.example.platform.v1.Meter" in part.definitions


@pytest.mark.parametrize(
    ("group", "spelled"),
    [
        ("acme-stable.example.com", "AcmeStableExampleCom"),
        ("metrics.k8s.io", "Metrics"),
        ("a1.2b.io", "A12bIo"),
    ],
)
def test_a_group_is_spelled_in_operation_ids_as_in_the_api_server(group: str, spelled: str) -> None:
    assert operation_group(group, capital=True) == spelled


def test_the_name_of_a_schema_is_the_group_reversed_with_version_and_kind() -> None:
    name = schema_name_down("com.example.acme-a.v1.W", "acme-a.example.com", "a.example.com")
    assert name == "com.example.a.v1.W"


def renamed(schema: dict[str, Any]) -> Any:
    names = {"com.acme-a.v1.W": "com.a.v1.W"}
    renaming = GroupRenaming("acme-a.com", "a.com", names, "#/definitions/")
    return json.loads(bytes(renaming.schema(msgspec.Raw(json.dumps(schema).encode()))))


def test_user_written_values_in_a_schema_are_unchanged() -> None:
    written = {"$ref": "#/definitions/com.acme-a.v1.W", "text": "acme-a.com"}
    schema = {
        "description": "about acme-a.com",
        "default": written,
        "enum": [written],
        "properties": {"$ref": {"type": "string"}, "default": {"type": "object"}},
    }
    assert renamed(schema) == schema


def test_schema_references_are_renamed_in_every_position() -> None:
    before = {"$ref": "#/definitions/com.acme-a.v1.W"}
    after = {"$ref": "#/definitions/com.a.v1.W"}
    for key in ("items", "additionalProperties", "not"):
        assert renamed({key: before}) == {key: after}
    for key in ("allOf", "anyOf", "oneOf"):
        assert renamed({key: [before]}) == {key: [after]}
    assert renamed({"properties": {"default": before}}) == {"properties": {"default": after}}


def test_large_numbers_in_a_schema_keep_their_notation() -> None:
    renaming = GroupRenaming("acme-a.com", "a.com", {}, "#/definitions/")
    raw = msgspec.Raw(b'{"maximum":100000000000000000000000,"default":1.50}')
    assert bytes(renaming.schema(raw)) == bytes(raw)
