"""Which API group LNamespaces are in, where that is not the default one.

Nothing is asked before the usual answer turned out to be wrong: then the command begins again
with the group that was found, which is remembered. Where the default group is, it costs nothing.
"""

from __future__ import annotations

import os

from lnamespace.plugins.errors import NotHere
from lnamespace.plugins.memory import Memory, place
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Command = Callable[[list[str]], int]
else:
    Command = object

# A second instance on the same cluster has its own API group; this picks which one is meant.
SUFFIX_VARIABLE = "LNAMESPACE_API_GROUP_SUFFIX"
GROUPS = Memory("api-groups", 6 * 3600)  # as long as kubectl remembers what a cluster has
# Flags that lead to another cluster than the current context does.
LEADING = ("--kubeconfig", "--context", "--cluster", "--server", "-s")


def discovering(command: Command, argv: list[str]) -> int:
    """Run a command; where its LNamespaces are not, once more where they are."""
    if os.environ.get(SUFFIX_VARIABLE):
        return _here(command, argv)
    if known := GROUPS.recall(_place(argv)):
        os.environ[SUFFIX_VARIABLE] = known[0]
    try:
        return command(argv)
    except NotHere as error:
        from lnamespace.plugins.instances import find

        suffix, alone = find(error)
    # For the command, and for what it starts: `kubectl sudo lns grant ...` need not look again.
    os.environ[SUFFIX_VARIABLE] = suffix
    if alone:
        GROUPS.remember(_place(argv), (suffix,))
    return _here(command, argv)


def _here(command: Command, argv: list[str]) -> int:
    try:
        return command(argv)
    except NotHere as error:
        raise error.told from None


def _place(argv: Sequence[str]) -> str:
    """Return the place that the flags lead to.

    A flag takes what follows only where it has no value: a token may stand behind it.
    """
    pairs = zip(argv, (*argv, "")[1:], strict=True)
    leading = (pair for pair in pairs if pair[0].startswith(LEADING))
    return place(["=".join(pair) if pair[0] in LEADING else pair[0] for pair in leading])
