"""Watches of LNamespaces through kubectl, resumed when they end, as client-go's reflector does.

An API server or a proxy may end a watch at any time. The next one resumes at the last resource
version; if that is too old, all objects are listed again and compared.
"""

from __future__ import annotations

import os
import select
import time

from lnamespace.plugins.cluster.kubectl import DEFAULTS, Kubectl, Reply, base_path
from lnamespace.plugins.model.lnamespaces import (
    LNAMESPACE,
    Object,
    ResourceKind,
    collection,
    name_of,
    path,
)
from lnamespace.plugins.runtime.documents import JsonStream
from lnamespace.plugins.runtime.errors import KubectlError, PluginError
from lnamespace.plugins.runtime.processes import Process, executable
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TICK = 1.0  # seconds; how often a progress line moves on by itself
PAUSE, LONGEST_PAUSE = 0.5, 8.0  # seconds between two watches
FAILURES_MAX = 6  # watches in a row without an event; they take a quarter of a minute
STATES = ("ADDED", "MODIFIED")
DELETED = {
    "conditions": [{"type": "Ready", "status": "False", "reason": "Deleted"}],
    "observedGeneration": 2**62,
}


class WatchBackoff:
    """The pauses between watches; after each failure the pause is twice as long."""

    def __init__(self) -> None:
        self.failures = 0

    def pause(self, failed: bool, at_most: float = LONGEST_PAUSE) -> None:
        """Wait before the next watch, however the last one ended."""
        self.failures = self.failures + 1 if failed else 0
        seconds = PAUSE * 2 ** max(self.failures - 1, 0)
        time.sleep(max(min(seconds, LONGEST_PAUSE, at_most), 0))


def observe(
    kubectl: Kubectl, name: str, deadline: float, kind: ResourceKind = LNAMESPACE
) -> Iterator[Object | KubectlError | None]:
    """Yield every state of the object until the deadline, and None each second in between.

    Where a watch has ended and the object cannot be read either, yield the error.
    """
    backoff, version = WatchBackoff(), ""
    while (left := deadline - time.monotonic()) > 0:
        query = f"?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={int(left) + 1}"
        seen = False
        try:
            for event in _events(kubectl, collection(kind) + _from(query, version), deadline):
                if event and event.get("type") == "DELETED":
                    raise deleted(name, kind)
                if event is None or event.get("type") in STATES:
                    seen = seen or event is not None
                    yield event and event["object"]
        except KubectlError:
            pass  # the next request may be answered
        yield None
        backoff.pause(not seen, min(TICK, deadline - time.monotonic()))
        if time.monotonic() >= deadline:
            return
        # An object that was deleted between two watches would never be in the next one.
        reply = kubectl.start_get(path(name, kind)).reply()
        if reply.reason == "NotFound":
            raise deleted(name, kind)
        version = ""
        if reply.code:
            yield reply.failure()
        else:
            lns: Object = reply.document()
            version = _version(lns)
            yield lns


def deleted(name: str, kind: ResourceKind, more: str = "") -> PluginError:
    """Return the error for an object that was deleted while somebody waited for it."""
    return PluginError(f'{kind.kind} "{name}" was deleted while waiting for it{more}')


def changes(kubectl: Kubectl, listed: Object, query: str) -> Iterator[Object]:
    """Yield every state of LNamespaces that comes after ``listed``; a deleted one is not Ready.

    Raises
    ------
    PluginError
        When one watch after the other ends at once, or is forbidden.

    """
    backoff, version, why = WatchBackoff(), _version(listed), ""
    known = {name_of(lns): lns for lns in listed.get("items") or ()}
    while True:
        started, seen = time.monotonic(), False
        try:
            if not version:
                listed = kubectl.start_get(collection() + query).reply().document()
                yield from _differences(known, listed)
                version = _version(listed)
            joined = f"{query}{'&' if query else '?'}watch=true&allowWatchBookmarks=true"
            for event in _events(kubectl, collection() + _from(joined, version), float("inf")):
                if event:
                    version = _version(event["object"]) or version
                    if event.get("type") != "BOOKMARK":
                        seen = True
                        yield _noted(event, known)
        except KubectlError as error:
            version, why = "", str(error)
        backoff.pause(not seen and time.monotonic() - started < TICK)
        if backoff.failures >= FAILURES_MAX or "(Forbidden)" in why:
            raise PluginError(f"the watch of LNamespaces ends again and again{why and f': {why}'}")


def _version(listed: Object) -> str:
    return str(listed.get("metadata", {}).get("resourceVersion") or "")


def _from(query: str, version: str) -> str:
    return f"{query}&resourceVersion={version}" if version else query


def _noted(event: Any, known: dict[str, Object]) -> Object:
    lns: Object = event["object"]
    if event.get("type") == "DELETED":
        known.pop(name_of(lns), None)
        return lns | {"status": DELETED}
    known[name_of(lns)] = lns
    return lns


def _differences(known: dict[str, Object], listed: Object) -> Iterator[Object]:
    """Yield the changes that a new list shows and no watch did, and remember them."""
    items = {name_of(lns): lns for lns in listed.get("items") or ()}
    gone = [lns for name, lns in known.items() if name not in items]
    changed = [lns for name, lns in items.items() if known.get(name) != lns]
    known.clear()
    known.update(items)
    yield from (lns | {"status": DELETED} for lns in gone)
    yield from changed


def _events(kubectl: Kubectl, path_and_query: str, deadline: float) -> Iterator[Any]:
    """Yield the events of one watch until it ends, and None each second in between.

    Raises
    ------
    KubectlError
        When the watch fails: kubectl does, or the API server sends an error, such as that the
        resource version is too old.

    """
    asked = base_path(kubectl.connection) + path_and_query
    command = [executable(), "get", "--raw", asked, *DEFAULTS["get"], *kubectl.connection]
    process = Process(command)
    ended = False
    try:
        for event in _read(process, deadline):
            if event and event.get("type") == "ERROR":
                raise KubectlError(str(event["object"].get("message") or "it failed"))
            yield event
        ended = time.monotonic() < deadline
    finally:
        if not ended:
            process.kill()
        _, err, code = process.communicate()
    if ended and code:
        raise Reply(code, "", err.decode("utf-8", "replace")).failure()


def _read(process: Process, deadline: float) -> Iterator[Any]:
    stream = JsonStream()
    while (left := deadline - time.monotonic()) > 0:
        readable, _, _ = select.select([process.output], [], [], min(left, TICK))
        if not readable:
            yield None
            continue
        data = os.read(process.output, 65536)
        if not data:
            return
        yield from stream.feed(data)
