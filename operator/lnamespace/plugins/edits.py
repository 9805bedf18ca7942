"""The commands that change an LNamespace: grant, revoke, extend, leave, prune, set."""

from __future__ import annotations

from datetime import UTC, datetime

from lnamespace.plugins.arguments import Arguments, dry_run, keyed, one_of
from lnamespace.plugins.changes import (
    Change,
    Edit,
    Grant,
    Listing,
    Spec,
    Values,
    extend,
    grant,
    locks_out,
    prune,
    revoke,
    set_values,
)
from lnamespace.plugins.create_flags import BILLING, POLICIES, SETTINGS
from lnamespace.plugins.creation import check_role
from lnamespace.plugins.durations import parse_duration
from lnamespace.plugins.errors import PluginError, UsageError
from lnamespace.plugins.kubectl import Kubectl, caller
from lnamespace.plugins.lnamespaces import read_name
from lnamespace.plugins.modify import Target, change
from lnamespace.plugins.subjects import LISTS, Subject, parse_end, parse_subject


def grant_command(arguments: Arguments) -> int:
    """Give roles."""
    now = datetime.now(UTC)
    end_said, end = _common_end(arguments, now)
    wanted = []
    for role in LISTS:
        for text in arguments.all(role):
            typed = parse_subject(text, now)
            check_role(role, typed.identity.kind)
            own = typed.expires_at if typed.end_said else end
            wanted.append(Grant(role, Subject(typed.identity, own), typed.end_said or end_said))
    if len(arguments.words) != 2 or not wanted:
        raise UsageError("write kubectl lns grant NAME, and whom: --user, --manager, --sudoer")
    return change(_target(arguments), lambda spec: grant(spec, wanted, now))


def revoke_command(arguments: Arguments) -> int:
    """Take roles away."""
    now = datetime.now(UTC)
    wanted = _listings(arguments, now)
    if not wanted:
        raise UsageError(
            "write kubectl lns revoke NAME SUBJECT, or the list too: --user, --manager, --sudoer"
        )
    ignore = arguments.switch("ignore-not-found")

    def edit(spec: Spec) -> Change:
        changed = revoke(spec, wanted)
        return _checked(spec, changed._replace(problems=()) if ignore else changed, arguments, now)

    return change(_target(arguments), edit)


def extend_command(arguments: Arguments) -> int:
    """Move the end of entries that have one."""
    now = datetime.now(UTC)
    wanted = _listings(arguments, now)
    _, end = _common_end(arguments, now)
    if not wanted or end is None:
        raise UsageError(
            "write kubectl lns extend NAME SUBJECT, and until when: --for 8h or --until TIME"
        )
    return change(_target(arguments), lambda spec: extend(spec, wanted, end, now))


def leave_command(arguments: Arguments) -> int:
    """Take the caller's own roles away."""
    if len(arguments.words) != 2:
        raise UsageError("write kubectl lns leave NAME")
    now, target = datetime.now(UTC), _target(arguments)
    me = caller(target.kubectl.start_whoami().reply()).identity
    wanted = (Listing(None, me),)
    return change(target, lambda spec: _checked(spec, revoke(spec, wanted), arguments, now))


def prune_command(arguments: Arguments) -> int:
    """Remove the entries that have ended."""
    if len(arguments.words) != 2:
        raise UsageError("write kubectl lns prune NAME")
    now = datetime.now(UTC)
    return change(_target(arguments), lambda spec: prune(spec, now))


def set_command(arguments: Arguments) -> int:
    """Set who pays, the profile, and what protects the namespace."""
    one_of(arguments, "deletion-policy", (*POLICIES, ""), "")
    flags = (*BILLING, *SETTINGS)
    protection = arguments.given("deletion-protection")
    values = Values(
        {flag: arguments.one(flag) for flag in flags if arguments.given(flag)},
        dict(_label(text) for text in arguments.all("billing-label")),
        arguments.switch("deletion-protection") if protection else None,
    )
    if len(arguments.words) != 2 or values == Values():
        told = ", ".join(f"--{flag}" for flag in (*flags, "billing-label", "deletion-protection"))
        raise UsageError(f"write kubectl lns set NAME, and what: {told}")
    edit: Edit = lambda spec: set_values(spec, values)  # noqa: E731 - one line says it
    return change(_target(arguments), edit)


def _label(text: str) -> tuple[str, str | None]:
    """KEY=VALUE, or KEY- to take one away, as `kubectl label` has it."""
    if text.endswith("-") and "=" not in text and len(text) > 1:
        return text[:-1], None
    return keyed("billing-label", text)


def _common_end(arguments: Arguments, now: datetime) -> tuple[bool, datetime | None]:
    """Whether an end was said for all, and which."""
    if arguments.given("for") and arguments.given("until"):
        raise UsageError("--for and --until exclude each other")
    for key in ("for", "until"):
        if arguments.given(key):
            return True, parse_end(f"{key}={arguments.one(key)}", now)
    return False, None


def _listings(arguments: Arguments, now: datetime) -> list[Listing]:
    wanted = [_listing(None, text, now) for text in arguments.words[2:]]
    return wanted + [_listing(role, text, now) for role in LISTS for text in arguments.all(role)]


def _listing(role: str | None, text: str, now: datetime) -> Listing:
    typed = parse_subject(text, now)
    if typed.end_said and typed.expires_at:
        raise UsageError("an end belongs to grant, or to extend --until")
    return Listing(role, typed.identity)


def _checked(spec: Spec, changed: Change, arguments: Arguments, now: datetime) -> Change:
    """The change, unless nobody were left who could take it back."""
    if locks_out(spec, changed.spec, now) and not arguments.switch("force"):
        raise PluginError(
            "that would leave no manager and no sudoer, so nobody could change this LNamespace "
            "any more; grant somebody else first (a cluster administrator may insist: --force)"
        )
    return changed


def _target(arguments: Arguments) -> Target:
    if len(arguments.words) < 2:
        raise UsageError("exactly one NAME is required")
    waits = arguments.switch("wait", default=True)
    return Target(
        name=read_name(arguments.words[1]),
        dry_run=dry_run(arguments),
        output=one_of(arguments, "output", ("json", "yaml", "name", ""), ""),
        timeout=parse_duration(arguments.one("timeout", "30s")).total_seconds() if waits else 0,
        kubectl=Kubectl(arguments.connection),
        argv=arguments.line.argv,
    )
