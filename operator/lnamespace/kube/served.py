"""Ask for a kind in the version in which the API server serves it.

An older Kubernetes serves a kind in an alpha or beta version, or not at all. Its objects are the
same in all versions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import msgspec

from lnamespace.errors import NotFound
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource

T = TypeVar("T")


class _ServedVersion(msgspec.Struct, frozen=True):
    version: str


class _ServedGroup(msgspec.Struct, frozen=True):
    versions: tuple[_ServedVersion, ...] = ()


class _ServedResource(msgspec.Struct, frozen=True):
    name: str


class _ServedResources(msgspec.Struct, frozen=True):
    resources: tuple[_ServedResource, ...] = ()


_group = msgspec.json.Decoder(_ServedGroup)
_resources = msgspec.json.Decoder(_ServedResources)


async def in_served_version(
    client: Client, kind: Resource, request: Callable[[Resource], Awaitable[T]]
) -> T | None:
    """Send a request about a kind, and send it again in another version if there is no such path.

    Return the answer; None if the API server does not serve the kind.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    try:
        return await request(kind)
    except NotFound:
        other = await _in_another_version(client, kind)
        return await request(other) if other else None


async def served_versions(client: Client, group: str) -> tuple[str, ...]:
    """Return the versions of an API group, the preferred one first.

    Raises
    ------
    NotFound
        The API server does not serve the group.
    """
    found = decode(_group, await client.get(f"/apis/{group}"))
    return tuple(each.version for each in found.versions)


async def _in_another_version(client: Client, kind: Resource) -> Resource | None:
    """Return a kind in another version that is served; None if there is none."""
    path = f"/apis/{kind.group}"
    if not kind.group:
        return None  # the core API has one version
    try:
        for version in await served_versions(client, kind.group):
            if version != kind.version:
                served = decode(_resources, await client.get(f"{path}/{version}")).resources
                if any(found.name == kind.plural for found in served):
                    return replace(kind, version=version)
    except NotFound:
        pass  # the group is not served, or the version is no more
    return None
