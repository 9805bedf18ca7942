"""What is tried, and in which order; each step says what must come of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import sqlalchemy as sa
from google.api_core.exceptions import NotFound
from google.cloud.bigquery import Client
from lnamespace.ledger.database.bigquery import client as bounded_client
from lnamespace.ledger.database.engines import create_engine
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.queries import events
from lnamespace.ledger.database.table import VERSION_SUFFIX, VIEW_SUFFIX, Row, events_table

from tests.ledger import export
from tests.ledger.month import ELSEWHERE, LINES, SINCE, expected, told
from tests.ledger.rows import START, event

AWKWARD = "'; DROP TABLE x; -- \"`\\ \n\r\t @p %(p)s {0} Zoë 漢字 😀 =1+1"


class CheckError(Exception):
    """BigQuery did not behave as the ledger expects; the message says what was found."""


@dataclass(frozen=True)
class Step:
    """A step of the check: its description in a few words, and its function."""

    title: str
    action: Callable[[], None]


class Check:
    """One run, on tables of its own in a dataset that exists."""

    def __init__(self, project: str, dataset: str, location: str) -> None:
        self._client: Client = bounded_client(project, location)
        self._prefix = f"{project}.{dataset}"
        self._dataset = dataset
        self._name = f"lnamespace_check_{uuid4().hex[:12]}"
        url = sa.URL.create("bigquery", host=project, database=dataset)
        options = {"location": location} if location else {}
        rendered = url.update_query_dict(options).render_as_string(hide_password=False)
        self._ledger = Ledger(create_engine(rendered), events_table(self._name, dataset))

    @property
    def tables(self) -> list[str]:
        """Return the tables and views that are made, views first."""
        views = (self._name + VIEW_SUFFIX, self._name + VERSION_SUFFIX)
        names = (*views, self._name, f"{self._name}_export")
        return [f"{self._prefix}.{name}" for name in names]

    def steps(self) -> Iterator[Step]:
        """Return all steps of the check."""
        yield Step("the dataset is there", self._dataset_exists)
        yield Step("the table and the view are made; a second time changes nothing", self._prepare)
        yield Step("a batch is added once, however often it is sent", self._append)
        yield Step("text comes out as it went in", self._text)
        yield Step("an event that is there twice is read once", self._duplicate)
        yield Step("intervals: moved, deleted, made again", self._intervals)
        yield Step("the cost of each cost centre, by the documented query", self._join)

    def clean_up(self) -> None:
        """Delete the tables and views that were made."""
        for name in self.tables:
            self._client.delete_table(name, not_found_ok=True)
        self._ledger.close()

    def _dataset_exists(self) -> None:
        try:
            self._client.get_dataset(self._prefix)
        except NotFound as error:
            project, dataset = self._prefix.split(".")
            raise CheckError(
                f"there is no dataset {self._prefix}; make one: "
                f"bq mk --dataset --default_table_expiration 3600 {project}:{dataset}"
            ) from error

    def _prepare(self) -> None:
        self._ledger.prepare()
        Ledger(self._ledger.engine, self._ledger.table).prepare()
        made = self._client.get_table(f"{self._prefix}.{self._name}")
        expect("clustered by", made.clustering_fields, ["cluster_name", "namespace"])

    def _append(self) -> None:
        batch = told()
        distinct = len({row["event_id"] for row in batch})
        expect("new rows", [self._ledger.append(batch) for _ in range(2)], [distinct, 0])

    def _text(self) -> None:
        row = event("text", "t", 1, START, AWKWARD) | {"cluster_name": "another"}
        self._ledger.append([row])
        expect("the row", self._row(row["event_id"]), row)

    def _duplicate(self) -> None:
        row = event("twice", "w", 1, START, "4711") | {"cluster_name": "another"}
        with self._ledger.engine.connect() as connection:
            connection.execute(self._ledger.table.insert().values([row, row]))
        found = self._ledger.read(events(self._ledger.table))
        expect("times", [each["event_id"] for each in found].count(row["event_id"]), 1)

    def _intervals(self) -> None:
        paid = self._ledger.intervals().order_by("valid_from")
        found = [
            row["cost_center"] for row in self._ledger.read(paid) if row["namespace"] == "moves"
        ]
        expect("payers of one that moved", found, ["4711", "4712"])

    def _join(self) -> None:
        view, _, _, costs = self.tables
        export.fill(self._client, costs, LINES + ELSEWHERE)
        query = export.documented(view, costs, f"{SINCE:%Y-%m}")
        found = {
            (row["kind"], row["cost_center"], row["currency"]): row["net_cost"]
            for row in self._client.query_and_wait(query)
        }
        expect("costs", found, expected())

    def _row(self, event_id: str) -> Row:
        table = self._ledger.table
        (row,) = self._ledger.read(sa.select(table).where(table.c.event_id == event_id))
        return row


def expect(what: str, found: object, wanted: object) -> None:
    """Compare a value that was found with the expected one.

    Raises
    ------
    CheckError
        They differ.
    """
    if found != wanted:
        raise CheckError(f"{what}: found {found!r}, not {wanted!r}")
