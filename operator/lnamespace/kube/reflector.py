"""List and watch the objects of one kind, and keep a store equal to them, deletions included.

A watch that was interrupted for too long does not report what was deleted meanwhile. After every
list, what the list does not hold is removed.

A handler may stand between the watch and the store, as kopf does for LNamespaces
(docs/decisions/0038-kopf-handlers.md). The reflector still reads the connection: it knows when to
list, where the next watch begins, and at once when a watch is interrupted.
"""

import asyncio
import itertools
import logging
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol

import msgspec

from lnamespace.errors import ClusterError, Expired, NotFound, Throttled, Unreachable, Unreadable
from lnamespace.kube.answers import decode, error_of, version_of
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import ListPage
from lnamespace.kube.objects import Key
from lnamespace.kube.pages import PageSize, list_pages
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store, T
from lnamespace.nesting import at_any_depth

WATCH_SECONDS = 60
"""About how long the API server is asked to keep a watch open.

A kind that does not change may have no event for hours, not even a bookmark. A watch that ends in
good order shows that the connection lives, so it must end before the client gives up a silent one.
"""
_BACKOFF = Backoff(longest=5.0)
_REFUSALS_BEFORE_LIST = 3
"""Refusals of a watch in a row after which the client lists again."""
_JITTER = (0.75, 1.25)
"""The random factors of :data:`WATCH_SECONDS`: not all watches end in the same second."""
_OUTAGE_SECONDS = 1.0
"""Seconds without the API server after which the cluster may have been restored from a backup: no
API server may run during that, and one takes longer than this to start."""
_WORKING_SECONDS = 5.0
"""Seconds after which a watch that ends has not failed, though it may have sent nothing."""

log = logging.getLogger(__name__)


class WatchEvent(msgspec.Struct, frozen=True):
    """An event of a watch: ``ADDED``, ``MODIFIED`` or ``DELETED``, and the object as JSON."""

    type: str
    object: msgspec.Raw


class _ObjectMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = "0"
    name: str = ""
    namespace: str = ""

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    @property
    def version(self) -> int:
        """Return the version as a number; raises Unreadable."""
        return version_of(self.resource_version)


class _Head(msgspec.Struct, frozen=True):
    metadata: _ObjectMeta


class _Failure(msgspec.Struct, frozen=True):
    code: int = 500


_page = msgspec.json.Decoder(ListPage)
_event = msgspec.json.Decoder(WatchEvent)
_head = msgspec.json.Decoder(_Head)
_failure = msgspec.json.Decoder(_Failure)


@dataclass
class WatchActivity:
    """The times of a reflector's last attempt, and of the API server's last answer.

    The times are seconds of the monotonic clock. The API server sends something at least every
    minute.
    """

    tried: float = field(default_factory=time.monotonic)
    answered_at: float = field(default_factory=time.monotonic)

    def note(self, *, answered: bool) -> None:
        """Note an attempt; ``answered`` means that the API server answered."""
        self.tried = time.monotonic()
        if answered:
            self.answered_at = self.tried


class WatchHandler(Protocol):
    """A writer of watch events to the store, later than they came, but in order for each object."""

    async def handle(self, events: AsyncIterator[WatchEvent]) -> None:
        """Handle events until the watch ends; raise its error at once.

        Events that were read before may still be on their way to the store.

        Raises
        ------
        ClusterError
            Events may be lost: what the watch should have sent must be listed.
        """

    async def stop(self) -> None:
        """Return when nothing is on its way to the store any more."""


class Reflector(Generic[T]):
    """A loop that keeps one store equal to the cluster for as long as :meth:`run` runs.

    ``handler`` takes the events of the watch into the store, instead of the reflector itself.
    ``failed`` is called with the resource at each list or watch that fails, ``recovered`` when the
    API server accepts a watch again after failures. Objects for whose keys ``is_needed`` is false
    are neither read nor kept: everybody may give objects the label that is selected.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        store: Store[T],
        read: Callable[[bytes | msgspec.Raw], T],
        selector: str = "",
        failed: Callable[[str], object] = lambda _: None,
        recovered: Callable[[], object] = lambda: None,
        handler: WatchHandler | None = None,
        is_needed: Callable[[Key], bool] | None = None,
    ) -> None:
        self._client = client
        self._store = store
        self._handler = handler
        self._read = read
        self._is_needed = is_needed
        self._params = {"labelSelector": selector} if selector else {}
        self._failed = failed
        self._recovered = recovered
        self._failing = False
        self._down_since = math.inf
        self._watching_since = math.inf
        self._version = 0
        self._newest = 0
        """The newest resource version before the last list, which shows whether time went back."""
        self._page_size = PageSize()
        self.resource = resource
        self.activity = WatchActivity()
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """List, then watch; list again only if no watch can go on where the last one ended."""
        try:
            await self._run()
        finally:
            await self._stop_handler()

    async def _run(self) -> None:
        failures = 0
        while True:
            before = self._version
            self._watching_since = math.inf
            self.activity.note(answered=False)
            try:
                if not before or self._may_be_restored():
                    self.synced.clear()
                    await self._stop_handler()
                    await self._list(alone=True)
                    before = min(before, self._version)
                await self._watch()
            except ClusterError as error:
                self._note(error, _must_list(error, failures))
                await asyncio.sleep(error.retry_after)
            # A watch worked if it sent anything, or lasted without anything to send. After any
            # other one there must be a pause.
            lasted = time.monotonic() - self._watching_since > _WORKING_SECONDS
            worked = lasted or self._version > before
            failures = 0 if worked else failures + 1
            await asyncio.sleep(_BACKOFF.delay(failures))

    def _note(self, error: ClusterError, must_list: bool) -> None:
        """Note a failure, after which the client lists or watches again."""
        self._failing = True
        if not isinstance(error, Throttled):
            self._down_since = min(self._down_since, self._outage_start())
        self._failed(self.resource.plural)
        # An install changes the CustomResourceDefinition after we start, and the watch ends once.
        usual = must_list and isinstance(error, Expired) and not self._newest
        log.log(
            logging.INFO if usual else logging.WARNING,
            "listing again" if must_list else "watch failed",
            extra=self._about(error),
        )
        if must_list:
            self._newest = max(self._newest, self._version)
            self._version = 0
        if must_list or self._may_be_restored():
            # After a restore from a backup another kind may be listed before this one. RoleBindings
            # were: one was deleted because its LNamespace, which the restore had brought back, was
            # still missing in this store. So nothing is decided by the store until it is listed.
            self.synced.clear()

    def _outage_start(self) -> float:
        """Return since when the API server may be down: now, unless it was silent for long."""
        now, answered_at = time.monotonic(), self.activity.answered_at
        return answered_at if now - answered_at > WATCH_SECONDS * _JITTER[1] else now

    def _may_be_restored(self) -> bool:
        """Return whether the API server was down for long enough to have been restored.

        After a restore from a backup, the API server accepts a watch from our resource version,
        which it has not reached, and sends no event until it has (observed in kube-apiserver 1.36).
        If new writes have taken it past that version already, no resource version shows that it
        was restored.
        """
        return time.monotonic() - self._down_since > _OUTAGE_SECONDS

    async def relist(self) -> None:
        """List beside the watch; every write before the call is in the store afterwards."""
        for failures in itertools.count(1):
            try:
                await self._list(alone=False)
            except ClusterError as error:
                log.warning("list failed", extra=self._about(error))
                await asyncio.sleep(max(error.retry_after, _BACKOFF.delay(failures)))
            else:
                return

    def _read_item(self, raw: msgspec.Raw) -> T:
        try:
            return at_any_depth(self._read, raw)
        except (ValueError, RecursionError) as error:
            raise Unreadable(str(error)) from error

    def _read_items(self, page: ListPage) -> Iterator[T]:
        """Yield the objects of a page that are needed."""
        for raw in page.items or ():
            if self._is_needed is None or self._is_needed(decode(_head, raw).metadata.key):
                yield self._read_item(raw)

    async def _list(self, *, alone: bool) -> None:
        """Read all objects into the store; ``alone`` means that no watch runs beside."""
        items: list[T] = []
        path, version = self.resource.path(), 0
        async for page in list_pages(self._client.get, path, _page, self._params, self._page_size):
            self.activity.note(answered=True)
            items += self._read_items(page)
            version = page.metadata.version
        self._newest = max(self._newest, self._version)
        self._version = version
        if alone and self._version < self._newest:
            log.warning("the cluster went back in time", extra={"resource": self.resource.plural})
            self._newest = self._version
            self._store.restore(items, self._version)
        else:
            self._store.replace(items, self._version)
        self._down_since = math.inf
        self.synced.set()

    async def _watch(self) -> None:
        params = self._params | {
            "resourceVersion": str(self._version),
            "timeoutSeconds": str(int(WATCH_SECONDS * random.uniform(*_JITTER))),
        }
        async with self._client.watch(self.resource.path(), **params) as lines:
            self.activity.note(answered=True)
            self._watching_since = time.monotonic()
            self._down_since = math.inf
            if self._failing:
                self._failing = False
                self._recovered()
            if self._handler:
                await self._handler.handle(self._new_events(lines))
                return
            async for event in self._new_events(lines):
                self._apply(event)

    async def _new_events(self, lines: AsyncIterator[bytes]) -> AsyncIterator[WatchEvent]:
        """Yield the events that are new to the store; note the resource version of the watch."""
        async for line in lines:
            self.activity.note(answered=True)
            event = decode(_event, line)
            if event.type == "ERROR":
                raise error_of(decode(_failure, event.object).code, bytes(event.object))
            head = decode(_head, event.object).metadata
            self._version = head.version
            if event.type != "BOOKMARK" and self._is_news(event, head):
                yield event

    def _is_news(self, event: WatchEvent, head: _ObjectMeta) -> bool:
        """Return whether an event says something new of an object that is needed."""
        if self._is_needed and not self._is_needed(head.key):
            return False
        # Most events only repeat our own write, and need not be decoded.
        return event.type == "DELETED" or not self._store.knows(head.key, head.version)

    async def _stop_handler(self) -> None:
        if self._handler:
            await self._handler.stop()

    def _apply(self, event: WatchEvent) -> None:
        item = self._read_item(event.object)
        if event.type == "DELETED":
            self._store.remove(item.key, item.version)
        else:
            self._store.apply_event(item)

    def _about(self, error: ClusterError) -> dict[str, str]:
        return {"resource": self.resource.plural, "error": str(error)}


def _must_list(error: ClusterError, failures: int) -> bool:
    """Return whether to list again instead of a further watch from the same resource version.

    Such a watch might be refused for ever (a kind that is gone, an event that cannot be read),
    while the store grows stale.
    """
    if isinstance(error, Unreachable | Throttled):
        return False
    return isinstance(error, Expired | NotFound | Unreadable) or failures >= _REFUSALS_BEFORE_LIST
