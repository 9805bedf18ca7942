"""Regular expressions over group names, matched by RE2 in linear time.

The platform team writes the pattern, but other people choose the names of groups. Python's ``re``
backtracks: there are names for which a harmless pattern takes for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import re2

from lnamespace.errors import PayersError
from lnamespace.model.billing import BILLING_TEXTS

NAME_MAX_LENGTH = 256
"""Characters. A longer group name matches no pattern; addresses have at most 254."""

SIZE_MAX = 1000
"""Instructions of a compiled pattern: the worst name then takes two milliseconds. An ordinary
pattern has ten to fifty instructions and takes a microsecond."""

_MEMORY = 2**20
"""Bytes that RE2 may use for a pattern and its cache; beyond, it becomes slower."""


class _Match(Protocol):
    def groupdict(self) -> Mapping[str, str | None]: ...


class _Regexp(Protocol):
    programsize: int
    groupindex: Mapping[str, int]

    def fullmatch(self, text: str) -> _Match | None: ...


@dataclass(frozen=True)
class GroupPattern:
    """A pattern for the whole name of a group; its character classes mean ASCII only."""

    text: str
    _compiled: _Regexp = field(compare=False, repr=False)

    @property
    def fields(self) -> frozenset[str]:
        """Return the fields that the pattern's named groups fill in, as the API spells them."""
        return frozenset(self._compiled.groupindex)

    def captured(self, group: str) -> dict[str, str] | None:
        """Return the values of the named groups, by attribute of a charge; None if no match."""
        if not _matchable(group):
            return None
        match = self._compiled.fullmatch(group)
        if match is None:
            return None
        return {BILLING_TEXTS[key]: text or "" for key, text in match.groupdict().items()}


def compile_pattern(pattern: str) -> GroupPattern:
    """Compile a pattern.

    Raises
    ------
    PayersError
        The pattern is not a regular expression of RE2, is too large, or has a named group that
        is not a field.
    """
    found = _compile(pattern)
    if unknown := sorted(found.fields - set(BILLING_TEXTS)):
        raise PayersError(f'the group "{unknown[0]}" must be one of {", ".join(BILLING_TEXTS)}')
    return found


def _matchable(group: str) -> bool:
    """Return whether a pattern may match the name at all.

    No pattern matches ``system:`` groups, which no identity provider made, nor names with invisible
    characters, which nobody could check in a ledger.
    """
    return len(group) <= NAME_MAX_LENGTH and not group.startswith("system:") and group.isprintable()


@lru_cache(maxsize=256)
def _compile(pattern: str) -> GroupPattern:
    try:
        regexp: _Regexp = re2.compile(pattern, options=_options())
    except (re2.error, UnicodeError) as error:
        raise PayersError(f"not a regular expression: {_words(error)}") from error
    if regexp.programsize > SIZE_MAX:
        raise PayersError(
            "too large: write fewer or smaller repeats such as {1,100}; several entries can say "
            "the same"
        )
    return GroupPattern(pattern, regexp)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _words(error: Exception) -> str:
    """Return the message of RE2, which is bytes."""
    message = error.args[0] if error.args else ""
    return message.decode(errors="replace") if isinstance(message, bytes) else str(message)
