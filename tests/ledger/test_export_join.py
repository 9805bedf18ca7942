"""Each cost centre is charged what it caused, to the last decimal: by SQL and by the command."""

import csv
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.cloud import bigquery
from lnamespace.cli import main
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import Row
from lnamespace.settings import Settings

from tests.ledger import export
from tests.ledger.month import ELSEWHERE, LINES, SINCE, Line, at, expected, told
from tests.ledger.rows import PLACE, ended, event
from tests.unit.support.engines import DATABASES

EXPORT = "fin-ops.export.gcp_billing_export_resource_v1_0A0A0A_0B0B0B_0C0C0C"
VIEW = "fin-ops.billing.lnamespace_billing_events_intervals"

SEEDS = [
    *range(3),
    *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 8)),
]

Totals = dict[tuple[str, str, str], Decimal]
"""By kind, cost centre and currency: a cost centre may be called SHARED."""


def test_the_documented_query_charges_each_cost_center_exactly(
    client: bigquery.Client, ledger: Ledger
) -> None:
    tell(ledger, told())
    totals, order = queried(client, LINES + ELSEWHERE)
    assert totals == expected()
    assert order == sorted(order)


def test_the_documented_query_reads_the_partitions_of_its_month_only(
    client: bigquery.Client, ledger: Ledger
) -> None:
    """It read the whole export, from its first day, each time."""
    tell(ledger, told())
    totals, _ = queried(client, LINES)
    assert totals
    late = "SET _PARTITIONTIME = TIMESTAMP '2027-01-01' WHERE TRUE"
    client.query_and_wait(f"UPDATE `{EXPORT}` {late}")
    query = export.documented(VIEW, EXPORT, f"{SINCE:%Y-%m}")
    assert list(client.query_and_wait(query)) == []


@pytest.mark.parametrize("name", DATABASES)
def test_the_costs_command_gives_the_same_totals_on_other_databases(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = DATABASES[name](tmp_path)
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    tell(ledger, told())
    ledger.close()
    assert charged(url, LINES + ELSEWHERE, tmp_path, capsys) == expected()


@pytest.mark.parametrize("command", ["show", "intervals"])
def test_the_all_clusters_flag_needs_no_cluster_name(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rows were printed, and then it failed for the lack of --cluster-name."""
    url = DATABASES["postgresql"](tmp_path)
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    tell(ledger, told())
    ledger.close()
    words = ["ledger", command, "--ledger-url", url, "-o", "json"]
    assert main([*words, "--all-clusters"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert "--cluster-name is needed" in error


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("seed", SEEDS)
def test_query_and_command_agree_and_their_sum_equals_the_bill(
    seed: int,
    client: bigquery.Client,
    ledger: Ledger,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever pays, from when to when, for whatever window: parts of cents are not lost."""
    chance = random.Random(seed)
    events, lines = life(chance), bill(chance)
    ledger.append(events)  # At once: BigQuery takes 25 statements in 10 seconds.
    by_query, _ = queried(client, lines)
    by_command = charged("bigquery://fin-ops/billing", lines, tmp_path, capsys)
    assert by_query == by_command
    total: dict[str, Decimal] = defaultdict(Decimal)
    for line in lines:
        total[line.currency] += line.net
    for currency, amount in total.items():
        assert sum(cost for (_, _, of), cost in by_query.items() if of == currency) == amount


@pytest.mark.usefixtures("service")
def test_of_two_clusters_of_the_same_names_who_began_last_pays(
    client: bigquery.Client, ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One was replaced by another: by the query the open span of the first paid on, for a half."""
    former = event("shop", "f", 1, at(1), "4711") | {"cluster_uid": "former"}
    present = event("shop", "p", 1, at(3, 6), "0815") | {"cluster_uid": "present"}
    same = event("shop", "s", 1, at(3, 6), "") | {"cluster_uid": "third"}
    tell(ledger, [former, present, same])
    lines = [
        Line("shop", at(2), 8.0, ""),
        Line("shop", at(3), 24.0, "", hours=24),
        Line("shop", at(5), 2.0, ""),
    ]
    by_query, _ = queried(client, lines)
    by_command = charged("bigquery://fin-ops/billing", lines, tmp_path, capsys)
    assert by_query == by_command
    assert by_query == {("payer", "4711", "CAD"): 14, ("payer", "0815", "CAD"): 20}


def life(chance: random.Random) -> list[Row]:
    """Namespaces that are made, moved at any microsecond, deleted, and made anew."""
    rows: list[Row] = []
    for number in range(6):
        moment, name = at(1) + timedelta(days=chance.random() * 3), f"team-{number}"
        for life in range(chance.randint(1, 3)):
            uid = f"{number}-{life}"
            generations = chance.randint(1, 4)
            for generation in range(1, generations + 1):
                payer = chance.choice(["4711", "0815", "SHARED", ""])
                rows.append(event(name, uid, generation, moment, payer))
                moment += timedelta(seconds=chance.choice([0.000001, 7, 1801.5, 90_000.123457]))
            rows.append(ended(name, uid, generations, moment, told=moment))
            moment += timedelta(seconds=chance.choice([0, 60, 200_000]))
    return rows


def bill(chance: random.Random) -> list[Line]:
    names = [f"team-{number}" for number in range(7)] + ["kube-system", "kube:unallocated", None]
    return [
        Line(
            chance.choice(names),
            at(chance.randint(1, 9), chance.randint(0, 23)),
            round(chance.uniform(-1, 20), chance.choice([0, 2, 6, 9])),
            "",
            credit=chance.choice([0.0, -0.000000001, -0.33]),
            currency=chance.choice(["CAD", "USD"]),
            hours=chance.choice([1, 1, 24]),
        )
        for _ in range(60)
    ]


def tell(ledger: Ledger, rows: Sequence[Row]) -> None:
    """Tell the ledger, some events twice, as after a bad night."""
    for start in range(0, len(rows), 3):
        ledger.append(rows[start : start + 3])


def queried(
    client: bigquery.Client, lines: Sequence[Line]
) -> tuple[Totals, list[tuple[str, Decimal]]]:
    """Return what the documented query says, and the order of its rows."""
    client.create_dataset("export")
    export.fill(client, EXPORT, lines)
    found = list(client.query_and_wait(export.documented(VIEW, EXPORT, f"{SINCE:%Y-%m}")))
    return by_payer(found), [(row["currency"], -row["net_cost"]) for row in found]


def charged(
    url: str, lines: Sequence[Line], folder: Path, capsys: pytest.CaptureFixture[str]
) -> Totals:
    """Return what the command says."""
    file = folder / "bill.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(
            ["invoice.month", "k8s-namespace", "goog-k8s-cluster-name", *export.PLAIN_COLUMNS]
        )
        writer.writerows(export.plain(line) for line in lines)
    place = ["--project-id", PLACE.project_id, "--cluster-location", PLACE.cluster_location]
    words = ["costs", str(file), "-o", "json", "--month", f"{SINCE:%Y-%m}", "--all-clusters"]
    assert main(["ledger", *words, "--ledger-url", url, *place]) == 0
    rows = json.loads(capsys.readouterr().out, parse_float=Decimal)
    return by_payer([row | {"net_cost": row["cost"]} for row in rows])


def by_payer(rows: Iterable[Mapping[str, Any]]) -> Totals:
    """Return the rows of a report."""
    return {(row["kind"], row["cost_center"], row["currency"]): row["net_cost"] for row in rows}
