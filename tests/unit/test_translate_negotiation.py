"""Which representation is answered to which header Accept."""

import pytest
from lnamespace.kube.media_types import JSON, PROTOBUF, YAML
from lnamespace.translate.protocol.discovery_formats import (
    AGGREGATED,
    DiscoveryFormat,
    discovery_format,
)
from lnamespace.translate.protocol.negotiation import accept_clauses, acceptable, wants_indentation
from lnamespace.translate.protocol.status import Refused

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", DiscoveryFormat(JSON)),
        ("*/*", DiscoveryFormat(JSON)),
        ("application/*", DiscoveryFormat(JSON)),
        ("application/json", DiscoveryFormat(JSON)),
        ("application/json;pretty=1", DiscoveryFormat(JSON)),
        ("application/yaml", DiscoveryFormat(YAML)),
        (V2, AGGREGATED),
        (f"{V2},{V2BETA1},application/json", AGGREGATED),
        (f"{V2};profile=nopeer,application/json", AGGREGATED),
        (f"{V2BETA1},application/json", DiscoveryFormat(JSON)),
        (f"{V2};q=0.5,application/json", DiscoveryFormat(JSON)),
        ("application/vnd.kubernetes.protobuf, */*", DiscoveryFormat(PROTOBUF)),
        ("text/html, application/yaml;q=0.9, application/json;q=0.1", DiscoveryFormat(YAML)),
    ],
)
def test_the_first_servable_accept_clause_is_chosen(header: str, expected: DiscoveryFormat) -> None:
    assert discovery_format(header, aggregated=True) == expected


@pytest.mark.parametrize(
    "header", [V2BETA1, "text/plain", "application/json;g=foo", "application/json;q=0"]
)
def test_an_unservable_accept_header_is_refused_with_the_media_types(header: str) -> None:
    with pytest.raises(Refused) as refusal:
        discovery_format(header, aggregated=True)
    assert refusal.value.status.code == 406
    assert "application/json" in refusal.value.status.message


def test_a_path_without_an_aggregated_document_serves_none() -> None:
    with pytest.raises(Refused):
        discovery_format(V2, aggregated=False)
    assert discovery_format(f"{V2},*/*", aggregated=False) == DiscoveryFormat(JSON)


def test_accept_clauses_are_ordered_by_quality_and_specificity() -> None:
    clauses = accept_clauses("*/*, text/*, text/html;q=0.2, text/plain")
    assert [f"{each.main}/{each.sub}" for each in clauses] == [
        "text/plain",
        "text/*",
        "*/*",
        "text/html",
    ]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", "application/json"),
        ("application/json, */*", "application/json"),
        ("application/x+protobuf", "application/x+protobuf"),
        ("text/html", None),
        (";;;,,", None),
    ],
)
def test_an_acceptable_media_type_is_found(header: str, expected: str | None) -> None:
    assert acceptable(header, ("application/json", "application/x+protobuf")) == expected


@pytest.mark.parametrize(
    ("pretty", "agent", "expected"),
    [
        (None, "kubectl/v1.36.3", False),
        (None, "curl/8.5.0", True),
        ("", "curl/8.5.0", True),
        ("0", "curl/8.5.0", False),
        ("1", "kubectl/v1.36.3", True),
        ("yes", "curl/8.5.0", False),
    ],
)
def test_json_is_indented_for_browsers_and_curl(
    pretty: str | None, agent: str, expected: bool
) -> None:
    assert wants_indentation(pretty, agent) is expected
