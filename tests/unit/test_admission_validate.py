"""The errors of the webhook: all at once, each with the path of its field."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lnamespace.admission.decisions.decision import Decision, Policy, ReviewContext
from lnamespace.admission.decisions.mutation import mutate
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.admission.decisions.validation import validate
from lnamespace.model.billing import Charge
from lnamespace.model.lnamespace import NAME_MAX, Spec
from lnamespace.model.rules import member_problem, sudoer_problem
from lnamespace.model.subject import Member
from lnamespace.payers.entries import Entry, Fallback, Payers

from tests.unit.support.admission import (
    ALICE,
    POLICY,
    Json,
    context,
    creation,
    json_values,
    manifest,
    patched,
    update,
)
from tests.unit.support.strategies import NOW, specs

EDITOR = {"name": ALICE}
BILLING = {
    "costCenter": "1",
    "provenance": {
        "generation": 1,
        "effectiveAt": "2026-03-01T12:00:00Z",
        "source": "Explicit",
        "changedBy": ALICE,
    },
}
GOOD = {"managers": [EDITOR], "requester": ALICE, "billing": BILLING}
PAYERS = Payers(
    (
        Entry(0, Charge("1"), group="red"),
        Entry(1, Charge("2"), group="blue"),
        Entry(2, Charge("3"), user=ALICE),
    )
)


def refused(request: AdmissionRequest, circumstances: ReviewContext | None = None) -> list[str]:
    """Return all errors, as people read them."""
    return [str(error) for error in validate(request, POLICY, circumstances or context()).errors]


def mutated(request: AdmissionRequest, circumstances: ReviewContext) -> AdmissionRequest:
    """Return the request as the API server shows it to validation."""
    changed = patched(request.new, mutate(request, POLICY, circumstances).patch)
    return msgspec.structs.replace(request, object=changed)


def test_a_correct_object_is_allowed() -> None:
    assert validate(creation(GOOD), POLICY, context()) == Decision()
    assert validate(update(GOOD, GOOD, "bob"), POLICY, context()) == Decision()


def test_all_errors_are_returned_at_once() -> None:
    spec = {
        "users": [{"name": "bob"}, {"name": "*"}, {"name": "al\nice"}, {"name": "system:masters"}],
        "managers": [{"name": "x", "kind": "ServiceAccount"}, {"name": "bob", "namespace": "a"}],
        "sudoers": [{"name": "ops", "kind": "Group"}, {"name": "bob"}],
        "requester": "mallory",
    }
    told = refused(creation(spec, name="kube-x"), context(Payers(on_missing=Fallback.REJECT)))
    assert [text.partition(": ")[0] for text in told] == [
        "metadata.name",
        "spec.requester",
        "spec.users[1].name",
        "spec.users[2].name",
        "spec.users[3].name",
        "spec.managers[0].name",
        "spec.managers[1].name",
        "spec.sudoers[0].name",
        "spec.billing",
    ]
    assert told[0] == 'metadata.name: Invalid value: "kube-x": "kube-x" is reserved'
    assert told[1] == (
        'spec.requester: Invalid value: "mallory": must be who creates it: leave it out'
    )
    assert told[2] == 'spec.users[1].name: Invalid value: "*": must be one name, not a pattern'
    assert told[3].startswith('spec.users[2].name: Invalid value: "al\\nice": must have no control')
    assert told[7].startswith(
        'spec.sudoers[0].name: Invalid value: "ops": a Group cannot be a sudoer: '
    )


@pytest.mark.parametrize("list_", ["users", "managers", "sudoers"])
@pytest.mark.parametrize(
    "name",
    [
        *("*", "system:masters", "system:admin", "system:serviceaccount:a", " bob", "bob\n"),
        *("\u202ebob", "a\u200bb", "b\u3164", "\u2028", "\x7f"),
    ],
)
@pytest.mark.parametrize("kind", ["User", "Group"])
def test_names_that_break_a_rule_are_refused_in_every_list(
    list_: str, name: str, kind: str
) -> None:
    entries = [{"name": "bob"}, {"name": name, "kind": kind}]
    (told,) = refused(creation(GOOD | {list_: entries}))
    assert told.startswith(f"spec.{list_}[1].name: Invalid value: ")


@pytest.mark.parametrize(
    "name",
    [
        *("default", "kube-system", "kube-", "openshift-x", "lnamespace-system"),
        *("UPPER", "a.b", "-a", "a" * 64, "a_b", "", "a\n"),
    ],
)
def test_reserved_names_are_refused(name: str) -> None:
    (told,) = refused(creation(GOOD, name=name))
    assert told.startswith("metadata.name: Invalid value: ")


def test_a_sudo_account_cannot_create_an_lnamespace() -> None:
    """The API server does not name the person behind it, and a person must be responsible."""
    account = "system:serviceaccount:lnamespace-sudo:team-b"
    told = refused(creation(GOOD | {"requester": account}, user=account))
    expected = f'spec.requester: Invalid value: "{account}": is nobody: create it as yourself, '
    assert expected + "without sudo" in told


@pytest.mark.parametrize(
    ("before", "after", "passes"),
    [
        (ALICE, ALICE, True),
        (ALICE, "bob", False),
        (ALICE, "", False),
        ("", "bob", False),
        ("", "", True),
    ],
)
def test_the_requester_is_immutable(before: str, after: str, passes: bool) -> None:
    old, new = GOOD | {"requester": before}, GOOD | {"requester": after}
    for administrator in (False, True):
        told = refused(update(old, new, "bob"), context(administrator=administrator))
        expected = f'spec.requester: Invalid value: "{after}": field is immutable'
        assert told == ([] if passes else [expected])


@pytest.mark.parametrize(
    ("new", "path"),
    [
        ("x", "spec"),
        ({"users": "x"}, "spec.users"),
        ({"users": [7]}, "spec.users[0]"),
        ({"users": [{"name": "bob"}, {"name": 7}]}, "spec.users[1].name"),
        ({"users": [{"name": ""}]}, "spec.users[0].name"),
        ({"users": [{"kind": "User"}]}, "spec.users[0]"),
        ({"users": [{"name": "b", "kind": "Robot"}]}, "spec.users[0].kind"),
        ({"users": [{"name": "b", "expiresAt": "soon"}]}, "spec.users[0].expiresAt"),
        ({"users": [{"name": "b", "expiresAt": "2030-01-01T00:00:00"}]}, "spec.users[0].expiresAt"),
        ({"billing": {"costCenter": 7}}, "spec.billing.costCenter"),
        ({"deletionPolicy": "Keep"}, "spec.deletionPolicy"),
        ({"requester": "x" * 1025}, "spec.requester"),
    ],
)
def test_an_undecodable_field_is_refused_with_its_path(new: Any, path: str) -> None:
    sent = GOOD | new if isinstance(new, dict) else new
    for request in (creation(sent), update(GOOD, sent)):
        (told,) = refused(request)
        assert told.startswith(f"{path}: Invalid value: ")


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_a_deletion_is_never_refused(operation: Any) -> None:
    request = AdmissionRequest(
        "r-1", creation().kind, operation, old_object=manifest({"users": "x"})
    )
    assert validate(request, POLICY, context()) == Decision()


def test_the_limit_refuses_no_update() -> None:
    full = context(limit_exceeded="you have 3 of 3")
    assert refused(creation(GOOD), full) == ["spec.requester: Forbidden: you have 3 of 3"]
    assert refused(update(GOOD, GOOD | {"users": [EDITOR]}), full) == []


# What was there before


BAD_LISTS = {
    "users": [{"name": "*"}, {"name": "bob"}],
    "managers": [EDITOR, {"name": "system:masters", "kind": "Group"}],
    "sudoers": [{"name": "ops", "kind": "Group"}],
}


def test_an_invalid_entry_of_the_old_object_is_accepted() -> None:
    old = GOOD | BAD_LISTS
    assert refused(update(old, old | {"deletionProtection": True})) == []
    repaired = old | {"users": [{"name": "bob"}]}
    assert refused(update(old, repaired)) == []


def test_an_error_has_the_index_of_the_new_list() -> None:
    old = GOOD | BAD_LISTS
    new = old | {"users": [{"name": "bob"}, {"name": "*"}, {"name": "a\tb"}]}
    assert [text.partition(":")[0] for text in refused(update(old, new))] == ["spec.users[2].name"]


def test_an_entry_in_another_list_is_a_new_entry() -> None:
    old = GOOD | {"users": [{"name": "*"}]}
    new = GOOD | {"managers": [EDITOR, {"name": "*"}]}
    assert [text.partition(":")[0] for text in refused(update(old, new))] == [
        "spec.managers[1].name"
    ]


def test_an_lnamespace_whose_name_became_reserved_can_be_updated() -> None:
    old, new = (manifest(GOOD | extra, name="kube-x") for extra in ({}, {"users": [EDITOR]}))
    request = update(GOOD, GOOD)
    assert refused(msgspec.structs.replace(request, object=new, old_object=old)) == []


def test_an_undecodable_old_object_can_be_repaired() -> None:
    """Examples are a newer version's value after a rollback, or a null stored without webhooks."""
    for field in ({"users": 7}, {"users": [EDITOR | {"expiresAt": None}]}, {"deletionPolicy": "x"}):
        broken = GOOD | {"countedTo": "carol"} | field
        repaired = GOOD | {"countedTo": "carol"}
        assert refused(update(broken, repaired), context(administrator=True)) == []
        assert refused(update(broken, repaired, "bob"), context(PAYERS)) == []
        stolen = refused(update(broken, repaired | {"requester": "bob"}), context())
        assert [text.partition(":")[0] for text in stolen] == ["spec.requester"]
        assert refused(update(broken, GOOD), context()) != []


# Somebody must be able to edit it


def ending(seconds: float, name: str = "bob") -> Json:
    return {"name": name, "expiresAt": (NOW + timedelta(seconds=seconds)).isoformat()}


NOBODY_LEFT = "spec.managers: Required value: somebody must be able to edit it"


@pytest.mark.parametrize(
    ("lists", "passes"),
    [
        ({"managers": [{"name": "bob"}]}, True),
        ({"sudoers": [{"name": "bob"}]}, True),
        ({"managers": [{"name": "ops", "kind": "Group"}]}, True),
        ({"managers": [ending(60)]}, True),
        ({"managers": [ending(-60), {"name": "eve"}]}, True),
        ({"managers": [ending(-60)], "sudoers": [{"name": "eve"}]}, True),
        ({}, False),
        ({"managers": [], "sudoers": []}, False),
        ({"users": [{"name": "bob"}]}, False),
        ({"managers": [ending(-60)]}, False),
        ({"managers": [ending(0)]}, False),
        ({"sudoers": [ending(-60)]}, False),
        # The sudoers' own group, which without sudoers is nobody.
        ({"managers": [{"name": "team-a-sudoers", "kind": "Group"}]}, False),
        (
            {
                "managers": [{"name": "team-a-sudoers", "kind": "Group"}],
                "sudoers": [{"name": "b"}],
            },
            True,
        ),
        (
            {"managers": [{"name": "team-a-sudoers", "kind": "Group"}], "sudoers": [ending(-1)]},
            False,
        ),
        # Nor is the account that they impersonate in the other layout.
        ({"managers": [{"name": "system:serviceaccount:lnamespace-sudo:team-a"}]}, False),
        ({"managers": [{"name": "system:serviceaccount:lnamespace-sudo:team-b"}]}, True),
        ({"sudoers": [{"name": "system:serviceaccount:lnamespace-sudo:team-a"}]}, False),
    ],
)
def test_an_update_must_leave_an_editor(lists: Json, passes: bool) -> None:
    bare = {"requester": ALICE, "billing": BILLING}
    for request in (creation(bare | lists), update(GOOD, bare | lists)):
        told = refused(request)
        assert told == [] if passes else told[0].startswith(NOBODY_LEFT) and len(told) == 1
        assert refused(request, context(administrator=True)) == []


def test_a_sudoer_on_the_never_impersonate_list_is_no_editor() -> None:
    policy = Policy(POLICY.names, never_impersonate=frozenset({"root"}))
    bare = {"requester": ALICE, "billing": BILLING}
    for names, passes in ((["root"], False), (["root", "b"], True)):
        request = update(GOOD, bare | {"sudoers": [{"name": name} for name in names]})
        told = [str(error) for error in validate(request, policy, context()).errors]
        assert told == [] if passes else told[0].startswith(NOBODY_LEFT)


def test_an_entry_that_breaks_a_rule_is_no_editor() -> None:
    bare = {"requester": ALICE, "billing": BILLING}
    for lists in ({"managers": [{"name": "*"}]}, {"sudoers": [{"name": "o", "kind": "Group"}]}):
        told = refused(update(bare | lists, bare | lists))
        assert [text.partition(" somebody")[0] for text in told] == [
            "spec.managers: Required value:"
        ]


# Who pays


def paid(cost_center: str) -> Json:
    return GOOD | {"billing": BILLING | {"costCenter": cost_center}}


@pytest.mark.parametrize(
    ("groups", "asked", "said"),
    [
        (("red", "blue"), {}, "spec.billing.costCenter: Required value: several could pay"),
        (
            ("red",),
            {"costCenter": "9"},
            'spec.billing.costCenter: Forbidden: you may not charge "9"',
        ),
        ((), {}, "spec.billing.costCenter: Required value: nobody pays for you yet"),
        ((), {"costCenter": "1"}, 'spec.billing.costCenter: Forbidden: you may not charge "1"'),
    ],
)
def test_the_refusal_of_a_charge_states_the_remedy(
    groups: tuple[str, ...], asked: Json, said: str
) -> None:
    payers = Payers(PAYERS.entries, on_missing=Fallback.REJECT)
    sent = creation({"managers": [EDITOR], "billing": asked}, "bob", groups)
    (told,) = refused(mutated(sent, context(payers)), context(payers))
    assert told.startswith(said)
    assert "costCenter: " in told.removeprefix("spec.billing.costCenter: ")
    administrator = context(payers, administrator=True)
    assert refused(mutated(sent, administrator), administrator) == []


def billed(labels: Json) -> Json:
    return GOOD | {"billing": BILLING | {"labels": labels}}


def test_billing_has_a_maximum_size() -> None:
    """Several versions of the charge must fit into one object."""
    labels = {f"key-{number}": "x" * 1000 for number in range(9)}
    told = refused(creation(billed(labels)))
    assert told == ["spec.billing: Too long: may not be more than 8192 bytes as JSON, and is 9128"]
    large = billed(dict(labels))
    assert refused(update(large, large | {"users": [EDITOR]})) == []
    labels.popitem()
    assert refused(creation(billed(labels))) == []
    # One of before may become smaller, though it is still too large.
    larger = billed({f"key-{number}": "x" * 1000 for number in range(12)})
    assert refused(update(larger, large)) == []
    assert len(refused(update(large, larger))) == 1


def people(count: int, length: int = 8) -> list[Json]:
    return [{"name": f"{number:0{length}}"} for number in range(count)]


@pytest.mark.parametrize(
    ("field", "most"), [("users", 250), ("managers", 50), ("sudoers", 50)], ids=str
)
def test_a_list_that_was_too_long_before_may_shrink(field: str, most: int) -> None:
    """200 LNamespaces with 500 entries of 512 bytes in each list overloaded the controller."""
    words = "must have at most {} entries and has {}; remove who is no longer needed"
    told = refused(creation(GOOD | {field: people(most + 1)}))
    assert told == [f"spec.{field}: Too long: {words.format(most, most + 1)}"]
    assert refused(creation(GOOD | {field: people(most)})) == []
    before = GOOD | {field: people(most + 100)}
    for entries in (most + 100, most + 99, 1):
        assert refused(update(before, GOOD | {field: people(entries)})) == []
    assert refused(update(before, GOOD | {field: people(most + 101)}))


def test_a_spec_that_was_too_large_before_may_shrink() -> None:
    large, larger = (
        GOOD | {"users": people(250, 250), "managers": [EDITOR, *people(count, 250)]}
        for count in (1, 5)
    )
    (told,) = refused(creation(large))
    assert told.startswith("spec: Too long: may not be more than 65536 bytes as JSON, and is 6")
    assert refused(creation(GOOD | {"users": people(220, 256)})) == []
    assert refused(update(larger, large)) == []
    assert refused(update(larger, larger | {"deletionProtection": False}))
    assert len(refused(update(large, larger))) == 1


def test_a_new_name_has_at_most_256_characters() -> None:
    long = {"name": "n" * 257}
    (told,) = refused(creation(GOOD | {"users": [long]}))
    assert told == "spec.users[0].name: Too long: may not be more than 256 characters"
    before = GOOD | {"users": [long]}
    assert refused(update(before, before | {"managers": [EDITOR, {"name": "bob"}]})) == []


@pytest.mark.parametrize("size", [98_400, 200_000])
@pytest.mark.parametrize("where", ["annotations", "labels"])
def test_labels_and_annotations_have_a_maximum_size(where: str, size: int) -> None:
    sent: Json = {where: {"a": "x" * size}}
    (told,) = refused(creation(GOOD, **sent))
    assert told.startswith("metadata: Too long: may not be more than 98304 bytes as JSON, and is ")
    before = update(GOOD, GOOD | {"users": [EDITOR]})
    metadata = before.old["metadata"] | sent
    edited = msgspec.structs.replace(
        before,
        object=before.new | {"metadata": metadata},
        old_object=before.old | {"metadata": metadata},
    )
    assert refused(edited) == []


def test_managed_fields_have_a_maximum_size() -> None:
    """The API server merges old entries of updates, but never those of applies."""
    fields = [{"manager": f"m{n}", "fieldsV1": {"f:x": "y" * 20_000}} for n in range(14)]
    (told,) = refused(creation(GOOD, managedFields=fields))
    assert "sets metadata.managedFields to [{}]" in told
    assert refused(creation(GOOD, managedFields=fields[:12])) == []


def test_annotations_leave_room_for_the_conversion_to_v1alpha1() -> None:
    """An existing object may have more than can be written today."""
    change = update(GOOD, GOOD | {"users": [{"name": "b", "expiresAt": "2030-01-01T00:00:00Z"}]})
    for size, passes in ((200_000, True), (262_100, False)):
        metadata = change.old["metadata"] | {"annotations": {"a": "x" * size}}
        sent = msgspec.structs.replace(
            change,
            object=change.new | {"metadata": metadata},
            old_object=change.old | {"metadata": metadata},
        )
        told = refused(sent)
        assert told == [] if passes else told[0].startswith("metadata.annotations: Too long: ")


@pytest.mark.parametrize("field", ["costCenter", "owner", "team", "environment", "labels"])
@pytest.mark.parametrize("text", [" ", "4711 ", "4711\u200b", "a\nb", "\x1b[31m", "\u202ex"])
def test_new_texts_of_billing_have_no_misleading_characters(field: str, text: str) -> None:
    said: Json = {"labels": {"k": text}} if field == "labels" else {field: text}
    bill: Json = GOOD | {"billing": BILLING | said}
    (told,) = refused(creation(bill))
    assert "must have no control or invisible characters" in told
    assert refused(update(bill, bill | {"users": [EDITOR]})) == []
    if field != "costCenter":
        assert (
            refused(update(bill, bill | {"billing": bill["billing"] | {"costCenter": "2"}})) == []
        )


def test_a_label_of_billing_has_a_readable_key() -> None:
    (told,) = refused(creation(billed({"a\u200b": "x"})))
    assert told.startswith('spec.billing.labels: Invalid value: "a\\u200b": must have no control')


@pytest.mark.parametrize("text", ["SHARED", "Unallocated", "\uff14\uff17\uff11\uff11", "\u00b2"])
def test_a_cost_centre_that_is_a_reserved_or_lookalike_word_is_refused(text: str) -> None:
    assert refused(creation(GOOD | {"billing": BILLING | {"costCenter": text}}))
    assert refused(creation(GOOD | {"billing": BILLING | {"costCenter": "unallocated"}})) == []


@pytest.mark.parametrize("field", ["users", "managers", "sudoers"])
def test_an_expiry_of_null_is_refused(field: str) -> None:
    entry = EDITOR | {"expiresAt": None}
    for sent in (creation(GOOD | {field: [entry]}), update(GOOD, GOOD | {field: [entry]})):
        (told,) = refused(sent)
        assert told.startswith(f"spec.{field}[0].expiresAt: Invalid value: null: may not be null")


def test_an_entitled_charge_is_allowed() -> None:
    sent = creation({"managers": [EDITOR]}, "bob", ("red",))
    assert refused(mutated(sent, context(PAYERS)), context(PAYERS)) == []


def test_an_object_that_was_not_mutated_is_refused() -> None:
    """Its provenance is missing, or belongs to somebody else."""
    for billing in ({}, {"costCenter": "1"}, BILLING):
        told = refused(creation(GOOD | {"requester": "bob", "billing": billing}, "bob"))
        assert [text.partition(":")[0] for text in told] == ["spec.billing"]


@pytest.mark.parametrize(
    ("cost_center", "groups", "passes"),
    [
        ("1", (), True),
        ("2", ("blue",), True),
        ("2", ("red",), False),
        ("2", ("team-a-sudoers",), False),
        ("3", (), False),
        ("", ("blue",), False),
    ],
)
def test_a_caller_may_only_use_charges_of_their_own(
    cost_center: str, groups: tuple[str, ...], passes: bool
) -> None:
    request = update(paid("1"), paid(cost_center), "bob")
    user = msgspec.structs.replace(request.user_info, groups=groups)
    request = msgspec.structs.replace(request, user_info=user)
    told = refused(request, context(PAYERS))
    assert [text.partition(":")[0] for text in told] == (
        [] if passes else ["spec.billing.costCenter"]
    )
    for_administrators = refused(request, context(PAYERS, administrator=True))
    assert for_administrators == ([] if cost_center else [NOBODY_PAYS])


def test_a_service_account_may_use_the_charge_of_its_namespace() -> None:
    bot, at_home = "system:serviceaccount:ci:bot", context(PAYERS, inherited=Charge("9"))
    change = update(paid("1"), paid("9"), bot)
    assert refused(change, at_home) == []
    (told,) = refused(change, context(PAYERS))
    assert told.startswith('spec.billing.costCenter: Forbidden: you may not charge "9"')
    unstamped = creation(GOOD | {"requester": bot, "billing": {"costCenter": "9"}}, bot)
    (told,) = refused(unstamped, at_home)
    assert told.endswith("who pays by default has just been changed: try again")


NOBODY_PAYS = "spec.billing.costCenter: Required value: somebody must pay: write who does"


def test_an_administrator_may_update_an_lnamespace_without_a_charge() -> None:
    assert refused(update(paid(""), paid(""), "root"), context(PAYERS, administrator=True)) == []


def test_groups_of_a_directory_count_as_soon_as_they_are_known() -> None:
    request = update(paid("1"), paid("2"), "bob")
    assert refused(request, context(PAYERS, directory_groups=frozenset({"blue"}))) == []
    (told,) = refused(request, context(PAYERS, directory_groups=None))
    assert "try again in a few seconds" in told


# Whatever comes


@given(json_values, json_values)
def test_garbage_never_raises(one: Any, other: Any) -> None:
    for sent in (one, {"users": one}, GOOD | {"billing": one}, {"sudoers": [one, other]}):
        for request in (creation(sent), update(GOOD, sent), update(sent, other)):
            validate(request, POLICY, context(PAYERS))
    for request in (creation(GOOD), update(GOOD, GOOD)):
        request.new["metadata"] = one
        validate(request, POLICY, context(PAYERS))


@given(specs())
def test_an_entry_is_refused_exactly_if_the_controller_ignores_it(spec: Spec) -> None:
    # How long a name may be is the schema's own matter.
    assume(all(0 < len(member.name) <= NAME_MAX for member in spec.members))
    raw = msgspec.to_builtins(spec)
    found = refused(mutated(creation(raw), context()))
    places = {text.partition(".name:")[0] for text in found if text.startswith("spec.")}
    expected = {
        f"spec.{field}[{index}]"
        for field, check in (
            ("users", member_problem),
            ("managers", member_problem),
            ("sudoers", sudoer_problem),
        )
        for index, member in enumerate(getattr(spec, field))
        if check(member)
    }
    assert {place for place in places if place.endswith("]")} == expected


@given(specs(), specs())
def test_an_unchanged_object_is_allowed(old: Spec, new: Spec) -> None:
    assume(all(member.name for member in old.members + new.members))  # As above.
    kept = msgspec.structs.replace(new, users=old.users, requester=old.requester)
    request = update(msgspec.to_builtins(old), msgspec.to_builtins(kept))
    told = refused(request, context(administrator=True))
    assert not [text for text in told if text.startswith(("spec.users", "spec.requester"))]


@given(specs(), st.data())
def test_taking_users_off_the_list_is_never_refused(old: Spec, data: st.DataObject) -> None:
    """So the API server need not ask: `somethingToRefuse` of the chart's webhook.

    Only that an LNamespace has no editor left may be told, which it had none before either.
    """
    assume(all(member.name for member in old.members))  # As above.
    before = mutated(creation(msgspec.to_builtins(old)), context()).new["spec"]
    left = [user for user in before.get("users", []) if data.draw(st.booleans())]
    decision = validate(update(before, before | {"users": left}), POLICY, context())
    assert {error.path for error in decision.errors} <= {"spec.managers"}
    assert decision.warnings == ()


def test_the_api_server_compares_every_field_of_an_entry() -> None:
    """The expression `userEntries` of the chart's webhook compares exactly these fields."""
    assert set(Member.__struct_fields__) == {"kind", "name", "namespace", "expires_at"}
