"""OpenAPI v2 as protobuf: filtered and renamed field by field, by what the JSON says is kept."""

import pytest
from lnamespace.translate.discovery.groups import TenantGroups, resource_table
from lnamespace.translate.discovery.openapi_paths import ServedPaths
from lnamespace.translate.discovery.openapi_v2 import parse_swagger, platform_part
from lnamespace.translate.discovery.openapi_v2_protobuf import swagger_protobuf_down
from lnamespace.translate.protocol.protobuf.wire import ProtobufError, delimited, tag, varint

from tests.unit.support.upstream import discovered, recorded

WIDGETS = "/apis/{}stable.example.com/v1/widgets"
GEARS = "/apis/beta-stable.example.com/v2/gears"
KIND = "group: {}stable.example.com\nkind: Widget\nversion: v1\n"
DEFINITIONS = "#/definitions/"


def text(number: int, value: str) -> bytes:
    return delimited(number, value.encode())


def named(number: int, name: str, value: bytes) -> bytes:
    return delimited(number, text(1, name) + delimited(2, value))


def extension(number: int, name: str, yaml: str) -> bytes:
    return named(number, name, text(2, yaml))


def response(schema: str) -> bytes:
    """Return a field ``responses`` with one response that has a schema."""
    reference = delimited(1, text(1, DEFINITIONS + schema))
    value = delimited(1, text(1, "OK") + delimited(2, reference))
    return delimited(9, named(1, "200", value))


def operation(prefix: str) -> bytes:
    spelled = prefix.removesuffix("-")
    whole = f"{spelled}StableExampleCom" if spelled else "stableExampleCom"
    return (
        text(1, f"{whole}_v1")
        + text(3, "about acme-stable.example.com")
        + text(5, f"list{whole[0].upper()}{whole[1:]}V1Widget")
        + response(f"com.example.{prefix}stable.v1.WidgetList")
        + tag(11, 0)
        + varint(1)
        + extension(13, "x-kubernetes-group-version-kind", KIND.format(prefix))
        + extension(13, "x-kubernetes-action", "list")
    )


def schema(prefix: str) -> bytes:
    item = delimited(
        23, delimited(1, text(1, f"{DEFINITIONS}com.example.{prefix}stable.v1.Widget"))
    )
    properties = delimited(25, named(1, "items", item))
    kinds = "- " + KIND.format(prefix).replace("\n", "\n  ").rstrip() + "\n"
    default = delimited(5, text(2, "group: acme-stable.example.com"))
    return default + properties + extension(31, "x-kubernetes-group-version-kind", kinds)


def item(prefix: str) -> bytes:
    return delimited(2, operation(prefix))


def document(prefix: str, *, others: bool) -> bytes:
    nodes = delimited(2, text(5, "list")) + delimited(4, text(5, "create")) * others
    paths = [named(2, WIDGETS.format(prefix), item(prefix)), named(2, "/api/v1/nodes", nodes)]
    definitions = [
        named(1, f"com.example.{prefix}stable.v1.WidgetList", schema(prefix)),
        named(1, "io.k8s.api.core.v1.Node", text(4, "a node")),
    ]
    if others:
        paths += [named(2, GEARS, b""), named(2, "/api/v1/componentstatuses", b"")]
        definitions += [
            named(1, "com.example.beta-stable.v2.Gear", b""),
            named(1, "io.k8s.api.core.v1.ComponentStatus", b""),
        ]
    head = text(1, "2.0")
    return head + delimited(8, b"".join(paths)) + delimited(9, b"".join(definitions))


def down(encoded: bytes, tenant: str = "acme") -> bytes:
    served = ServedPaths(TenantGroups(tenant), resource_table(discovered(), tenant))
    swagger = parse_swagger(recorded("openapi-v2.json"))
    return swagger_protobuf_down(encoded, swagger, platform_part(swagger, served), served)


def test_the_filtered_document_equals_that_of_a_plain_api_server() -> None:
    assert down(document("acme-", others=True)) == document("", others=False)


def test_another_tenant_sees_no_custom_resource_of_the_first() -> None:
    other = down(document("acme-", others=True), "carol")
    assert b"stable" not in other
    assert b"acme" not in other
    assert b"/api/v1/nodes" in other


@pytest.mark.parametrize("cut", [1, 7, 100, 400])
def test_a_document_that_is_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(ProtobufError):
        down(document("acme-", others=True)[:-cut])
