"""The people of an LCluster read who pays for it and what it cost; and nothing of others."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lnamespace.access.conventions import Conventions
from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.controller.lclusters.cost_reports import CostReports, LClusterCost, decode_report
from lnamespace.controller.lclusters.tenant_info import TenantInfo, info_data
from lnamespace.kube.state import ObservedObject, read_observed
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lcluster import LCluster, LClusterLimits, LClusterSpec
from lnamespace.model.lnamespace import Metadata

from tests.unit.support.cluster import cluster
from tests.unit.support.server import client_of

INFO = "/api/v1/namespaces/acme-kube-public/configmaps/lcluster-info"
SINCE = datetime(2026, 10, 1, 12, tzinfo=UTC)
ORIGIN = Provenance(1, SINCE, BillingSource.GROUP, "the-admin", "all@example.com")
PAID = LCluster(
    Metadata("acme", "uid-a", "1"),
    LClusterSpec(billing=Billing(cost_center="4711", team="payments", provenance=ORIGIN)),
)
REPORT = """[
  {"cost_center": "4711", "kind": "payer", "lcluster": "acme", "lcluster_uid": "uid-a",
   "currency": "CAD", "cost": 12.345678901234567890},
  {"cost_center": "0815", "kind": "payer", "lcluster": "acme", "lcluster_uid": "uid-a",
   "currency": "CAD", "own_cost": 1, "shared_cost": 1.5, "cost": 2.50},
  {"cost_center": "4711", "kind": "payer", "lcluster": "acme", "lcluster_uid": "uid-earlier",
   "currency": "CAD", "cost": 99.00},
  {"cost_center": "SHARED", "kind": "shared", "lcluster": "", "lcluster_uid": "",
   "currency": "CAD", "cost": 77.00}
]"""


def public(uid: str = "u-1", **more: Any) -> tuple[ObservedObject, ...]:
    metadata = {"name": "acme-kube-public", "uid": uid, "resourceVersion": "1"} | more
    body = json.dumps({"metadata": metadata}).encode()
    return (read_observed(body, Conventions().managed_metadata),)


def reports(folder: Path, **months: str) -> CostReports:
    for month, text in months.items():
        name = f"{month.removeprefix('m').replace('_', '-')}.json"
        (folder / name).write_text(text)
    found = CostReports(str(folder))
    found.refresh()
    return found


def costs(found: Iterable[LClusterCost]) -> list[tuple[str, str, Decimal]]:
    return [(each.month, each.cost_center, each.cost) for each in found]


def test_the_bill_states_the_charge_and_its_start_but_not_its_author() -> None:
    assert info_data(PAID, (), ContentLimits()) == {
        "costCenter": "4711",
        "team": "payments",
        "since": "2026-10-01T12:00:00Z",
    }


def test_amounts_keep_all_their_decimal_digits(tmp_path: Path) -> None:
    text = info_data(PAID, reports(tmp_path, m2026_10=REPORT).costs_for("uid-a"), ContentLimits())[
        "costs.json"
    ]
    assert text == (
        "[\n"
        '  {"month":"2026-10","costCenter":"0815","currency":"CAD","cost":2.50},\n'
        '  {"month":"2026-10","costCenter":"4711","currency":"CAD","cost":12.345678901234567890}\n'
        "]\n"
    )
    assert len(json.loads(text)) == 2


def test_costs_are_selected_by_the_uid_of_the_lcluster(
    tmp_path: Path,
) -> None:
    found = reports(tmp_path, m2026_10=REPORT)
    assert [each.cost for each in found.costs_for("uid-earlier")] == [Decimal("99.00")]
    assert Decimal("99.00") not in [each.cost for each in found.costs_for("uid-a")]
    assert found.costs_for("uid-b") == ()
    assert found.costs_for("") == ()


def test_rows_of_the_same_cost_centre_are_summed() -> None:
    rows = [{"lcluster_uid": "u", "cost_center": "1", "currency": "CAD", "cost": 0.1}] * 3
    (found,) = decode_report("2026-10", json.dumps(rows).encode())["u"]
    assert found.cost == Decimal("0.3")


def test_the_latest_month_is_listed_first(tmp_path: Path) -> None:
    row = '[{"lcluster_uid": "u", "cost_center": "1", "cost": %s}]'
    found = reports(tmp_path, m2026_09=row % 1, m2026_11=row % 3, m2026_10=row % 2)
    assert [each.month for each in found.costs_for("u")] == ["2026-11", "2026-10", "2026-09"]


@pytest.mark.parametrize("text", ["", "{", "[{}]", '[{"cost": "x"}]', "null"])
def test_an_unreadable_report_changes_nothing(text: str, tmp_path: Path) -> None:
    found = reports(tmp_path, m2026_10=REPORT)
    before = found.costs_for("uid-a")
    (tmp_path / "2026-10.json").write_text(text)
    assert not found.refresh()
    assert found.costs_for("uid-a") == before
    with pytest.raises(msgspec.MsgspecError):
        decode_report("2026-10", text.encode())


def test_a_changed_or_deleted_report_is_noticed_once(tmp_path: Path) -> None:
    found = reports(tmp_path, m2026_10=REPORT)
    assert not found.refresh()
    (tmp_path / "2026-10.json").write_text('[{"lcluster_uid": "uid-a", "cost": 5}]')
    assert found.refresh()
    assert costs(found.costs_for("uid-a")) == [("2026-10", "", Decimal(5))]
    assert not found.refresh()
    (tmp_path / "2026-10.json").unlink()
    assert found.refresh()
    assert found.costs_for("uid-a") == ()
    assert not found.refresh()


def test_other_files_and_a_missing_folder_are_ignored(tmp_path: Path) -> None:
    for name in ("2026-13.json", "notes.txt", "..data"):
        (tmp_path / name).write_text(REPORT)
    assert reports(tmp_path).costs_for("uid-a") == ()
    assert not CostReports(str(tmp_path / "missing")).refresh()
    assert not CostReports().refresh()


async def test_the_bill_is_written_only_when_its_content_changes(tmp_path: Path) -> None:
    async with cluster() as server, client_of(server.url) as client:
        found = reports(tmp_path)
        bill = TenantInfo(client, found)
        assert await bill.ensure(PAID, public()) == []
        assert server.objects[INFO]["data"]["costCenter"] == "4711"
        server.written()
        assert await bill.ensure(PAID, public()) == []
        assert server.written() == []
        (tmp_path / "2026-10.json").write_text(REPORT)
        assert found.refresh()
        assert await bill.ensure(PAID, public()) == []
        assert "2.50" in server.objects[INFO]["data"]["costs.json"]


async def test_another_controller_reads_the_bill_and_does_not_write_it() -> None:
    async with cluster() as server, client_of(server.url) as client:
        assert await TenantInfo(client).ensure(PAID, public()) == []
        server.written()
        assert await TenantInfo(client).ensure(PAID, public()) == []
        assert [verb for verb, _ in server.written()] == ["GET"]


def test_the_bill_states_limits_and_prefers_those_of_the_lcluster() -> None:
    limits = ContentLimits(namespaces=200, definitions=0)
    assert info_data(PAID, (), limits)["limits.namespaces"] == "200"
    assert "limits.customResourceDefinitions" not in info_data(PAID, (), limits)
    own = LClusterLimits(5, 7, admission=9, cluster_role_bindings=11)
    spec = msgspec.structs.replace(PAID.spec, limits=own)
    found = info_data(PAID, (), limits.limits_for(msgspec.structs.replace(PAID, spec=spec)))
    assert {key: value for key, value in found.items() if key.startswith("limits.")} == {
        "limits.namespaces": "5",
        "limits.customResourceDefinitions": "7",
        "limits.admission": "9",
        "limits.clusterRoleBindings": "11",
    }


async def test_keys_that_no_longer_apply_are_removed_from_the_bill() -> None:
    other = msgspec.structs.replace(PAID, spec=LClusterSpec(billing=Billing(cost_center="1")))
    async with cluster() as server, client_of(server.url) as client:
        assert await TenantInfo(client).ensure(PAID, public()) == []
        assert await TenantInfo(client).ensure(other, public()) == []
        assert server.objects[INFO]["data"] == {"costCenter": "1"}


async def test_the_bill_is_recreated_in_a_new_but_not_in_a_terminating_namespace() -> None:
    async with cluster() as server, client_of(server.url) as client:
        bill = TenantInfo(client)
        ends = public(deletionTimestamp="2026-01-01T00:00:00Z")
        assert await bill.ensure(PAID, ends) == []
        assert await bill.ensure(PAID, ()) == []
        assert server.objects == {}
        assert await bill.ensure(PAID, public("u-1")) == []
        del server.objects[INFO]
        assert await bill.ensure(PAID, public("u-2")) == []
        assert INFO in server.objects


async def test_a_failure_is_returned_and_retried() -> None:
    async with cluster() as server, client_of(server.url) as client:
        server.refusals["POST", INFO.rpartition("/")[0]] = 403
        bill = TenantInfo(client)
        (error,) = await bill.ensure(PAID, public())
        assert error.status == 403
        server.refusals.clear()
        assert await bill.ensure(PAID, public()) == []
        assert INFO in server.objects
