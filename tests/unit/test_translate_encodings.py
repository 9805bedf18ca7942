"""Which encoding a client is answered in."""

import pytest
from lnamespace.kube.media_types import JSON
from lnamespace.translate.protocol.encodings import NegotiatedEncoding, encoding_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

PODS = ResourceType("", "pods", "Pod", namespaced=True)
WIDGETS = ResourceType("example.com", "widgets", "Widget", namespaced=True, custom=True)
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "media_type", "asked"),
    [
        ("", JSON, JSON),
        ("*/*", JSON, JSON),
        (JSON, JSON, JSON),
        (f"{PROTOBUF},{JSON}", JSON, JSON),
        (PROTOBUF, PROTOBUF, JSON),
        (YAML, YAML, JSON),
        (f"{YAML}, {JSON}", YAML, JSON),
        (f"{TABLE},{JSON}", JSON, f"{JSON};as=Table;g=meta.k8s.io;v=v1, {JSON}"),
        (f"text/html, {JSON};q=0.5", JSON, JSON),
        (
            f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            PROTOBUF,
            f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        ),
    ],
)
def test_json_is_chosen_if_the_client_accepts_it(accept: str, media_type: str, asked: str) -> None:
    request = ResourceRequest("list", PODS, "v1")
    assert encoding_of(request, accept) == NegotiatedEncoding(media_type, asked)


METADATA = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize("resource", [PODS, WIDGETS])
@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (f"{PROTOBUF};{METADATA},{JSON};{METADATA},{JSON}", PROTOBUF),
        (f"{JSON};{METADATA},{PROTOBUF};{METADATA}", JSON),
        (f"{PROTOBUF};{METADATA};q=0.5,{JSON};{METADATA}", JSON),
        (f"{PROTOBUF};{METADATA}beta1,{JSON};{METADATA}beta1", JSON),
        (f"*/*;{METADATA}", JSON),
    ],
)
def test_metadata_is_encoded_in_protobuf_for_clients_that_prefer_it(
    resource: ResourceType, accept: str, media_type: str
) -> None:
    """In JSON each object of a list says its kind: informers were not equal to their own lists."""
    request = ResourceRequest("list", resource, "v1")
    assert encoding_of(request, accept).media_type == media_type
    assert encoding_of(ResourceRequest("update", resource, "v1"), accept).media_type == JSON


@pytest.mark.parametrize("accept", ["text/html", "application/cbor", f"{JSON};q=0", "a;b=\r\nc: d"])
def test_a_client_without_an_acceptable_media_type_is_answered_with_406(accept: str) -> None:
    with pytest.raises(Refused) as refused:
        encoding_of(ResourceRequest("list", PODS, "v1"), accept)
    assert refused.value.status.code == 406


def test_custom_resources_cannot_be_encoded_in_protobuf() -> None:
    with pytest.raises(Refused):
        encoding_of(ResourceRequest("get", WIDGETS, "v1"), PROTOBUF)


def test_a_write_is_answered_with_the_object_and_not_with_a_table() -> None:
    request = ResourceRequest("create", PODS, "v1")
    assert encoding_of(request, f"{TABLE}, {JSON}").accept == JSON


def test_a_review_cannot_be_returned_as_a_table() -> None:
    review = ResourceType("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubject", False)
    request = ResourceRequest("create", review, "v1")
    with pytest.raises(Refused) as caught:
        encoding_of(request, TABLE)
    assert caught.value.status.code == 406
    assert encoding_of(request, f"{TABLE}, {JSON}") == NegotiatedEncoding(JSON, JSON)


def test_a_watch_cannot_be_encoded_in_yaml() -> None:
    with pytest.raises(Refused):
        encoding_of(ResourceRequest("watch", PODS, "v1"), YAML)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (f"{YAML}, {JSON}", YAML),
        (f"{JSON};q=0.5, {YAML};q=0.9", YAML),
        (f"{JSON}, {YAML}", JSON),
        (f"{YAML};q=0.5, */*", JSON),
    ],
)
def test_yaml_is_chosen_for_clients_that_prefer_it_except_for_watches(
    accept: str, media_type: str
) -> None:
    assert encoding_of(ResourceRequest("list", PODS, "v1"), accept).media_type == media_type
    assert encoding_of(ResourceRequest("watch", PODS, "v1"), accept).media_type == JSON


def test_a_watch_of_tables_is_refused_in_protobuf_alone() -> None:
    """Its events could not be encoded, and the connection was cut."""
    form, request = TABLE.removeprefix(JSON), ResourceRequest("watch", PODS, "v1")
    with pytest.raises(Refused) as refused:
        encoding_of(request, f"{PROTOBUF}{form}")
    assert refused.value.status.code == 406
    assert encoding_of(request, f"{PROTOBUF}{form}, {JSON}").accept == JSON
    assert encoding_of(request, f"{PROTOBUF}{form}, {TABLE}").media_type == JSON
