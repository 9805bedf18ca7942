"""Read a command line as kubectl does.

kubectl's flags are pflag's: `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`, and
several short ones in one word, `-itn value`. A bare `--` ends them.

`kubectl sudo` passes unknown flags on, as flags without a value. `kubectl create lns` and `kubectl
lns` refuse them: a misspelt flag about who gets access must not be ignored.
"""

from __future__ import annotations

from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class FlagTable(NamedTuple):
    """The flags that take a value, and the long names of the short ones."""

    valued: frozenset[str]
    shorts: Mapping[str, str]


class Option(NamedTuple):
    """One flag by its long name; the value is None where none was written."""

    name: str
    value: str | None


def written(option: Option) -> str:
    """Return the flag as one argument."""
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
        """Return the words that are neither a flag nor a flag's value."""
        return tuple(piece.word for piece in self.pieces if piece.word is not None)

    @property
    def options(self) -> tuple[Option, ...]:
        """Return all flags in the order written."""
        return tuple(option for piece in self.pieces for option in piece.options)

    def gives(self, names: Sequence[str]) -> bool:
        """Return whether any of the flags is written."""
        return any(option.name in names for option in self.options)

    def last(self, name: str) -> str | None:
        """Return the value that counts when a flag is repeated: the last one there is."""
        values = [o.value for o in self.options if o.name == name and o.value is not None]
        return values[-1] if values else None

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the command line as it was typed."""
        return self.without("")

    def without(self, name: str) -> tuple[str, ...]:
        """Return the command line as it was typed, but for a flag."""
        pieces = (p for p in self.pieces if all(option.name != name for option in p.options))
        return tuple(token for piece in pieces for token in piece.tokens) + self.tail


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
    """Read short flags in one argument; the first that takes a value takes all that is left."""
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


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


# Flags that choose the API server and the user. Our own requests use the same.
CONNECTION = words(
    "cache-dir certificate-authority client-certificate client-key cluster context"
    " disable-compression insecure-skip-tls-verify kubeconfig kuberc password request-timeout"
    " server tls-server-name token user username"
)
IMPERSONATION = frozenset(("as", "as-group", "as-uid", "as-user-extra"))
SWITCHES = frozenset(
    ("disable-compression", "insecure-skip-tls-verify")
)  # connection, without a value

# Flags that take a value in a word of their own. Not here: those with a meaning when alone
# (--dry-run, --cascade, --validate), and those that are a switch in another command (--command,
# --containers).
VALUED = (
    CONNECTION
    | IMPERSONATION
    | words(
        "accept-hosts accept-paths address aggregation-rule annotation annotations api-group"
        " api-prefix api-version audience bound-object-kind bound-object-name bound-object-uid"
        " categories cert chunk-size class cluster-ip clusterip clusterrole concurrency container"
        " copy-to cpu current-replicas custom default-backend description detach-keys docker-email"
        " docker-password docker-server docker-username duration env exec-api-version exec-arg"
        " exec-command exec-env external-ip external-name field-manager field-selector filename"
        " for from from-env-file from-file from-literal grace-period group hard image"
        " image-pull-policy keepalive key keys kustomize label-columns labels limit-bytes limits"
        " load-balancer-ip load-restrictor log-flush-frequency max max-log-requests"
        " max-unavailable memory min min-available mount name namespace namespaces node-port"
        " non-resource-url option output output-directory override-type overrides patch patch-file"
        " pod-running-timeout pod-selector policy port preemption-policy profile profile-output"
        " protocol proxy-url prune-allowlist raw reject-methods reject-paths replicas requests"
        " resource resource-name resource-version restart retries revision role rule schedule"
        " scopes section selector serviceaccount session-affinity set-image since since-time"
        " skip-wait-for-delete-timeout sort-by subresource tail target target-port tcp template"
        " timeout to-revision type types unix-socket v value verb verbs vmodule www www-prefix"
    )
) - SWITCHES

SHORTS = {
    "A": "all-namespaces", "L": "label-columns", "P": "www-prefix", "R": "recursive",
    "c": "container",
    "e": "env", "f": "filename", "h": "help", "i": "stdin", "k": "kustomize", "l": "selector",
    "n": "namespace", "o": "output", "p": "patch", "q": "quiet", "r": "replicas", "s": "server",
    "t": "tty", "u": "unix-socket", "v": "v", "w": "watch",
}  # fmt: skip
# The same letter means something else in a few commands.
SHORTS_OF = {
    "logs": SHORTS | {"f": "follow", "p": "previous"},
    "proxy": SHORTS | {"p": "port", "w": "www"},
}

# Our own plugins by their words, and their flags that take a value.
OUR_PLUGINS = (
    ("lns",),
    ("create", "lns"),
    ("create", "lnamespace"),
    ("create", "lc"),
    ("create", "lcluster"),
)
OURS = words(
    "billing-label cost-center deletion-policy environment for gateway gateway-ca manager name"
    " owner profile sudoer team timeout until"
)

BUILTIN = words(
    "alpha annotate api-resources api-versions apply attach auth autoscale certificate"
    " cluster-info completion config cordon cp create debug delete describe diff drain edit events"
    " exec explain expose get help kuberc kustomize label logs options patch plugin port-forward"
    " proxy replace rollout run scale set taint top uncordon version wait __complete"
    " __completeNoDesc"
)
# `create` is the one built-in command whose unknown subcommands kubectl looks for among plugins.
BUILTIN_CREATE = words(
    "clusterrole clusterrolebinding cm configmap cj cronjob dep deploy deployment ing ingress job"
    " namespace ns pc pdb poddisruptionbudget priorityclass quota resourcequota role rolebinding"
    " sa secret service serviceaccount svc token"
)


def read(argv: tuple[str, ...]) -> CommandLine:
    """Return a kubectl command line in pieces."""
    line = scan(argv, FlagTable(VALUED, SHORTS))
    if any(line.words[: len(words)] == words for words in OUR_PLUGINS):
        return scan(argv, FlagTable(VALUED | OURS, SHORTS))
    shorts = SHORTS_OF.get(line.words[0]) if line.words else None
    return scan(argv, FlagTable(VALUED, shorts)) if shorts else line


# --user is a person here, so kubectl's own --user (an entry of the kubeconfig) cannot be given.
PASSED_ON = (CONNECTION - {"user"}) | IMPERSONATION | {"namespace", "v"}
PASSED_ON_SHORTS = {"n": "namespace", "s": "server", "v": "v", "h": "help"}
TRUE, FALSE = ("true", "1", "t"), ("false", "0", "f")


class Flags(NamedTuple):
    """The flags of a command; switches may be written alone or as --x=true|false."""

    valued: frozenset[str]
    switches: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()  # a value only as --x=value, or none
    shorts: Mapping[str, str] = {}

    @property
    def known(self) -> frozenset[str]:
        """Return all flags by their long names."""
        return self.valued | self.switches | self.optional | PASSED_ON | {"help"}


class Arguments(NamedTuple):
    """A command line that the command understands."""

    words: tuple[str, ...]
    line: CommandLine
    connection: tuple[str, ...]

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a repeatable flag."""
        return tuple(option.value or "" for option in self.line.options if option.name == name)

    def one(self, name: str, default: str = "") -> str:
        """Return the value of a flag; as in kubectl, the last one counts."""
        return (self.all(name) or (default,))[-1]

    def given(self, name: str) -> bool:
        """Return whether a flag was written at all."""
        return any(option.name == name for option in self.line.options)

    def switch(self, name: str, default: bool = False) -> bool:
        """Return a flag that is on or off."""
        values = [option.value for option in self.line.options if option.name == name]
        return default if not values else _boolean(name, values[-1])


def parse(argv: Sequence[str], flags: Flags) -> Arguments:
    """Read a command line; raise a UsageError if it is wrong."""
    valued = (flags.valued | PASSED_ON) - SWITCHES
    line = scan(argv, FlagTable(valued, {**PASSED_ON_SHORTS, **flags.shorts}))
    for option in line.options:
        if option.name not in flags.known:
            dashes = "-" if len(option.name) == 1 else "--"
            near = suggestion(option.name, flags.known, "--")
            raise UsageError(f"unknown flag: {dashes}{option.name}{near}")
        if option.name in valued and option.value is None:
            raise UsageError(f"flag needs an argument: --{option.name}")
    passed = tuple(written(option) for option in line.options if option.name in PASSED_ON)
    return Arguments(line.words + line.tail[1:], line, passed)


def suggestion(word: str, known: Iterable[str], before: str = "", cutoff: float = 0.6) -> str:
    """Return the known word that was probably meant, as kubectl suggests it; or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(word, sorted(known), n=1, cutoff=cutoff) if len(word) > 1 else []
    return f"\nDid you mean this?\n\t{before}{near[0]}" if near else ""


def _boolean(name: str, value: str | None) -> bool:
    if value is None or value.lower() in TRUE:
        return True
    if value.lower() in FALSE:
        return False
    raise UsageError(f'invalid argument "{value}" for --{name}: write true or false')


def one_of(arguments: Arguments, name: str, choices: Sequence[str], default: str) -> str:
    """Return the value of a flag that has a fixed choice of values."""
    value = arguments.one(name, default)
    if value not in choices:
        named = " or ".join(choice for choice in choices if choice)
        raise UsageError(f'invalid argument "{value}" for --{name}: must be {named}')
    return value


def keyed(flag: str, text: str) -> tuple[str, str]:
    """Return the two parts of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f'invalid {flag.replace("-", " ")} "{text}": write KEY=VALUE')
    return key, value


def dry_run(arguments: Arguments) -> str:
    """Return none, client or server; a bare --dry-run is kubectl's old spelling of client."""
    if arguments.given("dry-run") and arguments.one("dry-run") == "":
        return "client"
    return one_of(arguments, "dry-run", ("none", "client", "server"), "none")


ROLES = ("user", "manager", "sudoer")
BILLING = {
    "cost-center": "costCenter",
    "owner": "owner",
    "team": "team",
    "environment": "environment",
}  # flag, and field of spec.billing
SETTINGS = {"profile": "profile", "deletion-policy": "deletionPolicy"}  # flag, and field of spec
POLICIES = ("Delete", "Retain")
KEYED = ("label", "billing-label")
CREATE_FLAGS = Flags(
    valued=frozenset((*ROLES, *BILLING, *KEYED, "profile", "deletion-policy", "timeout", "output")),
    switches=frozenset(("deletion-protection", "wait")),
    optional=frozenset(("dry-run",)),
    shorts={"o": "output"},
)
CREATE_CLUSTER_FLAGS = CREATE_FLAGS._replace(valued=CREATE_FLAGS.valued - {"profile"})
