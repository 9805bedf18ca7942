"""Connect to a database by its URL, with a time-out on every wait."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import NullPool, StaticPool

from lnamespace.errors import LedgerMisconfigured, OptionError, SettingsError
from lnamespace.ledger.database.failures import message, translate
from lnamespace.ledger.database.watchdog import ATTEND, Watchdog
from lnamespace.runtime.texts import install_advice

_ESCAPE = "in a password, @ : / ? # and % are written as %40 %3A %2F %3F %23 and %25"

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 30
ROWS_AT_ONCE = 5_000
SILENCE_SECONDS = 60.0
"""Seconds without an answer after which the watchdog cuts a connection."""


def create_engine(url: str, read_only: bool = False) -> sa.Engine:
    """Return the engine for a URL; nothing is connected yet.

    Parameters
    ----------
    read_only
        Whether nothing is to be written. Then a file of sqlite need not be writable.

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
        return _maker(parsed, read_only)(parsed)
    except (sa.exc.NoSuchModuleError, ImportError) as error:
        raise SettingsError(f"--ledger-url: {_no_driver(parsed, error)}") from None
    except (sa.exc.ArgumentError, ValueError) as error:
        raise OptionError(f"--ledger-url: {message(error)}") from None
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
        raise OptionError(
            "--ledger-url is no URL such as sqlite:////var/lib/lnamespace/ledger.db or "
            f"postgresql+psycopg://USER:PASSWORD@HOST/DATABASE; {_ESCAPE}"
        ) from None
    if parsed.password is not None and "@" in _after_colon(url):
        raise OptionError(f"--ledger-url has more than one @: {_ESCAPE}")
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


def _maker(url: sa.URL, read_only: bool) -> Callable[[sa.URL], sa.Engine]:
    makers = {
        "sqlite": _sqlite_reader if read_only else _sqlite,
        "postgresql": _postgresql,
        "duckdb": _duckdb,
        "bigquery": _bigquery,
    }
    dialect = url.drivername.partition("+")[0]
    if dialect not in makers:
        raise OptionError(f"--ledger-url must begin with one of {', '.join(makers)}")
    return makers[dialect]


def _no_driver(url: sa.URL, error: Exception) -> str:
    """Return a message about a missing driver, with the extra that has it, if one does."""
    dialect, _, driver = url.drivername.partition("+")
    if dialect == "sqlite" or (dialect == "postgresql" and driver not in ("", "psycopg")):
        return message(error)
    return f"no driver for {dialect} ({message(error)}); {install_advice(dialect)}"


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


def _sqlite_reader(url: sa.URL) -> sa.Engine:
    """Return the engine for a file that is not written, not even its journal mode.

    "rw" opens a file for reading too if we may not write it. "ro" would create -wal and -shm files
    and leave them, and the writer, another user, may not write those.
    """
    if url.database in (None, "", ":memory:"):
        return _sqlite(url)
    # A reader of a journal in WAL mode makes files beside it. Where it cannot, and no writer has
    # made them, nobody writes.
    file = Path(url.database)
    journals = [file.with_name(f"{file.name}{suffix}") for suffix in ("-wal", "-journal")]
    is_still = not os.access(file.parent, os.W_OK) and not any(map(Path.exists, journals))
    mode = {"immutable": "1"} if is_still else {"mode": "rw"}
    name = f"file:{quote(str(file))}"
    return sa.create_engine(
        url.set(database=name).update_query_dict({**mode, "uri": "true"}),
        hide_parameters=True,
        connect_args={"timeout": CONNECT_SECONDS},
    )


def _durable(connection: Any, _: object) -> None:
    """Set WAL and full sync: readers do not block the writer, and commits survive a power cut."""
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
