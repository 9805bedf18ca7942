"""Options from flags and the environment."""

import argparse
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lnamespace.errors import OptionError
from lnamespace.settings.checks import choices, flag_of
from lnamespace.settings.options import Settings


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Add a flag to the parser for every option of a command."""
    for option in dataclasses.fields(Settings):
        if option.metadata["commands"] and command not in option.metadata["commands"]:
            continue
        parser.add_argument(
            flag_of(option.name),
            type=_type(option),
            metavar="|".join(choices(option.name)) or _type(option).__name__.upper(),
            default=argparse.SUPPRESS,
            help=f"{option.metadata['meaning']} [{_variable(option.name)}; {option.default!r}]",
        )


def load(arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from parsed flags, then the environment, then the defaults.

    Raises
    ------
    OptionError
        A value cannot work; the message names the option.
    """
    values: dict[str, Any] = {}
    for option in dataclasses.fields(Settings):
        if hasattr(arguments, option.name):
            values[option.name] = getattr(arguments, option.name)
        elif _variable(option.name) in environment:
            values[option.name] = _parse(option, environment[_variable(option.name)])
    return Settings(**values)


def _parse(option: "dataclasses.Field[Any]", text: str) -> Any:
    try:
        return _type(option)(text)
    except ValueError as error:
        raise OptionError(f"{_variable(option.name)}: not a number: {text!r}") from error


def _type(option: "dataclasses.Field[Any]") -> type[str] | type[int]:
    return int if isinstance(option.default, int) else str


def _variable(name: str) -> str:
    return "LNAMESPACE_" + name.upper()


def documented() -> Sequence[tuple[str, str, str, str]]:
    """Return flag, variable, default and meaning of every option, for docs/reference."""
    return [
        (flag_of(o.name), _variable(o.name), str(o.default), str(o.metadata["meaning"]))
        for o in dataclasses.fields(Settings)
    ]
