"""The ledger keeps its promises through the real BigQuery client, against the protocol."""

import pytest
from lnamespace.cli import main
from lnamespace.errors import LedgerMisconfigured
from lnamespace.ledger.database.ledger import Ledger

from tests.bigquery import Fault, Kind, StandIn
from tests.unit.support.ledger_contract import *  # noqa: F403 - the tests
from tests.unit.support.ledger_contract import applied, day, ended, spans


def test_a_batch_is_appended_in_one_statement(service: StandIn, ledger: Ledger) -> None:
    """A job takes a second or two; SQLAlchemy's executemany would be one for each row."""
    ledger.prepare()
    before = len(service.faults.requests("queries"))
    assert ledger.append([applied(f"u{number}", 1, 0) for number in range(100)]) == 100
    assert len(service.faults.requests("queries")) == before + 1


def test_a_correction_of_an_end_is_written_whole_or_not_at_all(
    service: StandIn, ledger: Ledger
) -> None:
    """The second of two statements failed: who was gone paid on, and no command mended it."""
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    wrong = Fault(Kind.ERROR, containing="INSERT", skip=1, status=403, reason="accessDenied")
    service.faults.add(wrong)
    words = ["u/DELETE", "--at", day(3).isoformat(), "--reason", "ticket 7", "--by", "fin"]
    assert main(["ledger", "correct", *words, "--ledger-url", "bigquery://fin-ops/billing"]) == 0
    (left,) = service.faults.planned()
    assert left.skip == 0, "the first statement was no INSERT"
    assert spans(ledger) == [("1", 0, 3)]


def test_the_table_is_clustered_by_cluster_name_and_namespace(
    service: StandIn, ledger: Ledger
) -> None:
    ledger.prepare()
    with service.client("fin-ops") as client:
        made = client.get_table(f"fin-ops.{ledger.table.schema}.{ledger.table.name}")
    assert made.clustering_fields == ["cluster_name", "namespace"]


def test_the_table_definition_is_valid_googlesql(service: StandIn, ledger: Ledger) -> None:
    with service.client("fin-ops") as client:
        for statement in ledger.definition().split(";\n"):
            client.query_and_wait(statement.rstrip().rstrip(";"))
    assert Ledger(ledger.engine, ledger.table, manage=False).append([applied("u", 1, 0)]) == 1


def test_a_missing_dataset_is_reported_as_a_misconfiguration(
    service: StandIn, ledger: Ledger
) -> None:
    with service.client("fin-ops") as client:
        client.delete_dataset("billing", delete_contents=True)
    with pytest.raises(LedgerMisconfigured):
        ledger.append([applied("u", 1, 0)])
