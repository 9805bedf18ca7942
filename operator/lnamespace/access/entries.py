"""Which entries of the lists count now, and what is wrong with those that do not."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.model.lnamespace import Spec
from lnamespace.model.rules import member_problem, sudoer_problem
from lnamespace.model.subject import Member, Subject, next_expiry

Check = Callable[[Member], str | None]


@dataclass(frozen=True)
class ActiveEntries:
    """The people that an LNamespace's lists come to at one moment, sorted, each once.

    ``problems`` says of every entry that gives nobody anything why it does not.
    ``changes_at`` is when time alone will change this.
    """

    users: tuple[Subject, ...]
    managers: tuple[Subject, ...]
    sudoers: tuple[Subject, ...]
    problems: tuple[str, ...] = ()
    changes_at: datetime | None = None


def active_entries(spec: Spec, now: datetime) -> ActiveEntries:
    """What the lists come to at ``now``: what has expired or breaks a rule gives nothing.

    An entry that breaks a rule can only stand there if admission was bypassed; the others of its
    list still count.
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


def sudoer_expiries(spec: Spec) -> dict[Subject, datetime | None]:
    """Until when each sudoer is one; None is for ever."""
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
