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


def test_listeners_receive_the_old_and_the_new_object(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_event(Thing(2))
    told.store.remove(("", "a"), 3)
    assert told.notify == [(None, 1), (1, 2), (2, None)]


def test_a_deleted_object_is_removed_before_its_watch_event(told: Told) -> None:
    told.store.apply_event(Thing(2))
    told.store.remove(("", "a"), 2)
    assert told.version is None
    assert told.notify == [(None, 2), (2, None)]


def test_a_delete_response_does_not_hide_responses_about_other_objects(told: Told) -> None:
    """The watch is at 2 when we delete what we had just changed: other answers are still news."""
    told.store.apply_event(Thing(2, ("", "b")))
    told.store.apply_write_response(Thing(20))
    told.store.remove_after_response(("", "a"), 20)
    told.store.apply_write_response(Thing(15, ("", "b")))
    assert told.store.get(("", "b")) == Thing(15, ("", "b"))


@pytest.mark.parametrize("version", [2, 19, 20])
def test_late_news_does_not_restore_a_deleted_object(told: Told, version: int) -> None:
    told.store.apply_event(Thing(2))
    told.store.apply_write_response(Thing(20))
    told.store.remove_after_response(("", "a"), 20)
    told.store.apply_write_response(Thing(version))
    told.store.apply_event(Thing(version))
    assert told.version is None
    assert told.notify == [(None, 2), (20, None)]


def test_an_object_recreated_after_its_deletion_is_cached(told: Told) -> None:
    for notify in (told.store.apply_event, told.store.apply_write_response):
        told.store.apply_event(Thing(2))
        told.store.remove_after_response(("", "a"), 2)
        notify(Thing(22))
        assert told.version == 22
        told.store.restore([], 1)


def test_a_list_after_a_restore_from_backup_overrides_an_own_deletion(told: Told) -> None:
    """The cluster was restored from a backup, and its revisions raised."""
    told.store.apply_event(Thing(2))
    told.store.remove_after_response(("", "a"), 20)
    told.store.replace([Thing(2)], 1000)
    assert told.version == 2


def test_late_watch_events_of_a_predecessor_do_not_restore_a_deleted_object(told: Told) -> None:
    told.store.remove_after_response(("", "a"), 20)
    told.store.remove(("", "a"), 10)
    told.store.apply_event(Thing(15))
    assert told.version is None
    told.store.remove(("", "a"), 21)
    told.store.apply_event(Thing(30))
    assert told.version == 30


def test_an_older_version_of_an_object_is_ignored(told: Told) -> None:
    told.store.apply_event(Thing(5))
    told.store.apply_event(Thing(5))
    told.store.apply_event(Thing(4))
    assert told.version == 5
    assert told.notify == [(None, 5)]


def test_the_watch_event_of_an_own_write_is_not_reported_as_a_change(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_write_response(Thing(2))
    told.store.apply_event(Thing(2))
    assert told.version == 2
    assert told.notify == [(None, 1)]


def test_a_response_reported_as_a_change_is_ignored_if_older_than_the_watch(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_write_response(Thing(2), notify=True)
    told.store.apply_event(Thing(2))
    told.store.remove(("", "a"), 4)
    told.store.apply_write_response(Thing(3), notify=True)
    assert told.version is None
    assert told.notify == [(None, 1), (1, 2), (2, None)]


def test_a_change_by_others_after_an_own_write_is_reported(told: Told) -> None:
    told.store.apply_write_response(Thing(2))
    told.store.apply_event(Thing(3))
    assert told.notify == [(2, 3)]


def test_a_response_older_than_the_watch_is_ignored(told: Told) -> None:
    told.store.apply_event(Thing(7))
    told.store.apply_write_response(Thing(6))
    assert told.version == 7


def test_a_list_removes_objects_that_were_deleted_meanwhile(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_event(Thing(2, ("", "b")))
    told.notify.clear()
    told.store.replace([Thing(2, ("", "b"))], 9)
    assert told.version is None
    assert told.notify == [(1, None)]
    assert [thing.key for thing in told.store] == [("", "b")]
    assert len(told.store) == 1


def test_a_watch_event_older_than_a_list_does_not_restore_a_deleted_object(
    told: Told,
) -> None:
    """An edit that kopf held was handed on after a list: what was deleted was there again."""
    told.store.apply_event(Thing(1))
    told.store.replace([], 9)
    told.store.apply_event(Thing(8))
    assert told.version is None
    told.store.apply_event(Thing(10))
    assert told.version == 10


def test_an_own_write_newer_than_a_list_is_kept(told: Told) -> None:
    told.store.apply_write_response(Thing(12))
    told.store.replace([], 10)
    told.store.replace([Thing(8)], 11)
    assert told.version == 12
    assert told.notify == []


def test_a_list_with_a_newer_version_overrides_cached_objects(told: Told) -> None:
    """The cluster was restored from a backup, and its revisions were raised: the past changed."""
    told.store.apply_event(Thing(7))
    told.store.replace([Thing(5)], 1000)
    assert told.version == 5
    assert told.notify == [(None, 7), (7, 5)]
    told.store.apply_event(Thing(1001))
    assert told.version == 1001


def test_a_restored_cluster_replaces_the_whole_store_by_the_list(told: Told) -> None:
    for item in (Thing(7), Thing(8, ("", "b")), Thing(2, ("", "c"))):
        told.store.apply_event(item)
    told.notify.clear()
    told.store.restore([Thing(5), Thing(2, ("", "c"))], 6)
    assert {thing.key[1]: thing.version for thing in told.store} == {"a": 5, "c": 2}
    assert told.notify == [(7, 5), (8, None)]
    told.store.apply_write_response(Thing(7))
    assert told.version == 7


def test_an_own_write_is_kept_after_the_delete_event_of_its_predecessor(told: Told) -> None:
    told.store.apply_event(Thing(1))
    told.store.apply_write_response(
        Thing(5)
    )  # made anew by ourselves, before the watch tells that it was gone
    told.store.remove(("", "a"), 4)
    assert told.version == 5


def test_the_deletion_of_an_unknown_object_is_not_reported(told: Told) -> None:
    told.store.remove(("", "a"), 4)
    assert told.notify == []


def test_a_late_response_does_not_restore_an_object_deleted_in_the_watch(told: Told) -> None:
    """The answer to a write and the watch come by two connections; no later event would heal it."""
    told.store.apply_event(Thing(1))
    told.store.remove(("", "a"), 3)
    told.store.apply_write_response(Thing(2))
    assert told.version is None


def test_a_late_response_does_not_restore_an_object_missing_from_a_list(told: Told) -> None:
    told.store.replace([], 10)
    told.store.apply_write_response(Thing(5))
    assert told.version is None


def test_a_fetched_object_is_cached_although_the_watch_is_ahead(told: Told) -> None:
    """The watch does not see what has lost its label, and says nothing of it any more."""
    told.store.replace([], 10)
    with told.store.lookup(("", "a")) as look:
        told.store.remove(("", "b"), 12)
        told.store.apply_get_response(Thing(4), look)
    assert told.version == 4


def test_an_object_fetched_while_it_loses_its_label_is_cached(told: Told) -> None:
    told.store.apply_event(Thing(3))
    with told.store.lookup(("", "a")) as look:
        told.store.remove(("", "a"), 4)  # So a watch by label tells it.
        told.store.apply_get_response(Thing(4), look)
    assert told.version == 4


def test_an_object_deleted_while_it_is_fetched_stays_deleted(told: Told) -> None:
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


def test_a_store_can_be_changed_during_iteration(told: Told) -> None:
    for name in "abc":
        told.store.apply_event(Thing(1, ("", name)))
    for thing in told.store:
        told.store.remove(thing.key, 2)
    assert len(told.store) == 0


# An object's life: None is its deletion. All of it reaches us by the watch, in order; any part of
# it, when it was our own write, also as an answer, at any later time.
lives = st.lists(st.booleans(), min_size=1, max_size=6)


@given(lives, st.data())
def test_any_interleaving_of_watch_events_and_responses_ends_in_the_newest_version(
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
def test_the_store_holds_the_newest_version_of_all_events_and_responses(
    events: list[int], answers: list[int]
) -> None:
    told = Told()
    for version in events:
        told.store.apply_event(Thing(version))
    for version in answers:
        told.store.apply_write_response(Thing(version))
    assert told.version == max([*events, *answers], default=None)
    versions = [new for _, new in told.notify]
    assert versions == sorted(versions, key=lambda v: v or 0)
