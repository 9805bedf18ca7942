"""The fields that the webhook fills in: the patches, and the objects that result."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.admission.decisions.decision import Decision, Policy
from lnamespace.admission.decisions.mutation import member_of_user, mutate
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.model import v1alpha1
from lnamespace.model.billing import BILLING_LABELS_MAX
from lnamespace.model.conversion import annotation_key
from lnamespace.model.lnamespace import LIST_MAX_ITEMS, Spec
from lnamespace.model.rules import member_problem
from lnamespace.model.subject import Member, SubjectKind

from tests.unit.support.admission import (
    ABSENT,
    ALICE,
    NAMES,
    POLICY,
    Json,
    context,
    creation,
    json_values,
    patched,
    steps,
    update,
)
from tests.unit.support.strategies import ODD_NAMES, specs

ENTRY = {"name": ALICE}
LISTS = ("users", "managers", "sudoers")


def in_all(entry: Json) -> Json:
    """One entry in every list."""
    return {field: [entry] for field in LISTS}


IN_ALL = in_all(ENTRY)
PROVENANCE = {
    "generation": 1,
    "effectiveAt": "2026-03-01T12:00:00Z",
    "source": "Default",
    "changedBy": ALICE,
}
UNALLOCATED = {"costCenter": "unallocated", "provenance": PROVENANCE}
PAID = {"costCenter": "1", "provenance": PROVENANCE | {"source": "Explicit"}}


def after(request: AdmissionRequest, policy: Policy = POLICY, **circumstances: Any) -> Json:
    """Return the object as it is once the patch has been applied."""
    decision = mutate(request, policy, context(**circumstances))
    assert decision.errors == ()
    changed: Json = patched(request.new, decision.patch)
    return changed


def spec_after(request: AdmissionRequest, policy: Policy = POLICY, **circumstances: Any) -> Json:
    spec: Json = after(request, policy, **circumstances)["spec"]
    return spec


def lists_after(request: AdmissionRequest, policy: Policy = POLICY) -> Json:
    return {k: v for k, v in spec_after(request, policy).items() if k in LISTS}


# On creation


@pytest.mark.parametrize("spec", [ABSENT, None])
def test_an_empty_spec_is_filled_in_by_one_operation(spec: Any) -> None:
    (step,) = steps(mutate(creation(spec), POLICY, context()).patch)
    whole = IN_ALL | {"requester": ALICE, "billing": UNALLOCATED}
    assert step == {
        "op": "add" if spec is ABSENT else "replace",
        "path": "/spec",
        "value": whole,
    }


def test_only_missing_fields_are_added_to_a_spec_with_server_defaults() -> None:
    patch = steps(mutate(creation({"deletionPolicy": "Delete"}), POLICY, context()).patch)
    assert {(step["op"], step["path"]) for step in patch} == {
        ("add", f"/spec/{field}") for field in (*LISTS, "requester", "billing")
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, IN_ALL),
        ({field: [] for field in LISTS}, IN_ALL),
        (dict.fromkeys(LISTS), IN_ALL),
        # Who names users, and nobody who may edit, may edit.
        ({"users": [{"name": "bob"}]}, {"users": [{"name": "bob"}], "managers": [ENTRY]}),
        (
            {"users": [{"name": "bob"}], "managers": [], "sudoers": []},
            {"users": [{"name": "bob"}], "managers": [ENTRY], "sudoers": []},
        ),
        # Who names somebody who may edit is not put anywhere.
        ({"managers": [{"name": "bob"}]}, {"managers": [{"name": "bob"}]}),
        ({"sudoers": [{"name": "bob"}]}, {"sudoers": [{"name": "bob"}]}),
    ],
)
def test_the_requester_is_added_to_the_default_lists(spec: Json, expected: Json) -> None:
    assert lists_after(creation(spec)) == expected


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (("managers",), {"managers": [ENTRY]}),
        (("users", "sudoers"), {"users": [ENTRY], "sudoers": [ENTRY]}),
        ((), {}),
    ],
)
def test_the_platform_team_chooses_the_lists(lists: tuple[str, ...], expected: Json) -> None:
    assert lists_after(creation({}), Policy(NAMES, default_lists=lists)) == expected


@pytest.mark.parametrize(
    "sent", ["mallory", "", "system:masters", None, 7, ["alice"], {"name": "alice"}]
)
def test_the_requester_is_the_caller_whatever_was_sent(sent: Any) -> None:
    assert spec_after(creation({"requester": sent}))["requester"] == ALICE


def test_a_correct_requester_needs_no_operation() -> None:
    spec = {"managers": [ENTRY], "requester": ALICE}
    patch = steps(mutate(creation(spec), POLICY, context()).patch)
    assert [step["path"] for step in patch] == ["/spec/billing"]


def test_groups_and_annotations_do_not_change_the_requester() -> None:
    notes = {"requester": "mallory", f"{NAMES.group}/requester": "mallory"}
    request = creation({}, groups=("system:masters", "mallory"), annotations=notes)
    changed = after(request)
    assert changed["spec"]["requester"] == ALICE
    assert changed["spec"]["managers"] == [ENTRY]
    assert changed["metadata"]["annotations"] == notes


def test_a_service_account_is_listed_with_its_kind_and_namespace() -> None:
    user = "system:serviceaccount:ci:deployer"
    entry = {"name": "deployer", "kind": "ServiceAccount", "namespace": "ci"}
    request = creation({}, user, ("system:serviceaccounts", "system:serviceaccounts:ci"))
    assert spec_after(request)["requester"] == user
    assert lists_after(request) == in_all(entry)


def test_a_system_service_account_is_added_to_every_list_but_the_sudoers() -> None:
    entry = {"name": "deployer", "kind": "ServiceAccount", "namespace": "kube-system"}
    listed = lists_after(creation({}, "system:serviceaccount:kube-system:deployer"))
    assert listed == {"users": [entry], "managers": [entry]}


@pytest.mark.parametrize(
    "user",
    [
        *("system:admin", "system:masters", "", "*", "a\nb", " alice", "alice ", "al\u200bice"),
        *("\0", "system:serviceaccount:a", "system:serviceaccount:a:b:c", "system:node:n1"),
    ],
)
def test_a_requester_who_fits_no_list_is_warned(user: str) -> None:
    request = creation({}, user)
    decision = mutate(request, POLICY, context(administrator=True))
    spec = patched(request.new, decision.patch)["spec"]
    assert spec["requester"] == user
    assert not set(LISTS) & set(spec)
    (warning,) = decision.warnings
    assert "is not put into any list: " in warning


@pytest.mark.parametrize(
    "user",
    ["Zoë Ünïcode", "https://issuer.example#sub", 'o\'brien "x" ~/\\', "a" * 512, "иван", "名前"],
)
def test_an_unusual_user_name_is_listed_unchanged(user: str) -> None:
    assert lists_after(creation({}, user)) == in_all({"name": user})


@given(st.one_of(st.sampled_from(ODD_NAMES), st.text(max_size=20)))
def test_the_requester_is_listed_only_by_a_valid_entry(user: str) -> None:
    member = member_of_user(user)
    listed = lists_after(creation({}, user))
    if member_problem(member):
        assert listed == {}
    else:
        assert member.subject.username == user
        assert listed["managers"][0]["name"] == member.name


@pytest.mark.parametrize(
    ("user", "member"),
    [
        ("alice", Member("alice")),
        (
            "system:serviceaccount:ci:bot",
            Member("bot", SubjectKind.SERVICE_ACCOUNT, "ci"),
        ),
        ("system:serviceaccountx", Member("system:serviceaccountx")),
    ],
)
def test_a_user_name_becomes_an_entry(user: str, member: Member) -> None:
    assert member_of_user(user) == member


def test_an_object_with_generate_name_is_filled_in() -> None:
    request = creation({})
    del request.new["metadata"]["name"]
    request.new["metadata"]["generateName"] = "team-"
    assert after(request)["metadata"] == {"generateName": "team-"}


# What mutation leaves to the schema and to validation


@pytest.mark.parametrize("spec", ["x", 7, [], [{}], True, 0, "", False])
def test_a_spec_that_is_no_mapping_is_left_for_the_schema(spec: Any) -> None:
    assert mutate(creation(spec), POLICY, context()) == Decision()
    assert mutate(update({"users": [ENTRY]}, spec), POLICY, context()) == Decision()


@pytest.mark.parametrize("spec", [ABSENT, None])
def test_an_update_without_a_spec_is_left_for_the_schema(spec: Any) -> None:
    assert mutate(update({"users": [ENTRY], "requester": ALICE}, spec), POLICY, context()) == (
        Decision()
    )


@pytest.mark.parametrize("users", ["x", 7, {"name": "bob"}, [7], ["bob"], [None], [{"nam": "b"}]])
def test_lists_of_the_wrong_shape_are_left_for_the_schema(users: Any) -> None:
    assert spec_after(creation({"users": users}))["users"] == users


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_other_operations_change_nothing(operation: Any) -> None:
    request = creation({})
    other = AdmissionRequest(
        "r-1", request.kind, operation, request.user_info, object=request.object
    )
    assert mutate(other, POLICY, context()) == Decision()


@given(json_values, json_values)
def test_garbage_never_raises(spec: Any, labels: Any) -> None:
    for sent in (spec, {"billing": spec}, {"users": spec, "billing": {"labels": labels}}):
        mutate(creation(sent), POLICY, context())
        mutate(update({"managers": [ENTRY], "billing": PAID}, sent), POLICY, context())
        older = update({"managers": [ENTRY], "billing": PAID}, sent, version=v1alpha1.VERSION)
        mutate(older, POLICY, context())


@given(json_values)
def test_garbage_beside_the_spec_is_left_unchanged(metadata: Any) -> None:
    request = creation({})
    request.new["metadata"] = metadata
    assert after(request)["metadata"] == metadata


# The annotation of the conversion


@pytest.mark.parametrize("others", [{}, {"a": "b"}])
def test_the_annotation_of_the_conversion_is_removed(others: Json) -> None:
    key = annotation_key(NAMES)
    notes = {key: '{"users":{}}'} | others
    for request in (
        creation({"managers": [ENTRY]}, annotations=notes),
        update({}, {"managers": [ENTRY]}),
    ):
        request.new["metadata"]["annotations"] = notes
        patch = steps(mutate(request, POLICY, context()).patch)
        pointer = "/metadata/annotations/" + key.replace("/", "~1")
        assert [step for step in patch if step["path"].startswith("/metadata")] == [
            {"op": "remove", "path": pointer}
        ]
        assert after(request)["metadata"]["annotations"] == others


@pytest.mark.parametrize("notes", [None, "x", 7, []])
def test_annotations_of_the_wrong_shape_are_left_for_the_schema(notes: Any) -> None:
    assert after(creation({}, annotations=notes))["metadata"]["annotations"] == notes


# On an update


OLD = {"managers": [ENTRY], "sudoers": [ENTRY], "requester": ALICE, "billing": PAID}


def test_an_update_fills_in_nothing() -> None:
    emptied = OLD | {"managers": [], "sudoers": []}
    assert mutate(update(OLD, emptied, "bob"), POLICY, context()) == Decision()
    bare = {"requester": ALICE, "billing": PAID}
    assert mutate(update(OLD, bare, "bob"), POLICY, context()) == Decision()


def test_a_replacement_without_the_requester_keeps_the_requester() -> None:
    """`kubectl replace` sends the file from which the LNamespace was created."""
    sent = {"managers": [ENTRY], "billing": PAID}
    (step,) = steps(mutate(update(OLD, sent, "bob"), POLICY, context()).patch)
    assert step == {"op": "add", "path": "/spec/requester", "value": ALICE}


@pytest.mark.parametrize("sent", ["mallory", "", None, 7])
def test_another_requester_is_left_for_validation_to_refuse(sent: Any) -> None:
    assert mutate(update(OLD, OLD | {"requester": sent}), POLICY, context()) == Decision()


def test_an_update_adds_no_requester() -> None:
    old = {"managers": [ENTRY], "billing": PAID}
    assert mutate(update(old, old), POLICY, context()) == Decision()


END = "2030-01-01T00:00:00Z"


def test_an_update_in_v1alpha1_keeps_the_expiry_of_entries() -> None:
    old = OLD | {"users": [{"name": "bob", "expiresAt": END}]}
    sent = OLD | {"users": [{"name": "bob"}, {"name": "eve"}]}
    (step,) = steps(mutate(update(old, sent, version=v1alpha1.VERSION), POLICY, context()).patch)
    assert step == {"op": "add", "path": "/spec/users/0/expiresAt", "value": END}


def test_an_update_in_v1beta1_can_remove_the_expiry_of_an_entry() -> None:
    old = OLD | {"users": [{"name": "bob", "expiresAt": END}]}
    assert mutate(update(old, OLD | {"users": [{"name": "bob"}]}), POLICY, context()) == Decision()


# Whatever comes


@given(specs(), st.sampled_from([ALICE, "system:serviceaccount:ci:bot", "system:admin"]))
def test_the_requester_is_always_the_caller(spec: Spec, user: str) -> None:
    sent = as_sent(spec) | {"requester": "mallory"}
    assert spec_after(creation(sent, user))["requester"] == user


@given(specs())
def test_only_the_fields_that_the_webhook_fills_in_are_changed(spec: Spec) -> None:
    sent = as_sent(spec)
    made = spec_after(creation(sent))
    for field in set(sent) - {"requester", "billing", *LISTS}:
        assert made[field] == sent[field]
    for field in LISTS:
        if sent.get(field):
            assert made[field] == sent[field]


@given(specs())
def test_a_second_mutation_of_a_creation_changes_nothing(spec: Spec) -> None:
    """Only the source differs: mutation takes the charge that it wrote for an explicit one."""
    request = creation(as_sent(spec))
    made = after(request)
    again = mutate(creation(made["spec"]), POLICY, context())
    assert all(step.path == "/spec/billing/provenance/source" for step in again.patch)


@given(specs(), specs())
def test_a_second_mutation_of_an_update_changes_nothing(old: Spec, new: Spec) -> None:
    before = spec_after(creation(as_sent(old)))
    made = spec_after(update(before, as_sent(new)))
    assert mutate(update(before, made), POLICY, context()).patch == ()


@given(specs())
def test_an_update_without_changes_needs_no_operation(spec: Spec) -> None:
    before = spec_after(creation(as_sent(spec)))
    assert mutate(update(before, before, "bob"), POLICY, context()) == Decision()


@given(specs(), specs())
def test_an_edit_of_other_fields_needs_no_operation(old: Spec, new: Spec) -> None:
    """So the API server need not ask: `has-something-to-fill-in` of the chart's webhook."""
    before = spec_after(creation(as_sent(old)))
    same = {key: before[key] for key in ("billing", "requester")}
    assert mutate(update(before, as_sent(new) | same), POLICY, context()) == Decision()


def as_sent(spec: Spec) -> Json:
    raw: Json = msgspec.to_builtins(spec)
    return raw


# More than there may be


@pytest.mark.parametrize(
    "spec",
    [
        {"users": [ENTRY] * (LIST_MAX_ITEMS + 1)},
        {"users": [[]] * (LIST_MAX_ITEMS + 1)},
        {"billing": {"labels": {str(n): "" for n in range(BILLING_LABELS_MAX + 1)}}},
    ],
)
def test_lists_that_are_too_long_are_left_for_the_schema(spec: Json) -> None:
    for request in (creation(spec), update({}, spec)):
        assert mutate(request, POLICY, context()) == Decision()


def test_a_list_that_was_too_long_before_does_not_hide_a_forged_requester() -> None:
    """The schema accepts an unchanged value that an older schema admitted."""
    old = {"users": [ENTRY] * (LIST_MAX_ITEMS + 1), "billing": PAID}
    forged = old | {"billing": PAID | {"provenance": PROVENANCE | {"changedBy": "eve"}}}
    assert spec_after(update(old, forged))["billing"] == PAID
