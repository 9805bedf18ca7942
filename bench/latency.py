"""How long people wait: create to Ready, edit to revoked, drift to repaired; beside the baseline.

The baseline is the same change made by a plain client, observed by the same watch.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from statistics import median, quantiles

from lnamespace.kube.resources import ROLE_BINDING
from lnamespace.model.names import USERS_BINDING

from bench.client import Bare, Manifest
from bench.tenants import COLLECTION, create_bare, is_ready, manifest

PATIENCE = 30.0
CHURN_PER_SECOND = 5


@dataclass(frozen=True)
class Latency:
    """Latencies in milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, seconds: list[float]) -> "Latency":
        """Return the percentiles of samples in seconds."""
        return cls(median(seconds) * 1000, quantiles(seconds, n=100)[98] * 1000)


Sample = Callable[[int], Awaitable[float]]


async def measure(count: int, *samples: Sample, gap: float = 0.05) -> tuple[Latency, ...]:
    """Take samples of each in turns, with a pause in which the machine is idle again."""
    seconds: list[list[float]] = [[] for _ in samples]
    for index in range(count):
        for sample, taken in zip(samples, seconds, strict=True):
            taken.append(await sample(index))
            await asyncio.sleep(gap)
    return tuple(map(Latency.of, seconds))


async def seconds_until(
    admin: Bare,
    collection: str,
    act: Callable[[], Awaitable[object]],
    seen: Callable[[Manifest], bool],
) -> float:
    """Act, and return how long it took until a watch of the collection showed the result."""
    async with asyncio.timeout(PATIENCE), admin.watch(collection) as events:
        start = time.perf_counter()
        acting = asyncio.create_task(_run(act))
        async for event in events:
            if seen(event):
                break
        elapsed = time.perf_counter() - start
        await acting
    return elapsed


async def _run(act: Callable[[], Awaitable[object]]) -> None:
    await act()


def creation(admin: Bare, stem: str = "latency") -> Sample:
    """Return the measurement from the creation of an LNamespace until it is Ready."""

    async def sample(index: int) -> float:
        name = f"{stem}-{index:05d}"
        return await seconds_until(
            admin,
            COLLECTION,
            lambda: admin.post(COLLECTION, manifest(name)),
            lambda event: event["object"]["metadata"]["name"] == name and is_ready(event["object"]),
        )

    return sample


def creation_floor(admin: Bare, us: Bare) -> Sample:
    """Return the baseline: a client creates all the same objects, without a controller."""

    async def sample(index: int) -> float:
        name = f"floor-{index:05d}"
        return await seconds_until(
            admin,
            COLLECTION,
            lambda: create_bare(admin, us, name),
            lambda event: event["object"]["metadata"]["name"] == name and is_ready(event["object"]),
        )

    return sample


def revocation(admin: Bare, tenants: list[str]) -> Sample:
    """Return the measurement from a user's removal from the list until it is in the binding."""

    async def sample(index: int) -> float:
        name, user = tenants[index], f"user-0@{tenants[index]}"
        left = [m for m in manifest(name)["spec"]["users"] if m["name"] != user]
        return await seconds_until(
            admin,
            ROLE_BINDING.path(namespace=name),
            lambda: admin.patch(f"{COLLECTION}/{name}", {"spec": {"users": left}}),
            lambda event: _is_binding(event) and user not in _people(event),
        )

    return sample


def revocation_floor(admin: Bare, us: Bare, tenants: list[str]) -> Sample:
    """Return the baseline: a client removes the user from the binding, without a controller."""

    async def sample(index: int) -> float:
        name, user = tenants[index], f"user-0@{tenants[index]}"
        collection = ROLE_BINDING.path(namespace=name)
        there = await admin.get(f"{collection}/{USERS_BINDING}")
        left = [subject for subject in there["subjects"] if subject["name"] != user]
        return await seconds_until(
            admin,
            collection,
            lambda: us.patch(f"{collection}/{USERS_BINDING}", {"subjects": left}),
            lambda event: _is_binding(event) and user not in _people(event),
        )

    return sample


def repair(admin: Bare, tenants: list[str]) -> Sample:
    """Return the measurement from the deletion of a binding until it is back."""

    async def sample(index: int) -> float:
        collection = ROLE_BINDING.path(namespace=tenants[index])
        return await seconds_until(
            admin,
            collection,
            lambda: admin.delete(f"{collection}/{USERS_BINDING}"),
            lambda event: _is_binding(event) and event["type"] == "ADDED",
        )

    return sample


@asynccontextmanager
async def churn(admin: Bare, tenants: list[str]) -> AsyncIterator[None]:
    """Edit other LNamespaces while the block runs, five times a second."""

    async def edit() -> None:
        for turn in range(1_000_000):
            name = tenants[turn % len(tenants)]
            users = [{"name": f"visitor-{turn}"}]
            await admin.patch(f"{COLLECTION}/{name}", {"spec": {"users": users}})
            await asyncio.sleep(1 / CHURN_PER_SECOND)

    editing = asyncio.create_task(edit())
    try:
        yield
    finally:
        editing.cancel()
        with suppress(asyncio.CancelledError):
            await editing


def _is_binding(event: Manifest) -> bool:
    return bool(event["object"]["metadata"]["name"] == USERS_BINDING)


def _people(event: Manifest) -> list[str]:
    return [subject["name"] for subject in event["object"].get("subjects", [])]
