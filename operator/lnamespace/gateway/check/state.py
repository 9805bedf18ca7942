"""The state of the platform's cluster that the check reads."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lnamespace.access.conventions import lnamespace_resource
from lnamespace.gateway.check.finding import group_of
from lnamespace.gateway.check.listing import DefinedKind, UnlistableKind
from lnamespace.gateway.check.rights import AccountRight
from lnamespace.kube.objects import RbacSubject
from lnamespace.kube.prefixed import ClusterObject
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.model.names import Names
from lnamespace.translate.discovery.published import Published

FENCES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
"""The kinds of what bounds the gateway's writes."""


@dataclass(frozen=True)
class GroupBinding:
    """A binding of the platform with its role and subjects; cluster-wide without a namespace."""

    name: str
    namespace: str
    role: str
    subjects: tuple[RbacSubject, ...]

    def __str__(self) -> str:
        kind = "rolebindings" if self.namespace else "clusterrolebindings"
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


@dataclass(frozen=True)
class FreeVolume:
    """A PersistentVolume of the platform without a claim; no class is an empty one."""

    name: str
    storage_class: str


@dataclass(frozen=True)
class UnavailableService:
    """An aggregated APIService that does not answer, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class PlatformState:
    """The state of the platform's cluster.

    Parameters
    ----------
    version
        The version of the API server, such as (1, 36).
    kinds
        The kinds that are served in Kubernetes' own API groups: ``GROUP/VERSION KIND``.
    aggregated
        The API groups that another server than kube-apiserver answers.
    unavailable
        The APIServices of which that server does not answer.
    published
        The objects that every LCluster is to see.
    secret_parameters
        The StorageClasses that name a Secret in their parameters.
    accounts
        The ServiceAccounts in the namespace of LClusters' accounts.
    client_authorities
        Whether the API server says which CAs issue its people's client certificates.
    needed
        The number of rights that the gateway's account needs; 0 if they could not be reviewed.
    missing, excessive
        The rights that the gateway's account lacks, and those that it should not have.
    distrusting
        The namespaces of LClusters whose pods do not know the CA of the gateway's certificate;
        None if the gateway has published none.
    unread
        The resources that the caller may not read, that do not answer, or whose answers cannot be
        read.
    default_classes
        The classes of the platform that objects are given which name none.
    default_priorities
        The PriorityClasses of the platform that pods are given which name none.
    free_volumes
        The volumes of the platform that are for nobody's claim yet.
    defined
        The kinds of all CustomResourceDefinitions.
    unlistable
        The kinds that the API server cannot list.
    served
        Whether the API server has LNamespaces of this instance.
    has_account
        Whether the gateway's account exists.
    """

    names: Names
    account: str
    version: tuple[int, int] | None = None
    lclusters: frozenset[str] = frozenset()
    lnamespaces: tuple[str, ...] = ()
    objects: tuple[ClusterObject, ...] = ()
    kinds: frozenset[str] = frozenset()
    aggregated: frozenset[str] = frozenset()
    unavailable: tuple[UnavailableService, ...] = ()
    bindings: tuple[GroupBinding, ...] = ()
    published: Published = field(default_factory=Published)
    secret_parameters: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    client_authorities: bool | None = None
    needed: int = 0
    missing: tuple[AccountRight, ...] = ()
    excessive: tuple[AccountRight, ...] = ()
    distrusting: tuple[str, ...] | None = ()
    unread: tuple[str, ...] = ()
    default_classes: tuple[ClusterObject, ...] = ()
    default_priorities: frozenset[str] = frozenset()
    free_volumes: tuple[FreeVolume, ...] = ()
    defined: tuple[DefinedKind, ...] = ()
    unlistable: tuple[UnlistableKind, ...] = ()
    served: bool = True
    has_account: bool = True

    @property
    def fence(self) -> str:
        """Return the name of the policies that bound the writes of the gateway."""
        return f"{self.names.prefix}-gateway"

    @property
    def has_gateway(self) -> bool:
        """Return whether the cluster has a gateway's account, or the policies that bound it."""
        return self.has_account or any(
            each.resource.plural in FENCES and each.metadata.name == self.fence
            for each in self.objects
        )

    def label_of(self, found: ClusterObject) -> str:
        """Return the LCluster that an object's label names; empty without one."""
        return found.metadata.labels.get(self.names.lcluster_label, "")


def other_instances(objects: Iterable[ClusterObject], names: Names) -> tuple[str, ...]:
    """Return the API groups of LNamespaces that the platform has; not those in LClusters."""
    return tuple(
        group_of(each)
        for each in objects
        if each.resource is CUSTOM_RESOURCE_DEFINITION
        and each.metadata.name.startswith(f"{lnamespace_resource(names).plural}.")
        and names.lcluster_label not in each.metadata.labels
    )
