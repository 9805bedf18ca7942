"""The process ``lnamespace gateway``: its start and its graceful end."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial

from lnamespace.gateway.certificates.tls import keep_certificate
from lnamespace.gateway.parts import GatewayParts
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.usage import expose_usage
from lnamespace.http.limits import ServerLimits, raise_open_files
from lnamespace.http.probes import Probes, serve_probes
from lnamespace.http.server import HttpServer
from lnamespace.runtime.lifecycle import running, serve_until_stopped, stop_event
from lnamespace.runtime.memory import keep_giving_back, search_garbage_rarely, shorten_buffers
from lnamespace.settings import Settings

ProbeServer = Callable[[Probes], AbstractAsyncContextManager[object]]
"""A function that serves probes inside a context manager."""

log = logging.getLogger(__name__)


def run(settings: Settings, answer: ProbeServer | None = None, lock: int | None = None) -> None:
    """Serve tenants until a signal asks to end.

    Parameters
    ----------
    answer
        Answers probes inside a context; None means at ``--health-listen``.
    lock
        Locked for each write to the audit log; None if no other process writes there.

    Raises
    ------
    LNamespaceError
        The gateway cannot run; the message says why.
    """
    shorten_buffers()
    asyncio.run(_serve(settings, answer or partial(serve_probes, settings.health_listen), lock))


async def _serve(settings: Settings, answer: ProbeServer, lock: int | None) -> None:
    async with AsyncExitStack() as stack:
        parts = await GatewayParts.begin(settings, stack, lock)
        tenants = await parts.watch_tenants()
        await parts.sign_for(tenants)
        await parts.renew_conditions()
        await parts.empty_definitions(tenants)
        limits = ServerLimits().within(raise_open_files())
        pause, context = parts.accounts.scheduler.reading_pause, parts.context
        server = HttpServer(parts.gateway(tenants).handle, limits, pause=pause)
        servers = [*await parts.serve_webhooks(tenants), server]
        stop = stop_event()
        address = await parts.listen(server, "gateway_listen", context.entry)
        log.info("listening", extra={"address": address})
        await parts.publish_authority()
        await parts.serve_pods(server)
        usage = await parts.measure_usage(tenants)
        measure = partial(expose_usage, usage, server, parts.metrics)
        probes = Probes(partial(_problem, tenants, server), measure)
        await stack.enter_async_context(answer(probes))
        await stack.enter_async_context(running(keep_certificate(context, parts.metrics)))
        await stack.enter_async_context(running(keep_giving_back()))
        search_garbage_rarely()
        await serve_until_stopped(stop, settings.drain_seconds, *servers)


def _problem(tenants: Tenants, server: HttpServer) -> str | None:
    """Return why the gateway is not ready, or None."""
    if server.draining:
        return "stopping"
    return None if tenants.has_synced else "the caches are not complete"
