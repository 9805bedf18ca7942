"""The process ``lnamespace gateway``: its parts, its start and its graceful end."""

import asyncio
import logging
import ssl
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import msgspec

from lnamespace.access.content_limits import content_limits
from lnamespace.errors import ClusterError, SettingsError
from lnamespace.gateway.audit import AuditLog
from lnamespace.gateway.authorities import RootAuthority
from lnamespace.gateway.certificates import (
    ClientCertificates,
    ServerContext,
    webhook_context,
)
from lnamespace.gateway.content import ContentQuota
from lnamespace.gateway.discovery import DiscoveryDocuments
from lnamespace.gateway.forwarding import Forwarder
from lnamespace.gateway.http.server import HttpServer
from lnamespace.gateway.http.upstream import UpstreamAddress, UpstreamPool
from lnamespace.gateway.in_flight import InFlight
from lnamespace.gateway.listing import Lister
from lnamespace.gateway.logins import Authenticator
from lnamespace.gateway.merging import ResumeLog
from lnamespace.gateway.mine.calls import Platform
from lnamespace.gateway.mine.door import MineDoor, PlatformResources
from lnamespace.gateway.mine.lists import MineLister
from lnamespace.gateway.mine.rights import NamespaceRights
from lnamespace.gateway.mine.visitors import Visitors
from lnamespace.gateway.mine.watches import MineWatcher
from lnamespace.gateway.reviewing import Reviewer
from lnamespace.gateway.role_writes import RoleWriteGuard
from lnamespace.gateway.sealing import TokenSealer, derive_key
from lnamespace.gateway.serving import Gateway
from lnamespace.gateway.signer import Signer, shared_root
from lnamespace.gateway.tenants import Tenants
from lnamespace.gateway.upstream import Upstream
from lnamespace.gateway.watching import Watcher
from lnamespace.gateway.webhooks import LIMITS, WebhookHandler, WebhookProxies
from lnamespace.kube.client import Access, Client, connect
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.model.names import Names
from lnamespace.runtime.addresses import listen_at
from lnamespace.runtime.lifecycle import running, serve_until_stopped
from lnamespace.runtime.lines import LineWriter
from lnamespace.runtime.probes import Probes, serve_probes
from lnamespace.settings import Settings
from lnamespace.translate.allowances import decode_allowances
from lnamespace.translate.published import Published
from lnamespace.translate.webhook_proxy import ProxyService

_CLIENT_CA = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

_CERTIFICATE_SECONDS = 10.0
_CERTIFIED = (
    "--gateway-mine: the gateway logs in to the API server by a client certificate, which would "
    "stand for everybody: give it a token"
)

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Serve tenants until a signal asks to end.

    Raises
    ------
    LNamespaceError
        The gateway cannot run; the message says why.
    """
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    names = Names(settings.api_group_suffix)
    metrics = GatewayMetrics.new(names.group)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            connect(Access(settings.kubeconfig, settings.context))
        )
        target = client.target()
        if target.certified and settings.gateway_mine == "yes":
            raise SettingsError(_CERTIFIED)
        pool = UpstreamPool(
            UpstreamAddress(target.host, target.port, target.context, target.server_name)
        )
        upstream = Upstream(pool, client.token)
        stack.callback(upstream.close)
        await upstream.find_account()
        context = ServerContext(Path(settings.gateway_certificate_directory))
        authenticator = Authenticator(upstream)
        root = await _root(settings, client)
        clients = ClientCertificates(await _platform_authorities(settings, client), root)
        authenticator.use(clients)
        context.use(clients)
        sealer = TokenSealer((derive_key(context.private_key()),))
        proxies = _webhook_proxies(settings, root)
        allowances = decode_allowances(settings.gateway_allow)
        rights, told = NamespaceRights(), ResumeLog()
        webhooks = proxies.of if proxies else None
        tenants = Tenants(client, upstream, names, allowances, webhooks, rights.take)
        await stack.enter_async_context(running(tenants.run()))
        await tenants.synced()
        rights.begin(tenants.bindings_version)
        if root:
            signer = Signer(client, names.lcluster_label, tenants, root)
            await stack.enter_async_context(running(signer.run()))
        platform = Platform(upstream, Upstream(pool, _nobody))
        visitors = Visitors(authenticator, tenants, platform.theirs)
        resources, lister = PlatformResources(tenants.discovery), MineLister(sealer)
        in_flight = InFlight(settings.gateway_requests_in_flight, "you")
        mine = MineDoor(visitors, platform, resources, rights, lister, MineWatcher(told), in_flight)
        gateway = Gateway(
            settings.gateway_host,
            tenants,
            authenticator,
            Forwarder(upstream, Lister(upstream, sealer), Watcher(upstream, told)),
            Reviewer(upstream),
            RoleWriteGuard(upstream),
            DiscoveryDocuments(upstream, Published()),
            InFlight(settings.gateway_requests_in_flight),
            ContentQuota(content_limits(settings), tenants.definitions_of),
            metrics,
            mine if settings.gateway_mine == "yes" else None,
            _audit_log(settings, names, metrics, stack),
        )
        server = HttpServer(gateway.handle)
        servers = [server]
        if proxies:
            servers.append(await _serve_webhooks(settings, proxies, tenants, upstream))
        address = await _listen(server, "gateway_listen", settings, context.entry)
        log.info("listening", extra={"address": address})
        probes = Probes(
            partial(_problem, tenants, server), partial(_measure, tenants, server, metrics)
        )
        await stack.enter_async_context(serve_probes(settings.health_listen, probes))
        await stack.enter_async_context(running(_keep_certificate(context)))
        await serve_until_stopped(settings.drain_seconds, *servers)


def _audit_log(
    settings: Settings, names: Names, metrics: GatewayMetrics, stack: AsyncExitStack
) -> AuditLog | None:
    """Return the audit log, which is closed with the stack; None where there is to be none."""
    if not settings.gateway_audit_log:
        return None
    try:
        writer = LineWriter(settings.gateway_audit_log, metrics.audit_lost.inc)
    except OSError as error:
        raise SettingsError(f"--gateway-audit-log: {error}") from error
    stack.callback(writer.close)
    return AuditLog(names, writer)


def _problem(tenants: Tenants, server: HttpServer) -> str | None:
    """Return why no client should come here now, or None."""
    if server.draining:
        return "stopping"
    return None if tenants.current else "the caches are not complete"


def _measure(tenants: Tenants, server: HttpServer, metrics: GatewayMetrics) -> bytes:
    """Return all metrics in Prometheus' text format."""
    metrics.connections.set(server.connections)
    metrics.tenants.set(len(tenants))
    served = {each.name: len(each.namespaces.all()) for each in tenants}
    metrics.forget_lclusters(served)
    for name, namespaces in served.items():
        metrics.lcluster_namespaces.labels(name).set(namespaces)
    return metrics.text()


async def _nobody() -> str:
    """Return no credentials: a request has those of its sender."""
    return ""


async def _keep_certificate(context: ServerContext) -> None:
    """Serve a renewed certificate soon after it is there."""
    while True:
        await asyncio.sleep(_CERTIFICATE_SECONDS)
        try:
            context.reload()
        except SettingsError as error:
            log.warning("the certificate cannot be read", extra={"error": str(error)})


async def _serve_webhooks(
    settings: Settings, proxies: WebhookProxies, tenants: Tenants, upstream: Upstream
) -> HttpServer:
    in_flight = InFlight(settings.gateway_requests_in_flight)
    server = HttpServer(WebhookHandler(tenants, upstream, in_flight).handle, LIMITS)
    context = webhook_context(proxies.root, proxies.service.host)
    address = await _listen(server, "gateway_webhook_listen", settings, context)
    log.info("ready to be asked for webhooks", extra={"address": address})
    return server


async def _listen(
    server: HttpServer, option: str, settings: Settings, context: ssl.SSLContext
) -> str:
    """Begin to listen where an option says; return the real address."""
    flag = f"--{option.replace('_', '-')}"
    start = partial(server.start, context=context)
    return str(await listen_at(flag, getattr(settings, option), start))


def _webhook_proxies(settings: Settings, root: RootAuthority | None) -> WebhookProxies | None:
    """Return how the API server reaches the webhooks of tenants; None where they have none."""
    if not settings.gateway_webhook_service or root is None:
        return None
    try:
        service = ProxyService.parse(settings.gateway_webhook_service)
    except ValueError as error:
        raise SettingsError(f"--gateway-webhook-service {error}") from error
    return WebhookProxies(root, service)


async def _root(settings: Settings, client: Client) -> RootAuthority | None:
    """Return what signs the certificates of LClusters; None where nothing does."""
    secret = settings.gateway_signer_secret
    return await shared_root(client, secret) if secret else None


async def _platform_authorities(settings: Settings, client: Client) -> str:
    """Return the CAs by which the platform's API server knows its people."""
    if settings.gateway_client_ca_file:
        return _read(settings.gateway_client_ca_file)
    try:
        body = await client.get(_CLIENT_CA)
    except ClusterError as error:
        raise SettingsError(f"--gateway-client-ca-file is empty, and {error}") from error
    return msgspec.json.decode(body, type=_ConfigMap).data.get("client-ca-file", "")


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise SettingsError(f"--gateway-client-ca-file: {error}") from error


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}
