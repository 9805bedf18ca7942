"""Watch Events of objects that Kubernetes' controllers could not create within a share.

These controllers do not use the gateway, and retry by themselves. The gateway creates the same
Events for requests that were refused. Events are many: they are watched while an LCluster has
totals.
"""

import asyncio
import logging
from contextlib import suppress

import msgspec

from lnamespace.access.quota_refusals import REFUSAL_REASON, REQUEST_COMPONENT, read_refusal
from lnamespace.controller.lclusters.cache import LClusterCache, LClusterKey
from lnamespace.controller.lclusters.share_quotas import CONTROLLER_SECONDS, REQUEST_SECONDS
from lnamespace.errors import ClusterError, Unreadable
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialPage
from lnamespace.kube.objects import ObjectMeta
from lnamespace.kube.resources import EVENT
from lnamespace.model.lcluster import tenant_of_name

_PAUSE = 1.0
_WATCH_SECONDS = 300

log = logging.getLogger(__name__)


class _Source(msgspec.Struct, frozen=True):
    component: str = ""


class _Event(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    message: str = ""
    source: _Source = _Source()

    @property
    def seconds(self) -> float:
        """Return the seconds in which the creation is tried again."""
        of_request = self.source.component == REQUEST_COMPONENT
        return REQUEST_SECONDS if of_request else CONTROLLER_SECONDS


class _WatchEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_page = msgspec.json.Decoder(PartialPage)
_watch_event = msgspec.json.Decoder(_WatchEvent)
_event = msgspec.json.Decoder(_Event)


class FailedCreations:
    """A watch of Events that records the demand in namespaces of LClusters with totals."""

    def __init__(self, client: Client, cache: LClusterCache) -> None:
        self._client = client
        self._cache = cache

    async def run(self) -> None:
        """Watch while there are totals, until cancelled."""
        version = ""
        while True:
            await self._cache.totals.wait()
            try:
                version = await self._watch(version or await self._present_version())
            except ClusterError as error:
                log.warning("watch failed", extra={"resource": EVENT.plural, "error": str(error)})
                version = ""
            await asyncio.sleep(_PAUSE)

    async def _present_version(self) -> str:
        """Return the version of the list of Events: older ones say nothing about present waits."""
        page = await self._client.list_metadata(EVENT.path(), limit="1")
        return decode(_page, page).metadata.resource_version

    async def _watch(self, version: str) -> str:
        """Watch the Events after a version; return the last one, or nothing if it is too old."""
        params = {
            "fieldSelector": f"reason={REFUSAL_REASON}",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        async with self._client.watch(EVENT.path(), **params) as lines:
            async for line in lines:
                change = decode(_watch_event, line)
                if change.type == "ERROR":
                    return ""
                # Tenants can write Events too: an unreadable one would end every watch.
                with suppress(Unreadable):
                    event = decode(_event, change.object)
                    version = event.metadata.resource_version
                    if change.type in {"ADDED", "MODIFIED"}:
                        self._note(event)
        return version

    def _note(self, event: _Event) -> None:
        namespace = event.metadata.namespace
        known = self._cache.of_our_class(self._cache.get(tenant_of_name(namespace)))
        refusal = read_refusal(event.message) if known and known.spec.quota else None
        if known and refusal:
            key = LClusterKey(known.name)
            self._cache.note_demand(key, namespace, refusal, event.seconds)
