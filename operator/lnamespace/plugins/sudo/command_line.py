"""Read the command line of `kubectl sudo`: which kubectl command, for which namespace; pure."""

from __future__ import annotations

from itertools import pairwise, takewhile

from lnamespace.plugins.runtime.errors import UsageError
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
    Piece,
    read,
    suggestion,
    written,
)
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Return the first words with no flag between them, among which kubectl finds a plugin."""
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
