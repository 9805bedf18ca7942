"""The texts of the bill are the same in all parts: a new one is forgotten nowhere."""

import json
from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest
from lnamespace.ledger.costs.allocation import Payer
from lnamespace.ledger.database.table import COLUMNS
from lnamespace.ledger.outbox.record import BillingRecord
from lnamespace.model.billing import BILLING_TEXTS
from lnamespace.plugins.runtime import flags
from lnamespace.plugins.views import description, ledger

VALUES = Path(__file__).resolve().parents[2] / "charts" / "lnamespace" / "values.schema.json"


def of_payers_file() -> Collection[str]:
    """Return the fields of a payer in the chart's values."""
    schema = json.loads(VALUES.read_text())["definitions"]["billing"]
    return set(schema["properties"]) - {"labels"}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(of_payers_file(), id="values of the chart"),
        pytest.param(flags.BILLING.values(), id="flags of kubectl create lns"),
        pytest.param(description.BILLING, id="kubectl lns describe"),
        pytest.param(ledger.TEXTS.values(), id="kubectl lns ledger"),
    ],
)
def test_each_text_of_the_bill_is_written_and_shown(fields: Collection[str]) -> None:
    assert set(fields) == set(BILLING_TEXTS), "CONTRIBUTING.md lists where a text of the bill is"


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param([each.name for each in msgspec.structs.fields(BillingRecord)], id="records"),
        pytest.param(COLUMNS, id="columns of the ledger"),
        pytest.param(Payer._fields, id="payers of a bill"),
    ],
)
def test_each_text_of_the_bill_reaches_the_ledger(columns: Collection[str]) -> None:
    assert set(BILLING_TEXTS.values()) <= set(columns)
