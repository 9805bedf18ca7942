"""Streams that are passed on byte for byte: logs, proxied answers, exec, attach, port-forward."""

import asyncio
from collections.abc import Iterable

from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.http.exchange import Exchange
from lnamespace.http.flow import Chunks, WriteGate
from lnamespace.http.messages import encode_response_head
from lnamespace.http.upstream_connection import UpstreamResponse


async def pass_on(
    exchange: Exchange, response: UpstreamResponse, headers: Iterable[tuple[str, str]]
) -> None:
    """Answer with a body as it comes."""
    try:
        await exchange.start(response.status, headers)
        while data := await response.take():
            await exchange.send(data)
    finally:
        response.close()
    await exchange.end()


async def splice(
    exchange: Exchange,
    response: UpstreamResponse,
    headers: Iterable[tuple[str, str]],
    usage: RequestUsage,
) -> None:
    """Join both connections after an answer 101, until either ends."""
    upstream, from_upstream, upstream_gate = response.tunnel
    gate = exchange.connection.gate
    try:
        client, from_client = await exchange.switch(encode_response_head(101, headers))
        async with asyncio.TaskGroup() as group:
            group.create_task(usage.metered(_copy(from_upstream, client, gate)))
            group.create_task(usage.metered(_copy(from_client, upstream, upstream_gate)))
    except* ConnectionError:
        pass
    finally:
        upstream.abort()


async def _copy(source: Chunks, target: asyncio.Transport, gate: WriteGate) -> None:
    while data := await source.take():
        target.write(data)
        await gate.drain()
    target.close()
