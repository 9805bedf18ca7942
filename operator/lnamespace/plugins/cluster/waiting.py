"""Wait until an LNamespace or an LCluster is ready, or a change of it is in force."""

from __future__ import annotations

import sys
import time

from lnamespace.plugins.cluster.kubectl import Kubectl, Reply
from lnamespace.plugins.cluster.watching import TICK, deleted, observe
from lnamespace.plugins.model.api_group import advised
from lnamespace.plugins.model.lnamespaces import (
    LNAMESPACE,
    TERMINAL_REASONS,
    Object,
    ResourceKind,
    StatusCondition,
    conditions,
    current,
    name_of,
    path,
    ready,
    resource,
    typed,
)
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.terminal import Progress
from lnamespace.plugins.runtime.values import NamedTuple

ACCESS_DEADLINE = 5.0
NOT_SEEN = "the operator has not looked at it yet"
ADOPTED = ", or ask a cluster administrator to have the namespace adopted"
ADVICE = {
    "Conflict": "Nothing was taken over. Remove this with `kubectl delete {resource} {name}` and"
    " choose another name{adopted}.",
    "ReservedName": "Remove this one with `kubectl delete {resource} {name}` and choose another"
    " name.",
    "LimitExceeded": "It is made by itself as soon as another one is gone. To remove this one:"
    " kubectl delete {resource} {name}",
    "InvalidSpec": "Correct it with `kubectl edit {resource} {name}`.",
    "InvalidSubject": "All other entries are in force. Take this one off its list: {revoke}",
    "SudoNotReady": "All other entries are in force. This one will be by itself once what is"
    " missing is there; to take it off the list: {revoke}",
}
IMPERSONATION_ENDED = "cannot impersonate"
LASTING = ("InvalidSubject", "SudoNotReady")  # reasons of AccessReady that are about some entries
# Seconds after which such a reason of a new LNamespace stays: a ServiceAccount of its own namespace
# has to wait for the access of that namespace, which the status may say on a busy cluster.
ENTRIES_SETTLED = 5.0


class Readiness(NamedTuple):
    """The progress of an LNamespace; `reason` is set only for a problem that stays."""

    ready: bool
    reason: str
    text: str


def readiness(lns: Object) -> Readiness:
    """Read the status of an LNamespace."""
    summary = ready(lns)
    if summary is None or not current(lns):
        return Readiness(False, "", NOT_SEEN)
    if summary.status == "True":
        return Readiness(True, "", "ready")
    stays = summary.reason in TERMINAL_REASONS or summary.reason in LASTING
    terminal = summary.status == "False" and stays
    return Readiness(False, summary.reason if terminal else "", _pending(lns, summary))


def _pending(lns: Object, summary: StatusCondition) -> str:
    """Return why it is not ready: the first condition that is not True, else the summary."""
    if summary.message or summary.reason in TERMINAL_REASONS:
        return _worded(summary)
    parts = [item for item in conditions(lns) if item.type != "Ready" and item.status != "True"]
    return _worded(parts[0] if parts else summary)


def _worded(condition: StatusCondition) -> str:
    return ": ".join(filter(None, (condition.reason or condition.type, condition.message)))


def wait_ready(
    kubectl: Kubectl, name: str, timeout: float, kind: ResourceKind = LNAMESPACE
) -> Object:
    """Return the object when it is ready; raise the reason if it will not be, or not in time."""
    progress = Progress(sys.stderr)
    started = since = time.monotonic()
    state = Readiness(False, "", NOT_SEEN)
    try:
        for lns in observe(kubectl, name, started + timeout, kind):
            now = time.monotonic()
            if isinstance(lns, PluginError):
                state = Readiness(False, "", f"its status cannot be read: {lns}")
            elif lns is not None:
                before, state = state, readiness(lns)
                if state.ready:
                    return lns
                since = since if state.reason == before.reason else now
            if state.reason and (state.reason not in LASTING or now - since > ENTRIES_SETTLED):
                raise PluginError(_hopeless(name, state, kind))
            progress.show(f"{name}: {state.text}  {int(now - started)}s")
    finally:
        progress.clear()
    raise PluginError(
        f'{kind.kind} "{name}" is not ready after {timeout:g}s: {state.text}\n'
        f"It goes on by itself; see: {advised(described(name, kind))}"
    )


def described(name: str, kind: ResourceKind) -> str:
    """Return the command that shows one object and why it is not ready."""
    return f"kubectl lns describe {typed(name, kind)}"


def _hopeless(name: str, state: Readiness, kind: ResourceKind) -> str:
    adopted = ADOPTED if kind == LNAMESPACE else ""
    advice = ADVICE[state.reason].format(
        name=name,
        resource=resource(kind),
        adopted=adopted,
        revoke=advised(f"kubectl lns revoke {typed(name, kind)} SUBJECT"),
    )
    what = (
        "is there, but not all of its lists" if state.reason in LASTING else "cannot become ready"
    )
    return f'{kind.kind} "{name}" {what}: {state.text}\n{advice}'


class NotInForce(NamedTuple):
    """The reason for which a change is not in force; ``lasting`` if it is no use to wait."""

    text: str
    lasting: bool = False


def wait_in_force(
    kubectl: Kubectl, before: Object, stored: Object, timeout: float, kind: ResourceKind
) -> None:
    """Return when a change that is stored is in force; raise with the reason if it is not.

    ``before`` and ``stored`` are the LNamespace as it was read and as the API server answered the
    change. The function sends one GET after the other, because a manager may get an LNamespace and
    not watch it; mostly one suffices.
    """
    name, progress, started = name_of(stored), Progress(sys.stderr), time.monotonic()
    try:
        while True:
            reply = kubectl.start_get(path(name, kind)).reply()
            trouble = _why_not_in_force(reply, before, stored, kind)
            if not trouble:
                return
            waited = time.monotonic() - started
            if trouble.lasting or waited > timeout:
                break
            progress.show(f"{name}: {trouble.text}  {int(waited)}s")
            time.sleep(min(0.1 + waited / 10, TICK))
    finally:
        progress.clear()
    raise PluginError(
        f'the change of {kind.kind} "{name}" is stored, but not in force: {trouble.text}\n'
        f"See: {advised(described(name, kind))}"
    )


def _why_not_in_force(
    reply: Reply, before: Object, stored: Object, kind: ResourceKind
) -> NotInForce | None:
    if reply.reason == "NotFound":
        raise deleted(name_of(stored), kind)
    if reply.reason == "Forbidden" and IMPERSONATION_ENDED in reply.err:
        return None  # a sudoer has taken themselves off the list, by sudo
    if reply.code:
        lasting = reply.reason == "Forbidden"
        return NotInForce(f"its status cannot be read: {reply.failure()}", lasting)
    lns: Object = reply.document()
    if lns["metadata"].get("uid") != stored["metadata"].get("uid"):
        raise deleted(name_of(stored), kind, ", and another has its name")
    observed = lns.get("status", {}).get("observedGeneration") or 0
    if observed < stored["metadata"].get("generation", 1):
        return NotInForce(NOT_SEEN)
    summary, access = ready(lns), _access(lns)
    if access is None or access.status == "True":
        return None
    if access.reason in LASTING:  # if it was there before, it is not about this change
        known = _access(before)
        return None if known == access else NotInForce(_worded(access), lasting=True)
    lasting = summary is not None and summary.reason in TERMINAL_REASONS
    return NotInForce(_worded(summary if lasting and summary else access), lasting)


def _access(lns: Object) -> StatusCondition | None:
    return next((one for one in conditions(lns) if one.type == "AccessReady"), None)


def wait_usable(kubectl: Kubectl, namespace: str) -> None:
    """Return when the API server lets the caller work in the namespace.

    Its authorizer learns of a new role binding a moment after the binding exists. If the answer has
    not changed after a short time, no error is raised.
    """
    deadline = time.monotonic() + ACCESS_DEADLINE
    while time.monotonic() < deadline:
        if kubectl.may(verb="create", resource="configmaps", namespace=namespace):
            return
        time.sleep(0.1)
