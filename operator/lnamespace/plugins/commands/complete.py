"""Shell completion: kubectl runs `kubectl_complete-NAME` for the plugin NAME on PATH.

The arguments are those after the plugin's name, the last one being completed. The answer is one
choice per line and `:DIRECTIVE` at the end, of cobra's directives. kubectl (up to 1.36) looks for
plugins only where it does not know the first word, so it never asks for `kubectl create lns`; that
executable is there for the day it does, and for shells set up by hand.
"""

from __future__ import annotations

import os

from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.commands.entry import Command, leave, run
from lnamespace.plugins.commands.lns import ALIASES, CREATE, FLAGS, SUBCOMMANDS
from lnamespace.plugins.model.lnamespaces import (
    LCLUSTER,
    LNAMESPACE,
    collection,
    name_of,
    path,
    read_target,
    typed,
)
from lnamespace.plugins.model.subjects import LISTS, entries
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.flags import (
    CONNECTION,
    CREATE_CLUSTER_FLAGS,
    CREATE_FLAGS,
    PASSED_ON,
    PASSED_ON_SHORTS,
    POLICIES,
    SWITCHES,
    CommandLine,
    Flags,
    FlagTable,
    read,
    scan,
)
from lnamespace.plugins.runtime.processes import become_kubectl
from lnamespace.plugins.runtime.terminal import printable
from lnamespace.plugins.runtime.values import TYPE_CHECKING
from lnamespace.plugins.sudo.command_line import connection, drop_repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NO_FILES = 4  # ShellCompDirectiveNoFileComp
NO_SPACE = 2  # ShellCompDirectiveNoSpace
VALUES = {
    "dry-run": ("none", "client", "server"),
    "deletion-policy": POLICIES,
    "wait": ("true", "false"),
    "deletion-protection": ("true", "false"),
}
CHANGED = ("json", "yaml", "name")
OUTPUTS = {
    "list": ("wide", "json", "yaml", "name"),
    "describe": ("json", "yaml"),
    "ledger": ("table", "csv", "json"),
    "whoami": ("json", "yaml"),
    "kubeconfig": ("json", "yaml"),
}  # of all others: CHANGED
SUMMARIES = {
    "create": "Create an LNamespace",
    "list": "What you have access to",
    "describe": "Who can do what, and why something is not ready",
    "grant": "Give somebody access",
    "revoke": "Take access away",
    "extend": "Move the end of access that ends by itself",
    "leave": "Give up your own access",
    "prune": "Remove entries that have ended",
    "set": "Change who pays, the profile, or the protection against deletion",
    "ledger": "Who pays, since when, and why",
    "whoami": "Who the cluster says you are",
    "kubeconfig": "A context that leads to an LCluster",
    "version": "The version of these plugins",
}
ENDING = ("revoke", "extend")  # commands about somebody who is on a list
ROLE_FLAGS = {f"--{role}": field for role, field in LISTS.items()}
NAMED = ("describe", "grant", "revoke", "extend", "leave", "prune", "set", "ledger")


def lns() -> int:
    """Complete `kubectl lns`."""
    return leave(run(quietly(_lns), "kubectl lns"))


def create() -> int:
    """Complete `kubectl create lns`."""
    return leave(run(quietly(_create), "kubectl create lns"))


def create_lcluster() -> int:
    """Complete `kubectl create lcluster`."""
    return leave(run(quietly(_create_lcluster), "kubectl create lcluster"))


def sudo() -> int:
    """Complete `kubectl sudo`: what follows is a kubectl command, so kubectl completes it."""
    return leave(run(quietly(_sudo), "kubectl sudo"))


def quietly(command: Command) -> Command:
    """Return the command without its errors, which would appear within the line being typed.

    An unfinished command line is often wrong, and the cluster may not answer.
    """

    def quiet(argv: list[str]) -> int:
        # kubectl ends with a remark on standard error, which would appear within the line too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            return command(argv)
        except (PluginError, OSError, ValueError, LookupError, TypeError, AttributeError):
            return _print(())

    return quiet


def _sudo(argv: list[str]) -> int:
    words = [*drop_repeated(argv[:-1]), *argv[-1:]]
    if words[-2:-1] in (["-n"], ["--namespace"]) and "--" not in words:
        line = read(tuple(words[:-2]))
        reply = _kubectl(line).start_get(collection(LNAMESPACE)).reply()
        if not reply.code:  # an LCluster mostly has namespaces only
            found = map(name_of, reply.document()["items"])
            return _print(_starting(found, words[-1]))
    return become_kubectl(["__complete", *words])


def _create(argv: list[str]) -> int:
    return _offer_flags(argv, CREATE_FLAGS)


def _create_lcluster(argv: list[str]) -> int:
    return _offer_flags(argv, CREATE_CLUSTER_FLAGS)


def _offer_flags(argv: list[str], known: Flags) -> int:
    if _completes_value_of(argv, PASSED_ON - SWITCHES, PASSED_ON_SHORTS):
        return _as_kubectl(argv, _scanned(argv, known))
    return _offer(argv, known.valued | known.switches | known.optional, known.valued, CHANGED)


def _lns(argv: list[str]) -> int:
    line = _scanned(argv, FLAGS)
    current, name = argv[-1] if argv else "", line.words[0] if line.words else ""
    if name == CREATE:
        return _create(argv[argv.index(CREATE) + 1 :])
    if _completes_value_of(argv, PASSED_ON - SWITCHES, PASSED_ON_SHORTS):
        return _as_kubectl(argv, line)
    if len(line.words) > 1 and name in ENDING and argv[-2] in ROLE_FLAGS:
        return _print(_starting(_subjects(line, (ROLE_FLAGS[argv[-2]],)), current))
    command = SUBCOMMANDS.get(ALIASES.get(name, name))
    if current.startswith("-") or _completes_value_of(argv, FLAGS.valued, FLAGS.shorts):
        flags = command.flags if command else frozenset({"all", "output", "version"})
        return _offer(argv, flags, FLAGS.valued, OUTPUTS.get(ALIASES.get(name, name), CHANGED))
    if not line.words:
        return _print(f"{name}\t{SUMMARIES[name]}" for name in _starting(SUMMARIES, current))
    return _print(_starting(_names(line, current), current))


def _scanned(argv: Sequence[str], known: Flags) -> CommandLine:
    """Return the line before the word that is being completed."""
    shorts = {**PASSED_ON_SHORTS, **known.shorts}
    return scan(argv[:-1], FlagTable((known.valued | PASSED_ON) - SWITCHES, shorts))


def _completes_value_of(
    argv: Sequence[str], valued: frozenset[str], shorts: Mapping[str, str]
) -> bool:
    """Return whether what is being completed is the value of one of the flags."""
    flag = argv[-2] if len(argv) > 1 else ""
    name = flag[2:] if flag.startswith("--") else shorts.get(flag[1:], "")
    return flag.startswith("-") and name in valued


def _as_kubectl(argv: Sequence[str], line: CommandLine) -> int:
    """Complete the value of a flag of kubectl's own as kubectl does, such as --context."""
    flags = connection(line, CONNECTION - {"user"})
    reply = Kubectl().run("__complete", "get", *flags, *argv[-2:])
    if reply.code:
        return _print(())
    print(reply.out, end="")
    return 0


def _kubectl(line: CommandLine) -> Kubectl:
    return Kubectl((*connection(line, CONNECTION - {"user"}), "--request-timeout=3s"))


def _names(line: CommandLine, current: str) -> Sequence[str]:
    """Return the names of LNamespaces, or of the subjects on the lists of one."""
    words = line.words
    if words[0] == "kubeconfig" and len(words) == 1:
        reply = _kubectl(line).start_get(collection(LCLUSTER)).reply()
        return [] if reply.code else [name_of(item) for item in reply.document()["items"]]
    if words[0] in NAMED and len(words) == 1:
        kind = LCLUSTER if current.startswith(f"{LCLUSTER.short}/") else LNAMESPACE
        reply = _kubectl(line).start_get(collection(kind)).reply()
        found = [] if reply.code else reply.document()["items"]
        return [typed(name_of(item), kind) for item in found]
    return _subjects(line, LISTS.values()) if words[0] in ENDING else []


def _subjects(line: CommandLine, fields: Iterable[str]) -> Sequence[str]:
    """Return the subjects on lists of the named object that are not in the line yet."""
    kind, name = read_target(line.words[1])
    reply = _kubectl(line).start_get(path(name, kind)).reply()
    spec = {} if reply.code else reply.document()["spec"]
    subjects = (subject for field in fields for subject in entries(spec, field))
    spellings = (item.identity.spelling for item in subjects)
    return [name for name in spellings if name and name not in line.words]


def _offer(
    argv: Sequence[str], flags: frozenset[str], valued: frozenset[str], outputs: Sequence[str]
) -> int:
    """Offer flags, or the values of the flag that is being written; only what the command takes."""
    values = VALUES | {"output": outputs}
    current = argv[-1] if argv else ""
    flag, equals, value = current.partition("=")
    if equals:
        choices = values.get(flag.removeprefix("--"), ())
        return _print(f"{flag}={choice}" for choice in _starting(choices, value))
    previous = argv[-2].removeprefix("--") if len(argv) > 1 else ""
    if argv[-2:-1] == ["-o"] or (argv[-2:-1] == [f"--{previous}"] and previous in valued):
        return _print(
            _starting(values.get("output" if previous == "-o" else previous, ()), current)
        )
    if current.startswith("-"):
        written = (f"--{name}=" if name in valued else f"--{name}" for name in sorted(flags))
        return _print((flag for flag in written if flag.startswith(current)), NO_FILES | NO_SPACE)
    return _print(())


def _starting(choices: Iterable[str], prefix: str) -> list[str]:
    return sorted({choice for choice in choices if choice.startswith(prefix)})


def _print(choices: Iterable[str], directive: int = NO_FILES) -> int:
    for choice in choices:
        # A tab parts a choice from its description; anything else unprintable is escaped.
        print("\t".join(printable(part) for part in choice.split("\t")))
    print(f":{directive}")
    return 0
