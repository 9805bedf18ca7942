"""Reading a command line the way kubectl does, without changing it.

kubectl's flags are pflag's: `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`, and
several short ones in one word, `-itn value`. A bare `--` ends them. Flags need not be known: what
is not in the table takes no value, and the word after it is read as a word.
"""

from __future__ import annotations

from lnamespace.plugins.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class FlagTable(NamedTuple):
    """Which flags take a value, and what the short ones are short for."""

    valued: frozenset[str]
    shorts: Mapping[str, str]


class Option(NamedTuple):
    """One flag by its long name; the value is None where none was written."""

    name: str
    value: str | None


def written(option: Option) -> str:
    """The flag as one argument."""
    return f"--{option.name}" if option.value is None else f"--{option.name}={option.value}"


class Piece(NamedTuple):
    """One thing on a command line: a word, or one argument with flags and its detached value."""

    tokens: tuple[str, ...]
    options: tuple[Option, ...]
    word: str | None


class CommandLine(NamedTuple):
    """A command line in pieces; joining the tokens and the tail gives it back unchanged."""

    pieces: tuple[Piece, ...]
    tail: tuple[str, ...]  # from the bare `--` on, never read

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that is neither a flag nor a flag's value."""
        return tuple(piece.word for piece in self.pieces if piece.word is not None)

    @property
    def options(self) -> tuple[Option, ...]:
        """All flags in the order written."""
        return tuple(option for piece in self.pieces for option in piece.options)

    def gives(self, names: Sequence[str]) -> bool:
        """Whether any of the flags is written."""
        return any(option.name in names for option in self.options)

    def last(self, name: str) -> str | None:
        """The value that counts when a flag is repeated: the last one there is."""
        values = [o.value for o in self.options if o.name == name and o.value is not None]
        return values[-1] if values else None

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line as it was typed."""
        return tuple(token for piece in self.pieces for token in piece.tokens) + self.tail


def scan(argv: Sequence[str], table: FlagTable) -> CommandLine:
    """Cut a command line into pieces."""
    pieces: list[Piece] = []
    position = 0
    while position < len(argv) and argv[position] != "--":
        following = argv[position + 1] if position + 1 < len(argv) else None
        piece = _piece(argv[position], following, table)
        pieces.append(piece)
        position += len(piece.tokens)
    return CommandLine(tuple(pieces), tuple(argv[position:]))


def _piece(token: str, following: str | None, table: FlagTable) -> Piece:
    if token.startswith("--"):
        return _long(token, following, table)
    if len(token) > 1 and token.startswith("-"):
        return _cluster(token, following, table)
    return Piece((token,), (), token)


def _long(token: str, following: str | None, table: FlagTable) -> Piece:
    raw, equals, value = token[2:].partition("=")
    name = raw.replace("_", "-")  # kubectl takes --as_group for --as-group
    if equals:
        return Piece((token,), (Option(name, value),), None)
    if name in table.valued and following is not None:
        return Piece((token, following), (Option(name, following),), None)
    return Piece((token,), (Option(name, None),), None)


def _cluster(token: str, following: str | None, table: FlagTable) -> Piece:
    """Short flags in one argument; the first that takes a value takes all that is left."""
    options: list[Option] = []
    rest = token[1:]
    while rest:
        name, rest = table.shorts.get(rest[0], rest[0]), rest[1:]
        if len(rest) > 1 and rest[0] == "=":
            options.append(Option(name, rest[1:]))
            break
        if name in table.valued:
            options.append(Option(name, rest or following))
            if not rest and following is not None:
                return Piece((token, following), tuple(options), None)
            break
        options.append(Option(name, None))
    return Piece((token,), tuple(options), None)
