"""The LNamespaces that are measured, and how the baseline client creates them."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from lnamespace.access.conventions import Conventions
from lnamespace.access.entries import active_entries
from lnamespace.access.impersonator import self_impersonator
from lnamespace.access.lnamespace import NamespaceState, lnamespace_objects
from lnamespace.access.ownership import Ownership
from lnamespace.controller.status import ReconcileResult, build_status
from lnamespace.kube.state import DesiredObject
from lnamespace.ledger.outbox import record
from lnamespace.model.lnamespace import LNamespace

from bench.client import Bare, Manifest

COLLECTION = "/apis/tenancy.loblaw.digital/v1beta1/lnamespaces"
LAYOUT = Conventions()
OUTBOX = record.billingrecords(LAYOUT.names).path()
OBJECTS = 9
"""Objects of each: Namespace, 2 RoleBindings, 2 and 1 ClusterRoles, 2 and 1 ClusterRoleBindings."""


def manifest(name: str) -> Manifest:
    """Return an LNamespace with three users, a manager and a sudoer, all of its own."""
    return {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": name},
        "spec": {
            "users": [{"name": f"user-{i}@{name}"} for i in range(3)],
            "managers": [{"name": f"manager@{name}"}],
            "sudoers": [{"name": f"sudoer@{name}"}],
        },
    }


def objects(lns: LNamespace) -> list[DesiredObject]:
    """Return the objects that the controller makes of an LNamespace."""
    current = active_entries(lns.spec, datetime.now(UTC))
    own = lnamespace_objects(lns, current, NamespaceState(Ownership.OURS), LAYOUT)
    return [*own, *self_impersonator(current.sudoers[0], {lns.name: lns.uid}, LAYOUT)]


def ready(lns: LNamespace) -> dict[str, Any]:
    """Return the status of a finished reconcile."""
    now = datetime.now(UTC)
    found = ReconcileResult(
        Ownership.OURS, active_entries(lns.spec, now), lns.uid, f"{lns.name}-sudoers"
    )
    said: dict[str, Any] = msgspec.to_builtins(build_status(lns, found, now.replace(microsecond=0)))
    return {"status": said}


async def create_bare(requester: Bare, client: Bare, name: str) -> None:
    """Create an LNamespace and do all that the controller would, one request after the other."""
    lns = msgspec.convert(await requester.post(COLLECTION, manifest(name)), LNamespace)
    for want in objects(lns):
        namespace, _ = want.key
        await client.post(want.resource.path(namespace=namespace), want.object.manifest())
    for event in record.pending_records(lns, datetime.now(UTC)):
        await client.post(OUTBOX, record.manifest(event, LAYOUT.names))
    await client.patch(f"{COLLECTION}/{name}/status", ready(lns))


def is_ready(lns: Manifest) -> bool:
    """Return whether the LNamespace is Ready by its status."""
    conditions = lns.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
