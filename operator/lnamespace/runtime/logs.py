"""Log records with constant messages and fields, as text for people or as JSON for programs."""

import logging

from pythonjsonlogger.json import JsonFormatter

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    """A formatter to one line with fields; no value of a field can start a new line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the line of a record; logging adds a traceback below it."""
        line = super().formatMessage(record)
        fields = (f"{k}={v!r}" for k, v in record.__dict__.items() if k not in _STANDARD)
        return " ".join([line, *fields])


def configure(log_format: str, level: str) -> None:
    """Log to standard error.

    Parameters
    ----------
    log_format
        ``text`` or ``json``.
    level
        A level of :mod:`logging`, in lower case too. kopf logs warnings and errors at most.
    """
    handler = logging.StreamHandler()
    if log_format == "json":
        handler.setFormatter(
            JsonFormatter(
                "%(asctime)s %(levelname)s %(name)s %(message)s",
                rename_fields={"asctime": "timestamp", "levelname": "level", "name": "logger"},
            )
        )
    else:
        handler.setFormatter(TextFormatter("%(asctime)s %(levelname)-7s %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for library in ("kopf", "websockets"):
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLogger().level))
