"""The loop that keeps the certificate valid, shared by all replicas and trusted by API servers.

Every few seconds each replica reads the Secret that they share and the objects that make API
servers call the webhook, lets :mod:`~lnamespace.admission.certificates.rotation` decide, and writes
what differs. No replica leads: the first one writes, a second one gets a conflict and reads again.
"""

import asyncio
import base64
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from lnamespace.admission.certificates.keypairs import (
    CertificateSpec,
    KeyPair,
    make_pair,
    problem,
    trusts,
)
from lnamespace.admission.certificates.rotation import (
    ObservedState,
    SharedState,
    desired_bundle,
    next_state,
    pair_to_serve,
)
from lnamespace.admission.certificates.secret import (
    Manifest,
    SecretReference,
    decode_base64,
    manifest_of,
    state_of,
)
from lnamespace.admission.certificates.tls import ServingCertificate
from lnamespace.errors import ClusterError, Conflict, NotFound
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.resources import (
    CUSTOM_RESOURCE_DEFINITION,
    MUTATING_WEBHOOK_CONFIGURATION,
    SECRET,
    VALIDATING_WEBHOOK_CONFIGURATION,
    Resource,
)
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.model.names import Names

log = logging.getLogger(__name__)

_manifest_decoder = msgspec.json.Decoder(Manifest)

PAUSE = 5.0
"""Seconds between two rounds, on average."""


@dataclass(frozen=True)
class CABundleTarget:
    """An object with the caBundles by which API servers trust the webhook."""

    resource: Resource
    name: str

    @property
    def path(self) -> str:
        """Return the object's path in the API."""
        return self.resource.path(self.name)


def targets(names: Names) -> tuple[CABundleTarget, ...]:
    """Return both webhook configurations and the CustomResourceDefinition of an instance."""
    return (
        CABundleTarget(MUTATING_WEBHOOK_CONFIGURATION, f"{names.prefix}-webhook"),
        CABundleTarget(VALIDATING_WEBHOOK_CONFIGURATION, f"{names.prefix}-webhook"),
        CABundleTarget(CUSTOM_RESOURCE_DEFINITION, f"lnamespaces.{names.group}"),
    )


class CertificateSource(Protocol):
    """A source of the certificate that is served."""

    async def reconcile(self) -> None:
        """Read the present state once, and change what differs.

        Raises
        ------
        ClusterError
            The API server refused, or gave no answer.
        OSError
            A file cannot be read.
        """


async def keep_current(source: CertificateSource, metrics: WebhookMetrics) -> None:
    """Reconcile for ever; a failure is logged and counted, and the served pair stays."""
    backoff, failures = Backoff(first=0.5, longest=60), 0
    while True:
        try:
            await source.reconcile()
        except Conflict:
            await asyncio.sleep(random.uniform(0.05, 0.5))
        except (ClusterError, OSError) as error:
            failures += 1
            metrics.trust_failures.inc()
            log.warning("certificate not looked after", extra={"error": str(error)})
            await asyncio.sleep(backoff.delay(failures))
        except Exception:
            failures += 1
            metrics.trust_failures.inc()
            log.exception("certificate not looked after")
            await asyncio.sleep(backoff.delay(failures))
        else:
            failures = 0
            await asyncio.sleep(PAUSE * random.uniform(0.8, 1.2))


class GeneratedCertificate:
    """Certificates that are made here, shared in a Secret, and trusted by every caBundle."""

    def __init__(
        self,
        client: Client,
        reference: SecretReference,
        names: Names,
        spec: CertificateSpec,
        serving: ServingCertificate,
        metrics: WebhookMetrics,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._reference = reference
        self._targets = targets(names)
        self._spec = spec
        self._serving = serving
        self._metrics = metrics
        self._now = now

    async def reconcile(self) -> None:
        """Update the shared Secret, the served certificate and the caBundles, in this order.

        Each is written only if it differs.
        """
        secret = await self._secret()
        found = [await self._target(target) for target in self._targets]
        bundles = tuple(present for manifest in found for present in bundles_of(manifest))
        seen = ObservedState(state_of(secret), self._serving.pair, bundles, self._now())
        state = next_state(seen, self._spec, self._fresh)
        if state != seen.state:
            await self._share(secret, state)
            _log_changes(seen, state)
        self._serve(replace(seen, state=state))
        for target, manifest in zip(self._targets, found, strict=True):
            await self._inject(target, manifest, state)

    def _fresh(self) -> KeyPair:
        return make_pair(self._spec, self._now())

    def _serve(self, seen: ObservedState) -> None:
        pair = pair_to_serve(seen, self._spec)
        if pair:
            self._serving.use(pair)
            trusted = all(trusts(present, pair) for present in seen.bundles)
            self._metrics.trusted.set(trusted)

    async def _secret(self) -> Manifest:
        """Return the Secret; empty where there is none."""
        return await self._get(SECRET.path(self._reference.name, self._reference.namespace))

    async def _target(self, target: CABundleTarget) -> Manifest:
        return await self._get(target.path)

    async def _get(self, path: str) -> Manifest:
        try:
            found = answers.decode(_manifest_decoder, await self._client.get(path))
        except NotFound:
            return {}
        return found

    async def _share(self, secret: Manifest, state: SharedState) -> None:
        body = msgspec.json.encode(manifest_of(self._reference, state, _version(secret)))
        if secret:
            path = SECRET.path(self._reference.name, self._reference.namespace)
            await self._client.patch(path, body)
        else:
            await self._client.create(SECRET.path(namespace=self._reference.namespace), body)

    async def _inject(self, target: CABundleTarget, found: Manifest, state: SharedState) -> None:
        change = injection(found, state, self._now())
        if change:
            await self._client.patch(target.path, msgspec.json.encode(change))
            log.info("caBundle written", extra={"kind": target.resource.kind})


def bundles_of(found: Manifest) -> tuple[bytes, ...]:
    """Return the caBundle of every webhook in an object; empty for a webhook that has none yet."""
    return tuple(decode_base64(config.get("caBundle")) for config in _client_configs(found))


def injection(found: Manifest, state: SharedState, now: datetime) -> Manifest | None:
    """Return the merge patch that makes an object trust the state; None where it does already.

    A merge patch replaces a list as a whole. With the resource version in it, the API server
    refuses it if the list has changed since it was read.
    """
    changed: Manifest = msgspec.json.decode(msgspec.json.encode(found))
    for config in _client_configs(changed):
        present = decode_base64(config.get("caBundle"))
        wanted = desired_bundle(present, state, now)
        if wanted != present:
            config["caBundle"] = base64.b64encode(wanted).decode()
    if changed == found:
        return None
    part = "webhooks" if "webhooks" in found else "spec"
    metadata = {"resourceVersion": _version(found)}
    if part == "webhooks":
        return {"metadata": metadata, "webhooks": changed["webhooks"]}
    bundle = changed["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]
    conversion = {"webhook": {"clientConfig": {"caBundle": bundle}}}
    return {"metadata": metadata, "spec": {"conversion": conversion}}


def _client_configs(found: Manifest) -> list[Manifest]:
    """Return the clientConfig of each webhook, or that of the conversion if there is one."""
    webhooks = found.get("webhooks") or [found.get("spec", {}).get("conversion", {}).get("webhook")]
    return [webhook["clientConfig"] for webhook in webhooks if webhook]


def _version(found: Manifest) -> str:
    version: str = found.get("metadata", {}).get("resourceVersion", "")
    return version


def _log_changes(seen: ObservedState, state: SharedState) -> None:
    """Log which pairs are new, and which are unusable."""
    for held in (seen.state.current, seen.state.next):
        wrong = problem(held.pair, seen.now) if held else None
        if wrong:
            log.warning("shared certificate is replaced", extra={"reason": wrong})
    if state.next and (not seen.state.next or state.next.pair != seen.state.next.pair):
        log.info("next certificate made")
    if state.current and (not seen.state.current or state.current.pair != seen.state.current.pair):
        log.info("certificate shared")
