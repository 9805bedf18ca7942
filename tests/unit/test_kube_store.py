"""News reaches a store by two roads, in any order; the newest always wins."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.kube.objects import Key
from lnamespace.kube.store import Store


@dataclass(frozen=True)
class Thing:
    """The least that a store can hold."""

    version: int
    key: Key = ("", "a")


@dataclass
class Told:
    """A store and what it told."""

    notify: list[tuple[int | None, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store: Store[Thing] = Store(self._tell)

    def _tell(self, old: Thing | None, new: Thing | None) -> None:
        self.notify.append((old.version if old else None, new.version if new else None))

    @property
    def version(self) -> int | None:
        known = self.store.get(("", "a"))
        return known.version if known else None


@pytest.fixture
def told() -> Told:
    return Told()


def test_news_is_told_with_what_was_before(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_event(Thing(2))
    told.store.remove(("", "a"), 3)
    assert told.notify == [(None, 1), (1, 2), (2, None)]


def test_what_we_delete_as_it_was_seen_is_gone_before_the_watch_tells(told: Told) -> None:
    told.store.apply_event(Thing(2))
    told.store.remove(("", "a"), 2)
    assert told.version is None
    assert told.notify == [(None, 2), (2, None)]


def test_what_we_delete_hides_no_answer_about_anything_else(told: Told) -> None:
    """The watch is at 2 when we delete what we had just changed: other answers are still news."""
    told.store.apply_event(Thing(2, ("", "b")))
    told.store.apply_write_response(Thing(20))
    told.store.remove_after_response(("", "a"), 20)
    told.store.apply_write_response(Thing(15, ("", "b")))
    assert told.store.get(("", "b")) == Thing(15, ("", "b"))


@pytest.mark.parametrize("version", [2, 19, 20])
def test_what_we_delete_stays_gone_whatever_comes_late(told: Told, version: int) -> None:
    told.store.apply_event(Thing(2))
    told.store.apply_write_response(Thing(20))
    told.store.remove_after_response(("", "a"), 20)
    told.store.apply_write_response(Thing(version))
    told.store.apply_event(Thing(version))
    assert told.version is None
    assert told.notify == [(None, 2), (20, None)]


def test_what_is_made_anew_after_we_deleted_it_is_known(told: Told) -> None:
    for notify in (told.store.apply_event, told.store.apply_write_response):
        told.store.apply_event(Thing(2))
        told.store.remove_after_response(("", "a"), 2)
        notify(Thing(22))
        assert told.version == 22
        told.store.restore([], 1)


def test_a_deletion_of_ours_that_a_list_does_not_know_of_was_of_another_history(told: Told) -> None:
    """The cluster was restored from a backup, and its revisions raised."""
    told.store.apply_event(Thing(2))
    told.store.remove_after_response(("", "a"), 20)
    told.store.replace([Thing(2)], 1000)
    assert told.version == 2


def test_the_watch_that_is_behind_tells_the_end_of_a_predecessor_only(told: Told) -> None:
    told.store.remove_after_response(("", "a"), 20)
    told.store.remove(("", "a"), 10)
    told.store.apply_event(Thing(15))
    assert told.version is None
    told.store.remove(("", "a"), 21)
    told.store.apply_event(Thing(30))
    assert told.version == 30


def test_older_news_is_no_news(told: Told) -> None:
    told.store.apply_event(Thing(5))
    told.store.apply_event(Thing(5))
    told.store.apply_event(Thing(4))
    assert told.version == 5
    assert told.notify == [(None, 5)]


def test_the_echo_of_our_own_write_is_no_news(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_write_response(Thing(2))
    told.store.apply_event(Thing(2))
    assert told.version == 2
    assert told.notify == [(None, 1)]


def test_an_answer_that_brings_news_is_told_unless_the_watch_has_overtaken_it(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_write_response(Thing(2), notify=True)
    told.store.apply_event(Thing(2))
    told.store.remove(("", "a"), 4)
    told.store.apply_write_response(Thing(3), notify=True)
    assert told.version is None
    assert told.notify == [(None, 1), (1, 2), (2, None)]


def test_a_change_by_others_after_our_own_write_is_news(told: Told) -> None:
    told.store.apply_write_response(Thing(2))
    told.store.apply_event(Thing(3))
    assert told.notify == [(2, 3)]


def test_an_answer_that_the_watch_has_overtaken_is_old(told: Told) -> None:
    told.store.apply_event(Thing(7))
    told.store.apply_write_response(Thing(6))
    assert told.version == 7


def test_a_list_finds_what_was_deleted_meanwhile(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_event(Thing(2, ("", "b")))
    told.notify.clear()
    told.store.replace([Thing(2, ("", "b"))], 9)
    assert told.version is None
    assert told.notify == [(1, None)]
    assert [thing.key for thing in told.store] == [("", "b")]
    assert len(told.store) == 1


def test_an_event_from_before_a_list_does_not_bring_back_what_the_list_does_not_hold(
    told: Told,
) -> None:
    """An edit that kopf held was handed on after a list: what was deleted was there again."""
    told.store.apply_event(Thing(1))
    told.store.replace([], 9)
    told.store.apply_event(Thing(8))
    assert told.version is None
    told.store.apply_event(Thing(10))
    assert told.version == 10


def test_our_newer_write_survives_an_older_list(told: Told) -> None:
    told.store.apply_write_response(Thing(12))
    told.store.replace([], 10)
    told.store.replace([Thing(8)], 11)
    assert told.version == 12
    assert told.notify == []


def test_a_list_knows_better_than_all_that_it_should_have_seen(told: Told) -> None:
    """The cluster was restored from a backup, and its revisions were raised: the past changed."""
    told.store.apply_event(Thing(7))
    told.store.replace([Thing(5)], 1000)
    assert told.version == 5
    assert told.notify == [(None, 7), (7, 5)]
    told.store.apply_event(Thing(1001))
    assert told.version == 1001


def test_in_a_cluster_that_went_back_what_is_listed_is_all_there_is(told: Told) -> None:
    for item in (Thing(7), Thing(8, ("", "b")), Thing(2, ("", "c"))):
        told.store.apply_event(item)
    told.notify.clear()
    told.store.restore([Thing(5), Thing(2, ("", "c"))], 6)
    assert {thing.key[1]: thing.version for thing in told.store} == {"a": 5, "c": 2}
    assert told.notify == [(7, 5), (8, None)]
    told.store.apply_write_response(Thing(7))
    assert told.version == 7


def test_our_newer_write_survives_the_deletion_of_its_predecessor(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_write_response(
        Thing(5)
    )  # made anew by ourselves, before the watch tells that it was gone
    told.store.remove(("", "a"), 4)
    assert told.version == 5


def test_the_deletion_of_what_is_not_known_is_no_news(told: Told) -> None:
    told.store.remove(("", "a"), 4)
    assert told.notify == []


def test_a_late_answer_does_not_bring_back_what_the_watch_says_is_deleted(told: Told) -> None:
    """The answer to a write and the watch come by two connections; no later event would heal it."""
    told.store.apply_event(Thing(1))
    told.store.remove(("", "a"), 3)
    told.store.apply_write_response(Thing(2))
    assert told.version is None


def test_a_late_answer_does_not_bring_back_what_a_list_does_not_hold(told: Told) -> None:
    told.store.replace([], 10)
    told.store.apply_write_response(Thing(5))
    assert told.version is None


def test_what_a_look_finds_is_known_though_the_watch_has_gone_on(told: Told) -> None:
    """The watch does not see what has lost its label, and says nothing of it any more."""
    told.store.replace([], 10)
    with told.store.lookup(("", "a")) as look:
        told.store.remove(("", "b"), 12)
        told.store.apply_get_response(Thing(4), look)
    assert told.version == 4


def test_what_is_seen_as_it_loses_its_label_is_known(told: Told) -> None:
    told.store.apply_event(Thing(3))
    with told.store.lookup(("", "a")) as look:
        told.store.remove(("", "a"), 4)  # So a watch by label tells it.
        told.store.apply_get_response(Thing(4), look)
    assert told.version == 4


def test_what_goes_while_it_is_looked_for_stays_gone(told: Told) -> None:
    """The answer and the watch come by two connections; no later event would heal it."""
    with told.store.lookup(("", "a")) as look:
        told.store.remove(("", "a"), 5)
        told.store.apply_get_response(Thing(4), look)
    assert told.version is None
    with told.store.lookup(("", "a")) as look:
        told.store.replace([], 8)
        told.store.apply_get_response(Thing(7), look)
    assert told.version is None
    with told.store.lookup(("", "a")) as look:
        told.store.apply_get_response(Thing(9), look)
    assert told.version == 9


def test_a_store_can_be_changed_while_it_is_walked_through(told: Told) -> None:
    for name in "abc":
        told.store.apply_event(Thing(1, ("", name)))
    for thing in told.store:
        told.store.remove(thing.key, 2)
    assert len(told.store) == 0


# An object's life: None is its deletion. All of it reaches us by the watch, in order; any part of
# it, when it was our own write, also as an answer, at any later time.
lives = st.lists(st.booleans(), min_size=1, max_size=6)


@given(lives, st.data())
def test_any_interleaving_of_watch_and_answers_ends_in_the_newest(
    life: list[bool], data: st.DataObject
) -> None:
    told = Told()
    events = [(version, exists) for version, exists in enumerate(life, 1)]
    late = [version for version, exists in events if exists and data.draw(st.booleans())]
    for version, exists in events:
        for answer in [v for v in late if v <= version and data.draw(st.booleans())]:
            late.remove(answer)
            told.store.apply_write_response(Thing(answer), notify=data.draw(st.booleans()))
        if exists:
            told.store.apply_event(Thing(version))
        else:
            told.store.remove(("", "a"), version)
    for answer in data.draw(st.permutations(late)):
        told.store.apply_write_response(Thing(answer), notify=data.draw(st.booleans()))
    assert told.version == (len(life) if life[-1] else None)


@given(st.lists(st.integers(1, 9)), st.lists(st.integers(1, 9)))
def test_the_state_is_that_of_all_news_together(events: list[int], answers: list[int]) -> None:
    told = Told()
    for version in events:
        told.store.apply_event(Thing(version))
    for version in answers:
        told.store.apply_write_response(Thing(version))
    assert told.version == max([*events, *answers], default=None)
    versions = [new for _, new in told.notify]
    assert versions == sorted(versions, key=lambda v: v or 0)
