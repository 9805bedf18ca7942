"""How many LNamespaces whom: one table."""

from dataclasses import replace

import pytest
from lnamespace.access.limit import (
    RequesterLimits,
    describe_orphans,
    lcluster_limits,
    lnamespace_limits,
)
from lnamespace.settings import Settings

BOT = "system:serviceaccount:ci:bot"
OTHER = "system:serviceaccount:ci:other"
TEAM = "system:serviceaccounts:ci"

FIVE = RequesterLimits(5, {"carol": 20, "dora": 0, BOT: 3})
TOGETHER = RequesterLimits(5, {TEAM: 7, BOT: 0})
ONE_PERSON = RequesterLimits(0, {"carol": 2})


@pytest.mark.parametrize(
    ("limits", "requester", "account", "limit"),
    [
        (RequesterLimits(), "alice", "alice", None),
        (RequesterLimits(), BOT, TEAM, None),
        (FIVE, "alice", "alice", 5),
        (FIVE, "", "", 5),
        (FIVE, "carol", "carol", 20),
        (FIVE, "dora", "dora", None),
        (FIVE, BOT, BOT, 3),
        (FIVE, OTHER, TEAM, 5),
        (FIVE, "system:serviceaccounts:ci", TEAM, 5),
        (TOGETHER, OTHER, TEAM, 7),
        (TOGETHER, BOT, BOT, None),
        (TOGETHER, "system:serviceaccount:cix:bot", "system:serviceaccounts:cix", 5),
        (ONE_PERSON, "alice", "alice", None),
        (ONE_PERSON, "carol", "carol", 2),
        (ONE_PERSON, BOT, TEAM, None),
    ],
)
def test_to_whom_it_is_counted_and_how_many_that_may_be(
    limits: RequesterLimits, requester: str, account: str, limit: int | None
) -> None:
    assert limits.account(requester) == account
    assert limits.limit_for(account) == limit


@pytest.mark.parametrize(
    ("limits", "exist"),
    [
        (RequesterLimits(), False),
        (RequesterLimits(0, {"dora": 0}), False),
        (FIVE, True),
        (ONE_PERSON, True),
    ],
)
def test_nobody_pays_for_a_limit_that_there_is_not(limits: RequesterLimits, exist: bool) -> None:
    assert limits.any_limited is exist


@pytest.mark.parametrize(("used", "refused"), [(0, False), (4, False), (5, True), (8, True)])
def test_one_more_is_refused_to_whoever_has_as_many(used: int, refused: bool) -> None:
    assert bool(FIVE.exceeded("alice", used)) is refused
    assert not FIVE.exceeded("dora", used)


def test_limits_are_of_lnamespaces_or_of_lclusters() -> None:
    settings = Settings(
        limit_per_requester=2,
        limit_exceptions='{"bot": 5}',
        lclusters="yes",
        lcluster_limit_exceptions='{"carol": 0}',
    )
    assert lnamespace_limits(settings) == RequesterLimits(2, {"bot": 5})
    limits = lcluster_limits(settings)
    assert (limits.limit_for("alice"), limits.limit_for("bot"), limits.limit_for("carol")) == (
        3,
        3,
        None,
    )
    assert limits.exceeded("alice", 3) == (
        'exceeded limit: "alice" has 3 of 3 LClusters; delete one that is no longer needed (see: '
        "kubectl get lc), or ask a cluster administrator for more"
    )
    assert not lcluster_limits(replace(settings, lclusters="no")).any_limited


def test_a_refusal_says_how_many_of_how_many_and_what_to_do() -> None:
    assert FIVE.exceeded("alice", 8) == (
        'exceeded limit: "alice" has 8 of 5 LNamespaces; delete one that is no longer needed, or '
        "ask a cluster administrator for more"
    )
    assert TOGETHER.exceeded(OTHER, 7).startswith(f'exceeded limit: "{TEAM}" has 7 of 7')
    assert FIVE.exceeded(OTHER, 5).startswith(f'exceeded limit: "{TEAM}" has 5 of 5')
    assert not FIVE.exceeded(OTHER, 4)


@pytest.mark.parametrize(
    ("limits", "requester", "follows"),
    [
        (FIVE, OTHER, True),
        (FIVE, BOT, False),
        (FIVE, "alice", False),
        (FIVE, TEAM, False),
        (TOGETHER, OTHER, False),
        (RequesterLimits(), OTHER, False),
    ],
)
def test_only_a_service_account_without_an_exception_is_counted_like_its_home(
    limits: RequesterLimits, requester: str, follows: bool
) -> None:
    assert limits.depends_on_namespace(requester) is follows


def test_what_was_left_is_named_but_not_all_of_very_many() -> None:
    assert describe_orphans([]) == ""
    assert "have left (a, b): ask" in describe_orphans(["a", "b"])
    long = describe_orphans([f"{'x' * 60}{number:03}" for number in range(100)])
    assert "and 95 more): ask" in long
    assert len(long) < 600
