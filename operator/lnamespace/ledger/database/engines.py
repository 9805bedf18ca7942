"""Connect to a database by its URL, with a time-out on every wait."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool, StaticPool

from lnamespace import extras
from lnamespace.errors import LedgerMisconfigured, SettingsError
from lnamespace.ledger.database.failures import message, translate
from lnamespace.ledger.database.watchdog import ATTEND, Watchdog

_ESCAPE = "in a password, @ : / ? # and % are written as %40 %3A %2F %3F %23 and %25"

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 30
ROWS_AT_ONCE = 5_000
SILENCE_SECONDS = 60.0
"""After so long without an answer the watchdog cuts a connection."""


def create_engine(url: str) -> sa.Engine:
    """Return the engine for a URL; nothing is connected yet.

    Raises
    ------
    SettingsError
        The URL is not that of a supported database, or the driver is not installed. The message
        never has the URL, which may have a password.
    LedgerMisconfigured
        There are no credentials for it.
    """
    parsed = parse(url)
    try:
        return _maker(parsed)(parsed)
    except (sa.exc.NoSuchModuleError, ImportError) as error:
        raise SettingsError(f"--ledger-url: {_no_driver(parsed, error)}") from None
    except (sa.exc.ArgumentError, ValueError) as error:
        raise SettingsError(f"--ledger-url: {message(error)}") from None
    except Exception as error:
        failure = translate(error)
        if failure is None:
            raise
        raise LedgerMisconfigured(str(failure)) from error


def parse(url: str) -> sa.URL:
    """Return the parts of a URL.

    Raises
    ------
    SettingsError
        It is not a URL. The message has no part of it: if an ``@`` in a password is not escaped,
        the rest of the password is parsed as a host, a port or a database.
    """
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise SettingsError(
            "--ledger-url is no URL such as sqlite:////var/lib/lnamespace/ledger.db or "
            f"postgresql+psycopg://USER:PASSWORD@HOST/DATABASE; {_ESCAPE}"
        ) from None
    if parsed.password is not None and "@" in _after_colon(url):
        raise SettingsError(f"--ledger-url has more than one @: {_ESCAPE}")
    return parsed


def _after_colon(url: str) -> str:
    """Return the text between the colon of a password and the last @: the password."""
    return url.partition("://")[2].rpartition("@")[0].partition(":")[2]


def default_schema(url: str) -> str:
    """Return the dataset of a BigQuery URL; empty for other databases, which have a default."""
    parsed = parse(url)
    return parsed.database or "" if parsed.drivername == "bigquery" else ""


def database_file(url: str) -> Path | None:
    """Return the file of an embedded database; None if it is a server, or in memory."""
    parsed = parse(url)
    name = parsed.database or ""
    if parsed.drivername.partition("+")[0] not in ("sqlite", "duckdb") or name in ("", ":memory:"):
        return None
    return Path(name)


@contextmanager
def transaction(database: sa.Engine) -> Iterator[sa.Connection]:
    """Open a connection for one transaction; errors of the database become LedgerErrors.

    Raises
    ------
    LedgerError
        As :func:`lnamespace.ledger.database.failures.translate` says.
    """
    try:
        with database.connect() as connection, connection.begin():
            yield connection
    except Exception as error:
        failure = translate(error)
        if failure is None or failure is error:
            raise
        raise failure from error


def stream(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query in parts, for a million of them are gigabytes.

    The watchdog is off while the caller handles a part: it may take as long as it likes.
    """
    result = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(query)
    names, attend = tuple(result.keys()), connection.info.get(ATTEND, lambda _: None)
    with closing(result):
        for part in result.partitions():
            attend(False)
            for row in part:
                yield dict(zip(names, row, strict=True))
            attend(True)


def _maker(url: sa.URL) -> Callable[[sa.URL], sa.Engine]:
    makers = {
        "sqlite": _sqlite,
        "postgresql": _postgresql,
        "duckdb": _duckdb,
        "bigquery": _bigquery,
    }
    dialect = url.drivername.partition("+")[0]
    if dialect not in makers:
        raise SettingsError(f"--ledger-url must begin with one of {', '.join(makers)}")
    return makers[dialect]


def _no_driver(url: sa.URL, error: Exception) -> str:
    """Return a message about a missing driver, with the extra that has it, if one does."""
    dialect, _, driver = url.drivername.partition("+")
    if dialect == "sqlite" or (dialect == "postgresql" and driver not in ("", "psycopg")):
        return message(error)
    return f"no driver for {dialect} ({message(error)}); {extras.advice(dialect)}"


def _sqlite(url: sa.URL) -> sa.Engine:
    if url.database in (None, "", ":memory:"):
        # One connection for all threads: each would have an empty database of its own.
        options = {"check_same_thread": False}
        return sa.create_engine(
            url, hide_parameters=True, poolclass=StaticPool, connect_args=options
        )
    made = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": CONNECT_SECONDS})
    sa.event.listen(made, "connect", _durable)
    return made


def _durable(connection: Any, _: object) -> None:
    """Let readers and the writer not wait for each other, and commits survive a power cut."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _postgresql(url: sa.URL) -> sa.Engine:
    limits = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": STATEMENT_SECONDS * 1000,
        "keepalives_idle": STATEMENT_SECONDS,
        "application_name": "lnamespace-ledger",
        "options": f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={CONNECT_SECONDS}s",
    }
    # No pool_pre_ping: a connection that was cut while idle fails once, and is tried again.
    made = sa.create_engine(
        url if "+" in url.drivername else url.set(drivername="postgresql+psycopg"),
        hide_parameters=True,
        pool_timeout=CONNECT_SECONDS,
        connect_args={key: value for key, value in limits.items() if key not in url.query},
    )
    Watchdog(SILENCE_SECONDS).watch(made)
    return made


def _duckdb(url: sa.URL) -> sa.Engine:
    if url.database in (None, "", ":memory:"):
        return sa.create_engine(url, hide_parameters=True, poolclass=StaticPool)
    # A process that has the file open keeps all others out, so it is closed when unused.
    return sa.create_engine(url, hide_parameters=True, poolclass=NullPool)


def _bigquery(url: sa.URL) -> sa.Engine:
    from lnamespace.ledger.database import bigquery  # noqa: PLC0415 - a second that others need not wait

    location = url.query.get("location", "")
    client = bigquery.client(url.host or "", str(location))
    return sa.create_engine(
        url.update_query_dict({"user_supplied_client": "true"}),
        hide_parameters=True,
        connect_args={"client": client, "prefer_bqstorage_client": False},
    )
