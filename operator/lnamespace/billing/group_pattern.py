"""Patterns over group names: regular expressions that no group name can make slow.

The platform team writes the pattern, but who may create a group chooses its name. Python's
matcher tries again whatever can be tried again, so a pattern is refused unless that is little:
groups are never repeated, repeats are few, and names are short.
"""

import re
import warnings

from lnamespace.errors import PayersError

NAME_MAX_LENGTH = 256
"""Characters. A longer group name matches no pattern; addresses have at most 254."""

_WEIGHTS = {"repeat": 5, "choice": 1}
_WEIGHT_MAX = 18
"""The slowest pattern that passes, three lazy repeats and three choices, takes a quarter of a
second for the worst name; an ordinary one takes a microsecond."""

FIELDS = {
    "costCenter": "cost_center",
    "owner": "owner",
    "team": "team",
    "environment": "environment",
}
"""What a named group of a pattern may fill in, as the API spells it and as the code does."""

_TOKENS = re.compile(
    r"""
      (?P<escape> \\. )
    | (?P<set>    \[ \^? \]? (?: \\. | [^\]\\] )* \] )
    | (?P<open>   \( (?: \?P<\w+> | \?: | (?!\?) ) )
    | (?P<close>  \) )
    | (?P<repeat> (?: [*+] | \{ \d* , \d* \} ) [?+]? )
    | (?P<times>  \{ \d+ \} )
    | (?P<choice> \? [?+]? | \| )
    | (?P<plain>  [^()\[\\] )
    """,
    re.VERBOSE | re.DOTALL,
)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, to be used with ``fullmatch``; its character classes mean ASCII only.

    Raises
    ------
    PayersError
        It is no regular expression, could be slow, or has a named group that is no field.
    """
    _check(pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise PayersError(f"not a regular expression: {error}") from error
    if unknown := sorted(set(result.groupindex) - set(FIELDS)):
        raise PayersError(f'the group "{unknown[0]}" must be one of {", ".join(FIELDS)}')
    return result


def captured(pattern: re.Pattern[str], group: str) -> dict[str, str] | None:
    """What the pattern reads from a group's name, by attribute of a charge, or None.

    None also for ``system:`` groups and for names with characters that cannot be seen: nobody's
    identity provider made the former, and nobody could check the latter in a ledger.
    """
    if len(group) > NAME_MAX_LENGTH or group.startswith("system:") or not group.isprintable():
        return None
    match = pattern.fullmatch(group)
    if match is None:
        return None
    return {FIELDS[field]: text or "" for field, text in match.groupdict().items()}


def _check(pattern: str) -> None:
    weight, position, before = 0, 0, None
    while position < len(pattern):
        token = _TOKENS.match(pattern, position)
        if token is None:
            raise PayersError(
                f"character {position + 1}: look-around, flags and references to groups are not "
                "allowed, nor brackets that do not close"
            )
        kind = token.lastgroup
        if (kind == "escape" and token[0][1].isdigit()) or (
            before == "close" and kind in ("repeat", "times")
        ):
            raise PayersError(
                f"character {position + 1}: a group in parentheses can be neither repeated nor "
                "referred to, for some group names would take for ever"
            )
        weight += _WEIGHTS.get(kind or "", 0)
        position, before = token.end(), kind
    if weight > _WEIGHT_MAX:
        raise PayersError(
            "at most three of *, + and {m,n}, and few of ? and | beside them, for some group names "
            "would take for ever; several entries can say the same"
        )
