"""Record who pays for each namespace of a tenant, as long as the namespace exists."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.controller.outbox import BillingRecorder
from lnamespace.errors import ClusterError
from lnamespace.kube.state import ObservedObject
from lnamespace.ledger.outbox.endings import deletion
from lnamespace.ledger.outbox.record import pending_records
from lnamespace.ledger.outbox.tenant_charge import as_lnamespace
from lnamespace.model.lcluster import ChargedNamespace, LCluster


@dataclass(frozen=True)
class ChargeResult:
    """The namespaces whose charges are recorded, and the failures for the others."""

    charged: tuple[ChargedNamespace, ...] = ()
    failures: tuple[ClusterError, ...] = ()


@dataclass(frozen=True)
class TenantCharges:
    """A recorder of charges of tenants' namespaces; ``status.charged`` lists the recorded ones."""

    outbox: BillingRecorder

    async def record(
        self, lcluster: LCluster, namespaces: Iterable[ObservedObject], now: datetime
    ) -> ChargeResult:
        """Record the charges that began, changed or ended since the status was written."""
        present = {namespace.uid: _charged(namespace) for namespace in namespaces}
        known = {each.uid: each for each in lcluster.status.charged}
        begun = [each for uid, each in present.items() if uid not in known]
        kept = [each for uid, each in known.items() if uid in present]
        ended = [each for uid, each in known.items() if uid not in present]
        results = await asyncio.gather(
            *(self._record(lcluster, each, now, 0) for each in begun),
            *(self._record(lcluster, each, now, _recorded(lcluster)) for each in kept),
            *(self._close(lcluster, each, now) for each in ended),
        )
        failures = tuple(error for errors in results for error in errors)
        unrecorded = [each for each, errors in zip(begun, results, strict=False) if errors]
        unended = [
            each
            for each, errors in zip(ended, results[len(results) - len(ended) :], strict=True)
            if errors
        ]
        charged = (*kept, *unended, *(each for each in begun if each not in unrecorded))
        return ChargeResult(tuple(sorted(charged, key=lambda each: each.name)), failures)

    async def _record(
        self, lcluster: LCluster, namespace: ChargedNamespace, now: datetime, recorded: int
    ) -> list[ClusterError]:
        lns = as_lnamespace(lcluster, namespace, recorded)
        return await self.outbox.create(lns.uid, pending_records(lns, now))

    async def _close(
        self, lcluster: LCluster, namespace: ChargedNamespace, now: datetime
    ) -> list[ClusterError]:
        lns = as_lnamespace(lcluster, namespace, _recorded(lcluster))
        return await self.outbox.create(lns.uid, (*pending_records(lns, now), deletion(lns, now)))


def _charged(namespace: ObservedObject) -> ChargedNamespace:
    return ChargedNamespace(namespace.key[1], namespace.uid, namespace.created)


def _recorded(lcluster: LCluster) -> int:
    return lcluster.status.recorded.generation
