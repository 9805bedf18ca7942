"""What we last knew of the objects of one kind, and whether a piece of news is news.

News reaches a store by two roads: the watch, and the answers to our own writes, which are first.
Resource versions tell which is the newer (KEP-5504 makes them comparable numbers), so the echo
of our own write is no news and starts no work.
"""

from collections.abc import Callable, Iterable, Iterator
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


class Store(Generic[T]):
    """The objects of one kind by key."""

    def __init__(self, listener: Listener[T]) -> None:
        self._items: dict[Key, T] = {}
        self._listener = listener

    def get(self, key: Key) -> T | None:
        """The object, as last known."""
        return self._items.get(key)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)

    def learn(self, item: T) -> bool:
        """Take in the answer to a write of our own, without telling; False where it is old."""
        known = self._items.get(item.key)
        if known is not None and known.version >= item.version:
            return False
        self._items[item.key] = item
        return True

    def put(self, item: T) -> None:
        """Take in what the watch says is."""
        known = self._items.get(item.key)
        if self.learn(item):
            self._listener(known, item)

    def remove(self, key: Key, version: int) -> None:
        """Take in what the watch says is gone as of ``version``."""
        known = self._items.get(key)
        if known is not None and known.version <= version:
            del self._items[key]
            self._listener(known, None)

    def replace(self, items: Iterable[T], version: int) -> None:
        """Take in a whole list as of ``version``: what is not in it is gone."""
        present = set()
        for item in items:
            present.add(item.key)
            self.put(item)
        for key in self._items.keys() - present:
            self.remove(key, version)
