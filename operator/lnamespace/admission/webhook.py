"""The process: what is wired to what, and how it begins and ends."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lnamespace.access.limit import RequesterLimits
from lnamespace.admission.accounts import FromNamespaces, themselves
from lnamespace.admission.certificates import trust
from lnamespace.admission.certificates.files import CertificateFiles
from lnamespace.admission.certificates.tls import Identity
from lnamespace.admission.certificates.trust import Place, SelfMade, Source
from lnamespace.admission.decisions.decision import Decision
from lnamespace.admission.endpoints import Door
from lnamespace.admission.holdings import Holdings
from lnamespace.admission.server import Server
from lnamespace.errors import SettingsError
from lnamespace.kube.client import Access, Client, connect
from lnamespace.kube.resources import Resource
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION
from lnamespace.model.names import Names
from lnamespace.payers.file import PayersFile
from lnamespace.runtime.listener import Address
from lnamespace.runtime.probes import Probes, answering
from lnamespace.settings import Settings, items

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Answer the API server until a signal asks to end.

    Raises
    ------
    LNamespaceError
        It cannot run; the message says why.
    """
    # A thread that decides about much lets the event loop on after half a millisecond, not after 5:
    # the loop goes on several times for each review, and short ones took 20 ms instead of 4.
    sys.setswitchinterval(0.0005)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    # One, for they would not run at the same time, and the event loop would wait for each of them.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    metrics = WebhookMetrics.new(Names(settings.api_group_suffix).group)
    identity = Identity(metrics)
    async with AsyncExitStack() as stack:
        client = await _client(stack, settings)
        source = _source(settings, client, identity, metrics)
        payers = PayersFile(settings.payers_file)
        count = partial(_count, metrics)
        door = Door.of(settings, client, payers, count, metrics.unrecorded.inc)
        limits = RequesterLimits(settings.limit_per_requester, settings.limits_by_name)
        names = Names(settings.api_group_suffix)
        limited = replace(
            door,
            exceeded=await _holdings(stack, settings, client, limits),
            accounts=FromNamespaces(client, names, limits).of if client else themselves,
        )
        server = Server(limited.endpoints(), metrics)
        await _listen(settings, server, identity)
        probes = Probes(
            lambda: server.problem() or identity.problem(), partial(_measure, payers, metrics)
        )
        await stack.enter_async_context(answering(settings.health_listen, probes))
        await stack.enter_async_context(_running(payers.keep()))
        await stack.enter_async_context(_running(trust.keep(source, metrics)))
        await _until_told(settings, server)


async def _holdings(
    stack: AsyncExitStack, settings: Settings, client: Client | None, limits: RequesterLimits
) -> Callable[[str], str]:
    """Return what says who has as many LNamespaces as they may; without a client, nobody has."""
    holdings = Holdings(limits)
    if client and limits.any_limited:
        resource = Resource(Names(settings.api_group_suffix).group, VERSION, KIND, PLURAL)
        await stack.enter_async_context(_running(holdings.reflector(client, resource).run()))
    return holdings.exceeded


def _count(metrics: WebhookMetrics, path: str, decision: Decision) -> None:
    if decision.errors:
        metrics.refusals.labels(path).inc()
    if decision.limit_exceeded:
        metrics.limit_refusals.inc()
    if decision.charge_source:
        metrics.resolutions.labels(decision.charge_source).inc()


def _measure(payers: PayersFile, metrics: WebhookMetrics) -> bytes:
    """Return all metrics."""
    metrics.payers_problem.set(bool(payers.problem))
    return metrics.text()


async def _client(stack: AsyncExitStack, settings: Settings) -> Client | None:
    """A connection to the API server; with somebody else's certificate it can do without."""
    try:
        access = Access(settings.kubeconfig, settings.context)
        return await stack.enter_async_context(connect(access))
    except SettingsError:
        if not settings.certificate_directory:
            raise
        log.info("no connection to the API server")
        return None


def _source(
    settings: Settings, client: Client | None, identity: Identity, metrics: WebhookMetrics
) -> Source:
    if client is None or settings.certificate_directory:
        # It may not look whom the API server trusts: a 0 would say for ever that nobody is.
        metrics.registry.unregister(metrics.trusted)
        return CertificateFiles(Path(settings.certificate_directory), identity)
    namespace, slash, name = settings.certificate_secret.partition("/")
    if not slash or not namespace or not name:
        raise SettingsError("--certificate-secret must be NAMESPACE/NAME")
    terms = trust.terms(
        items(settings.serving_names),
        settings.certificate_hours,
        settings.certificate_settle_seconds,
    )
    names = Names(settings.api_group_suffix)
    return SelfMade(client, Place(namespace, name), names, terms, identity, metrics)


async def _listen(settings: Settings, server: Server, identity: Identity) -> None:
    try:
        real = await server.start(Address.parse(settings.listen), identity.context)
    except ValueError as error:
        raise SettingsError(f"--listen: {error}") from error
    except OSError as error:
        raise SettingsError(f"--listen: cannot listen: {error}") from error
    log.info("listening", extra={"address": str(real)})


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _until_told(settings: Settings, server: Server) -> None:
    """Answer until a signal comes; then say so to probes, and answer on for a while.

    Meanwhile whoever sends requests here learns that we are not ready. A second signal ends
    the process at once.
    """
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    await told.wait()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, os._exit, 128 + number)
    server.drain()
    log.info("stopping", extra={"drain_seconds": settings.drain_seconds})
    await asyncio.sleep(settings.drain_seconds)
    await server.stop()
    log.info("stopped")
