"""Read an object, edit its spec, write it back, and wait until the change is in force."""

from __future__ import annotations

import os
import shlex
import time
from datetime import UTC, datetime

from lnamespace.plugins.cluster.kubectl import Kubectl, Reply, caller, missing
from lnamespace.plugins.cluster.waiting import described, wait_in_force
from lnamespace.plugins.model.api_group import advised
from lnamespace.plugins.model.lnamespaces import (
    LNAMESPACE,
    Object,
    ResourceKind,
    path,
    qualified,
    typed,
    without_managed_fields,
)
from lnamespace.plugins.model.roles import active, ask, refusal
from lnamespace.plugins.model.subjects import Caller, covering, entries
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.flags import IMPERSONATION
from lnamespace.plugins.runtime.output import formatted
from lnamespace.plugins.runtime.terminal import printable, say
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lnamespace.plugins.edits.changes import Edit

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
            return _print(target, lns, (f"{target.qualified} unchanged",))
        before, lns = lns, {**lns, "spec": changed.spec}
        if changed.hazard:
            raise _hazardous(target, lns, changed.hazard)
        reply = _write(target, lns)
        if reply is None:
            return _print(target, lns, changed.words)
        if not reply.code:
            return _written(target, before, reply, changed.words)
        if reply.reason != "Conflict":
            raise _explained(target, reply)
        # Two writers in conflict must not conflict again: each waits for a random time.
        time.sleep((os.urandom(1)[0] / 255) * 0.05 * (attempt + 1))
    raise PluginError(f'others keep changing {target.kind.kind} "{target.name}"; try again')


def _written(target: EditOptions, before: Object, reply: Reply, words: Sequence[str]) -> int:
    """Print the changes, once they are in force."""
    _pass_on_warnings(reply)
    stored: Object = reply.document()
    if target.timeout and target.dry_run == "none":
        _wait(target, before, stored)
    elif target.dry_run == "none":
        words = [f"{line}{NOT_WAITED}" for line in words]
    return _print(target, stored, words)


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
    """Print the API server's warnings."""
    for line in reply.err.splitlines():
        if line.startswith("Warning:"):
            say(printable(line))


def _print(target: EditOptions, lns: Object, words: Sequence[str]) -> int:
    if target.output in ("json", "yaml"):
        print(formatted(without_managed_fields(lns), target.output), end="")
    elif target.output == "name":
        print(target.qualified)
    else:
        for line in words:
            text = line if line.startswith(target.qualified) else f"{target.name}: {line}"
            print(printable(text) + DRY_RUN_SUFFIX[target.dry_run])
    return 0


def _hazardous(target: EditOptions, lns: Object, hazard: str) -> PluginError:
    """Return why a change is not written, or that the caller has no right to write it."""
    reply = _write(target._replace(dry_run="server"), lns)
    return _explained(target, reply) if reply and _may_not(reply) else PluginError(hazard)


def _may_not(reply: Reply) -> bool:
    """Return whether RBAC refused a write; an admission policy has its own words."""
    return reply.reason == "Forbidden" and "cannot" in reply.err


def _explained(target: EditOptions, reply: Reply) -> PluginError:
    """Return a refusal, with advice to the caller."""
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
