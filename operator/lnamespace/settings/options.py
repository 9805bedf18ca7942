"""The options of all commands, and their values from flags and the environment."""

import argparse
import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lnamespace.errors import OptionError
from lnamespace.settings.checks import (
    REFERENCES,
    check_choice,
    check_class,
    check_group_format,
    check_limits,
    check_number,
    check_reference,
    check_suffix,
    choices,
    flag_of,
    items,
    parse_limits,
)
from lnamespace.settings.gateway_options import GatewayOptions
from lnamespace.settings.ledger_options import LedgerOptions
from lnamespace.settings.tenancy_options import TenancyOptions


# The last base comes first in the documentation.
@dataclass(frozen=True)
class Settings(LedgerOptions, GatewayOptions, TenancyOptions):
    """The options of one instance."""

    def __post_init__(self) -> None:
        check_suffix(self.api_group_suffix)
        check_group_format(self.sudoers_group_format)
        check_class(self.class_name)
        if not self.users_role:
            raise OptionError("--users-role must name a ClusterRole")
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            check_choice(option.name, value)
            if isinstance(option.default, int):
                check_number(option.name, value, option.default)
        for name in ("limit_exceptions", "lcluster_limit_exceptions"):
            check_limits(name, getattr(self, name))
        for name in REFERENCES:
            check_reference(name, getattr(self, name))
        if not set(items(self.default_lists)) <= {"users", "managers", "sudoers"}:
            raise OptionError("--default-lists must name some of users, managers, sudoers")

    @property
    def limits_by_name(self) -> dict[str, int]:
        """Return the exceptions to the limit of LNamespaces by user name."""
        return parse_limits("limit_exceptions", self.limit_exceptions)

    @property
    def lcluster_limits_by_name(self) -> dict[str, int]:
        """Return the exceptions to the limit of LClusters by user name."""
        return parse_limits("lcluster_limit_exceptions", self.lcluster_limit_exceptions)

    @property
    def reserved(self) -> tuple[str, ...]:
        """Return the patterns of further reserved names."""
        return items(self.reserved_names)


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
