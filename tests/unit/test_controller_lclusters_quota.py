"""Which LClusters wait: a table, and a cache that nobody can race by being quick or by crashes."""

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given
from lnamespace.access.conventions import Conventions
from lnamespace.access.limit import RequesterLimits
from lnamespace.controller.lclusters.cache import LClusterCache, LClusterKey
from lnamespace.controller.lclusters.quota import LClusterEntry, refuse_excess
from lnamespace.controller.lclusters.resource import read_lcluster
from lnamespace.kube.state import ObservedObject, read_observed
from lnamespace.kube.store import Store
from lnamespace.model.lcluster import LCluster, LClusterSpec
from lnamespace.model.lnamespace import Metadata

CONVENTIONS = Conventions()
UID = CONVENTIONS.names.lcluster_annotation
LIMITS = RequesterLimits(2, {"carol": 0, "dora": 1}, "LClusters")
OWNERS = ("alice", "alice", "dora", "system:serviceaccount:ci:one", "system:serviceaccount:ci:two")
NAMES = ("c1", "c2", "c3", "c4", "c5")


def entry(name: str, since: int = 0, *, admitted: bool = False) -> LClusterEntry:
    return LClusterEntry(name, "alice", f"2026-01-01T00:00:0{since}Z", admitted)


IN, OLD, NEW = partial(entry, admitted=True), partial(entry, since=1), partial(entry, since=3)


@pytest.mark.parametrize(
    ("one", "rivals", "waits"),
    [
        (NEW("a"), [], False),
        (NEW("a"), [IN("b")], False),
        (NEW("a"), [IN("b"), IN("c")], True),
        (NEW("a"), [OLD("b"), OLD("c")], True),
        (NEW("a"), [IN("b"), OLD("c")], True),
        (OLD("a"), [IN("b"), NEW("c")], False),
        (OLD("a"), [IN("b"), IN("c"), NEW("d")], True),
        (NEW("b"), [NEW("a"), NEW("c")], False),
        (NEW("c"), [NEW("a"), NEW("b")], True),
        (entry("a", 3, admitted=True), [IN("b"), IN("c"), OLD("d")], False),
    ],
)
def test_admitted_lclusters_stay_and_others_are_admitted_oldest_first(
    one: LClusterEntry, rivals: list[LClusterEntry], waits: bool
) -> None:
    assert bool(refuse_excess(one, rivals, LIMITS)) is waits


def test_the_refusal_states_the_usage_of_the_requester() -> None:
    rivals = [IN("b"), IN("c"), IN("d")]
    assert refuse_excess(NEW("a"), rivals, LIMITS).startswith(
        'exceeded limit: "alice" has 3 of 2 LClusters; delete one'
    )
    # What it says does not change while others find their places.
    for others in ([IN("b"), OLD("c")], rivals[:2]):
        assert '"alice" has 2 of 2' in refuse_excess(NEW("a"), others, LIMITS)
    assert not refuse_excess(NEW("a")._replace(account="carol"), rivals, LIMITS)


class Platform:
    """What the API server has, what the watches have yet to tell, and a controller's cache."""

    def __init__(self, limits: RequesterLimits = LIMITS) -> None:
        self.version = 0
        self.lclusters: dict[str, LCluster] = {}
        self.namespaces: dict[str, ObservedObject] = {}
        self.events: dict[str, list[Callable[[], None]]] = {"lclusters": [], "namespaces": []}
        self.restart(limits)

    def restart(self, limits: RequesterLimits = LIMITS) -> None:
        """Another process lists everything and knows nothing else."""
        self.keys: dict[LClusterKey, None] = {}
        self.store: Store[ObservedObject] = Store(
            lambda old, new: self.cache.namespace_changed(old, new)  # noqa: PLW0108 - it comes next
        )
        self.cache = LClusterCache(
            CONVENTIONS.names, self.store, lambda key: self.keys.update({key: None}), limits
        )
        for events in self.events.values():
            events.clear()
        self.store.replace(self.namespaces.values(), self.version)
        listed = (read_lcluster(msgspec.json.encode(each)) for each in self.lclusters.values())
        self.cache.lclusters.replace(listed, self.version)

    def create(self, name: str, owner: str = "alice", since: int = 0) -> None:
        """Somebody creates an LCluster; the clocks of API servers differ."""
        if name in self.lclusters:
            return
        self.version += 1
        created = f"2026-01-01T00:00:0{since}Z"
        meta = Metadata(name, f"u{self.version}", str(self.version), creation_timestamp=created)
        self.lclusters[name] = LCluster(meta, LClusterSpec(requester=owner))
        read = read_lcluster(msgspec.json.encode(self.lclusters[name]))
        self.events["lclusters"].append(lambda: self.cache.lclusters.apply_event(read))

    def delete(self, name: str) -> None:
        """Delete an LCluster, and its Namespace with it."""
        self.version += 1
        version = self.version
        if self.namespaces.pop(f"{name}-default", None):
            key = ("", f"{name}-default")
            self.events["namespaces"].append(lambda: self.store.remove(key, version))
        if self.lclusters.pop(name, None):
            self.events["lclusters"].append(
                lambda: self.cache.lclusters.remove(("", name), version)
            )

    def hear(self, watch: str) -> None:
        """Take in the next event of a watch."""
        if self.events[watch]:
            self.events[watch].pop(0)()

    def work(self) -> None:
        """Make the Namespace of the LCluster whose turn it is, if it may have one."""
        if not self.keys:
            return
        key = next(iter(self.keys))
        del self.keys[key]
        cached, there = self.cache.get(key.name), self.lclusters.get(key.name)
        refusal = self.cache.admit(key.name)
        if cached and there and there.uid == cached.lcluster.uid and not refusal:
            self._make(there)

    def advance(self) -> None:
        """Take in an LCluster and work on it; what was made for it is heard of later."""
        self.hear("lclusters")
        self.work()

    def settle(self) -> None:
        """Hear and do everything."""
        while self.keys or any(self.events.values()):
            for watch in self.events:
                self.hear(watch)
            self.work()

    def _make(self, lcluster: LCluster) -> None:
        name = f"{lcluster.name}-default"
        if name in self.namespaces:
            return
        self.version += 1
        meta: dict[str, Any] = {
            "name": name,
            "uid": f"n{self.version}",
            "resourceVersion": str(self.version),
            "annotations": {UID: lcluster.uid},
        }
        raw = json.dumps({"metadata": meta}).encode()
        made = self.namespaces[name] = read_observed(raw, CONVENTIONS.managed_metadata)
        self.events["namespaces"].append(lambda: self.store.apply_event(made))

    @property
    def made(self) -> list[str]:
        return sorted(name.partition("-")[0] for name in self.namespaces)

    def counts(self, names: list[str]) -> Counter[str]:
        return Counter(LIMITS.account(self.lclusters[name].spec.account) for name in names)

    def check(self) -> None:
        for account, count in self.counts(self.made).items():
            assert count <= (LIMITS.limit_for(account) or count), account


def _steps() -> st.SearchStrategy[tuple[Any, ...]]:
    name = st.sampled_from(NAMES)
    return st.one_of(
        st.tuples(st.just("create"), name, st.sampled_from(OWNERS), st.integers(0, 3)),
        st.tuples(st.just("delete"), name),
        st.tuples(st.just("hear"), st.sampled_from(("lclusters", "namespaces"))),
        st.tuples(st.sampled_from(("advance", "work", "settle", "restart"))),
    )


@given(st.lists(_steps(), max_size=60))
def test_the_limit_is_never_exceeded_and_no_free_place_stays_unused(
    steps: list[tuple[Any, ...]],
) -> None:
    platform = Platform()
    for step, *arguments in steps:
        getattr(platform, step)(*arguments)
        platform.check()
    platform.settle()
    platform.check()
    for account, count in platform.counts(list(platform.lclusters)).items():
        assert platform.counts(platform.made)[account] == min(
            count, LIMITS.limit_for(account) or count
        )
    before = platform.made
    platform.restart()
    platform.settle()
    assert platform.made == before


@given(st.permutations(NAMES))
def test_the_oldest_lclusters_are_admitted_in_any_order_of_reconciles(
    order: list[str],
) -> None:
    platform = Platform()
    for age, name in enumerate(NAMES):
        platform.create(name, since=age)
    platform.restart()
    platform.keys = dict.fromkeys(map(LClusterKey, order))
    platform.settle()
    assert platform.made == ["c1", "c2"]


def test_an_older_lcluster_observed_later_does_not_exceed_the_limit() -> None:
    """The clocks of API servers differ, and the first one's Namespaces are not observed yet."""
    platform = Platform(RequesterLimits(1))
    platform.create("c1", since=3)
    platform.advance()
    platform.create("c2", since=1)
    platform.advance()
    assert platform.made == ["c1"]
    platform.settle()
    platform.restart(RequesterLimits(1))
    platform.settle()
    assert platform.made == ["c1"]


def test_a_deletion_admits_only_the_oldest_waiting_lcluster() -> None:
    platform = Platform()
    for age, name in enumerate(NAMES):
        platform.create(name, since=age)
    platform.settle()
    platform.delete("c1")
    platform.settle()
    assert platform.made == ["c2", "c3"]


def test_a_lower_limit_deletes_no_lcluster_and_a_higher_limit_admits_the_next() -> None:
    platform = Platform(RequesterLimits(3))
    for age, name in enumerate(NAMES):
        platform.create(name, since=age)
    platform.settle()
    assert platform.made == ["c1", "c2", "c3"]
    platform.restart(RequesterLimits(1))
    platform.settle()
    assert platform.made == ["c1", "c2", "c3"]
    platform.delete("c2")
    platform.settle()
    assert platform.made == ["c1", "c3"]
    platform.restart(RequesterLimits(4))
    platform.settle()
    assert platform.made == ["c1", "c3", "c4", "c5"]


def test_an_lcluster_that_loses_its_namespaces_stays_admitted() -> None:
    platform = Platform(RequesterLimits(2))
    for name in NAMES[:2]:
        platform.create(name)
    platform.settle()
    platform.restart(RequesterLimits(1))
    platform.settle()
    platform.store.remove(("", "c2-default"), 99)
    assert platform.cache.admit("c2") == ""


def test_every_lcluster_is_admitted_without_a_limit() -> None:
    platform = Platform(RequesterLimits())
    for name in NAMES:
        platform.create(name)
    platform.settle()
    assert platform.made == list(NAMES)
    assert not platform.cache.admit("gone")
