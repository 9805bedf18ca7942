"""Reading LNamespaces from JSON: tolerant of what is new, exact about what is wrong."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from lnamespace.errors import ModelError
from lnamespace.model.lnamespace import (
    Condition,
    DeletionPolicy,
    LNamespace,
    Metadata,
    Status,
    decode_lnamespace,
)
from lnamespace.model.subject import Member, SubjectKind

from tests.unit.support.strategies import lnamespaces


def raw(**parts: Any) -> bytes:
    return json.dumps({"metadata": {"name": "team-a"}, **parts}).encode()


def test_a_complete_object_is_decoded() -> None:
    lns = decode_lnamespace(
        json.dumps(
            {
                "apiVersion": "tenancy.loblaw.digital/v1beta1",
                "kind": "LNamespace",
                "metadata": {
                    "name": "team-a",
                    "uid": "u-1",
                    "resourceVersion": "17",
                    "generation": 3,
                    "managedFields": [{"manager": "kubectl"}],
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                },
                "spec": {
                    "users": [{"name": "alice"}],
                    "managers": [{"kind": "Group", "name": "ops"}],
                    "sudoers": [
                        {
                            "kind": "ServiceAccount",
                            "name": "deployer",
                            "namespace": "ci",
                            "expiresAt": "2026-06-30T18:00:00+02:00",
                        }
                    ],
                    "requester": "alice",
                    "billing": {"costCenter": "4711", "labels": {"app": "shop"}},
                    "deletionPolicy": "Retain",
                    "deletionProtection": True,
                },
                "status": {"namespaceUID": "n-1", "observedGeneration": 2},
            }
        ).encode()
    )
    assert (lns.name, lns.uid, lns.metadata.generation) == ("team-a", "u-1", 3)
    assert lns.spec.users == (Member("alice"),)
    assert lns.spec.managers == (Member("ops", SubjectKind.GROUP),)
    (sudoer,) = lns.spec.sudoers
    assert sudoer.kind is SubjectKind.SERVICE_ACCOUNT
    assert sudoer.expires_at == datetime(2026, 6, 30, 16, tzinfo=UTC)
    assert lns.spec.members == lns.spec.users + lns.spec.managers + lns.spec.sudoers
    assert lns.spec.billing.cost_center == "4711"
    assert lns.spec.deletion_policy is DeletionPolicy.RETAIN
    assert lns.status.namespace_uid == "n-1"


def test_every_field_except_the_name_has_a_default() -> None:
    assert decode_lnamespace(raw()) == LNamespace(Metadata("team-a"))
    assert decode_lnamespace(raw(spec={}, status={})) == LNamespace(Metadata("team-a"))


def test_fields_of_a_later_version_are_ignored() -> None:
    lns = decode_lnamespace(
        raw(
            spec={"users": [{"name": "a", "since": "now"}], "quota": {"cpu": 3}},
            status={"mood": "good", "conditions": []},
            new={"deeply": ["nested"]},
        )
    )
    assert lns.spec.users == (Member("a"),)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"spec": None}, "$.spec"),
        ({"spec": {"users": 7}}, "$.spec.users"),
        ({"spec": {"users": [{}]}}, "$.spec.users[0]"),
        ({"spec": {"users": [{"name": "a"}, {"name": ""}]}}, "$.spec.users[1].name"),
        ({"spec": {"users": [{"name": "a" * 513}]}}, "$.spec.users[0].name"),
        ({"spec": {"users": [{"name": "a"}] * 501}}, "$.spec.users"),
        ({"spec": {"sudoers": [{"name": "a", "kind": "Robot"}]}}, "$.spec.sudoers[0].kind"),
        ({"spec": {"managers": [{"name": "a", "expiresAt": "x"}]}}, "managers[0].expiresAt"),
        (
            {"spec": {"managers": [{"name": "a", "expiresAt": "2030-01-01T00:00:00"}]}},
            "managers[0].expiresAt",
        ),
        ({"spec": {"deletionPolicy": "Never"}}, "$.spec.deletionPolicy"),
        ({"spec": {"deletionProtection": "yes"}}, "$.spec.deletionProtection"),
        ({"spec": {"billing": {"labels": {"a": 1}}}}, "$.spec.billing.labels"),
        ({"metadata": {}}, "$.metadata"),
    ],
)
def test_a_decoding_error_names_the_path_of_the_field(parts: dict[str, Any], path: str) -> None:
    with pytest.raises(ModelError) as error:
        decode_lnamespace(raw(**parts))
    assert path in str(error.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", b"{}"])
def test_malformed_json_is_a_model_error(text: bytes) -> None:
    with pytest.raises(ModelError):
        decode_lnamespace(text)


@given(lnamespaces())
def test_an_encoded_lnamespace_is_decoded_to_the_same_value(lns: LNamespace) -> None:
    short = [m for m in lns.spec.members if not m.name or len(m.namespace) > 63]
    text = msgspec.json.encode(lns)
    if short:
        with pytest.raises(ModelError):
            decode_lnamespace(text)
    else:
        assert decode_lnamespace(text) == lns


def test_a_condition_is_found_by_its_type() -> None:
    ready = Condition("Ready", "True", "Ready", "", datetime(2026, 1, 1, tzinfo=UTC))
    status = Status(conditions=(ready,))
    assert status.condition("Ready") is ready
    assert status.condition("AccessReady") is None


def test_a_status_is_encoded_with_the_field_names_of_the_api() -> None:
    text = msgspec.json.encode(Status(namespace_uid="n-1", sudoers_group="team-a-sudoers"))
    assert json.loads(text) == {
        "observedGeneration": 0,
        "namespaceUID": "n-1",
        "sudoersGroup": "team-a-sudoers",
        "sudoUser": "",
        "counts": {"users": 0, "managers": 0, "sudoers": 0},
        "recorded": {},
        "conditions": [],
    }
