"""The object that a call is about, as the API server stores it now."""

from dataclasses import replace
from typing import Any

import msgspec

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.upstream.requests import Upstream, accepting_json
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.requests.targets import upstream_target

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def read_request(call: TenantCall) -> ResourceRequest:
    """Return the request that reads the object that a call is about."""
    return replace(call.request, verb="get", subresource="", query=())


async def read_stored(upstream: Upstream, call: TenantCall) -> tuple[int, bytes]:
    """Return the status and body of the answer to `read_request`, as JSON in upstream spelling.

    Raises
    ------
    Unreachable
        The API server did not answer.
    """
    target = upstream_target(read_request(call), call.view)
    headers = accepting_json(call.headers)
    response = await upstream.send("GET", target, call.identity, headers)
    return response.status, await response.read()


async def stored_upstream(upstream: Upstream, call: TenantCall) -> dict[str, Any] | None:
    """Return the object in upstream spelling; None if it is not there or cannot be read.

    Raises
    ------
    Unreachable
        The API server did not answer.
    """
    status, body = await read_stored(upstream, call)
    return _decode_object(body) if status == 200 else None
