"""Refuse new objects in an LCluster that is being deleted, or that has reached its limits.

Without limits one tenant would slow down the API server for all others, by namespaces and
CustomResourceDefinitions as fast as it can create them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.gateway.authorization.reviewing import REVIEW_GROUPS
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.namespaces import TenantNamespaces
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.kube.media_types import APPLY_PATCH
from lnamespace.translate.names.tenant_view import CRDS, NAMESPACES
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import ExceededQuota, forbidden

_SEEN_SECONDS = 0.5
"""Seconds that a created object counts as under way after the answer, until a watch has it."""

_LIMITED = frozenset({NAMESPACES, CRDS})


def creates_object(call: TenantCall) -> bool:
    """Return whether a request may create an object, as an apply may."""
    request = call.request
    applies = request.verb == "patch" and call.media_type == APPLY_PATCH
    return not request.subresource and (request.verb == "create" or applies)


def refuse_new_content(call: TenantCall, tenant: ServedTenant) -> None:
    """Refuse to create an object in an LCluster that is being deleted: it would never be empty.

    Raises
    ------
    Refused
        Forbidden, as in a Namespace that is being deleted.
    """
    resource = call.request.resource
    if tenant.terminating and resource.group not in REVIEW_GROUPS and creates_object(call):
        why = f'unable to create new content in LCluster "{tenant.name}": it is being deleted'
        raise forbidden(resource.group_resource, call.request.name, why)


class ContentQuota:
    """A check that refuses objects beyond the limits of an LCluster.

    Replicas count separately. The controller gives the tenant no rights in a namespace that is too
    many (:mod:`lnamespace.controller.lclusters.decision`).

    Parameters
    ----------
    limits
        The limits that the platform sets to each LCluster.
    definitions
        Returns the names upstream of the CustomResourceDefinitions of a tenant.
    """

    def __init__(self, limits: ContentLimits, definitions: Callable[[str], frozenset[str]]) -> None:
        self._limits = limits
        self._definitions = definitions
        self._creating: Counter[tuple[str, GroupResource]] = Counter()
        self._changed = asyncio.Event()

    def counts(self, call: TenantCall) -> bool:
        """Return whether a request may create an object that is limited."""
        return call.request.resource.group_resource in _LIMITED and creates_object(call)

    @asynccontextmanager
    async def counted(self, call: TenantCall, tenant: ServedTenant) -> AsyncIterator[None]:
        """Count the object that a request creates, until a watch reports it.

        Raises
        ------
        Refused
            Forbidden, in the words of a ResourceQuota.
        """
        request = call.request
        key = tenant.name, request.resource.group_resource
        applied = call.view.name_up(request.resource, request.name)
        limit = self._limit(tenant, request.resource.group_resource)
        while limit:
            existing = self._existing(tenant, request.resource.group_resource)
            if request.verb == "patch" and applied in existing:
                break
            if len(existing) >= limit:
                resource = request.resource.group_resource
                quota = ExceededQuota("lcluster", f"count/{resource}", 1, len(existing), limit)
                raise quota.refusal(resource, request.name)
            if len(existing) + self._creating[key] < limit:
                break
            await self._changed.wait()  # Requests under way may fail, and leave room.
        self._creating[key] += 1
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(_SEEN_SECONDS, self._release, key)

    def _release(self, key: tuple[str, GroupResource]) -> None:
        self._creating[key] -= 1
        if not self._creating[key]:
            del self._creating[key]
        self._changed.set()
        self._changed = asyncio.Event()

    def _limit(self, tenant: ServedTenant, resource: GroupResource) -> int:
        limits = self._limits.limits_for(tenant.cluster)
        return limits.namespaces if resource == NAMESPACES else limits.definitions

    def _existing(
        self, tenant: ServedTenant, resource: GroupResource
    ) -> TenantNamespaces | frozenset[str]:
        """Return the upstream names of a tenant's Namespaces or definitions."""
        return tenant.namespaces if resource == NAMESPACES else self._definitions(tenant.name)
