"""Bound match conditions of a tenant to requests about the tenant's objects.

The API server evaluates all conditions of a webhook or policy, even after one of them is false, for
the requests of everybody: no namespaceSelector applies to cluster-scoped objects. If they together
exceed the API server's cost budget, it refuses the request: one tenant's conditions stopped all
writes of Nodes. So upstream each condition is evaluated only where the gateway's own is true.
"""

import re

CONDITION_END = ") : false"
_BEFORE, _AFTER = " ? (\n", f"\n{CONDITION_END}"
"""Around a condition. The lines are its own: the API server quotes those that it cannot parse, and
a comment ends with its line."""

_TOKEN = re.compile(
    r"""
    (?:\w*+(?:[^\w'"\\`/()[\]{}]|/(?!/)))++
    |[bB]?[rR](?:'{3}.*?'{3}|"{3}.*?"{3}|(?!'{3})'[^'\n\r]*'|(?!"{3})"[^"\n\r]*")
    |[bB]?(?:
        '{3}(?:\\.|[^\\])*?'{3}|"{3}(?:\\.|[^\\])*?"{3}
        |(?!'{3})'(?:\\.|[^\\'\n\r])*'|(?!"{3})"(?:\\.|[^\\"\n\r])*"
    )
    |//[^\n]*
    |`[\w./\ -]+`
    |\w+
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<invalid>.)
    """,
    re.DOTALL | re.VERBOSE | re.ASCII,
)
"""A token of CEL, or several where none of them is a text or a bracket. The quote of a text without
an end is invalid, so that the rest is read once."""
_CLOSES = {")": "(", "]": "[", "}": "{"}


def condition_up(text: str, confining: str) -> str | None:
    """Return a condition that is evaluated only where another one is true.

    None is for one that is no expression of its own, such as ``true) || (true``.
    """
    if not text.strip():
        return text  # the API server says that it is missing
    return f"{confining}{_BEFORE}{text}{_AFTER}" if _is_whole(text) else None


def condition_down(text: str) -> str:
    """Return a condition as the tenant wrote it."""
    line, found, below = text.partition(_BEFORE)
    whole = found and "\n" not in line and below.endswith(_AFTER)
    return below.removesuffix(_AFTER) if whole else text


def quoted_condition_down(text: str, confining: str) -> str:
    """Return a text that may quote conditions, with each as the tenant wrote it."""
    for line in ("\n", r"\n"):
        before, after = (each.replace("\n", line) for each in (_BEFORE, _AFTER))
        if confining + before in text:
            text = text.replace(confining + before, "").replace(after, "")
    return text


def _is_whole(text: str) -> bool:
    """Return whether the brackets of an expression match, as CEL reads it."""
    opened: list[str] = []
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "open":
                opened.append(token[0])
            case "close" if opened and opened[-1] == _CLOSES[token[0]]:
                opened.pop()
            case "close" | "invalid":
                return False
    return not opened
