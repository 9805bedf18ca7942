"""Leader election by a Lease (coordination.k8s.io/v1), as in client-go.

No clocks are compared. A candidate takes over when the Lease has not changed for its duration, by
the candidate's own clock. The leader counts from before it sent its last successful renewal, and
stops a margin earlier: from then on :meth:`LeaderElector.check` refuses every write.
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
from lnamespace.kube.times import format_time

LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseConfig:
    """The name of the Lease, and its times in seconds.

    Parameters
    ----------
    identity
        The name of this candidate, which no other has.
    duration
        The time after the last renewal in which no other candidate may lead.
    margin
        The time before that end in which the leader writes nothing; the longest that a write takes.
    retry_period
        The pause between two attempts to acquire or renew the Lease.
    """

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    margin: float = 5.0
    retry_period: float = 2.0


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
    """A candidate in the election, for one event loop."""

    def __init__(self, client: Client, config: LeaseConfig) -> None:
        self._client = client
        self._config = config
        self._path = LEASE.path(config.name, config.namespace)
        self._ends = 0.0
        self._seen: _Lease | None = None
        self._seen_at = 0.0

    @property
    def leads(self) -> bool:
        """Return whether this process leads and may send a write now."""
        return asyncio.get_running_loop().time() < self._ends - self._config.margin

    def check(self) -> float:
        """Return how many seconds a write that is sent now may take.

        Raises
        ------
        LostLease
            This process does not lead any more.
        """
        if not self.leads:
            raise LostLease("not the leader any more")
        return self._ends - asyncio.get_running_loop().time()

    async def acquire(self) -> None:
        """Wait until this process leads."""
        log.info("waiting to lead", extra={"lease": self._config.name})
        while True:
            if await self._try():
                break
            await asyncio.sleep(self._config.retry_period)
        log.info("leading", extra={"lease": self._config.name, "identity": self._config.identity})

    async def renew(self) -> None:
        """Renew the Lease for as long as possible.

        Raises
        ------
        LostLease
            The Lease could not be renewed in time, or another process has it.
        """
        while self.leads:
            await asyncio.sleep(self._config.retry_period)
            await self._try()
        raise LostLease("the lease could not be renewed in time")

    async def release(self) -> None:
        """Release the Lease, so that another candidate leads at once; no write may be under way."""
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
            if lease is None or lease.spec.holder_identity != self._config.identity:
                raise
            await self._write(lease, holder="")

    async def _try(self) -> bool:
        """Acquire or renew the Lease; return whether that succeeded."""
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._config.margin):
                lease = await self._read()
                if lease is not None and not self._is_free(lease, started):
                    self._ends = min(self._ends, started)
                    return False
                self._seen = await self._write(lease, self._config.identity)
        except Conflict:
            return False
        except (ClusterError, TimeoutError) as error:
            log.warning("lease not renewed", extra={"error": str(error)})
            return False
        self._seen_at = started
        self._ends = started + self._config.duration
        return True

    async def _read(self) -> _Lease | None:
        try:
            return decode(_decoder, await self._client.get(self._path))
        except NotFound:
            return None

    def _is_free(self, lease: _Lease, asked: float) -> bool:
        """Return whether the Lease has expired or has no holder; ``asked`` is when it was read.

        Both times are on the safe side: the Lease was renewed before it was first read in this
        form, and still had this form after ``asked``.
        """
        if lease.spec.holder_identity in (None, "", self._config.identity):
            return True
        if self._seen is None or self._seen.spec != lease.spec:
            self._seen, self._seen_at = lease, asyncio.get_running_loop().time()
        return asked - self._seen_at > (lease.spec.lease_duration_seconds or self._config.duration)

    async def _write(self, lease: _Lease | None, holder: str) -> _Lease:
        now = format_time(datetime.now(UTC), "microseconds")
        known = lease.spec if lease else _LeaseSpec()
        spec: dict[str, Any] = {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(self._config.duration),
            "renewTime": now,
        }
        if holder != known.holder_identity:
            spec |= {"acquireTime": now, "leaseTransitions": (known.lease_transitions or 0) + 1}
        metadata = {"name": self._config.name, "namespace": self._config.namespace}
        if lease is None:
            body = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
            path = LEASE.path(namespace=self._config.namespace)
            made = await self._client.create(path, msgspec.json.encode(body | {"spec": spec}))
            return decode(_decoder, made)
        version = {"resourceVersion": lease.metadata.resource_version}
        body = {"metadata": version, "spec": spec}
        return decode(_decoder, await self._client.patch(self._path, msgspec.json.encode(body)))
