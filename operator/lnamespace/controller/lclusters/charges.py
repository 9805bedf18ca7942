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
        all_ = known | {uid: each for uid, each in present.items() if uid not in known}
        results = await asyncio.gather(
            *(
                self._record(lcluster, each, now, begun=uid not in known, ended=uid not in present)
                for uid, each in all_.items()
            )
        )
        charged = (
            each
            for (uid, each), errors in zip(all_.items(), results, strict=True)
            # Until its beginning is recorded, it is not charged; until its end is, it is.
            if (uid in known if errors else uid in present)
        )
        failures = tuple(error for errors in results for error in errors)
        return ChargeResult(tuple(sorted(charged, key=lambda each: each.name)), failures)

    async def _record(
        self,
        lcluster: LCluster,
        namespace: ChargedNamespace,
        now: datetime,
        *,
        begun: bool,
        ended: bool,
    ) -> list[ClusterError]:
        recorded = 0 if begun else lcluster.status.recorded.generation
        lns = as_lnamespace(lcluster, namespace, recorded)
        end = (deletion(lns, now),) if ended else ()
        return await self.outbox.create(lns.uid, (*pending_records(lns, now), *end))


def _charged(namespace: ObservedObject) -> ChargedNamespace:
    return ChargedNamespace(namespace.key[1], namespace.uid, namespace.created)
