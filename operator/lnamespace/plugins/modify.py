"""`kubectl lns grant` and `kubectl lns revoke`: no neighbour's change is lost."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from lnamespace.plugins.arguments import Arguments, dry_run, one_of
from lnamespace.plugins.changes import Change, Grant, Revocation, grant, locks_out, revoke
from lnamespace.plugins.creation import check_role
from lnamespace.plugins.errors import PluginError, UsageError
from lnamespace.plugins.kubectl import Kubectl, Reply, caller, missing
from lnamespace.plugins.kubectl_flags import IMPERSONATION
from lnamespace.plugins.lnamespaces import Object, check_name, path, qualified
from lnamespace.plugins.subjects import (
    LISTS,
    Caller,
    Subject,
    covering,
    entries,
    parse_end,
    parse_subject,
)
from lnamespace.plugins.sudoers import active, refusal, whom_to_ask
from lnamespace.plugins.terminal import printable, say

ATTEMPTS = 10
DRY_RUN_SUFFIX = {"none": "", "client": " (dry run)", "server": " (server dry run)"}

Edit = Callable[[Object], Change]


class Target(NamedTuple):
    """What is to be changed, how, and how to talk about it."""

    name: str
    dry_run: str
    output: str
    kubectl: Kubectl
    argv: tuple[str, ...]  # as typed, to be repeated in advice


def grant_command(arguments: Arguments) -> int:
    """Give roles."""
    now = datetime.now(UTC)
    end = _common_end(arguments, now)
    wanted = [_grant(role, text, end, now) for role in LISTS for text in arguments.all(role)]
    if len(arguments.words) != 2 or not wanted:
        raise UsageError("write kubectl lns grant NAME, and whom: --user, --manager, --sudoer")
    return change(_target(arguments), lambda lns: grant(lns["spec"], wanted, now))


def _common_end(arguments: Arguments, now: datetime) -> datetime | None:
    if arguments.given("for") and arguments.given("until"):
        raise UsageError("--for and --until exclude each other")
    for key in ("for", "until"):
        if arguments.given(key):
            return parse_end(f"{key}={arguments.one(key)}", now)
    return None


def _grant(role: str, text: str, end: datetime | None, now: datetime) -> Grant:
    typed = parse_subject(text, now)
    check_role(role, typed.identity.kind)
    return Grant(role, Subject(typed.identity, typed.expires_at if typed.end_said else end))


def revoke_command(arguments: Arguments) -> int:
    """Take roles away."""
    now = datetime.now(UTC)
    wanted = [_revocation(None, text, now) for text in arguments.words[2:]]
    wanted += [_revocation(role, text, now) for role in LISTS for text in arguments.all(role)]
    if len(arguments.words) < 2 or not wanted:
        raise UsageError(
            "write kubectl lns revoke NAME SUBJECT, or the list too: --user, --manager, --sudoer"
        )

    def edit(lns: Object) -> Change:
        changed = revoke(lns["spec"], wanted)
        if locks_out(lns["spec"], changed.spec, now) and not arguments.switch("force"):
            raise PluginError(
                "that would leave no manager and no sudoer, so nobody could change this LNamespace "
                "any more; grant somebody else first (a cluster administrator may insist: --force)"
            )
        return changed

    return change(_target(arguments), edit)


def _revocation(role: str | None, text: str, now: datetime) -> Revocation:
    typed = parse_subject(text, now)
    if typed.end_said and typed.expires_at:
        raise UsageError("revoke takes no end; to set one, use kubectl lns grant ... --until")
    return Revocation(role, typed.identity)


def _target(arguments: Arguments) -> Target:
    return Target(
        name=check_name(arguments.words[1]),
        dry_run=dry_run(arguments),
        output=one_of(arguments, "output", ("json", "yaml", "name", ""), ""),
        kubectl=Kubectl(arguments.connection),
        argv=arguments.line.argv,
    )


def change(target: Target, edit: Edit) -> int:
    """Read, edit, write back what was read; when somebody else was faster, begin again."""
    for attempt in range(ATTEMPTS):
        lns = _read(target)
        changed = edit(lns)
        if not changed.words:
            return _tell(target, lns, (f"{qualified(target.name)} unchanged",))
        lns = {**lns, "spec": changed.spec}
        reply = _write(target, lns)
        if reply is None:
            return _tell(target, lns, changed.words)
        if not reply.code:
            _pass_on_warnings(reply)
            return _tell(target, json.loads(reply.out), changed.words)
        if reply.reason != "Conflict":
            raise _explained(target, reply)
        # Two that met once must not meet again: each waits for a time of its own.
        time.sleep((os.urandom(1)[0] / 255) * 0.05 * (attempt + 1))
    raise PluginError(f'others keep changing LNamespace "{target.name}"; try again')


def _read(target: Target) -> Object:
    reply = target.kubectl.start_get(path(target.name)).reply()
    if reply.code:
        raise missing(reply, target.kubectl, target.name)
    lns: Object = reply.document()
    return lns


def _write(target: Target, lns: Object) -> Reply | None:
    """Replace the object if it is still the one that was read: it carries its resourceVersion."""
    if target.dry_run == "client":
        return None
    query = "?fieldManager=kubectl-lns&fieldValidation=Strict"
    if target.dry_run == "server":
        query += "&dryRun=All"
    return target.kubectl.run("replace", "--raw", path(target.name) + query, "-f", "-", body=lns)


def _pass_on_warnings(reply: Reply) -> None:
    """What the API server lets pass but thinks wrong."""
    for line in reply.err.splitlines():
        if line.startswith("Warning:"):
            say(printable(line))


def _tell(target: Target, lns: Object, words: Sequence[str]) -> int:
    if target.output == "json":
        print(json.dumps(lns, indent=4, ensure_ascii=False))
    elif target.output == "yaml":
        print(_yaml(target, lns), end="")
    elif target.output == "name":
        print(qualified(target.name))
    else:
        for line in words:
            told = line if line.startswith(qualified(target.name)) else f"{target.name}: {line}"
            print(printable(told) + DRY_RUN_SUFFIX[target.dry_run])
    return 0


def _yaml(target: Target, lns: Object) -> str:
    """The object as YAML, written by kubectl: a dry run prints what it is given."""
    reply = target.kubectl.run(
        "create", "--dry-run=client", "--validate=false", "-o", "yaml", "-f", "-", body=lns
    )
    if reply.code:
        raise reply.failure()
    return reply.out


def _explained(target: Target, reply: Reply) -> PluginError:
    """A refusal, with what the caller can do about it."""
    failure = reply.failure()
    if reply.reason != "Forbidden" or "cannot" not in str(failure):
        return failure  # an admission policy has its own words
    me, now = caller(target.kubectl.start_whoami().reply()), datetime.now(UTC)
    failure.args = (f"{failure}\n{_advice(target, _read(target), me, now)}",)
    return failure


def _advice(target: Target, lns: Object, me: Caller, now: datetime) -> str:
    repeated = shlex.join(("lns", *target.argv))
    flags = {flag.split("=")[0].lstrip("-") for flag in target.kubectl.connection}
    if covering(active(entries(lns["spec"], "managers"), now), me):
        return (
            f"You are a manager of it, but that is not in force: kubectl lns describe {target.name}"
        )
    if refusal(lns, me, now) is None and not flags & IMPERSONATION:
        return f"You are a sudoer of it; try: kubectl sudo {repeated}"
    asked = whom_to_ask(lns, me, now)
    return f"{asked[0].upper()}{asked[1:]} kubectl {repeated}"
