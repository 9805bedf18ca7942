"""Configurations of payers, and people whom they concern or not."""

from collections.abc import Sequence

from hypothesis import strategies as st
from lnamespace.model.billing import Charge
from lnamespace.payers.entries import Entry, Fallback, Payers, Requester
from lnamespace.payers.patterns import compile_pattern

COST_CENTERS = ("1", "2", "3")
GROUPS = ("red", "green", "blue", "cc-1", "cc-4")
PATTERN = compile_pattern(r"cc-(?P<costCenter>\d+)")

texts = st.sampled_from(["", "a", "b"])
charges = st.builds(
    Charge,
    cost_center=st.sampled_from(COST_CENTERS),
    team=texts,
    owner=texts,
    labels=st.dictionaries(st.sampled_from("kl"), st.sampled_from("vw"), max_size=2),
)
wishes = st.builds(Charge, cost_center=st.sampled_from(["", "", *COST_CENTERS, "9"]), team=texts)
whom = st.one_of(
    st.fixed_dictionaries({"user": st.sampled_from(["alice", "bob"])}),
    st.fixed_dictionaries({"group": st.sampled_from(GROUPS[:3])}),
)
numbered = st.builds(
    lambda whom, charge, priority: Entry(0, charge, priority=priority, **whom),
    whom,
    charges,
    st.integers(0, 2),
)
patterned = st.builds(
    lambda team, priority: Entry(0, Charge(team=team), pattern=PATTERN, priority=priority),
    texts,
    st.integers(0, 2),
)


def _placed(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(
        Entry(at, e.charge, e.user, e.group, e.pattern, e.priority) for at, e in enumerate(entries)
    )


fallbacks = st.sampled_from(Fallback)
payers = st.builds(
    Payers,
    entries=st.lists(st.one_of(numbered, patterned), max_size=6).map(_placed),
    on_missing=fallbacks,
    on_ambiguous=fallbacks,
    free_choice_groups=st.sampled_from([frozenset(), frozenset({"finance"})]),
)
requesters = st.builds(
    Requester,
    username=st.sampled_from(["alice", "bob", "carol"]),
    groups=st.frozensets(st.sampled_from([*GROUPS, "finance"]), max_size=4),
)
