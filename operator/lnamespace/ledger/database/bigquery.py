"""A client of BigQuery with a time-out on every wait.

The defaults of Google's client are ten minutes for each request, forty for each job, and none for
a silent socket (``google.cloud.bigquery.retry``). This module is slow to import; only URLs of
BigQuery need it.
"""

import os
from typing import Any

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

EMULATOR = "BIGQUERY_EMULATOR_HOST"
"""The environment variable with the URL of an emulator, for tests; it needs no credentials."""

REQUEST_SECONDS = 20.0
QUERY_SECONDS = 60.0
RETRY_SECONDS = 30.0

_RETRY = DEFAULT_RETRY.with_timeout(RETRY_SECONDS)


class BoundedClient(bigquery.Client):
    """Google's client, with time-outs on the methods that sqlalchemy-bigquery calls.

    A job is never started again (``job_retry=None``): it would have another request id, and the
    statement would run twice if only its answer was lost.
    """

    def query_and_wait(self, query: str, **options: Any) -> Any:
        """Run a statement."""
        limits = {
            "api_timeout": REQUEST_SECONDS,
            "wait_timeout": QUERY_SECONDS,
            "retry": _RETRY,
            "job_retry": None,
        }
        return super().query_and_wait(query, **{**options, **limits})

    def get_table(self, table: Any, *_: Any, **__: Any) -> Any:
        """Return the description of a table."""
        return super().get_table(table, _RETRY, REQUEST_SECONDS)


def client(project: str, location: str) -> bigquery.Client:
    """Return a client with the pod's own credentials, or without credentials for an emulator."""
    options: dict[str, Any] = {"project": project or None, "location": location or None}
    if endpoint := os.environ.get(EMULATOR):
        options["credentials"] = AnonymousCredentials()  # type: ignore[no-untyped-call]
        options["client_options"] = ClientOptions(api_endpoint=endpoint)
    return BoundedClient(**options)


def table_options(partition: str, clusters: list[str]) -> dict[str, Any]:
    """Return the options of a table that is partitioned by day and clustered by these columns."""
    daily = bigquery.TimePartitioning(type_=bigquery.TimePartitioningType.DAY, field=partition)
    return {"bigquery_time_partitioning": daily, "bigquery_clustering_fields": clusters}
