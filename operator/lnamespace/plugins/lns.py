"""`kubectl lns`: one's LNamespaces, who may do what in them, and changing that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from lnamespace.plugins.arguments import Arguments, Flags, parse
from lnamespace.plugins.entry import run
from lnamespace.plugins.errors import UsageError
from lnamespace.plugins.lns_help import HELP, HELP_OF

ROLES = ("user", "manager", "sudoer")


class Subcommand(NamedTuple):
    """Where a subcommand is, and its own flags; its module is imported when it is used."""

    module: str
    function: str
    flags: frozenset[str]


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "list": Subcommand("listing", "listing", frozenset(("all", "output"))),
    "describe": Subcommand("description", "describe", frozenset(("output",))),
    "grant": Subcommand(
        "modify", "grant_command", frozenset((*ROLES, "for", "until", "dry-run", "output"))
    ),
    "revoke": Subcommand(
        "modify", "revoke_command", frozenset((*ROLES, "force", "dry-run", "output"))
    ),
    "ledger": Subcommand("ledger", "ledger", frozenset(("output", "exact"))),
    "whoami": Subcommand("listing", "whoami", frozenset()),
}
ALIASES = {"ls": "list", "get": "list"}

# All flags of all subcommands, because flags may also stand before the subcommand.
FLAGS = Flags(
    valued=frozenset((*ROLES, "for", "until", "output")),
    switches=frozenset(("all", "force", "exact")),
    optional=frozenset(("dry-run",)),
    shorts={"o": "output", "A": "all"},
)


def main() -> int:
    """The console script."""
    return run(lns, "kubectl lns")


def lns(argv: list[str]) -> int:
    """Find the subcommand and hand over."""
    arguments = parse(argv, FLAGS)
    words = arguments.words
    if not words or words[0] == "help":
        return _help(words[1:])
    name = ALIASES.get(words[0], words[0])
    if name not in SUBCOMMANDS:
        raise UsageError(f'unknown command "{words[0]}" for "kubectl lns"{_suggestion(words[0])}')
    if arguments.given("help"):
        return _help((name,))
    _check_flags(name, arguments)
    return _load(SUBCOMMANDS[name])(arguments)


def _help(words: tuple[str, ...]) -> int:
    print(HELP_OF.get(words[0], HELP) if words else HELP, end="")
    return 0


def _check_flags(name: str, arguments: Arguments) -> None:
    own = FLAGS.valued | FLAGS.switches | FLAGS.optional
    for option in arguments.line.options:
        if option.name in own and option.name not in SUBCOMMANDS[name].flags:
            raise UsageError(f"unknown flag for kubectl lns {name}: --{option.name}")


def _load(subcommand: Subcommand) -> Callable[[Arguments], int]:
    module = import_module(f"lnamespace.plugins.{subcommand.module}")
    function: Callable[[Arguments], int] = getattr(module, subcommand.function)
    return function


def _suggestion(word: str) -> str:
    # Only a typing error needs it, so nobody else waits for it.
    near = import_module("difflib").get_close_matches(word, SUBCOMMANDS, n=1, cutoff=0.5)
    return f"\nDid you mean this?\n\t{near[0]}" if near else ""
