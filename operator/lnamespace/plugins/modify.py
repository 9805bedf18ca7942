"""Changing an LNamespace: no neighbour's change is lost, and what was changed is in force."""

from __future__ import annotations

import json
import os
import shlex
import time
from datetime import UTC, datetime

from lnamespace.plugins.changes import Edit
from lnamespace.plugins.errors import PluginError
from lnamespace.plugins.kubectl import Kubectl, Reply, caller, missing
from lnamespace.plugins.kubectl_flags import IMPERSONATION
from lnamespace.plugins.lnamespaces import Object, advised, path, qualified
from lnamespace.plugins.subjects import Caller, covering, entries
from lnamespace.plugins.sudoers import active, refusal, whom_to_ask
from lnamespace.plugins.terminal import printable, say
from lnamespace.plugins.values import TYPE_CHECKING, NamedTuple
from lnamespace.plugins.waiting import wait_in_force

if TYPE_CHECKING:
    from collections.abc import Sequence

ATTEMPTS = 10
DRY_RUN_SUFFIX = {"none": "", "client": " (dry run)", "server": " (server dry run)"}


class Target(NamedTuple):
    """What is to be changed, how, and how to talk about it."""

    name: str
    dry_run: str
    output: str
    timeout: float  # seconds to wait until it is in force; 0: do not wait
    kubectl: Kubectl
    argv: tuple[str, ...]  # as typed, to be repeated in advice


def change(target: Target, edit: Edit) -> int:
    """Read, edit, write back what was read; when somebody else was faster, begin again."""
    for attempt in range(ATTEMPTS):
        lns = _read(target)
        changed = edit(lns["spec"])
        if changed.problems:
            raise PluginError(f"{target.name}: nothing was changed: {'; '.join(changed.problems)}")
        if not changed.words:
            return _tell(target, lns, (f"{qualified(target.name)} unchanged",))
        before, lns = lns, {**lns, "spec": changed.spec}
        reply = _write(target, lns)
        if reply is None:
            return _tell(target, lns, changed.words)
        if not reply.code:
            return _written(target, before, reply, changed.words)
        if reply.reason != "Conflict":
            raise _explained(target, reply)
        # Two that met once must not meet again: each waits for a time of its own.
        time.sleep((os.urandom(1)[0] / 255) * 0.05 * (attempt + 1))
    raise PluginError(f'others keep changing LNamespace "{target.name}"; try again')


def _written(target: Target, before: Object, reply: Reply, words: Sequence[str]) -> int:
    """Tell what was changed once it is in force; before, it would not be so."""
    _pass_on_warnings(reply)
    stored: Object = reply.document()
    if target.timeout and target.dry_run == "none":
        wait_in_force(target.kubectl, before, stored, target.timeout)
    return _tell(target, stored, words)


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
        print(target.kubectl.as_yaml(lns), end="")
    elif target.output == "name":
        print(qualified(target.name))
    else:
        for line in words:
            told = line if line.startswith(qualified(target.name)) else f"{target.name}: {line}"
            print(printable(told) + DRY_RUN_SUFFIX[target.dry_run])
    return 0


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
        return "You are a manager of it, but that is not in force: " + advised(
            f"kubectl lns describe {target.name}"
        )
    if refusal(lns, me, now) is None and not flags & IMPERSONATION:
        return f"You are a sudoer of it; try: {advised(f'kubectl sudo {repeated}')}"
    asked = whom_to_ask(lns, me, now)
    return f"{asked[0].upper()}{asked[1:]} {advised(f'kubectl {repeated}')}"
