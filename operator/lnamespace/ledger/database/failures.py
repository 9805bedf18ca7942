"""Translate a database's error: wait (unavailable), tell a person (misconfigured), or bad rows.

By the error's code, and by its message only where there is no code. Drivers are not imported here:
most installations have one of them.
"""

import re
from typing import Any

import sqlalchemy as sa

from lnamespace.errors import LedgerError, LedgerMisconfigured, LedgerUnavailable, RowsRefused

MESSAGE_LENGTH = 300

_POSTGRES: dict[str, type[LedgerError]] = {
    # Classes of SQLSTATE (PostgreSQL, appendix A): rows first, then what somebody must mend.
    **dict.fromkeys(("22", "23", "54"), RowsRefused),
    **dict.fromkeys(("28", "3D", "3F", "42", "0A"), LedgerMisconfigured),
}
_REFUSED_BY_POSTGRES = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry"
    r'|(role|database) ".*" does not exist|permission denied for database'
)
_BIGQUERY: dict[str, type[LedgerError]] = {
    # Reasons (BigQuery, error messages). A quota is used up for hours, a rate for seconds.
    **dict.fromkeys(("invalid", "invalidQuery", "tooLarge", "responseTooLarge"), RowsRefused),
    **dict.fromkeys(("accessDenied", "notFound", "blocked", "required"), LedgerMisconfigured),
    **dict.fromkeys(("quotaExceeded", "resourcesExceeded"), LedgerMisconfigured),
    **dict.fromkeys(("billingNotEnabled", "billingTierLimitExceeded"), LedgerMisconfigured),
    **dict.fromkeys(("rateLimitExceeded", "jobRateLimitExceeded"), LedgerUnavailable),
    **dict.fromkeys(("backendError", "internalError", "tableUnavailable"), LedgerUnavailable),
    **dict.fromkeys(("jobBackendError", "jobInternalError", "stopped"), LedgerUnavailable),
}
_DUCKDB: dict[str, type[LedgerError]] = {
    **dict.fromkeys(("ConstraintException", "ConversionException"), RowsRefused),
    **dict.fromkeys(("OutOfRangeException", "InvalidInputException"), RowsRefused),
    **dict.fromkeys(("IOException", "TransactionException"), LedgerUnavailable),
    **dict.fromkeys(("InterruptException", "OutOfMemoryException"), LedgerUnavailable),
}
_SQLITE_WAIT = ("locked", "busy", "interrupted", "disk i/o error", "full")


def translate(error: Exception) -> LedgerError | None:
    """Return an exception of a database as a LedgerError; None if it is a defect of ours."""
    kind = _kind(error)
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and error.orig else error
    return kind(message(cause)) if kind else None


def message(error: BaseException) -> str:
    """Return an error's first line, shortened: never the statement, nor its rows."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:MESSAGE_LENGTH]


def _kind(error: Exception) -> type[LedgerError] | None:
    if isinstance(error, sa.exc.DBAPIError):
        return _of_driver(error)
    if isinstance(error, sa.exc.NoSuchTableError | ImportError):
        return LedgerMisconfigured
    if isinstance(error, sa.exc.TimeoutError | OSError):
        return LedgerUnavailable
    # RetryError, TransportError and the like pass sqlalchemy-bigquery unwrapped.
    if type(error).__module__.startswith(("google.", "requests.", "urllib3.")):
        return _of_google(error)
    # What drivers raise for a value that they cannot send, before anything is sent.
    if isinstance(error, ValueError | TypeError | OverflowError):
        return RowsRefused
    return None


def _of_driver(error: sa.exc.DBAPIError) -> type[LedgerError]:
    original: Any = error.orig
    match type(original).__module__.partition(".")[0]:
        case "psycopg":
            return _of_postgres(original)
        case "duckdb" | "_duckdb":
            return _DUCKDB.get(type(original).__name__, LedgerMisconfigured)
        case "google":
            return _of_google(original)
    return _of_sqlite(error)


def _of_postgres(original: Any) -> type[LedgerError]:
    """Return the kind by SQLSTATE. Without one there was no answer; other classes are temporary.

    If the server refused a connection, libpq keeps the message and no SQLSTATE.
    """
    if not original.sqlstate and _REFUSED_BY_POSTGRES.search(str(original)):
        return LedgerMisconfigured
    return _POSTGRES.get((original.sqlstate or "")[:2], LedgerUnavailable)


def _of_google(original: Any) -> type[LedgerError]:
    """Return the kind by the reason. Without one the network failed, or Google's front end."""
    name = type(original).__name__
    if name in ("DefaultCredentialsError", "MutualTLSChannelError", "ProgrammingError"):
        return LedgerMisconfigured
    inner = original.args[0] if original.args else None
    fault = inner if hasattr(inner, "errors") else original
    reasons = [entry.get("reason", "") for entry in getattr(fault, "errors", None) or ()]
    kinds = [_BIGQUERY[reason] for reason in reasons if reason in _BIGQUERY]
    if kinds:
        return kinds[0]
    by_status = {400: RowsRefused, 401: LedgerMisconfigured, 403: LedgerMisconfigured}
    by_status |= {404: LedgerMisconfigured, 413: RowsRefused}
    return by_status.get(getattr(fault, "code", 0) or 0, LedgerUnavailable)


def _of_sqlite(error: sa.exc.DBAPIError) -> type[LedgerError]:
    if isinstance(error, sa.exc.IntegrityError | sa.exc.DataError | sa.exc.InterfaceError):
        return RowsRefused
    if isinstance(error, sa.exc.OperationalError):
        text = str(error.orig).lower()
        return LedgerUnavailable if any(w in text for w in _SQLITE_WAIT) else LedgerMisconfigured
    return LedgerMisconfigured
