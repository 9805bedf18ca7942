"""Waiting until an LNamespace can be used: one watch, no polling, and a plain word at every end."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from lnamespace.plugins.errors import PluginError
from lnamespace.plugins.json_stream import JsonStream
from lnamespace.plugins.kubectl import Kubectl, executable, our_stdin, spawn
from lnamespace.plugins.lnamespaces import (
    TERMINAL_REASONS,
    Condition,
    Object,
    collection,
    conditions,
    current,
    ready,
)
from lnamespace.plugins.terminal import Progress

TICK = 1.0  # how often the progress line moves on by itself
ACCESS_DEADLINE = 5.0
ADVICE = {
    "Conflict": "Nothing was taken over. Remove this with `kubectl delete lns {name}` and choose"
    " another name, or ask a cluster administrator to have the namespace adopted.",
    "ReservedName": "Remove this one with `kubectl delete lns {name}` and choose another name.",
    "LimitExceeded": "It is made by itself as soon as another one is gone. To remove this one:"
    " kubectl delete lns {name}",
    "InvalidSpec": "Correct it with `kubectl edit lns {name}`.",
}


class Standing(NamedTuple):
    """How far an LNamespace is: `reason` only where it will not pass by itself."""

    ready: bool
    reason: str
    text: str


def standing(lns: Object) -> Standing:
    """Read the status of an LNamespace."""
    summary = ready(lns)
    if summary is None or not current(lns):
        return Standing(False, "", "the operator has not looked at it yet")
    if summary.status == "True":
        return Standing(True, "", "ready")
    terminal = summary.status == "False" and summary.reason in TERMINAL_REASONS
    return Standing(False, summary.reason if terminal else "", _pending(lns, summary))


def _pending(lns: Object, summary: Condition) -> str:
    """The most telling words there are: the first part that is not ready, else the summary."""
    if summary.message or summary.reason in TERMINAL_REASONS:
        return _worded(summary)
    parts = [item for item in conditions(lns) if item.type != "Ready" and item.status != "True"]
    return _worded(parts[0] if parts else summary)


def _worded(condition: Condition) -> str:
    return ": ".join(filter(None, (condition.reason or condition.type, condition.message)))


def wait_ready(kubectl: Kubectl, name: str, timeout: float) -> Object:
    """Return it when it is ready; raise with the reason when it will not be, or not in time."""
    progress = Progress(sys.stderr)
    started = time.monotonic()
    text = "the operator has not looked at it yet"
    try:
        for lns in observe(kubectl, name, started + timeout):
            if lns is not None:
                state = standing(lns)
                if state.ready:
                    return lns
                if state.reason:
                    raise PluginError(_hopeless(name, state))
                text = state.text
            progress.show(f"{name}: {text}  {int(time.monotonic() - started)}s")
    finally:
        progress.clear()
    raise PluginError(
        f'LNamespace "{name}" is not ready after {timeout:g}s: {text}\n'
        f"It goes on by itself; see: kubectl lns describe {name}"
    )


def _hopeless(name: str, state: Standing) -> str:
    advice = ADVICE[state.reason].format(name=name)
    return f'LNamespace "{name}" cannot become ready: {state.text}\n{advice}'


def observe(kubectl: Kubectl, name: str, deadline: float) -> Iterator[Object | None]:
    """Every state of the object until the deadline, and None each second in between.

    A watch that ends early, as proxies and API servers like to do, is begun again.
    """
    while (left := deadline - time.monotonic()) > 0:
        query = f"?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={int(left) + 1}"
        process = spawn(
            [executable(), "get", "--raw", collection() + query, *kubectl.connection],
            stdin=our_stdin(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            yield from _states(process, name, deadline)
        finally:
            process.kill()
            _, err = process.communicate()
        if err.strip():
            yield None
            time.sleep(min(TICK, max(deadline - time.monotonic(), 0)))


def _states(
    process: subprocess.Popen[bytes], name: str, deadline: float
) -> Iterator[Object | None]:
    stream = JsonStream()
    output = process.stdout
    if output is None:
        return
    while (left := deadline - time.monotonic()) > 0:
        readable, _, _ = select.select([output], [], [], min(left, TICK))
        if not readable:
            yield None
            continue
        data = os.read(output.fileno(), 65536)
        if not data:
            return
        for event in stream.feed(data):
            yield from _object(event, name)


def _object(event: Any, name: str) -> Iterator[Object]:
    if event.get("type") == "DELETED":
        raise PluginError(f'LNamespace "{name}" was deleted while waiting for it')
    if event.get("type") in ("ADDED", "MODIFIED"):
        yield event["object"]


def wait_usable(kubectl: Kubectl, namespace: str) -> None:
    """Return when the API server lets the caller work in the namespace.

    Its authorizer learns of a new role binding a moment after the binding exists. After a short
    while the answer will not change by waiting, and is not worth an error.
    """
    deadline = time.monotonic() + ACCESS_DEADLINE
    while time.monotonic() < deadline:
        if kubectl.may(verb="create", resource="configmaps", namespace=namespace):
            return
        time.sleep(0.1)
