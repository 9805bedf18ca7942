"""Who may do what inside one LCluster: Kubernetes' RBAC said once more, from its documentation.

A *right* is a verb on a resource, perhaps on one name only. Roles of Kubernetes itself are told
by a few of their rights and by one that stands for all the others, which no role of a play gives.
Everything here is a value; nothing here imports the product.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from tests.e2e.rights_model.model import Subject
from tests.e2e.support.people import AUTHENTICATED, Who

MASTERS = "system:masters"
RESIDENTS = "lcluster:users"
"""The group that all on the lists of an LCluster have inside it."""
RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = f"roles.{RBAC}", f"rolebindings.{RBAC}"
CLUSTER_ROLES, CLUSTER_BINDINGS = f"clusterroles.{RBAC}", f"clusterrolebindings.{RBAC}"
WIDGETS = "widgets.example.com"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
TOKENS = "serviceaccounts/token"


class Right(msgspec.Struct, frozen=True, order=True):
    """A verb on a resource, with its group behind a dot; a path begins with a slash."""

    verb: str
    resource: str
    name: str = ""

    def covers(self, other: "Right") -> bool:
        """Return whether who has this has the other."""
        path = other.resource.startswith("/")
        anything = "/*" if path else "*"
        return (
            self.verb in ("*", other.verb)
            and self.resource in (anything, other.resource)
            and self.name in ("", other.name)
        )

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.resource, self.name)))


EVERYTHING = (Right("*", "*"), Right("*", "/*"))

_VIEW = (
    Right("get", "pods"),
    Right("get", "configmaps"),
    Right("list", "configmaps"),
    Right("list", "namespaces"),
    Right("use", "the rest of view"),
)
_EDIT = (
    *_VIEW,
    Right("get", "secrets"),
    Right("list", "secrets"),
    *(Right("create", each) for each in ("pods", "configmaps", "secrets", "serviceaccounts")),
    *(Right("delete", each) for each in ("pods", "configmaps", "secrets", "serviceaccounts")),
    Right("create", TOKENS),
    Right("impersonate", "serviceaccounts"),
    Right("use", "the rest of edit"),
)
_ADMIN = (
    *_EDIT,
    *(Right(verb, each) for verb in ("create", "delete") for each in (ROLES, BINDINGS)),
    Right("use", "the rest of admin"),
)
BUILT_IN = {"cluster-admin": EVERYTHING, "admin": _ADMIN, "edit": _EDIT, "view": _VIEW}

INTO = {"admin": ("admin", "edit", "view"), "edit": ("edit", "view"), "view": ("view",)}
"""Of which labels each role of Kubernetes is put together: `view` is a part of `edit`, and on."""

_RESIDENT = (
    Right("*", "namespaces"),
    Right("*", DEFINITIONS),
    *(Right("get", each) for each in (CLUSTER_ROLES, CLUSTER_BINDINGS)),
)


@dataclass(frozen=True)
class Role:
    """A Role or ClusterRole; ``label`` is what others choose it by, ``sums`` what it chooses."""

    rights: tuple[Right, ...] = ()
    label: str = ""
    sums: str = ""


@dataclass(frozen=True)
class Binding:
    """Gives a ClusterRole, or a Role of the same namespace."""

    kind: str
    role: str
    subjects: tuple[Subject, ...]


@dataclass(frozen=True)
class Guise:
    """Somebody inside an LCluster; a ``sudoer`` may act as themselves in `system:masters`."""

    who: Who
    sudoer: bool = False


def resident(name: str, *, sudoer: bool = False) -> Guise:
    """Somebody on a list."""
    return Guise(Who(name, (RESIDENTS, AUTHENTICATED)), sudoer)


def by_itself(guise: Guise, *, defined: bool) -> Iterable[Right]:
    """Yield what somebody has everywhere without any object of the LCluster.

    ``defined`` is whether there is a CustomResourceDefinition, of which residents have the objects.
    """
    groups = guise.who.groups
    if MASTERS in groups:
        yield from EVERYTHING
    if RESIDENTS in groups:
        yield from _ADMIN
        yield from _RESIDENT
        if defined:
            yield Right("*", WIDGETS)
    if guise.sudoer:
        yield Right("impersonate", "users", guise.who.user)
        yield Right("impersonate", "groups", MASTERS)


def have(those: Iterable[Right], wanted: Iterable[Right]) -> bool:
    """Return whether all that is wanted is among those."""
    there = tuple(those)
    return all(any(each.covers(one) for each in there) for one in wanted)
