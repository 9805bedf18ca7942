"""What we last knew of the objects of one kind, and whether a piece of news is news.

News reaches a store by two roads: the watch, and the answers to our own writes, which are first.
Resource versions tell which is the newer (KEP-5504 makes them comparable numbers), so the echo
of our own write is no news and starts no work.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lnamespace.kube.objects import Key


class Item(Protocol):
    """Anything a store can hold."""

    @property
    def key(self) -> Key:
        """What tells it from others of its kind."""

    @property
    def version(self) -> int:
        """Its resource version."""


T = TypeVar("T", bound=Item)
Listener = Callable[[T | None, T | None], None]
"""Called with what was and what is; None where there was or is nothing."""


@dataclass(eq=False)
class Look:
    """A question for one object that is under way, and up to which version it was told gone."""

    key: Key
    gone: int = 0


class Store(Generic[T]):
    """The objects of one kind by key."""

    def __init__(self, listener: Listener[T]) -> None:
        self._items: dict[Key, T] = {}
        self._listener = listener
        self._told = 0
        """The newest version that the watch or a list has told of anything."""
        self._listed = 0
        """The version of the last list: an event up to it was overtaken by the list."""
        self._gone: dict[Key, int] = {}
        """Up to which version objects are gone of whose end no watch or list has told yet."""
        self._looks: list[Look] = []

    def get(self, key: Key) -> T | None:
        """The object, as last known."""
        return self._items.get(key)

    def knows(self, key: Key, version: int) -> bool:
        """Whether what is known of the object is as new as that."""
        known = self._items.get(key)
        return known is not None and known.version >= version

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)

    def learn(self, item: T, *, news: bool = False) -> None:
        """Take in the answer to a write of our own, without telling unless it brings ``news``.

        What the watch has told already, it told in order, up to what became of the object since:
        an answer that comes later than that must not bring a deleted object back.
        """
        known = self._items.get(item.key)
        told = max(self._told, self._gone.get(item.key, 0))
        if item.version > told and (known is None or known.version < item.version):
            self._keep(item)
            if news:
                self._listener(known, item)

    def put(self, item: T) -> None:
        """Take in what the watch says is."""
        self._told = max(self._told, item.version)
        if item.version > max(self._listed, self._gone.get(item.key, 0)):
            self._take(item)

    @contextmanager
    def looking(self, key: Key) -> Iterator[Look]:
        """While an object is asked for by name: what is told gone before the answer stays so."""
        look = Look(key)
        self._looks.append(look)
        try:
            yield look
        finally:
            self._looks.remove(look)

    def meet(self, item: T, look: Look) -> None:
        """Take in what a look of our own found, perhaps where the watch does not see.

        How much the watch has told says nothing here: what it cannot see may be old.
        """
        if item.version >= look.gone:
            self._take(item)

    def remove(self, key: Key, version: int) -> None:
        """Take in what the watch says is gone, up to ``version``."""
        self._told = max(self._told, version)
        if self._gone.get(key, 0) <= version:
            self._gone.pop(key, None)
        self._end(key, version)

    def forget(self, key: Key, version: int) -> None:
        """Take in what we found to be gone or deleted ourselves, as it was at ``version``.

        It says nothing about other objects: the watch may be far from that version, and the answer
        to an earlier write of ours that comes now is news.
        """
        if version > self._told:
            self._gone[key] = max(self._gone.get(key, 0), version)
        self._end(key, version)

    def _end(self, key: Key, version: int) -> None:
        for look in self._looks:
            if look.key == key:
                look.gone = max(look.gone, version)
        known = self._items.get(key)
        if known is not None and known.version <= version:
            del self._items[key]
            self._listener(known, None)

    def replace(self, items: Iterable[T], version: int) -> None:
        """Take in a whole list as of ``version``: what is not in it is gone.

        Nothing but our own later writes is newer than the list. What is known by a version that the
        list should have, and does not, never was: the cluster has been restored from a backup, and
        its revisions raised (``etcdutl snapshot restore --bump-revision``).
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
        for key in (self._items.keys() | {look.key for look in self._looks}) - present:
            self.remove(key, version)
        self._told = max(self._told, version)
        self._listed = version

    def restore(self, items: Iterable[T], version: int) -> None:
        """Take in a list of a cluster that went back to an earlier state: versions say nothing."""
        before, self._items = self._items, {}
        self._told, self._listed, self._gone = version, version, {}
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
