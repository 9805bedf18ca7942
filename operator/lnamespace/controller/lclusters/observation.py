"""The observation of one LCluster, the input of its decision. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lnamespace.access.conventions import Conventions
from lnamespace.access.lcluster import NamespaceOwner, namespace_owner
from lnamespace.controller.lclusters.resource import CachedLCluster
from lnamespace.controller.observation import Lifecycle
from lnamespace.errors import ClusterError
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import Resource
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import DeletionPolicy


@dataclass(frozen=True)
class LClusterObservation:
    """All inputs of a decision about one LCluster, besides the time.

    Parameters
    ----------
    cached
        The LCluster; None if and only if it is deleted.
    namespaces
        The Namespaces whose names begin with the LCluster's prefix, of any owner.
    objects
        The objects at the keys of the LCluster's grants; None where there is none.
    groups
        The API groups of the tenant's CustomResourceDefinitions.
    name_problem
        Why the LCluster may not have its name; empty if it may, or is established.
    limit_exceeded
        Why the LCluster exceeds the limit of its requester; empty where it does not.
    failures
        The failures of the requests whether the name is free.
    """

    name: str
    conventions: Conventions
    lifecycle: Lifecycle
    cached: CachedLCluster | None = None
    namespaces: tuple[ObservedObject, ...] = ()
    objects: Mapping[tuple[Resource, Key], ObservedObject | None] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    name_problem: str = ""
    limit_exceeded: str = ""
    failures: tuple[ClusterError, ...] = ()

    @property
    def lcluster(self) -> LCluster:
        """Return the LCluster, where there is one."""
        if self.cached is None:
            raise LookupError(f"there is no LCluster {self.name}")
        return self.cached.lcluster

    @property
    def holds_finalizer(self) -> bool:
        """Return whether the LCluster has our finalizer, and so may have objects."""
        return self.conventions.names.lcluster_finalizer in self.lcluster.metadata.finalizers

    @property
    def retained(self) -> bool:
        """Return whether the Namespaces are to outlive the LCluster."""
        return self.lcluster.spec.deletion_policy is DeletionPolicy.RETAIN

    @property
    def established(self) -> bool:
        """Return whether the LCluster has its name: a Namespace bears its UID, which only we write.

        The finalizer alone does not show it, since the creator of an LCluster can write it.
        """
        uid, key = self.lcluster.uid, self.conventions.names.lcluster_annotation
        marked = any(found.annotations.get(key) == uid for found in self.namespaces)
        return marked and self.holds_finalizer

    def get(self, resource: Resource, key: Key) -> ObservedObject | None:
        """Return the object at a key, or None; raise KeyError for a key that was not observed."""
        return self.objects[resource, key]

    def owned_by(self, owner: NamespaceOwner) -> Iterator[ObservedObject]:
        """Yield the Namespaces of one owner."""
        for found in self.namespaces:
            if namespace_owner(self.lcluster, found, self.conventions) is owner:
                yield found

    @property
    def own(self) -> tuple[ObservedObject, ...]:
        """Return the Namespaces of the tenant."""
        return tuple(self.owned_by(NamespaceOwner.OURS))

    @property
    def others(self) -> tuple[ObservedObject, ...]:
        """Return the Namespaces that have the tenant's prefix and are not the tenant's."""
        foreign = self.owned_by(NamespaceOwner.FOREIGN)
        return (*self.owned_by(NamespaceOwner.PREDECESSOR), *foreign)
