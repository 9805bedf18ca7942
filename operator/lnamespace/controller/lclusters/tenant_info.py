"""The ConfigMap in which the people of an LCluster read who pays for it, its cost and its limits.

It is in the LCluster's namespace ``kube-public``, so every client can read and watch it. It is read
once, and then written when its data changes.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.controller.lclusters.cost_reports import CostReports, LClusterCost
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CONFIG_MAP
from lnamespace.kube.state import ObservedObject
from lnamespace.kube.times import format_time
from lnamespace.model.billing import BILLING_TEXTS, Provenance
from lnamespace.model.lcluster import INFO, INFO_NAMESPACE, LCluster

Data = dict[str, str]


class _BillData(msgspec.Struct, frozen=True):
    data: Data = {}


_found = msgspec.json.Decoder(_BillData)


@dataclass(frozen=True)
class TenantInfo:
    """A writer of the ConfigMap of each LCluster.

    Parameters
    ----------
    known
        The data of the ConfigMap in each Namespace, by the Namespace's UID.
    """

    client: Client
    reports: CostReports = field(default_factory=CostReports)
    limits: ContentLimits = field(default_factory=ContentLimits)
    known: dict[str, Data] = field(default_factory=dict)

    async def ensure(
        self, lcluster: LCluster, namespaces: tuple[ObservedObject, ...]
    ) -> list[ClusterError]:
        """Write the ConfigMap of an LCluster if its data differs; return the failure."""
        namespace = lcluster.prefix + INFO_NAMESPACE
        found = next((each for each in namespaces if each.key[1] == namespace), None)
        if found is None or found.terminating:
            return []
        data = info_data(
            lcluster, self.reports.costs_for(lcluster.uid), self.limits.limits_for(lcluster)
        )
        if self.known.get(found.uid) == data:
            return []
        try:
            await self._write(namespace, data)
        except ClusterError as error:
            self.forget(found.uid)
            return [error]
        self.known[found.uid] = data
        return []

    def forget(self, uid: str) -> None:
        """Forget a Namespace that is being deleted."""
        self.known.pop(uid, None)

    async def _write(self, namespace: str, data: Data) -> None:
        path = CONFIG_MAP.path(INFO, namespace)
        try:
            present = answers.decode(_found, await self.client.get(path)).data
        except NotFound:
            body: Any = {"metadata": {"name": INFO}, "data": data}
            await self.client.create(
                CONFIG_MAP.path(namespace=namespace), msgspec.json.encode(body)
            )
            return
        if present != data:
            gone = dict.fromkeys(present.keys() - data.keys())
            await self.client.patch(path, msgspec.json.encode({"data": data | gone}))


def info_data(lcluster: LCluster, costs: tuple[LClusterCost, ...], limits: ContentLimits) -> Data:
    """Return the data of the ConfigMap.

    It does not name the user who changed the payer: programs in pods need not know that.
    """
    billing = lcluster.spec.billing
    origin = billing.provenance
    payer = {key: getattr(billing, name) for key, name in BILLING_TEXTS.items()}
    if isinstance(origin, Provenance):
        payer["since"] = format_time(origin.effective_at)
    most = {
        "limits.namespaces": limits.namespaces,
        "limits.customResourceDefinitions": limits.definitions,
        "limits.admission": limits.admission,
        "limits.clusterRoleBindings": limits.bindings,
    }
    data = {key: value for key, value in payer.items() if value}
    data |= {key: str(value) for key, value in most.items() if value}
    return data | ({"costs.json": _costs_text(costs)} if costs else {})


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
