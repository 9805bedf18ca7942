"""The stand-in, one for each test, with the dataset that the ledger is in."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from google.cloud import bigquery
from lnamespace.ledger.database.bigquery import EMULATOR
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.settings import Settings

from tests.bigquery import StandIn, standin

PROJECT = "fin-ops"


@pytest.fixture
def service() -> Iterator[StandIn]:
    """Yield a stand-in with an empty dataset ``billing`` of project ``fin-ops``."""
    with standin() as server:
        with server.client(PROJECT) as client:
            client.create_dataset("billing")
        yield server


@pytest.fixture
def client(service: StandIn) -> Iterator[bigquery.Client]:
    """Yield the real client."""
    with service.client(PROJECT) as client:
        yield client


@pytest.fixture
def engine(client: bigquery.Client) -> Iterator[sa.Engine]:
    """Yield the real dialect on the real client, with nothing of ours."""
    engine = sa.create_engine(
        "bigquery://fin-ops?user_supplied_client=true",
        connect_args={"client": client, "prefer_bqstorage_client": False},
    )
    yield engine
    engine.dispose()


@pytest.fixture
def ledger(service: StandIn, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """Yield the ledger as it runs."""
    monkeypatch.setenv(EMULATOR, service.endpoint)
    ledger = Ledger.from_settings(Settings(ledger_url=f"bigquery://{PROJECT}/billing"))
    yield ledger
    ledger.close()
