"""What a restart costs: time until an edit made meanwhile is in force, and the requests it makes.

The plain alternative is a bare client that lists the very objects which the controller must know.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from lnamespace.kube.objects import MANAGED_BY
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    ROLE_BINDING,
)
from lnamespace.model.names import USERS_BINDING

from bench.client import Bare, connect
from bench.latency import seconds_until
from bench.plane import Plane, Requests, Writes, reads, writes
from bench.tenants import COLLECTION, LAYOUT

OWN_WRITES = 5
"""The binding and status of the first edit; the second edit itself, its binding and status."""


@dataclass(frozen=True)
class Restart:
    """The seconds (of a bare client's lists too), the requests and the MiB of a start."""

    caught_up: float
    listed: float
    edit_in_force: float
    writes: Writes
    reads: Requests
    memory: float

    @property
    def verbs(self) -> Counter[str]:
        """Return the number of requests by verb."""
        counted: Counter[str] = Counter()
        for (verb, _), number in (self.reads + self.writes).items():
            counted[verb] += number
        return counted


async def restart(plane: Plane, tenant: str) -> Restart:
    """Start the controller on a cluster where one LNamespace was edited while it was down."""
    newcomer = "newcomer"
    async with connect(plane.admin_kubeconfig) as admin:
        await admin.patch(f"{COLLECTION}/{tenant}", {"spec": {"users": [{"name": newcomer}]}})
        listed = await _list(admin)
        before = await admin.text("/metrics")
        start = time.perf_counter()
        with plane.controller() as controller:
            caught_up = time.perf_counter() - start
            binding = f"{ROLE_BINDING.path(namespace=tenant)}/{USERS_BINDING}"
            while newcomer not in await admin.text(binding):
                pass
            in_force = time.perf_counter() - start
            known = await admin.text("/metrics")
            # A change after it shows that the workers have reconciled everything before it.
            await seconds_until(
                admin,
                COLLECTION,
                lambda: admin.patch(f"{COLLECTION}/{tenant}", {"spec": {"users": []}}),
                lambda event: event["object"]["status"]["counts"]["users"] == 0,
            )
            after = await admin.text("/metrics")
            return Restart(
                caught_up=caught_up,
                listed=listed,
                edit_in_force=in_force,
                writes=writes(after) - writes(before),
                reads=reads(known) - reads(before),
                memory=controller.memory,
            )


async def _list(admin: Bare) -> float:
    """Return the seconds of a baseline client that lists the same objects, all kinds at once."""
    selector = f"labelSelector={MANAGED_BY}={LAYOUT.names.prefix}"
    ours = (NAMESPACE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)
    paths = [COLLECTION, *(f"{kind.path()}?{selector}" for kind in ours)]
    start = time.perf_counter()
    await asyncio.gather(*map(admin.get, paths))
    return time.perf_counter() - start
