"""The API that a tenant is served, from the platform's present discovery."""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

from lnamespace.gateway.discovery.documents import (
    RevalidatedDocument,
    TaggedDocument,
    UpstreamDocument,
)
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.translate.discovery.documents import (
    aggregated_discovery,
    group_list,
    tenant_discovery,
)
from lnamespace.translate.discovery.groups import (
    DiscoveredGroup,
    TenantGroups,
    parse_discovery,
    resource_table,
)
from lnamespace.translate.discovery.openapi_paths import ServedPaths
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.protocol.discovery_formats import AGGREGATED

_CORE_SECONDS = 10.0
"""Seconds without revalidation of ``/api``, which changes with the API server's version."""
_KEPT = 64
"""The most cached APIs of tenants with custom resources."""


@dataclass(frozen=True)
class ServedApi:
    """The API of one tenant, or of all tenants that have no custom resources.

    Parameters
    ----------
    owner
        The tenant; empty for all that have no custom resources.
    core
        The groups of ``/api``.
    groups
        The groups of ``/apis``.
    core_document
        The aggregated document of ``/api``.
    groups_document
        The aggregated document of ``/apis``.
    """

    owner: str
    paths: ServedPaths
    core: tuple[DiscoveredGroup, ...]
    groups: tuple[DiscoveredGroup, ...]
    core_document: TaggedDocument
    groups_document: TaggedDocument

    @property
    def version(self) -> tuple[str, str, str]:
        """Return a value that changes whenever the APIs that the tenant is served change."""
        return self.owner, self.core_document.etag, self.groups_document.etag

    @cached_property
    def group_list(self) -> bytes:
        """Return the APIGroupList of ``/apis``."""
        return group_list(self.groups)

    def group(self, name: str) -> DiscoveredGroup | None:
        """Return a group in tenant spelling, or None if the tenant is not served it."""
        return next((each for each in (*self.core, *self.groups) if each.name == name), None)


@dataclass(frozen=True)
class _Generation:
    """One discovery of the platform, and the tenants' APIs from it."""

    core: tuple[DiscoveredGroup, ...] = ()
    groups: tuple[DiscoveredGroup, ...] = ()
    apis: OrderedDict[str, ServedApi] = field(default_factory=OrderedDict)


class ServedApis:
    """The API of each tenant, computed on request."""

    def __init__(self, upstream: Upstream, published: Published) -> None:
        self._published = published
        accept = AGGREGATED.content_type
        self._core = RevalidatedDocument(upstream, "/api", accept, _CORE_SECONDS)
        self._groups = RevalidatedDocument(upstream, "/apis", accept)
        self._parsed = (UpstreamDocument(), UpstreamDocument())
        self._generation = _Generation()

    async def api_for(self, tenant: str) -> ServedApi:
        """Return the API of a tenant as it is now.

        Raises
        ------
        ClusterError
            The API server does not answer.
        """
        core, groups = await self._core.read(), await self._groups.read()
        if core is not self._parsed[0] or groups is not self._parsed[1]:
            self._generation = _Generation(parse_discovery(core.body), parse_discovery(groups.body))
            self._parsed = (core, groups)
        return self._remembered(tenant)

    def _remembered(self, tenant: str) -> ServedApi:
        generation = self._generation
        names = TenantGroups(tenant, self._published)
        if not any(names.owns(each.name) for each in generation.groups):
            names = TenantGroups("", self._published)
        apis = generation.apis
        known = apis.get(names.tenant)
        if known is None:
            known = apis[names.tenant] = _served(generation, names)
        apis.move_to_end(names.tenant)
        if len(apis) > _KEPT:
            apis.popitem(last=False)
        return known


def _served(generation: _Generation, names: TenantGroups) -> ServedApi:
    discovered = (*generation.core, *generation.groups)
    resources = resource_table(discovered, names.tenant, names.published)
    core = tenant_discovery(generation.core, names, resources)
    groups = tenant_discovery(generation.groups, names, resources)
    return ServedApi(
        names.tenant,
        ServedPaths(names, resources),
        core,
        groups,
        TaggedDocument.from_body(aggregated_discovery(core)),
        TaggedDocument.from_body(aggregated_discovery(groups)),
    )
