"""`kubectl lns`: find the subcommand, and run its module."""

from __future__ import annotations

import sys

from lnamespace.plugins.commands.entry import leave, run
from lnamespace.plugins.model.lnamespaces import resource
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import (
    BILLING,
    ROLES,
    SETTINGS,
    Arguments,
    Flags,
    parse,
    suggestion,
)
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

COMMON = ("dry-run", "output", "wait", "timeout")  # of all commands that change something


class Subcommand(NamedTuple):
    """The module and the flags of a subcommand; the module is imported when it is used."""

    module: str
    function: str
    flags: frozenset[str]


def _edit(function: str, *flags: str) -> Subcommand:
    return Subcommand("edits.commands", function, frozenset((*flags, *COMMON)))


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "list": Subcommand(
        "views.listing", "list_lnamespaces", frozenset(("all", "output", "selector", "watch"))
    ),
    "describe": Subcommand("views.description", "describe", frozenset(("output",))),
    "grant": _edit("grant_command", *ROLES, "for", "until"),
    "revoke": _edit("revoke_command", *ROLES, "force", "ignore-not-found"),
    "extend": _edit("extend_command", *ROLES, "for", "until"),
    "set": _edit("set_command", *BILLING, *SETTINGS, "billing-label", "deletion-protection"),
    "leave": _edit("leave_command", "force"),
    "prune": _edit("prune_command"),
    "ledger": Subcommand("views.ledger", "show_ledger", frozenset(("output", "exact"))),
    "whoami": Subcommand("views.whoami", "show_caller", frozenset(("output",))),
    "kubeconfig": Subcommand(
        "kubeconfig.contexts",
        "kubeconfig_command",
        frozenset(("output", "force", "name", "gateway", "gateway-ca", "sni", "mine")),
    ),
}
ALIASES = {"ls": "list", "get": "list"}
VERSION = "version"  # a word, as in kubectl, or a flag
CREATE = "create"  # a command of its own, kubectl create lns, which kubectl knows from 1.31 on

# All flags of all subcommands, because flags may also stand before the subcommand.
FLAGS = Flags(
    valued=frozenset(
        (
            *ROLES,
            *BILLING,
            *SETTINGS,
            "billing-label",
            "for",
            "until",
            "name",
            "gateway",
            "gateway-ca",
            "output",
            "selector",
            "timeout",
        )
    ),
    switches=frozenset(
        (
            "all",
            "force",
            "exact",
            "ignore-not-found",
            "deletion-protection",
            "mine",
            "sni",
            VERSION,
            "wait",
            "watch",
        )
    ),
    optional=frozenset(("dry-run",)),
    shorts={"o": "output", "A": "all", "l": "selector", "w": "watch"},
)


def main() -> int:
    """Run the console script."""
    return leave(run(run_subcommand, typed(sys.argv[1:])))


def typed(argv: list[str]) -> str:
    """Return the command whose --help explains these arguments."""
    name = ALIASES.get(argv[0], argv[0]) if argv else ""
    return f"kubectl lns {name}" if name in (*SUBCOMMANDS, CREATE, VERSION) else "kubectl lns"


def run_subcommand(argv: list[str]) -> int:
    """Find the subcommand and run it."""
    if argv[:1] == [CREATE]:
        return _load(Subcommand("commands.create", "create_lnamespace", frozenset()))(argv[1:])
    arguments = parse(argv, FLAGS)
    words = arguments.words
    if words[:1] == (VERSION,) or (not words and arguments.given(VERSION)):
        return _version(arguments)
    if not words or words[0] == "help":
        return _help(words[1:])
    if words[0] == CREATE:
        raise UsageError("write kubectl lns create NAME, with the flags behind it")
    name = ALIASES.get(words[0], words[0])
    if name not in SUBCOMMANDS:
        raise UsageError(f'unknown command "{words[0]}" for "kubectl lns"{_suggestion(words[0])}')
    if arguments.given("help"):
        return _help((name,))
    _check_flags(name, arguments)
    return _load(SUBCOMMANDS[name])(arguments)


def _version(arguments: Arguments) -> int:
    if arguments.given("help"):
        return _help((VERSION,))
    from lnamespace.plugins.runtime.version import print_version

    return print_version("kubectl-lns")


def _help(words: tuple[str, ...]) -> int:
    from lnamespace.plugins.help.lns import HELP_OF, LNS

    print(HELP_OF.get(words[0], LNS) if words else LNS, end="")
    return 0


def _check_flags(name: str, arguments: Arguments) -> None:
    own = FLAGS.valued | FLAGS.switches | FLAGS.optional
    for option in arguments.line.options:
        if option.name in own and option.name not in SUBCOMMANDS[name].flags:
            raise UsageError(f"unknown flag for kubectl lns {name}: --{option.name}")


def _load(subcommand: Subcommand) -> Callable[[Any], int]:
    # The import of `importlib` takes longer than that of the module.
    module = __import__(f"lnamespace.plugins.{subcommand.module}", fromlist=[subcommand.function])
    function: Callable[[Any], int] = getattr(module, subcommand.function)
    return function


def _suggestion(word: str) -> str:
    if word in ("delete", "edit", "explain"):
        return f"\nThat is kubectl's own: kubectl {word} {resource()}"
    return suggestion(word, (*SUBCOMMANDS, CREATE, VERSION))
