"""Which request is which call."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.bigquery import jobs
from tests.bigquery.catalogue import Catalogue, listed
from tests.bigquery.database import Database
from tests.bigquery.errors import not_found
from tests.bigquery.jobs import Jobs
from tests.bigquery.limits import Limits
from tests.bigquery.names import DatasetId, TableId
from tests.bigquery.streaming import Streaming

Answer = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A request: what its path names, its query string and its body."""

    names: tuple[str, ...]
    query: dict[str, str] = field(default_factory=dict)
    body: Answer = field(default_factory=dict)

    @property
    def dataset(self) -> DatasetId:
        """Return the dataset that the path names."""
        return DatasetId(*self.names)

    @property
    def table(self) -> TableId:
        """Return the table that the path names."""
        return TableId(*self.names)


class Service:
    """The calls of the protocol that are known here."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._database = Database()
        self._catalogue = Catalogue(self._database)
        self._streaming = Streaming(self._database, self._catalogue, limits)
        self._jobs = Jobs(self._database, self._catalogue, self._streaming, limits)
        table = "datasets/([^/]+)/tables/([^/]+)"
        calls: dict[tuple[str, str], Callable[[Call], Answer]] = {
            ("GET", "datasets"): self._datasets,
            ("POST", "datasets"): lambda c: self._catalogue.add_dataset(c.names[0], c.body),
            ("GET", "datasets/([^/]+)"): lambda c: self._catalogue.dataset(c.dataset),
            ("DELETE", "datasets/([^/]+)"): self._remove_dataset,
            ("GET", "datasets/([^/]+)/tables"): self._tables,
            ("POST", "datasets/([^/]+)/tables"): self._add_table,
            ("GET", table): lambda c: self._catalogue.table(c.table),
            ("PATCH", table): lambda c: self._catalogue.extend_table(c.table, c.body),
            ("DELETE", table): self._remove_table,
            ("GET", f"{table}/data"): self._table_data,
            ("POST", f"{table}/insertAll"): lambda c: self._streaming.insert(c.table, c.body),
            ("POST", "queries"): lambda c: self._jobs.query(c.names[0], c.body),
            ("GET", "queries/([^/]+)"): lambda c: jobs.results(self._jobs.get(*c.names), c.query),
            ("POST", "jobs"): lambda c: self._jobs.insert(c.names[0], c.body),
            ("GET", "jobs/([^/]+)"): lambda c: jobs.resource(self._jobs.get(*c.names)),
            ("POST", "jobs/([^/]+)/cancel"): self._cancel,
        }
        prefix = "/bigquery/v2/projects/([^/]+)/"
        self._calls = [
            (method, re.compile(prefix + pattern), call)
            for (method, pattern), call in calls.items()
        ]

    def close(self) -> None:
        """Forget everything."""
        self._database.close()

    def answer(self, method: str, path: str, query: dict[str, str], body: Answer) -> Answer:
        """Do what a request asks for.

        Raises
        ------
        ApiError
            It cannot be done.
        """
        for known, pattern, call in self._calls:
            if known == method and (named := pattern.fullmatch(path)):
                return call(Call(named.groups(), query, body))
        raise not_found(f"{method} {path} is not known here")

    def _datasets(self, call: Call) -> Answer:
        found = self._catalogue.datasets(call.names[0])
        return listed("dataset", found, self._catalogue.dataset, call.query)

    def _remove_dataset(self, call: Call) -> Answer:
        contents = call.query.get("deleteContents") == "true"
        self._catalogue.remove_dataset(call.dataset, contents=contents)
        return {}

    def _tables(self, call: Call) -> Answer:
        found = self._catalogue.tables(call.dataset)
        return listed("table", found, self._catalogue.table, call.query)

    def _add_table(self, call: Call) -> Answer:
        return self._catalogue.add_table(call.dataset, call.body)

    def _remove_table(self, call: Call) -> Answer:
        self._catalogue.remove_table(call.table)
        return {}

    def _table_data(self, call: Call) -> Answer:
        self._catalogue.table(call.table)
        result = self._database.query(f"FROM {call.table.sql}")
        start, size = int(call.query.get("pageToken", 0)), int(call.query.get("maxResults", 10_000))
        answer = {
            "kind": "bigquery#tableDataList",
            "totalRows": str(len(result.rows)),
            "rows": result.rows[start : start + size],
        }
        more = start + size < len(result.rows)
        return {**answer, "pageToken": str(start + size)} if more else answer

    def _cancel(self, call: Call) -> Answer:
        return {
            "kind": "bigquery#jobCancelResponse",
            "job": jobs.resource(self._jobs.get(*call.names)),
        }
