"""The resources that a tenant is served, and the policy for each."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class ServingPolicy(StrEnum):
    """The way in which a resource of the platform's API server appears in a tenant's cluster."""

    TRANSLATED = "translated"
    """The tenant's own objects, without further bounds."""
    SHARED = "shared"
    """The platform's objects, read-only."""
    CONFINED = "confined"
    """The tenant's own objects, forced to act on this tenant only."""
    INERT = "inert"
    """The tenant's own objects, stored without effect."""
    HIDDEN = "hidden"
    """Not served."""


@dataclass(frozen=True)
class GroupResource:
    """A resource without its version, in tenant spelling: ``apps`` ``deployments``."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True)
class Subresource:
    """One subresource that a tenant is served."""

    name: str
    verbs: frozenset[str]
    policy: ServingPolicy = ServingPolicy.TRANSLATED


@dataclass(frozen=True)
class ResourceType:
    """One kind of objects that a tenant is served.

    Parameters
    ----------
    group
        The API group in tenant spelling.
    custom
        Whether the group is one of the tenant's own CustomResourceDefinitions, and so has the
        tenant's prefix upstream.
    publishes
        Whether published objects of the platform are shown beside the tenant's own.
    versions
        The versions in which it is served, the preferred one first; None if that is not known.
    verbs
        The verbs that it has in some version; None if that is not known.
    subresources
        The subresources that it has in some version; None if that is not known.
    """

    group: str
    plural: str
    kind: str
    namespaced: bool
    policy: ServingPolicy = ServingPolicy.TRANSLATED
    custom: bool = False
    publishes: bool = False
    versions: tuple[str, ...] | None = None
    verbs: frozenset[str] | None = None
    subresources: tuple[Subresource, ...] | None = None

    def __hash__(self) -> int:
        # All subresources and verbs would take too long: plans are looked up for each request.
        return hash((self.group, self.plural))

    def serves_version(self, version: str) -> bool:
        """Return whether the resource is served in a version."""
        return self.versions is None or version in self.versions

    def serves_subresource(self, name: str) -> bool:
        """Return whether the resource has a subresource."""
        return self.subresources is None or self.subresource(name) is not None

    def serves_verb(self, verb: str, subresource: str = "") -> bool:
        """Return whether the resource, or one of its subresources, has a verb."""
        if not subresource:
            # While a definition is terminating, discovery names neither update nor patch. The API
            # server takes both: an object's finalizers could not be removed, and nothing ended.
            return self.verbs is None or self.custom or verb in self.verbs
        found = self.subresource(subresource)
        return (found is not None and verb in found.verbs) or self.subresources is None

    def subresource(self, name: str) -> Subresource | None:
        """Return a subresource that is served, or None."""
        return next((each for each in self.subresources or () if each.name == name), None)

    @cached_property
    def group_resource(self) -> GroupResource:
        """Return the resource without its version."""
        return GroupResource(self.group, self.plural)


@dataclass(frozen=True)
class ResourceTable:
    """The resource types by plural and by kind; groups are in tenant spelling."""

    types: tuple[ResourceType, ...] = ()

    @classmethod
    def from_types(cls, types: Iterable[ResourceType]) -> "ResourceTable":
        """Return the table of some types."""
        return cls(tuple(types))

    @cached_property
    def _by_plural(self) -> dict[tuple[str, str], ResourceType]:
        return {(each.group, each.plural): each for each in self.types}

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], ResourceType]:
        return {(each.group, each.kind): each for each in self.types}

    @cached_property
    def custom_groups(self) -> frozenset[str]:
        """Return the API groups of the tenant's own CustomResourceDefinitions."""
        return frozenset(each.group for each in self.types if each.custom)

    @cached_property
    def prefixed_kinds(self) -> frozenset[str]:
        """Return the kinds, in lower case without groups, whose objects' names have the prefix.

        A kind that is in another group without the prefix is left out: tables of Events print no
        groups.
        """
        prefixed, others = set[str](), set[str]()
        for each in self.types:
            plain = each.namespaced or each.policy is ServingPolicy.SHARED
            (others if plain else prefixed).add(each.kind.lower())
        return frozenset(prefixed - others)

    @cached_property
    def prefixed_words(self) -> frozenset[str]:
        """Return the words for kinds whose objects' names have the prefix, in lower case.

        A custom resource may have any name, and counts only with its group.
        """
        words = set[str]()
        for each in self.types:
            if not each.namespaced and each.policy is not ServingPolicy.SHARED:
                named = {each.kind.lower(), each.plural}
                words |= set() if each.custom else named
                words |= {f"{word}.{each.group}" for word in named if each.group}
        return frozenset(words)

    def by_plural(self, group: str, plural: str) -> ResourceType | None:
        """Return the type of a resource, or None if the tenant is not served it."""
        return self._by_plural.get((group, plural))

    def by_kind(self, group: str, kind: str) -> ResourceType | None:
        """Return the type of a kind, or None if the tenant is not served it."""
        return self._by_kind.get((group, kind))
