"""List and watch: keeps a store true to the cluster, deletions included.

kopf's own watch does not tell what was deleted while it was cut off (it relists and forgets to
compare), so this does: after every relist what the list does not hold is removed.
"""

import asyncio
import itertools
import logging
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from lnamespace.errors import ClusterError, Expired, NotFound, ServerFault, Throttled, Unreachable
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client, error_of
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store, T

PAGE = 1000
WATCH_SECONDS = 300
_BACKOFF = Backoff(longest=5.0)
_PATIENCE = 3
"""Refusals of a watch in a row before its place is given up."""
_SURE = 3.0
"""Seconds after a confirmation in which no cluster can have been restored from a backup."""

D = TypeVar("D")

log = logging.getLogger(__name__)


class _Unreadable(ServerFault):
    """A proxy's web page, say: one kind's bad answer must not end the watches of all others."""


class _Versioned(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = "0"

    @property
    def version(self) -> int:
        """As a number; raises where it is none."""
        try:
            return int(self.resource_version)
        except ValueError as error:
            raise _Unreadable(f"resourceVersion: {error}") from error


class _ListMeta(_Versioned, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _ObjectMeta(_Versioned, frozen=True):
    name: str = ""
    namespace: str = ""

    @property
    def key(self) -> Key:
        return self.namespace, self.name


class _Head(msgspec.Struct, frozen=True):
    metadata: _ObjectMeta


class _Failure(msgspec.Struct, frozen=True):
    code: int = 500


_page = msgspec.json.Decoder(_Page)
_event = msgspec.json.Decoder(_Event)
_head = msgspec.json.Decoder(_Head)
_failure = msgspec.json.Decoder(_Failure)


@dataclass
class Pulse:
    """When a reflector last did anything, and when the API server last told it something.

    By the monotonic clock, in seconds. The API server says something at least every minute.
    """

    tried: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)

    def beat(self, *, heard: bool) -> None:
        """Take note of it."""
        self.tried = time.monotonic()
        if heard:
            self.heard = self.tried


class Reflector(Generic[T]):
    """Feeds one store with one kind of object, for as long as :meth:`run` runs.

    ``failed`` is told the resource of each list or watch that fails, ``recovered`` that a watch is
    let in after some that were not.
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
    ) -> None:
        self._client = client
        self._store = store
        self._read = read
        self._params = {"labelSelector": selector} if selector else {}
        self._failed = failed
        self._recovered = recovered
        self._ails = False
        self._confirmed = -math.inf
        self._version = 0
        self._newest = 0
        """Our place in the watch when it was lost the last time."""
        self.resource = resource
        self.pulse = Pulse()
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """List once, then watch; list again only when our place in the watch is lost."""
        failures = 0
        while True:
            before = self._version
            self.pulse.beat(heard=False)
            try:
                if not before:
                    await self._list(alone=True)
                await self._watch()
            except ClusterError as error:
                lost = _lost(error, failures)
                self._ails = True
                self._failed(self.resource.plural)
                log.warning("listing again" if lost else "watch failed", extra=self._about(error))
                if lost:
                    self._newest = max(self._newest, self._version)
                    self._version = 0
                    self.synced.clear()
                await asyncio.sleep(error.retry_after)
            # What told us anything worked; what did not must not be asked without a pause.
            failures = 0 if self._version > before else failures + 1
            await asyncio.sleep(_BACKOFF.delay(failures))

    async def look(self) -> None:
        """List once more beside the watch: what was written before this is known after it."""
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
            return self._read(raw)
        except (msgspec.DecodeError, ValueError) as error:
            raise _Unreadable(str(error)) from error

    async def _list(self, *, alone: bool) -> None:
        """Read all there is; ``alone``: while no watch goes on, which might be ahead of it."""
        items: list[T] = []
        params = self._params | {"limit": str(PAGE)}
        while True:
            answer = await self._client.get(self.resource.path(), **params)
            page = _decode(_page, answer)
            self.pulse.beat(heard=True)
            items += [self._read_item(raw) for raw in page.items or ()]
            if not page.metadata.continue_:
                break
            params = params | {"continue": page.metadata.continue_}
        self._version = page.metadata.version
        if alone and self._version < self._newest:
            log.warning("the cluster went back in time", extra={"resource": self.resource.plural})
            self._newest = self._version
            self._store.restore(items, self._version)
        else:
            self._store.replace(items, self._version)
        self.synced.set()

    async def _confirm(self) -> None:
        """Make sure that the cluster has not gone back behind our place in the watch.

        One that was restored from a backup lets a watch in from there, and tells it nothing, not
        even that it lives, until it has caught up (seen of kube-apiserver 1.36). The watch waits
        for the answer, but goes on without one when it does not come.
        """
        for failures in range(1, _PATIENCE + 1):
            try:
                answer = await self._client.get(self.resource.path(), **self._params, limit="1")
                newest = _decode(_page, answer).metadata.version
            except ClusterError as error:
                log.warning("list failed", extra=self._about(error))
                await asyncio.sleep(max(error.retry_after, _BACKOFF.delay(failures)))
            else:
                if newest < self._version:
                    raise Expired("our place in the watch is ahead of the cluster")
                self._confirmed = time.monotonic()
                return

    async def _watch(self) -> None:
        params = self._params | {
            "resourceVersion": str(self._version),
            # Not all watches of all processes at the same second.
            "timeoutSeconds": str(int(WATCH_SECONDS * random.uniform(1, 2))),
        }
        async with self._client.watch(self.resource.path(), **params) as lines:
            self.pulse.beat(heard=True)
            if self._ails:
                if time.monotonic() - self._confirmed > _SURE:
                    await self._confirm()
                self._ails = False
                self._recovered()
            async for line in lines:
                self.pulse.beat(heard=True)
                self._take(_decode(_event, line))

    def _take(self, event: _Event) -> None:
        if event.type == "ERROR":
            raise error_of(_decode(_failure, event.object).code, bytes(event.object))
        if event.type == "BOOKMARK":
            self._version = _decode(_head, event.object).metadata.version
            return
        head = _decode(_head, event.object).metadata
        self._version = head.version
        if event.type != "DELETED" and self._store.knows(head.key, head.version):
            # The echo of our own write, by far the most of all events: not worth reading.
            return
        item = self._read_item(event.object)
        if event.type == "DELETED":
            self._store.remove(item.key, item.version)
        else:
            self._store.put(item)

    def _about(self, error: ClusterError) -> dict[str, str]:
        return {"resource": self.resource.plural, "error": str(error)}


def _lost(error: ClusterError, failures: int) -> bool:
    """Whether to give up our place in the watch and list again.

    Asked for the same place it might be refused for ever (a kind that is gone, an event that
    cannot be read), while what we know grows stale.
    """
    if isinstance(error, Unreachable | Throttled):
        return False
    return isinstance(error, Expired | NotFound | _Unreadable) or failures >= _PATIENCE


def _decode(decoder: msgspec.json.Decoder[D], raw: bytes | msgspec.Raw) -> D:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _Unreadable(str(error)) from error
