"""How long nobody leads: two controllers, and the one that leads is killed, or told to end.

There is no plain alternative: a killed leader's Lease has to end, which takes 15 seconds.
"""

import os
import signal
import time
from contextlib import ExitStack

from lnamespace.kube.resources import ROLE_BINDING
from lnamespace.model.names import USERS_BINDING

from bench.client import Bare, connect
from bench.latency import seconds_until
from bench.plane import NAMESPACE, Plane, Process
from bench.tenants import COLLECTION

LEASE = "lnamespace-controller"


async def failover(plane: Plane, tenant: str) -> dict[str, float]:
    """Return the seconds until an edit is in force that is made when the leader ends."""
    return {
        "told to end": await _measure(plane, tenant, signal.SIGTERM),
        "killed": await _measure(plane, tenant, signal.SIGKILL),
    }


async def _measure(plane: Plane, tenant: str, how: signal.Signals) -> float:
    with ExitStack() as stack:
        leader = _replica(stack, plane, "leader", "leading lease=")
        _replica(stack, plane, "standby", "waiting to lead")
        async with connect(plane.admin_kubeconfig) as admin:
            os.kill(leader.pid, how)
            return await _in_force(admin, tenant, f"after-{how.name}".lower())


def _replica(stack: ExitStack, plane: Plane, name: str, says: str) -> Process:
    variables = {"LNAMESPACE_LEASE": f"{NAMESPACE}/{LEASE}", "LNAMESPACE_LOG_LEVEL": "info"}
    process = stack.enter_context(plane.process("controller", log=name, **variables))
    plane.until_said(name, says)
    plane.until_said(name, "caches are complete")
    return process


async def _in_force(admin: Bare, tenant: str, user: str) -> float:
    start = time.perf_counter()
    await seconds_until(
        admin,
        ROLE_BINDING.path(namespace=tenant),
        lambda: admin.patch(f"{COLLECTION}/{tenant}", {"spec": {"users": [{"name": user}]}}),
        lambda event: (
            event["object"]["metadata"]["name"] == USERS_BINDING
            and any(subject["name"] == user for subject in event["object"].get("subjects", []))
        ),
    )
    return time.perf_counter() - start
