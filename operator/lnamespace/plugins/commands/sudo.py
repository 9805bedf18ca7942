"""`kubectl sudo`: any kubectl command with more rights, in one namespace, for those listed there.

A sudoer may impersonate themselves in one more group, NAME-sudoers; or, as the platform team chose,
one account that stands for the LNamespace. The first time, this command reads the user, the
namespace and which of the two applies, checks the list so that a refusal can say what to do, and
then becomes kubectl. The result is cached for a while: the next command runs at once, and the list
is read only if it fails. It grants nothing: the API server decides, whatever is checked or cached.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise, takewhile

from lnamespace.plugins.commands.entry import leave, run
from lnamespace.plugins.model.api_group import SUFFIX_VARIABLE
from lnamespace.plugins.runtime.errors import OtherApiGroup, UsageError
from lnamespace.plugins.runtime.flags import (
    BUILTIN,
    BUILTIN_CREATE,
    CONNECTION,
    IMPERSONATION,
    OUR_PLUGINS,
    SHORTS,
    SWITCHES,
    VALUED,
    CommandLine,
    Option,
    Piece,
    read,
    suggestion,
    written,
)
from lnamespace.plugins.runtime.memory import FileCache, connection_key
from lnamespace.plugins.runtime.processes import become_kubectl, run_kubectl
from lnamespace.plugins.runtime.terminal import say
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# As long as sudo(8) remembers that somebody has shown who they are.
REMEMBERED = FileCache("sudo", 15 * 60)
SECRET = ("token", "password")  # flags that must not be stored


def main() -> int:
    """Run the console script."""
    return leave(run(run_as_sudoer, "kubectl sudo"))


def run_as_sudoer(argv: list[str]) -> int:
    """Check that the caller is a sudoer, then replace this process by kubectl."""
    command = parse(argv, is_plugin)
    if not command.line.words:
        asked = _wants_help(command)
        if not asked and command.line.gives((VERSION,)):
            from lnamespace.plugins.runtime.version import print_version

            return print_version("kubectl-sudo")
        if command.line.options and not asked:
            raise UsageError("which command? Write kubectl sudo -n NAMESPACE COMMAND")
        return print_help(asked)
    if _wants_help(command):
        become_kubectl(command.with_flags(()))
    key = _key(command)
    if known := REMEMBERED.recall(key):
        return _at_once(command, known, key)
    flags = sudoer_flags(command)
    REMEMBERED.remember(key, flags)
    from lnamespace.plugins.sudo.pod import lead_to_own_cluster

    lead_to_own_cluster(command.connection)
    return become_kubectl(command.with_flags(flags))


def _key(command: SudoCommand) -> str:
    """Return the key under which to remember as whom to act; empty if it is not remembered."""
    unread = command.is_given_files and not command.namespace  # it is known when the files are read
    where = "" if unread or command.line.gives(SECRET) else connection_key(command.connection)
    suffix = os.environ.get(SUFFIX_VARIABLE, "")
    return where and repr((where, suffix, command.namespace or ""))


def _at_once(command: SudoCommand, known: tuple[str, ...], key: str) -> int:
    """Run the command with the remembered flags; if it fails, check whether they were the reason.

    The command is never run a second time: it may have done something before it failed.
    """
    code = run_kubectl(command.with_flags(known))
    if code != 1:  # kubectl's own failures, a refusal among them
        return code
    REMEMBERED.forget(key)
    try:
        flags = sudoer_flags(command)
    except OtherApiGroup as error:
        # in another instance we would begin again; the next command does
        raise error.cause from None
    REMEMBERED.remember(key, flags)
    if flags != known:
        say("note: you are logged in as somebody else now, or sudo changed; run the command again")
    return code


def sudoer_flags(command: SudoCommand) -> tuple[str, ...]:
    """Return kubectl's flags for acting as a sudoer, or raise the reason for a refusal."""
    from lnamespace.plugins.sudo.check import Question, checked

    files = None
    if command.is_given_files and not command.plugin_words:  # a plugin may mean else by -f
        from lnamespace.plugins.sudo.manifests import Files

        line = command.line
        recursive = Option("recursive", None) in line.options or line.last("recursive") == "true"
        files = Files(command.given("filename"), command.given("kustomize"), recursive)
    return checked(
        Question(command.line, command.connection, command.namespace, files, command.by_plugin)
    )


def _wants_help(command: SudoCommand) -> bool:
    return any(option.name == "help" for option in command.line.options)


def print_help(asked: bool) -> int:
    """Print the help: on standard output if it was asked for, else on standard error."""
    from lnamespace.plugins.help.sudo import SUDO

    print(SUDO, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def is_plugin(name: str) -> bool:
    """Return whether kubectl would find a plugin of that name on PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(f"{folder}/kubectl-{name}", os.X_OK) for folder in folders)


# `kubectl sudo !!` puts the last command behind ours, with its own first words.
REPEATED = frozenset(("kubectl", "k", "sudo"))
OF_LCLUSTERS = ("lc/", "lcluster/", "lclusters/")  # how a name of one begins
LNAMESPACES = frozenset(("lns", "lnamespace", "lnamespaces"))
NAMESPACES = frozenset(("ns", "namespace", "namespaces"))
# Where the resource stands among the words, for commands of more than one word.
RESOURCE_POSITION = {"auth": 3, "rollout": 2, "set": 2, "apply": 2}
# The flags without a value that kubectl takes in front of any command.
FRONT_SWITCHES = SWITCHES | {"help", "match-server-version", "warnings-as-errors"}
FRONT = CONNECTION | FRONT_SWITCHES | {"namespace"}  # all flags that belong to no command
NAMED_POD = 2  # namespace and pod
VERSION = "version"  # a flag of ours, without a command; the command of that name is kubectl's
KNOWN = VALUED | FRONT_SWITCHES | {VERSION} | frozenset(SHORTS.values())
# kubectl's own commands whose --user is a person too; there it hides the entry of the kubeconfig.
BINDING_PEOPLE = (("create", "rolebinding"), ("create", "clusterrolebinding"), ("set", "subject"))


class SudoCommand(NamedTuple):
    """A kubectl command to be run as sudoer."""

    line: CommandLine
    plugin_words: int  # how many words name a plugin; 0 for kubectl's own commands
    by_plugin: bool  # whether there is a plugin of that name

    @property
    def ours(self) -> bool:
        """Return whether the command is a plugin of this project, whose --user is not kubectl's."""
        return self.line.words[: self.plugin_words] in OUR_PLUGINS

    @property
    def names_people(self) -> bool:
        """Return whether the command's --user is a person, and not a kubeconfig's user entry."""
        return self.ours or self.line.words[:2] in BINDING_PEOPLE

    @property
    def is_given_files(self) -> bool:
        """Return whether the objects that the command is about are in files."""
        return bool(self.given("filename") or self.given("kustomize"))

    def given(self, flag: str) -> tuple[str, ...]:
        """Return the files that a flag names, as kubectl separates them."""
        given = (o.value for o in self.line.options if o.name == flag and o.value)
        return tuple(file for value in given for file in value.split(",") if file)

    @property
    def namespace(self) -> str | None:
        """Return the namespace that the command itself names."""
        return self.line.last("namespace") or named_namespace(self.line.words)

    @property
    def connection(self) -> tuple[str, ...]:
        """Return the flags that lead to the same API server as the same user."""
        return connection(self.line, CONNECTION - {"user"} if self.names_people else CONNECTION)

    def with_flags(self, flags: Sequence[str]) -> tuple[str, ...]:
        """Return the command with our flags in it.

        kubectl's own commands take them in front, where no `--` and no flag without its value can
        come between. A plugin's name must stand in front of all flags; those the user wrote before
        it move behind it with ours.
        """
        if not self.plugin_words:
            return (*flags, *self.line.argv)
        start = sum(len(piece.tokens) for piece in leading(self.line))
        before, after = self.line.argv[:start], self.line.argv[start:]
        return (*after[: self.plugin_words], *flags, *before, *after[self.plugin_words :])


def parse(argv: Sequence[str], is_plugin: Callable[[str], bool]) -> SudoCommand:
    """Read a command line; `is_plugin` tells whether an executable `kubectl-NAME` exists."""
    line = read(tuple(drop_repeated(argv)))
    flags = sum(len(piece.tokens) for piece in leading(line))
    if (rest := drop_repeated(line.argv[flags:])) != line.argv[flags:]:  # kubectl sudo -n team-a !!
        return parse((*line.argv[:flags], *rest), is_plugin)
    if not line.words and line.tail:  # kubectl sudo -n team-a -- get pods: this `--` is for us
        return parse((*line.argv[: -len(line.tail)], *drop_repeated(line.tail[1:])), is_plugin)
    for option in line.options:
        if option.name in IMPERSONATION:
            raise UsageError(f"--{option.name} cannot be combined with kubectl sudo, which sets it")
    count = count_plugin_words(first_words(line), is_plugin)
    command = SudoCommand(line, count, count > 0 and is_plugin(_plugin_name(line.words[:count])))
    _refuse_misplaced(command)
    if command.ours and any(o.name == "user" for piece in leading(line) for o in piece.options):
        raise UsageError("--user before a plugin would be read as a person; choose with --context")
    if line.words[:1] == ("lns",) and any(
        word.startswith(OF_LCLUSTERS) for word in line.words[2:3]
    ):
        raise UsageError(
            "sudo is for what is in an LCluster; its managers and sudoers change the LCluster "
            f"without it: kubectl {' '.join(line.words)}"
        )
    return command


def _refuse_misplaced(command: SudoCommand) -> None:
    """Refuse a flag for which kubectl would take a wrong word for the command.

    It takes the argument behind such a flag for its value. If that is the command itself, or a flag
    whose own value follows, it then complains about our flags, which nobody has typed.
    """
    if not command.by_plugin:
        _refuse_misspelt(command.line)
    pieces = () if command.plugin_words else command.line.pieces
    for piece, behind in pairwise(pieces):
        if piece.word is not None:
            return
        flag = piece.tokens[0]
        alone = flag.startswith("--") or len(flag) == len("-A")  # of several in one it takes none
        unknown = any(o.value is None and o.name not in FRONT_SWITCHES for o in piece.options)
        if alone and unknown and (behind.word is not None or len(behind.tokens) > 1):
            raise UsageError(f"{flag} cannot stand before the command; write it behind")


def _refuse_misspelt(line: CommandLine) -> None:
    """Refuse a flag in front that is nearly one of those that may stand there.

    Without a command, refuse any that nobody knows. With one, it may be a flag of the command that
    is not known here, so it has to be nearer: `--server-side` is not `--server`.
    """
    for option in (option for piece in leading(line) for option in piece.options):
        if len(option.name) > 1 and option.name not in KNOWN:
            near = suggestion(option.name, FRONT, "--", cutoff=0.85 if line.words else 0.6)
            if near or not line.words:
                raise UsageError(f"unknown flag: --{option.name}{near}")


def drop_repeated(argv: Sequence[str]) -> Sequence[str]:
    """Return the arguments without leading words that only repeat how we were called."""
    while argv and (argv[0] in REPEATED or argv[0].endswith("/kubectl")):
        argv = argv[1:]
    return argv


def leading(line: CommandLine) -> tuple[Piece, ...]:
    """Return the flags before the first word."""
    return tuple(takewhile(lambda piece: piece.word is None, line.pieces))


def first_words(line: CommandLine) -> tuple[str, ...]:
    """Return the first words with no flag between them: what kubectl looks for a plugin in."""
    words: list[str] = []
    for piece in line.pieces:
        if piece.word is not None:
            words.append(piece.word)
        elif words:
            break
    return tuple(words)


def count_plugin_words(words: Sequence[str], is_plugin: Callable[[str], bool]) -> int:
    """Return how many of the words name a plugin: the longest name wins, as in kubectl.

    An unknown first word stays in front of all flags as well: kubectl then says what is wrong with
    the word. If our flags came first, it would complain about these.
    """
    least = 1
    if words and words[0] in BUILTIN:
        if words[0] != "create" or len(words) < 2 or words[1] in BUILTIN_CREATE:
            return 0
        least = 2
    for count in range(len(words), least - 1, -1):
        if is_plugin(_plugin_name(words[:count])):
            return count
    return 1 if words and words[0] not in BUILTIN else 0


def _plugin_name(words: Sequence[str]) -> str:
    return "-".join(word.replace("-", "_") for word in words)


def connection(line: CommandLine, names: frozenset[str]) -> tuple[str, ...]:
    """Return the named flags, each as one argument."""
    return tuple(
        written(option)
        for option in line.options
        if option.name in names and (option.value is not None or option.name in SWITCHES)
    )


def named_namespace(words: Sequence[str]) -> str | None:
    """Return the LNamespace, or the namespace as an object, that the words name."""
    if not words:
        return None
    if words[0] == "cp":  # a/b is a file there, and a/b:c one in a pod
        named = (word.partition(":")[0].split("/") for word in words[1:] if ":" in word)
        return next((pod[0] for pod in named if len(pod) == NAMED_POD and pod[0]), None)
    if words[0] == "lns":  # lns grant team-a
        return words[2] if len(words) > 2 else None
    position = RESOURCE_POSITION.get(words[0], 1)
    if len(words) > position + 1 and _is_resource(words[position]):
        return words[position + 1]
    for word in words[1:]:
        resource, slash, name = word.partition("/")
        if slash and _is_resource(resource):
            return name
    return None


def _is_resource(word: str) -> bool:
    for part in word.lower().split(","):
        kind, dot, its_group = part.partition(".")
        if part in NAMESPACES or (kind in LNAMESPACES and bool(dot) == bool(its_group)):
            return True
    return False
