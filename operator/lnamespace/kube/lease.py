"""One of several processes leads: a Lease (coordination.k8s.io/v1) says which.

As in client-go, nobody compares clocks: who waits takes over when the Lease has not changed for as
long as it lasts, by their own clock. Who leads counts from before its last successful renewal was
sent, and stops a margin earlier: from then on :meth:`Election.check` lets no write out.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from lnamespace.errors import ClusterError, Conflict, LostLease, NotFound
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.resources import Resource

LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseConfig:
    """Where the Lease is, and its times in seconds.

    After ``duration`` without a renewal somebody else may lead; the leader itself writes nothing
    more ``margin`` seconds before that, which is the longest that a write may take.
    """

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    margin: float = 5.0
    pause: float = 2.0


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: _LeaseSpec = _LeaseSpec()


_decoder = msgspec.json.Decoder(_Lease)


class LeaderElector:
    """Takes part in the election. For one event loop."""

    def __init__(self, client: Client, terms: LeaseConfig) -> None:
        self._client = client
        self._terms = terms
        self._path = LEASE.path(terms.name, terms.namespace)
        self._ends = 0.0
        self._seen: _Lease | None = None
        self._seen_at = 0.0

    @property
    def leads(self) -> bool:
        """Whether a write may be sent now."""
        return asyncio.get_running_loop().time() < self._ends - self._terms.margin

    def check(self) -> float:
        """How many seconds a write that is sent now may take.

        Raises
        ------
        LostLease
            None: somebody else may lead by now.
        """
        if not self.leads:
            raise LostLease("not the leader any more")
        return self._ends - asyncio.get_running_loop().time()

    async def win(self) -> None:
        """Wait until this process leads."""
        log.info("waiting to lead", extra={"lease": self._terms.name})
        while True:
            if await self._try():
                break
            await asyncio.sleep(self._terms.pause)
        log.info("leading", extra={"lease": self._terms.name, "identity": self._terms.identity})

    async def keep(self) -> None:
        """Renew the Lease for as long as possible.

        Raises
        ------
        LostLease
            It could not be renewed in time, or somebody else has it.
        """
        while self.leads:
            await asyncio.sleep(self._terms.pause)
            await self._try()
        raise LostLease("the lease could not be renewed in time")

    async def release(self) -> None:
        """Let the next one lead at once; for an orderly end, when nothing is written any more."""
        if not self.leads or self._seen is None:
            return
        self._ends = 0.0
        try:
            await self._let_go(self._seen)
        except ClusterError as error:
            log.info("lease not released", extra={"error": str(error)})

    async def _let_go(self, known: _Lease) -> None:
        try:
            await self._write(known, holder="")
        except Conflict:
            # A renewal of ours may have been cancelled after it had been carried out.
            lease = await self._read()
            if lease is None or lease.spec.holder_identity != self._terms.identity:
                raise
            await self._write(lease, holder="")

    async def _try(self) -> bool:
        """Take or renew the Lease if that is possible now."""
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._terms.margin):
                lease = await self._read()
                if lease is not None and not self._is_free(lease, started):
                    self._ends = min(self._ends, started)
                    return False
                self._seen = await self._write(lease, self._terms.identity)
        except Conflict:
            return False
        except (ClusterError, TimeoutError) as error:
            log.warning("lease not renewed", extra={"error": str(error)})
            return False
        self._seen_at = started
        self._ends = started + self._terms.duration
        return True

    async def _read(self) -> _Lease | None:
        try:
            return decode(_decoder, await self._client.get(self._path))
        except NotFound:
            return None

    def _is_free(self, lease: _Lease, asked: float) -> bool:
        """Whether somebody else's Lease is over; ``asked`` is when it was asked for.

        Both ends err to the safe side: it was renewed before it was first read like this, and was
        still the same when it was asked for again.
        """
        if lease.spec.holder_identity in (None, "", self._terms.identity):
            return True
        if self._seen is None or self._seen.spec != lease.spec:
            self._seen, self._seen_at = lease, asyncio.get_running_loop().time()
        return asked - self._seen_at > (lease.spec.lease_duration_seconds or self._terms.duration)

    async def _write(self, lease: _Lease | None, holder: str) -> _Lease:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        known = lease.spec if lease else _LeaseSpec()
        spec: dict[str, Any] = {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(self._terms.duration),
            "renewTime": now,
        }
        if holder != known.holder_identity:
            spec |= {"acquireTime": now, "leaseTransitions": (known.lease_transitions or 0) + 1}
        metadata = {"name": self._terms.name, "namespace": self._terms.namespace}
        if lease is None:
            body = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
            path = LEASE.path(namespace=self._terms.namespace)
            made = await self._client.create(path, msgspec.json.encode(body | {"spec": spec}))
            return decode(_decoder, made)
        version = {"resourceVersion": lease.metadata.resource_version}
        body = {"metadata": version, "spec": spec}
        return decode(_decoder, await self._client.patch(self._path, msgspec.json.encode(body)))
