"""The stand-in answers the real client as the service's documentation says it does."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from google.api_core.exceptions import BadRequest, Conflict, Forbidden, NotFound
from google.cloud import bigquery
from google.cloud.bigquery import (
    ArrayQueryParameter,
    QueryJobConfig,
    ScalarQueryParameter,
    StructQueryParameter,
)
from google.cloud.bigquery.dbapi import DatabaseError
from sqlalchemy.exc import DatabaseError as WrappedError

from tests.bigquery import Fault, Kind, Limits, StandIn, standin

INSERT = "INSERT INTO billing.events (id) VALUES ('ID')"

AWKWARD = "a\n'\"`;-- 😀 \\ @p %(p)s {x} \0 =1+1"


@pytest.fixture
def events(client: bigquery.Client) -> str:
    """Return a table of two columns, the first required."""
    client.query_and_wait("CREATE TABLE billing.events (id STRING NOT NULL, at TIMESTAMP, n INT64)")
    return "billing.events"


def run(client: bigquery.Client, sql: str, *parameters: Any) -> Any:
    config = QueryJobConfig(query_parameters=parameters)
    once: Any = None  # which the client takes, and its annotation does not tell
    return client.query_and_wait(sql, job_config=config, job_retry=once, api_timeout=5)


def count(client: bigquery.Client) -> int:
    return int(next(iter(run(client, "SELECT COUNT(*) FROM billing.events")))[0])


def one(identity: str) -> str:
    return INSERT.replace("ID", identity)


def test_values_of_every_type_are_returned_unchanged(client: bigquery.Client) -> None:
    at = datetime(2026, 11, 1, 23, 59, 59, 123456, tzinfo=UTC)
    row = next(
        iter(
            run(
                client,
                "SELECT @text AS text, @at AS at, @n AS n, @none AS none, TRUE AS yes, "
                "[1, 2] AS list, [STRUCT('k' AS key, 'v' AS value)] AS labels, "
                "NUMERIC '1.25' AS exact, DATE '2026-11-01' AS day, b'ab' AS raw, "
                "DATETIME '2026-11-01 10:00:00' AS local, CAST(2.5 AS FLOAT64) AS about",
                ScalarQueryParameter("text", "STRING", AWKWARD),
                ScalarQueryParameter("at", "TIMESTAMP", at),
                ScalarQueryParameter("n", "INT64", 2**62),
                ScalarQueryParameter("none", "STRING", None),
            )
        )
    )
    assert dict(row) == {
        "text": AWKWARD,
        "at": at,
        "n": 2**62,
        "none": None,
        "yes": True,
        "list": [1, 2],
        "labels": [{"key": "k", "value": "v"}],
        "exact": Decimal("1.25"),
        "day": date(2026, 11, 1),
        "raw": b"ab",
        "local": datetime(2026, 11, 1, 10),  # noqa: DTZ001
        "about": 2.5,
    }


@pytest.mark.usefixtures("events")
def test_arrays_of_structs_can_be_bound_and_merge_inserts_once(client: bigquery.Client) -> None:
    row = StructQueryParameter(
        None, ScalarQueryParameter("id", "STRING", "m"), ScalarQueryParameter("n", "INT64", 7)
    )
    config = QueryJobConfig(query_parameters=[ArrayQueryParameter("rows", "STRUCT", [row])])
    merge = (
        "MERGE billing.events t USING UNNEST(@rows) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
    )
    jobs = [client.query(merge, job_config=config, job_retry=None) for _ in range(2)]
    for job in jobs:
        job.result()
    assert [job.num_dml_affected_rows for job in jobs] == [1, 0]


@pytest.mark.usefixtures("events")
def test_results_are_paginated(client: bigquery.Client) -> None:
    run(client, "INSERT INTO billing.events (id) SELECT CAST(x AS STRING) FROM UNNEST(@x) AS x",
        ArrayQueryParameter("x", "INT64", list(range(45))))  # fmt: skip
    select = "SELECT id FROM billing.events ORDER BY CAST(id AS INT64)"
    pages = client.query(select).result(page_size=20).pages
    assert [page.num_items for page in pages] == [20, 20, 5]
    rows = client.query_and_wait(select, page_size=7)
    assert [row["id"] for row in rows] == [str(number) for number in range(45)]
    assert len(list(client.list_rows("fin-ops.billing.events", page_size=7))) == 45


def test_sqlalchemy_creates_reflects_and_appends_to_tables(
    engine: sa.Engine, client: bigquery.Client
) -> None:
    table = sa.Table(
        "made",
        sa.MetaData(),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True)),
        schema="fin-ops.billing",
        comment="who pays",
        bigquery_clustering_fields=["id"],
    )
    table.metadata.create_all(engine)
    table.metadata.create_all(engine)
    at = datetime(2026, 11, 1, tzinfo=UTC)
    batch = sa.select(
        sa.cast(sa.literal(AWKWARD), sa.String).label("id"),
        sa.cast(sa.literal(at), sa.TIMESTAMP(timezone=True)).label("at"),
    ).subquery("batch")
    fresh = sa.select(batch).where(~sa.exists().where(table.c.id == batch.c.id))
    with engine.connect() as connection:
        insert = table.insert().from_select(["id", "at"], fresh)
        counts = [connection.execute(insert).rowcount for _ in range(2)]
        assert [tuple(row) for row in connection.execute(sa.select(table))] == [(AWKWARD, at)]
    assert counts == [1, 0]
    columns = sa.inspect(engine).get_columns("made", schema="fin-ops.billing")
    assert [(column["name"], column["nullable"]) for column in columns] == [
        ("id", False),
        ("at", True),
    ]
    resource = client.get_table("fin-ops.billing.made").to_api_repr()
    assert resource["clustering"] == {"fields": ["id"]}
    assert resource["description"] == "who pays"


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT * FROM (VALUES (1)) AS t", BadRequest),
        ("SELECT 1::INT64", BadRequest),
        ("SELEC 1", BadRequest),
        ("SELECT nothing FROM billing.events", BadRequest),
        ("SELECT @missing", BadRequest),
        ("SELECT * FROM events", BadRequest),
        ("SELECT * FROM billing.nothing", NotFound),
        ("SELECT * FROM nowhere.events", NotFound),
        ("INSERT INTO billing.events (n) VALUES (1)", BadRequest),
        ("INSERT INTO billing.events (id) VALUES ('x') ON CONFLICT DO NOTHING", BadRequest),
        ("CREATE TABLE billing.events (id STRING)", Conflict),
        ("CREATE TABLE billing.more (id STRING PRIMARY KEY)", BadRequest),
        ("CREATE INDEX fast ON billing.events (id)", BadRequest),
    ],
)
@pytest.mark.usefixtures("events")
def test_sql_outside_of_googlesql_is_refused(
    client: bigquery.Client, sql: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(client, sql)


@pytest.mark.usefixtures("events")
def test_a_job_id_can_be_used_for_one_job_only(client: bigquery.Client) -> None:
    client.query(one("a"), job_id="job", job_retry=None).result()
    with pytest.raises(Conflict):
        client.query(one("a"), job_id="job", job_retry=None)
    assert count(client) == 1


@pytest.mark.usefixtures("events")
def test_a_failed_job_raises_when_its_result_is_requested(client: bigquery.Client) -> None:
    job = client.query("SELECT nothing FROM billing.events", job_retry=None)
    with pytest.raises(BadRequest):
        job.result()


@pytest.mark.usefixtures("events")
def test_streamed_rows_cannot_be_changed_while_in_the_streaming_buffer(
    client: bigquery.Client,
) -> None:
    run(client, one("sql"))
    streamed = [{"id": "s", "at": "2026-11-01T00:00:00Z"}, {"id": "s"}]
    assert client.insert_rows_json("fin-ops.billing.events", streamed, row_ids=["1", "1"]) == []
    assert count(client) == 2
    assert client.insert_rows_json("fin-ops.billing.events", [{"n": 1}])[0]["index"] == 0
    with pytest.raises(BadRequest, match="streaming buffer"):
        run(client, "DELETE FROM billing.events WHERE TRUE")
    assert run(client, "DELETE FROM billing.events WHERE id = 'sql'").num_dml_affected_rows == 1


def test_columns_can_be_added_but_not_removed(client: bigquery.Client, events: str) -> None:
    table = client.get_table(f"fin-ops.{events}")
    before = table.schema
    table.schema = [*before, bigquery.SchemaField("more", "STRING")]
    assert [field.name for field in client.update_table(table, ["schema"]).schema][-1] == "more"
    table.schema = before
    with pytest.raises(BadRequest):
        client.update_table(table, ["schema"])


@pytest.mark.usefixtures("events")
def test_views_can_be_created_and_queried(client: bigquery.Client) -> None:
    run(client, one("a"))
    run(client, "CREATE OR REPLACE VIEW billing.seen AS SELECT id FROM billing.events")
    assert client.get_table("fin-ops.billing.seen").table_type == "VIEW"
    assert [row["id"] for row in run(client, "SELECT * FROM billing.seen")] == ["a"]


def test_limits_are_enforced() -> None:
    limits = Limits(
        dml_statements=2, dml_window=3600, parameters=3, sql_characters=200, request_bytes=5000
    )
    with standin(limits=limits) as service, service.client("fin-ops") as client:
        client.create_dataset("billing")
        run(client, "CREATE TABLE billing.events (id STRING)")
        run(client, one("a"))
        run(client, one("b"))
        with pytest.raises(Forbidden, match="rate limits"):
            client.query(one("c"), retry=None, job_retry=None, api_method="QUERY")  # type: ignore[arg-type]
        with pytest.raises(BadRequest, match="parameters"):
            run(client, "SELECT 1", *(ScalarQueryParameter(f"p{i}", "INT64", i) for i in range(4)))
        with pytest.raises(BadRequest, match="too large"):
            run(client, f"SELECT '{'x' * 200}'")
        with pytest.raises(Exception, match="exceeds"):
            run(client, f"SELECT '{'x' * 6000}'")


@pytest.mark.parametrize(
    ("kind", "tries"),
    [
        (Kind.LOST_BEFORE, 2),
        (Kind.LOST_AFTER, 2),
        (Kind.CUT, 2),
        (Kind.ERROR, 2),
        (Kind.HANG, 2),
        (Kind.LATE, 2),
        (Kind.SLOW, 1),
    ],
)
@pytest.mark.usefixtures("events")
def test_a_request_id_is_executed_once(
    service: StandIn, client: bigquery.Client, kind: Kind, tries: int
) -> None:
    service.faults.add(Fault(kind, where="queries", seconds=0.2))
    before = len(service.faults.requests("queries"))
    run(client, one("a"))
    requests = service.faults.requests("queries")[before:]
    assert len(requests) == tries
    assert len({request.body["requestId"] for request in requests}) == 1
    assert count(client) == 1


@pytest.mark.usefixtures("events")
def test_an_unreadable_response_raises_after_the_statement_was_executed(
    service: StandIn, client: bigquery.Client
) -> None:
    service.faults.add(Fault(Kind.GARBAGE))
    with pytest.raises(ValueError, match="Expecting value"):
        run(client, one("a"))
    assert count(client) == 1


@pytest.mark.parametrize(
    ("status", "reason"),
    [(403, "quotaExceeded"), (403, "accessDenied"), (404, "notFound"), (400, "invalidQuery")],
)
@pytest.mark.usefixtures("events")
def test_permanent_errors_are_not_retried(
    service: StandIn, engine: sa.Engine, client: bigquery.Client, status: int, reason: str
) -> None:
    service.faults.add(Fault(Kind.ERROR, status=status, reason=reason, containing="poison"))
    with engine.connect() as connection:
        with pytest.raises(WrappedError) as raised:
            connection.execute(sa.text(one("poison")))
        connection.execute(sa.text(one("fine")))
    assert isinstance(raised.value.orig, DatabaseError)
    assert count(client) == 1


def test_a_fault_with_skip_applies_after_the_skipped_requests(
    service: StandIn, client: bigquery.Client
) -> None:
    service.faults.add(
        Fault(Kind.ERROR, where="queries", status=404, reason="notFound", skip=1, times=2)
    )
    assert len(list(run(client, "SELECT 1"))) == 1
    for _ in range(2):
        with pytest.raises(NotFound):
            run(client, "SELECT 1")
    assert len(list(run(client, "SELECT 1"))) == 1
    assert service.faults.planned() == []


def test_numeric_has_nine_decimals(client: bigquery.Client) -> None:
    """A thousand lines of 0.0004 are 0.4, and were 0.00."""
    (found,) = client.query_and_wait(
        "SELECT SUM(CAST(cost AS NUMERIC)) AS s "
        "FROM UNNEST(GENERATE_ARRAY(1, 1000)) AS n, (SELECT 0.0004 AS cost)"
    )
    assert str(found["s"]).rstrip("0") == "0.4"
