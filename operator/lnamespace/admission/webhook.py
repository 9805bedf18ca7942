"""The process ``lnamespace webhook``: its parts, its start and its graceful end."""

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from lnamespace.access.conventions import lcluster_resource, lnamespace_resource
from lnamespace.access.limit import RequesterLimits, lcluster_limits, lnamespace_limits
from lnamespace.admission.accounts import NamespaceAccounts, Usage
from lnamespace.admission.certificates.keypairs import CertificateSpec
from lnamespace.admission.certificates.secret import SecretReference
from lnamespace.admission.certificates.tls import MountedCertificate, ServingCertificate
from lnamespace.admission.certificates.trust import (
    CertificateSource,
    GeneratedCertificate,
    keep_current,
)
from lnamespace.admission.decisions.decision import Decision
from lnamespace.admission.endpoints import AdmissionEndpoints, CreationLimit
from lnamespace.admission.server import Server
from lnamespace.errors import OptionError, SettingsError
from lnamespace.http.probes import Probes, serve_probes
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
from lnamespace.kube.resources import Resource
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.model.names import Names
from lnamespace.payers.file import PayersFile
from lnamespace.runtime.addresses import listen_at
from lnamespace.runtime.lifecycle import running, serve_until_stopped, stop_event
from lnamespace.settings import Settings, items

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Answer the API server until a signal asks to end.

    Raises
    ------
    LNamespaceError
        The webhook cannot run; the message says why.
    """
    # A thread that decides about a large review gives way to the event loop after half a
    # millisecond instead of 5. The loop runs several times for each review, and small reviews
    # took 20 ms instead of 4 meanwhile.
    sys.setswitchinterval(0.0005)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    # One thread: two would not run at the same time, and the event loop would wait for both.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    metrics = WebhookMetrics.new(Names(settings.api_group_suffix).group)
    serving = ServingCertificate(metrics)
    async with AsyncExitStack() as stack:
        client = await _client(stack, settings)
        source = _source(settings, client, serving, metrics)
        payers = PayersFile(settings.payers_file)
        count = partial(_count, metrics)
        unlimited = AdmissionEndpoints.from_settings(
            settings, client, payers, count, metrics.unrecorded.inc
        )
        limits = await _creation_limits(stack, settings, client) if client else {}
        endpoints = replace(unlimited, limits=limits)
        server = Server(endpoints.all(), metrics)
        stop = stop_event()
        await _listen(settings, server, serving)
        probes = Probes(
            lambda: server.problem() or serving.problem(), partial(_measure, payers, metrics)
        )
        await stack.enter_async_context(serve_probes(settings.health_listen, probes))
        await stack.enter_async_context(running(payers.run()))
        await stack.enter_async_context(running(keep_current(source, metrics)))
        await serve_until_stopped(stop, settings.drain_seconds, server)


async def _creation_limits(
    stack: AsyncExitStack, settings: Settings, client: Client
) -> dict[str, CreationLimit]:
    """Return how creations are limited, by kind. The watches run until the stack is closed."""
    names = Names(settings.api_group_suffix)
    limits: dict[Resource, RequesterLimits] = {
        lnamespace_resource(names): lnamespace_limits(settings),
        lcluster_resource(names): lcluster_limits(settings),
    }
    usages = {resource: Usage(each) for resource, each in limits.items() if each.any_limited}
    for resource, usage in usages.items():
        await stack.enter_async_context(running(usage.reflector(client, resource).run()))
    return {
        resource.kind: CreationLimit(
            NamespaceAccounts(client, names, limits[resource]).account_of, usage.exceeded
        )
        for resource, usage in usages.items()
    }


def _count(metrics: WebhookMetrics, path: str, decision: Decision) -> None:
    if decision.errors:
        metrics.refusals.labels(path).inc()
    if decision.limit_exceeded:
        metrics.limit_refusals.inc()
    if decision.charge_source:
        metrics.resolutions.labels(decision.charge_source).inc()


def _measure(payers: PayersFile, metrics: WebhookMetrics) -> bytes:
    """Return all metrics in Prometheus' text format."""
    metrics.payers_problem.set(bool(payers.problem))
    return metrics.text()


async def _client(stack: AsyncExitStack, settings: Settings) -> Client | None:
    """Connect to the API server; return None where that fails and files have the certificate."""
    try:
        access = Access(settings.kubeconfig, settings.context)
        return await stack.enter_async_context(connect(access))
    except SettingsError:
        if not settings.certificate_directory:
            raise
        log.info("no connection to the API server")
        return None


def _source(
    settings: Settings, client: Client | None, serving: ServingCertificate, metrics: WebhookMetrics
) -> CertificateSource:
    if client is None or settings.certificate_directory:
        # The webhook cannot read the caBundles then, and the metric would be 0 for ever.
        metrics.registry.unregister(metrics.trusted)
        folder = Path(settings.certificate_directory)
        # Before a container starts, its volumes are there, though a Secret may still be empty: the
        # webhook waits for the files, and a folder that is not there is a mistake.
        if not folder.is_dir():
            raise SettingsError(
                f"--certificate-directory: there is no folder {folder}; leave it empty, and the "
                "webhook makes its own certificate"
            )
        return MountedCertificate(folder, serving)
    namespace, slash, name = settings.certificate_secret.partition("/")
    if not slash or not namespace or not name:
        raise OptionError("--certificate-secret must be NAMESPACE/NAME")
    spec = CertificateSpec.of_options(
        items(settings.serving_names),
        settings.certificate_hours,
        settings.certificate_settle_seconds,
    )
    names = Names(settings.api_group_suffix)
    return GeneratedCertificate(
        client, SecretReference(namespace, name), names, spec, serving, metrics
    )


async def _listen(settings: Settings, server: Server, serving: ServingCertificate) -> None:
    start = partial(server.start, context=serving.context)
    real = await listen_at("--listen", settings.listen, start)
    log.info("listening", extra={"address": str(real)})
