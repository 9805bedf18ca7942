"""The roles of a caller on an LNamespace, their ends, and how to become a sudoer."""

from __future__ import annotations

from datetime import datetime

from lnamespace.plugins.model.api_group import advised
from lnamespace.plugins.model.lnamespaces import LCLUSTER, Object, name_of, sudo_identity
from lnamespace.plugins.model.subjects import (
    LISTS,
    Caller,
    ListEntry,
    SubjectName,
    covering,
    entries,
    entries_covering,
)
from lnamespace.plugins.model.times import format_age, format_instant
from lnamespace.plugins.runtime.values import NamedTuple


class HeldRole(NamedTuple):
    """A role that the caller has or had; `until` is None if it has no end."""

    role: str
    until: datetime | None
    expired: bool


class CallerAccess(NamedTuple):
    """The roles and entries of the caller in an LNamespace."""

    roles: tuple[HeldRole, ...]
    requester: bool

    @property
    def any(self) -> bool:
        """Return whether the caller has any role."""
        return bool(self.roles) or self.requester

    @property
    def names(self) -> str:
        """Return the roles that the caller has now, as a table cell."""
        return ",".join(role.role for role in self.roles if not role.expired) or "<none>"

    def ends(self, now: datetime) -> str:
        """Return the roles that end and when, as a table cell: `sudoer=8h`."""
        cells = (
            f"{role.role}={'expired' if role.expired else format_age(role.until - now)}"
            for role in self.roles
            if role.until
        )
        return ",".join(cells) or "<none>"


def access(lns: Object, me: Caller, now: datetime) -> CallerAccess:
    """Return the roles of the caller on this LNamespace."""
    spec = lns.get("spec", {})
    if sudo_identity(lns).account == me.username:  # the account of sudo, whoever uses it
        return CallerAccess((HeldRole("sudoer", None, False),), requester=False)
    roles = (_role(role, entries_covering(spec, field, me), now) for role, field in LISTS.items())
    return CallerAccess(
        tuple(role for role in roles if role is not None), spec.get("requester") == me.username
    )


def _role(role: str, found: tuple[ListEntry, ...], now: datetime) -> HeldRole | None:
    """Return the role that the entries give; the one that lasts longest counts."""
    if not found:
        return None
    if any(subject.expires_at is None for subject in found):
        return HeldRole(role, None, False)
    until = max(subject.expires_at for subject in found if subject.expires_at)
    return HeldRole(role, until, until <= now)


NAMED = 3  # so many are named before the message becomes a list


def refusal(lns: Object, me: Caller, now: datetime) -> str | None:
    """Return why the API server would refuse; None when it would not."""
    mine = entries_covering(lns["spec"], "sudoers", me)
    if any(not entry.expired(now) for entry in mine):
        return None
    name = name_of(lns)
    if mine:
        ended = max(entry.expires_at for entry in mine if entry.expires_at)
        why = (
            f'your ({me.username}) sudo in "{name}" ended at {format_instant(ended)}, '
            f"{format_age(now - ended)} ago"
        )
    else:
        why = f'you ({me.username}) are not a sudoer of "{name}"'
    return f"{why}; {ask(lns, me, now, granting(name, me.identity))}"


def ask(lns: Object, me: Caller, now: datetime, command: str) -> str:
    """Return whom to ask to run one of our commands, which is written without `kubectl`."""
    managers = active(entries(lns["spec"], "managers"), now)
    sudoers = active(entries(lns["spec"], "sudoers"), now)
    by = "kubectl"
    if covering(managers, me):
        who = "you are a manager of it, so run"
    elif managers:
        who = f"ask a manager ({_some(managers)}) to run"
    elif sudoers:
        who = f"it has no manager; ask a sudoer ({_some(sudoers)}) to run"
        by = "kubectl" if lns.get("kind") == LCLUSTER.kind else "kubectl sudo"
    else:
        who = "it has no manager; ask a cluster administrator to run"
    return f"{who}: {advised(f'{by} {command}')}"


def _some(subjects: tuple[ListEntry, ...]) -> str:
    names = [entry.identity.spelling for entry in subjects]
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def active(subjects: tuple[ListEntry, ...], now: datetime) -> tuple[ListEntry, ...]:
    """Return the entries that have not ended."""
    return tuple(subject for subject in subjects if not subject.expired(now))


def granting(name: str, identity: SubjectName) -> str:
    """Return the command that makes somebody a sudoer, safe to paste into a shell."""
    from shlex import quote

    return f"lns grant {name} --sudoer {quote(identity.spelling)}"
