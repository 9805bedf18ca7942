"""The commands that change an LNamespace: grant, revoke, extend, leave, prune, set."""

from __future__ import annotations

from datetime import UTC, datetime

from lnamespace.plugins.cluster.kubectl import Kubectl, caller
from lnamespace.plugins.edits.changes import (
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
from lnamespace.plugins.edits.writing import EditOptions, change
from lnamespace.plugins.model.lnamespaces import LCLUSTER, read_target
from lnamespace.plugins.model.subjects import LISTS, ListEntry, check_role, parse_end, parse_subject
from lnamespace.plugins.model.times import parse_duration
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import (
    BILLING,
    POLICIES,
    SETTINGS,
    Arguments,
    dry_run,
    keyed,
    one_of,
)
from lnamespace.plugins.runtime.terminal import say


def grant_command(arguments: Arguments) -> int:
    """Run `kubectl lns grant`."""
    now = datetime.now(UTC)
    end_said, end = _common_end(arguments, now)
    wanted, notes = [], []
    for role in LISTS:
        for text in arguments.all(role):
            typed = parse_subject(text, now)
            check_role(role, typed.identity.kind)
            own = typed.expires_at if typed.end_said else end
            wanted.append(Grant(role, ListEntry(typed.identity, own), typed.end_said or end_said))
            notes.append(typed.note)
    if len(arguments.words) != 2 or not wanted:
        raise UsageError("write kubectl lns grant NAME, and whom: --user, --manager, --sudoer")
    code = change(_target(arguments), lambda spec: grant(spec, wanted, now))
    for note in dict.fromkeys(filter(None, notes)):  # once for a name on two lists
        say(note)
    return code


def revoke_command(arguments: Arguments) -> int:
    """Run `kubectl lns revoke`."""
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
    never, end = _common_end(arguments, now)
    if never and end is None:
        raise UsageError("take an end away by kubectl lns grant NAME --ROLE SUBJECT --until never")
    if not wanted or end is None:
        raise UsageError(
            "write kubectl lns extend NAME SUBJECT, and until when: --for 8h or --until TIME"
        )
    return change(_target(arguments), lambda spec: extend(spec, wanted, end, now))


def leave_command(arguments: Arguments) -> int:
    """Run `kubectl lns leave`."""
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
        names = ", ".join(f"--{flag}" for flag in (*flags, "billing-label", "deletion-protection"))
        raise UsageError(f"write kubectl lns set NAME, and what: {names}")
    target = _target(arguments)
    if target.kind == LCLUSTER and "profile" in values.texts:
        raise UsageError("an LCluster has no --profile")
    edit: Edit = lambda spec: set_values(spec, values)  # noqa: E731 - one line says it
    return change(target, edit)


def _label(text: str) -> tuple[str, str | None]:
    """Return KEY and VALUE, or KEY and None for `KEY-`, as `kubectl label` has it."""
    if text.endswith("-") and "=" not in text and len(text) > 1:
        return text[:-1], None
    return keyed("billing-label", text)


def _common_end(arguments: Arguments, now: datetime) -> tuple[bool, datetime | None]:
    """Return whether an end was said for all, and which."""
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
    """Return the change; it is a hazard if after it nobody could edit the LNamespace to undo it."""
    if arguments.switch("force") or not locks_out(spec, changed.spec, now):
        return changed
    hazard = (
        "that would leave no manager and no sudoer, so nobody could change this "
        f"{read_target(arguments.words[1])[0].kind} any more; grant somebody else first "
        "(a cluster administrator may insist: --force)"
    )
    return changed._replace(hazard=hazard)


def _target(arguments: Arguments) -> EditOptions:
    if len(arguments.words) < 2:
        raise UsageError("exactly one NAME is required")
    waits = arguments.switch("wait", default=True)
    kind, name = read_target(arguments.words[1])
    return EditOptions(
        name=name,
        dry_run=dry_run(arguments),
        output=one_of(arguments, "output", ("json", "yaml", "name", ""), ""),
        timeout=parse_duration(arguments.one("timeout", "30s")).total_seconds() if waits else 0,
        kubectl=Kubectl(arguments.connection),
        argv=arguments.line.without("v"),
        kind=kind,
    )
