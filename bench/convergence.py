"""N LNamespaces at once: how long until all are Ready, and what it cost."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from bench.client import Bare, connect, each
from bench.plane import Plane, Process, Requests, Writes, reads, writes
from bench.tenants import COLLECTION, create_bare, is_ready, manifest

CONCURRENCY = 16


@dataclass(frozen=True)
class Convergence:
    """Seconds until all were Ready, the requests that it took, and the writer's CPU seconds."""

    seconds: float
    writes: Writes
    reads: Requests
    cpu: float = 0.0


async def bare(plane: Plane, count: int) -> Convergence:
    """By a bare client, with the controller's credentials for the controller's part."""
    async with connect(plane.admin_kubeconfig) as admin, connect(plane.controller_kubeconfig) as us:
        return await _measure(admin, count, lambda name: create_bare(admin, us, name))


async def controlled(plane: Plane, count: int, controller: Process) -> Convergence:
    """By the controller, while a client creates only the LNamespaces."""
    async with connect(plane.admin_kubeconfig) as admin:
        before = controller.cpu
        result = await _measure(admin, count, lambda name: admin.post(COLLECTION, manifest(name)))
        return replace(result, cpu=controller.cpu - before)


async def _measure(
    admin: Bare, count: int, create: Callable[[str], Awaitable[object]]
) -> Convergence:
    before = await admin.text("/metrics")
    async with admin.watch(COLLECTION) as events, asyncio.TaskGroup() as tasks:
        start = time.perf_counter()
        tasks.create_task(each(CONCURRENCY, names(count), create))
        left = set(names(count))
        async for event in events:
            if is_ready(event["object"]):
                left.discard(event["object"]["metadata"]["name"])
            if not left:
                break
        seconds = time.perf_counter() - start
    after = await admin.text("/metrics")
    return Convergence(seconds, writes(after) - writes(before), reads(after) - reads(before))


def names(count: int) -> list[str]:
    """What the LNamespaces are called."""
    return [f"tenant-{i:05d}" for i in range(count)]
