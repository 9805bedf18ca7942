"""The API groups that the platform serves, by aggregated discovery, and those of one tenant.

Aggregated discovery (KEP-3352) is one document for ``/api`` and one for ``/apis``. A group is
built in, published by the platform, the tenant's own (its name begins with the tenant's prefix), or
foreign; foreign groups do not exist for the tenant.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from lnamespace.translate.discovery.published import Published
from lnamespace.translate.protocol.policies import (
    BUILT_IN_GROUPS,
    ResourcePolicy,
    allowed_verbs,
    is_reserved_group,
    resource_policy,
    subresource_policy,
)
from lnamespace.translate.protocol.resources import (
    GroupResource,
    ResourceTable,
    ResourceType,
    ServingPolicy,
    Subresource,
)

NAMESPACED = "Namespaced"


class DiscoveredKind(msgspec.Struct, frozen=True):
    """A group, version and kind; group and version are empty if they are those of the resource."""

    group: str
    version: str
    kind: str


class DiscoveredSubresource(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """An APISubresourceDiscovery; the order of the fields is that of its JSON."""

    subresource: str
    response_kind: DiscoveredKind | None = None
    accepted_types: tuple[DiscoveredKind, ...] = ()
    verbs: tuple[str, ...] | None


class DiscoveredResource(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """An APIResourceDiscovery; the order of the fields is that of its JSON."""

    resource: str
    response_kind: DiscoveredKind | None = None
    scope: str
    singular_resource: str | msgspec.UnsetType = msgspec.UNSET
    verbs: tuple[str, ...] | None
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[DiscoveredSubresource, ...] = ()


class DiscoveredVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """An APIVersionDiscovery."""

    version: str
    resources: tuple[DiscoveredResource, ...] = ()
    freshness: str = ""


class _GroupMetadata(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str = ""


class DiscoveredGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """An APIGroupDiscovery; versions are in order of preference."""

    metadata: _GroupMetadata
    versions: tuple[DiscoveredVersion, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the group; the core group's is empty."""
        return self.metadata.name

    def renamed(self, name: str) -> "DiscoveredGroup":
        """Return the group under another name."""
        return DiscoveredGroup(_GroupMetadata(name), self.versions)


class _DiscoveryDocument(msgspec.Struct, frozen=True):
    kind: str
    items: tuple[DiscoveredGroup, ...] = ()


_DECODER = msgspec.json.Decoder(_DiscoveryDocument)


def parse_discovery(document: bytes) -> tuple[DiscoveredGroup, ...]:
    """Return the groups of one APIGroupDiscoveryList.

    Raises
    ------
    ValueError
        If the document is of another kind; an API server that does not know aggregated discovery
        answers with one.
    """
    parsed = _DECODER.decode(document)
    if parsed.kind != "APIGroupDiscoveryList":
        raise ValueError(f"expected an APIGroupDiscoveryList, got kind {parsed.kind}")
    return parsed.items


@dataclass(frozen=True)
class TenantGroups:
    """The API groups that a tenant is served, with their names upstream.

    Parameters
    ----------
    published
        The objects of the platform that every tenant may see.
    """

    tenant: str
    published: Published = field(default_factory=Published)

    def owns(self, upstream: str) -> bool:
        """Return whether a group upstream is of this tenant's CustomResourceDefinitions."""
        prefix = f"{self.tenant}-"
        below = upstream.removeprefix(prefix)
        return upstream.startswith(prefix) and not self.is_of_the_platform(below)

    def down(self, upstream: str) -> str | None:
        """Return a group in tenant spelling, or None if the tenant is not served it."""
        if self.is_of_the_platform(upstream):
            return upstream
        return upstream.removeprefix(f"{self.tenant}-") if self.owns(upstream) else None

    def up(self, group: str) -> str:
        """Return a group in upstream spelling."""
        return group if self.is_of_the_platform(group) else f"{self.tenant}-{group}"

    def policy(self, upstream: str, resource: DiscoveredResource) -> ResourcePolicy:
        """Return the policy of a resource of a group that the tenant is served."""
        namespaced = resource.scope == NAMESPACED
        if self.owns(upstream):
            return ResourcePolicy(ServingPolicy.TRANSLATED)
        named = GroupResource(upstream, resource.resource)
        if upstream in BUILT_IN_GROUPS:
            return resource_policy(named, namespaced=namespaced)
        if namespaced:
            usable = named in self.published.usable
            return ResourcePolicy(ServingPolicy.TRANSLATED if usable else ServingPolicy.HIDDEN)
        is_published = named in self.published.objects
        return ResourcePolicy(ServingPolicy.SHARED if is_published else ServingPolicy.HIDDEN)

    def is_of_the_platform(self, group: str) -> bool:
        """Return whether a group is built in or published."""
        return is_reserved_group(group) or group in self.published.groups


def resource_table(
    groups: Iterable[DiscoveredGroup], tenant: str, published: Published | None = None
) -> ResourceTable:
    """Return the resources of the discovered groups that a tenant is served, in tenant spelling.

    Parameters
    ----------
    groups
        Those of ``/api`` and of ``/apis``.
    published
        The objects of the platform that every tenant may see; None for the defaults.
    """
    names = TenantGroups(tenant, published or Published())
    return ResourceTable.from_types(each for group in groups for each in _types(group, names))


def _types(group: DiscoveredGroup, names: TenantGroups) -> Iterator[ResourceType]:
    below = names.down(group.name)
    if below is None:
        return
    plurals = dict.fromkeys(each.resource for v in group.versions for each in v.resources)
    for plural in plurals:
        served = _resource_type(group, below, plural, names)
        if served is not None:
            yield served


def _resource_type(
    group: DiscoveredGroup, below: str, plural: str, names: TenantGroups
) -> ResourceType | None:
    found = [
        (version.version, resource)
        for version in group.versions
        for resource in version.resources
        if resource.resource == plural and resource.response_kind is not None
    ]
    if not found:
        return None
    preferred = found[0][1]
    rule = names.policy(group.name, preferred)
    if rule.policy is ServingPolicy.HIDDEN:
        return None
    kind = preferred.response_kind
    return ResourceType(
        group=below,
        plural=plural,
        kind=kind.kind if kind else "",
        namespaced=preferred.scope == NAMESPACED,
        policy=rule.policy,
        custom=names.owns(group.name),
        publishes=rule.publishes,
        versions=tuple(version for version, _ in found),
        verbs=allowed_verbs(rule.policy, _verbs(resource for _, resource in found)),
        subresources=_subresources(
            GroupResource(below, plural), rule.policy, [resource for _, resource in found]
        ),
    )


def _verbs(found: Iterable[DiscoveredResource | DiscoveredSubresource]) -> frozenset[str]:
    return frozenset(verb for each in found for verb in each.verbs or ())


def _subresources(
    resource: GroupResource, parent: ServingPolicy, found: list[DiscoveredResource]
) -> tuple[Subresource, ...]:
    verbs: dict[str, frozenset[str]] = {}
    for each in found:
        for sub in each.subresources:
            verbs[sub.subresource] = verbs.get(sub.subresource, frozenset()) | _verbs([sub])
    policies = {name: subresource_policy(resource, name, parent) for name in verbs}
    return tuple(
        Subresource(name, allowed_verbs(policy, verbs[name]), policy)
        for name, policy in policies.items()
        if policy is not ServingPolicy.HIDDEN
    )
