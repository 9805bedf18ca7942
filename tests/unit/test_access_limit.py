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
def test_a_requester_maps_to_an_account_with_a_limit(
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
def test_usage_is_counted_only_if_some_account_has_a_limit(
    limits: RequesterLimits, exist: bool
) -> None:
    assert limits.any_limited is exist


@pytest.mark.parametrize(("used", "refused"), [(0, False), (4, False), (5, True), (8, True)])
def test_a_creation_is_refused_once_the_limit_is_reached(used: int, refused: bool) -> None:
    assert bool(FIVE.exceeded("alice", used)) is refused
    assert not FIVE.exceeded("dora", used)


def test_lnamespaces_and_lclusters_have_separate_limits() -> None:
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


def test_a_refusal_states_the_usage_the_limit_and_the_remedy() -> None:
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
def test_only_a_service_account_without_an_exception_is_counted_by_its_namespace(
    limits: RequesterLimits, requester: str, follows: bool
) -> None:
    assert limits.depends_on_namespace(requester) is follows


def test_a_long_list_of_orphaned_namespaces_is_shortened() -> None:
    assert describe_orphans([]) == ""
    assert "have left (a, b): ask" in describe_orphans(["a", "b"])
    long = describe_orphans([f"{'x' * 60}{number:03}" for number in range(100)])
    assert "and 95 more): ask" in long
    assert len(long) < 600
