"""What kubectl's own command line consists of (kubectl 1.30 to 1.36), as far as it must be known.

The tables only steer how `kubectl sudo` finds the namespace and the connection in a command; the
command itself is handed on as typed, so a flag missing here costs at most a hint (`-n`).
"""

from __future__ import annotations

from lnamespace.plugins.flags import CommandLine, FlagTable, scan


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# Flags that decide which API server is asked, and as whom. Ours go to the same place.
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
OUR_PLUGINS = (("lns",), ("create", "lns"), ("create", "lnamespace"))
OURS = words(
    "billing-label cost-center deletion-policy environment for manager owner profile sudoer team"
    " timeout until"
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
    """A kubectl command line in pieces."""
    line = scan(argv, FlagTable(VALUED, SHORTS))
    if any(line.words[: len(words)] == words for words in OUR_PLUGINS):
        return scan(argv, FlagTable(VALUED | OURS, SHORTS))
    shorts = SHORTS_OF.get(line.words[0]) if line.words else None
    return scan(argv, FlagTable(VALUED, shorts)) if shorts else line
