"""The model by which `make soak` judges: it must say no where no is right, or it is no judge."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.rights_model.accidents import Kill, Settle
from tests.e2e.rights_model.cast import ASKED, WHO
from tests.e2e.rights_model.collecting import overlooked
from tests.e2e.rights_model.history import History
from tests.e2e.rights_model.lines import from_line, renamed, to_line
from tests.e2e.rights_model.misdeeds import Tamper
from tests.e2e.rights_model.model import LOOK, Ability, Entry, Lists, Power, Subject, World
from tests.e2e.rights_model.plot import NAMES, ending, plot
from tests.e2e.rights_model.questions import Powers, questions
from tests.e2e.rights_model.shrink import shrunk
from tests.e2e.rights_model.steps import Delete, Edit, Line, Parts, Propagation, Script
from tests.e2e.support.api import Api, Object

NOW = 1000.0
ANN, BEN = Subject("User", "model-ann"), Subject("User", "model-ben")


def one(ability: Ability, name: str = "one") -> Powers:
    return frozenset({Power(ability, name)})


def made(**lists: Subject) -> World:
    """One LNamespace, with one person on each list."""
    return World().created("one", Lists(**{name: (Entry(who),) for name, who in lists.items()}))


@pytest.mark.parametrize(
    ("field", "gives"),
    [
        ("users", {Ability.WORK}),
        ("managers", {Ability.EDIT}),
        ("sudoers", {Ability.BECOME}),
    ],
)
def test_each_member_list_gives_exactly_its_own_ability(field: str, gives: set[Ability]) -> None:
    world = made(**{field: ANN})
    has = {a for a in Ability if world.may(WHO["ann"], one(a), NOW)}
    assert has == gives
    assert not [a for a in Ability if world.may(WHO["ben"], one(a), NOW)]
    assert not [a for a in Ability if world.may(WHO["ann"], one(a, "two"), NOW)]


def test_sudo_has_the_rights_of_the_group_and_of_the_person() -> None:
    world = made(users=ANN, sudoers=BEN)
    for person in ("ann", "ben"):
        group = WHO[person].sudo("one")
        assert world.may(group, one(Ability.RULE), NOW)
        assert world.may(group, one(Ability.EDIT), NOW)
        assert not world.may(WHO[person], one(Ability.RULE), NOW)
    assert world.may(WHO["ann"].sudo("one"), one(Ability.WORK), NOW)
    assert not world.may(WHO["ann"].sudo("two"), one(Ability.RULE), NOW)
    assert world.may(WHO["ben"], one(Ability.SELF, BEN.username), NOW)
    assert not world.may(WHO["ben"], one(Ability.SELF, ANN.username), NOW)


def test_an_entry_is_inactive_from_its_expiry_on() -> None:
    world = World().created("one", Lists(users=(Entry(ANN, NOW),)))
    assert world.may(WHO["ann"], one(Ability.WORK), NOW - 0.001)
    assert not world.may(WHO["ann"], one(Ability.WORK), NOW)


def test_a_preexisting_namespace_gives_no_access() -> None:
    world = (
        World().squatted("one").created("one", Lists(users=(Entry(ANN),), sudoers=(Entry(BEN),)))
    )
    assert not world.may(WHO["ann"], one(Ability.WORK), NOW)
    assert not world.may(WHO["ben"], one(Ability.BECOME), NOW)
    assert not world.may(WHO["ben"].sudo("one"), one(Ability.RULE), NOW)
    assert world.may(WHO["ben"].sudo("one"), one(Ability.EDIT), NOW)
    assert world.cleared("one").may(WHO["ann"], one(Ability.WORK), NOW)


@pytest.mark.parametrize("retain", [True, False])
def test_members_of_a_deleted_lnamespace_have_no_access_to_its_successor(retain: bool) -> None:
    world = World().created("one", Lists(users=(Entry(ANN),)), retain=retain)
    after = world.passed_on("one", BEN).deleted("one")
    assert not after.may(WHO["ann"], one(Ability.WORK), NOW)
    assert after.may(WHO["ben"], one(Ability.WORK), NOW) == retain
    again = after.created("one", Lists(users=(Entry(BEN),)))
    assert again.owns("one") != retain
    assert not again.may(WHO["ann"], one(Ability.WORK), NOW)


def test_rights_between_two_settled_states_may_be_those_of_either_state() -> None:
    history = History(lambda: NOW)
    before, after = made(users=ANN, managers=ANN), made(users=BEN, managers=ANN)
    history.add(before)
    history.settle(NOW)
    window, work = history.window(), one(Ability.WORK)
    assert window.must(WHO["ann"], work)
    assert not window.can(WHO["ben"], work)
    history.add(after)
    for person in ("ann", "ben"):
        assert window.can(WHO[person], work)
        assert not window.must(WHO[person], work)
    assert window.must(WHO["ann"], one(Ability.EDIT))
    assert not window.can(WHO["cat"], work)
    history.settle(NOW)
    assert not history.window().can(WHO["ann"], work)
    assert window.can(WHO["ann"], work)  # who asked before is judged by what was before


def test_rights_gained_by_tampering_end_after_the_repair() -> None:
    world = made(users=ANN)
    step = Tamper(name="one", target="users", how="swap")
    tampered, mended = step.after(world, NOW)
    assert tampered.may(WHO["eve"], one(Ability.RULE), NOW)
    assert not tampered.may(WHO["ann"], one(Ability.WORK), NOW)
    assert mended == world


def test_a_crash_of_the_api_server_gives_no_access() -> None:
    away, back = Kill(process="etcd").after(made(users=ANN), NOW)
    assert not away.may(WHO["ann"], frozenset({LOOK}), NOW)
    assert back == made(users=ANN)
    assert Kill(process="controller").after(back, NOW) == ()


def test_only_an_administrator_can_remove_the_last_manager() -> None:
    world, nobody = made(managers=ANN), Script(users=(Line("ann"),))
    for actor, possible in (("ann", False), ("admin", True)):
        edit = Edit(actor=actor, name="one", script=nobody)
        assert edit.possible([world], Parts(), NOW) is possible
    edit = Edit(actor="ann", name="one", script=Script(managers=(Line("ben"),)))
    assert edit.possible([world], Parts(), NOW)
    assert edit.possible([world], Parts(webhook=False), NOW) is False


def test_a_protected_lnamespace_cannot_be_deleted() -> None:
    world = made(managers=ANN)
    protected = world.changed("one", replace(world.claims["one"], protected=True))
    for propagation in Propagation:
        step = Delete(actor="ann", name="one", propagation=propagation)
        assert step.possible([world], Parts(), NOW)
        assert step.possible([protected], Parts(), NOW) is False


@given(seed=st.integers(0, 10**6))
def test_the_same_seed_gives_the_same_steps_and_steps_can_be_serialized(seed: int) -> None:
    steps = plot(seed, 40)
    assert steps == plot(seed, 40)
    assert [from_line(to_line(step)) for step in steps] == steps
    assert {renamed(step, "x-").name for step in steps} <= {"", "x-one", "x-two", "x-three"}


def test_a_sequence_of_steps_contains_most_kinds_of_steps() -> None:
    kinds = {type(step) for step in plot(4711, 60)}
    assert len(kinds) >= 14, kinds


def test_the_final_steps_delete_everything() -> None:
    world = made(managers=ANN)
    world = world.changed("one", replace(world.claims["one"], protected=True, retain=True))
    for step in ending():
        if not step.idle([world], Parts()) and step.possible([world], Parts(), NOW) is not False:
            world = [world, *step.after(world, NOW)][-1]
    assert (world.claims, world.places) == ({}, {})


def test_every_subject_is_checked_for_every_action_with_and_without_sudo() -> None:
    asked = {(question.who, question.deed) for question in questions(ASKED, NAMES)}
    for who in ASKED:
        for as_whom in (who, *(who.sudo(name) for name in NAMES)):
            deeds = {deed for asker, deed in asked if asker == as_whom}
            for name in NAMES:
                assert [d for d in deeds if d.namespace == name and d.resource == "secrets"]
                assert [d for d in deeds if d.name == name and d.resource == "lnamespaces"]


@given(length=st.integers(2, 60), data=st.data())
def test_a_failing_sequence_is_shrunk_to_the_relevant_steps(
    length: int, data: st.DataObject
) -> None:
    guilty = data.draw(st.sets(st.integers(0, length - 1), min_size=1, max_size=3))

    def fails(steps: Sequence[int]) -> bool:
        return guilty <= {*steps}

    assert shrunk(range(length), fails) == sorted(guilty)


def test_a_sequence_that_does_not_fail_is_not_shrunk() -> None:
    assert shrunk([1, 2, 3], lambda _: False) == [1, 2, 3]


def test_a_sequence_ends_with_a_settle_step() -> None:
    assert isinstance(plot(random.Random(1).randrange(99), 1)[-1], Settle)


class _Cluster(Api):
    """An administrator's view of lists that are made up."""

    def __init__(self, **found: Object) -> None:
        self._found = found

    def items(self, path: str, **_: str) -> list[Object]:
        return [self._found[path.rpartition("/")[2]]]


@pytest.mark.parametrize(
    ("namespace", "found"),
    [
        ({"ownerReferences": [{"uid": "former"}]}, ["one"]),
        ({"ownerReferences": [{"uid": "present"}]}, []),
        ({"ownerReferences": [{"uid": "former"}, {"uid": "present"}]}, []),
        ({"ownerReferences": [{"uid": "former"}], "deletionTimestamp": "now"}, []),
        ({}, []),
    ],
)
def test_a_namespace_with_only_a_deleted_owner_counts_as_overlooked(
    namespace: Object, found: list[str]
) -> None:
    """The collector misses it for good: an LNamespace made again while its watch was down."""
    cluster = _Cluster(
        lnamespaces={"metadata": {"name": "one", "uid": "present"}},
        namespaces={"metadata": {"name": "one", **namespace}},
    )
    assert overlooked(cluster) == found
