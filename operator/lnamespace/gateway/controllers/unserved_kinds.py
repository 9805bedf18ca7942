"""Stop serving a kind of a tenant in which nobody can list an object (decision 0069).

An object outlives its definition if its creation, which a webhook or a slow body holds for up to
34 s, ends after the definition is gone. A definition of the same name that lacks the version of the
object can be listed by nobody, and Kubernetes lists every kind before a Namespace is gone. What is
not served nobody lists.

Whoever wants to stop all deletions serves such a kind again at once, so the platform's policy
refuses that until the definition has the version. Then it is in ``status.storedVersions`` again,
and leaves the definition by no other way than any version.

Nor can anybody list a kind with an object that is nested as deeply as the API server takes it: its
managed fields are deeper, and the API server cannot read it again. A program in a pod may write it
at any time, so all kinds are listed again now and then, and soon where the API server said so of a
Namespace that is being deleted.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lnamespace.errors import ClusterError, NoRoom, TooLarge
from lnamespace.gateway.controllers.checks import DefinitionChecks
from lnamespace.gateway.controllers.listed_kinds import (
    DEEP,
    NO_NAMESPACE,
    TOO_DEEP,
    find_kind,
    missing_version,
)
from lnamespace.gateway.definitions.conversion_marks import log_fields, make_room
from lnamespace.gateway.definitions.definition import CustomResourceDefinition
from lnamespace.gateway.definitions.definition_patches import (
    Operation,
    at_version,
    patch_definition,
    read_definition,
    true_condition,
)
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION, NAMESPACE

EVERY = 5.0
LATE = 40.0
"""Seconds after which no creation is under way that began before a definition was as it is."""
AGAIN = 1800.0
HELD_UP = 10.0
"""Seconds after which each is listed again; the latter while a Namespace stays for one."""
TRIES = 10
"""Writes of a definition in turn, of which each is refused where its tenant has written since."""
TYPE = "StoredVersionMissing"
_MESSAGE = (
    "{}: objects are stored in these versions, which spec.versions does not have, so that no "
    "object could be listed, and no version is served now: add each with `served: false`, and "
    "serve the others again"
)
"""The platform's policy reads the names before the first colon."""
_SCOPED_MESSAGE = (
    "{}: an object of a definition of before, which was cluster-scoped, is in no namespace, so "
    "that no object could be listed, and no version is served any more"
)
_DEEP_MESSAGE = (
    "{}: an object is nested so deeply that the API server cannot read it again, so that no object "
    "could be listed, and no version is served any more"
)
_MESSAGES = {NO_NAMESPACE: _SCOPED_MESSAGE, TOO_DEEP: _DEEP_MESSAGE}
_NAMESPACES_BYTES = 4 * 1024 * 1024
_VERSION = re.compile(rf"{NO_NAMESPACE}|{TOO_DEEP}|[a-z][a-z0-9-]*")
_AT_ONCE, _ALL_AT_ONCE = 4, 32
"""Lists of one tenant's kinds at the same time, and of all tenants'."""
log = logging.getLogger(__name__)


@dataclass
class _Seen:
    """A definition as it was first seen with a generation."""

    generation: int
    since: float
    looked: float = float("-inf")

    def is_due(self, now: float, again: float) -> bool:
        """Return whether to list it: at once, when nothing is under way any more, or again."""
        late = now - self.since >= LATE and self.looked < self.since + LATE
        return self.looked < self.since or late or now - self.looked >= again


@dataclass
class UnservedKinds:
    """The definitions of tenants, of which each is listed when it has changed, and now and then.

    Every replica does so, and the first one wins.
    """

    tenants: Tenants
    upstream: Upstream
    client: Client
    now: Callable[[], float] = time.monotonic
    _seen: dict[str, _Seen] | None = None
    _checks: DefinitionChecks = field(
        default_factory=lambda: DefinitionChecks(_AT_ONCE, _ALL_AT_ONCE)
    )

    async def run(self) -> None:
        """Look at them, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                held_up = bool(self._seen) and await self._is_deletion_held_up()
                again = HELD_UP if held_up else AGAIN
                for name, seen in self._due(again):
                    group.create_task(self._checks.finish(name, self._check(name, seen)))
                await asyncio.sleep(EVERY)

    async def _is_deletion_held_up(self) -> bool:
        """Return whether a Namespace may stay for an object that is nested too deeply."""
        query = {"fieldSelector": "status.phase=Terminating", "resourceVersion": "0"}
        try:
            found = await self.client.get(NAMESPACE.path(), longest=_NAMESPACES_BYTES, **query)
        except TooLarge:
            return True
        except ClusterError:
            return False
        return DEEP.encode() in found

    def _due(self, again: float) -> Iterator[tuple[str, _Seen]]:
        generations = {name: kept.generation for _, name, kept in self.tenants.definitions()}
        now = self.now()
        if self._seen is None:
            # They are listed once: a creation may have been under way when no gateway ran.
            self._seen = {each: _Seen(at, now, now) for each, at in generations.items()}
        known = self._seen
        self._seen = {
            name: known[name] if _is_same(known.get(name), at) else _Seen(at, now)
            for name, at in generations.items()
        }
        for name, seen in self._seen.items():
            if seen.is_due(now, again) and self._checks.begin(name):
                yield name, seen

    async def _check(self, name: str, seen: _Seen) -> None:
        async with self._checks.list_slot(name):
            began, found = self.now(), find_kind(self.tenants, name)
            if found is None:  # it is not served, or not known to be
                seen.looked = began if began - seen.since >= LATE else seen.looked
                return
            version = await missing_version(self.upstream, *found)
        if version:
            await self._stop(name, version)
        elif version is not None and await self._restore(name):
            seen.looked = began

    async def _stop(self, name: str, version: str) -> None:
        """Say which version is missing, and serve no version of a kind.

        In the other order its tenant could serve it again in between.
        """
        try:
            for _ in range(TRIES):
                if not await self._continue_stop(name, version):
                    return
        except NoRoom:
            await make_room(self.client, name)

    async def _continue_stop(self, name: str, version: str) -> bool:
        """Take one of the steps; return False if there is none left."""
        found, path = (
            await read_definition(self.client, name),
            CUSTOM_RESOURCE_DEFINITION.path(name),
        )
        if found is None or version in _versions(found):  # it has just been added
            return False
        if version not in _missing(found):
            log.warning(
                "a kind of an LCluster lacks a version of its objects", extra=log_fields(name)
            )
            await patch_definition(self.client, f"{path}/status", "", _telling(found, version))
        elif unserving := _unserving(found):
            await patch_definition(self.client, path, "", unserving)
        else:
            return False
        return True

    async def _restore(self, name: str) -> bool:
        """Remove the condition of a kind that can be listed; return whether it has none."""
        found = await read_definition(self.client, name)
        removal = _removal(found) if found else []
        if found is None or not removal:
            return True
        if not _versions(found).issuperset(_missing(found)):
            return False
        path = f"{CUSTOM_RESOURCE_DEFINITION.path(name)}/status"
        operations = [*removal, *_storing(found)]
        return await patch_definition(
            self.client, path, found.metadata.resource_version, operations
        )


def _is_same(seen: _Seen | None, generation: int) -> bool:
    return seen is not None and seen.generation == generation


def _unserving(definition: CustomResourceDefinition) -> list[Operation]:
    """Return the operations by which no version is served."""
    return [
        operation
        for at, each in enumerate(definition.spec.versions)
        if each.served
        for operation in at_version(
            at, each.name, {"op": "replace", "path": f"/spec/versions/{at}/served", "value": False}
        )
    ]


def _versions(definition: CustomResourceDefinition) -> frozenset[str]:
    return frozenset(each.name for each in definition.spec.versions)


def _missing(definition: CustomResourceDefinition) -> list[str]:
    """Return the versions that the condition names; an earlier gateway named them elsewhere."""
    found = definition.condition(TYPE)
    names = found[1].message.partition(":")[0].split(",") if found else ()
    return [each for each in names if _VERSION.fullmatch(each)]


def _storing(definition: CustomResourceDefinition) -> list[Operation]:
    """Return the operations by which the missing versions are stored ones."""
    new = frozenset(_missing(definition)) - frozenset(definition.status.stored_versions or ())
    path = "/status/storedVersions/-"
    return [{"op": "add", "path": path, "value": each} for each in sorted(new)]


def _telling(definition: CustomResourceDefinition, version: str) -> list[Operation]:
    """Return the operations by which the condition names a version too."""
    names = [*_missing(definition), version]
    message = next((_MESSAGES[each] for each in names if each in _MESSAGES), _MESSAGE)
    condition = true_condition(TYPE, "NotListed", message.format(",".join(names)))
    added = {"op": "add", "path": "/status/conditions/-", "value": condition}
    return [*_removal(definition), added]


def _removal(definition: CustomResourceDefinition) -> list[Operation]:
    """Return the operations that remove the condition, if it is there."""
    found = definition.condition(TYPE)
    if found is None:
        return []
    place = f"/status/conditions/{found[0]}"
    there = {"op": "test", "path": f"{place}/type", "value": TYPE}
    return [there, {"op": "remove", "path": place}]
