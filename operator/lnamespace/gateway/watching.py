"""Answer watches: of one namespace, of all of a tenant's, of cluster-scoped objects."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

import msgspec

from lnamespace.errors import ClusterError
from lnamespace.gateway.answers import UpstreamRefused, answer_json
from lnamespace.gateway.calls import TenantCall
from lnamespace.gateway.grants import send_until_granted
from lnamespace.gateway.http.upstream import UpstreamResponse
from lnamespace.gateway.made import answer_made
from lnamespace.gateway.merging import ResumeLog
from lnamespace.gateway.namespaces import TenantNamespaces
from lnamespace.gateway.parts import Part, cluster_parts, namespace_part, nothing_of
from lnamespace.gateway.upstream import Upstream
from lnamespace.gateway.watches import MemberRequest, MergedWatch, WatchRequest, event_lines
from lnamespace.translate.bodies import event_down
from lnamespace.translate.made_objects import is_made
from lnamespace.translate.status import ApiStatus, Refused, too_many_requests

_AT_ONCE = 1000
"""Watches upstream that one tenant may have: each is a connection, with its buffers."""


@dataclass(frozen=True)
class Watcher:
    """Answer watches from as many watches upstream as they are made of."""

    upstream: Upstream
    log: ResumeLog
    running: Counter[str] = field(default_factory=Counter)
    """Watches upstream by tenant."""

    async def watch(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        """Answer a watch until its time is over or the client is gone.

        Raises
        ------
        Refused
            The watch cannot be had; nothing has been answered.
        ClusterError
            The API server does not answer; nothing has been answered.
        """
        tenant, spaces = call.view.tenant, max(len(namespaces.all()), 1)
        size = spaces if call.over_namespaces else 1
        if not self._has_room(tenant, size):
            raise too_many_requests("this LCluster has too many watches open", 5)
        self.running[tenant] += size
        try:
            if is_made(call.request):
                await answer_made(call)
            else:
                await self._watch(call, namespaces)
        finally:
            self.running[tenant] -= size

    def _has_room(self, tenant: str, size: int) -> bool:
        """Return whether a tenant may have so many watches more."""
        return self.running[tenant] + size <= _AT_ONCE

    async def _watch(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        request = call.request
        single = call.view.namespace_up(request.namespace) if request.namespace else ""
        if single in namespaces or not request.resource.namespaced:
            parts = [Part(single, request)] if single else cluster_parts(request)
            if len(parts) == 1:
                if single:
                    await namespaces.usable(single)
                await self._single(call, parts[0], namespaces)
            else:
                await self._merged(call, {part.name: part for part in parts}, None, "")
        else:
            await self._merged(call, _parts(call, namespaces, single), namespaces, single)

    async def _single(self, call: TenantCall, part: Part, namespaces: TenantNamespaces) -> None:
        target = part.target(call.view)
        send = partial(self.upstream.send, "GET", target, call.acting, call.headers)
        response, refusal = await send_until_granted(send, partial(namespaces.fresh, part.name))
        if response.status != 200:
            body = await response.read() if refusal is None else refusal
            await answer_json(call, response.status, response.headers, body)
            return
        try:
            await _send(call, event_lines(response))
        finally:
            response.close()

    async def _merged(
        self,
        call: TenantCall,
        parts: dict[str, Part],
        namespaces: TenantNamespaces | None,
        only: str,
    ) -> None:
        """Answer from several watches; ``only``: no other namespace may join."""

        async def open_member(member: MemberRequest) -> UpstreamResponse:
            part = parts[member.namespace]
            target = part.target(call.view, member.parameters)
            return await self.upstream.send("GET", target, call.acting, call.headers)

        tenant, joined = call.view.tenant, 0

        def follow(namespace: str, there: bool) -> None:
            nonlocal joined
            if only and namespace != only:
                return
            if not there:
                merged.leave(namespace)
                return
            parts[namespace] = namespace_part(call.request, namespace, call.view)
            if not self._has_room(tenant, 1):
                # Else the watches of few namespaces would become ever so many by new ones.
                merged.end()
            elif merged.join(namespace):
                joined += 1
                self.running[tenant] += 1

        merged = MergedWatch(WatchRequest.of(call.request, call.view.tenant), open_member, self.log)
        stop = namespaces.listen(follow) if namespaces is not None else None
        try:
            merged.begin(parts)
            await merged.begun()
            await _send(call, merged.lines())
        except UpstreamRefused as refused:
            await answer_json(call, refused.status, refused.headers, refused.body)
        finally:
            self.running[tenant] -= joined
            merged.close()
            if stop:
                stop()


def _parts(call: TenantCall, namespaces: TenantNamespaces, only: str) -> dict[str, Part]:
    if only:
        # It is not there, and may come. Until then a client waits for the first bookmark too.
        return {"": Part("", nothing_of(call.request))}
    return {each: namespace_part(call.request, each, call.view) for each in namespaces.all()}


async def _send(call: TenantCall, lines: AsyncIterator[bytes]) -> None:
    """Answer with the events as they come, and by an ERROR event with what ends them early."""
    encoding = call.encoding
    await call.exchange.start(200, (("Content-Type", encoding.stream_content_type),))
    try:
        async with aclosing(lines) as open_lines:  # type: ignore[type-var]
            async for line in open_lines:
                event = event_down(call.request, "application/json", line, call.view)
                if event is not None:
                    await call.exchange.send(encoding.encode_event(event))
    except Refused as refused:
        await call.exchange.send(encoding.encode_event(error_event(refused.status)))
    except (ClusterError, UpstreamRefused):
        # As the API server ends a watch when it stops: the client goes on at its place.
        pass
    await call.exchange.end()


def error_event(status: ApiStatus) -> bytes:
    """Return the event by which a watch ends early."""
    return msgspec.json.encode({"type": "ERROR", "object": msgspec.Raw(status.encode())})
