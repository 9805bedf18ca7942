"""The ConfigMap in which the people of an LCluster read who pays for it, and what it cost.

It is in the LCluster's namespace ``kube-public``, so every client reads and watches it. It is read
once and then written only when it is to say something else.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from lnamespace.controller.lclusters.cost_reports import CostReports, LClusterCost
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lcluster import BILL, BILL_NAMESPACE, LCluster
from lnamespace.model.lnamespace import Provenance

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)

Data = dict[str, str]


class _BillData(msgspec.Struct, frozen=True):
    data: Data = {}


_found = msgspec.json.Decoder(_BillData)


@dataclass(frozen=True)
class TenantBill:
    """Writes the bills of LClusters.

    ``known`` is what the bill in each Namespace says, by the Namespace's UID.
    """

    client: Client
    reports: CostReports = field(default_factory=CostReports)
    known: dict[str, Data] = field(default_factory=dict)

    async def ensure(
        self, lcluster: LCluster, namespaces: tuple[ObservedObject, ...]
    ) -> list[ClusterError]:
        """Make the bill of an LCluster say what is so; return the failure."""
        place = lcluster.prefix + BILL_NAMESPACE
        found = next((each for each in namespaces if each.key[1] == place), None)
        if found is None or found.terminating:
            return []
        data = bill_data(lcluster, self.reports.of(lcluster.uid))
        if self.known.get(found.uid) == data:
            return []
        try:
            await self._write(place, data)
        except ClusterError as error:
            self.forget(found.uid)
            return [error]
        self.known[found.uid] = data
        return []

    def forget(self, uid: str) -> None:
        """Forget a Namespace that is being deleted."""
        self.known.pop(uid, None)

    async def _write(self, namespace: str, data: Data) -> None:
        path = CONFIG_MAP.path(BILL, namespace)
        try:
            present = answers.decode(_found, await self.client.get(path)).data
        except NotFound:
            body: Any = {"metadata": {"name": BILL}, "data": data}
            await self.client.create(
                CONFIG_MAP.path(namespace=namespace), msgspec.json.encode(body)
            )
            return
        if present != data:
            gone = dict.fromkeys(present.keys() - data.keys())
            await self.client.patch(path, msgspec.json.encode({"data": data | gone}))


def bill_data(lcluster: LCluster, costs: tuple[LClusterCost, ...]) -> Data:
    """Return the content of a bill. It leaves out who changed it: programs in pods can read it."""
    billing = lcluster.spec.billing
    origin = billing.provenance
    since = origin.effective_at.isoformat() if isinstance(origin, Provenance) else ""
    payer = {
        "costCenter": billing.cost_center,
        "owner": billing.owner,
        "team": billing.team,
        "environment": billing.environment,
        "since": since.replace("+00:00", "Z"),
    }
    said = {key: value for key, value in payer.items() if value}
    return said | ({"costs.json": _costs_text(costs)} if costs else {})


def _costs_text(costs: tuple[LClusterCost, ...]) -> str:
    """Return the costs as JSON, a line for each, with all digits of the amounts."""
    lines = (_ENCODER.encode(_row(each)).decode() for each in costs)
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


def _row(cost: LClusterCost) -> dict[str, Any]:
    return {
        "month": cost.month,
        "costCenter": cost.cost_center,
        "currency": cost.currency,
        "cost": cost.cost,
    }


_ENCODER = msgspec.json.Encoder(decimal_format="number")
