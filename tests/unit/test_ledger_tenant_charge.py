"""Namespaces of a tenant's cluster are charged like LNamespaces."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

import pytest
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import ClusterIdentity, Row
from lnamespace.ledger.outbox.endings import deletion
from lnamespace.ledger.outbox.record import pending_records, recorded_since
from lnamespace.ledger.outbox.tenant_charge import as_lnamespace, charged_lnamespaces
from lnamespace.ledger.publisher.reconciliation import compare_with_cluster
from lnamespace.model.billing import Billing, BillingSource, Charge, Provenance
from lnamespace.model.lcluster import ChargedNamespace, LCluster, LClusterSpec, LClusterStatus
from lnamespace.model.lnamespace import Metadata, Recorded
from lnamespace.model.names import Names

from tests.unit.support.outbox_server import outbox_server
from tests.unit.support.server import client_of

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def provenance(generation: int, day: int) -> Provenance:
    return Provenance(generation, datetime(2026, 1, day, tzinfo=UTC), BillingSource.EXPLICIT, "ann")


BILLING = Billing(
    cost_center="2",
    provenance=provenance(2, 3),
    superseded=(Charge(cost_center="1", provenance=provenance(1, 1)),),
)
LCLUSTER = LCluster(
    Metadata("acme", "uid-a", generation=2), LClusterSpec(requester="ann", billing=BILLING)
)


@pytest.mark.parametrize(
    ("created", "charges"),
    [
        ("2026-01-01T00:00:00Z", [("1", 1), ("2", 3)]),
        ("2026-01-02T00:00:00Z", [("1", 2), ("2", 3)]),
        ("2026-01-03T00:00:00Z", [("2", 3)]),
        ("2026-01-04T00:00:00Z", [("2", 4)]),
    ],
)
def test_a_namespace_of_an_lcluster_is_charged_from_its_creation(
    created: str, charges: list[tuple[str, int]]
) -> None:
    prod = ChargedNamespace("acme-prod", "u-1", created)
    records = pending_records(as_lnamespace(LCLUSTER, prod), NOW)
    assert [(each.cost_center, each.valid_from.day) for each in records] == charges
    assert {(each.namespace, each.lnamespace_uid) for each in records} == {("acme-prod", "u-1")}


def test_a_comparison_knows_no_payer_from_before_a_namespace() -> None:
    """The webhook keeps the last recorded charge, for namespaces that nobody has seen."""
    dev = ChargedNamespace("acme-dev", "u-2", "2026-01-04T00:00:00Z")
    known = recorded_since(as_lnamespace(LCLUSTER, dev, recorded=2), 0, NOW)
    assert [each.cost_center for each in known] == ["2"]


def test_only_unrecorded_changes_are_recorded_for_a_known_namespace() -> None:
    prod = ChargedNamespace("acme-prod", "u-1", "2026-01-01T00:00:00Z")
    (record,) = pending_records(as_lnamespace(LCLUSTER, prod, recorded=1), NOW)
    assert record.event_id == "u-1/2/APPLY"
    assert pending_records(as_lnamespace(LCLUSTER, prod, recorded=2), NOW) == ()


def test_the_deletion_of_a_namespace_is_recorded_as_its_own_event() -> None:
    prod = ChargedNamespace("acme-prod", "u-1", "2026-01-01T00:00:00Z")
    ended = deletion(as_lnamespace(LCLUSTER, prod, 2), NOW)
    assert (ended.event_id, ended.namespace, ended.valid_from) == ("u-1/DELETE", "acme-prod", NOW)


def test_the_charged_namespaces_of_the_status_are_compared_with_the_ledger() -> None:
    charged = (ChargedNamespace("acme-prod", "u-1"), ChargedNamespace("acme-dev", "u-2"))
    lcluster = LCluster(
        LCLUSTER.metadata, LCLUSTER.spec, LClusterStatus(charged=charged, recorded=Recorded(2))
    )
    found = charged_lnamespaces(lcluster)
    assert [(each.name, each.uid, each.status.recorded.generation) for each in found] == [
        ("acme-prod", "u-1", 2),
        ("acme-dev", "u-2", 2),
    ]


class OpenRows:
    """A ledger in which these namespaces of acme are open."""

    corrects = False

    def __init__(self, *uids: str) -> None:
        self.uids = uids

    def open_rows(self, _: ClusterIdentity) -> list[dict[str, object]]:
        charge = {"cost_center": "2", "labels": "{}", "owner": "", "team": "", "environment": ""}
        row = {"cluster_uid": "c-1", "namespace": "acme-prod", "generation": 2} | charge
        return [row | {"lnamespace_uid": uid} for uid in self.uids]

    def rows_of(self, uids: Sequence[str]) -> list[Row]:
        """Return all rows of LNamespaces that were corrected by hand: there are none."""
        assert not uids
        return []


@pytest.mark.parametrize(
    ("charged", "there", "ended"),
    [
        (("u-1",), (), []),
        ((), ("u-1",), []),
        ((), (), ["u-1"]),
        ((), ("u-2",), ["u-1"]),
    ],
)
async def test_a_comparison_ends_only_namespaces_neither_charged_nor_existing(
    charged: tuple[str, ...], there: tuple[str, ...], ended: list[str]
) -> None:
    known = tuple(ChargedNamespace("acme-prod", uid) for uid in charged)
    status = LClusterStatus(charged=known, recorded=Recorded(2))
    place = ClusterIdentity("", "", "", Names().group, "c-1")
    async with outbox_server() as server, client_of(server.url) as client:
        server.lclusters = [LCluster(LCLUSTER.metadata, LCLUSTER.spec, status)]
        for uid in there:
            server.namespaces["acme-prod"] = {"metadata": {"uid": uid}}
        ledger = cast("Ledger", OpenRows("u-1"))
        found = await compare_with_cluster(client, Names(), ledger, place)
    assert [record.lnamespace_uid for record in found.records] == ended
