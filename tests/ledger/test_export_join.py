"""The analyst's query gives each cost centre what it caused, to the cent."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from google.cloud import bigquery
from lnamespace.billing.costs import costs, per_cost_center
from lnamespace.billing.ledger import Ledger
from lnamespace.settings import Settings

from tests.ledger import export
from tests.ledger.month import ELSEWHERE, HOUR, LINES, SINCE, UNTIL, Line, expected, told
from tests.ledger.rows import PLACE
from tests.unit.support.engines import DATABASES

EXPORT = "fin-ops.export.gcp_billing_export_resource_v1_0A0A0A_0B0B0B_0C0C0C"
VIEW = "fin-ops.billing.lnamespace_billing_events_intervals"


def test_the_documented_query(client: bigquery.Client, ledger: Ledger) -> None:
    tell(ledger)
    client.create_dataset("export")
    export.fill(client, EXPORT, LINES + ELSEWHERE)
    query = export.documented(VIEW, EXPORT, f"{SINCE:%Y%m}")
    found = [dict(row) for row in client.query_and_wait(query)]
    totals = {(row["cost_center"], row["currency"]): float(row["net_cost"]) for row in found}
    assert totals == {key: round(value, 2) for key, value in expected().items()}
    in_order = [(row["currency"], -row["net_cost"]) for row in found]
    assert in_order == sorted(in_order)


def test_the_same_by_the_plain_table_of_costs(ledger: Ledger) -> None:
    tell(ledger)
    assert charged(ledger) == pytest.approx(expected())


@pytest.mark.parametrize("name", DATABASES)
def test_the_same_on_other_databases(name: str, tmp_path: Path) -> None:
    ledger = Ledger.of(Settings(ledger_url=DATABASES[name](tmp_path)))
    tell(ledger)
    assert charged(ledger) == pytest.approx(expected())
    ledger.close()


def tell(ledger: Ledger) -> None:
    """Tell the ledger, event by event and some twice, as after a bad night."""
    for row in told():
        ledger.append([row])


def charged(ledger: Ledger) -> dict[tuple[str, str], float]:
    """What the plain table of costs comes to."""
    lines = costs("bill", ledger.table.schema)
    with ledger.engine.begin() as connection:
        lines.create(connection)
        connection.execute(sa.insert(lines).values([plain(line) for line in LINES]))
    query = per_cost_center(ledger.table, lines, SINCE, UNTIL)
    return {(row["cost_center"], row["currency"]): row["cost"] for row in ledger.read(query)}


def plain(line: Line) -> dict[str, Any]:
    return {
        **PLACE.columns(),
        "cluster_name": line.cluster,
        "namespace": line.namespace,
        "usage_start_time": line.start,
        "usage_end_time": line.start + HOUR,
        "cost": line.net,
        "currency": line.currency,
    }
