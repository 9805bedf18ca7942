"""Watch Events of objects that Kubernetes' controllers could not create within a share.

These controllers do not use the gateway, and retry by themselves. The gateway creates the same
Events for requests that were refused. Events are many: they are watched while an LCluster has
totals.
"""

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from lnamespace.access.quota_refusals import REFUSAL_REASON, read_refusal
from lnamespace.controller.lclusters.cache import LClusterCache, TenantCluster
from lnamespace.errors import ClusterError, Unreadable
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.objects import ObjectMeta
from lnamespace.kube.resources import EVENT
from lnamespace.model.lcluster import tenant_of_name

_PAUSE = 1.0
_WATCH_SECONDS = 300
_OLD = timedelta(minutes=1)
"""A watch begins with the present Events; no request waits because of older ones."""

log = logging.getLogger(__name__)


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: ObjectMeta
    message: str = ""
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def at(self) -> datetime:
        """Return when it happened the last time."""
        return self.last_timestamp or self.event_time or datetime.now(UTC)


class _WatchEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_watch_event = msgspec.json.Decoder(_WatchEvent)
_event = msgspec.json.Decoder(_Event)


class FailedCreations:
    """Records the demand in namespaces of LClusters with totals."""

    def __init__(self, client: Client, cache: LClusterCache) -> None:
        self._client = client
        self._cache = cache

    async def run(self) -> None:
        """Watch while there are totals, until cancelled."""
        while True:
            await self._cache.totals.wait()
            try:
                await self._watch()
            except ClusterError as error:
                log.warning("watch failed", extra={"resource": EVENT.plural, "error": str(error)})
            await asyncio.sleep(_PAUSE)

    async def _watch(self) -> None:
        selector = {"fieldSelector": f"reason={REFUSAL_REASON}"}
        timeout = {"timeoutSeconds": str(_WATCH_SECONDS)}
        async with self._client.watch(EVENT.path(), **selector, **timeout) as lines:
            async for line in lines:
                event = decode(_watch_event, line)
                if event.type in {"ADDED", "MODIFIED"}:
                    # A tenant's Event may have the year 0, and would end every watch.
                    with suppress(Unreadable):
                        self._note(decode(_event, event.object))

    def _note(self, event: _Event) -> None:
        namespace = event.metadata.namespace
        refusal = read_refusal(event.message)
        known = self._cache.ours(self._cache.get(tenant_of_name(namespace)))
        if refusal and known and known.spec.quota and event.at > datetime.now(UTC) - _OLD:
            self._cache.note_demand(TenantCluster(known.name), namespace, refusal)
