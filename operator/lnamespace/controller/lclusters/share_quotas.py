"""The ResourceQuotas of shares as stored in the cluster, and the demand of refused requests."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.access.quota_refusals import ShareRefusal
from lnamespace.controller.lclusters.shares import is_scarce
from lnamespace.kube import answers
from lnamespace.kube.objects import Key, ObjectMeta
from lnamespace.model.names import Names
from lnamespace.model.quantities import Amounts, parse_amounts

DEMAND_SECONDS = 30.0
"""How long a share is kept for a refused request, which its client retries."""


class CachedShareQuota(msgspec.Struct, frozen=True):
    """A ResourceQuota of a share; ``generation`` is that of the share it was written for."""

    key: Key
    version: int
    uid: str
    generation: int
    written: Amounts
    enforced: Amounts
    used: Amounts


class _QuotaSpec(msgspec.Struct, frozen=True):
    hard: dict[str, str] = {}


class _QuotaStatus(msgspec.Struct, frozen=True):
    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class _ResourceQuota(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _QuotaSpec = _QuotaSpec()
    status: _QuotaStatus = _QuotaStatus()


_decoder = msgspec.json.Decoder(_ResourceQuota)


def read_share_quota(raw: bytes | msgspec.Raw, names: Names) -> CachedShareQuota:
    """Read a ResourceQuota.

    Raises
    ------
    Unreadable
        It is not JSON, or not of that form.
    """
    read = answers.decode(_decoder, raw)
    meta = read.metadata
    generation = meta.annotations.get(names.share_annotation, "")
    return CachedShareQuota(
        (meta.namespace, meta.name),
        answers.version_of(meta.resource_version),
        meta.uid,
        int(generation) if generation.isdecimal() else -1,
        parse_amounts(read.spec.hard),
        parse_amounts(read.status.hard),
        parse_amounts(read.status.used),
    )


def affects_shares(
    old: CachedShareQuota | None, new: CachedShareQuota | None, totals: Amounts, *, demanded: bool
) -> bool:
    """Return whether a change of a ResourceQuota may change shares.

    Each pod changes the use: that matters where little is left, or where there is demand.
    """
    if old is None or new is None or demanded:
        return True
    if (old.generation, old.written, old.enforced) != (new.generation, new.written, new.enforced):
        return True
    return any(
        used != old.used.get(resource)
        and is_scarce(totals.get(resource, 0), new.written.get(resource, 0), used)
        for resource, used in new.used.items()
    )


@dataclass
class ShareDemand:
    """The limits that refused requests need, by namespace, for some seconds."""

    clock: Callable[[], float] = time.monotonic
    _demands: dict[str, tuple[float, Mapping[str, int]]] = field(default_factory=dict)

    def note(self, namespace: str, refusal: ShareRefusal) -> None:
        """Record the limits that a refused request in a namespace needs."""
        now = self.clock()
        self._demands = {k: each for k, each in self._demands.items() if each[0] > now}
        wanted = dict(self.of(namespace))
        for resource, limit in refusal.wanted.items():
            wanted[resource] = max(limit, wanted.get(resource, 0))
        self._demands[namespace] = now + DEMAND_SECONDS, wanted

    def of(self, namespace: str) -> Mapping[str, int]:
        """Return the limits that are in demand in a namespace."""
        until, wanted = self._demands.get(namespace, (0.0, {}))
        return wanted if until > self.clock() else {}

    def any_with(self, prefix: str) -> bool:
        """Return whether there is demand in a namespace with this prefix."""
        return any(each.startswith(prefix) and self.of(each) for each in self._demands)
