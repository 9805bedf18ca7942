"""``lnamespace migrate``: rewrite every LNamespace in the storage version of today.

The API server stores an object in the storage version only when it is written. An object that has
not been written since that version changed lies in etcd in the old one, which the
CustomResourceDefinition keeps in ``status.storedVersions``. The old version cannot be removed until
every object is rewritten and that list has the new version alone. An administrator runs this
command, which does both.

An empty merge patch rewrites an object: the API server reads, converts and stores it within one
request, so that no edit is lost in between.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from lnamespace.access.conventions import lnamespace_resource
from lnamespace.errors import ClusterError, Expired, NotFound, SettingsError
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
from lnamespace.kube.metadata import PartialMetadata, PartialPage
from lnamespace.kube.pages import list_pages
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.model.lnamespace import PLURAL, VERSION
from lnamespace.model.names import Names
from lnamespace.settings import Settings

_ATTEMPTS = 8
_CONCURRENT = 16


class _DefinitionVersion(msgspec.Struct, frozen=True):
    name: str
    storage: bool = False


class _DefinitionSpec(msgspec.Struct, frozen=True):
    versions: tuple[_DefinitionVersion, ...]


class _DefinitionStatus(msgspec.Struct, frozen=True, rename="camel"):
    stored_versions: tuple[str, ...] = ()


class _Definition(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: _DefinitionSpec
    status: _DefinitionStatus = _DefinitionStatus()


_definition_decoder = msgspec.json.Decoder(_Definition)
_page_decoder = msgspec.json.Decoder(PartialPage)


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Rewrite all LNamespaces, then set the CustomResourceDefinition's stored versions.

    Returns
    -------
    int
        The exit code; 1 if an LNamespace could not be rewritten, and the stored versions are
        left as they were.

    Raises
    ------
    ClusterError
        The CustomResourceDefinition or the list cannot be read or written.
    SettingsError
        The cluster stores another version than this program does.
    """
    return asyncio.run(_run(settings, dry_run=arguments.dry_run))


async def _run(settings: Settings, *, dry_run: bool) -> int:
    names = Names(settings.api_group_suffix)
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        migration = Migration(client, names)
        before = (await migration.definition()).status.stored_versions
        print(f"{migration.definition_name}: stored as {', '.join(before)}")
        if dry_run:
            found = {name async for page in migration.pages() for name in page}
            print(f"{len(found)} LNamespaces would be written anew, then only {VERSION} is stored")
            return 0
        return await _migrate(migration)


async def _migrate(migration: "Migration") -> int:
    done, failures = set[str](), dict[str, ClusterError]()
    async for page in migration.pages():
        results = await migration.rewrite(page)
        failures |= {name: error for name, error in results if error}
        done |= {name for name, error in results if not error}
        _progress(len(done))
    print(f"{len(done)} LNamespaces written anew")
    if failures:
        for name, error in failures.items():
            print(f"{name}: {error}", file=sys.stderr)
        print(
            f"error: {len(failures)} LNamespaces could not be written; mend them and run this "
            "again. The stored versions are left as they are.",
            file=sys.stderr,
        )
        return 1
    await migration.settle()
    print(f"{migration.definition_name}: stored as {VERSION}")
    return 0


def _progress(count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{count} LNamespaces", end="\r", file=sys.stderr, flush=True)


class Migration:
    """The requests of a migration, each of which is repeated while that can help."""

    def __init__(self, client: Client, names: Names) -> None:
        self._client = client
        self._lnamespaces = lnamespace_resource(names)
        self._backoff = Backoff()
        self.definition_name = f"{PLURAL}.{names.group}"

    async def definition(self) -> _Definition:
        """Get the CustomResourceDefinition.

        Raises
        ------
        SettingsError
            Its storage version is not this program's.
        """
        path = CUSTOM_RESOURCE_DEFINITION.path(self.definition_name)
        raw = await self._retry(lambda: self._client.get(path))
        found = answers.decode(_definition_decoder, raw)
        (stored,) = (version.name for version in found.spec.versions if version.storage)
        if stored != VERSION:
            raise SettingsError(
                f"the cluster stores LNamespaces as {stored}, this program as {VERSION}: "
                "upgrade the chart first, then run this again"
            )
        return found

    async def pages(self) -> AsyncIterator[Sequence[str]]:
        """Yield the names of all LNamespaces; some twice if a continue token expires."""
        while True:
            pages = list_pages(self._get, self._lnamespaces.path(), _page_decoder, {})
            with suppress(Expired):
                async for page in pages:
                    yield [item.metadata.name for item in page.items or ()]
                return

    async def rewrite(self, names: Sequence[str]) -> list[tuple[str, ClusterError | None]]:
        """Rewrite LNamespaces; return for each why that failed, or None."""
        slots = asyncio.Semaphore(_CONCURRENT)

        async def one(name: str) -> tuple[str, ClusterError | None]:
            async with slots:
                return name, await self._rewrite(name)

        return await asyncio.gather(*map(one, names))

    async def _rewrite(self, name: str) -> ClusterError | None:
        path = self._lnamespaces.path(name)
        try:
            await self._retry(lambda: self._client.patch(path, b"{}"))
        except NotFound:
            return None
        except ClusterError as error:
            return error
        return None

    async def settle(self) -> None:
        """Set ``status.storedVersions`` to the storage version alone."""
        await self._retry(self._settle)

    async def _settle(self) -> bytes:
        found = await self.definition()
        patch = {
            # The API server refuses this if the storage version has changed meanwhile.
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "status": {"storedVersions": [VERSION]},
        }
        path = CUSTOM_RESOURCE_DEFINITION.path(self.definition_name, subresource="status")
        return await self._client.patch(path, msgspec.json.encode(patch))

    async def _get(self, path: str, *, longest: int | None, **params: str) -> bytes:
        return await self._retry(lambda: self._client.get(path, longest=longest, **params))

    async def _retry(self, attempt: Callable[[], Awaitable[bytes]]) -> bytes:
        failures = 0
        while True:
            try:
                return await attempt()
            except ClusterError as error:
                failures += 1
                if not error.retryable or isinstance(error, Expired) or failures == _ATTEMPTS:
                    raise
                await asyncio.sleep(max(error.retry_after, self._backoff.delay(failures)))
