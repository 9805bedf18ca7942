"""N LNamespaces: how long until all are Ready, and what that cost; in turns with a baseline client.

Each of the two has a control plane of its own, and both grow side by side: now the one makes its
next hundred at once, now the other. What slows the machine down for a while slows down both.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from lnamespace.kube.resources import NAMESPACE

from bench.client import Bare, connect, each
from bench.plane import Plane, Process, Requests, Writes, reads, writes
from bench.tenants import COLLECTION, create_bare, is_ready, manifest

CONCURRENCY = 16
Names = Sequence[str]


@dataclass(frozen=True)
class Convergence:
    """The seconds until all were Ready, the number of requests, and the writer's CPU seconds."""

    seconds: float
    writes: Writes
    reads: Requests
    cpu: float = 0.0

    def __add__(self, other: "Convergence") -> "Convergence":
        """Return the sums of two measurements, one after the other."""
        return Convergence(
            self.seconds + other.seconds,
            self.writes + other.writes,
            self.reads + other.reads,
            self.cpu + other.cpu,
        )


@dataclass(frozen=True)
class Race:
    """The same turns by the baseline client and by the controller."""

    plain: list[Convergence]
    ours: list[Convergence]

    @property
    def totals(self) -> tuple[Convergence, Convergence]:
        """Return the sums of the baseline client, and those of the controller."""
        return reduce(Convergence.__add__, self.plain), reduce(Convergence.__add__, self.ours)

    @property
    def median(self) -> tuple[Convergence, Convergence]:
        """Return the two of the one turn whose ratio is the median of all."""
        both = sorted(
            zip(self.plain, self.ours, strict=True), key=lambda t: t[1].seconds / t[0].seconds
        )
        return both[len(both) // 2]


async def race(baseline: Plane, ours: Plane, controller: Process, turns: Sequence[Names]) -> Race:
    """Let the baseline client and the controller create them, each first in every other turn."""
    found = Race([], [])
    for number, turn in enumerate(turns):
        if number % 2:
            found.ours.append(await _controlled(ours, turn, controller))
        found.plain.append(await _bare(baseline, turn))
        if not number % 2:
            found.ours.append(await _controlled(ours, turn, controller))
    return found


async def _bare(plane: Plane, turn: Names) -> Convergence:
    """Measure the baseline client, which does the controller's part with its credentials."""
    async with connect(plane.admin_kubeconfig) as admin, connect(plane.controller_kubeconfig) as us:
        return await _measure(admin, turn, lambda name: create_bare(admin, us, name))


async def _controlled(plane: Plane, turn: Names, controller: Process) -> Convergence:
    """Measure the controller, while a client creates only the LNamespaces."""
    async with connect(plane.admin_kubeconfig) as admin:
        before = controller.cpu
        result = await _measure(admin, turn, lambda name: admin.post(COLLECTION, manifest(name)))
        return replace(result, cpu=controller.cpu - before)


async def _measure(
    admin: Bare, turn: Names, create: Callable[[str], Awaitable[object]]
) -> Convergence:
    before = await admin.text("/metrics")
    async with admin.watch(COLLECTION) as events, asyncio.TaskGroup() as tasks:
        start = time.perf_counter()
        tasks.create_task(each(CONCURRENCY, turn, create))
        left = set(turn)
        async for event in events:
            if is_ready(event["object"]):
                left.discard(event["object"]["metadata"]["name"])
            if not left:
                break
        seconds = time.perf_counter() - start
    after = await admin.text("/metrics")
    for name in turn:
        await _furnished(admin, name)
    return Convergence(seconds, writes(after) - writes(before), reads(after) - reads(before))


async def _furnished(admin: Bare, name: str) -> None:
    """Wait for what kube-controller-manager puts into a namespace.

    It is slower, and would otherwise still write in the turn of the other one.
    """
    for kind in ("configmaps", "serviceaccounts"):
        for _ in range(600):
            if (await admin.get(f"{NAMESPACE.path()}/{name}/{kind}"))["items"]:
                break
            await asyncio.sleep(0.1)
        else:
            raise TimeoutError(f"kube-controller-manager put no {kind} into {name}")


def names(count: int) -> list[str]:
    """Return the names of the LNamespaces."""
    return [f"tenant-{i:05d}" for i in range(count)]


def turns(count: int, number: int) -> list[Names]:
    """Return the names in a number of turns of about the same length."""
    all_of_them = names(count)
    return [all_of_them[i * count // number : (i + 1) * count // number] for i in range(number)]
