"""How many LNamespaces whom: one table."""

import pytest
from lnamespace.access.limit import Limits

BOT = "system:serviceaccount:ci:bot"
OTHER = "system:serviceaccount:ci:other"
TEAM = "system:serviceaccounts:ci"

FIVE = Limits(5, {"carol": 20, "dora": 0, BOT: 3})
TOGETHER = Limits(5, {TEAM: 7, BOT: 0})
ONE_PERSON = Limits(0, {"carol": 2})


@pytest.mark.parametrize(
    ("limits", "requester", "account", "limit"),
    [
        (Limits(), "alice", "alice", None),
        (Limits(), BOT, BOT, None),
        (FIVE, "alice", "alice", 5),
        (FIVE, "", "", 5),
        (FIVE, "carol", "carol", 20),
        (FIVE, "dora", "dora", None),
        (FIVE, BOT, BOT, 3),
        (FIVE, OTHER, OTHER, 0),
        (FIVE, "system:serviceaccounts:ci", TEAM, 5),
        (TOGETHER, OTHER, TEAM, 7),
        (TOGETHER, BOT, BOT, None),
        (TOGETHER, "system:serviceaccount:cix:bot", "system:serviceaccount:cix:bot", 0),
        (ONE_PERSON, "alice", "alice", None),
        (ONE_PERSON, "carol", "carol", 2),
        (ONE_PERSON, BOT, BOT, None),
    ],
)
def test_to_whom_it_is_counted_and_how_many_that_may_be(
    limits: Limits, requester: str, account: str, limit: int | None
) -> None:
    assert limits.account(requester) == account
    assert limits.of(account) == limit


@pytest.mark.parametrize(
    ("limits", "exist"),
    [(Limits(), False), (Limits(0, {"dora": 0}), False), (FIVE, True), (ONE_PERSON, True)],
)
def test_nobody_pays_for_a_limit_that_there_is_not(limits: Limits, exist: bool) -> None:
    assert limits.exist is exist


@pytest.mark.parametrize(("used", "refused"), [(0, False), (4, False), (5, True), (8, True)])
def test_one_more_is_refused_to_whoever_has_as_many(used: int, refused: bool) -> None:
    assert bool(FIVE.exceeded("alice", used)) is refused
    assert not FIVE.exceeded("dora", used)


def test_a_refusal_says_how_many_of_how_many_and_what_to_do() -> None:
    assert FIVE.exceeded("alice", 8) == (
        'exceeded limit: "alice" has 8 of 5 LNamespaces; delete one that is no longer needed, or '
        "ask a cluster administrator for more"
    )
    assert TOGETHER.exceeded(OTHER, 7).startswith(f'exceeded limit: "{TEAM}" has 7 of 7')
    assert FIVE.exceeded(OTHER, 0) == (
        f'exceeded limit: "{OTHER}" is a ServiceAccount, which may have LNamespaces only where a '
        "cluster administrator says how many (limitExceptions)"
    )
