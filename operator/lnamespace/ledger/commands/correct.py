"""``lnamespace ledger correct``: correct an event, with who does so and why."""

import argparse
import getpass
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from lnamespace.errors import LedgerMisconfigured, OptionError, SettingsError
from lnamespace.ledger.commands.output import visible
from lnamespace.ledger.costs import cells
from lnamespace.ledger.database.corrections import (
    Correction,
    correcting_rows,
    effect,
    history_of,
)
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import Row
from lnamespace.model.billing import BILLING_TEXTS
from lnamespace.model.rules import billing_text_problem

_SHOWN = ("valid_from", "valid_to", *BILLING_TEXTS.values())
_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def run(ledger: Ledger, arguments: argparse.Namespace) -> int:
    """Show the intervals before and after, and write the correction.

    Raises
    ------
    SettingsError, LedgerError
        The event cannot be corrected so; nothing was written.
    """
    history = history_of(ledger, arguments.event)
    if not arguments.dry_run:
        ledger.prepare()
        if not ledger.can_be_corrected:
            raise LedgerMisconfigured(
                "the table has no columns corrects and reason: lnamespace ledger create-table"
            )
    request = _request(arguments)
    made = correcting_rows(history, request)
    for heading, spans in zip(("before", "after"), effect(history, made, request), strict=True):
        print(f"{heading}:")
        _show(spans)
    for row in made:
        print(f"{row['operation']} {visible(row['event_id'])}")
    if arguments.dry_run:
        print("nothing was written")
        return 0
    if ledger.append_correction(made) < len(made):
        raise SettingsError(
            f"{arguments.event} was corrected meanwhile, and what was shown is not so: "
            "lnamespace ledger show has who did so, and the id to correct now"
        )
    print(f"{len(made)} rows added")
    return 0


def _request(arguments: argparse.Namespace) -> Correction:
    given = {name: getattr(arguments, f"new_{name}") for name in BILLING_TEXTS.values()}
    payer = {name: text for name, text in given.items() if text is not None}
    for name, text in payer.items():
        if not text and name == "cost_center":
            raise OptionError("--cost-center: somebody must pay; of a mistake: --void")
        if problem := text and billing_text_problem(name, text):
            raise OptionError(f"--{name.replace('_', '-')}: {problem}")
    at = _instant(arguments.at) if arguments.at else None
    by = arguments.by if arguments.by is not None else _login()
    now = datetime.now(UTC)
    return Correction(arguments.event, by, arguments.reason, now, at, payer, void=arguments.void)


def _instant(text: str) -> datetime:
    """Read a time that names its zone.

    In a bill a time without one is UTC. A person may mean the clock on the wall: taken for UTC, the
    correction would be hours off, and nothing would say so.
    """
    if cells.names_no_zone(text):
        raise OptionError(
            f"--at: {text.strip()} names no time zone: write it with a Z for UTC, or with the "
            "distance from UTC, such as 2026-10-03T12:00:00Z or 2026-10-03T08:00:00-04:00"
        )
    try:
        return _1970 + timedelta(microseconds=cells.instant(text))
    except ValueError as error:
        raise OptionError(f"--at: {error}") from None


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # The user of a container has no name.
        return ""


def _show(rows: Sequence[Row]) -> None:
    for row in rows:
        cells = (row[name] for name in _SHOWN)
        print("  " + "  ".join(visible(str(cell)) if cell else "-" for cell in cells))
    if not rows:
        print("  nobody pays")
