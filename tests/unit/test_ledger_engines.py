"""A database from its URL: every wait ends, every failure has its kind, no password is told."""

import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from google.api_core import exceptions as google
from google.auth.exceptions import DefaultCredentialsError, TransportError
from google.cloud.bigquery.dbapi.exceptions import DatabaseError
from lnamespace.errors import (
    LedgerError,
    LedgerMisconfigured,
    LedgerUnavailable,
    RowsRefused,
    SettingsError,
)
from lnamespace.ledger.database import bigquery, engines
from lnamespace.ledger.database.failures import MESSAGE_LENGTH, message, translate

from tests.unit.support.engines import DATABASES


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return DATABASES[request.param](tmp_path)


@pytest.fixture
def database(url: str) -> Iterator[sa.Engine]:
    made = engines.create_engine(url)
    yield made
    made.dispose()


def run(database: sa.Engine, statement: str) -> Any:
    with engines.transaction(database) as connection:
        return connection.exec_driver_sql(statement)


def test_a_missing_table_is_misconfigured(database: sa.Engine) -> None:
    with pytest.raises(LedgerMisconfigured) as caught:
        run(database, "INSERT INTO nowhere VALUES (1)")
    assert "INSERT" not in str(caught.value)


def test_a_duplicate_key_refuses_the_row(database: sa.Engine) -> None:
    run(database, "CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run(database, "INSERT INTO t VALUES (1)")
    with pytest.raises(RowsRefused):
        run(database, "INSERT INTO t VALUES (1)")


def test_a_failed_transaction_is_rolled_back(database: sa.Engine) -> None:
    run(database, "CREATE TABLE t (k INTEGER)")
    with pytest.raises(LedgerError):
        _half_done(database)
    with engines.transaction(database) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0


def _half_done(database: sa.Engine) -> None:
    with engines.transaction(database) as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        connection.exec_driver_sql("INSERT INTO nowhere VALUES (1)")


def test_all_threads_share_one_in_memory_database() -> None:
    for url in ("sqlite://", "duckdb:///:memory:"):
        database = engines.create_engine(url)
        run(database, "CREATE TABLE t (k INTEGER)")
        failures: list[Exception] = []
        thread = threading.Thread(target=_try, args=(database, failures))
        thread.start()
        thread.join()
        assert not failures
        database.dispose()


def _try(database: sa.Engine, failures: list[Exception]) -> None:
    try:
        run(database, "INSERT INTO t VALUES (1)")
    except LedgerError as error:
        failures.append(error)


def test_sqlite_uses_write_ahead_logging_and_full_synchronization(tmp_path: Path) -> None:
    database = engines.create_engine(DATABASES["sqlite"](tmp_path))
    with engines.transaction(database) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    database.dispose()


def test_a_locked_sqlite_database_is_unavailable_after_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 0.05)
    first, second = (engines.create_engine(DATABASES["sqlite"](tmp_path)) for _ in range(2))
    run(first, "CREATE TABLE t (k INTEGER)")
    with engines.transaction(first) as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        with pytest.raises(LedgerUnavailable, match="locked"):
            run(second, "INSERT INTO t VALUES (2)")
    first.dispose()
    second.dispose()


def test_a_full_disk_makes_the_database_temporarily_unavailable(tmp_path: Path) -> None:
    database = engines.create_engine(DATABASES["sqlite"](tmp_path))
    run(database, "CREATE TABLE t (k TEXT)")
    with pytest.raises(LedgerUnavailable, match="full"):
        _fill(database)
    run(database, "INSERT INTO t VALUES ('x')")
    database.dispose()


@pytest.mark.parametrize("words", ["disk I/O error", "database or disk is full"])
def test_a_disk_error_of_sqlite_makes_the_database_unavailable(words: str) -> None:
    """The first is also what becomes of a file that may not grow (EFBIG)."""
    error = sa.exc.OperationalError("", {}, sqlite3.OperationalError(words))
    assert isinstance(translate(error), LedgerUnavailable)


def _fill(database: sa.Engine) -> None:
    """Let a disk be full, as far as sqlite may use it."""
    with engines.transaction(database) as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 2")
        connection.exec_driver_sql("INSERT INTO t VALUES (hex(randomblob(9999)))")


def test_a_missing_folder_is_misconfigured(tmp_path: Path) -> None:
    with pytest.raises(LedgerMisconfigured, match="unable to open"):
        run(engines.create_engine(f"sqlite:///{tmp_path}/no/where.db"), "SELECT 1")


def test_a_refused_connection_is_unavailable_and_hides_the_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = taken.getsockname()[1]
        with pytest.raises(LedgerUnavailable) as caught:
            run(engines.create_engine(f"postgresql://u:hunter2@127.0.0.1:{port}/d"), "SELECT 1")
    assert "hunter2" not in str(caught.value)


def test_a_nonexistent_database_is_misconfigured(tmp_path: Path) -> None:
    url = sa.make_url(DATABASES["postgresql"](tmp_path)).set(database="nowhere")
    with pytest.raises((LedgerMisconfigured, LedgerUnavailable), match="does not exist"):
        run(engines.create_engine(url.render_as_string(hide_password=False)), "SELECT 1")


def test_a_server_that_accepts_connections_and_sends_nothing_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 2)  # The least that libpq knows.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(LedgerUnavailable, match="timeout"):
            run(engines.create_engine(f"postgresql://u@127.0.0.1:{port}/d"), "SELECT 1")


def test_a_query_without_response_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SILENCE_SECONDS", 1)  # For what follows too.
    database = engines.create_engine(DATABASES["postgresql"](tmp_path))
    with pytest.raises(LedgerUnavailable):
        run(database, "SELECT pg_sleep(25)")
    assert run(database, "SELECT 1").rowcount == 1
    database.dispose()


def test_postgresql_cancels_a_statement_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "STATEMENT_SECONDS", 1)
    database = engines.create_engine(DATABASES["postgresql"](tmp_path))
    with pytest.raises(LedgerUnavailable, match="timeout"):
        run(database, "SELECT pg_sleep(25)")
    database.dispose()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "postgresql://u:p@hunter2:x@h/d",
        "postgresql://u:p@hunter2/x@h/d",
        "postgresql://u:p@hunter2?s@h/d",
        "postgresql://u:p@hunter2?x=y@h/d",
        "nonsense",
        "mysql://u:hunter2@h/d",
        "oracle://hunter2",
        "postgresql+no://hunter2",
    ],
)
def test_an_invalid_url_is_refused_without_the_password(url: str) -> None:
    with pytest.raises(SettingsError, match="--ledger-url") as caught:
        engines.create_engine(url)
    assert "hunter2" not in str(caught.value)


def test_bigquery_without_credentials_is_misconfigured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(bigquery.EMULATOR, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(LedgerMisconfigured):
        engines.create_engine("bigquery://project/dataset")


def test_the_default_schema_is_the_dataset_of_a_bigquery_url() -> None:
    assert engines.default_schema("bigquery://project/dataset?location=EU") == "dataset"
    assert engines.default_schema("postgresql://host/database") == ""


def test_the_database_file_is_the_path_of_a_sqlite_url() -> None:
    assert engines.database_file("sqlite:////var/lib/ledger.db") == Path("/var/lib/ledger.db")
    assert engines.database_file("sqlite://") is None
    assert engines.database_file("postgresql://host/database") is None


def answer(kind: type[google.GoogleAPICallError], reason: str) -> DatabaseError:
    return DatabaseError(kind("no", errors=[{"reason": reason}]))


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (answer(google.Forbidden, "rateLimitExceeded"), LedgerUnavailable),
        (answer(google.Forbidden, "quotaExceeded"), LedgerMisconfigured),
        (answer(google.Forbidden, "accessDenied"), LedgerMisconfigured),
        (answer(google.NotFound, "notFound"), LedgerMisconfigured),
        (answer(google.BadRequest, "invalidQuery"), RowsRefused),
        (answer(google.ServiceUnavailable, "backendError"), LedgerUnavailable),
        (answer(google.InternalServerError, "somethingNew"), LedgerUnavailable),
        (answer(google.BadRequest, "somethingNew"), RowsRefused),
    ],
)
def test_errors_of_bigquery_are_translated_by_their_reasons(
    cause: DatabaseError, kind: type[LedgerError]
) -> None:
    assert type(translate(sa.exc.DatabaseError("secret", {}, cause))) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (google.RetryError("no", None), LedgerUnavailable),  # type: ignore[no-untyped-call]
        (TransportError("no"), LedgerUnavailable),  # type: ignore[no-untyped-call]
        (DefaultCredentialsError("no"), LedgerMisconfigured),  # type: ignore[no-untyped-call]
        (answer(google.Forbidden, "accessDenied").args[0], LedgerMisconfigured),
        (ConnectionResetError("no"), LedgerUnavailable),
        (OverflowError("no"), RowsRefused),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), RowsRefused),
    ],
)
def test_errors_raised_outside_the_driver_are_translated(
    error: Exception, kind: type[LedgerError]
) -> None:
    assert type(translate(error)) is kind


@pytest.mark.parametrize("error", [KeyError("k"), AttributeError("a"), RuntimeError("r")])
def test_a_programming_error_is_not_translated(error: Exception) -> None:
    assert translate(error) is None


def test_an_error_message_is_truncated_to_one_short_line() -> None:
    assert message(ValueError("first\nsecond")) == "first"
    assert len(message(ValueError("x" * 9999))) == MESSAGE_LENGTH
    assert message(ValueError()) == "ValueError"


@pytest.mark.parametrize(
    "words",
    [
        'connection failed: FATAL:  password authentication failed for user "u"',
        "connection failed: fe_sendauth: no password supplied",
        'connection failed: FATAL:  role "u" does not exist',
        'connection failed: FATAL:  database "d" does not exist',
        'connection failed: FATAL:  no pg_hba.conf entry for host "h"',
    ],
)
def test_wrong_credentials_are_misconfigured_and_not_unavailable(words: str) -> None:
    """Somebody waited for a database that had refused the password."""
    original = psycopg.OperationalError(words)
    failure = translate(sa.exc.OperationalError("", {}, original))
    assert type(failure) is LedgerMisconfigured
