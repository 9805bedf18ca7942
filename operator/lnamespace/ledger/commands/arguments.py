"""The options of ``lnamespace ledger``; what it runs is imported when it is run."""

import argparse

from lnamespace import settings as options
from lnamespace.ledger.costs.allocation import LINE_PARTS
from lnamespace.ledger.costs.distribution import RULES
from lnamespace.model.billing import BILLING_TEXTS

FORMATS = ("table", "csv", "json")

_COMMANDS = {
    "publish": "carry records from the outbox into the ledger, until told to stop",
    "status": "tell whether the database answers, what it has, and what waits",
    "show": "show the events in the ledger",
    "intervals": "show who pays for which namespace, from when to when",
    "costs": "show what each cost centre cost, by a file of what its namespaces cost",
    "reconcile": "put into the outbox what the ledger lacks of the cluster",
    "replay": "write all that the cluster knows into the ledger, as into a new table",
    "correct": "correct what the ledger says of the past, by a row that says who and why",
    "create-table": "create or extend the table, and the view for readers",
}


_COSTS = """

The sum is always the bill's: what nobody pays for is a row UNALLOCATED, what is the cluster's own
is SHARED, and lines that are left out are counted on standard error.

A bill is a CSV file with namespace, usage_start_time, usage_end_time, cost and currency; or
OpenCost's, with Date, Namespace and TotalCost; or Google's billing export, saved as CSV.

  lnamespace ledger costs october.csv --month 2026-10
  lnamespace ledger costs october.csv --by namespace,team,day -o csv > october-by-day.csv
  lnamespace ledger costs october.csv --shared proportional
  lnamespace ledger costs october.csv --month 2026-10 --by lcluster -o json > 2026-10.json
  lnamespace ledger costs opencost.csv --currency USD --cluster-name main
"""

_CORRECT = """

Nothing is changed: the correction is a row beside what it corrects, and the intervals follow it.
Ids of events: lnamespace ledger show -n NAMESPACE -o csv

  lnamespace ledger correct UID/3/APPLY --cost-center 0815 --reason 'ticket 7' --dry-run
  lnamespace ledger correct UID/DELETE --at 2026-10-03T12:00:00Z --reason 'it was gone by then'
  lnamespace ledger correct UID/4/APPLY --void --reason 'a trial'
"""

_EXAMPLES = {"costs": _COSTS, "correct": _CORRECT}


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands to the parser; the chosen one is ``ledger_command``."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, meaning in _COMMANDS.items():
        text = f"{meaning[0].upper()}{meaning[1:]}."
        command = commands.add_parser(
            name,
            aliases=["events"] if name == "show" else [],
            help=meaning,
            description=f"{text}{_EXAMPLES.get(name, '')}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in ("show", "intervals"):
            _add_filters(command)
        if name == "costs":
            _add_costs(command)
        if name == "status":
            command.add_argument("-o", "--output", choices=("table", "json"), default="table")
        if name in ("reconcile", "replay", "create-table"):
            command.add_argument(
                "--dry-run", action="store_true", help="say what would be done, and change nothing"
            )
        if name == "correct":
            _add_correct(command)
        if name == "reconcile":
            _add_overrides(command)
        options.add_options(command, "ledger")
        command.set_defaults(ledger_command=name)


def _add_overrides(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--end-all",
        action="store_true",
        help="end all that is gone, however much that is (docs/ledger.md)",
    )
    command.add_argument(
        "--former-cluster",
        metavar="UID",
        help="a cluster that had these names and is gone, whose LNamespaces are to be ended; "
        "'' for rows of before there were UIDs",
    )


def _add_correct(command: argparse.ArgumentParser) -> None:
    command.add_argument("event", metavar="EVENT_ID", help="the event that is wrong")
    command.add_argument("--reason", default="", help="why it is corrected; stands in the ledger")
    command.add_argument("--by", help="who corrects it [whoever is logged in]")
    command.add_argument(
        "--at",
        metavar="TIME",
        help="when it took effect, with its time zone, such as 2026-10-03T12:00:00Z (UTC) or "
        "2026-10-03T08:00:00-04:00",
    )
    command.add_argument("--void", action="store_true", help="it did not happen")
    for name in BILLING_TEXTS.values():
        option = f"--{name.replace('_', '-')}"
        command.add_argument(option, dest=f"new_{name}", help="who pays, instead")
    command.add_argument("--dry-run", action="store_true", help="show it, and write nothing")


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("-n", "--namespace", help="of this namespace only")
    command.add_argument("--cost-center", help="of this cost centre only")
    _add_output(command)


def _add_costs(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the bill, a CSV file; - is standard input")
    command.add_argument(
        "--month",
        default="",
        metavar="YYYY-MM",
        help="only this month: of the invoice, if the bill says it, or else in which usage begins",
    )
    command.add_argument(
        "--by",
        default="",
        metavar="PART,...",
        help=f"a row for each {', '.join(LINE_PARTS)} (UTC), or for several of these",
    )
    command.add_argument(
        "--shared",
        choices=RULES,
        default="none",
        help="what becomes of the cluster's own cost: a row SHARED (none, the default), or each "
        "cost centre's part in proportion to its own cost, or the same part for each",
    )
    command.add_argument(
        "--shared-namespaces",
        default="",
        metavar="PATTERN,...",
        help="further namespaces that are the cluster's own, such as ingress-*,monitoring",
    )
    command.add_argument(
        "--currency", default="", metavar="CAD", help="of a bill without such a column"
    )
    command.add_argument(
        "--decimal",
        choices=("point", "comma"),
        help="the decimal mark of the bill, where 1.234 may be a thousand",
    )
    _add_output(command)


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", choices=FORMATS, default="table")
    command.add_argument(
        "--all-clusters", action="store_true", help="of all clusters that share the ledger"
    )
    command.add_argument(
        "--exact",
        action="store_true",
        help="CSV for programs: no apostrophe before what a spreadsheet would run",
    )
