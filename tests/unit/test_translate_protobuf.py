"""Bodies in protobuf: what Kubernetes' own serializer wrote, and bytes that nobody should send."""

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.protocol import protobuf
from lnamespace.translate.protocol.protobuf.encoding import ITEMS_OF_STEP
from lnamespace.translate.protocol.protobuf.envelope import PREFIX, open_envelope
from lnamespace.translate.protocol.protobuf.schema import schema_file
from lnamespace.translate.protocol.protobuf.wire import (
    MAX_DEPTH,
    MAX_MESSAGES,
    MAX_VALUES,
    delimited,
    varint,
)
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import in_protobuf

# Written by Kubernetes 1.36.3: the samples of k8s.io/api/testdata, in which every field is set,
# and objects with the fewest fields that there can be.
GOLDEN: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "golden" / "protobuf.json").read_text(encoding="utf-8")
)
CRD = "apiextensions.k8s.io/v1"


def enveloped(api_version: str, kind: str, raw: bytes) -> bytes:
    type_meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return PREFIX + delimited(1, type_meta) + delimited(2, raw)


def code_of(body: bytes) -> int:
    """Return 200, or the code of the refusal; any other exception is a defect."""
    try:
        assert json.loads(protobuf.to_json(body))
    except Refused as refused:
        return refused.status.code
    return 200


def status_code(body: bytes) -> int:
    with pytest.raises(Refused) as refused:
        protobuf.to_json(body)
    return refused.value.status.code


@pytest.mark.parametrize("name", GOLDEN)
def test_protobuf_written_by_kubernetes_is_decoded_to_its_json(name: str) -> None:
    body = base64.b64decode(GOLDEN[name]["protobuf"])
    assert json.loads(protobuf.to_json(body)) == GOLDEN[name]["json"]


@pytest.mark.parametrize("name", GOLDEN)
def test_json_is_encoded_to_the_same_bytes_as_by_kubernetes(name: str) -> None:
    body = json.dumps(GOLDEN[name]["json"]).encode()
    assert in_protobuf(body) == base64.b64decode(GOLDEN[name]["protobuf"])


def test_a_long_list_is_written_in_steps() -> None:
    items = [{"metadata": {"name": f"c{number}"}} for number in range(2 * ITEMS_OF_STEP + 1)]
    body = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": items}
    steps = protobuf.from_json_in_steps(json.dumps(body).encode())
    assert [next(steps) for _ in range(3)] == [None] * 3
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert json.loads(protobuf.to_json(end.value.value)) == body


def test_a_list_with_an_unknown_field_is_refused() -> None:
    body = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"spec":{"new":1}}]}'
    with pytest.raises(Refused) as refused:
        in_protobuf(body)
    assert refused.value.status.code == 406


def test_an_empty_object_of_every_kind_round_trips() -> None:
    for key in schema_file().kinds:
        api_version, kind = key.split(" ")
        empty = protobuf.to_json(enveloped(api_version, kind, b""))
        assert protobuf.to_json(in_protobuf(empty)) == empty


def test_a_watch_event_is_a_length_prefixed_frame_with_an_enveloped_object() -> None:
    node = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "prod"}}
    frame = protobuf.watch_frame(json.dumps({"type": "ADDED", "object": node}).encode())
    (length,) = struct.unpack(">I", frame[:4])
    assert length == len(frame) - 4
    head = delimited(1, b"ADDED")
    body = in_protobuf(json.dumps(node).encode())
    assert frame[4:] == head + delimited(2, delimited(1, body))


def test_an_envelope_without_a_kind_gets_the_kind_of_the_request() -> None:
    body = PREFIX + delimited(2, delimited(1, delimited(1, b"prod")))
    read = json.loads(protobuf.to_json(body, api_version="v1", kind="Namespace"))
    assert (read["apiVersion"], read["kind"]) == ("v1", "Namespace")
    assert read["metadata"] == {"name": "prod"}


def test_delete_options_are_supported_in_every_group() -> None:
    assert schema_file().message_of_kind("apps/v1", "DeleteOptions")
    read = json.loads(protobuf.to_json(enveloped("apps/v1", "DeleteOptions", b"\x08\x00")))
    assert read["gracePeriodSeconds"] == 0


def test_a_custom_resource_is_not_supported_in_protobuf() -> None:
    assert status_code(enveloped("example.com/v1", "Widget", b"")) == 415
    with pytest.raises(Refused) as refused:
        in_protobuf(b'{"apiVersion":"example.com/v1","kind":"Widget"}')
    assert refused.value.status.code == 406


def test_a_field_of_a_newer_client_is_refused_rather_than_lost() -> None:
    newer = delimited(1, delimited(1, b"web")) + delimited(999, b"x")
    assert status_code(enveloped("v1", "Pod", newer)) == 415


def test_a_removed_field_written_by_older_clients_is_accepted_if_empty() -> None:
    for cluster_name, code in ((b"", 200), (b"x", 415)):
        metadata = delimited(1, delimited(15, cluster_name) + delimited(1, b"prod"))
        assert code_of(enveloped("v1", "Namespace", metadata)) == code
    for status, code in ((b"", 200), (delimited(1, b""), 415)):
        policy = enveloped("networking.k8s.io/v1", "NetworkPolicy", delimited(3, status))
        assert code_of(policy) == code


def test_a_field_of_a_newer_server_is_refused_rather_than_lost() -> None:
    with pytest.raises(Refused) as refused:
        in_protobuf(b'{"apiVersion":"v1","kind":"Pod","spec":{"inventedIn":"1.99"}}')
    assert refused.value.status.code == 406
    assert "'inventedIn' of core/v1.PodSpec" in str(refused.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty data"),
        (b'{"kind":"Pod"}', "expected prefix [107 56 115 0]"),
        (PREFIX, "empty body"),
        (PREFIX + b"\x0a\x7f", "unexpected EOF"),
        (enveloped("v1", "Pod", b"\x0a\x7f"), 'Pod in version "v1" cannot be handled as a Pod'),
        (enveloped("v1", "Pod", delimited(1, delimited(1, b"\xff"))), "invalid start byte"),
        (enveloped("v1", "Pod", b"\x0a\x00\x0a\x00") + delimited(2, b""), "illegal tag"),
        (enveloped("v1", "Pod", delimited(1, b"") * 2), None),
        (enveloped("v1", "Pod", delimited(1, delimited(1, b"a")) * 2), "metadata is there twice"),
        (enveloped("v1", "Pod", delimited(1, b"\x38" + b"\xff" * 10 + b"\x01")), "overflow"),
    ],
)
def test_malformed_bytes_are_a_bad_request(body: bytes, words: str | None) -> None:
    with pytest.raises(Refused) as refused:
        protobuf.to_json(body)
    assert refused.value.status.code == 400
    assert words is None or words in str(refused.value)


def test_a_time_beyond_the_calendar_is_a_bad_request() -> None:
    created = delimited(8, b"\x08" + varint(1 << 50))
    assert status_code(enveloped("v1", "Pod", delimited(1, created))) == 400


def pod_with(spec: bytes) -> bytes:
    return enveloped("v1", "Pod", delimited(2, spec))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (pod_with(delimited(14, delimited(4, b"\x01\x80"))), "unexpected EOF"),  # packed, cut
        (pod_with(delimited(14, delimited(4, b"\x80") + b"\x08")), "unexpected EOF"),
        (pod_with(delimited(7, delimited(1, b"a") + b"\x12\x05")), "unexpected EOF"),
        (PREFIX + delimited(2, b"") + delimited(3, b"gzip"), "must not be encoded otherwise"),
        (PREFIX + b"\x10\x01", "illegal tag 2"),
        (PREFIX + delimited(5, b""), "illegal tag 5"),
    ],
)
def test_truncated_or_misplaced_protobuf_fields_are_a_bad_request(body: bytes, words: str) -> None:
    with pytest.raises(Refused) as refused:
        protobuf.to_json(body)
    assert refused.value.status.code == 400
    assert words in str(refused.value)


def test_a_number_without_a_json_form_is_a_bad_request() -> None:
    for number, code in ((1.5, 200), (float("nan"), 400), (float("inf"), 400)):
        schema = delimited(1, b"\x49" + struct.pack("<d", number))  # maximum
        version = delimited(7, delimited(4, schema))
        body = enveloped(CRD, "CustomResourceDefinition", delimited(2, version))
        assert code_of(body) == code


def test_an_int_or_string_is_a_number_or_a_string_and_nothing_else() -> None:
    ports = {b"\x08\x00\x10\x50": 80, b"\x08\x01\x1a\x01a": "a", b"": 0}
    for port, value in ports.items():
        body = enveloped("v1", "Service", delimited(2, delimited(1, delimited(4, port))))
        read = json.loads(protobuf.to_json(body))
        assert read["spec"]["ports"][0]["targetPort"] == value
    other = delimited(2, delimited(1, delimited(4, b"\x08\x02")))
    assert status_code(enveloped("v1", "Service", other)) == 400


def test_a_time_in_the_year_zero_round_trips() -> None:
    """One Event of a tenant with such a time let nobody list Events in protobuf."""
    written = b'{"apiVersion":"v1","kind":"Event","lastTimestamp":"0000-02-29T00:00:01Z"}'
    encoded = in_protobuf(written)
    # time.Date(0, 2, 29, 0, 0, 1, 0, time.UTC).Unix(), as a varint of 64 bits
    assert varint(-62162121599 % 2**64) in encoded
    assert json.loads(protobuf.to_json(encoded))["lastTimestamp"] == "0000-02-29T00:00:01Z"


def test_an_api_resource_list_of_the_core_group_has_an_empty_api_version() -> None:
    """`GET /api/v1` was answered 406 to client-go: the conformance spec of discovery found it."""
    written = b'{"kind":"APIResourceList","groupVersion":"v1","resources":[]}'
    with_version = json.dumps({"apiVersion": "v1"} | json.loads(written)).encode()
    found, expected = (open_envelope(in_protobuf(each)) for each in (written, with_version))
    assert (found.api_version, found.kind) == ("", "APIResourceList")
    assert found.raw == expected.raw


def test_the_zero_time_of_go_is_null() -> None:
    for seconds, time in ((-62135596800, None), (-62135596799, "0001-01-01T00:00:01Z")):
        deleted = delimited(9, b"\x08" + varint(seconds))
        read = json.loads(protobuf.to_json(enveloped("v1", "Pod", delimited(1, deleted))))
        assert read["metadata"]["deletionTimestamp"] == time
    last = delimited(9, b"\x08" + varint(253402300799))
    read = json.loads(protobuf.to_json(enveloped("v1", "Pod", delimited(1, last))))
    assert read["metadata"]["deletionTimestamp"] == "9999-12-31T23:59:59Z"
    beyond = delimited(9, b"\x08" + varint(253402300800))
    assert status_code(enveloped("v1", "Pod", delimited(1, beyond))) == 400


def test_a_map_entry_without_a_value_is_decoded_with_an_empty_value() -> None:
    entry = delimited(1, b"a")
    secret = protobuf.to_json(enveloped("v1", "Secret", delimited(2, entry)))
    assert json.loads(secret)["data"] == {"a": ""}
    quota = delimited(2, delimited(1, entry))
    assert json.loads(protobuf.to_json(enveloped("v1", "ResourceQuota", quota)))["spec"] == {
        "hard": {"a": "0"}
    }
    unknown = delimited(2, entry + delimited(3, b"x"))
    assert status_code(enveloped("v1", "Secret", unknown)) == 415


def test_missing_json_fields_are_encoded_as_the_zero_values_of_go() -> None:
    source = {"resourceFieldRef": {"resource": "limits.cpu"}}
    container = {"name": "c", "env": [{"name": "A", "valueFrom": source}]}
    body = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [container]}}
    read = json.loads(protobuf.to_json(in_protobuf(json.dumps(body).encode())))
    (env,) = read["spec"]["containers"][0]["env"]
    assert env["valueFrom"]["resourceFieldRef"] == {"resource": "limits.cpu", "divisor": "0"}
    scale = in_protobuf(b'{"kind":"Scale","apiVersion":"autoscaling/v1"}')
    assert open_envelope(scale).raw.endswith(
        delimited(2, b"\x08\0") + delimited(3, b"\x08\0\x12\0")
    )


@pytest.mark.parametrize("event", [b'{"type":1,"object":{}}', b'{"type":"ADDED"}', b"[]", b"{"])
def test_a_malformed_watch_event_gives_no_frame(event: bytes) -> None:
    with pytest.raises(Refused) as refused:
        protobuf.watch_frame(event)
    assert refused.value.status.code == 500


def test_negative_numbers_are_decoded_with_the_sign_of_their_type() -> None:
    spec = b"\x20" + varint(-1) + delimited(14, b"\x10" + varint(-2))
    read = json.loads(protobuf.to_json(pod_with(spec)))["spec"]
    assert read["terminationGracePeriodSeconds"] == -1
    assert read["securityContext"]["runAsUser"] == -2
    replicas = enveloped("apps/v1", "ReplicaSet", delimited(2, b"\x08" + varint(2**32 - 3)))
    assert json.loads(protobuf.to_json(replicas))["spec"]["replicas"] == -3


@pytest.mark.parametrize("raw", [b'{"a":1}}', b'{},"revision":7', b"{", b"nul", b'"\xff"', b"NaN"])
def test_embedded_json_cannot_reach_beyond_its_field(raw: bytes) -> None:
    revision = delimited(2, delimited(1, raw))
    assert status_code(enveloped("apps/v1", "ControllerRevision", revision)) == 400


def test_embedded_json_keeps_its_bytes() -> None:
    raw = b'{"b":1.10, "a":12345678901234567890123}'
    revision = enveloped("apps/v1", "ControllerRevision", delimited(2, delimited(1, raw)))
    assert raw in protobuf.to_json(revision)


def test_numbers_in_embedded_json_are_encoded_with_their_digits() -> None:
    body = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","data":{"a":1.10},"revision":1}'
    assert b'{"a":1.10}' in in_protobuf(body)


def nested_schema(depth: int) -> bytes:
    schema = b""
    for _ in range(depth):
        schema = delimited(28, schema)  # not
    version = delimited(4, delimited(1, schema))
    return enveloped(CRD, "CustomResourceDefinition", delimited(2, delimited(7, version)))


def test_the_depth_of_messages_is_limited() -> None:
    assert protobuf.to_json(nested_schema(MAX_DEPTH - 10))
    assert status_code(nested_schema(MAX_DEPTH)) == 400


def test_the_number_of_messages_is_limited() -> None:
    containers = delimited(2, delimited(2, b"") * MAX_MESSAGES)
    assert status_code(enveloped("v1", "Pod", containers)) == 400


@pytest.mark.parametrize(
    "spec",
    [
        delimited(2, delimited(3, b"") * MAX_VALUES),  # command
        delimited(14, delimited(4, bytes(MAX_VALUES + 1))),  # supplementalGroups, packed
        delimited(6, b"") * MAX_VALUES,  # dnsPolicy, again and again
    ],
)
def test_the_number_of_values_is_limited(spec: bytes) -> None:
    with pytest.raises(Refused) as refused:
        protobuf.to_json(enveloped("v1", "Pod", delimited(2, spec)))
    assert f"more than {MAX_VALUES} values" in str(refused.value)


def test_the_maximum_number_of_values_is_accepted() -> None:
    items = delimited(2, delimited(2, delimited(3, b"") * (MAX_VALUES - 10)))
    assert protobuf.to_json(enveloped("v1", "Pod", items))


def test_packed_repeated_numbers_are_decoded() -> None:
    context = delimited(14, delimited(4, varint(1) + varint(300)))  # supplementalGroups
    read = json.loads(protobuf.to_json(enveloped("v1", "Pod", delimited(2, context))))
    assert read["spec"]["securityContext"] == {"supplementalGroups": [1, 300]}


@pytest.mark.parametrize("levels", [100, 900, 1_500, 9_000])
def test_an_object_that_is_nested_as_the_api_server_takes_it_ends_no_list_or_watch(
    levels: int,
) -> None:
    """One ConfigMap with such managed fields ended all lists in protobuf of its LCluster."""
    fields = b'{"f:a":' * levels + b"{}" + b"}" * levels
    metadata = b'"metadata":{"name":"deep","managedFields":[{"fieldsV1":%b}]}' % fields
    deep = b'{"kind":"ConfigMap","apiVersion":"v1",%b}' % metadata
    assert fields in in_protobuf(deep)
    assert fields in protobuf.watch_frame(b'{"type":"ADDED","object":%b}' % deep)
    for kind, version in (("ConfigMapList", "v1"), ("PartialObjectMetadataList", "meta.k8s.io/v1")):
        items = b'{"kind":"%b","apiVersion":"%b","metadata":{},"items":[{"metadata":{}},{%b}]}'
        answer = in_protobuf(items % (kind.encode(), version.encode(), metadata))
        assert answer.count(fields) == 1


def test_a_message_that_is_nested_too_deeply_is_refused_and_ends_no_process() -> None:
    schema = b'{"not":' * 9_000 + b"{}" + b"}" * 9_000
    body = b'{"apiVersion":"%b","kind":"CustomResourceDefinition","spec":{"versions":[{"schema":'
    with pytest.raises(Refused):
        in_protobuf((body % CRD.encode()) + b'{"openAPIV3Schema":' + schema + b"}}]}}")


@given(st.data())
def test_changed_bytes_are_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in GOLDEN if "Pod" not in name]))
    body = bytearray(base64.b64decode(GOLDEN[name]["protobuf"]))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert code_of(bytes(body)) in {200, 400, 415}


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    assert code_of(enveloped("v1", "Pod", raw)) in {200, 400, 415}


def test_a_truncated_object_is_not_decoded_to_the_complete_object() -> None:
    body = base64.b64decode(GOLDEN["coordination.k8s.io/v1 Lease"]["protobuf"])
    raw = open_envelope(body).raw
    whole = protobuf.to_json(body)
    for end in range(len(raw)):
        try:
            read = protobuf.to_json(enveloped("coordination.k8s.io/v1", "Lease", raw[:end]))
        except Refused:
            continue
        assert read != whole
