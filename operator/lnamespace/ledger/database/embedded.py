"""The file of an embedded database, sqlite or DuckDB: find it, or make its folder."""

from pathlib import Path

import sqlalchemy as sa

from lnamespace.errors import LedgerMisconfigured, OptionError
from lnamespace.ledger.database import engines
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.settings import Settings


def existing_ledger(settings: Settings, read_only: bool = True) -> Ledger:
    """Return the ledger, for reading; to connect to a file that does not exist would create it.

    Raises
    ------
    LedgerMisconfigured
        The database file does not exist.
    """
    file = _file(settings)
    if file and not file.exists():
        raise LedgerMisconfigured(
            f"there is no {file}. Is the ledger elsewhere? Say where: --ledger-url or the variable "
            "LNAMESPACE_LEDGER_URL. A new one is made when the first record is published "
            "(lnamespace ledger publish), or by: lnamespace ledger create-table"
        )
    return Ledger.from_settings(settings, read_only)


def make_folder(settings: Settings) -> None:
    """Make the folder of the database's file, if it has one.

    Raises
    ------
    LedgerMisconfigured
        The folder cannot be made.
    """
    file = _file(settings)
    if file:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerMisconfigured(f"cannot make the folder {file.parent}: {error}") from error


def _file(settings: Settings) -> Path | None:
    """Return the file of the database; None if it has none.

    Raises
    ------
    OptionError
        The URL is invalid.
    """
    try:
        return engines.database_file(settings.ledger_url)
    except (sa.exc.ArgumentError, ValueError):
        raise OptionError(
            "--ledger-url is no URL of a database, such as sqlite:////var/lib/lnamespace/ledger.db"
        ) from None
