"""The managers and sudoers who can edit an LNamespace at one moment."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.access.entries import active_entries
from lnamespace.admission.decisions.review import UserInfo
from lnamespace.model.lnamespace import CommonSpec, Spec
from lnamespace.model.subject import Member, Subject, SubjectKind


@dataclass(frozen=True)
class Editors:
    """The subjects that can edit an LNamespace now.

    Parameters
    ----------
    until
        When the last of their entries expires; None where one does not expire, or where there is
        no editor.
    """

    managers: frozenset[Subject]
    sudoers: frozenset[Subject]
    until: datetime | None = None

    @classmethod
    def at(cls, spec: CommonSpec, now: datetime) -> "Editors":
        """Return the editors that a spec names. The list of users, the longest one, has none."""
        current = active_entries(Spec(managers=spec.managers, sudoers=spec.sudoers), now)
        managers, sudoers = frozenset(current.managers), frozenset(current.sudoers)
        until = _last_expiry((*spec.managers, *spec.sudoers), managers | sudoers)
        return cls(managers, sudoers, until)

    def include(self, user: UserInfo) -> bool:
        """Return whether a user is an editor, by name or by a group."""
        return any(
            subject.name in user.groups
            if subject.kind is SubjectKind.GROUP
            else subject.username == user.username
            for subject in (*self.managers, *self.sudoers)
        )


def _last_expiry(members: Iterable[Member], editors: frozenset[Subject]) -> datetime | None:
    ends: list[datetime] = []
    for member in members:
        if member.subject in editors:
            if not isinstance(member.expires_at, datetime):
                return None
            ends.append(member.expires_at)
    return max(ends, default=None)
