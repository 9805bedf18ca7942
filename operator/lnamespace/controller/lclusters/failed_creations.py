"""Watch Events of objects that Kubernetes' controllers could not create within a share.

These controllers do not use the gateway, and retry by themselves. The gateway creates the same
Events for requests that were refused. Events are many: they are watched while an LCluster has
totals.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

import msgspec

from lnamespace.access.quota_refusals import REFUSAL_REASON, REQUEST_COMPONENT, read_refusal
from lnamespace.controller.lclusters.cache import LClusterCache, LClusterKey
from lnamespace.controller.lclusters.share_quotas import CONTROLLER_SECONDS, REQUEST_SECONDS
from lnamespace.errors import ClusterError, Expired, Throttled, Unreachable, Unreadable
from lnamespace.kube.answers import decode, read_status, version_of
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialPage
from lnamespace.kube.objects import ObjectMeta
from lnamespace.kube.reflector import WATCH_SECONDS, WatchActivity, WatchEvent
from lnamespace.kube.resources import EVENT
from lnamespace.model.lcluster import tenant_of_name

_PAUSE = 1.0

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


_page = msgspec.json.Decoder(PartialPage)
_watch_event = msgspec.json.Decoder(WatchEvent)
_event = msgspec.json.Decoder(_Event)


class FailedCreations:
    """A watch of Events that records the demand in namespaces of LClusters with totals.

    ``failed`` is called with the resource at each list or watch that fails. ``activity`` is None
    while there is no watch.
    """

    def __init__(
        self,
        client: Client,
        cache: LClusterCache,
        failed: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._client = client
        self._cache = cache
        self._failed = failed
        self._version = 0
        self._in_order = False
        """Whether the last watch ended in good order, so that the next begins where it ended."""
        self.activity: WatchActivity | None = None

    async def run(self) -> None:
        """Watch while there are totals, until cancelled."""
        while True:
            if not self._cache.totals.is_set():
                self._version, self._in_order, self.activity = 0, False, None
                await self._cache.totals.wait()
            self.activity = self.activity or WatchActivity()
            try:
                await self._watch(self.activity)
            except ClusterError as error:
                self._note_failure(error)
                await asyncio.sleep(error.retry_after)
            await asyncio.sleep(_PAUSE)

    def _note_failure(self, error: ClusterError) -> None:
        log.warning("watch failed", extra={"resource": EVENT.plural, "error": str(error)})
        self._failed(EVENT.plural)
        self._in_order = False
        if not isinstance(error, Unreachable | Throttled):
            self._version = 0

    async def _first_version(self) -> int:
        """Return the version at which a watch begins: where the last one was interrupted, if any.

        Events that are older than the first list say nothing about present waits. After a restore
        from a backup the API server would accept a version that it has not reached, and send
        nothing.
        """
        if self._in_order:
            return self._version
        page = await self._client.list_metadata(EVENT.path(), limit="1")
        present = decode(_page, page).metadata.version
        return min(self._version or present, present)

    async def _watch(self, activity: WatchActivity) -> None:
        """Watch the Events until the API server ends the watch.

        Raises
        ------
        ClusterError
            The watch fails, or its version is too old.
        """
        self._version = await self._first_version()
        params = {
            "fieldSelector": f"reason={REFUSAL_REASON}",
            "resourceVersion": str(self._version),
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        async with self._client.watch(EVENT.path(), **params) as lines:
            activity.note(answered=True)
            async for line in lines:
                activity.note(answered=True)
                self._read(decode(_watch_event, line))
        self._in_order = True

    def _read(self, change: WatchEvent) -> None:
        if change.type == "ERROR":
            raise Expired(read_status(bytes(change.object)).message)
        # Tenants can write Events too: an unreadable one would end every watch.
        with suppress(Unreadable):
            event = decode(_event, change.object)
            self._version = version_of(event.metadata.resource_version)
            if change.type in {"ADDED", "MODIFIED"}:
                self._note(event)

    def _note(self, event: _Event) -> None:
        namespace = event.metadata.namespace
        known = self._cache.of_our_class(self._cache.get(tenant_of_name(namespace)))
        refusal = read_refusal(event.message) if known and known.spec.quota else None
        if known and refusal:
            key = LClusterKey(known.name)
            self._cache.note_demand(key, namespace, refusal, event.seconds)
