"""Watches over several namespaces of a tenant, as one.

Each namespace has its own watch upstream. Namespaces may be added and removed. When one watch
cannot be resumed, the whole ends by 410, so that the client lists again.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from lnamespace.errors import Forbidden, NotFound
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.watches.event_heads import (
    EventHead,
    bookmark,
    is_resumable,
    read_event,
    read_member_event,
)
from lnamespace.gateway.watches.resuming import NOWHERE, ResumeLog, WatchHistory, earliest
from lnamespace.gateway.watches.watch_events import (
    OpeningSlot,
    QueuedEvent,
    WaitingEvents,
    event_lines,
)
from lnamespace.gateway.watches.watch_requests import MemberRequest, WatchRequest
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.answers import error_of
from lnamespace.runtime.lifecycle import wait_at_most
from lnamespace.translate.protocol.status import expired

_GRANT_PAUSE = 0.1
_OPENING = 8
_SHORTEST, _LONG = 1800, 3600
"""The range of seconds that a watch lasts without a timeout, as in the API server."""


Open = Callable[[MemberRequest], Awaitable[UpstreamResponse]]
"""A function that opens the watch of one namespace."""


class MergedWatch:
    """One watch of a client over namespaces that may be added and removed."""

    def __init__(
        self,
        request: WatchRequest,
        open_: Open,
        log: ResumeLog,
        usage: RequestUsage | None = None,
        opening: asyncio.Semaphore | None = None,
    ) -> None:
        self._request = request
        self._opening = opening or asyncio.Semaphore(_OPENING)
        self._usage = usage or RequestUsage()
        self._open = open_
        self._log = log
        self._history = WatchHistory(request.key, request.version, {})
        self._queue = WaitingEvents()
        self._members: dict[str, asyncio.Task[None]] = {}
        self._versions: dict[str, str] = {}
        """The newest version that each namespace has sent."""
        self._replaying: set[str] = set()
        self._withheld: QueuedEvent | None = None
        """The latest bookmark that was not sent, since others still send their initial events."""
        self._end_due = bool(request.initial_events) and request.bookmarks
        self._begun = asyncio.Event()
        self.shown: set[str] = set()
        """Namespaces of which the last event that the client was sent is of an existing object."""
        self.headers: Headers = ()
        """The headers of the first answer; all answers have the same warnings."""
        self._refusal: Exception | None = None
        self._left: set[str] = set()
        self._joining: set[str] = set()
        """Namespaces whose initial events may not all have been sent."""
        self._partly: set[str] = set()
        """Those joining namespaces of which some initial events were sent."""
        self._bookmarked = "0"
        self._failure: Exception | None = None
        seconds = request.seconds or random.randint(_SHORTEST, _LONG)
        self._until = time.monotonic() + seconds

    def begin(self, namespaces: Iterable[str]) -> None:
        """Start the watches of the present namespaces."""
        named = list(namespaces)
        if self._request.initial_events:
            self._replaying = set(named)
        positions = self._positions(named)
        if NOWHERE in positions.values():
            self.fail(expired("too old resource version: the initial events were not all sent"))
            return
        known = (
            {each: position for each, position in positions.items() if position}
            if self._resumes
            else {}
        )
        self._history = self._log.begin(self._request.key, self._request.version, known)
        for namespace, position in positions.items():
            if position or not self._resumes:
                self._start(namespace, position, self._request.initial_events)
            else:
                self.join(namespace)

    @property
    def _resumes(self) -> bool:
        return is_resumable(self._request.version) and not self._request.initial_events

    def _positions(self, namespaces: list[str]) -> dict[str, str]:
        """Return the version at which each namespace resumes; empty: with all its objects.

        A version that is not in the log is that of a list, or of another replica's watch.
        """
        key, version = self._request.key, self._request.version
        reached = self._log.positions_at(key, version) if self._resumes else None
        if reached is None:
            return dict.fromkeys(namespaces, version)
        return {each: reached.get(each, "") for each in namespaces}

    async def wait_begun(self) -> None:
        """Wait until the API server has answered a watch, none is left, or the time is over.

        Raises
        ------
        UpstreamRefused
            The API server refuses the watch.
        ClusterError
            The API server does not answer.
        """
        if self._members:
            await wait_at_most(self._begun, self._until - time.monotonic())
        if error := self._refusal or self._failure:
            raise error

    def join(self, namespace: str) -> bool:
        """Watch a further namespace, with its initial events; return whether a watch was added.

        Its objects may be older than the client's version, so it has no position before all of
        them were sent. A namespace that is recreated soon after its deletion is still watched.
        """
        self._left.discard(namespace)
        watching = self._members.get(namespace)
        if watching and not watching.done():
            return False
        self._joining.add(namespace)
        self._partly.discard(namespace)
        self._start(namespace, "", initial_events=None)
        return True

    def leave(self, namespace: str) -> None:
        """Remove a namespace that is deleted; its last events may still come."""
        self._left.add(namespace)
        self._joining.discard(namespace)
        self._versions.pop(namespace, None)
        self._replaying.discard(namespace)
        if self._withheld and self._withheld.namespace == namespace:
            self._withheld = None
        self._queue.caught_up(namespace)
        if self._withheld and self._end_due and not self._replaying:
            # Otherwise the next bookmark would be the first to end the initial events.
            self._withheld = replace(self._withheld, held=0)
            with suppress(asyncio.QueueFull):
                self._queue.put_nowait(self._withheld)

    def revoke(self, namespace: str) -> None:
        """Send no more events of a namespace: the right to watch it has ended."""
        self.leave(namespace)
        if following := self._members.pop(namespace, None):
            following.cancel()

    def send_last(self, namespace: str, line: bytes) -> None:
        """Send the last event of a namespace that was revoked."""
        try:
            version = read_event(line).version
            self._queue.put_nowait(QueuedEvent(namespace, line, version, last=True))
        except asyncio.QueueFull:
            self.fail(expired("too old resource version: the watch is too slow"))

    def fail(self, error: Exception) -> None:
        """End with an error at once, and drop the events that are queued."""
        self._failure = error
        self._queue.release()
        self._begun.set()

    def end(self) -> None:
        """End as if the time were over: the client resumes by another watch."""
        self._until = 0.0
        self._queue.release()
        self._begun.set()

    def close(self) -> None:
        """End all watches upstream."""
        for task in self._members.values():
            task.cancel()
        self._members.clear()  # A task that ends by an error refers to this watch.
        self._queue.release()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the events in upstream spelling until the time is over.

        Raises
        ------
        Refused
            The watch cannot be resumed: the client has to list again.
        ClusterError
            The API server does not answer.
        """
        while (left := self._until - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    event = await self._queue.get()
            except TimeoutError:
                return
            if error := self._failure or event.error:
                raise error
            if event.line and (line := self._next(event)):
                yield line
            # Not when it is queued: 320 watches without a reader held 1 GB that was not counted.
            self._usage.release(event.held)

    def _next(self, event: QueuedEvent) -> bytes:
        """Record an event; return the line for the client, if there is one."""
        head = read_event(event.line)
        if event.last:
            self.shown.discard(event.namespace)
            self._log.record_position(self._history, event.namespace, "")
            self._log.record_sent(self._history, head.version)
            return event.line
        if event is self._withheld:
            # Its namespace may have gone on since.
            return self._bookmark(event, head)
        if head.version and event.namespace not in self._left:
            self._versions[event.namespace] = head.version
        if head.type != "ADDED":
            # Initial events are ADDED, and come before any other.
            self._joining.discard(event.namespace)
        is_event = head.type != "BOOKMARK"
        if event.namespace not in self._joining:
            self._log.record_position(self._history, event.namespace, head.version, sent=is_event)
        elif is_event:
            if event.namespace not in self._partly:
                # A client that resumes here would miss deletions in this namespace.
                self._partly.add(event.namespace)
                self._log.record_position(self._history, event.namespace, NOWHERE)
            self._log.record_sent(self._history, head.version)
        if is_event:
            (self.shown.discard if head.type == "DELETED" else self.shown.add)(event.namespace)
            return event.line
        return self._bookmark(event, head)

    def _bookmark(self, event: QueuedEvent, head: EventHead) -> bytes:
        behind = earliest(self._versions.values())
        if head.ends_initial_events:
            self._replaying.discard(event.namespace)
        if self._replaying:
            self._withheld = event
            return b""
        if self._end_due:
            # Not only after the last bookmark: a namespace may have been removed before.
            self._end_due = False
            return self._send_bookmark(event.line, behind, ends=True)
        if not self._request.bookmarks or not behind:
            return b""
        if int(behind) <= int(self._bookmarked):
            return b""
        return self._send_bookmark(event.line, behind, ends=False)

    def _send_bookmark(self, line: bytes, version: str, *, ends: bool) -> bytes:
        self._bookmarked = version or self._bookmarked
        self._log.record_sent(self._history, version)
        return bookmark(line, version, ends_initial_events=ends)

    def _start(self, namespace: str, version: str, initial_events: bool | None) -> None:
        if is_resumable(version):
            self._versions[namespace] = version
        follow = self._follow(namespace, version, initial_events)
        task = self._members[namespace] = asyncio.create_task(self._usage.metered(follow))
        task.add_done_callback(self._followed)

    def _followed(self, _: asyncio.Task[None]) -> None:
        """Begin the answer, if no namespace is left for which the API server may answer.

        A client whose rights ended as soon as it had listed them got no answer for half an hour.
        """
        if all(each.done() for each in self._members.values()):
            self._begun.set()

    async def _follow(self, namespace: str, version: str, initial_events: bool | None) -> None:
        slot = OpeningSlot(self._opening, partial(self._queue.caught_up, namespace))
        try:
            while namespace not in self._left:
                if len(self._members) > 1 and not initial_events:
                    self._queue.hold_back(namespace)
                seconds = max(int(self._until - time.monotonic()), 1) + 30
                request = MemberRequest(namespace, version, initial_events, seconds)
                await slot.acquire()
                response = await self._opened(request, slot)
                self.headers = self.headers or (response.headers if response else ())
                self._begun.set()
                if response is None:
                    return
                try:
                    async for line in event_lines(response, self._usage, slot):
                        head = read_member_event(line)
                        version = head.version or version
                        if head.ends_initial_events:
                            initial_events = None
                        self._usage.reserve(len(line))
                        queued = QueuedEvent(namespace, line, head.version, held=len(line))
                        await self._queue.put(queued)
                finally:
                    response.close()
        except Exception as error:  # noqa: BLE001 - who reads the queue raises it
            if not self._begun.is_set():
                self._refusal = error
                self._begun.set()
            slot.release()
            # What is held back is newer than what this namespace still had.
            self._queue.drop_held_back()
            await self._queue.put(QueuedEvent(namespace, version=version, error=error))
        finally:
            slot.release()

    async def _opened(self, request: MemberRequest, slot: OpeningSlot) -> UpstreamResponse | None:
        """Open the watch, retrying until the tenant has its rights in a new namespace.

        Return None if the namespace is removed before.
        """
        while request.namespace not in self._left:
            response = await self._open(request)
            if response.status == 200:
                return response
            body = await response.read()
            if not isinstance(error_of(response.status, body), Forbidden | NotFound):
                raise UpstreamRefused(response.status, response.headers, body)
            slot.release()
            await asyncio.sleep(_GRANT_PAUSE)
            await slot.acquire()
        return None
