"""Watches over several namespaces of a tenant, as one.

Each namespace has a watch of its own upstream. Namespaces join and leave. Whatever loses a
namespace's place ends the whole by 410, so that the client lists again.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress

from lnamespace.errors import Forbidden, NotFound
from lnamespace.gateway.fairness.shares import Share
from lnamespace.gateway.http.messages import Headers
from lnamespace.gateway.http.upstream_connection import UpstreamResponse
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.watches.resuming import (
    EventHead,
    Frontier,
    ResumeLog,
    ToldOrder,
    bookmark,
    read_event,
)
from lnamespace.gateway.watches.watch_events import (
    OpeningPlace,
    ToldEvent,
    WaitingEvents,
    event_lines,
)
from lnamespace.gateway.watches.watch_requests import MemberRequest, WatchRequest
from lnamespace.kube.answers import error_of
from lnamespace.translate.protocol.status import expired

_GRANT_PAUSE = 0.1
_OPENING = 8
_SHORTEST, _LONG = 1800, 3600
"""Seconds that a watch lasts whose client asked for no time, as the API server has it."""


Open = Callable[[MemberRequest], Awaitable[UpstreamResponse]]
"""Open the watch of one namespace."""


class MergedWatch:
    """One watch of a client over namespaces that join and leave."""

    def __init__(
        self,
        request: WatchRequest,
        open_: Open,
        log: ResumeLog,
        share: Share | None = None,
        opening: asyncio.Semaphore | None = None,
    ) -> None:
        self._request = request
        self._opening = opening or asyncio.Semaphore(_OPENING)
        self._share = share or Share()
        self._open = open_
        self._log = log
        self._told = ToldOrder(request.key, request.version, {})
        self._queue = WaitingEvents()
        self._members: dict[str, asyncio.Task[None]] = {}
        self._frontier = Frontier()
        self._replaying: set[str] = set()
        self._owes_end = bool(request.initial_events) and request.bookmarks
        self._begun = asyncio.Event()
        self.headers: Headers = ()
        """Those of the first answer that began; all of them warn of the same version."""
        self._refusal: Exception | None = None
        self._left: set[str] = set()
        self._joining: set[str] = set()
        """Namespaces of which not all that was there when they joined is known to be told."""
        self._bookmarked = "0"
        self._failure: Exception | None = None
        seconds = request.seconds or random.randint(_SHORTEST, _LONG)
        self._until = time.monotonic() + seconds

    def begin(self, namespaces: Iterable[str]) -> None:
        """Watch the namespaces that there are now."""
        named = list(namespaces)
        if self._request.initial_events:
            self._replaying = set(named)
        places = self._places(named)
        known = {each: place for each, place in places.items() if place} if self._resumes else {}
        self._told = self._log.begin(self._request.key, self._request.version, known)
        for namespace, place in places.items():
            if place or not self._resumes:
                self._start(namespace, place, self._request.initial_events)
            else:
                self.join(namespace)

    @property
    def _resumes(self) -> bool:
        return _is_place(self._request.version) and not self._request.initial_events

    def _places(self, namespaces: list[str]) -> dict[str, str]:
        """Return where each namespace goes on; empty: with all that is in it.

        Where nothing is known of the version, it is that of a list, or of another replica's watch.
        """
        key, version = self._request.key, self._request.version
        reached = self._log.reached(key, version) if self._resumes else None
        if reached is None:
            return dict.fromkeys(namespaces, version)
        return {each: reached.get(each, "") for each in namespaces}

    async def begun(self) -> None:
        """Wait until the API server has begun one of the watches, or the time is over.

        Raises
        ------
        UpstreamRefused
            It refuses what is asked for.
        ClusterError
            It does not answer.
        """
        if self._members:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._begun.wait(), self._until - time.monotonic())
        if error := self._refusal or self._failure:
            raise error

    def join(self, namespace: str) -> bool:
        """Watch a further namespace, from all that is in it; return whether that is one watch more.

        What is in it may be older than what the client knows, so that it has no place there before
        it was told all of it. One that is made anew is still watched under its name, where it left
        a short while ago.
        """
        self._left.discard(namespace)
        watching = self._members.get(namespace)
        if watching and not watching.done():
            return False
        self._joining.add(namespace)
        self._start(namespace, "", initial_events=None)
        return True

    def leave(self, namespace: str) -> None:
        """Expect nothing more of a namespace that is gone; its last events may still come."""
        self._left.add(namespace)
        self._joining.discard(namespace)
        self._frontier.leave(namespace)
        self._replaying.discard(namespace)

    def revoke(self, namespace: str) -> None:
        """Tell nothing more of a namespace: the right to watch it has ended."""
        self.leave(namespace)
        if following := self._members.pop(namespace, None):
            following.cancel()

    def tell_last(self, namespace: str, line: bytes) -> None:
        """Tell the last event of a namespace that was revoked."""
        try:
            self._queue.put_nowait(ToldEvent(namespace, line, last=True))
        except asyncio.QueueFull:
            self.fail(expired("too old resource version: the watch is too slow"))

    def fail(self, error: Exception) -> None:
        """End by an error at once, whatever is still to be told."""
        self._failure = error
        with suppress(asyncio.QueueFull):
            self._queue.put_nowait(ToldEvent(""))
        self._begun.set()

    def end(self) -> None:
        """End as if the time were over: the client goes on where it is, by another watch."""
        self._until = 0.0
        with suppress(asyncio.QueueFull):
            self._queue.put_nowait(ToldEvent(""))
        self._begun.set()

    def close(self) -> None:
        """End all watches upstream."""
        for task in self._members.values():
            task.cancel()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the events in upstream spelling until the time is over.

        Raises
        ------
        Refused
            The place is lost: the client has to list again.
        ClusterError
            The API server does not answer.
        """
        while (left := self._until - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    told = await self._queue.get()
            except TimeoutError:
                return
            if error := self._failure or told.error:
                raise error
            if told.line and (line := self._next(told)):
                yield line

    def _next(self, told: ToldEvent) -> bytes:
        """Note what was told, and return the line for the client, if there is one."""
        head = read_event(told.line)
        if told.last:
            self._log.reach(self._told, told.namespace, "")
            self._log.tell(self._told, head.version)
            return told.line
        if told.namespace not in self._left:
            self._frontier.advance(told.namespace, head.version)
        if head.type != "ADDED":
            # What was there is told by events ADDED, before any other.
            self._joining.discard(told.namespace)
        is_event = head.type != "BOOKMARK"
        if told.namespace not in self._joining:
            self._log.reach(self._told, told.namespace, head.version, told=is_event)
        elif is_event:
            self._log.tell(self._told, head.version)
        if is_event:
            return told.line
        return self._bookmark(told, head)

    def _bookmark(self, told: ToldEvent, head: EventHead) -> bytes:
        behind = self._frontier.behind(self._frontier.versions)
        if head.ends_initial_events:
            self._replaying.discard(told.namespace)
        if self._replaying:
            return b""
        if self._owes_end:
            # Not only after the last one that had to end: a namespace may have left before.
            self._owes_end = False
            return self._send_bookmark(told.line, behind, ends=True)
        if not self._request.bookmarks or not behind:
            return b""
        if int(behind) <= int(self._bookmarked):
            return b""
        return self._send_bookmark(told.line, behind, ends=False)

    def _send_bookmark(self, line: bytes, version: str, *, ends: bool) -> bytes:
        self._bookmarked = version or self._bookmarked
        self._log.tell(self._told, version)
        return bookmark(line, version, ends_initial_events=ends)

    def _start(self, namespace: str, version: str, initial_events: bool | None) -> None:
        if _is_place(version):
            self._frontier.advance(namespace, version)
        follow = self._follow(namespace, version, initial_events)
        self._members[namespace] = asyncio.create_task(self._share.metered(follow))

    async def _follow(self, namespace: str, version: str, initial_events: bool | None) -> None:
        place = OpeningPlace(self._opening)
        try:
            while namespace not in self._left:
                seconds = max(int(self._until - time.monotonic()), 1) + 30
                request = MemberRequest(namespace, version, initial_events, seconds)
                await place.take()
                response = await self._opened(request, place)
                self.headers = self.headers or (response.headers if response else ())
                self._begun.set()
                if response is None:
                    return
                try:
                    async for line in event_lines(response, self._share, place):
                        head = _read_member_event(line)
                        version = head.version or version
                        if head.ends_initial_events:
                            initial_events = None
                        await self._queue.put(ToldEvent(namespace, line))
                finally:
                    response.close()
        except Exception as error:  # noqa: BLE001 - who reads the queue raises it
            if not self._begun.is_set():
                self._refusal = error
                self._begun.set()
            place.give_back()
            await self._queue.put(ToldEvent(namespace, error=error))
        finally:
            place.give_back()

    async def _opened(self, request: MemberRequest, place: OpeningPlace) -> UpstreamResponse | None:
        """Return the watch, as soon as the tenant may watch in a namespace that is new.

        None if the namespace goes before.
        """
        while request.namespace not in self._left:
            response = await self._open(request)
            if response.status == 200:
                return response
            body = await response.read()
            if not isinstance(error_of(response.status, body), Forbidden | NotFound):
                raise UpstreamRefused(response.status, response.headers, body)
            place.give_back()
            await asyncio.sleep(_GRANT_PAUSE)
            await place.take()
        return None


def _is_place(version: str) -> bool:
    """Return whether a resource version can be resumed from; the API server refuses others."""
    return version.isdecimal() and version != "0"


def _read_member_event(line: bytes) -> EventHead:
    head = read_event(line)
    if head.type == "ERROR":
        raise expired("too old resource version: the watch lost its place")
    return head
