"""Whether a caller may sudo in an LNamespace, and if not, what exactly there is to do."""

from __future__ import annotations

import shlex
from datetime import datetime

from lnamespace.plugins.durations import format_instant, human
from lnamespace.plugins.lnamespaces import Object, advised, name_of
from lnamespace.plugins.subjects import Caller, Identity, Subject, covering, entries

NAMED = 3  # so many managers are named before the message becomes a list


def refusal(lns: Object, me: Caller, now: datetime) -> str | None:
    """Why the API server would refuse; None when it would not."""
    mine = covering(entries(lns["spec"], "sudoers"), me)
    if any(not entry.expired(now) for entry in mine):
        return None
    name = name_of(lns)
    if mine:
        ended = max(entry.expires_at for entry in mine if entry.expires_at)
        why = (
            f'your ({me.username}) sudo in "{name}" ended at {format_instant(ended)}, '
            f"{human(now - ended)} ago"
        )
    else:
        why = f'you ({me.username}) are not a sudoer of "{name}"'
    return f"{why}; {whom_to_ask(lns, me, now)} {grant_command(name, 'sudoer', me.identity)}"


def whom_to_ask(lns: Object, me: Caller, now: datetime) -> str:
    """The beginning of a sentence that ends in a command."""
    managers = active(entries(lns["spec"], "managers"), now)
    if covering(managers, me):
        return "you are a manager of it, so run:"
    names = [entry.identity.spelling for entry in managers]
    if not names:
        return "it has no manager; ask a cluster administrator to run:"
    more = ", ..." if len(names) > NAMED else ""
    return f"ask a manager ({', '.join(names[:NAMED])}{more}) to run:"


def active(subjects: tuple[Subject, ...], now: datetime) -> tuple[Subject, ...]:
    """The entries that have not ended."""
    return tuple(subject for subject in subjects if not subject.expired(now))


def grant_command(name: str, role: str, identity: Identity) -> str:
    """The command that gives somebody a role, safe to paste into a shell."""
    return advised(f"kubectl lns grant {name} --{role} {shlex.quote(identity.spelling)}")
