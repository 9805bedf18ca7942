"""Serve one request: find its tenant, authenticate, parse, authorize and answer it."""

import logging
import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import TOO_MANY_REQUESTS

from lnamespace.errors import ClusterError
from lnamespace.gateway.audit import AuditLog, RequestRecord
from lnamespace.gateway.authentication.logins import Authenticator, Login
from lnamespace.gateway.authentication.people import (
    acting_user,
    audited_name,
    tenant_of_account,
    user_of,
)
from lnamespace.gateway.authorization.lasting_rights import answer_while_allowed
from lnamespace.gateway.authorization.reviewing import Reviewer
from lnamespace.gateway.authorization.role_writes import EscalationCheck
from lnamespace.gateway.destinations import MINE, Destination, find_destination
from lnamespace.gateway.discovery.paths import DiscoveryDocuments
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.gateway.fairness.request_usage import MemoryAccounts, RequestUsage
from lnamespace.gateway.forwarding import Forwarder
from lnamespace.gateway.mine.handler import MineHandler
from lnamespace.gateway.objects.content import ContentQuota, refuse_new_content
from lnamespace.gateway.refusals import no_tenant, not_listed, refuse_suspended, unavailable
from lnamespace.gateway.requests.answer_encoders import answer_encoder
from lnamespace.gateway.requests.answers import UpstreamRefused, answer_json, refuse
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.rbac.attributes import User, access_denied, request_attributes
from lnamespace.translate.objects.confinement.kinds import expansion_of
from lnamespace.translate.objects.metadata import RESOURCE_QUOTAS
from lnamespace.translate.protocol.encodings import encoding_of
from lnamespace.translate.protocol.negotiation import wants_indentation
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest, parse_request
from lnamespace.translate.protocol.status import Refused, internal_error
from lnamespace.translate.protocol.verbs import CONNECTIONS, READ_VERBS
from lnamespace.translate.protocol.websocket import websocket_token
from lnamespace.translate.requests.headers import headers_up

_VERBS = READ_VERBS | {"create", "update", "patch", "delete", "deletecollection"}

_HANDSHAKE = 0.002
"""Seconds of the thread that a TLS handshake takes."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InboundRequest:
    """A request whose sender has access to the tenant's cluster."""

    exchange: Exchange
    destination: Destination
    tenant: ServedTenant
    login: Login
    user: User
    record: RequestRecord = field(default_factory=RequestRecord)


@dataclass(frozen=True)
class Gateway:
    """The handler of all requests; it serves every tenant a cluster of its own.

    Parameters
    ----------
    host
        The gateway's own host; ``acme.HOST`` is tenant ``acme``.
    mine
        The endpoint for people who have LNamespaces; None if it is off.
    audit
        The audit log; None if nothing is audited.
    """

    host: str
    tenants: Tenants
    authenticator: Authenticator
    forwarder: Forwarder
    reviewer: Reviewer
    escalation_check: EscalationCheck
    documents: DiscoveryDocuments
    in_flight: InFlight
    quota: ContentQuota
    metrics: GatewayMetrics
    mine: MineHandler | None = None
    audit: AuditLog | None = None
    accounts: MemoryAccounts = field(default_factory=MemoryAccounts)

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request, count it, and write it into the audit log."""
        began = time.perf_counter()
        record = self.audit.open() if self.audit else RequestRecord()
        if self.audit:
            exchange.on_stream = partial(self.audit.started, exchange, record)
        try:
            await self._answer_refusals_late(exchange, record)
        finally:
            exchange.on_stream = None  # It refers to the exchange: each request was garbage.
            if self.audit:
                self.audit.completed(exchange, record)
            verb = exchange.verb if exchange.verb in _VERBS else "other"
            took = None if exchange.streamed else time.perf_counter() - began
            self.metrics.answered(verb, exchange.status, took)
            if record.lcluster:
                self.metrics.lcluster_requests.labels(record.lcluster.name).inc()

    async def _answer_refusals_late(self, exchange: Exchange, record: RequestRecord) -> None:
        await self._map_errors(exchange, record)
        status = record.refused
        if status and not exchange.answered:
            # Not in the handler: the exception's frames keep all that was read until then.
            if status.code == TOO_MANY_REQUESTS:
                await self.in_flight.delay(exchange)
            await refuse(exchange, Refused(status))

    async def _map_errors(self, exchange: Exchange, record: RequestRecord) -> None:
        try:
            await self._route(exchange, record)
        except Refused as refused:
            record.refused = refused.status
            if exchange.answered:
                raise ConnectionAbortedError from refused
        except ClusterError as error:
            log.warning("the API server failed", extra={"error": str(error)})
            if exchange.answered:
                raise ConnectionAbortedError from error
            await refuse(exchange, unavailable())
        except ConnectionError:
            raise  # the client has gone
        except Exception as error:
            log.exception("a request failed")
            if exchange.answered:
                raise ConnectionAbortedError from error
            await refuse(exchange, internal_error("the gateway's log has more"))

    async def _route(self, exchange: Exchange, record: RequestRecord) -> None:
        server_name, target = exchange.connection.server_name, exchange.request.target
        destination = find_destination(server_name, target, self.host)
        if destination.tenant == MINE:
            if self.mine is None:
                raise no_tenant(self.host)
            # There users are themselves upstream: the platform's own log has them.
            record.audited = False
            await self.mine.serve(exchange, destination)
            return
        await self._serve_tenant(await self._authenticate(exchange, destination, record))

    async def _authenticate(
        self, exchange: Exchange, destination: Destination, record: RequestRecord
    ) -> InboundRequest:
        """Return the request with its tenant, and its sender's user in the tenant's cluster."""
        connection, request = exchange.connection, exchange.request
        token = websocket_token(request.headers) or ""
        record.login = login = await self.authenticator.login(
            request, connection.certificate, token
        )
        name = destination.tenant or login.tenant or tenant_of_account(login)
        if not name:
            raise no_tenant(self.host)
        tenant = self.tenants.get(name)
        user = _user(login, tenant) if tenant else None
        if tenant is None or user is None:
            # The same words whether that LCluster exists or not.
            raise not_listed(login, name)
        record.lcluster, record.user, record.target = tenant.cluster, user, destination.target
        return InboundRequest(exchange, destination, tenant, login, user, record)

    async def _serve_tenant(self, inbound: InboundRequest) -> None:
        """Answer a tenant's request, within the limits of the tenant."""
        exchange = inbound.exchange
        new = not exchange.connection.owner
        exchange.connection.owner = tenant = inbound.tenant.name
        cut = exchange.connection.transport.abort
        with (
            self.in_flight.holding(tenant, len(exchange.request.body)),
            self.accounts.account_for(tenant, cut) as usage,
        ):
            if new:
                usage.charge_extra(_HANDSHAKE)
            inbound.record.request = request = await self._parse(inbound)
            exchange.verb = request.verb
            with self.in_flight.counted(tenant, request):
                async with self.in_flight.limit_concurrency(
                    tenant, request, len(exchange.request.body)
                ):
                    await usage.metered(self._authorize_and_answer(inbound, usage, request))

    async def _parse(self, inbound: InboundRequest) -> ResourceRequest | PathRequest:
        """Parse a request; refresh discovery for a kind that is not known, which may be new."""
        method, target = inbound.exchange.request.method, inbound.destination.target
        tenant = inbound.tenant
        try:
            return parse_request(method, target, tenant.view.resources, tenant.name)
        except Refused as refused:
            if refused.status.code != 404:
                raise
        await self.tenants.discovery.refresh()
        return parse_request(method, target, tenant.view.resources, tenant.name)

    async def _authorize_and_answer(
        self, inbound: InboundRequest, usage: RequestUsage, request: ResourceRequest | PathRequest
    ) -> None:
        """Authorize a parsed request, and answer it."""
        # The user once more: the request may have waited since its sender was authenticated.
        inbound = self._authorize(self._with_current_user(inbound), request)
        if isinstance(request, ResourceRequest):
            await self._answer_call(inbound, _tenant_call(inbound, usage, request))
            return
        exchange, base = inbound.exchange, inbound.destination.base
        address = exchange.request.value("host")
        await self.documents.serve(exchange, request, inbound.tenant.name, address, base)

    def _with_current_user(self, inbound: InboundRequest) -> InboundRequest:
        """Return the request with its sender's user in the LCluster as it is now.

        Raises
        ------
        Refused
            The sender has no access to it any more.
        """
        tenant = self.tenants.get(inbound.tenant.name)
        user = _user(inbound.login, tenant) if tenant else None
        if tenant is not inbound.tenant or user is None:
            raise not_listed(inbound.login, inbound.tenant.name)
        return inbound if user == inbound.user else replace(inbound, user=user)

    def _authorize(
        self, inbound: InboundRequest, request: ResourceRequest | PathRequest
    ) -> InboundRequest:
        """Return the request with the user that its sender acts as, if that user may do it.

        Raises
        ------
        Refused
            The user may not make the request.
        """
        attributes = request_attributes(request)
        authorizer = inbound.tenant.authorizer
        headers, record = inbound.exchange.request.headers, inbound.record
        record.allowed = False
        record.acting = user = acting_user(authorizer, inbound.user, headers, attributes)
        decision = authorizer.allows(user, attributes)
        if not decision.allowed:
            raise access_denied(user, attributes, decision.reason)
        refuse_suspended(inbound.tenant, request)
        record.allowed = True
        return inbound if user is inbound.user else replace(inbound, user=user)

    async def _answer_call(self, inbound: InboundRequest, call: TenantCall) -> None:
        """Answer an access review; forward any other request, if it does not escalate rights."""
        if call.reads:
            # It creates and changes nothing, so none of the following is about it.
            await self._forward_while_allowed(inbound, call)
            return
        tenant, user = inbound.tenant, inbound.user
        refuse_new_content(call, tenant)
        if await self.reviewer.answer(call, tenant, user):
            return
        attributes = request_attributes(call.request)
        try:
            call = await self.escalation_check.confirm(call, tenant.authorizer, user, attributes)
        except UpstreamRefused as refused:
            await answer_json(call, refused.status, refused.headers, refused.body)
            return
        async with self.quota.counted(call, tenant) if self.quota.counts(call) else nullcontext():
            await self._forward_while_allowed(inbound, call)

    async def _forward_while_allowed(self, inbound: InboundRequest, call: TenantCall) -> None:
        """Forward a call; end a watch or a stream when its caller loses the right to it."""
        tenant, login, request = inbound.tenant, inbound.login, call.request

        async def forward() -> None:
            await self.forwarder.forward(call, tenant.namespaces, tenant.totals)

        # A followed log has no upgrade, and went on after its reader was removed from the list.
        if request.verb != "watch" and request.subresource not in CONNECTIONS:
            await forward()
            return

        def confirm() -> None:
            # A tenant's certificate is revoked by its end alone. With one of the platform, streams
            # go on, as they do at the platform's API server.
            if login.tenant:
                login.confirm_lasts()
            self._authorize(self._with_current_user(inbound), request)

        # In a task of its own; a certificate of the tenant may end meanwhile.
        await answer_while_allowed(
            lambda: call.usage.metered(forward()),
            tenant.changed,
            confirm,
            lambda: login.left if login.tenant else None,
        )


def _user(login: Login, tenant: ServedTenant) -> User | None:
    login.confirm_not_revoked(tenant.cluster.spec.revoked_credentials)
    if login.tenant and login.lcluster_uid != tenant.cluster.uid:
        return None  # a certificate of an earlier LCluster of this name
    return user_of(login, tenant.entries(), tenant.view, tenant.namespaces)


def _tenant_call(
    inbound: InboundRequest, usage: RequestUsage, request: ResourceRequest
) -> TenantCall:
    sent = inbound.exchange.request
    view = inbound.tenant.view
    if request.in_pod:
        # Only then: a copy loses the cached values of the view.
        view = replace(view, in_pod=True)
    if request.resource.group_resource == RESOURCE_QUOTAS:
        view = replace(view, totals=inbound.tenant.totals.shown)
    encoding = encoding_of(request, ",".join(sent.values("accept")))
    usage.expansion = expansion_of(request.resource)
    indented = wants_indentation(request.parameter("pretty"), sent.value("user-agent"))
    return TenantCall(
        inbound.exchange,
        request,
        view,
        audited_name(inbound.login),
        (*headers_up(request, sent.headers, encoding.accept), *_audit_header(inbound.record)),
        answer_encoder(encoding.media_type, indented=indented),
        inbound.destination.base,
        user=inbound.user,
        usage=usage,
        other_resources=partial(inbound.tenant.other_resources, view.resources),
    )


def _audit_header(record: RequestRecord) -> Headers:
    """Return the header that gives the platform's audit log the id of our line."""
    return (("audit-id", record.audit_id),) if record.audit_id else ()
