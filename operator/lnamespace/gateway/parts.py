"""The parts of the process ``lnamespace gateway``, made as its options say."""

import logging
import ssl
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from lnamespace.access.lcluster_content import ContentLimits, content_limits
from lnamespace.errors import OptionError, SettingsError
from lnamespace.gateway.audit import AuditLog
from lnamespace.gateway.authentication.logins import Authenticator
from lnamespace.gateway.authorization.reviewing import Reviewer
from lnamespace.gateway.authorization.role_writes import EscalationCheck
from lnamespace.gateway.certificates.authorities import RootAuthority
from lnamespace.gateway.certificates.serving_pairs import serving_pair
from lnamespace.gateway.certificates.signer import Signer, publish_root, shared_root
from lnamespace.gateway.certificates.tls import (
    ClientCertificates,
    ServerContext,
    own_context,
    platform_authorities,
)
from lnamespace.gateway.controllers.conversion_clients import ConversionClients
from lnamespace.gateway.controllers.failing_converters import FailingConverters
from lnamespace.gateway.controllers.full_definitions import FullDefinitions
from lnamespace.gateway.controllers.stored_conditions import StoredConditions
from lnamespace.gateway.controllers.unserved_kinds import UnservedKinds
from lnamespace.gateway.controllers.withheld_schemas import WithheldSchemas
from lnamespace.gateway.discovery.paths import DiscoveryDocuments
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.gateway.fairness.request_usage import MemoryAccounts
from lnamespace.gateway.forwarding import Forwarder
from lnamespace.gateway.lists.listing import Lister
from lnamespace.gateway.lists.sealing import TokenSealer, derive_key
from lnamespace.gateway.mine.callers import CallerAuthenticator
from lnamespace.gateway.mine.calls import Platform
from lnamespace.gateway.mine.handler import MineHandler, PlatformResources
from lnamespace.gateway.mine.lists import MineLister
from lnamespace.gateway.mine.lnamespaces import reflect_lnamespaces
from lnamespace.gateway.mine.rights import NamespaceRights
from lnamespace.gateway.mine.watches import MineWatcher
from lnamespace.gateway.objects.cluster_quota import ClusterQuota
from lnamespace.gateway.objects.content import ContentQuota
from lnamespace.gateway.objects.definition_pace import DefinitionPace
from lnamespace.gateway.objects.deletion_turns import DeletionTurns
from lnamespace.gateway.objects.schema_quota import SchemaQuota
from lnamespace.gateway.objects.stored_versions import StoredVersions
from lnamespace.gateway.objects.volumes import MarkedVolumes, no_volume_is_marked
from lnamespace.gateway.pods import certified_hosts
from lnamespace.gateway.serving import Gateway
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.object_counts import ObjectCounter
from lnamespace.gateway.tenants.usage import TenantUsage
from lnamespace.gateway.tenants.volume_sizes import VolumeSizes
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.gateway.watches.watching import Watcher
from lnamespace.gateway.webhooks import LIMITS, WebhookHandler, webhook_route
from lnamespace.http.server import HttpServer
from lnamespace.http.upstream import UpstreamPool
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.model.names import Names
from lnamespace.runtime.addresses import listen_at
from lnamespace.runtime.lifecycle import running
from lnamespace.runtime.lines import LineWriter
from lnamespace.settings import Settings
from lnamespace.translate.discovery.published import Published, decode_published
from lnamespace.translate.names.allowances import decode_allowances
from lnamespace.translate.names.webhook_routes import GatewayService

_CERTIFIED = (
    "--gateway-mine: the gateway logs in to the API server by a client certificate, which would "
    "stand for everybody: give it a token"
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GatewayParts:
    """The parts of the gateway that its servers share.

    Parameters
    ----------
    stack
        Closed when the process ends.
    context
        The TLS context of the port of all clients.
    root
        The CA above those of LClusters; None where there is none.
    audit_lock
        Locked for each write to the audit log; None if no other process writes there.
    resume_log
        The events that watches have sent, of tenants and at the endpoint ``mine``.
    """

    settings: Settings
    stack: AsyncExitStack
    client: Client
    platform: Platform
    context: ServerContext
    authenticator: Authenticator
    root: RootAuthority | None
    metrics: GatewayMetrics
    audit_lock: int | None
    rights: NamespaceRights = field(default_factory=NamespaceRights)
    resume_log: ResumeLog = field(default_factory=ResumeLog)
    accounts: MemoryAccounts = field(default_factory=MemoryAccounts)

    @classmethod
    async def begin(
        cls, settings: Settings, stack: AsyncExitStack, audit_lock: int | None
    ) -> "GatewayParts":
        """Connect to the API server, and read the certificates and CAs."""
        metrics = GatewayMetrics.new(Names(settings.api_group_suffix).group)
        access = Access(settings.kubeconfig, settings.context)
        client = await stack.enter_async_context(connect(access))
        platform = _platform(settings, client)
        stack.callback(platform.as_gateway.close)
        await platform.as_gateway.find_account()
        secret = settings.gateway_signer_secret
        root = await shared_root(client, secret) if secret else None
        context = ServerContext(serving_pair(settings, root))
        authenticator = Authenticator(platform.as_gateway)
        clients = ClientCertificates(await platform_authorities(client), root)
        authenticator.use(clients)
        context.use(clients)
        return cls(
            settings, stack, client, platform, context, authenticator, root, metrics, audit_lock
        )

    @property
    def names(self) -> Names:
        """Return the names of the platform's API group."""
        return Names(self.settings.api_group_suffix)

    @cached_property
    def published(self) -> Published:
        """Return the platform's objects that every tenant sees."""
        return decode_published(self.settings.gateway_published)

    @cached_property
    def sealer(self) -> TokenSealer:
        """Return the sealer of continue tokens."""
        # The root's key and not the serving key, if there is a root: after a renewal, a replica
        # that has started since would accept no token of one that has not.
        root = self.root
        return TokenSealer((root.sealing_key if root else derive_key(self.context.private_key),))

    @cached_property
    def volumes(self) -> VolumeSizes:
        """Return the cache of all PersistentVolumes, which ``measure_usage`` starts."""
        return VolumeSizes(self.client)

    @property
    def marked_volumes(self) -> MarkedVolumes:
        """Return the function that says whether all volumes of a tenant bear its label."""
        marks = self.settings.gateway_volume_marks == "yes"
        return self.volumes.all_marked if marks else no_volume_is_marked

    @cached_property
    def webhook_service(self) -> GatewayService | None:
        """Return the Service for the webhooks of tenants; None if tenants have no webhooks."""
        named = self.settings.gateway_webhook_service
        if not named or self.root is None:
            return None
        try:
            return GatewayService.parse(named)
        except ValueError as error:
            raise OptionError(f"--gateway-webhook-service {error}") from error

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run until the process ends."""
        await self.stack.enter_async_context(running(work))

    async def watch_tenants(self) -> Tenants:
        """Watch the tenants; return them when the caches have synced."""
        root, service = self.root, self.webhook_service
        tenants = Tenants(
            self.client,
            self.platform.as_gateway,
            self.names,
            decode_allowances(self.settings.gateway_allow),
            partial(webhook_route, root, service) if root and service else None,
            self.rights.update,
            self.published,
            self.context.lcluster_changed,
        )
        await self._run(tenants.run())
        await tenants.wait_synced()
        if self.settings.gateway_mine == "yes":
            lnamespaces = reflect_lnamespaces(self.client, self.names, self.rights)
            await self._run(lnamespaces.run())
            await lnamespaces.synced.wait()
        self.rights.begin(tenants.bindings_version)
        return tenants

    async def measure_usage(self, tenants: Tenants) -> TenantUsage:
        """Return the usage of each tenant, kept current."""
        objects = ObjectCounter(self.platform.as_gateway, tenants)
        usage = TenantUsage(tenants, objects, self.volumes)
        await self._run(usage.objects.run())
        await self._run(usage.volumes.run())
        return usage

    async def renew_conditions(self) -> None:
        """Update match conditions in objects that tenants stored through an earlier version."""
        await self._run(StoredConditions(self.client, self.names.lcluster_label).run())

    async def empty_definitions(self, tenants: Tenants) -> None:
        """Empty definitions of deleted LClusters that may lack the room for their deletion."""
        label = self.names.lcluster_label
        await self._run(FullDefinitions(tenants, self.client, label).run())
        await self._run(WithheldSchemas(tenants, self.platform.as_gateway, self.client).run())
        await self._run(UnservedKinds(tenants, self.platform.as_gateway, self.client).run())

    async def sign_for(self, tenants: Tenants) -> None:
        """Sign CertificateSigningRequests of LClusters, where there is a root."""
        if self.root:
            signer = Signer(self.client, self.names.lcluster_label, tenants, self.root)
            await self._run(signer.run())

    def gateway(self, tenants: Tenants) -> Gateway:
        """Return the gateway, which answers the requests of all clients."""
        upstream, limits_of = self.platform.as_gateway, self._limits_of(tenants)
        return Gateway(
            self.settings.gateway_host,
            tenants,
            self.authenticator,
            Forwarder(
                upstream,
                Lister(upstream, self.sealer, self.marked_volumes),
                Watcher(upstream, self.resume_log, self.marked_volumes),
                self.client,
                SchemaQuota(tenants.schema_sizes, lambda name: limits_of(name).definitions),
                ClusterQuota(upstream, limits_of),
                StoredVersions(self.client, upstream),
                DeletionTurns(tenants.deleted_definitions),
                DefinitionPace(tenants.generation_of),
            ),
            Reviewer(upstream),
            EscalationCheck(upstream),
            DiscoveryDocuments(upstream, self.published),
            InFlight(self.settings.gateway_requests_in_flight),
            ContentQuota(content_limits(self.settings), tenants.definitions_of),
            self.metrics,
            self._mine(tenants) if self.settings.gateway_mine == "yes" else None,
            self._audit_log(),
            self.accounts,
        )

    def _limits_of(self, tenants: Tenants) -> Callable[[str], ContentLimits]:
        limits = content_limits(self.settings)

        def limits_of(name: str) -> ContentLimits:
            tenant = tenants.get(name)
            return limits.limits_for(tenant.cluster) if tenant else limits

        return limits_of

    def _mine(self, tenants: Tenants) -> MineHandler:
        return MineHandler(
            CallerAuthenticator(self.authenticator, tenants, self.platform.as_caller),
            self.platform,
            PlatformResources(tenants.discovery),
            self.rights,
            MineLister(self.sealer),
            MineWatcher(self.resume_log),
            InFlight(self.settings.gateway_requests_in_flight, "you have"),
            self.accounts,
        )

    def _audit_log(self) -> AuditLog | None:
        """Return the audit log, which is closed with the stack; None where there is to be none."""
        if not self.settings.gateway_audit_log:
            return None
        try:
            writer = LineWriter(
                self.settings.gateway_audit_log, self.metrics.audit_lost.inc, lock=self.audit_lock
            )
        except OSError as error:
            raise SettingsError(f"--gateway-audit-log: {error}") from error
        self.stack.callback(writer.close)
        return AuditLog(self.names, writer)

    async def listen(self, server: HttpServer, option: str, context: ssl.SSLContext) -> str:
        """Begin to listen where an option says; return the real address."""
        flag, shared = f"--{option.replace('_', '-')}", self.settings.gateway_workers > 1
        start = partial(server.start, context=context, shared=shared)
        return str(await listen_at(flag, getattr(self.settings, option), start))

    async def serve_webhooks(self, tenants: Tenants) -> list[HttpServer]:
        """Answer the API server's reviews, where tenants have webhooks."""
        root, service, settings = self.root, self.webhook_service, self.settings
        if not root or not service:
            return []
        upstream = self.platform.as_gateway
        converters = FailingConverters(tenants, upstream, self.client)
        await self._run(converters.run())
        await self._run(ConversionClients(tenants, self.client, root.pem).run())
        in_flight = InFlight(settings.gateway_requests_in_flight)
        server = HttpServer(WebhookHandler(tenants, upstream, in_flight, converters).handle, LIMITS)
        context = own_context(root, service.host)
        address = await self.listen(server, "gateway_webhook_listen", context)
        log.info("ready to be asked for webhooks", extra={"address": address})
        return [server]

    async def serve_pods(self, server: HttpServer) -> None:
        """Answer programs in pods of LClusters too, where there is a Service for them."""
        service = self.settings.gateway_pod_service
        if not service or not self.root:
            return
        context = own_context(self.root, *await certified_hosts(self.client, service))
        address = await self.listen(server, "gateway_pod_listen", context)
        await publish_root(self.client, "gateway_pod_service", service, self.root)
        log.info("ready for programs in pods", extra={"address": address})

    async def publish_authority(self) -> None:
        """Publish the CA of the certificate that the gateway has issued to itself."""
        config_map = self.settings.gateway_ca_config_map
        if config_map and self.root and not self.settings.gateway_certificate_directory:
            await publish_root(self.client, "gateway_ca_config_map", config_map, self.root)


def _platform(settings: Settings, client: Client) -> Platform:
    address = client.address()
    if address.certified and settings.gateway_mine == "yes":
        raise SettingsError(_CERTIFIED)
    pool = UpstreamPool(address)
    names = Names(settings.api_group_suffix)
    return Platform(Upstream(pool, client.token, names), Upstream(pool, _nobody, names))


async def _nobody() -> str:
    """Return no credentials: a request is sent with those of its client."""
    return ""
