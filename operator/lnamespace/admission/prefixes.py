"""Check the names of new objects against the names that belong to tenants' clusters.

The objects of LCluster ``acme`` have names that begin with ``acme-`` upstream. So no LCluster is
created while somebody else's object has a name that begins so, and no LNamespace whose name begins
so while there is the LCluster. Only the kinds that exist on most clusters are looked at here: the
controller looks at all before it grants anything.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property

from lnamespace.access.conventions import lcluster_resource, lnamespace_resource
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.prefixed import PrefixedObjects
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION, NAMESPACE
from lnamespace.kube.taken_names import TakenNames
from lnamespace.model import lcluster
from lnamespace.model.lcluster import tenant_name_problem, tenant_of_name
from lnamespace.model.names import Names

PATIENCE = 1.5
"""Seconds; the API server waits five for the whole answer."""

log = logging.getLogger(__name__)


NameConflict = Callable[[str, str], Awaitable[str]]
"""A function that returns why a new object of a kind cannot have a name; empty if it can."""


async def no_conflict(_kind: str, _name: str) -> str:
    """Return no conflict: there are no LClusters."""
    return ""


@dataclass(frozen=True)
class ClusterPrefixes:
    """A check by the API server; if it gives no answer in time, the controller decides alone."""

    client: Client
    names: Names

    async def conflict(self, kind: str, name: str) -> str:
        """Return why the name cannot be used; empty if it can, or if that cannot be found out."""
        try:
            async with asyncio.timeout(PATIENCE):
                if kind == lcluster.KIND:
                    return await self._taken(name)
                return await self._held(name)
        except (ClusterError, TimeoutError) as error:
            log.warning("not known whether a name is free", extra={"error": str(error)})
            return ""

    async def _taken(self, name: str) -> str:
        if tenant_name_problem(name):
            return ""  # Validation refuses it.
        found = await self._names_taken.with_prefix(f"{name}-")
        if not found or await self._exists(name):
            return ""  # The API server says of one that exists: AlreadyExists.
        return f'"{name}-" is the beginning of a name that exists already: {found[0]}'

    @cached_property
    def _names_taken(self) -> TakenNames:
        kinds = (NAMESPACE, CUSTOM_RESOURCE_DEFINITION, lnamespace_resource(self.names))
        return TakenNames(PrefixedObjects(self.client, self.names.lcluster_label), kinds)

    async def _held(self, name: str) -> str:
        if not (tenant := tenant_of_name(name)):
            return ""
        if not await self._exists(tenant):
            return ""
        return f'"{tenant}-" is the beginning of the names of LCluster {tenant}'

    async def _exists(self, tenant: str) -> bool:
        try:
            await self.client.get(lcluster_resource(self.names).path(tenant))
        except NotFound:
            return False
        return True
