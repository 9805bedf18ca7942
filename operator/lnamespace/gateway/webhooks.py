"""Call the webhooks of tenants on behalf of the API server (decision 0047).

The API server calls the gateway at a port of its own. The gateway calls the tenant's Service as the
tenant, through the API server's proxy, so it reaches nothing that the tenant could not reach.
"""

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from lnamespace.errors import ClusterError
from lnamespace.gateway.certificates.authorities import RootAuthority, TenantIdentity
from lnamespace.gateway.controllers.failing_converters import FailingConverters
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.gateway.fairness.review_waits import CONVERSIONS, MOST_SECONDS, ReviewWaits
from lnamespace.gateway.requests.answers import refuse
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.exchange import Exchange
from lnamespace.http.limits import ServerLimits
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.media_types import JSON
from lnamespace.model.lcluster import LCluster
from lnamespace.translate.names.acting_users import WEBHOOK_CALLER
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.names.webhook_routes import (
    GatewayService,
    TenantWebhook,
    WebhookPath,
    WebhookRoute,
)
from lnamespace.translate.objects.translators import ForeignObject
from lnamespace.translate.protocol.percent import encode_segment
from lnamespace.translate.protocol.request import PathRequest
from lnamespace.translate.protocol.status import (
    ApiStatus,
    Refused,
    internal_error,
    method_not_allowed,
    no_such_path,
)
from lnamespace.translate.webhooks.admission_reviews import read_admission_review
from lnamespace.translate.webhooks.conversion_reviews import (
    converted_kind,
    read_conversion_review,
    read_review_of_former,
)

_SECONDS = 30.0
"""The longest that Kubernetes waits for a webhook."""
_MOST_BYTES = 1024 * 1024
"""The longest answer; for a conversion, plus the size of the question. An endless answer would take
the memory of all tenants."""
LIMITS = ServerLimits(body=32 * 1024 * 1024, bodies=128 * 1024 * 1024)
"""The API server has all objects of a list converted at once."""
_COUNTED = PathRequest("post", "")
_CONVERSION = "ConversionReview"
_NO_ANSWER = "it does not answer"
_SLOW = "it takes too long"
_HEADERS = (("content-type", JSON), ("accept", JSON))

log = logging.getLogger(__name__)


class _AnyReview(msgspec.Struct, frozen=True):
    kind: str = ""


class _Unanswered(Exception):
    """A webhook, or a proxy before it, answered with an error status."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"answered {status}")
        self.status = status
        self.body = body


def webhook_route(root: RootAuthority, service: GatewayService, cluster: LCluster) -> WebhookRoute:
    """Return the route of the API server to the webhooks of an LCluster."""
    key = root.webhook_key(TenantIdentity(cluster.name, cluster.uid))
    return WebhookRoute(service, cluster.name, root.pem, key)


@dataclass(frozen=True)
class WebhookHandler:
    """A handler of the API server's reviews for tenants' webhooks."""

    tenants: Tenants
    upstream: Upstream
    in_flight: InFlight
    converters: FailingConverters
    waits: ReviewWaits = field(default_factory=ReviewWaits)
    conversions: ReviewWaits = field(default_factory=lambda: ReviewWaits(CONVERSIONS))

    async def handle(self, exchange: Exchange) -> None:
        """Answer one review."""
        try:
            async with asyncio.timeout(_SECONDS):
                await self._answer(exchange)
        except Refused as refused:
            await refuse(exchange, refused)
        except _Unanswered as failed:
            # With another status the API server would wait for more, or take the body for a review.
            status = failed.status if failed.status in range(400, 600) else HTTPStatus.BAD_GATEWAY
            await exchange.answer(status, (("Content-Type", JSON),), failed.body)
        except (ClusterError, TimeoutError) as error:
            if exchange.answered:
                raise ConnectionAbortedError from error
            log.info("a webhook does not answer", extra={"error": str(error)})
            message = "the webhook does not answer"
            await refuse(exchange, Refused(ApiStatus(504, "Timeout", message, {})))
        except ConnectionError:
            raise  # the API server has gone
        except Exception:
            log.exception("a review failed")
            await refuse(exchange, internal_error("the gateway's log has more"))

    async def _answer(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.method != "POST":
            raise method_not_allowed()
        path = WebhookPath.parse(request.target.partition("?")[0])
        if path and path.verbatim and not self.tenants.get(path.tenant):
            with self.in_flight.holding(path.tenant, len(request.body)):
                review = read_review_of_former(request.body)
                answer = review.answer_without_webhook(labelled=True)
                await exchange.answer(200, (("Content-Type", JSON),), answer)
            return
        tenant, path = self._webhook_at(path)
        in_flight, name, failure = self.in_flight, tenant.name, _NO_ANSWER
        try:
            with in_flight.holding(name, len(request.body)), in_flight.counted(name, _COUNTED):
                answer, failure = await self._review(request.body, tenant, path)
        except ForeignObject as foreign:
            raise no_such_path() from foreign
        except asyncio.CancelledError:
            failure = ""  # the API server has gone
            raise
        finally:
            if failure and _kind_of(request.body) == _CONVERSION:
                self._conversion_failed(request.body, tenant, failure)
        await exchange.answer(200, (("Content-Type", JSON),), answer)

    def _webhook_at(self, found: WebhookPath | None) -> tuple[ServedTenant, WebhookPath]:
        tenant = self.tenants.get(found.tenant) if found else None
        known = tenant and tenant.view.webhook_route
        if not (found and tenant and known and hmac.compare_digest(found.key, known.key)):
            raise no_such_path()
        return tenant, found

    def _conversion_failed(self, body: bytes, tenant: ServedTenant, failure: str) -> None:
        with suppress(Refused):
            if resource := converted_kind(body, tenant.view):
                self.converters.failed(tenant, resource, failure)

    async def _review(
        self, body: bytes, tenant: ServedTenant, path: WebhookPath
    ) -> tuple[bytes, str]:
        """Return the answer, and why a webhook failed to convert; empty if it did not."""
        view, webhook = tenant.view, path.webhook
        if _kind_of(body) == _CONVERSION:
            return await self._convert(body, tenant, path)
        review = read_admission_review(body, view)
        async with nullcontext() if review.of_tenant else _bounded(self.waits, view.tenant):
            return review.answer_up(await self._ask(view, webhook, review.body), view), ""

    async def _convert(
        self, body: bytes, tenant: ServedTenant, path: WebhookPath
    ) -> tuple[bytes, str]:
        review = read_conversion_review(body, tenant.view)
        if tenant.terminating or not review.body:
            # An LCluster that is being deleted may have no webhook any more, and its objects are
            # listed to be deleted. A webhook does not convert objects of others.
            return review.answer_without_webhook(), ""
        if path.verbatim and review.into_preferred:
            # Only the webhook converts into other versions.
            return review.answer_without_webhook(labelled=True), ""
        async with _bounded(self.conversions, tenant.name):
            began = time.monotonic()
            answer = await self._ask(tenant.view, path.webhook, review.body, converts=True)
            converted = review.answer_up(answer, tenant.view)
        took = time.monotonic() - began
        busy = not converted.failure and self.converters.busy(tenant.name, path.webhook, took)
        if busy and review.resource:
            self.converters.failed(tenant, review.resource, _SLOW, slow=True)
        elif not busy and not converted.failure and review.resource and review.into_preferred:
            self.converters.answered(tenant, review.resource)
        return converted

    async def _ask(
        self, view: TenantView, webhook: TenantWebhook, body: bytes, *, converts: bool = False
    ) -> bytes:
        target = _target(webhook)
        identity = UpstreamIdentity(view.tenant, WEBHOOK_CALLER)
        response = await self.upstream.send("POST", target, identity, _HEADERS, body)
        answer = await _body_of(response, _MOST_BYTES + (len(body) if converts else 0))
        if response.status != 200:
            raise _Unanswered(response.status, answer)
        return answer


@asynccontextmanager
async def _bounded(waits: ReviewWaits, tenant: str) -> AsyncIterator[None]:
    """Limit how long and how often others wait for the webhooks of a tenant."""
    with waits.waiting(tenant):
        async with asyncio.timeout(MOST_SECONDS):
            yield


async def _body_of(response: UpstreamResponse, most: int) -> bytes:
    body = bytearray()
    try:
        while data := await response.take():
            body += data
            if len(body) > most:
                raise internal_error(f"the webhook answers more than {most} bytes")
    finally:
        response.close()
    return bytes(body)


def _kind_of(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_AnyReview).kind
    except (msgspec.MsgspecError, RecursionError):
        return ""


def _target(webhook: TenantWebhook) -> str:
    namespace, name = encode_segment(webhook.namespace), encode_segment(webhook.name)
    proxied = f"https:{name}:{webhook.port}"
    return f"/api/v1/namespaces/{namespace}/services/{proxied}/proxy{webhook.path}"
