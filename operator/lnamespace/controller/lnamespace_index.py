"""LNamespaces by UID, and of those that cannot be read what was read last."""

from collections.abc import Callable

from lnamespace.controller.resource import CachedLNamespace
from lnamespace.model.lnamespace import LNamespace


class LNamespaceIndex:
    """An index by UID of the LNamespaces of our class.

    Parameters
    ----------
    of_our_class
        Returns an LNamespace if it is of our class, or None.
    readable
        Called with the UID of an LNamespace that could not be read since the start, and now can,
        or is gone.
    """

    def __init__(
        self,
        of_our_class: Callable[[CachedLNamespace | None], LNamespace | None],
        readable: Callable[[str], None],
    ) -> None:
        self._of_our_class = of_our_class
        self._readable = readable
        self._known: dict[str, CachedLNamespace] = {}
        self._last_read: dict[str, LNamespace | None] = {}
        """The unreadable LNamespaces, as they were when they could last be read."""

    def get(self, uid: str) -> CachedLNamespace | None:
        """Return the LNamespace with a UID, or None."""
        return self._known.get(uid)

    def as_read(self, lns: LNamespace | None) -> LNamespace | None:
        """Return the LNamespace as it was when it could be read the last time."""
        return (self._last_read.get(lns.uid) or lns) if lns else None

    def never_read(self, uid: str) -> str:
        """Return the name of an LNamespace of ours that could not be read since the start, if any.

        Its lists are not known, so no object that it may need is to be deleted.
        """
        listed = self._known.get(uid)
        return listed.lns.name if listed and self._last_read.get(uid, listed) is None else ""

    def note(self, old: CachedLNamespace | None, new: CachedLNamespace | None) -> None:
        """Update the index after a change of an LNamespace."""
        same = old is not None and new is not None and old.lns.uid == new.lns.uid
        if old is not None and not same:
            self._known.pop(old.lns.uid, None)
            self._forget_unread(old.lns.uid)
        if new is None or self._of_our_class(new) is None:
            return
        self._known[new.lns.uid] = new
        if not new.problem:
            self._forget_unread(new.lns.uid)
        elif new.lns.uid not in self._last_read:
            self._last_read[new.lns.uid] = old.lns if same and old else None

    def _forget_unread(self, uid: str) -> None:
        if uid in self._last_read and self._last_read.pop(uid) is None:
            self._readable(uid)
