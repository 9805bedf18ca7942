"""Read LNamespaces and LClusters, and build their paths on the API server.

Objects stay plain JSON: they are shown and sent back whole, with fields this version does not know.
"""

from __future__ import annotations

from lnamespace.plugins.model.api_group import DEFAULT_SUFFIX, api_version, group, suffix
from lnamespace.plugins.runtime.errors import KubectlError, UsageError
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    Object = dict[str, Any]
else:
    Object = dict

LABEL_RULE = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
LABEL_LENGTH = 63

CLUSTER_NAME_MIN, CLUSTER_NAME_MAX = 2, 20
CLUSTER_NAME_CHARACTERS = LABEL_CHARACTERS - {"-"}  # the dash ends it in names of its objects

# Reasons of Ready=False that stay until somebody changes something.
TERMINAL_REASONS = frozenset(("Conflict", "ReservedName", "InvalidSpec", "LimitExceeded"))


class ResourceKind(NamedTuple):
    """A kind of objects that people create: an LNamespace or an LCluster."""

    kind: str
    plural: str
    short: str

    @property
    def singular(self) -> str:
        """Return the singular name of the kind, as kubectl writes and takes it."""
        return self.kind.lower()


LNAMESPACE = ResourceKind("LNamespace", "lnamespaces", "lns")
LCLUSTER = ResourceKind("LCluster", "lclusters", "lc")
RESOURCE_KINDS = (LNAMESPACE, LCLUSTER)


def collection(kind: ResourceKind = LNAMESPACE) -> str:
    """Return the path of all objects of a kind."""
    return f"/apis/{api_version()}/{kind.plural}"


def path(name: str, kind: ResourceKind = LNAMESPACE) -> str:
    """Return the path of one object; the name must have passed `check_name`."""
    return f"{collection(kind)}/{name}"


def qualified(name: str, kind: ResourceKind = LNAMESPACE) -> str:
    """Return the name as kubectl writes it in its own messages."""
    return f"{kind.singular}.{group()}/{name}"


def resource(kind: ResourceKind = LNAMESPACE) -> str:
    """Return the resource as kubectl takes it, of this instance and no other.

    `kubectl delete lns tina` deletes the LNamespace of the instance whose API group comes first,
    whichever was meant: somebody who followed our advice lost another namespace.
    """
    return f"{kind.short}.{group()}"


def read_name(word: str, kind: ResourceKind) -> str:
    """Return the name on a command line, also as `kubectl get -o name` writes it."""
    prefix, slash, name = word.partition("/")
    if not slash:
        return check_name(word, kind)
    plain, _, its_group = prefix.partition(".")
    known = (kind.short, kind.singular, kind.plural)
    if plain.lower() not in known or its_group not in ("", group()):
        raise UsageError(f'"{word}" is no {kind.kind} of {group()}; write its name')
    return check_name(name, kind)


def kind_of(word: str) -> ResourceKind:
    """Return the kind that a word names: `lc/NAME` is an LCluster, anything else is none."""
    prefix, slash, _ = word.partition("/")
    plain = prefix.partition(".")[0].lower()
    ours = (LCLUSTER.short, LCLUSTER.singular, LCLUSTER.plural)
    return LCLUSTER if slash and plain in ours else LNAMESPACE


def read_target(word: str) -> tuple[ResourceKind, str]:
    """Return the kind and the name on a command line."""
    kind = kind_of(word)
    return kind, read_name(word, kind)


def typed(name: str, kind: ResourceKind) -> str:
    """Return the argument for an object in our commands, which `read_target` reads."""
    return name if kind == LNAMESPACE else f"{kind.short}/{name}"


def name_fault(name: str, kind: ResourceKind = LNAMESPACE) -> str | None:
    """Return why a name is invalid, in Kubernetes' own words; None if it is valid."""
    if kind == LCLUSTER:
        return _cluster_name_fault(name)
    if len(name) > LABEL_LENGTH:
        return "must be no more than 63 bytes"
    if not name or set(name) - LABEL_CHARACTERS or "-" in (name[0], name[-1]):
        return (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
            f"regex used for validation is '{LABEL_RULE}')"
        )
    return None


def _cluster_name_fault(name: str) -> str | None:
    known = CLUSTER_NAME_MIN <= len(name) <= CLUSTER_NAME_MAX
    if not known or set(name) - CLUSTER_NAME_CHARACTERS or not name[0].isalpha():
        return (
            f"must be {CLUSTER_NAME_MIN} to {CLUSTER_NAME_MAX} lower case letters and digits, "
            "a letter first"
        )
    return None


def check_name(name: str, kind: ResourceKind = LNAMESPACE) -> str:
    """Return the name, known to be safe in a path; anything else can be no object's name."""
    fault = name_fault(name, kind)
    if fault:
        raise KubectlError(
            f'The {kind.kind} "{name}" is invalid: metadata.name: Invalid value: "{name}": {fault}'
        )
    return name


class StatusCondition(NamedTuple):
    """One condition of an LNamespace's status."""

    type: str
    status: str
    reason: str
    message: str


def conditions(lns: Object) -> tuple[StatusCondition, ...]:
    """Return the conditions in the order the operator gives them."""
    return tuple(
        StatusCondition(
            *(str(item.get(key) or "") for key in ("type", "status", "reason", "message"))
        )
        for item in lns.get("status", {}).get("conditions") or ()
    )


def ready(lns: Object) -> StatusCondition | None:
    """Return the summary condition, if there is one yet."""
    return next((item for item in conditions(lns) if item.type == "Ready"), None)


def conflict_of(lns: Object) -> str:
    """Return why an LNamespace has no namespace of its own; empty if it is in no Conflict."""
    summary = ready(lns)
    if summary is None or summary.reason != "Conflict":
        return ""
    return f"Conflict: {summary.message}".removesuffix(": ")


def current(lns: Object) -> bool:
    """Return whether the status is about the spec as it is now."""
    observed = lns.get("status", {}).get("observedGeneration") or 0
    return bool(observed >= (lns["metadata"].get("generation") or 1))


class Impersonation(NamedTuple):
    """The account that all sudoers impersonate; if empty, each impersonates their own name."""

    group: str = ""
    account: str = ""

    @property
    def shown(self) -> str:
        """Return the account or the group as a person reads it."""
        return self.account or self.group

    def flags(self, username: str) -> tuple[str, ...]:
        """Return kubectl's flags by which a user impersonates so."""
        if self.account:
            return (f"--as={self.account}",)
        return (f"--as={username}", f"--as-group={self.group}")


def sudo_identity(lns: Object) -> Impersonation:
    """Return whom the sudoers impersonate: by the status, or the default until there is one."""
    status = lns.get("status", {})
    if account := status.get("sudoUser"):
        return Impersonation(account=str(account))
    return Impersonation(str(status.get("sudoersGroup") or default_sudoers_group(name_of(lns))))


def default_sudoers_group(name: str) -> str:
    """Return the group where nothing else is configured."""
    ours = suffix()
    return f"{name}-sudoers" if ours == DEFAULT_SUFFIX else f"{name}-sudoers.{ours}"


def sudo_namespace() -> str:
    """Return the namespace with the accounts of all LNamespaces, where sudo is by accounts."""
    ours = suffix()
    if ours == DEFAULT_SUFFIX:
        return "lnamespace-sudo"
    from hashlib import sha256

    return f"lnamespace-sudo-{sha256(ours.encode()).hexdigest()[:10]}"


def without_managed_fields(lns: Object) -> Object:
    """Return the object as kubectl shows it, and as one sends it: the API server keeps its own.

    Every writer of the object can nest them deeper than Python writes JSON.
    """
    shown = {key: part for key, part in lns["metadata"].items() if key != "managedFields"}
    return {**lns, "metadata": shown}


def name_of(lns: Object) -> str:
    """Return the name of the LNamespace and of its namespace."""
    return str(lns["metadata"]["name"])
