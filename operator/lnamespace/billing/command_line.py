"""The options of ``lnamespace ledger``; what it runs is imported when it is run."""

import argparse

from lnamespace import settings as options

FORMATS = ("table", "csv", "json")

_COMMANDS = {
    "publish": "carry records from the outbox into the ledger, until told to stop",
    "status": "tell whether the database answers, what it has, and what waits",
    "show": "show the events in the ledger",
    "intervals": "show who pays for which namespace, from when to when",
    "costs": "show what each cost centre cost, by a file of what its namespaces cost",
    "reconcile": "put into the outbox what the ledger lacks of the cluster",
    "replay": "write all that the cluster knows into the ledger, as into a new table",
    "create-table": "create or extend the table, and the view for readers",
}


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Give the parser the commands; which one is chosen is ``ledger_command``."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, meaning in _COMMANDS.items():
        text = f"{meaning[0].upper()}{meaning[1:]}."
        command = commands.add_parser(name, help=meaning, description=text)
        if name in ("show", "intervals"):
            _add_filters(command)
        if name == "costs":
            command.add_argument("file", metavar="FILE", help="CSV of costs (docs/ledger.md)")
            command.add_argument("-o", "--output", choices=FORMATS, default="table")
        if name == "status":
            command.add_argument("-o", "--output", choices=("table", "json"), default="table")
        if name in ("reconcile", "replay", "create-table"):
            command.add_argument(
                "--dry-run", action="store_true", help="say what would be done, and change nothing"
            )
        options.add_options(command, "ledger")
        command.set_defaults(ledger_command=name)


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", choices=FORMATS, default="table")
    command.add_argument("-n", "--namespace", help="of this namespace only")
    command.add_argument("--cost-center", help="of this cost centre only")
    command.add_argument(
        "--all-clusters", action="store_true", help="of all clusters that share the ledger"
    )
    command.add_argument(
        "--exact",
        action="store_true",
        help="CSV for programs: no apostrophe before what a spreadsheet would run",
    )
