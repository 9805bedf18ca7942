"""The commands that change an LNamespace: grant, revoke, extend, leave, prune, set."""

from __future__ import annotations

import os
import shlex
import time
from datetime import UTC, datetime

from lnamespace.plugins.cluster.kubectl import Kubectl, Reply, caller, missing
from lnamespace.plugins.cluster.waiting import described, wait_in_force
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
from lnamespace.plugins.model.api_group import advised
from lnamespace.plugins.model.lnamespaces import (
    LCLUSTER,
    LNAMESPACE,
    Object,
    ResourceKind,
    path,
    qualified,
    read_target,
    typed,
    without_managed_fields,
)
from lnamespace.plugins.model.roles import active, ask, refusal
from lnamespace.plugins.model.subjects import (
    LISTS,
    Caller,
    ListEntry,
    check_role,
    covering,
    entries,
    parse_end,
    parse_subject,
)
from lnamespace.plugins.model.times import parse_duration
from lnamespace.plugins.runtime.errors import PluginError, UsageError
from lnamespace.plugins.runtime.flags import (
    BILLING,
    IMPERSONATION,
    POLICIES,
    SETTINGS,
    Arguments,
    dry_run,
    keyed,
    one_of,
)
from lnamespace.plugins.runtime.output import formatted
from lnamespace.plugins.runtime.terminal import printable, say
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        told = ", ".join(f"--{flag}" for flag in (*flags, "billing-label", "deletion-protection"))
        raise UsageError(f"write kubectl lns set NAME, and what: {told}")
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


ATTEMPTS = 10
DRY_RUN_SUFFIX = {"none": "", "client": " (dry run)", "server": " (server dry run)"}
NOT_WAITED = " (stored; not waited for)"  # without a controller it may never be in force


class EditOptions(NamedTuple):
    """A change: its object, its operation, and the words to report it."""

    name: str
    dry_run: str
    output: str
    timeout: float  # seconds to wait until it is in force; 0: do not wait
    kubectl: Kubectl
    argv: tuple[str, ...]  # as typed, to be repeated in advice
    kind: ResourceKind = LNAMESPACE

    @property
    def qualified(self) -> str:
        """Return the object as kubectl writes it."""
        return qualified(self.name, self.kind)


def change(target: EditOptions, edit: Edit) -> int:
    """Read, edit and write an object; after a conflict with another write, begin again."""
    for attempt in range(ATTEMPTS):
        lns = _read(target)
        changed = edit(lns["spec"])
        if changed.problems:
            raise PluginError(f"{target.name}: nothing was changed: {'; '.join(changed.problems)}")
        if not changed.words:
            return _tell(target, lns, (f"{target.qualified} unchanged",))
        before, lns = lns, {**lns, "spec": changed.spec}
        if changed.hazard:
            raise _hazardous(target, lns, changed.hazard)
        reply = _write(target, lns)
        if reply is None:
            return _tell(target, lns, changed.words)
        if not reply.code:
            return _written(target, before, reply, changed.words)
        if reply.reason != "Conflict":
            raise _explained(target, reply)
        # Two writers in conflict must not conflict again: each waits for a random time.
        time.sleep((os.urandom(1)[0] / 255) * 0.05 * (attempt + 1))
    raise PluginError(f'others keep changing {target.kind.kind} "{target.name}"; try again')


def _written(target: EditOptions, before: Object, reply: Reply, words: Sequence[str]) -> int:
    """Print what was changed, once it is in force."""
    _pass_on_warnings(reply)
    stored: Object = reply.document()
    if target.timeout and target.dry_run == "none":
        _wait(target, before, stored)
    elif target.dry_run == "none":
        words = [f"{line}{NOT_WAITED}" for line in words]
    return _tell(target, stored, words)


def _wait(target: EditOptions, before: Object, stored: Object) -> None:
    """Wait until the change is in force; an interruption leaves that to the operator."""
    try:
        wait_in_force(target.kubectl, before, stored, target.timeout, target.kind)
    except KeyboardInterrupt:
        say(
            f'the change of {target.kind.kind} "{target.name}" is stored and goes on being put '
            f"into force; see: {advised(described(target.name, target.kind))}"
        )
        raise


def _read(target: EditOptions) -> Object:
    reply = target.kubectl.start_get(path(target.name, target.kind)).reply()
    if reply.code:
        raise missing(reply, target.kubectl, target.name, target.kind)
    return without_managed_fields(reply.document())


def _write(target: EditOptions, lns: Object) -> Reply | None:
    """Replace the object if it is still the one that was read: it carries its resourceVersion."""
    if target.dry_run == "client":
        return None
    query = "?fieldManager=kubectl-lns&fieldValidation=Strict"
    if target.dry_run == "server":
        query += "&dryRun=All"
    return target.kubectl.start_raw("replace", path(target.name, target.kind) + query, lns).reply()


def _pass_on_warnings(reply: Reply) -> None:
    """Print what the API server warns of."""
    for line in reply.err.splitlines():
        if line.startswith("Warning:"):
            say(printable(line))


def _tell(target: EditOptions, lns: Object, words: Sequence[str]) -> int:
    if target.output in ("json", "yaml"):
        print(formatted(without_managed_fields(lns), target.output), end="")
    elif target.output == "name":
        print(target.qualified)
    else:
        for line in words:
            told = line if line.startswith(target.qualified) else f"{target.name}: {line}"
            print(printable(told) + DRY_RUN_SUFFIX[target.dry_run])
    return 0


def _hazardous(target: EditOptions, lns: Object, hazard: str) -> PluginError:
    """Return why a change is not written; whoever may not write it at all is told that instead."""
    reply = _write(target._replace(dry_run="server"), lns)
    return _explained(target, reply) if reply and _may_not(reply) else PluginError(hazard)


def _may_not(reply: Reply) -> bool:
    """Return whether RBAC refused a write; an admission policy has its own words."""
    return reply.reason == "Forbidden" and "cannot" in reply.err


def _explained(target: EditOptions, reply: Reply) -> PluginError:
    """Return a refusal, with what the caller can do about it."""
    failure = reply.failure()
    if not _may_not(reply):
        return failure
    me, now = caller(target.kubectl.start_whoami().reply()), datetime.now(UTC)
    failure.args = (f"{failure}\n{_advice(target, _read(target), me, now)}",)
    return failure


def _advice(target: EditOptions, lns: Object, me: Caller, now: datetime) -> str:
    name, repeated = typed(target.name, target.kind), shlex.join(("lns", *target.argv))
    flags = {flag.split("=")[0].lstrip("-") for flag in target.kubectl.connection}
    if covering(active(entries(lns["spec"], "managers"), now), me):
        return "You are a manager of it, but that is not in force: " + advised(
            f"kubectl lns describe {name}"
        )
    # Sudo is for what is in an LCluster; its sudoers change it as managers do.
    if target.kind == LNAMESPACE and refusal(lns, me, now) is None and not flags & IMPERSONATION:
        return f"You are a sudoer of it; try: {advised(f'kubectl sudo {repeated}')}"
    if target.argv[0] == "leave":  # who repeats that leaves themselves
        repeated = f"lns revoke {name} {shlex.quote(me.identity.spelling)}"
    asked = ask(lns, me, now, repeated)
    return f"{asked[0].upper()}{asked[1:]}"
