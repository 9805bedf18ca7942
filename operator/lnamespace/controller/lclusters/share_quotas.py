"""The ResourceQuotas of shares as stored in the cluster, and the demand of refused requests."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from lnamespace.access.quota_refusals import ShareRefusal
from lnamespace.controller.lclusters.shares import is_scarce
from lnamespace.kube import answers
from lnamespace.kube.json_pointer import pointer_of
from lnamespace.kube.objects import Key, ObjectMeta
from lnamespace.model.lcluster import QUOTA_MAX_RESOURCES
from lnamespace.model.names import Names
from lnamespace.model.quantities import Amounts, parse_amounts

CONTROLLER_SECONDS = 30.0
"""How long a share is kept for a controller of Kubernetes, which retries by itself."""

REQUEST_SECONDS = 2.0
"""How long a share is kept for a request of the gateway, which asks again while it waits.

A share that was kept after the request had ended was refused to others of the LCluster.
"""

_MOST_DEMANDS = 100
"""The most demands of one namespace: tenants can write Events too, and could fill the memory."""


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
        The object is not JSON, or not of that form.
    """
    read = answers.decode(_decoder, raw)
    meta = read.metadata
    return CachedShareQuota(
        (meta.namespace, meta.name),
        answers.version_of(meta.resource_version),
        meta.uid,
        _generation(meta.annotations.get(names.share_annotation, "")),
        _amounts(read.spec.hard),
        _amounts(read.status.hard),
        _amounts(read.status.used),
    )


def _amounts(quantities: Mapping[str, str]) -> Amounts:
    """Return the amounts of as many resources as a share has; other quotas may have thousands."""
    return parse_amounts(dict(islice(quantities.items(), QUOTA_MAX_RESOURCES)))


def _generation(text: str) -> int:
    return int(text) if re.fullmatch(r"0|[1-9][0-9]{0,17}", text) else -1


def unchanged_test(found: CachedShareQuota, names: Names) -> dict[str, Any]:
    """Return the test of a JSON patch that no controller has lowered the limit since it was read.

    The resourceVersion changes with each object that is created under the quota: during many
    creations, a share could not be moved for seconds.
    """
    if found.generation < 0:
        path, value = "/metadata/resourceVersion", str(found.version)
    else:
        path = pointer_of(("metadata", "annotations", names.share_annotation))
        value = str(found.generation)
    return {"op": "test", "path": path, "value": value}


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
    """The limits that refused requests need, by namespace, each for some seconds."""

    clock: Callable[[], float] = time.monotonic
    _demands: dict[str, dict[tuple[str, int], float]] = field(default_factory=dict)
    """Until when a limit of a resource is in demand, by namespace."""

    def note(self, namespace: str, refusal: ShareRefusal, seconds: float) -> None:
        """Record the limits that a refused request in a namespace needs for some seconds."""
        until = self.clock() + seconds
        present = {each: found for each in self._demands if (found := self._present(each))}
        here = present.get(namespace, {})
        here |= {each: max(until, here.get(each, 0.0)) for each in refusal.wanted.items()}
        latest = sorted(here, key=lambda each: here[each])[-_MOST_DEMANDS:]
        self._demands = present | {namespace: {each: here[each] for each in latest}}

    def demand_in(self, namespace: str) -> Mapping[str, int]:
        """Return the limits that are in demand in a namespace."""
        wanted: dict[str, int] = {}
        for resource, limit in self._present(namespace):
            wanted[resource] = max(limit, wanted.get(resource, 0))
        return wanted

    def any_with(self, prefix: str) -> bool:
        """Return whether there is demand in a namespace with this prefix."""
        return any(each.startswith(prefix) and self._present(each) for each in self._demands)

    def _present(self, namespace: str) -> dict[tuple[str, int], float]:
        """Return what is still in demand in a namespace."""
        now = self.clock()
        return {k: until for k, until in self._demands.get(namespace, {}).items() if until > now}
