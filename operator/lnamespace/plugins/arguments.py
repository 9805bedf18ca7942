"""The strict reading of our own plugins' arguments: known flags, and kubectl's connection flags.

`kubectl sudo` hands on what it does not know; `kubectl create lns` and `kubectl lns` do not: a
misspelt flag that says who gets access must not be passed over.
"""

from __future__ import annotations

from lnamespace.plugins.errors import UsageError
from lnamespace.plugins.flags import CommandLine, FlagTable, scan, written
from lnamespace.plugins.kubectl_flags import CONNECTION, IMPERSONATION, SWITCHES
from lnamespace.plugins.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# --user is a person here, so kubectl's own --user (an entry of the kubeconfig) cannot be given.
PASSED_ON = (CONNECTION - {"user"}) | IMPERSONATION | {"namespace", "v"}
PASSED_ON_SHORTS = {"n": "namespace", "s": "server", "v": "v", "h": "help"}
TRUE, FALSE = ("true", "1", "t"), ("false", "0", "f")


class Flags(NamedTuple):
    """What a command understands; switches may be written alone or as --x=true|false."""

    valued: frozenset[str]
    switches: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()  # a value only as --x=value, or none
    shorts: Mapping[str, str] = {}

    @property
    def known(self) -> frozenset[str]:
        """All flags by their long names."""
        return self.valued | self.switches | self.optional | PASSED_ON | {"help"}


class Arguments(NamedTuple):
    """A command line that the command understands."""

    words: tuple[str, ...]
    line: CommandLine
    connection: tuple[str, ...]

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a repeatable flag."""
        return tuple(option.value or "" for option in self.line.options if option.name == name)

    def one(self, name: str, default: str = "") -> str:
        """The value of a flag; as in kubectl, the last one counts."""
        return (self.all(name) or (default,))[-1]

    def given(self, name: str) -> bool:
        """Whether a flag was written at all."""
        return any(option.name == name for option in self.line.options)

    def switch(self, name: str, default: bool = False) -> bool:
        """A flag that is on or off."""
        values = [option.value for option in self.line.options if option.name == name]
        return default if not values else _boolean(name, values[-1])


def parse(argv: Sequence[str], flags: Flags) -> Arguments:
    """Read a command line, or say what is wrong with it."""
    valued = (flags.valued | PASSED_ON) - SWITCHES
    line = scan(argv, FlagTable(valued, {**PASSED_ON_SHORTS, **flags.shorts}))
    for option in line.options:
        if option.name not in flags.known:
            dashes = "-" if len(option.name) == 1 else "--"
            raise UsageError(f"unknown flag: {dashes}{option.name}")
        if option.name in valued and option.value is None:
            raise UsageError(f"flag needs an argument: --{option.name}")
    passed = tuple(written(option) for option in line.options if option.name in PASSED_ON)
    return Arguments(line.words + line.tail[1:], line, passed)


def _boolean(name: str, value: str | None) -> bool:
    if value is None or value.lower() in TRUE:
        return True
    if value.lower() in FALSE:
        return False
    raise UsageError(f'invalid argument "{value}" for --{name}: write true or false')


def one_of(arguments: Arguments, name: str, choices: Sequence[str], default: str) -> str:
    """The value of a flag that has a fixed choice of values."""
    value = arguments.one(name, default)
    if value not in choices:
        named = " or ".join(choice for choice in choices if choice)
        raise UsageError(f'invalid argument "{value}" for --{name}: must be {named}')
    return value


def keyed(flag: str, text: str) -> tuple[str, str]:
    """The two parts of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f'invalid {flag.replace("-", " ")} "{text}": write KEY=VALUE')
    return key, value


def dry_run(arguments: Arguments) -> str:
    """none, client or server; a bare --dry-run is kubectl's old spelling of client."""
    if arguments.given("dry-run") and arguments.one("dry-run") == "":
        return "client"
    return one_of(arguments, "dry-run", ("none", "client", "server"), "none")
