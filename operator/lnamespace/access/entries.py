"""Decide which entries of an LNamespace's lists are in force."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.model.lnamespace import CommonSpec
from lnamespace.model.rules import member_problem, sudoer_problem
from lnamespace.model.subject import Member, Subject, next_expiry

Check = Callable[[Member], str | None]


@dataclass(frozen=True)
class ActiveEntries:
    """The subjects of each list that are in force at one time, sorted, each once.

    ``problems`` has one message for each entry that breaks a rule. ``changes_at`` is when the next
    entry expires.
    """

    users: tuple[Subject, ...]
    managers: tuple[Subject, ...]
    sudoers: tuple[Subject, ...]
    problems: tuple[str, ...] = ()
    changes_at: datetime | None = None


def active_entries(spec: CommonSpec, now: datetime) -> ActiveEntries:
    """Return the entries in force at ``now``: not expired, and breaking no rule.

    An entry that breaks a rule is there only if admission was bypassed; the others of its list
    still count.
    """
    return ActiveEntries(
        users=_effective(spec.users, member_problem, now),
        managers=_effective(spec.managers, member_problem, now),
        sudoers=_effective(spec.sudoers, sudoer_problem, now),
        problems=(
            *_problems("users", spec.users, member_problem),
            *_problems("managers", spec.managers, member_problem),
            *_problems("sudoers", spec.sudoers, sudoer_problem),
        ),
        changes_at=next_expiry(spec.members, now),
    )


def sudoer_expiries(spec: CommonSpec) -> dict[Subject, datetime | None]:
    """Return when each sudoer stops being one; None if never."""
    until: dict[Subject, datetime | None] = {}
    for member in spec.sudoers:
        if sudoer_problem(member):
            continue
        end = member.expires_at or None
        known = until.get(member.subject, end)
        until[member.subject] = max(known, end) if known and end else None
    return until


def _effective(members: Iterable[Member], check: Check, now: datetime) -> tuple[Subject, ...]:
    return tuple(sorted({m.subject for m in members if m.active(now) and not check(m)}))


def _problems(field: str, members: Iterable[Member], check: Check) -> list[str]:
    found = ((index, check(member)) for index, member in enumerate(members))
    return [f"spec.{field}[{index}]: {problem}" for index, problem in found if problem]
