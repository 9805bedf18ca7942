"""What a restart costs: time until an edit made meanwhile is in force, and the writes it makes."""

import time
from dataclasses import dataclass

from lnamespace.kube.resources import ROLE_BINDING
from lnamespace.model.names import USERS_BINDING

from bench.client import connect
from bench.latency import seconds_until
from bench.plane import Plane, Writes, writes
from bench.tenants import COLLECTION

OWN_WRITES = 5
"""Binding and status for the first edit; the second edit itself, its binding and status."""


@dataclass(frozen=True)
class Restart:
    """Seconds, writes and MiB."""

    caught_up: float
    edit_in_force: float
    writes: Writes
    memory: float


async def restart(plane: Plane, tenant: str) -> Restart:
    """Start the controller on a cluster where one LNamespace was edited while it was down."""
    newcomer = "newcomer"
    async with connect(plane.admin_kubeconfig) as admin:
        await admin.patch(f"{COLLECTION}/{tenant}", {"spec": {"users": [{"name": newcomer}]}})
        before = writes(await admin.text("/metrics"))
        start = time.perf_counter()
        with plane.controller() as controller:
            caught_up = time.perf_counter() - start
            binding = f"{ROLE_BINDING.path(namespace=tenant)}/{USERS_BINDING}"
            while newcomer not in await admin.text(binding):
                pass
            in_force = time.perf_counter() - start
            # A change after it proves that the workers have been through all that was before.
            await seconds_until(
                admin,
                COLLECTION,
                lambda: admin.patch(f"{COLLECTION}/{tenant}", {"spec": {"users": []}}),
                lambda event: event["object"]["status"]["counts"]["users"] == 0,
            )
            after = writes(await admin.text("/metrics"))
            return Restart(caught_up, in_force, after - before, controller.memory)
