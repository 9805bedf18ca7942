"""The ledger keeps its promises through the real BigQuery client, against the protocol."""

import pytest
from lnamespace.errors import LedgerMisconfigured
from lnamespace.ledger.database.ledger import Ledger

from tests.bigquery import StandIn
from tests.unit.support.ledger_contract import *  # noqa: F403 - the tests
from tests.unit.support.ledger_contract import applied


def test_a_batch_is_one_statement(service: StandIn, ledger: Ledger) -> None:
    """A job takes a second or two; SQLAlchemy's executemany would be one for each row."""
    ledger.prepare()
    before = len(service.faults.requests("queries"))
    assert ledger.append([applied(f"u{number}", 1, 0) for number in range(100)]) == 100
    assert len(service.faults.requests("queries")) == before + 1


def test_the_table_is_clustered_by_what_readers_ask_for(service: StandIn, ledger: Ledger) -> None:
    ledger.prepare()
    with service.client("fin-ops") as client:
        made = client.get_table(f"fin-ops.{ledger.table.schema}.{ledger.table.name}")
    assert made.clustering_fields == ["cluster_name", "namespace"]


def test_the_definition_is_googlesql(service: StandIn, ledger: Ledger) -> None:
    with service.client("fin-ops") as client:
        for statement in ledger.definition().split(";\n"):
            client.query_and_wait(statement.rstrip().rstrip(";"))
    assert Ledger(ledger.engine, ledger.table, manage=False).append([applied("u", 1, 0)]) == 1


def test_a_dataset_that_is_missing_is_for_somebody_to_mend(
    service: StandIn, ledger: Ledger
) -> None:
    with service.client("fin-ops") as client:
        client.delete_dataset("billing", delete_contents=True)
    with pytest.raises(LedgerMisconfigured):
        ledger.append([applied("u", 1, 0)])
