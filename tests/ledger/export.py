"""Lines of a bill in the shape of Google's detailed export, and the analyst's query over them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.cloud.bigquery import (
    ArrayQueryParameter,
    Client,
    QueryJobConfig,
    ScalarQueryParameter,
    ScalarQueryParameterType,
    StructQueryParameter,
    StructQueryParameterType,
    Table,
    TimePartitioning,
)

from tests.ledger.month import Line
from tests.ledger.rows import PLACE

QUERY = Path(__file__).resolve().parents[2] / "docs/sql/cost-per-cost-centre.sql"

COLUMNS: list[dict[str, Any]] = [
    {"name": "invoice", "type": "RECORD", "fields": [{"name": "month", "type": "STRING"}]},
    {"name": "usage_start_time", "type": "TIMESTAMP"},
    {"name": "usage_end_time", "type": "TIMESTAMP"},
    {"name": "project", "type": "RECORD", "fields": [{"name": "id", "type": "STRING"}]},
    {
        "name": "labels",
        "type": "RECORD",
        "mode": "REPEATED",
        "fields": [{"name": "key", "type": "STRING"}, {"name": "value", "type": "STRING"}],
    },
    {"name": "cost", "type": "FLOAT"},
    {"name": "currency", "type": "STRING"},
    {
        "name": "credits",
        "type": "RECORD",
        "mode": "REPEATED",
        "fields": [{"name": "name", "type": "STRING"}, {"name": "amount", "type": "FLOAT"}],
    },
]
"""Those columns of the export that the query reads."""

_SELECT = (
    "SELECT TIMESTAMP_TRUNC(@end_N, DAY), STRUCT(@month_N AS month), @start_N, @end_N, "
    "STRUCT(@project_N AS id), @labels_N, @cost_N, @currency_N, @credits_N"
)
_CREDIT: Any = StructQueryParameterType(  # type: ignore[no-untyped-call]
    *(
        ScalarQueryParameterType(kind, name=name)  # type: ignore[no-untyped-call]
        for name, kind in (("name", "STRING"), ("amount", "FLOAT64"))
    )
)


def fill(client: Client, export: str, lines: Sequence[Line]) -> None:
    """Make the export, with one statement for all its lines."""
    made = Table(export, schema=COLUMNS)
    made.time_partitioning = TimePartitioning()  # By the day of writing, as Google's is.
    client.create_table(made)
    names = ", ".join(["_PARTITIONTIME", *(column["name"] for column in COLUMNS)])
    selects = " UNION ALL ".join(_SELECT.replace("_N", f"_{n}") for n in range(len(lines)))
    parameters = [one for n, line in enumerate(lines) for one in _parameters(line, f"_{n}")]
    config = QueryJobConfig(query_parameters=parameters)
    client.query_and_wait(f"INSERT INTO `{export}` ({names}) {selects}", job_config=config)


def documented(view: str, export: str, month: str) -> str:
    """Return the documentation's query, with the three things set that it says to set."""
    query = QUERY.read_text()
    for placeholder, name in (
        ("finance.billing.lnamespace_billing_events_intervals", view),
        ("finance.export.gcp_billing_export_resource_v1_XXXXXX_XXXXXX_XXXXXX", export),
    ):
        if query.count(placeholder) != 1:
            raise ValueError(f"{QUERY.name} does not have {placeholder} once")
        query = query.replace(placeholder, name)
    return query.replace("DATE '2026-11-01'", f"DATE '{month}-01'")


PLAIN_COLUMNS = ("usage_start_time", "usage_end_time", "cost", "credits", "currency")


def plain(line: Line) -> tuple[str, ...]:
    """Return the line in a CSV file, after the columns of month, namespace and cluster."""
    times = (f"{moment:%Y-%m-%d %H:%M:%S UTC}" for moment in (line.start, line.end))
    where = (f"{line.start:%Y%m}", line.namespace or "", line.cluster or "")
    return (*where, *times, repr(line.cost), repr(line.credit), line.currency)


def _parameters(line: Line, suffix: str) -> list[Any]:
    labels = {
        "goog-k8s-cluster-name": line.cluster,
        "goog-k8s-cluster-location": PLACE.cluster_location,
        "k8s-namespace": line.namespace,
        "k8s-label/app": "shop",
    }
    kept = [_struct(key=key, value=value) for key, value in labels.items() if value is not None]
    credits_ = [_struct(name="sustained use", amount=line.credit)] if line.credit else []
    return [
        ScalarQueryParameter(f"month{suffix}", "STRING", f"{line.start:%Y%m}"),
        ScalarQueryParameter(f"start{suffix}", "TIMESTAMP", line.start),
        ScalarQueryParameter(f"end{suffix}", "TIMESTAMP", line.end),
        ScalarQueryParameter(f"project{suffix}", "STRING", PLACE.project_id),
        ArrayQueryParameter(f"labels{suffix}", "STRUCT", kept),
        ScalarQueryParameter(f"cost{suffix}", "FLOAT64", line.cost),
        ScalarQueryParameter(f"currency{suffix}", "STRING", line.currency),
        ArrayQueryParameter(f"credits{suffix}", _CREDIT, credits_),
    ]


def _struct(**fields: str | float) -> StructQueryParameter:
    kinds = {str: "STRING", float: "FLOAT64"}
    parts = (ScalarQueryParameter(n, kinds[type(v)], v) for n, v in fields.items())
    return StructQueryParameter(None, *parts)
