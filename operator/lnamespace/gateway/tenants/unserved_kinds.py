"""Stop serving a kind of a tenant in which nobody can list an object (decision 0069).

An object outlives its definition if its creation, which a webhook or a slow body holds for up to
34 s, ends after the definition is gone. A definition of the same name that lacks the version of the
object can be listed by nobody, and Kubernetes lists every kind before a Namespace is gone. What is
not served nobody lists.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from lnamespace.errors import ClusterError, NoRoom
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.conversion_marks import (
    log_fields,
    make_room,
    tenant_of_definition,
)
from lnamespace.gateway.tenants.definition_patches import (
    Operation,
    patch_definition,
    read_definition,
    true_condition,
)
from lnamespace.gateway.tenants.listed_kinds import find_kind, missing_version
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION

EVERY = 5.0
LATE = 40.0
"""Seconds after which no creation is under way that began before a definition was as it is."""
FAILURES = 2
"""Lists that fail before it counts: one may be of a moment before."""
TYPE = "StoredVersionMissing"
_MESSAGE = (
    "an object is stored in version {}, which spec.versions does not have, so that no object could "
    "be listed, and no version is served now: add it with `served: false`, and serve the others "
    "again"
)
_AT_ONCE = 4
log = logging.getLogger(__name__)


class _UnservedCondition(msgspec.Struct, frozen=True):
    type: str = ""


class _UnservedStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_UnservedCondition, ...] | None = None


class _UnservedVersion(msgspec.Struct, frozen=True):
    served: bool = False


class _UnservedSpec(msgspec.Struct, frozen=True):
    versions: tuple[_UnservedVersion, ...] = ()


class _UnservedMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _UnservedDefinition(msgspec.Struct, frozen=True):
    metadata: _UnservedMeta = _UnservedMeta()
    spec: _UnservedSpec = _UnservedSpec()
    status: _UnservedStatus = _UnservedStatus()

    @property
    def unserving(self) -> list[Operation]:
        """Return the operations by which no version is served."""
        return [
            {"op": "replace", "path": f"/spec/versions/{at}/served", "value": False}
            for at, each in enumerate(self.spec.versions)
            if each.served
        ]

    @property
    def removal(self) -> list[Operation]:
        """Return the operation that removes the condition, if it is there."""
        types = [each.type for each in self.status.conditions or ()]
        place = f"/status/conditions/{types.index(TYPE)}" if TYPE in types else ""
        return [{"op": "remove", "path": place}] if place else []


_definition = msgspec.json.Decoder(_UnservedDefinition)


@dataclass
class _Seen:
    """A definition as it was first seen with a generation."""

    generation: int
    since: float
    looked: float = float("-inf")
    failures: int = 0

    def is_due(self, now: float) -> bool:
        """Return whether to list it: at once, when nothing is under way any more, or again."""
        late = now - self.since >= LATE and self.looked < self.since + LATE
        return self.looked < self.since or late or self.failures > 0


@dataclass
class UnservedKinds:
    """The definitions that have changed lately, of which each is listed twice.

    Every replica does so, and the first one wins. What was there when it started has been listed by
    those that were there before.
    """

    tenants: Tenants
    upstream: Upstream
    client: Client
    now: Callable[[], float] = time.monotonic
    _seen: dict[str, _Seen] | None = None
    _busy: set[str] = field(default_factory=set)
    _slots: dict[str, asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(_AT_ONCE))
    )

    async def run(self) -> None:
        """Look at them, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                for name, seen in self._due():
                    group.create_task(self._look_at(name, seen))
                await asyncio.sleep(EVERY)

    def _due(self) -> Iterator[tuple[str, _Seen]]:
        generations = {name: kept.generation for _, name, kept in self.tenants.definitions()}
        now = self.now()
        if self._seen is None:
            self._seen = {each: _Seen(at, now, now + LATE) for each, at in generations.items()}
        known = self._seen
        self._seen = {
            name: known[name] if _is_same(known.get(name), at) else _Seen(at, now)
            for name, at in generations.items()
        }
        for name, seen in self._seen.items():
            if name not in self._busy and seen.is_due(now):
                self._busy.add(name)
                yield name, seen

    async def _look_at(self, name: str, seen: _Seen) -> None:
        try:
            async with self._slots[tenant_of_definition(name)]:
                await self._check(name, seen)
        except ClusterError as error:
            about = log_fields(name) | {"error": str(error)}
            log.warning("a definition that has changed was not looked at", extra=about)
        finally:
            self._busy.discard(name)

    async def _check(self, name: str, seen: _Seen) -> None:
        began, found = self.now(), find_kind(self.tenants, name)
        if found is None:  # it is not served, or not known to be
            seen.looked = began if began - seen.since >= LATE else seen.looked
            return
        version = await missing_version(self.upstream, *found)
        if version is None:
            return
        seen.looked, seen.failures = began, seen.failures + 1 if version else 0
        if not version:
            await self._restore(name)
        elif seen.failures >= FAILURES:
            await self._stop(name, version)

    async def _stop(self, name: str, version: str) -> None:
        """Serve no version of a kind, and say why."""
        found = await read_definition(self.client, name, _definition)
        if found is None:
            return
        path, before = CUSTOM_RESOURCE_DEFINITION.path(name), found.metadata.resource_version
        try:
            if not await patch_definition(self.client, path, before, found.unserving):
                return
        except NoRoom:
            await make_room(self.client, name)
            return
        log.warning("a kind of an LCluster lacks a version of its objects", extra=log_fields(name))
        if found := await read_definition(self.client, name, _definition):
            condition = true_condition(TYPE, "NotListed", _MESSAGE.format(version))
            added = {"op": "add", "path": "/status/conditions/-", "value": condition}
            operations = [*found.removal, added]
            before = found.metadata.resource_version
            await patch_definition(self.client, f"{path}/status", before, operations)

    async def _restore(self, name: str) -> None:
        """Remove the condition of a kind that can be listed."""
        found = await read_definition(self.client, name, _definition)
        if found and found.removal:
            path = f"{CUSTOM_RESOURCE_DEFINITION.path(name)}/status"
            await patch_definition(
                self.client, path, found.metadata.resource_version, found.removal
            )


def _is_same(seen: _Seen | None, generation: int) -> bool:
    return seen is not None and seen.generation == generation
