"""The cache of the objects of one kind, which calls a listener when an object changes.

Changes reach a store by two ways: the watch, and the answers to our own writes, which come first.
Resource versions show which is newer (KEP-5504 makes them comparable numbers), so that the watch
event of our own write changes nothing and starts no reconcile.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lnamespace.kube.objects import Key


class Item(Protocol):
    """An object that a store can hold."""

    @property
    def key(self) -> Key:
        """Return the namespace and the name."""

    @property
    def version(self) -> int:
        """Return the resource version."""


T = TypeVar("T", bound=Item)
Listener = Callable[[T | None, T | None], None]
"""Called with an object as it was and as it is; None where it did not or does not exist."""


@dataclass(eq=False)
class Lookup:
    """A GET of one object that is under way; ``gone`` is the version up to which it is deleted."""

    key: Key
    gone: int = 0


class Store(Generic[T]):
    """The objects of one kind by key."""

    def __init__(self, listener: Listener[T]) -> None:
        self._items: dict[Key, T] = {}
        self._listener = listener
        self._last_version = 0
        """The newest version of any object that the watch or a list has reported."""
        self._listed = 0
        """The version of the last list, which includes every event up to it."""
        self._gone: dict[Key, int] = {}
        """The versions up to which objects are deleted whose end was not reported yet."""
        self._lookups: list[Lookup] = []

    @property
    def last_version(self) -> int:
        """Return the newest version of any object that the watch or a list has reported."""
        return self._last_version

    def get(self, key: Key) -> T | None:
        """Return the object as last known, or None."""
        return self._items.get(key)

    def knows(self, key: Key, version: int) -> bool:
        """Return whether the object is known at this version, or a newer one."""
        known = self._items.get(key)
        return known is not None and known.version >= version

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)

    def apply_write_response(self, item: T, *, notify: bool = False) -> None:
        """Store the answer to our own write; call the listener only with ``notify``.

        The watch reports in order. An answer that is older than what it has reported must not
        bring a deleted object back.
        """
        known = self._items.get(item.key)
        reported = max(self._last_version, self._gone.get(item.key, 0))
        if item.version > reported and (known is None or known.version < item.version):
            self._keep(item)
            if notify:
                self._listener(known, item)

    def apply_event(self, item: T) -> None:
        """Store an object that the watch reports as created or changed."""
        self._last_version = max(self._last_version, item.version)
        if item.version > max(self._listed, self._gone.get(item.key, 0)):
            self._take(item)

    @contextmanager
    def lookup(self, key: Key) -> Iterator[Lookup]:
        """Note deletions of an object while a GET of it is under way."""
        lookup = Lookup(key)
        self._lookups.append(lookup)
        try:
            yield lookup
        finally:
            self._lookups.remove(lookup)

    def apply_get_response(self, item: T, lookup: Lookup) -> None:
        """Store the answer to a GET of one object, which the watch may not select.

        The answer may be older than what the watch reported of other objects.
        """
        if item.version >= lookup.gone:
            self._take(item)

    def remove(self, key: Key, version: int) -> None:
        """Remove an object that the watch reports as deleted, at ``version``."""
        self._last_version = max(self._last_version, version)
        if self._gone.get(key, 0) <= version:
            self._gone.pop(key, None)
        self._end(key, version)

    def remove_after_response(self, key: Key, version: int) -> None:
        """Remove an object that we deleted or did not find, as it was at ``version``.

        Nothing follows for other objects: the watch may be far behind that version, and the answer
        to an earlier write of ours may still come.
        """
        if version > self._last_version:
            self._gone[key] = max(self._gone.get(key, 0), version)
        self._end(key, version)

    def _end(self, key: Key, version: int) -> None:
        for lookup in self._lookups:
            if lookup.key == key:
                lookup.gone = max(lookup.gone, version)
        known = self._items.get(key)
        if known is not None and known.version <= version:
            del self._items[key]
            self._listener(known, None)

    def replace(self, items: Iterable[T], version: int) -> None:
        """Replace the content by a complete list as of ``version``; objects not in it are removed.

        Only our own later writes are newer than the list. An object that is known at a version
        which the list should have, and does not, never existed: the cluster was restored from a
        backup, and its revisions raised (``etcdutl snapshot restore --bump-revision``).
        """
        self._gone = {key: gone for key, gone in self._gone.items() if gone > version}
        present = set()
        for item in items:
            present.add(item.key)
            known = self._items.get(item.key)
            if known is not None and item.version < known.version <= version:
                self._set(known, item)
            else:
                self._take(item)
        for key in (self._items.keys() | {lookup.key for lookup in self._lookups}) - present:
            self.remove(key, version)
        self._last_version = max(self._last_version, version)
        self._listed = version

    def restore(self, items: Iterable[T], version: int) -> None:
        """Replace the content by a list of a cluster that was restored, whatever the versions."""
        before, self._items = self._items, {}
        self._last_version, self._listed, self._gone = version, version, {}
        for item in items:
            self._set(before.pop(item.key, None), item)
        for gone in before.values():
            self._listener(gone, None)

    def _take(self, item: T) -> None:
        known = self._items.get(item.key)
        if known is None or known.version < item.version:
            self._set(known, item)

    def _set(self, known: T | None, item: T) -> None:
        self._keep(item)
        if known != item:
            self._listener(known, item)

    def _keep(self, item: T) -> None:
        self._items[item.key] = item
        self._gone.pop(item.key, None)
