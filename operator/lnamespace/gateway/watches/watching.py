"""Answer watches: of one namespace, of all of a tenant's, of cluster-scoped objects."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from lnamespace.gateway.fairness.in_flight import WatchCount, WatchCounts
from lnamespace.gateway.lists.empty_answers import current_version, empty_replay
from lnamespace.gateway.lists.parts import (
    Part,
    cluster_parts,
    has_default_namespace,
    namespace_part,
    request_matching_nothing,
)
from lnamespace.gateway.objects.synthetic import answer_synthetic
from lnamespace.gateway.objects.volumes import MarkedVolumes, no_volume_is_marked
from lnamespace.gateway.requests.answers import (
    UpstreamRefused,
    answer_json,
    send_events,
    use_websocket,
)
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.namespaces import TenantNamespaces
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.gateway.upstream.retrying import send_until_granted
from lnamespace.gateway.watches.merged_watches import MergedWatch
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.gateway.watches.watch_events import OpeningSlot, event_lines
from lnamespace.gateway.watches.watch_requests import MemberRequest, WatchRequest
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.bodies.encoded import events_down
from lnamespace.translate.objects.synthetic_objects import is_synthetic
from lnamespace.translate.protocol.list_options import asks_for_initial_events, takes_bookmarks
from lnamespace.translate.requests.headers import NOT_CACHED, headers_down


@dataclass(frozen=True)
class Watcher:
    """A handler of watches, each from one or more watches upstream."""

    upstream: Upstream
    log: ResumeLog
    marked: MarkedVolumes = no_volume_is_marked
    counts: WatchCounts = field(default_factory=WatchCounts)

    async def watch(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        """Answer a watch until its time is over or the client is gone.

        Raises
        ------
        Refused
            The watch cannot be had; nothing has been answered.
        ClusterError
            The API server does not answer; nothing has been answered.
        """
        size = max(len(namespaces.all()), 1) if call.over_namespaces else 1
        with self.counts.counted(call.view.tenant, size) as count:
            use_websocket(call.exchange, call.encoder, call.usage)
            if is_synthetic(call.request):
                await answer_synthetic(call)
            else:
                marked = self.marked(call.view.tenant)
                watch = _TenantWatch(self.upstream, self.log, call, namespaces, count, marked)
                await watch.answer()


@dataclass(frozen=True)
class _TenantWatch:
    """One watch of a client."""

    upstream: Upstream
    log: ResumeLog
    call: TenantCall
    namespaces: TenantNamespaces
    count: WatchCount
    marked: bool

    async def answer(self) -> None:
        request, view = self.call.request, self.call.view
        namespace = view.namespace_up(request.namespace) if request.namespace else ""
        if namespace in self.namespaces:
            await self.namespaces.wait_usable(namespace)
            await self._single(Part(namespace, request))
        elif request.resource.namespaced:
            await self._over_namespaces(namespace)
        elif len(parts := cluster_parts(request, marked=self.marked)) == 1:
            await self._single(parts[0])
        else:
            named = {part.name: part for part in parts}
            await self._merged(self._merged_watch(named), named)

    async def _single(self, part: Part) -> None:
        call, target = self.call, part.target(self.call.view)
        send = partial(self.upstream.send, "GET", target, call.identity, call.headers, lasting=True)
        recently_granted = partial(self.namespaces.recently_granted, part.name)
        slot = OpeningSlot(self.count.opening)
        await slot.acquire()
        try:
            response = await send_until_granted(send, recently_granted)
            if response.status != 200:
                slot.release()
                await answer_json(call, response.status, response.headers, await response.read())
                return
            try:
                await self._send(response.headers, event_lines(response, call.usage, slot))
            finally:
                response.close()
        finally:
            slot.release()

    async def _over_namespaces(self, only: str) -> None:
        """Answer from a watch of each namespace; ``only``: of that one, once it exists."""
        parts = self._namespace_parts(only)
        first = b"" if parts else await self._empty_replay()
        # Again: a namespace created meanwhile may have objects older than that version.
        parts = parts or self._namespace_parts(only)
        merged = self._merged_watch(parts)

        def follow(namespace: str, present: bool) -> None:
            if only and namespace != only:
                if not has_default_namespace(self.namespaces.all(), self.call.view):
                    merged.leave("")
                return
            if not present:
                merged.leave(namespace)
                return
            parts[namespace] = namespace_part(self.call.request, namespace, self.call.view)
            if not self.count.has_room():
                # Otherwise new namespaces would add watches beyond the limit.
                merged.end()
            elif merged.join(namespace):
                self.count.add()

        stop = self.namespaces.listen(follow)
        try:
            await self._merged(merged, list(parts), b"" if parts else first)
        finally:
            stop()

    async def _empty_replay(self) -> bytes:
        """Return the bookmark after no initial events; empty if the client wants none."""
        request = self.call.request
        if not (asks_for_initial_events(request) and takes_bookmarks(request)):
            return b""
        return empty_replay(request, self.call.accept, await current_version(self.upstream))

    def _namespace_parts(self, only: str) -> dict[str, Part]:
        request, view = self.call.request, self.call.view
        if only and not has_default_namespace(self.namespaces.all(), view):
            return {}
        if only:
            # It may be created later. Until then a client waits for the first bookmark too.
            return {"": Part("", request_matching_nothing(request))}
        return {each: namespace_part(request, each, view) for each in self.namespaces.all()}

    def _merged_watch(self, parts: Mapping[str, Part]) -> MergedWatch:
        call = self.call

        async def open_member(member: MemberRequest) -> UpstreamResponse:
            target = parts[member.namespace].target(call.view, member.parameters)
            headers = call.headers
            return await self.upstream.send("GET", target, call.identity, headers, lasting=True)

        request = WatchRequest.from_request(call.request, call.view.tenant)
        if not parts:
            request = replace(request, initial_events=False)
        return MergedWatch(request, open_member, self.log, call.usage, self.count.opening)

    async def _merged(self, merged: MergedWatch, names: Iterable[str], first: bytes = b"") -> None:
        """Answer by the events of several watches; ``first`` is sent before them."""
        try:
            merged.begin(names)
            await merged.wait_begun()
            await self._send(merged.headers, merged.lines(), first)
        except UpstreamRefused as refused:
            await answer_json(self.call, refused.status, refused.headers, refused.body)
        finally:
            merged.close()

    async def _send(
        self, headers: Headers, lines: AsyncIterator[bytes], first: bytes = b""
    ) -> None:
        call, encoding = self.call, self.call.encoder
        translate = events_down(call.request, call.view)
        content_type = ("Content-Type", encoding.stream_content_type)
        down = headers_down(headers, call.view, call.base)
        await call.exchange.start(200, (content_type, *(down or (NOT_CACHED,))))
        if first:
            await call.exchange.send(encoding.encode_event(first))
        await send_events(call.exchange, encoding, lines, translate)
