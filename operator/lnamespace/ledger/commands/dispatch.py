"""Run ``lnamespace ledger COMMAND``."""

import argparse
import os
import sys
from collections.abc import Callable

from lnamespace.errors import (
    LedgerError,
    LedgerUnavailable,
)
from lnamespace.ledger.commands import maintenance, reports
from lnamespace.ledger.commands.output import visible
from lnamespace.settings import Settings


def run(name: str, settings: Settings, arguments: argparse.Namespace) -> int:
    """Run ``lnamespace ledger NAME``; return the exit code.

    Raises
    ------
    LNamespaceError
        The command failed. If the database failed, the message says what it has now.
    """
    try:
        return _COMMANDS[name](settings, arguments)
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does; the interpreter would fail to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except LedgerError as error:
        silent = isinstance(error, LedgerUnavailable)
        what = "does not answer" if silent else "refuses"
        text = f"the ledger's database {what}: {visible(str(error))}"
        raise type(error)(f"{text}\n{_AFTER_FAILURE.get(name, _IN_OUTBOX)}") from error


_IN_OUTBOX = "Nothing is lost: records wait in the outbox (kubectl get billingrecords)."
_AFTER_FAILURE = {
    "replay": "What it has written stays: run it again, for it writes nothing twice.",
    "correct": "It is written as a whole or not at all: lnamespace ledger show has it if it is. "
    "If not, run it again.",
}
"""The state after a failure of the database, for commands whose rows are in no outbox."""

_COMMANDS: dict[str, Callable[[Settings, argparse.Namespace], int]] = {
    "publish": maintenance.publish,
    "status": reports.status,
    "show": reports.show,
    "intervals": reports.intervals,
    "costs": reports.costs,
    "reconcile": maintenance.reconcile,
    "replay": maintenance.replay,
    "correct": maintenance.correct_event,
    "create-table": maintenance.create_table,
}
