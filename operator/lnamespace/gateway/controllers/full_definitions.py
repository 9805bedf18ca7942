"""Empty CustomResourceDefinitions of deleted LClusters that were filled up to what etcd takes.

The API server writes to a definition that is deleted: a time, a finalizer, a condition. One of
1.5 MiB had no room for these, so neither it nor its LCluster could be deleted.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from lnamespace.errors import ClusterError, NotFound
from lnamespace.gateway.controllers.unserved_kinds import TYPE as UNSERVED
from lnamespace.gateway.definitions.conversion_marks import tenant_of_definition
from lnamespace.gateway.definitions.definition import CustomResourceDefinition, definition_decoder
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.embedding_schemas import OPEN_SCHEMA, WITHHELD
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.model.lnamespace import DeletionPolicy
from lnamespace.translate.objects.definition_reserve import RESERVE

LARGE = 1024 * 1024
"""Bytes of a definition above which it may lack the room."""
EVERY = 5.0
AGAIN = 60.0
"""Seconds until a definition that is still there is looked at again."""
CONDITION_TYPES = frozenset({"Established", "NamesAccepted", "Terminating", UNSERVED, WITHHELD})
"""Types of conditions that are the API server's or the platform's.

``Terminating`` is also the platform's mark, which a definition may have in place of its reserve
(:mod:`~lnamespace.gateway.definitions.conversion_marks`)."""

log = logging.getLogger(__name__)


@dataclass
class FullDefinitions:
    """The large definitions of LClusters that are deleted.

    Nobody needs what is in them, so it is removed; the controller deletes them. Every replica does
    so, and the first one wins.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    tenants: Tenants
    client: Client
    label: str
    now: Callable[[], float] = time.monotonic
    _due: dict[str, float] = field(default_factory=dict)
    """When each definition is looked at: most are gone before."""

    async def run(self) -> None:
        """Empty the full definitions of deleted LClusters, for ever."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Empty the large definitions of LClusters that have been deleted for some seconds."""
        present = {
            name
            for tenant in self.tenants
            if _ends(tenant)
            for name in self.tenants.definitions_of(tenant.name)
            if tenant_of_definition(name) == tenant.name
        }
        now = self.now()
        self._due = {name: self._due.get(name, now + EVERY) for name in present}
        for name in sorted(name for name, at in self._due.items() if at <= now):
            self._due[name] = now + AGAIN
            try:
                await empty(self.client, name, self.label)
            except ClusterError as error:
                about = {"definition": name, "error": str(error)}
                log.warning("a definition may have no room for its deletion", extra=about)


def _ends(tenant: ServedTenant) -> bool:
    """Return whether the definitions of a tenant are to be deleted."""
    return tenant.terminating and tenant.cluster.spec.deletion_policy is not DeletionPolicy.RETAIN


async def empty(client: Client, name: str, label: str) -> None:
    """Remove from a large definition whatever a tenant can make long.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    path = CUSTOM_RESOURCE_DEFINITION.path(name)
    try:
        raw = await client.get(path)
        if len(raw) < LARGE:
            return
        found = decode(definition_decoder, raw)
        answer = await client.patch(path, msgspec.json.encode(_emptied(found, label)))
        kept = decode(definition_decoder, answer)
        await client.patch(f"{path}/status", msgspec.json.encode(_emptied_status(kept)))
    except NotFound:
        return
    log.info("a large definition of a deleted LCluster is emptied", extra={"definition": name})


def _emptied(found: CustomResourceDefinition, label: str) -> dict[str, Any]:
    """Return the merge patch for all but the status."""
    metadata, stored = found.metadata, frozenset(found.status.stored_versions or ())
    return {
        "metadata": {
            "resourceVersion": metadata.resource_version,
            "labels": dict.fromkeys(metadata.labels.keys() - {label}),
            "annotations": dict.fromkeys((metadata.annotations or {}).keys() - {RESERVE}),
            # One empty entry is how a client forgets who owns which field.
            "managedFields": [{}],
        },
        "spec": {
            "names": {"categories": None, "shortNames": None},
            "conversion": {"strategy": "None", "webhook": None},
            "versions": [
                {"name": each.name, "served": each.served, "storage": each.storage}
                | {"schema": OPEN_SCHEMA}
                for each in found.spec.versions
                # Thousands of short ones had become longer than etcd takes.
                if each.storage or each.name in stored
            ],
        },
    }


def _emptied_status(found: CustomResourceDefinition) -> dict[str, Any]:
    """Return the merge patch for the status: of each type the first condition, which counts."""
    listed = reversed(found.conditions)
    first = {
        each.type: replace(each, message="") for each in listed if each.type in CONDITION_TYPES
    }
    return {"status": {"conditions": [msgspec.to_builtins(each) for each in first.values()]}}
