"""The observation of one LNamespace at one moment, from which it is decided. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from lnamespace.access.conventions import Conventions
from lnamespace.access.ownership import Ownership, determine_ownership, is_adopted
from lnamespace.access.profiles import ProfileSet, ResolvedProfile
from lnamespace.controller.lclusters.resource import CachedLCluster
from lnamespace.controller.quota import LimitState
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.errors import ClusterError
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.subject import Subject


class Lifecycle(Enum):
    """The phase of an LNamespace's life, for this controller."""

    GONE = "there is none of that name"
    OTHER_CLASS = "it is for controllers of another class, or the namespace of an LCluster"
    TERMINATING = "it is being deleted and waits for somebody's finalizer"
    UNREADABLE = "its spec cannot be read"
    ACTIVE = "it is to be made as its spec says"


def lifecycle_of(cached: CachedLNamespace | CachedLCluster, class_name: str) -> Lifecycle:
    """Return in which part of its life an object is, for controllers of a class."""
    if not cached.of_class(class_name):
        return Lifecycle.OTHER_CLASS
    if cached.terminating:
        return Lifecycle.TERMINATING
    return Lifecycle.UNREADABLE if cached.problem else Lifecycle.ACTIVE


class SudoerState(NamedTuple):
    """The state of a sudoer's own objects.

    ``in_place`` means that they exist and stay as long as this LNamespace does. ``problem`` says
    why they cannot be created; empty if no reason is known.
    """

    in_place: bool
    problem: str = ""

    @property
    def settled(self) -> bool:
        """Return whether there is nothing to wait for."""
        return self.in_place or bool(self.problem)


@dataclass(frozen=True)
class Observation:
    """All inputs of a decision about one LNamespace, besides the time.

    Parameters
    ----------
    cached
        The LNamespace; None if and only if it is gone.
    objects
        The objects at the keys of the LNamespace's own objects; None where there is none.
    sudoers
        The state of each sudoer in the spec, whether or not the entry counts now.
    profiles
        The profiles in force.
    name_problem
        Why no LNamespace may have the name; empty if one may.
    limit_state
        Whether the LNamespace is within the limit of its requester. It is determined only if the
        Namespace is absent; ``WITHIN`` has been reserved.
    limit_message
        What the LNamespace waits for, unless it is ``WITHIN``.
    owner_confirmed
        Whether the API server has confirmed that the LNamespace exists and stays, after its
        Namespace was seen without an owner reference.
    owner_failures
        The failures of that request to the API server.
    """

    name: str
    conventions: Conventions
    lifecycle: Lifecycle
    cached: CachedLNamespace | None = None
    objects: Mapping[tuple[Resource, Key], ObservedObject | None] = field(default_factory=dict)
    sudoers: Mapping[Subject, SudoerState] = field(default_factory=dict)
    profiles: ProfileSet = field(default_factory=ProfileSet)
    name_problem: str = ""
    limit_state: LimitState = LimitState.WITHIN
    limit_message: str = ""
    owner_confirmed: bool = False
    owner_failures: tuple[ClusterError, ...] = ()

    @property
    def lns(self) -> LNamespace:
        """Return the LNamespace, where there is one."""
        if self.cached is None:
            raise LookupError(f"there is no LNamespace {self.name}")
        return self.cached.lns

    @property
    def problem(self) -> str:
        """Return why the LNamespace cannot be read; empty where it can."""
        return self.cached.problem if self.cached else ""

    def get(self, resource: Resource, key: Key) -> ObservedObject | None:
        """Return the object at a key; raise KeyError for a key that was not observed."""
        return self.objects[resource, key]

    @property
    def namespace(self) -> ObservedObject | None:
        """Return the Namespace of the LNamespace's name."""
        return self.get(NAMESPACE, ("", self.name))

    @property
    def ownership(self) -> Ownership:
        """Return the relation of that Namespace to the LNamespace."""
        return determine_ownership(self.lns, self.namespace, self.conventions)

    @property
    def orphaned(self) -> bool:
        """Return whether the Namespace is without its owner, perhaps for good.

        ``kubectl delete lns --cascade=orphan`` removes the owner reference of the Namespace. That
        event may arrive before the deletion. If we restored the reference, the garbage collector
        would delete the Namespace.
        """
        namespace = self.namespace
        return (
            namespace is not None
            and self.ownership is Ownership.OURS
            and self.lns.uid not in namespace.owners
            and not self.owner_confirmed
        )

    @property
    def adopted(self) -> bool:
        """Return whether an administrator gave the Namespace to the LNamespace."""
        return is_adopted(self.lns, self.namespace, self.conventions)

    @property
    def profile(self) -> ResolvedProfile | None:
        """Return the profile of the LNamespace; None where it is not known."""
        return self.profiles.resolve(self.lns, adopted=self.adopted)

    @property
    def profile_problem(self) -> str:
        """Return why the profile is not known; empty where it is."""
        return self.profiles.problem_of(self.lns, adopted=self.adopted)
