"""The discovery documents that a tenant is served, aggregated and legacy.

The aggregated documents, the lists of groups and of paths are made from aggregated discovery. An
APIResourceList is translated from the platform's own, because only that has the hashes of storage
versions.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from lnamespace.translate.discovery.groups import (
    DiscoveredGroup,
    DiscoveredKind,
    DiscoveredResource,
    DiscoveredSubresource,
    DiscoveredVersion,
    TenantGroups,
)
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType

_ENCODER = msgspec.json.Encoder()


def tenant_discovery(
    groups: Iterable[DiscoveredGroup], names: TenantGroups, resources: ResourceTable
) -> tuple[DiscoveredGroup, ...]:
    """Return the discovered groups as one tenant is served them, in tenant spelling."""
    return tuple(_groups_down(groups, names, resources))


def _groups_down(
    groups: Iterable[DiscoveredGroup], names: TenantGroups, resources: ResourceTable
) -> Iterator[DiscoveredGroup]:
    for group in groups:
        below = names.down(group.name)
        if below is None:
            continue
        versions = tuple(
            replaced
            for version in group.versions
            if (replaced := _version_down(version, below, names, resources))
        )
        if versions:
            yield msgspec.structs.replace(group, versions=versions).renamed(below)


def _version_down(
    version: DiscoveredVersion, group: str, names: TenantGroups, resources: ResourceTable
) -> DiscoveredVersion | None:
    found = tuple(
        _resource_down(each, served, names)
        for each in version.resources
        if (served := resources.by_plural(group, each.resource))
    )
    if version.resources and not found:
        return None
    return msgspec.structs.replace(version, resources=found)


def _resource_down(
    resource: DiscoveredResource, served: ResourceType, names: TenantGroups
) -> DiscoveredResource:
    return msgspec.structs.replace(
        resource,
        response_kind=_kind_down(resource.response_kind, names),
        verbs=_served_verbs(resource.verbs, served.verbs),
        subresources=tuple(
            _subresource_down(each, served, names)
            for each in resource.subresources
            if served.serves_subresource(each.subresource)
        ),
    )


def _subresource_down(
    subresource: DiscoveredSubresource, served: ResourceType, names: TenantGroups
) -> DiscoveredSubresource:
    known = served.subresource(subresource.subresource)
    kinds = (_kind_down(each, names) for each in subresource.accepted_types)
    return msgspec.structs.replace(
        subresource,
        response_kind=_kind_down(subresource.response_kind, names),
        verbs=_served_verbs(subresource.verbs, known.verbs if known else None),
        accepted_types=tuple(each for each in kinds if each),
    )


def _kind_down(kind: DiscoveredKind | None, names: TenantGroups) -> DiscoveredKind | None:
    if kind is None or not kind.group or not names.owns(kind.group):
        return kind
    return DiscoveredKind(names.down(kind.group) or "", kind.version, kind.kind)


def _served_verbs(
    verbs: tuple[str, ...] | None, allowed: frozenset[str] | None
) -> tuple[str, ...] | None:
    if verbs is None or allowed is None:
        return verbs
    return tuple(verb for verb in verbs if verb in allowed)


def _line(document: Any) -> bytes:
    """Return a document as kube-apiserver writes it, with the end of its line."""
    return _ENCODER.encode(document) + b"\n"


def aggregated_discovery(groups: Sequence[DiscoveredGroup]) -> bytes:
    """Return the APIGroupDiscoveryList of ``/api`` or ``/apis``."""
    return _line(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": groups,
        }
    )


def api_versions(address: str) -> bytes:
    """Return the APIVersions of ``/api``.

    Parameters
    ----------
    address
        Host and port at which clients reach the tenant's cluster.
    """
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    document = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
    return _line(document)


def group_list(groups: Iterable[DiscoveredGroup]) -> bytes:
    """Return the APIGroupList of ``/apis``."""
    document = {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(each) for each in groups],
    }
    return _line(document)


def group_document(group: DiscoveredGroup) -> bytes:
    """Return the APIGroup of ``/apis/GROUP``."""
    return _line({"kind": "APIGroup", "apiVersion": "v1"} | _group(group))


def _group(group: DiscoveredGroup) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{group.name}/{each.version}", "version": each.version}
        for each in group.versions
    ]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


class _ApiResource(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """An APIResource of meta/v1; the order of the fields is that of its JSON."""

    name: str
    singular_name: str
    namespaced: bool
    group: str = ""
    version: str = ""
    kind: str
    verbs: tuple[str, ...] | None
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_version_hash: str = ""


class _ApiResourceList(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    kind: str
    api_version: str = ""
    group_version: str
    resources: tuple[_ApiResource, ...]


_LIST_DECODER = msgspec.json.Decoder(_ApiResourceList)


def resource_list_down(document: bytes, names: TenantGroups, resources: ResourceTable) -> bytes:
    """Return the APIResourceList of ``/api/v1`` or ``/apis/GROUP/VERSION`` in tenant spelling.

    Parameters
    ----------
    document
        The platform's, of a group that the tenant is served.
    """
    parsed = _LIST_DECODER.decode(document)
    upstream, _, version = parsed.group_version.rpartition("/")
    group = names.down(upstream) or ""
    found = tuple(
        _api_resource_down(each, served, upstream, names)
        for each in parsed.resources
        if (served := _served(each.name, group, resources))
    )
    group_version = f"{group}/{version}" if group else version
    return _line(msgspec.structs.replace(parsed, group_version=group_version, resources=found))


def _served(name: str, group: str, resources: ResourceTable) -> ResourceType | None:
    plural, _, subresource = name.partition("/")
    served = resources.by_plural(group, plural)
    if served and subresource and not served.serves_subresource(subresource):
        return None
    return served


def _api_resource_down(
    resource: _ApiResource, served: ResourceType, upstream: str, names: TenantGroups
) -> _ApiResource:
    sub = resource.name.partition("/")[2]
    known = served.subresource(sub)
    below = names.down(resource.group) if resource.group else ""
    return msgspec.structs.replace(
        resource,
        group=resource.group if below is None else below,
        verbs=_served_verbs(resource.verbs, known.verbs if known else served.verbs),
        storage_version_hash=_storage_hash_down(resource, served, upstream),
    )


def _storage_hash_down(resource: _ApiResource, served: ResourceType, upstream: str) -> str:
    """Return the hash of the storage version, which has the group in it."""
    known = resource.storage_version_hash
    if not served.custom or not known:
        return known
    for version in served.versions or ():
        if known == storage_version_hash(upstream, version, resource.kind):
            return storage_version_hash(served.group, version, resource.kind)
    return ""  # stored in a version that is not served


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Return the hash by which clients compare storage versions (KEP-2339)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.standard_b64encode(digest[:8]).decode()


def served_paths(groups: Iterable[DiscoveredGroup], further: Iterable[str]) -> bytes:
    """Return the RootPaths of ``/``: discovery and some further paths, in order."""
    found = {"/api", "/api/v1", "/apis", "/apis/", *further}
    for group in groups:
        if group.name:
            found.add(f"/apis/{group.name}")
            found.update(f"/apis/{group.name}/{each.version}" for each in group.versions)
    return _line({"paths": sorted(found)})
