"""Which LNamespaces need which person's self-impersonator, and until when."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from lnamespace.access.entries import sudoer_expiries
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.subject import Subject


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
