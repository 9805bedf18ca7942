"""Watches of LNamespaces through kubectl, begun again when they end."""

from __future__ import annotations

import os
import select
import time

from lnamespace.plugins.errors import PluginError
from lnamespace.plugins.handover import executable
from lnamespace.plugins.json_stream import JsonStream
from lnamespace.plugins.kubectl import Kubectl
from lnamespace.plugins.lnamespaces import Object, collection
from lnamespace.plugins.processes import Process
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TICK = 1.0  # seconds; how often a progress line moves on by itself
STATES = ("ADDED", "MODIFIED")
DELETED = {
    "conditions": [{"type": "Ready", "status": "False", "reason": "Deleted"}],
    "observedGeneration": 2**62,
}


def observe(kubectl: Kubectl, name: str, deadline: float) -> Iterator[Object | None]:
    """Every state of the object until the deadline, and None each second in between.

    A watch that ends early, as proxies and API servers like to do, is begun again.
    """
    while (left := deadline - time.monotonic()) > 0:
        query = f"?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={int(left) + 1}"
        for event in _events(kubectl, collection() + query, deadline):
            if event is None:
                yield None
            elif event.get("type") == "DELETED":
                raise PluginError(f'LNamespace "{name}" was deleted while waiting for it')
            elif event.get("type") in STATES:
                yield event["object"]


def changes(kubectl: Kubectl, query: str) -> Iterator[Object]:
    """Every state of LNamespaces, for ever; one that was deleted has no status any more."""
    while True:
        for event in _events(kubectl, collection() + query, float("inf")):
            if event and event.get("type") in STATES:
                yield event["object"]
            elif event and event.get("type") == "DELETED":
                yield event["object"] | {"status": DELETED}


def _events(kubectl: Kubectl, path_and_query: str, deadline: float) -> Iterator[Any]:
    """The events of one watch, and None each second in between."""
    process = Process([executable(), "get", "--raw", path_and_query, *kubectl.connection])
    try:
        yield from _read(process, deadline)
    finally:
        process.kill()
        _, err, _ = process.communicate()
    if err.strip():
        yield None
        time.sleep(min(TICK, max(deadline - time.monotonic(), 0)))


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
