"""Call the webhooks of tenants on behalf of the API server (decision 0047).

The API server calls the gateway at a port of its own. The gateway calls the tenant's Service as the
tenant, through the API server's proxy, so it reaches nothing that the tenant could not reach.
"""

import asyncio
import hmac
import logging
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from lnamespace.errors import ClusterError
from lnamespace.gateway.certificates.authorities import RootAuthority, TenantIdentity
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.gateway.fairness.review_waits import MOST_SECONDS, ReviewWaits
from lnamespace.gateway.http.exchange import Exchange
from lnamespace.gateway.http.limits import ServerLimits
from lnamespace.gateway.http.upstream_connection import UpstreamResponse
from lnamespace.gateway.requests.answers import refuse
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
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
    answer_without_webhook,
    conversion_down,
    converted_up,
)

_SECONDS = 30.0
"""The longest that Kubernetes waits for a webhook."""
_MOST_BYTES = 1024 * 1024
"""The longest answer; for a conversion, plus the size of the question. An endless answer would take
the memory of all tenants."""
LIMITS = ServerLimits(body=32 * 1024 * 1024, bodies=128 * 1024 * 1024)
"""The API server has all objects of a list converted at once."""
_COUNTED = PathRequest("post", "")
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
    waits: ReviewWaits = field(default_factory=ReviewWaits)

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
        tenant, webhook = self._webhook_at(request.target.partition("?")[0])
        in_flight, name = self.in_flight, tenant.name
        with in_flight.holding(name, len(request.body)), in_flight.counted(name, _COUNTED):
            try:
                answer = await self._review(request.body, tenant, webhook)
            except ForeignObject as foreign:
                raise no_such_path() from foreign
        await exchange.answer(200, (("Content-Type", JSON),), answer)

    def _webhook_at(self, path: str) -> tuple[ServedTenant, TenantWebhook]:
        found = WebhookPath.parse(path)
        tenant = self.tenants.get(found.tenant) if found else None
        known = tenant and tenant.view.webhook_route
        if not (found and tenant and known and hmac.compare_digest(found.key, known.key)):
            raise no_such_path()
        return tenant, found.webhook

    async def _review(self, body: bytes, tenant: ServedTenant, webhook: TenantWebhook) -> bytes:
        view = tenant.view
        if _kind_of(body) == "ConversionReview":
            if tenant.terminating:
                # The objects are listed to be deleted, and the webhook may be deleted already.
                return answer_without_webhook(body)
            question, objects = conversion_down(body, view)
            answer = await self._ask(view, webhook, question, converts=True)
            return converted_up(answer, view, objects)
        review = read_admission_review(body, view)
        if review.of_tenant:
            return review.answer_up(await self._ask(view, webhook, review.body), view)
        with self.waits.waiting(view.tenant):
            async with asyncio.timeout(MOST_SECONDS):
                return review.answer_up(await self._ask(view, webhook, review.body), view)

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
