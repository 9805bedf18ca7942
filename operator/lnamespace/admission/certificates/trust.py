"""Keeps the certificate fresh, shared by all replicas, and trusted by the API server.

Every few seconds each replica looks at the Secret that they share and at the objects by which
the API server calls, lets :mod:`lnamespace.admission.certificates.values` decide, and does it. None
of them leads: whoever is first writes, and who was second sees a conflict and looks again.
"""

import asyncio
import base64
import binascii
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from lnamespace.admission.certificates import values as certificates
from lnamespace.admission.certificates.tls import Identity
from lnamespace.admission.certificates.values import Held, Pair, Situation, State, Terms
from lnamespace.errors import ClusterError, Conflict, NotFound
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.model.names import Names

log = logging.getLogger(__name__)

Manifest = dict[str, Any]
_manifest = msgspec.json.Decoder(dict[str, Any])

SECRET = Resource("", "v1", "Secret", "secrets", namespaced=True)
_ADMISSION = "admissionregistration.k8s.io"
MUTATING = Resource(
    _ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
)
VALIDATING = Resource(
    _ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
)
DEFINITION = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"
)

PAUSE = 5.0
"""Seconds between two looks."""


@dataclass(frozen=True)
class Place:
    """Where the Secret is."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Target:
    """An object by which the API server calls the webhook."""

    resource: Resource
    name: str

    @property
    def path(self) -> str:
        """Of the object."""
        return self.resource.path(self.name)


def targets(names: Names) -> tuple[Target, ...]:
    """Both webhook configurations and the CustomResourceDefinition of one instance."""
    return (
        Target(MUTATING, f"{names.prefix}-webhook"),
        Target(VALIDATING, f"{names.prefix}-webhook"),
        Target(DEFINITION, f"lnamespaces.{names.group}"),
    )


class Source(Protocol):
    """Where the certificate comes from."""

    async def look(self) -> None:
        """Look once, and do what is to be done; raises ClusterError or OSError."""


async def keep(source: Source, metrics: WebhookMetrics) -> None:
    """Look again and again, for ever; what fails is logged, and what is served stays."""
    backoff, failures = Backoff(first=0.5, longest=60), 0
    while True:
        try:
            await source.look()
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


class SelfMade:
    """A pair that we make, in a Secret, with its CA in every caBundle."""

    def __init__(
        self,
        client: Client,
        place: Place,
        names: Names,
        terms: Terms,
        identity: Identity,
        metrics: WebhookMetrics,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._place = place
        self._targets = targets(names)
        self._terms = terms
        self._identity = identity
        self._metrics = metrics
        self._now = now

    async def look(self) -> None:
        """Share, serve and have trusted what is due; in this order, each only if it differs."""
        secret = await self._secret()
        found = [await self._target(target) for target in self._targets]
        bundles = tuple(present for manifest in found for present in bundles_of(manifest))
        seen = Situation(read(secret), self._identity.pair, bundles, self._now())
        state = certificates.advance(seen, self._terms, self._fresh)
        if state != seen.state:
            await self._share(secret, state)
            _tell(seen, state)
        self._serve(replace(seen, state=state))
        for target, manifest in zip(self._targets, found, strict=True):
            await self._inject(target, manifest, state)

    def _fresh(self) -> Pair:
        return certificates.make(self._terms, self._now())

    def _serve(self, seen: Situation) -> None:
        pair = certificates.serve(seen, self._terms)
        if pair:
            self._identity.show(pair)
            trusted = all(certificates.trusts(present, pair) for present in seen.bundles)
            self._metrics.trusted.set(trusted)

    async def _secret(self) -> Manifest:
        """The Secret; empty where there is none."""
        return await self._get(SECRET.path(self._place.name, self._place.namespace))

    async def _target(self, target: Target) -> Manifest:
        return await self._get(target.path)

    async def _get(self, path: str) -> Manifest:
        try:
            found = answers.decode(_manifest, await self._client.get(path))
        except NotFound:
            return {}
        return found

    async def _share(self, secret: Manifest, state: State) -> None:
        body = msgspec.json.encode(manifest(self._place, state, _version(secret)))
        if secret:
            path = SECRET.path(self._place.name, self._place.namespace)
            await self._client.patch(path, body)
        else:
            await self._client.create(SECRET.path(namespace=self._place.namespace), body)

    async def _inject(self, target: Target, found: Manifest, state: State) -> None:
        change = injection(found, state, self._now())
        if change:
            await self._client.patch(target.path, msgspec.json.encode(change))
            log.info("caBundle written", extra={"kind": target.resource.kind})


def read(secret: Manifest) -> State:
    """What the Secret says; what cannot be read in it is as if it were not there."""
    data = secret.get("data")
    if not isinstance(data, dict):
        return State()
    return State(_held(data, ""), _held(data, _NEXT))


def manifest(place: Place, state: State, version: str = "") -> Manifest:
    """The Secret for a state, whole to create it and as a merge patch to change it.

    ``version`` makes the API server refuse if somebody else was first.
    """
    metadata = {"name": place.name, "namespace": place.namespace}
    data = _data(state.current, "") | _data(state.next, _NEXT)
    if version:  # Its type stays as it is, for it cannot be changed.
        return {"metadata": metadata | {"resourceVersion": version}, "data": data}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "kubernetes.io/tls",
        "data": {key: value for key, value in data.items() if value is not None},
    }


def bundles_of(found: Manifest) -> tuple[bytes, ...]:
    """The caBundle of every call to us that the object makes; empty where it has none yet."""
    return tuple(_decoded(config.get("caBundle")) for config in _client_configs(found))


def injection(found: Manifest, state: State, now: datetime) -> Manifest | None:
    """The merge patch that makes the object trust the state, and changes nothing else; or None.

    A merge patch replaces a list as a whole. The version makes it the list that was read.
    """
    changed: Manifest = msgspec.json.decode(msgspec.json.encode(found))
    for config in _client_configs(changed):
        present = _decoded(config.get("caBundle"))
        wanted = certificates.bundle(present, state, now)
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
    """How the API server reaches us: each webhook's, or the conversion's if there is one."""
    webhooks = found.get("webhooks") or [found.get("spec", {}).get("conversion", {}).get("webhook")]
    return [webhook["clientConfig"] for webhook in webhooks if webhook]


def _version(found: Manifest) -> str:
    version: str = found.get("metadata", {}).get("resourceVersion", "")
    return version


_NEXT = "next."


def _held(data: Manifest, prefix: str) -> Held | None:
    parts = [
        _decoded(data.get(f"{prefix}{key}"))
        for key in ("tls.crt", "tls.key", "ca.crt", "trusted-since")
    ]
    if not any(parts):
        return None
    return Held(Pair(*parts[:3]), _instant(parts[3]))


def _data(held: Held | None, prefix: str) -> dict[str, str | None]:
    """The keys of a pair in the Secret; None removes one."""
    since = held.trusted_since if held else None
    content = {
        "tls.crt": held.pair.certificate if held else None,
        "tls.key": held.pair.key if held else None,
        "ca.crt": held.pair.ca if held else None,
        "trusted-since": since.isoformat().encode() if since else None,
    }
    return {
        f"{prefix}{key}": None if value is None else base64.b64encode(value).decode()
        for key, value in content.items()
    }


def _instant(text: bytes) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.decode())
    except ValueError:
        return None
    return found if found.tzinfo else None


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        return b""


def _tell(seen: Situation, state: State) -> None:
    """Say in the log what was decided, and what was found unusable."""
    for held in (seen.state.current, seen.state.next):
        wrong = certificates.problem(held.pair, seen.now) if held else None
        if wrong:
            log.warning("shared certificate is replaced", extra={"reason": wrong})
    if state.next and (not seen.state.next or state.next.pair != seen.state.next.pair):
        log.info("next certificate made")
    if state.current and (not seen.state.current or state.current.pair != seen.state.current.pair):
        log.info("certificate shared")


def terms(names: tuple[str, ...], hours: int, settle_seconds: int) -> Terms:
    """What the options ask for; a certificate is always good for localhost too."""
    every = tuple(dict.fromkeys((*names, "localhost", "127.0.0.1", "::1")))
    return Terms(every, timedelta(hours=hours), timedelta(seconds=settle_seconds))
