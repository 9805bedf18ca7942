"""What a decision knows of who asks."""

import pytest
from lnamespace.admission.decisions.decision import Policy
from lnamespace.payers.entries import Payers

from tests.unit.support.admission import NAMES, context, creation


def test_the_default_policy_matches_the_documentation() -> None:
    policy = Policy(NAMES)
    assert policy.default_lists == ("users", "managers", "sudoers")
    assert policy.never_impersonate == frozenset()


@pytest.mark.parametrize(
    ("groups", "found", "known_groups", "sudo", "pending"),
    [
        (("a",), frozenset(), {"a"}, False, False),
        (("a",), frozenset({"b"}), {"a", "b"}, False, False),
        (("a",), None, {"a"}, False, True),
        # Nobody says who pays by a group that whoever is a sudoer may claim to be in.
        (("team-a-sudoers", "system:authenticated"), frozenset(), None, True, False),
        (("team-a-sudoers", "a"), frozenset(), {"a"}, False, False),
    ],
)
def test_requester_groups_include_directory_groups_but_no_sudoers_groups(
    groups: tuple[str, ...],
    found: frozenset[str] | None,
    known_groups: set[str] | None,
    sudo: bool,
    pending: bool,
) -> None:
    who = context(Payers(), directory_groups=found).requester(creation({}, "alice", groups), NAMES)
    assert who.username == "alice"
    assert (who.sudo, who.pending) == (sudo, pending)
    assert "team-a-sudoers" not in who.groups
    if known_groups is not None:
        assert who.groups == known_groups
