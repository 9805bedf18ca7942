"""Errors for a command for which no namespace was found: often it is wrong in another way.

kubectl checks the command line for its own version: it is called with ``--help``, and reports an
unknown command or flag before it prints help. Nothing is executed or sent to the cluster.
"""

from __future__ import annotations

from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.runtime.errors import KubectlError, PluginError, UsageError
from lnamespace.plugins.runtime.flags import VALUED, suggestion, words
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lnamespace.plugins.runtime.flags import CommandLine

# Commands about kubectl or the whole cluster, and those of `kubectl lns` about oneself.
NO_NAMESPACE = words(
    "api-resources api-versions cluster-info completion config explain help kuberc options plugin"
    " version"
)
NO_NAMESPACE_OF_LNS = words("get help kubeconfig list ls version whoami")
CREATED = {
    "lns": "lns",
    "lnamespace": "lns",
    "ns": "lns",
    "namespace": "lns",
    "lc": "lc",
    "lcluster": "lc",
}  # what somebody wants to create, and what to create for it
FROM_FILES = words("apply create diff replace")  # what they are about is in files
SECOND = 2
NOWHERE = (
    "which namespace? Neither the command nor the current context names one; say it with -n: "
    "kubectl sudo -n NAMESPACE COMMAND"
)
EVERYWHERE = (
    "sudo is for one namespace: write -n NAMESPACE in place of --all-namespaces; what is yours in "
    "all of them you see without sudo"
)
UNKNOWN_FLAG = "error: unknown flag: --"


def creation(line: CommandLine) -> PluginError | None:
    """Return the error for a command that creates an LNamespace, unless it names a namespace.

    Without it the new LNamespace was looked up, and the error was "no LNamespace foo".
    """
    made = line.words[:3]
    if line.last("namespace") or len(made) < 3:
        return None
    if made[:2] == ("lns", "create"):
        return _without_sudo(line)
    if made[0] == "create" and made[1] in CREATED:
        return _without_sudo(line, CREATED[made[1]])
    return None


def _without_sudo(line: CommandLine, second: str = "") -> PluginError:
    """Return the advice to write the whole line without sudo, with another second word."""
    from shlex import join

    tokens: list[str] = []
    count = 0
    for piece in line.pieces:
        count += piece.word is not None
        tokens += (second,) if second and piece.word and count == SECOND else piece.tokens
    return UsageError(f"that needs no sudo; do it without: kubectl {join((*tokens, *line.tail))}")


def problem_of(
    line: CommandLine, by_plugin: bool, namespaces: Sequence[str], problem: PluginError | None
) -> PluginError:
    """Return why a command cannot be run: its error, or that it names no namespace."""
    if len(namespaces) > 1:
        return PluginError(
            f"the files are for several namespaces ({', '.join(namespaces)}), and sudo is for one: "
            "apply them one by one"
        )
    if line.words[0] in NO_NAMESPACE:
        return _without_sudo(line)
    if line.words[0] == "lns" and line.words[1:2] and line.words[1] in NO_NAMESPACE_OF_LNS:
        return _without_sudo(line)
    misread = None if by_plugin else _misunderstood(line)
    everywhere = PluginError(EVERYWHERE) if line.gives(("all-namespaces",)) else None
    return misread or problem or everywhere or PluginError(NOWHERE)


def _misunderstood(line: CommandLine) -> PluginError | None:
    """Return kubectl's error about a command line; None if it understands the line."""
    reply = Kubectl().run(*_with_help(line))
    if not reply.code:
        bare = len(line.words) == 1 and not line.gives(("filename", "kustomize", "raw"))
        if bare and line.words[0] in FROM_FILES:
            return KubectlError("error: must specify one of -f and -k")
        return None
    first, newline, rest = reply.err.strip().partition("\n")
    if first.startswith(UNKNOWN_FLAG):
        first += suggestion(first.removeprefix(UNKNOWN_FLAG), VALUED, "--")
    return KubectlError(f"{first}{newline}{rest}", reply.code) if first else None


def _with_help(line: CommandLine) -> Iterator[str]:
    """Yield the line with --help behind the command's name: no flag can take it for its value."""
    asked = False
    for piece in line.pieces:
        yield from piece.tokens
        if piece.word is not None and not asked:
            asked = True
            yield "--help=true"
    yield from line.tail
