"""Serve one request at the endpoint ``mine``, from authentication to the answer."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lnamespace.gateway.authorization.lasting_rights import answer_while_allowed
from lnamespace.gateway.destinations import Destination
from lnamespace.gateway.discovery.upstream_discovery import UpstreamDiscovery
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.gateway.fairness.request_usage import MemoryAccounts, RequestUsage
from lnamespace.gateway.mine.callers import CallerAuthenticator, MineCaller, impersonation_of
from lnamespace.gateway.mine.calls import MineCall, Platform
from lnamespace.gateway.mine.lists import MineLister
from lnamespace.gateway.mine.proxying import ProxiedRequest, headers_for_platform
from lnamespace.gateway.mine.rights import NamespaceRights
from lnamespace.gateway.mine.spans import (
    confirm_options,
    parse_platform_request,
    platform_table,
    spans_namespaces,
)
from lnamespace.gateway.mine.watches import MineWatcher
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.translate.discovery.groups import DiscoveredGroup
from lnamespace.translate.names.tenant_view import NAMESPACES
from lnamespace.translate.protocol.percent import encode_query, encode_segment
from lnamespace.translate.protocol.request import VERBS, PathRequest, ResourceRequest
from lnamespace.translate.protocol.resources import ResourceTable
from lnamespace.translate.protocol.verbs import CONNECTIONS

_DISCOVERY = ("/api", "/apis", "/openapi", "/version")
_COUNTED = PathRequest("get", "/")
_CONFIRM_SECONDS = 5.0
"""Seconds between two checks that the caller of an open watch or stream may still impersonate."""

Request = ResourceRequest | PathRequest | None


@dataclass(frozen=True)
class CallerRequest:
    """A request whose caller is authenticated."""

    exchange: Exchange
    destination: Destination
    caller: MineCaller
    usage: RequestUsage


class PlatformResources:
    """The resources that the platform's API server serves, by what discovery says now."""

    def __init__(self, discovery: UpstreamDiscovery) -> None:
        self._discovery = discovery
        self._groups: tuple[DiscoveredGroup, ...] = ()
        self._table = ResourceTable()

    @property
    def table(self) -> ResourceTable:
        """Return all resources."""
        if self._groups is not self._discovery.groups:
            self._groups = self._discovery.groups
            self._table = platform_table(self._groups)
        return self._table


@dataclass(frozen=True)
class MineHandler:
    """A handler that answers users of the platform with their own namespaces instead of all."""

    authenticator: CallerAuthenticator
    platform: Platform
    resources: PlatformResources
    rights: NamespaceRights
    lister: MineLister
    watcher: MineWatcher
    in_flight: InFlight
    accounts: MemoryAccounts = field(default_factory=MemoryAccounts)

    async def serve(self, exchange: Exchange, destination: Destination) -> None:
        """Answer a request.

        Raises
        ------
        Refused
            The request is refused; nothing has been answered.
        ClusterError
            The API server does not answer.
        """
        try:
            await self._serve_caller(exchange, destination)
        except UpstreamRefused as refused:
            kept = [each for each in refused.headers if each[0] in ("content-type", "retry-after")]
            await exchange.answer(refused.status, kept, refused.body)

    async def _serve_caller(self, exchange: Exchange, destination: Destination) -> None:
        login = await self.authenticator.authenticate(exchange)
        sent = exchange.request
        request = parse_platform_request(sent.method, destination.target, self.resources.table)
        exchange.verb = request.verb if request else VERBS.get(sent.method, "")
        exchange.connection.owner = owner = login.owner
        cut = exchange.connection.transport.abort
        with (
            self.in_flight.holding(owner, len(sent.body)),
            self.accounts.account_for(owner, cut) as usage,
        ):
            caller = await self._acting(login, impersonation_of(sent.headers), usage)
            inbound = CallerRequest(exchange, destination, caller, usage)
            with self._cut_after_impersonation(inbound):
                await self._counted(inbound, request)

    async def _counted(self, inbound: CallerRequest, request: Request) -> None:
        """Answer a request within the concurrency limit of the login."""
        owner, usage = inbound.caller.account, inbound.usage
        size = len(inbound.exchange.request.body)
        if inbound.exchange.verb == "watch":
            await usage.metered(self._answer(inbound, request))
            return
        with self.in_flight.counted(owner, _COUNTED):
            async with self.in_flight.limit_concurrency(owner, request or _COUNTED, size):
                await usage.metered(self._answer(inbound, request))

    @contextmanager
    def _cut_after_impersonation(self, inbound: CallerRequest) -> Iterator[None]:
        """Cut a watch or stream when its caller may not impersonate any more.

        No RoleBinding in the namespace changes then: sudo is bound to a group or an account there,
        and a removed sudoer loses nothing but the right to impersonate them.
        """
        sent = inbound.exchange.request
        if not inbound.caller.impersonator or not (sent.method == "GET" or sent.upgrade):
            yield
            return

        def cut(ended: asyncio.Task[None]) -> None:
            # Also after an unexpected failure, after which there would be no further check.
            if not ended.cancelled():
                inbound.exchange.connection.transport.abort()

        keeper = asyncio.create_task(self._impersonation_ended(inbound))
        keeper.add_done_callback(cut)
        try:
            yield
        finally:
            keeper.cancel()

    async def _impersonation_ended(self, inbound: CallerRequest) -> None:
        """Wait until a caller may not impersonate any more."""
        while True:
            await asyncio.sleep(_CONFIRM_SECONDS)
            may = self.authenticator.may_impersonate(inbound.caller)
            if not await inbound.usage.metered(may):
                return

    async def _acting(self, login: MineCaller, acting: Headers, usage: RequestUsage) -> MineCaller:
        """Return the caller: the login, or the user whom it impersonates."""
        if not acting:
            return login
        # This counts as a request: users without any right had hundreds reviewed at a time.
        with self.in_flight.counted(login.owner, _COUNTED):
            async with self.in_flight.limit_concurrency(login.owner, _COUNTED):
                return await usage.metered(self.authenticator.impersonated(login, acting))

    async def _answer(self, inbound: CallerRequest, request: Request) -> None:
        exchange, caller = inbound.exchange, inbound.caller
        if isinstance(request, ResourceRequest) and spans_namespaces(request):
            call = MineCall.from_request(
                exchange, request, caller, self.platform, self.rights, inbound.usage
            )
            if not call.of_namespaces:
                caller.refuse_certificate()
            confirm_options(request)
            if request.verb == "watch":
                await self.watcher.watch(call)
                return
            await self.lister.answer(call)
        elif not caller.credentials and (target := self._open_to_all(caller, request)):
            sent = exchange.request
            headers = headers_for_platform(sent.headers, upgrade=False)
            proxied = ProxiedRequest(exchange, target, inbound.destination.base, inbound.usage)
            await proxied.answer(self.platform.as_gateway, headers)
        else:
            caller.refuse_certificate()
            await self._pass(inbound, request)

    def _open_to_all(self, caller: MineCaller, request: Request) -> str:
        """Return the URL of a document that the gateway reads for every caller; or empty."""
        if request is None or request.verb != "get":
            return ""
        query = f"?{encode_query(request.query)}" if request.query else ""
        if isinstance(request, PathRequest):
            path = request.path
            known = path in _DISCOVERY or path.startswith(tuple(f"{each}/" for each in _DISCOVERY))
            return "/".join(map(encode_segment, path.split("/"))) + query if known else ""
        if request.resource.group_resource != NAMESPACES or request.subresource:
            return ""
        mine = request.name in self.rights.held(caller.subjects)
        return f"/api/v1/namespaces/{encode_segment(request.name)}{query}" if mine else ""

    async def _pass(self, inbound: CallerRequest, request: Request) -> None:
        exchange, destination = inbound.exchange, inbound.destination
        sent = exchange.request
        headers = headers_for_platform(sent.headers, upgrade=sent.upgrade)
        proxied = ProxiedRequest(exchange, destination.target, destination.base, inbound.usage)
        answer = partial(proxied.answer, self.platform.as_caller, headers)
        if not isinstance(request, ResourceRequest):
            await answer()
        elif request.verb == "watch":
            with self.watcher.counts.counted(inbound.caller.account):
                await self._while_held(inbound, answer, request.authorization_namespace)
        elif request.subresource in CONNECTIONS:
            await self._while_held(inbound, answer, request.authorization_namespace)
        else:
            await answer()

    async def _while_held(
        self,
        inbound: CallerRequest,
        answer: Callable[[], Coroutine[Any, Any, None]],
        namespace: str,
    ) -> None:
        """Answer a request; cut a watch or stream when the present rights in its namespace end."""
        if namespace not in self.rights.held(inbound.caller.subjects):
            await answer()
            return
        changed = asyncio.Event()
        stop = self.rights.listen(inbound.caller.subjects, changed.set)

        def next_change() -> Awaitable[object]:
            changed.clear()
            return changed.wait()

        def confirm() -> None:
            if namespace not in self.rights.held(inbound.caller.subjects):
                raise ConnectionAbortedError("the rights in the namespace have ended")

        try:
            # It runs in a task of its own, whose time counts for the caller too.
            metered = inbound.usage.metered
            await answer_while_allowed(lambda: metered(answer()), next_change, confirm)
        finally:
            stop()
