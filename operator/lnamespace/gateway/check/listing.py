"""Find kinds that cannot be listed.

Kubernetes lists every kind before it ends a namespace, in the version that discovery prefers. That
fails where a conversion webhook fails, where an object is stored in a version that is gone, and
where a definition of before, which was cluster-scoped, left an object.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.errors import ClusterError, Forbidden, NotFound, Throttled, Unauthenticated
from lnamespace.gateway.definitions.definition import CustomResourceDefinition
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import ListMeta
from lnamespace.kube.pages import list_pages
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION, Resource
from lnamespace.kube.served import served_versions

_CAUSE = re.compile(r"storage is \(re\)initializing: (?:failed to list [^:]*: )?(.+)", re.DOTALL)
"""What tells a 429 that stays from one of a busy API server."""
_SECONDS = 10.0
"""An API server that cannot have the objects in memory may not answer at all."""
_TRIES = 3
_PAUSE = 1.0
"""Seconds in which a cache is filled, or it is known why it is not."""


class _DefinitionPage(msgspec.Struct, frozen=True):
    metadata: ListMeta
    items: tuple[CustomResourceDefinition, ...] | None = None


_pages = msgspec.json.Decoder(_DefinitionPage)


@dataclass(frozen=True)
class DefinedKind:
    """A kind of a CustomResourceDefinition.

    Parameters
    ----------
    name
        The name of the definition.
    versions
        The served versions.
    words
        What kubectl calls the kind.
    """

    name: str
    group: str
    kind: str
    plural: str
    versions: frozenset[str]
    namespaced: bool = True
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UnlistableKind:
    """A kind that the API server cannot list in a version, and its error message."""

    name: str
    version: str
    message: str


async def list_defined_kinds(client: Client) -> tuple[DefinedKind, ...]:
    """Return the kinds of all definitions, of the platform and of LClusters."""
    pages = list_pages(client.get, CUSTOM_RESOURCE_DEFINITION.path(), _pages, {})
    return tuple([_defined(each) async for page in pages for each in page.items or ()])


def _defined(definition: CustomResourceDefinition) -> DefinedKind:
    spec, names = definition.spec, definition.spec.names
    words = {names.plural, names.singular, names.kind.lower(), *(names.short_names or ())} - {""}
    return DefinedKind(
        definition.metadata.name,
        spec.group,
        names.kind,
        names.plural,
        frozenset(version.name for version in spec.versions if version.served),
        spec.scope == "Namespaced",
        frozenset(words),
    )


async def find_unlistable(
    client: Client, kind: DefinedKind, empty_namespace: str
) -> UnlistableKind | None:
    """Return a kind with the API server's error if it cannot be listed; None if it can.

    Parameters
    ----------
    empty_namespace
        A namespace without objects of the kind; it need not exist.

    Raises
    ------
    Forbidden
        The caller may not list it.
    """
    try:
        served = await served_versions(client, kind.group)
        version = next(each for each in served if each in kind.versions)
    except (NotFound, StopIteration):
        return None
    resource = Resource(kind.group, version, kind.kind, kind.plural, namespaced=True)
    message = await _listing_error(client, resource, empty_namespace)
    return UnlistableKind(kind.name, version, message) if message else None


async def _listing_error(client: Client, resource: Resource, empty_namespace: str) -> str:
    """Return the API server's error if it cannot list a kind; empty if it can.

    The namespace controller is refused too where a namespace has no object of the kind: it reads
    from the API server's cache, for which all are converted. The answer is a 429 that says why,
    after a first one that does not, or none. Kubernetes 1.30 has no such reads from the cache;
    there the list of one object fails, if that object has to be converted.
    """
    asked: dict[str, dict[str, Any]] = {
        resource.path(): {"limit": "1"},
        resource.path(namespace=empty_namespace): {},
    }
    for _ in range(_TRIES):
        busy = False
        for path, params in asked.items():
            try:
                async with asyncio.timeout(_SECONDS):
                    await client.list_metadata(path, **params)
            except TimeoutError:
                return f"no answer in {_SECONDS:g} s"
            except NotFound:
                return ""
            except (Forbidden, Unauthenticated):
                raise
            except Throttled as error:
                if cause := _CAUSE.search(str(error)):
                    return cause[1]
                busy = True
            except ClusterError as error:
                return str(error)
        if not busy:
            return ""
        await asyncio.sleep(_PAUSE)
    return ""
