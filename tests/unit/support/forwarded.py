"""A tenant's requests through the forwarding part of the gateway, on real sockets.

The test is the API server (:mod:`tests.unit.support.server`); it answers each request itself.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import urlsplit

from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.errors import ClusterError
from lnamespace.gateway.forwarding import Forwarder
from lnamespace.gateway.lists.listing import Lister
from lnamespace.gateway.lists.sealing import TokenSealer
from lnamespace.gateway.objects.cluster_quota import ClusterQuota
from lnamespace.gateway.objects.definition_pace import DefinitionPace
from lnamespace.gateway.objects.deletion_turns import DeletionTurns
from lnamespace.gateway.objects.schema_quota import SchemaQuota
from lnamespace.gateway.objects.stored_versions import StoredVersions
from lnamespace.gateway.refusals import unavailable
from lnamespace.gateway.requests.answer_encoders import answer_encoder
from lnamespace.gateway.requests.answers import refuse
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.namespaces import TenantNamespaces
from lnamespace.gateway.tenants.totals import TenantTotals
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.gateway.watches.watching import Watcher
from lnamespace.http.exchange import Exchange
from lnamespace.http.limits import ServerLimits
from lnamespace.http.server import HttpServer
from lnamespace.http.upstream import UpstreamPool
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.client import ApiServerAddress, Client
from lnamespace.runtime.addresses import Address
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.encodings import encoding_of
from lnamespace.translate.protocol.request import ResourceRequest, parse_request
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests.headers import headers_up

from tests.unit.support import server
from tests.unit.support.translation import ACME


async def _no_token() -> str:
    return ""


@dataclass
class Tenant:
    """A tenant's client, the API server of the platform, and what the gateway knows.

    Parameters
    ----------
    platform
        What comes in at the API server.
    other_resources
        Is set when the tenant is served other resources.
    namespaces
        Those of the tenant, in upstream spelling.
    """

    platform: server.Server
    namespaces: TenantNamespaces
    client: UpstreamPool
    other_resources: asyncio.Event

    def open(self, *names: str) -> None:
        """Let the tenant have namespaces."""
        for each in names:
            self.namespaces.add(each)
            self.namespaces.grant(each, granted=True)

    def ask(
        self, method: str, target: str, body: bytes = b"", **headers: str
    ) -> "asyncio.Task[UpstreamResponse]":
        """Send a request; underscores in the names of headers are dashes."""
        sent = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return asyncio.create_task(self.client.send(method, target, sent, body))


@asynccontextmanager
async def forwarding(
    view: TenantView = ACME, totals: TenantTotals | None = None
) -> AsyncIterator[Tenant]:
    """Serve one tenant for as long as the block lasts."""
    namespaces, other_resources = TenantNamespaces(), asyncio.Event()
    async with server.serving() as platform:
        upstream = Upstream(_pool(platform.url), _no_token)
        sealer = TokenSealer([b"k" * 32])
        forwarder = Forwarder(
            upstream,
            Lister(upstream, sealer),
            Watcher(upstream, ResumeLog()),
            cast("Client", None),
            SchemaQuota(lambda _: {}, lambda _: 0),
            ClusterQuota(upstream, lambda _: ContentLimits()),
            StoredVersions(cast("Client", None), upstream),
            DeletionTurns(lambda _: {}),
            DefinitionPace(lambda _: 0),
        )

        async def handle(exchange: Exchange) -> None:
            try:
                call = replace(_call(exchange, view), other_resources=other_resources.wait)
                await forwarder.forward(call, namespaces, totals or TenantTotals())
            except Refused as refused:
                await refuse(exchange, refused)
            except ClusterError:
                await refuse(exchange, unavailable())

        gateway = HttpServer(handle, ServerLimits(finish=0.1))
        address = await gateway.start(Address("127.0.0.1", 0))
        client = _pool(f"http://127.0.0.1:{address.port}")
        try:
            yield Tenant(platform, namespaces, client, other_resources)
        finally:
            client.close()
            await gateway.stop()
            upstream.close()


def _pool(url: str) -> UpstreamPool:
    address = urlsplit(url)
    return UpstreamPool(ApiServerAddress(str(address.hostname), address.port or 0, None))


def _call(exchange: Exchange, view: TenantView) -> TenantCall:
    sent = exchange.request
    request = parse_request(sent.method, sent.target, view.resources, view.tenant)
    assert isinstance(request, ResourceRequest)
    encoding = encoding_of(request, ",".join(sent.values("accept")))
    headers = headers_up(request, sent.headers, encoding.accept)
    answer = answer_encoder(encoding.media_type)
    return TenantCall(exchange, request, view, "ann", headers, answer)
