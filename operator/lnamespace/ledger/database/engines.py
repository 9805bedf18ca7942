"""A database from its URL, with every wait bounded."""

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
"""After which a connection to a server that says nothing is cut."""


def create_engine(url: str) -> sa.Engine:
    """The engine for a URL; nothing is connected yet.

    Raises
    ------
    SettingsError
        It is no URL of a database that can be the ledger, or its driver is not installed. The
        message never has the URL, for that may hold a password.
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
        It is none. The message has nothing of it: where an ``@`` of a password is not escaped, the
        rest of the password is read as a host, a port or a database.
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
    """Return what is between the colon of a password and the last @, for nothing else has one."""
    return url.partition("://")[2].rpartition("@")[0].partition(":")[2]


def default_schema(url: str) -> str:
    """The dataset that a BigQuery URL names; other databases know their own default."""
    parsed = parse(url)
    return parsed.database or "" if parsed.drivername == "bigquery" else ""


def database_file(url: str) -> Path | None:
    """The file that an embedded database is kept in; None where it is none, or in memory."""
    parsed = parse(url)
    name = parsed.database or ""
    if parsed.drivername.partition("+")[0] not in ("sqlite", "duckdb") or name in ("", ":memory:"):
        return None
    return Path(name)


@contextmanager
def transaction(database: sa.Engine) -> Iterator[sa.Connection]:
    """A connection for one transaction; what the database does wrong becomes a LedgerError.

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
    """Return the rows that a query finds, in parts, for a million of them are gigabytes.

    Who takes them may take their time: while they do, nobody waits for the database.
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
    """Say which extra has the driver; other drivers are for whoever names them."""
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
    """Readers and the writer do not wait for each other; what is committed outlives the power."""
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
    # Without pool_pre_ping: what was cut while idle fails once and is tried again, as all is.
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
    # Whoever has the file open keeps all other processes out: open it for as long as it takes.
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
