"""The model by which `make soak` judges, where sudo is by account and while that changes."""

from dataclasses import replace

import pytest

from tests.e2e.rights_model.accidents import Hurry, Upgrade
from tests.e2e.rights_model.cast import ADMIN, WHO
from tests.e2e.rights_model.lines import from_line, to_line
from tests.e2e.rights_model.misdeeds import Steal
from tests.e2e.rights_model.model import (
    Ability,
    Entry,
    Layout,
    Lists,
    Power,
    Subject,
    World,
    with_sudo,
)
from tests.e2e.rights_model.plot import KINDS, plot
from tests.e2e.rights_model.questions import Powers
from tests.e2e.rights_model.steps import Parts

NOW = 1000.0
BEN = Subject("User", "model-ben")
BY_GROUP = World().created("one", Lists(sudoers=(Entry(BEN),)))
BY_ACCOUNT = BY_GROUP.upgraded(Layout.ACCOUNT)


def one(ability: Ability) -> Powers:
    return frozenset({Power(ability, "one")})


@pytest.mark.parametrize(
    ("world", "gives"), [(BY_GROUP, Ability.BECOME), (BY_ACCOUNT, Ability.STAND)]
)
def test_sudo_works_only_by_the_configured_layout(world: World, gives: Ability) -> None:
    for ability in (Ability.BECOME, Ability.STAND):
        assert world.may(WHO["ben"], one(ability), NOW) == (ability is gives)
        assert not world.may(WHO["ann"], one(ability), NOW)
    for layout in Layout:
        acting = with_sudo(WHO["ben"], "one", layout)
        for ability in (Ability.RULE, Ability.EDIT):
            assert world.may(acting, one(ability), NOW) == (layout is world.layout)


def test_users_are_not_impersonated_in_the_account_layout() -> None:
    himself = frozenset({Power(Ability.SELF, BEN.username)})
    assert BY_GROUP.may(WHO["ben"], himself, NOW)
    assert not BY_ACCOUNT.may(WHO["ben"], himself, NOW)


def test_both_layouts_may_work_during_a_layout_change_and_only_the_new_one_after() -> None:
    first, last = Upgrade(layout=Layout.ACCOUNT).after(BY_GROUP, NOW)
    assert first == BY_ACCOUNT
    for ability in (Ability.BECOME, Ability.STAND):
        assert last.may(WHO["ben"], one(ability), NOW)
        assert not last.may(WHO["ann"], one(ability), NOW)
    assert last.at_rest() == BY_ACCOUNT
    (hurried,) = Hurry().after(BY_GROUP, NOW)
    assert hurried.at_rest() == BY_GROUP
    assert Upgrade(layout=Layout.ACCOUNT).after(hurried, NOW) == (first, last)


def test_a_new_sudoer_during_a_layout_change_may_use_either_layout() -> None:
    """The controller goes on with the former layout until it is started anew: seed 823586."""
    *_, moving = Upgrade(layout=Layout.ACCOUNT).after(World(), NOW)
    squatted = moving.squatted("one")
    new = Lists(sudoers=(Entry(BEN),))
    for world in (moving.created("one", new), squatted.created("one", new).cleared("one")):
        for layout in Layout:
            assert world.may(with_sudo(WHO["ben"], "one", layout), one(Ability.RULE), NOW)
        assert world.at_rest() == replace(world, moving=False)


def test_administrators_attempt_only_actions_that_a_policy_prevents() -> None:
    made = Steal(actor=ADMIN, name="one", attack="make-account")
    assert not made.idle([BY_GROUP, BY_ACCOUNT], Parts())
    assert Steal(actor=ADMIN, name="one", attack="stand").idle([BY_ACCOUNT], Parts())


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_of_steps_ends_in_its_initial_layout(kind: str) -> None:
    steps = plot(1, 40, kind)
    assert [from_line(to_line(step)) for step in steps] == steps
    layouts = [step.layout for step in steps if isinstance(step, Upgrade)]
    assert layouts[-1:] == ([] if kind == "group" else [Layout.GROUP])
