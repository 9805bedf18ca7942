"""The reference of the commands: of ``lnamespace`` from its parser, of the plugins their help."""

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from lnamespace.cli import arguments_parser
from lnamespace.plugins.help.create import CREATE, CREATE_LCLUSTER
from lnamespace.plugins.help.lns import HELP_OF, LNS
from lnamespace.plugins.help.sudo import SUDO
from lnamespace.settings import Settings

from docsite.markdown import block, code, page, prose, table

Parser = argparse.ArgumentParser
Option = dataclasses.Field[object]

_OPTIONS = dataclasses.fields(Settings)
_FLAGS = {"--" + option.name.replace("_", "-"): option for option in _OPTIONS}


def lnamespace() -> str:
    """Return every command of ``lnamespace`` and every option."""
    everywhere = [option for option in _OPTIONS if not option.metadata["commands"]]
    return page(
        "lnamespace",
        "The command that runs the processes, and what helps around them. An option is a flag or "
        "an environment variable; the flag wins. The [chart](chart.md) sets them from its values. "
        "The exit code is 0 if all is done, 1 if something failed, 2 if the command line or the "
        "value of an option is wrong, and 130 after Ctrl-C.",
        "## Options of every command",
        _options(everywhere),
        *_sections(_leaves(arguments_parser())),
    )


def plugins() -> str:
    """Return the page with the help of the kubectl plugins."""
    helps = {
        "create lns": CREATE,
        "create lcluster": CREATE_LCLUSTER,
        "sudo": SUDO,
        "lns": LNS,
    }
    subcommands = sorted(set(HELP_OF) - {"create"})
    helps |= {f"lns {name}": HELP_OF[name] for name in subcommands}
    return page(
        "kubectl plugins",
        "What `--help` says. With examples and their output: [the commands](../commands.md).",
        *(f"## kubectl {name}\n\n{block(text)}" for name, text in helps.items()),
    )


def _leaves(parser: Parser) -> Iterator[Parser]:
    below = [a for a in _actions(parser) if isinstance(a, argparse._SubParsersAction)]  # noqa: SLF001 - argparse tells it in no other way
    if not any(action.required for action in below):
        yield parser
    for action in below:
        for command in action.choices.values():
            yield from _leaves(command)


def _sections(commands: Iterable[Parser]) -> Iterator[str]:
    """Yield a section for each command; options that several share stand at the first."""
    told: dict[tuple[str, ...], str] = {}
    for command in commands:
        settings = _settings(command)
        first = told.setdefault(tuple(option.name for option in settings), command.prog)
        yield f"## {command.prog}"
        yield prose(command.description or "")
        yield from _arguments(command)
        if settings and first == command.prog:
            yield _options(settings)
        elif settings:
            yield f"And the options of [{first}](#{first.replace(' ', '-')})."


def _settings(parser: Parser) -> list[Option]:
    flags = [flag for action in _actions(parser) for flag in action.option_strings]
    found = [_FLAGS[flag] for flag in flags if flag in _FLAGS]
    return [option for option in found if option.metadata["commands"]]


def _arguments(parser: Parser) -> Iterator[str]:
    known = {*_FLAGS, "--help"}
    own = [a for a in _actions(parser) if a.nargs != argparse.PARSER]
    own = [a for a in own if not known & set(a.option_strings)]
    if own:
        yield table(("argument", ""), ((_spelling(a), prose(a.help or "")) for a in own))


def _options(options: Sequence[Option]) -> str:
    rows = [
        (
            code(f"--{option.name.replace('_', '-')}"),
            code(f"LNAMESPACE_{option.name.upper()}"),
            code(str(option.default)),
            prose(option.metadata["meaning"]),
        )
        for option in options
    ]
    return table(("option", "environment", "default", ""), rows)


def _spelling(action: argparse.Action) -> str:
    choices = "|".join(map(str, action.choices or ()))
    value = choices or str(action.metavar or "")
    if not action.option_strings:
        return code(value or action.dest.upper())
    return code(" ".join(filter(None, [", ".join(action.option_strings), value])))


def _actions(parser: Parser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - as above
