"""Admission policies name objects as the tenant does, and judge those upstream."""

from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, RBAC, asked, down, up


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


NAMED_RULES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "namespaces": ({"apiGroups": [""], "resources": ["namespaces"]}, ["acme-prod"]),
    "a subresource": ({"apiGroups": [""], "resources": ["namespaces/status"]}, ["acme-prod"]),
    "definitions": (
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
        },
        ["prod"],
    ),
    "configmaps": ({"apiGroups": [""], "resources": ["configmaps"]}, ["prod"]),
    "both": ({"apiGroups": [""], "resources": ["namespaces", "configmaps"]}, ["acme-prod", "prod"]),
    "roles of both scopes": (
        {"apiGroups": [RBAC], "resources": ["clusterroles", "roles"]},
        ["acme-prod", "prod"],
    ),
    "everything": ({"apiGroups": ["*"], "resources": ["*"]}, ["acme-prod", "prod"]),
    "everything cluster-scoped": (
        {"apiGroups": [""], "resources": ["*"], "scope": "Cluster"},
        ["acme-prod"],
    ),
    "everything in namespaces": (
        {"apiGroups": ["*"], "resources": ["*"], "scope": "Namespaced"},
        ["prod"],
    ),
    "the tenant's own": ({"apiGroups": ["example.com"], "resources": ["gadgets"]}, ["acme-prod"]),
    "what is not there yet": ({"apiGroups": ["later.com"], "resources": ["laters"]}, ["prod"]),
}


@pytest.mark.parametrize("what", NAMED_RULES)
@pytest.mark.parametrize("key", ["resourceRules", "excludeResourceRules"])
@pytest.mark.parametrize(
    ("plural", "member"),
    [
        ("validatingadmissionpolicies", "matchConstraints"),
        ("validatingadmissionpolicybindings", "matchResources"),
    ],
)
def test_resource_names_in_a_policy_are_in_upstream_spelling(
    plural: str, member: str, key: str, what: str
) -> None:
    rule, upstream = NAMED_RULES[what]
    own = named("p") | {"spec": {member: {key: [rule | {"resourceNames": ["prod"]}]}}}
    sent = up(plural, own)
    assert sent["spec"][member][key][0]["resourceNames"] == upstream
    assert down(plural, sent)["spec"][member][key] == own["spec"][member][key]


@given(
    st.sampled_from(sorted(NAMED_RULES)),
    st.lists(st.sampled_from(["a", "b", "a.b", "c.d.e"]), min_size=1),
)
@example("namespaces", ["a", "a"])
def test_resource_names_in_a_policy_round_trip(what: str, names: list[str]) -> None:
    """They do though the API server refuses a name that is there twice: it is to say so."""
    assert shown_names(NAMED_RULES[what][0], names) == names


@given(
    st.sampled_from(["configmaps", "the tenant's own", "roles of both scopes"]),
    st.lists(st.sampled_from(["a", "acme-a", "b", "acme-b"]), unique=True, min_size=1),
)
def test_resource_names_with_the_tenant_prefix_round_trip(what: str, names: list[str]) -> None:
    assert shown_names(NAMED_RULES[what][0], names) == names


def test_a_resource_name_that_is_no_text_is_unchanged() -> None:
    assert shown_names(NAMED_RULES["both"][0], ["a", 7]) == ["a", 7]


def test_a_resource_name_is_translated_once_for_types_with_the_same_spelling() -> None:
    # A rule for everything with 34 KB of names spelled each by 60 types, and took seconds.
    names = [f"n{number}" for number in range(1_000)]
    with patch.object(
        TenantView, "name_up", autospec=True, side_effect=TenantView.name_up
    ) as spelled:
        assert shown_names(NAMED_RULES["everything"][0], names) == names
    # Up, and twice on the way down.
    assert spelled.call_count <= 1 + 3 * len(names) * (1 + len(ACME.spelled_apart))


def shown_names(rule: dict[str, Any], names: list[Any]) -> Any:
    """Return what is read of the names of a rule that was written."""
    spec = {"matchConstraints": {"resourceRules": [rule | {"resourceNames": names}]}}
    kind = "validatingadmissionpolicies"
    shown = down(kind, up(kind, named("p") | {"spec": spec}))["spec"]
    return shown["matchConstraints"]["resourceRules"][0]["resourceNames"]


@pytest.mark.parametrize(
    ("path", "refused"),
    [("resourceNames/0", True), ("resources/-", True), ("scope", True), ("operations/0", False)],
)
def test_a_json_patch_of_a_single_resource_name_in_a_policy_is_refused(
    path: str, refused: bool
) -> None:
    whole = f"/spec/matchConstraints/resourceRules/0/{path}"
    body = msgspec.json.encode([{"op": "replace", "path": whole, "value": "a"}])
    request = asked("validatingadmissionpolicies", "patch", name="p")
    with pytest.raises(Refused) if refused else nullcontext():
        request_up(request, "application/json-patch+json", body, ACME)


@pytest.mark.parametrize("verb", ["create", "update"])
def test_a_policy_with_hundreds_of_thousands_of_names_is_refused_at_once(verb: str) -> None:
    """One of 3 MB took the thread that all share for three seconds."""
    rule = {"apiGroups": ["*"], "resources": ["*"], "resourceNames": ["x"] * 100_000}
    body = {"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [rule]}}}
    request = asked("validatingadmissionpolicies", verb)
    with pytest.raises(Refused) as refused:
        request_up(request, "application/json", msgspec.json.encode(body), ACME)
    assert refused.value.status.code == 413
    assert "limit is 262144 in admissionregistration.k8s.io" in refused.value.status.message
