"""Who pays, by the rules R1 to R10: tables for what each says, properties for all of them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lnamespace.model.billing import BillingSource, Charge
from lnamespace.model.names import Names
from lnamespace.payers.entries import UNALLOCATED, Entry, Fallback, Payers, Requester, requester_of
from lnamespace.payers.patterns import compile_pattern
from lnamespace.payers.resolution import BillingRefusal, Resolution, check_change, resolve

from tests.unit.support import payers as some

NOTHING = Charge()
RED = Entry(0, Charge("1", team="red"), group="red")
GREEN = Entry(1, Charge("2", team="green"), group="green")
BLUE = Entry(2, Charge("1", team="blue"), group="blue")
URGENT = Entry(3, Charge("3"), group="urgent", priority=1)
ALICE = Entry(4, Charge("4", owner="alice"), user="alice")
NUMBERED = Entry(5, Charge(environment="dev"), pattern=compile_pattern(r"cc-(?P<costCenter>\d+)"))
PAYERS = Payers(
    (RED, GREEN, BLUE, URGENT, ALICE, NUMBERED), free_choice_groups=frozenset({"finance"})
)
DEPLOYER = Requester("system:serviceaccount:ci:deployer")
HOME = Charge("7", team="ci")


def who(username: str, *groups: str) -> Requester:
    return Requester(username, frozenset(groups))


def decided(found: Resolution | BillingRefusal) -> tuple[Charge, BillingSource, str]:
    assert isinstance(found, Resolution), found
    return found.charge, found.source, found.group


@pytest.mark.parametrize(
    ("person", "asked", "expected"),
    [
        (who("bob", "red"), NOTHING, (RED.charge, "Group", "red")),
        (who("bob", "red", "other"), NOTHING, (RED.charge, "Group", "red")),
        # R1: what is asked for, completed by the entry that allows it
        (who("bob", "red", "green"), Charge("2"), (GREEN.charge, "Explicit", "")),
        (who("bob", "red"), Charge("1", team="x"), (Charge("1", team="x"), "Explicit", "")),
        (who("bob", "red", "finance"), Charge("99"), (Charge("99"), "Explicit", "")),
        (who("bob"), Charge("unallocated"), (UNALLOCATED, "Explicit", "")),
        # what is asked for besides the cost centre stays, whoever pays
        (who("bob", "red"), Charge(owner="bob"), (Charge("1", "bob", "red"), "Group", "red")),
        (who("bob"), Charge(team="x"), (Charge("unallocated", team="x"), "Default", "")),
        # R2
        (who("alice", "red", "urgent"), NOTHING, (ALICE.charge, "User", "")),
        (who("alice", "red"), Charge("1"), (RED.charge, "Explicit", "")),
        # R4: one cost centre; on the teams they do not agree
        (who("bob", "red", "blue"), NOTHING, (Charge("1"), "Group", "blue")),
        # R5
        (who("bob", "red", "green", "urgent"), NOTHING, (URGENT.charge, "Group", "urgent")),
        # R7
        (who("bob"), NOTHING, (UNALLOCATED, "Default", "")),
        # patterns
        (who("b", "cc-77"), NOTHING, (Charge("77", environment="dev"), "Group", "cc-77")),
        (who("b", "red", "cc-1"), NOTHING, (Charge("1"), "Group", "cc-1")),
        (who("b", "xcc-77"), NOTHING, (UNALLOCATED, "Default", "")),
        (who("b", "cc-77\n"), NOTHING, (UNALLOCATED, "Default", "")),
        (who("b", "cc-\uff17\uff17"), NOTHING, (UNALLOCATED, "Default", "")),
    ],
)
def test_the_payer_is_resolved_by_the_rules(
    person: Requester, asked: Charge, expected: tuple[Charge, BillingSource, str]
) -> None:
    assert decided(resolve(PAYERS, person, asked)) == expected


@pytest.mark.parametrize(
    ("person", "asked", "said"),
    [
        (who("bob", "red", "green"), NOTHING, "several could pay"),  # R6
        (who("bob", "red"), Charge("2"), 'may not charge "2"'),  # R1
        (who("bob", "red"), UNALLOCATED, 'may not charge "unallocated"'),
        (who("bob"), Charge("2"), '- {user: "bob", billing: {costCenter: "2"}}'),
    ],
)
def test_a_refusal_explains_the_remedy(person: Requester, asked: Charge, said: str) -> None:
    found = resolve(PAYERS, person, asked)
    assert isinstance(found, BillingRefusal)
    assert said in found.message
    assert found.field == "spec.billing.costCenter"


def test_a_refusal_lists_the_manifest_line_and_the_flag_of_each_choice() -> None:
    found = resolve(PAYERS, who("bob", "red", "green"), NOTHING)
    assert isinstance(found, BillingRefusal)
    assert found.message == (
        "several could pay, so say which one:\n"
        '  costCenter: "1"  or  --cost-center 1  (group "red")\n'
        '  costCenter: "2"  or  --cost-center 2  (group "green")'
    )


def test_ambiguous_claims_can_be_charged_to_the_default() -> None:
    payers = Payers(PAYERS.entries, on_ambiguous=Fallback.DEFAULT)
    found = resolve(payers, who("bob", "red", "green"), NOTHING)
    assert decided(found) == (UNALLOCATED, "Ambiguous", "")


def test_a_user_without_a_matching_entry_can_be_refused() -> None:
    payers = Payers(PAYERS.entries, on_missing=Fallback.REJECT)
    found = resolve(payers, who("bob"), NOTHING)
    assert isinstance(found, BillingRefusal)
    assert "ask your platform team for an entry" in found.message
    assert isinstance(resolve(payers, who("bob"), UNALLOCATED), BillingRefusal)


def test_any_cost_center_is_accepted_if_no_entries_exist() -> None:
    asked = Charge("anything", team="x", labels={"k": "v"})
    assert decided(resolve(Payers(), who("bob"), asked)) == (asked, "Explicit", "")
    assert decided(resolve(Payers(), who("bob"), NOTHING)) == (UNALLOCATED, "Default", "")


def test_labels_are_completed_from_the_entry() -> None:
    payers = Payers((Entry(0, Charge("1", labels={"a": "1", "b": "1"}), user="bob"),))
    found = resolve(payers, who("bob"), Charge(labels={"b": "2", "c": "2"}))
    assert decided(found)[0].labels == {"a": "1", "b": "2", "c": "2"}


def test_entries_with_the_same_cost_center_complete_the_fields_they_agree_on() -> None:
    one = Entry(0, Charge("1", "o", labels={"a": "1", "b": "1"}), group="red")
    other = Entry(1, Charge("1", "o", labels={"a": "1", "b": "2", "c": "3"}), group="blue")
    found = resolve(Payers((one, other)), who("bob", "red", "blue"), NOTHING)
    assert decided(found)[0] == Charge("1", "o", labels={"a": "1"})


def test_a_pattern_match_without_a_cost_center_is_no_claim() -> None:
    entry = Entry(0, NOTHING, pattern=compile_pattern(r"(?:cc-(?P<costCenter>\d+)|staff)"))
    assert decided(resolve(Payers((entry,)), who("bob", "staff"), NOTHING))[1] == "Default"


def test_a_service_account_inherits_the_charge_of_its_namespace() -> None:
    assert decided(resolve(PAYERS, DEPLOYER, NOTHING, HOME)) == (HOME, "Inherited", "")
    assert decided(resolve(PAYERS, DEPLOYER, Charge("7"), HOME)) == (HOME, "Explicit", "")
    assert isinstance(resolve(PAYERS, DEPLOYER, Charge("1"), HOME), BillingRefusal)
    assert decided(resolve(PAYERS, DEPLOYER, NOTHING))[1] == "Default"
    for_nobody = resolve(PAYERS, DEPLOYER, NOTHING, Charge(team="ci"))
    assert decided(for_nobody) == (UNALLOCATED, "Default", "")
    assert check_change(PAYERS, DEPLOYER, Charge("9"), HOME, HOME) is None


def test_a_service_account_with_an_entry_does_not_inherit() -> None:
    payers = Payers((Entry(0, Charge("5"), user=DEPLOYER.username),))
    assert decided(resolve(payers, DEPLOYER, NOTHING, HOME)) == (Charge("5"), "User", "")
    assert isinstance(check_change(payers, DEPLOYER, Charge("9"), HOME, HOME), BillingRefusal)


def test_a_user_does_not_inherit_a_charge() -> None:
    assert decided(resolve(PAYERS, who("bob"), NOTHING, HOME))[1] == "Default"


@pytest.mark.parametrize(
    ("person", "old", "new", "said"),
    [
        (who("bob", "red"), Charge("9"), Charge("1"), None),
        (who("bob", "red"), Charge("9"), Charge("9", team="x"), None),
        (who("bob", "red"), Charge("9"), Charge("9"), None),
        (who("bob", "red"), NOTHING, NOTHING, None),
        (who("bob", "finance"), Charge("9"), Charge("8"), None),
        (who("alice", "team-a-sudoers"), Charge("9"), Charge("4"), None),
        (who("bob", "red"), Charge("9"), Charge("2"), 'may not charge "2"'),
        (who("bob"), Charge("9"), UNALLOCATED, "may not charge"),
        (who("bob", "finance"), Charge("9"), NOTHING, "somebody must pay"),
        (who("bob", "finance"), Charge("9"), Charge(team="x"), "somebody must pay"),
        (who("bob", "red"), Charge(team="x"), NOTHING, "somebody must pay"),
        (who("bob", "red"), Charge(labels={"k": "v"}), NOTHING, "somebody must pay"),
        (who("bob", "red"), Charge(team="x"), Charge(labels={"k": "v"}), None),
    ],
)
def test_a_change_of_the_payer_is_allowed_or_refused_by_the_rules(
    person: Requester, old: Charge, new: Charge, said: str | None
) -> None:
    refusal = check_change(PAYERS, person, old, new)
    assert (refusal is None) if said is None else (refusal is not None and said in refusal.message)


def test_any_user_may_change_but_not_clear_the_payer_if_no_entries_exist() -> None:
    assert check_change(Payers(), who("bob"), Charge("1"), Charge("2")) is None
    assert check_change(Payers(), who("bob"), Charge("1"), NOTHING) is not None


def test_group_dependent_charges_are_refused_under_sudo_with_the_reason() -> None:
    sudoer = requester_of("bob", ["team-a-sudoers", "system:authenticated"], Names())
    created = resolve(PAYERS, sudoer, NOTHING)
    changed = check_change(PAYERS, sudoer, Charge("9"), Charge("1"))
    for refusal in (created, changed):
        assert isinstance(refusal, BillingRefusal)
        assert "kubectl sudo" in refusal.message
    alice = requester_of("alice", ["team-a-sudoers", "system:authenticated"], Names())
    assert decided(resolve(PAYERS, alice, NOTHING)) == (ALICE.charge, "User", "")


@pytest.mark.parametrize(
    "hidden",
    [Requester("bob", sudo=True), Requester("bob", pending=True), Requester("bob", crowded=True)],
)
def test_a_user_with_hidden_groups_cannot_choose_the_default(hidden: Requester) -> None:
    """They dodged their claims by naming it under ``kubectl sudo``."""
    assert isinstance(resolve(PAYERS, hidden, UNALLOCATED), BillingRefusal)
    assert decided(resolve(PAYERS, Requester("bob"), UNALLOCATED))[1] == "Explicit"


def test_a_user_whose_groups_are_pending_is_not_charged_to_the_default() -> None:
    waiting = requester_of("bob", ["system:authenticated"], Names(), None)
    found = resolve(PAYERS, waiting, NOTHING)
    assert isinstance(found, BillingRefusal)
    assert "try again in a few seconds" in found.message
    assert isinstance(resolve(Payers(), waiting, NOTHING), Resolution)
    known = requester_of("bob", ["system:authenticated"], Names(), frozenset({"red"}))
    assert decided(resolve(PAYERS, known, NOTHING)) == (RED.charge, "Group", "red")


@pytest.mark.parametrize("hostile", ["a\nb", "\x1b[31mred", "\u202ex", "a'; rm -rf /", "x" * 5000])
def test_hostile_names_are_quoted_on_one_line(hostile: str) -> None:
    entries = (Entry(0, Charge(hostile), group=hostile), RED)
    for asked in (NOTHING, Charge(hostile + "y")):
        found = resolve(Payers(entries), who(hostile, hostile, "red"), asked)
        assert isinstance(found, BillingRefusal)
        assert all(line.isprintable() for line in found.message.split("\n"))
        assert len(found.message) < 2000
        assert found.message.count("\n") == 2


def test_thousands_of_cost_centres_are_not_all_listed() -> None:
    groups = [f"cc-{number}" for number in range(2000)]
    found = resolve(PAYERS, who("bob", *groups), NOTHING)
    assert isinstance(found, BillingRefusal)
    assert found.message.endswith("and 1950 more")


@given(some.payers, some.requesters, some.wishes, st.permutations(range(6)))
def test_the_order_of_entries_and_groups_does_not_matter(
    payers: Payers, person: Requester, asked: Charge, order: list[int]
) -> None:
    shuffled = Payers(
        tuple(payers.entries[at] for at in order if at < len(payers.entries)),
        payers.default,
        payers.on_missing,
        payers.on_ambiguous,
        payers.free_choice_groups,
    )
    again = Requester(person.username, frozenset(sorted(person.groups, reverse=True)))
    assert resolve(payers, person, asked) == resolve(shuffled, again, asked)


@given(some.payers, some.requesters, some.wishes)
def test_a_group_without_entries_does_not_change_the_result(
    payers: Payers, person: Requester, asked: Charge
) -> None:
    more = Requester(person.username, person.groups | {"choir", "system:authenticated"})
    assert resolve(payers, person, asked) == resolve(payers, more, asked)


@given(some.payers, some.requesters)
def test_claims_with_equal_cost_centers_are_not_ambiguous(
    payers: Payers, person: Requester
) -> None:
    """Whoever has one cost centre by all their entries is never asked to choose."""
    claims = payers.claims(person)
    assume(len({claim.charge.cost_center for claim in claims}) == 1)
    charge, source, _ = decided(resolve(payers, person, NOTHING))
    assert charge.cost_center == claims[0].charge.cost_center
    assert source in (BillingSource.USER, BillingSource.GROUP)


@given(some.payers, some.requesters, some.wishes)
def test_a_user_is_charged_only_to_claimed_or_default_cost_centers(
    payers: Payers, person: Requester, asked: Charge
) -> None:
    found = resolve(payers, person, asked)
    claims = {claim.charge.cost_center for claim in payers.claims(person)}
    if isinstance(found, BillingRefusal) or payers.chooses_freely(person):
        return
    assert found.charge.cost_center in claims | {payers.default.cost_center}
    if found.charge.cost_center not in claims and claims:
        assert found.source is BillingSource.AMBIGUOUS


@given(some.payers, some.requesters, some.charges, some.charges)
def test_a_change_of_the_payer_allows_nothing_that_creation_refuses(
    payers: Payers, person: Requester, old: Charge, new: Charge
) -> None:
    assume(old.cost_center != new.cost_center)
    if check_change(payers, person, old, new) is None:
        assert isinstance(resolve(payers, person, new), Resolution)


@given(some.payers, some.requesters, some.wishes)
def test_the_requested_charge_is_not_overridden(
    payers: Payers, person: Requester, asked: Charge
) -> None:
    found = resolve(payers, person, asked)
    if isinstance(found, Resolution):
        assert found.charge.cost_center == asked.cost_center or not asked.cost_center
        assert found.charge.team == asked.team or not asked.team
        assert found.charge.cost_center


@given(some.payers, some.requesters, some.wishes)
def test_a_refusal_names_every_claim(payers: Payers, person: Requester, asked: Charge) -> None:
    found = resolve(payers, person, asked)
    if isinstance(found, BillingRefusal):
        for claim in payers.claims(person):
            assert f'costCenter: "{claim.charge.cost_center}"' in found.message


@given(some.payers, some.requesters)
def test_a_resolved_charge_can_be_requested_explicitly(payers: Payers, person: Requester) -> None:
    """Whoever copies what they got, and creates it again, gets the same."""
    found = resolve(payers, person, NOTHING)
    assume(isinstance(found, Resolution) and found.source is not BillingSource.AMBIGUOUS)
    assert decided(found)[0] == decided(resolve(payers, person, decided(found)[0]))[0]


def test_a_user_in_too_many_groups_is_refused_with_the_reason() -> None:
    person = Requester("bob", crowded=True)
    for asked in (NOTHING, Charge("1")):
        refusal = resolve(PAYERS, person, asked)
        assert isinstance(refusal, BillingRefusal)
        assert "You are in more than 1000 groups" in refusal.message
        assert "an entry for your user" in refusal.message
    assert decided(resolve(PAYERS, Requester("alice", crowded=True), NOTHING))[0] == ALICE.charge
    assert decided(resolve(Payers(), person, NOTHING))[1] == "Default"
