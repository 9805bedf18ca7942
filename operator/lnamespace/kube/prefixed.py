"""List and delete cluster-scoped objects by the beginning of their names.

Where tenants share a cluster, an object is a tenant's if it has the tenant's label and a name (of a
CustomResourceDefinition: a group) that begins with the tenant's prefix. Both must hold for it to be
deleted; a name alone is enough to refuse the prefix to somebody new.
"""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialMetadata, PartialPage
from lnamespace.kube.pages import list_pages
from lnamespace.kube.resources import (
    ADMISSION_RESOURCES,
    CERTIFICATE_SIGNING_REQUEST,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    DEVICE_CLASS,
    INGRESS_CLASS,
    PERSISTENT_VOLUME,
    PRIORITY_CLASS,
    RUNTIME_CLASS,
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    Resource,
)
from lnamespace.kube.served import in_served_version

_STORAGE = "storage.k8s.io"

FIRST_KINDS = ADMISSION_RESOURCES
"""Kinds that can refuse the deletion of other objects, and so are deleted first."""

RETAINED_KINDS = (CUSTOM_RESOURCE_DEFINITION, PERSISTENT_VOLUME)
"""Kinds whose deletion destroys data of Namespaces: custom resources, and the data of claims."""

OTHER_KINDS = (
    *RETAINED_KINDS,
    CLUSTER_ROLE_BINDING,
    CLUSTER_ROLE,
    CERTIFICATE_SIGNING_REQUEST,
    Resource("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas"),
    Resource(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
    ),
    INGRESS_CLASS,
    Resource("networking.k8s.io", "v1", "IPAddress", "ipaddresses"),
    Resource("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs"),
    RUNTIME_CLASS,
    DEVICE_CLASS,
    Resource("resource.k8s.io", "v1", "ResourceSlice", "resourceslices"),
    PRIORITY_CLASS,
    Resource(_STORAGE, "v1", "CSIDriver", "csidrivers"),
    Resource(_STORAGE, "v1", "CSINode", "csinodes"),
    STORAGE_CLASS,
    Resource(_STORAGE, "v1", "VolumeAttachment", "volumeattachments"),
    VOLUME_ATTRIBUTES_CLASS,
)

ALL_KINDS = (*FIRST_KINDS, *OTHER_KINDS)

MOST_WAITING = 2
"""Definitions of a tenant that wait at a time for their objects to be deleted.

The API server has five workers for all of the cluster, each of which waits for a minute.
"""

_LOOKS, _TICK = 10, 0.2
"""How often, and after how many seconds, the sweep looks whether definitions are gone."""

_pages = msgspec.json.Decoder(PartialPage)


@dataclass(frozen=True)
class ClusterObject:
    """A cluster-scoped object, of which only the metadata is known."""

    resource: Resource
    metadata: PartialMetadata

    @property
    def path(self) -> str:
        """Return the path of the object."""
        return self.resource.path(self.metadata.name)

    @property
    def is_definition(self) -> bool:
        """Return whether it is a CustomResourceDefinition."""
        return self.resource is CUSTOM_RESOURCE_DEFINITION

    def __str__(self) -> str:
        return f"{self.resource.plural} {self.metadata.name}"

    def begins_with(self, prefix: str) -> bool:
        """Return whether its name, or the group that it defines, begins with a prefix."""
        name = self.metadata.name
        if self.is_definition:
            name = name.partition(".")[2]
        return name.startswith(prefix)


@dataclass(frozen=True)
class PrefixedObjects:
    """A client that lists and deletes cluster-scoped objects of tenants.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    client: Client
    label: str

    async def everything(self, kinds: Iterable[Resource]) -> tuple[ClusterObject, ...]:
        """Return all objects of some kinds."""
        return tuple(await self._list_all(kinds, ""))

    async def sweep(
        self, tenant: str, kept: Collection[Resource] = ()
    ) -> tuple[ClusterObject, ...]:
        """Delete the objects of a tenant but for some kinds; return what was there, gone or not."""
        found: list[ClusterObject] = []
        for kinds in (FIRST_KINDS, OTHER_KINDS):
            of_kinds = [
                each
                for each in await self._list_all(
                    (kind for kind in kinds if kind not in kept), f"{self.label}={tenant}"
                )
                if each.begins_with(f"{tenant}-")
            ]
            definitions = [each for each in of_kinds if each.is_definition]
            others = [each for each in of_kinds if not each.is_definition]
            await asyncio.gather(*map(self._delete, others), self._delete_definitions(definitions))
            found += of_kinds
        return tuple(found)

    async def _delete_definitions(self, found: Collection[ClusterObject]) -> None:
        """Delete definitions until too many of them wait for their objects, which have finalizers.

        The others are deleted by a later sweep.
        """
        waiting = [each for each in found if each.metadata.deletion_timestamp]
        for definition in found:
            if not definition.metadata.deletion_timestamp:
                for _ in range(_LOOKS):
                    if len(waiting) < MOST_WAITING:
                        break
                    await asyncio.sleep(_TICK)
                    waiting = [each for each in waiting if await self._exists(each)]
                if len(waiting) >= MOST_WAITING:
                    return
                await self._delete(definition)
                waiting.append(definition)

    async def _exists(self, found: ClusterObject) -> bool:
        try:
            await self.client.get(found.path)
        except NotFound:
            return False
        return True

    async def _list_all(self, kinds: Iterable[Resource], selector: str) -> list[ClusterObject]:
        lists = await asyncio.gather(*(self._list(kind, selector) for kind in kinds))
        return [each for found in lists for each in found]

    async def _list(self, kind: Resource, selector: str) -> list[ClusterObject]:
        params = {"labelSelector": selector} if selector else {}

        async def list_in(kind: Resource) -> list[ClusterObject]:
            pages = list_pages(self.client.list_metadata, kind.path(), _pages, params)
            found = [item.metadata async for page in pages for item in page.items or ()]
            return [ClusterObject(kind, metadata) for metadata in found]

        return await in_served_version(self.client, kind, list_in) or []

    async def _delete(self, found: ClusterObject) -> ClusterError | None:
        if found.metadata.deletion_timestamp:
            return None
        try:
            await self.client.delete(found.path, found.metadata.uid)
        except NotFound:
            return None
        except ClusterError as error:
            if not error.retryable:
                raise
            return error
        return None
