"""How many objects each tenant has, counted a few requests a second.

The API server returns how many objects a limited list leaves out (``remainingItemCount``). So a
count is a list of one object for each kind and namespace, as the tenant, which costs the same for
ten objects and for ten thousand. The rate of requests is bounded: with more tenants each is counted
more seldom.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from lnamespace.errors import ClusterError, Forbidden, NotFound
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.kube.answers import decode
from lnamespace.kube.media_types import METADATA_LIST
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.requests.targets import listed_path

PAUSE = 0.1
"""Seconds between two requests."""
LEAST_SECONDS = 600.0
"""Seconds between two counts of one tenant."""

_POLL_SECONDS = 1.0
_PERSON = "lnamespace-gateway"
_HEADERS = (("accept", METADATA_LIST),)
_TWICE = frozenset({"events.k8s.io"})
"""Groups whose objects the core group has too."""

log = logging.getLogger(__name__)


class _PageMeta(msgspec.Struct, frozen=True, rename="camel"):
    remaining_item_count: int = 0


class _FirstPage(msgspec.Struct, frozen=True):
    metadata: _PageMeta = _PageMeta()
    items: list[msgspec.Raw] | None = None


_page = msgspec.json.Decoder(_FirstPage)


@dataclass(frozen=True)
class ObjectCount:
    """The number of objects of an LCluster, by its UID, and when they were counted (monotonic)."""

    uid: str
    objects: int
    at: float


@dataclass(frozen=True)
class ObjectCounter:
    """A counter of the objects of all tenants, one tenant after the other."""

    upstream: Upstream
    tenants: Tenants
    pause: float = PAUSE
    least: float = LEAST_SECONDS
    _known: dict[str, ObjectCount] = field(default_factory=dict)

    def objects_of(self, tenant: ServedTenant) -> int | None:
        """Return how many objects a tenant had; None if they have not been counted yet."""
        known = self._known.get(tenant.name)
        return known.objects if known and known.uid == tenant.cluster.uid else None

    async def run(self) -> None:
        """Count for ever."""
        while True:
            for tenant in self._due():
                try:
                    await self._count(tenant)
                except ClusterError as error:
                    about = {"lcluster": tenant.name, "error": str(error)}
                    log.info("the objects of an LCluster were not counted", extra=about)
                    await asyncio.sleep(_POLL_SECONDS)
            await asyncio.sleep(_POLL_SECONDS)

    def _due(self) -> Iterator[ServedTenant]:
        """Yield the tenants to count, those that were never counted first."""
        for name in self._known.keys() - {each.name for each in self.tenants}:
            del self._known[name]
        now = time.monotonic()
        counted = [(self._counted(each), each) for each in self.tenants]
        for at, tenant in sorted(counted, key=lambda each: each[0]):
            if at + self.least <= now and self.tenants.get(tenant.name) is tenant:
                yield tenant

    def _counted(self, tenant: ServedTenant) -> float:
        known = self._known.get(tenant.name)
        return known.at if known and known.uid == tenant.cluster.uid else float("-inf")

    async def _count(self, tenant: ServedTenant) -> None:
        objects, identity = 0, UpstreamIdentity(tenant.name, _PERSON)
        for path in list(counted_paths(tenant.view, tenant.namespaces.all())):
            with suppress(Forbidden, NotFound):  # the namespace or the kind has just gone
                objects += count_of(await self.upstream.read(path, identity, _HEADERS))
            await asyncio.sleep(self.pause)
        found = ObjectCount(tenant.cluster.uid, objects, time.monotonic())
        self._known[tenant.name] = found


def count_of(page: bytes) -> int:
    """Return how many objects there are, from a list of the first one.

    Raises
    ------
    ClusterError
        The answer is not a list.
    """
    found = decode(_page, page)
    return len(found.items or ()) + found.metadata.remaining_item_count


def counted_paths(view: TenantView, namespaces: list[str]) -> Iterator[str]:
    """Yield the lists, of one object each, that together count what a tenant's account reaches.

    These are the objects in its namespaces, and its own cluster-scoped custom resources.

    Parameters
    ----------
    namespaces
        The tenant's namespaces in upstream spelling.
    """
    for each in view.resources.types:
        if each.group in _TWICE or not each.versions or not each.serves_verb("list"):
            continue
        if each.namespaced:
            yield from (f"{listed_path(view, each, within)}?limit=1" for within in namespaces)
        elif each.custom:
            yield f"{listed_path(view, each)}?limit=1"
