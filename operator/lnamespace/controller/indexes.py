"""LNamespaces by UID, and by the people who need them."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from lnamespace.access.entries import sudoer_expiries
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.subject import Subject


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


class Sponsor(NamedTuple):
    """The UID of an LNamespace that lists the person as a sudoer, until when (None: for ever)."""

    uid: str
    until: datetime | None


class ImpersonatorIndex:
    """The sudoers of all LNamespaces, by person, and the problems of their objects."""

    def __init__(self) -> None:
        self._sponsors: dict[ImpersonatorKey, dict[str, Sponsor]] = {}
        self._subjects: dict[ImpersonatorKey, Subject] = {}
        self.problems: dict[ImpersonatorKey, str] = {}
        """Why a person's objects could not be made, in words."""

    def update(self, old: LNamespace | None, new: LNamespace | None) -> set[ImpersonatorKey]:
        """Update the lists after a change of an LNamespace; return the people whom it concerns."""
        lns = new or old
        if lns is None:
            return set()
        before, after = _sudoers(old), _sudoers(new)
        changed = {subject for subject, _ in before.items() ^ after.items()}
        for subject in changed:
            impersonator, name = ImpersonatorKey.from_subject(subject), lns.name
            sponsors = self._sponsors.setdefault(impersonator, {})
            sponsors.pop(name, None)
            if subject in after:
                self._subjects[impersonator] = subject
                sponsors[name] = after[subject]
            if not sponsors:
                self._forget(impersonator)
        return {ImpersonatorKey.from_subject(subject) for subject in changed}

    def __iter__(self) -> Iterator[ImpersonatorKey]:
        return iter(list(self._sponsors))

    def subject(self, impersonator: ImpersonatorKey) -> Subject | None:
        """Return the subject of the person; None if no LNamespace lists them."""
        return self._subjects.get(impersonator)

    def sponsors(self, impersonator: ImpersonatorKey, now: datetime) -> dict[str, str]:
        """Return the LNamespaces that need the person now, name to UID."""
        listed = self._sponsors.get(impersonator, {})
        return {name: s.uid for name, s in listed.items() if s.until is None or s.until > now}

    def is_sponsor(self, impersonator: ImpersonatorKey, name: str, uid: str) -> bool:
        """Return whether that LNamespace lists the person."""
        sponsor = self._sponsors.get(impersonator, {}).get(name)
        return sponsor is not None and sponsor.uid == uid

    def changes_at(self, impersonator: ImpersonatorKey, now: datetime) -> datetime | None:
        """Return when the next entry of the person expires."""
        ends = (s.until for s in self._sponsors.get(impersonator, {}).values())
        return min((end for end in ends if end and end > now), default=None)

    def _forget(self, impersonator: ImpersonatorKey) -> None:
        del self._sponsors[impersonator]
        self._subjects.pop(impersonator, None)
        self.problems.pop(impersonator, None)


def _sudoers(lns: LNamespace | None) -> dict[Subject, Sponsor]:
    if lns is None:
        return {}
    return {s: Sponsor(lns.uid, until) for s, until in sudoer_expiries(lns.spec).items()}
