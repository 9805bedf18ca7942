"""Who pays: written once, by the webhook alone, and no charge is lost before it is recorded."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from lnamespace.admission.decisions.charge import backlog_errors, is_same_charge, with_charge
from lnamespace.admission.decisions.mutation import mutate
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.ledger.outbox.record import pending_records
from lnamespace.model.billing import SUPERSEDED_MAX, Charge
from lnamespace.model.lnamespace import LNamespace
from lnamespace.payers.entries import Entry, Fallback, Payers

from tests.unit.support.admission import (
    ABSENT,
    ALICE,
    POLICY,
    Json,
    context,
    creation,
    json_values,
    patched,
    update,
)
from tests.unit.support.strategies import NOW

AT = "2026-03-01T12:00:00Z"
BEFORE = "2026-02-01T00:00:00Z"
FORGED = {
    "provenance": {
        "generation": 99,
        "effectiveAt": "2001-01-01T00:00:00Z",
        "changedBy": "mallory",
        "source": "User",
        "group": "kings",
    },
    "superseded": [{"costCenter": "9"}],
}
PAYERS = Payers(
    (
        Entry(0, Charge("1", team="own"), user="alice"),
        Entry(1, Charge("2", owner="o", labels={"k": "v"}), group="red"),
        Entry(2, Charge("3"), group="blue"),
    )
)
STRICT = Payers(PAYERS.entries, on_missing=Fallback.REJECT)


def provenance(source: str, generation: int = 1, user: str = ALICE, **more: Any) -> Json:
    return {"generation": generation, "effectiveAt": AT, "source": source, "changedBy": user} | more


def billing(request: AdmissionRequest, payers: Payers | None = None, **circumstances: Any) -> Any:
    """Return ``spec.billing`` once the patch has been applied; ABSENT if there is none."""
    decision = mutate(request, POLICY, context(payers, **circumstances))
    return patched(request.new, decision.patch)["spec"].get("billing", ABSENT)


def paying(asked: Any) -> Json:
    """Return a spec that asks for this billing."""
    return {"managers": [{"name": ALICE}], "billing": asked}


# On creation


@pytest.mark.parametrize("asked", [ABSENT, None, {}, FORGED, {"costCenter": ""}])
def test_a_spec_without_billing_is_charged_by_default(asked: Any) -> None:
    spec = {} if asked is ABSENT else paying(asked)
    expected = {"costCenter": "unallocated", "provenance": provenance("Default")}
    assert billing(creation(spec)) == expected


@pytest.mark.parametrize(
    ("user", "groups", "asked", "expected"),
    [
        ("alice", (), {}, {"costCenter": "1", "team": "own", "source": "User"}),
        (
            "bob",
            ("red",),
            {},
            {"costCenter": "2", "owner": "o", "labels": {"k": "v"}, "source": "Group"}
            | {"group": "red"},
        ),
        # A part of it is completed.
        (
            "bob",
            ("red",),
            {"owner": "me", "labels": {"l": "w"}},
            {"costCenter": "2", "owner": "me", "labels": {"k": "v", "l": "w"}, "source": "Group"}
            | {"group": "red"},
        ),
        (
            "alice",
            (),
            {"costCenter": "1"},
            {"costCenter": "1", "team": "own", "source": "Explicit"},
        ),
        ("carol", (), {}, {"costCenter": "unallocated", "source": "Default"}),
    ],
)
def test_the_charge_is_resolved_from_the_caller(
    user: str, groups: tuple[str, ...], asked: Json, expected: Json
) -> None:
    origin = {k: expected[k] for k in ("source", "group") if k in expected}
    fields = {k: v for k, v in expected.items() if k not in origin}
    made = billing(creation(paying(asked | FORGED), user, groups), PAYERS)
    assert made == fields | {"provenance": provenance(user=user, **origin)}


def test_a_service_account_inherits_a_charge() -> None:
    request = creation({}, "system:serviceaccount:ci:bot")
    made = billing(request, PAYERS, inherited=Charge("3", team="ci"))
    assert (made["costCenter"], made["team"]) == ("3", "ci")
    assert made["provenance"]["source"] == "Inherited"


@pytest.mark.parametrize(
    ("user", "groups", "asked", "payers"),
    [
        ("bob", ("red", "blue"), {"owner": "me"}, PAYERS),
        ("bob", ("red",), {"costCenter": "9"}, PAYERS),
        ("bob", (), {}, STRICT),
    ],
)
def test_an_unresolved_charge_is_left_unstamped_for_validation(
    user: str, groups: tuple[str, ...], asked: Json, payers: Payers
) -> None:
    assert billing(creation(paying(asked | FORGED), user, groups), payers) == asked


def test_an_administrator_may_charge_any_cost_centre_or_none() -> None:
    made = billing(creation(paying({"costCenter": "9"} | FORGED)), STRICT, administrator=True)
    assert made == {"costCenter": "9", "provenance": provenance("Explicit")}
    made = billing(creation(paying({})), STRICT, administrator=True)
    assert made == {"provenance": provenance("Explicit")}


@pytest.mark.parametrize("asked", ["x", 7, [1], {"costCenter": 7}, {"labels": {"a": 1}}])
def test_billing_of_the_wrong_shape_is_left_for_the_schema(asked: Any) -> None:
    assert billing(creation(paying(asked))) == asked


def test_any_text_can_be_a_cost_centre() -> None:
    text = '\'; DROP TABLE x; --\n=1+1 \U0001f4b8 "{{ }}" /~'
    asked = {"costCenter": text, "labels": {text: text}}
    assert billing(creation(paying(asked))) == asked | {"provenance": provenance("Explicit")}


# On an update


OLD = {
    "costCenter": "1",
    "team": "own",
    "provenance": provenance("User", 2, effectiveAt=BEFORE),
}
WAITING = {"costCenter": "0", "provenance": provenance("User", 1, effectiveAt=BEFORE)}


@pytest.mark.parametrize(
    "sent",
    [
        OLD,
        {"costCenter": "1", "team": "own"},
        {"costCenter": "1", "team": "own"} | FORGED,
        {"costCenter": "1", "team": "own", "owner": "", "labels": {}, "provenance": None},
    ],
)
def test_a_change_of_other_fields_keeps_the_charge(sent: Json) -> None:
    made = billing(update(paying(OLD), paying(sent), "bob"))
    assert made["provenance"] == OLD["provenance"]
    assert "superseded" not in made
    assert is_same_charge(made, OLD)


def test_a_changed_charge_has_its_generation_and_keeps_unrecorded_charges() -> None:
    sent = {"costCenter": "2"} | FORGED
    assert billing(update(paying(OLD), paying(sent), "bob")) == {
        "costCenter": "2",
        "provenance": provenance("Explicit", 5, "bob"),
        "superseded": [OLD],
    }


def test_recorded_charges_are_not_kept() -> None:
    made = billing(update(paying(OLD), paying({"costCenter": "2"}), "bob", recorded=2))
    assert made == {"costCenter": "2", "provenance": provenance("Explicit", 5, "bob")}


def test_unrecorded_charges_keep_their_order() -> None:
    old = OLD | {"superseded": [WAITING]}
    made = billing(update(paying(old), paying({"costCenter": "2"}), "bob"))
    assert made["superseded"] == [WAITING, OLD]
    made = billing(update(paying(old), paying({"costCenter": "2"}), "bob", recorded=1))
    assert made["superseded"] == [OLD]
    # Nor does it get lost by an edit of something else; once recorded, it goes.
    assert billing(update(paying(old), paying(OLD), "bob"))["superseded"] == [WAITING]
    assert billing(update(paying(old), paying(OLD), "bob", recorded=2)) == OLD


def test_an_lcluster_keeps_its_last_recorded_charge_for_namespaces_nobody_has_seen() -> None:
    """A namespace that was made while the controller was away had no payer until the change."""

    def changed(old: Json, sent: Json, recorded: int) -> Any:
        request = update(paying(old), paying(sent), "bob", recorded=recorded)
        kind = msgspec.structs.replace(request.kind, kind="LCluster")
        return billing(msgspec.structs.replace(request, kind=kind))

    first = changed(OLD, {"costCenter": "2"}, 2)
    assert first["superseded"] == [OLD]
    second = changed(first, {"costCenter": "3"}, 2)["superseded"]
    assert [charge["costCenter"] for charge in second] == ["1", "2"]
    # Once the controller has recorded the present one, it has seen all that was made before.
    assert "superseded" not in changed(first, {"costCenter": "2"}, 5)


def test_a_sender_cannot_write_unrecorded_charges() -> None:
    old = OLD | {"superseded": [WAITING]}
    for superseded in ([], [{"costCenter": "9"}], None, "x", [WAITING] * 9):
        sent = paying(old | {"superseded": superseded})
        assert billing(update(paying(old), sent))["superseded"] == [WAITING]


def test_the_first_change_of_a_charge_without_provenance_adds_provenance() -> None:
    made = billing(update(paying({"costCenter": "1"}), paying({"costCenter": "2"}), "bob"))
    assert made == {"costCenter": "2", "provenance": provenance("Explicit", 5, "bob")}
    assert billing(update({}, {})) is ABSENT
    assert billing(update({}, paying(FORGED))) == {}


def test_a_charge_that_an_administrator_clears_is_kept_for_the_ledger() -> None:
    made = billing(update(paying(OLD), paying({}), "root"), administrator=True)
    assert made == {"provenance": provenance("Explicit", 5, "root"), "superseded": [OLD]}


def in_a_row(many: int) -> list[Json]:
    """So many charges that wait, of the generations from 1 on."""
    return [
        {"costCenter": f"c{n}", "provenance": provenance("User", n)} for n in range(1, many + 1)
    ]


def test_a_change_of_charge_beyond_the_backlog_limit_is_refused() -> None:
    *waiting, present = in_a_row(SUPERSEDED_MAX + 1)
    full = present | {"superseded": waiting}
    change = update(paying(full), paying({"costCenter": "x"}))
    (error,) = mutate(change, POLICY, context()).errors
    assert error.path == "spec.billing"
    assert str(error).startswith("spec.billing: Forbidden: the last 10 changes are not recorded")
    # Something else may be changed; and everything, once one of them is recorded.
    assert not mutate(update(paying(full), paying(full) | {"users": []}), POLICY, context()).errors
    after = update(paying(full), paying({"costCenter": "x"}), recorded=1)
    assert not mutate(after, POLICY, context()).errors
    assert len(billing(after)["superseded"]) == SUPERSEDED_MAX


@pytest.mark.parametrize("spec", [{}, {"billing": None}, {"billing": "x"}, {"billing": {}}])
def test_no_change_is_refused_without_a_backlog(spec: Json) -> None:
    assert backlog_errors(spec) == ()


def test_every_charge_of_a_series_of_changes_is_recorded() -> None:
    """The controller may reconcile after every change, after some changes, or after the last."""
    for steps_between in (1, 2, 3, 10):
        request, recorded, told = creation(paying({"costCenter": "c0"})), 0, list[str]()
        for step in range(11):
            made = patched(request.new, mutate(request, POLICY, context()).patch)
            meta = {"name": "team-a", "uid": "u-1", "generation": step + 1}
            shown = made | {"metadata": meta, "status": {"recorded": {"generation": recorded}}}
            if step % steps_between == 0:
                records = pending_records(msgspec.convert(shown, LNamespace), NOW)
                told += [record.cost_center for record in records]
                recorded = records[-1].generation
                shown["status"]["recorded"]["generation"] = recorded
            changed = shown | {"spec": paying({"costCenter": f"c{step + 1}"})}
            request = AdmissionRequest(
                "r-1", request.kind, "UPDATE", request.user_info, object=changed, old_object=shown
            )
        assert told == [f"c{n}" for n in range(11)][: len(told)]
        assert told[-1] == f"c{10 - 10 % steps_between}"


@given(json_values)
def test_garbage_in_billing_raises_no_exception(asked: Any) -> None:
    for request in (creation(paying(asked)), update(paying(OLD), paying(asked))):
        with_charge(request.new["spec"], request, POLICY, context(PAYERS))
