"""Answer a client: with what the API server answered, or with a refusal of the gateway's own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from http import HTTPStatus
from http.client import FORBIDDEN, responses

import msgspec

from lnamespace.errors import ClusterError
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.requests.answer_encoders import AnswerEncoder
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.compression import GZIPPED, LARGE, accepts_gzip, gzip_steps
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.http.websocket import WebSocket, asks_for_websocket
from lnamespace.kube.media_types import JSON
from lnamespace.runtime.steps import in_steps
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.bodies.long_lists import STEPPED, answer_down_in_steps
from lnamespace.translate.protocol.status import (
    ApiStatus,
    Refused,
    not_acceptable,
    too_many_requests,
)
from lnamespace.translate.requests.headers import NOT_CACHED, headers_down

_TEXT = "text/plain; charset=utf-8"
_DISCOVERY = "g=apidiscovery.k8s.io"
_STEP = 16 * 1024
"""Bytes of events that are translated before other tasks may run: a millisecond or two."""


class UpstreamRefused(Exception):
    """The API server answered our request with an error, which the client is sent."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        super().__init__(f"answered {status}")
        self.status = status
        self.headers = headers
        self.body = body


async def answer_json(call: TenantCall, status: int, headers: Headers, body: bytes) -> None:
    """Answer with JSON of the API server, in tenant spelling and the client's encoding."""
    if status >= 400 and not _is_json(headers):
        body = _status_of(status)
    translated = body
    if len(body) > STEPPED:
        translated = await in_steps(answer_down_in_steps(call.request, body, call.view))
    elif body:
        translated = answer_down(call.request, body, call.view)
    del body
    if status == HTTPStatus.CREATED:
        call.exchange.created = translated
    await answer_encoded(call, status, headers, translated)


def _is_json(headers: Headers) -> bool:
    types = [value for name, value in headers if name == "content-type"]
    return not types or types[0].startswith(JSON)


def _status_of(status: int) -> bytes:
    """Return a Status instead of a text: priority and fairness refuses by text, for one.

    The text may come from any proxy before the API server, and cannot be translated.
    """
    phrase = responses.get(status, "Unknown Error")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return too_many_requests("too many requests, please try again later").status.encode()
    return ApiStatus(status, phrase.replace(" ", ""), f"the API server answered: {phrase}").encode()


async def answer_encoded(call: TenantCall, status: int, headers: Headers, body: bytes) -> None:
    """Answer with JSON in tenant spelling, in the client's encoding."""
    encoded = await in_steps(call.encoder.steps(body))
    content_type = ("Content-Type", call.encoder.content_type)
    down = headers_down(headers, call.view, call.base)
    if not any(name == "cache-control" for name, _ in down):
        down = (*down, NOT_CACHED)  # an answer of the gateway's own
    if len(encoded) > LARGE and accepts_gzip(call.exchange.request.value("accept-encoding")):
        encoded = await in_steps(gzip_steps(encoded))
        down = (*down, *GZIPPED)
    await call.exchange.answer(status, (content_type, *down), encoded)


def use_websocket(exchange: Exchange, encoder: AnswerEncoder, usage: RequestUsage) -> None:
    """Send the events of a watch as messages if the client asks for a WebSocket, as browsers do.

    Raises
    ------
    Refused
        400 for a malformed handshake, 406 for events that are no JSON.
    """
    if not asks_for_websocket(exchange.request):
        return
    if encoder.stream_content_type != JSON:
        raise not_acceptable("a watch by a WebSocket has events in JSON: accept application/json")
    exchange.websocket = WebSocket(exchange.request, usage.metered)


async def send_events(
    exchange: Exchange,
    encoder: AnswerEncoder,
    lines: AsyncIterator[bytes],
    translate: Callable[[bytes], bytes | None],
) -> None:
    """Send the events of a watch as they come, and an ERROR event where it fails.

    Other tasks may run after every few of them: a new watch sends all objects.

    Parameters
    ----------
    translate
        Returns the event for the client, from that of the API server; None: it is not sent.
    """
    size = 0
    try:
        async with aclosing(lines) as open_lines:  # type: ignore[type-var]
            async for line in open_lines:
                size += len(line)
                if size > _STEP:
                    size = len(line)
                    await asyncio.sleep(0)
                event = translate(line)
                if event is not None:
                    await exchange.send(encoder.encode_event(event))
    except Refused as refused:
        await exchange.send(encoder.encode_event(_error_event(refused.status)))
    except (ClusterError, UpstreamRefused):
        # As the API server ends a watch when it stops: the client resumes where it was.
        pass
    await exchange.end()


def _error_event(status: ApiStatus) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": msgspec.Raw(status.encode())})


async def refuse(exchange: Exchange, refused: Refused) -> None:
    """Answer with a refusal in Kubernetes' words."""
    # client-go reads no Status where it asks for aggregated discovery, and shows text as it is.
    # kubectl asks that first, and showed people without access "unknown" instead of the advice.
    as_text = refused.status.code == FORBIDDEN and _DISCOVERY in exchange.request.value("accept")
    headers = [("Content-Type", _TEXT if as_text else JSON), NOT_CACHED]
    patience = (refused.status.details or {}).get("retryAfterSeconds")
    if patience:
        headers.append(("Retry-After", str(patience)))
    if refused.status.code == 401:
        headers.append(("WWW-Authenticate", 'Bearer realm="kubernetes"'))
    body = refused.status.message.encode() if as_text else refused.status.encode()
    await exchange.answer(refused.status.code, headers, body)
