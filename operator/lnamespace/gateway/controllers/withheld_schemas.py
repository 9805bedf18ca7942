"""Withhold schemas for which nobody can list a kind of a tenant (decision 0069).

Kubernetes lists every kind before a Namespace is gone. Where a value is an object of its own in a
version (``x-kubernetes-embedded-resource``), and was stored when it was none, or is stored in a
version in which it is none, no list in that version succeeds. Then every version has a schema for
whatever there is, and its tenant can write no other for some hours.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from lnamespace.gateway.controllers.checks import DefinitionChecks
from lnamespace.gateway.controllers.listed_kinds import find_kind, list_failure, memory_failure
from lnamespace.gateway.definitions.conversion_marks import log_fields, tenant_of_definition
from lnamespace.gateway.definitions.definition import (
    NULL,
    CustomResourceDefinition,
    DefinitionVersion,
)
from lnamespace.gateway.definitions.definition_patches import (
    Operation,
    at_version,
    patch_definition,
    read_definition,
    true_condition,
)
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.embedding_schemas import (
    OPEN_SCHEMA,
    WITHHELD,
    SchemaState,
    withheld_condition,
)
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION

EVERY = 5.0
LOOK = 30.0
"""Seconds between two lists of a kind whose schemas embed objects."""
HELD = 6 * 3600.0
"""Seconds for which schemas are withheld. So long no kind of the same LCluster is listed before."""
_AT_ONCE = 4
_OF_VALUE = ": Invalid value: "
"""In what the API server says of a value that is no object; no webhook says it."""
_MESSAGE = (
    "no object could be listed in all versions, for one has a value that is not what "
    "x-kubernetes-embedded-resource says: spec.versions stays as it is for six hours, with schemas "
    "that allow anything"
)

log = logging.getLogger(__name__)


@dataclass
class WithheldSchemas:
    """The definitions whose schemas are withheld, and those that may become so.

    Every replica does so, and the first one wins.
    """

    tenants: Tenants
    upstream: Upstream
    client: Client
    now: Callable[[], float] = time.monotonic
    _looked: dict[str, float] = field(default_factory=dict)
    _withheld: dict[str, float] = field(default_factory=dict)
    """When one was last withheld of each tenant that has such."""
    _left: dict[str, float] = field(default_factory=dict)
    """Since when the LCluster of a definition has been gone (``deletionPolicy: Retain``)."""
    _checks: DefinitionChecks = field(default_factory=lambda: DefinitionChecks(_AT_ONCE))

    async def run(self) -> None:
        """Look at them for ever, and at once at one that has changed."""
        async with asyncio.TaskGroup() as group:
            while True:
                for name, state in self._due():
                    group.create_task(self._checks.finish(name, self._check(name, state)))
                await self.tenants.embedding.wait(EVERY)

    def _due(self) -> Iterator[tuple[str, SchemaState]]:
        states, now = self.tenants.embedding.states(), self.now()
        self._looked = {name: at for name, at in self._looked.items() if name in states}
        lately = {each: at for each, at in self._withheld.items() if now - at < HELD}
        there = (tenant_of_definition(name) for name, state in states.items() if state.withheld)
        self._withheld = dict.fromkeys(there, now) | lately
        self._left = {each: self._left.get(each, now) for each in states if self._is_left(each)}
        for name, state in states.items():
            waits = LOOK if state.embeds and not self._at_once(name) else 0.0
            due = now - self._looked.get(name, float("-inf")) >= waits
            if due and self._checks.begin(name):
                self._looked[name] = now
                yield name, state

    def _at_once(self, name: str) -> bool:
        """Return whether they are withheld without a list, as others of the same LCluster were."""
        return tenant_of_definition(name) in self._withheld

    def _is_left(self, name: str) -> bool:
        return self.tenants.has_synced and self.tenants.get(tenant_of_definition(name)) is None

    async def _check(self, name: str, state: SchemaState) -> None:
        if not state.embeds:
            await self._release(name, state)
        elif self._at_once(name) or await self._fails(name):
            await self._withhold(name)

    async def _fails(self, name: str) -> bool:
        found = find_kind(self.tenants, name)
        if found is None:
            # Nobody may list what an LCluster has left, and its programs go on writing.
            return self.now() - self._left.get(name, self.now()) >= LOOK
        async with self._checks.list_slot(name):
            for look in (memory_failure, list_failure):
                failure = await look(self.upstream, *found)
                if failure is not None and (not failure or _OF_VALUE in failure):
                    return bool(failure)
        return False

    async def _withhold(self, name: str) -> None:
        """Write open schemas, and the condition by which the platform's policy keeps them.

        Its tenant may write other ones in between: if they embed objects, they are not kept either.
        """
        self._withheld[tenant_of_definition(name)] = self.now()
        found = await read_definition(self.client, name)
        if found is None:
            return
        path = CUSTOM_RESOURCE_DEFINITION.path(name)
        opening = _opening(found)
        if opening and not await patch_definition(self.client, path, "", opening):
            return
        log.warning("a kind of an LCluster cannot be listed by its schemas", extra=log_fields(name))
        found = await read_definition(self.client, name)
        if found and withheld_condition(found) is None:
            condition = true_condition(WITHHELD, "NotListed", _MESSAGE)
            added = {"op": "add", "path": "/status/conditions/-", "value": condition}
            await patch_definition(self.client, f"{path}/status", "", [added])

    async def _release(self, name: str, state: SchemaState) -> None:
        """Let its tenant write schemas again."""
        since = datetime.fromisoformat(state.withheld)
        if (datetime.now(UTC) - since).total_seconds() < HELD:
            return
        found = await read_definition(self.client, name)
        condition = found and withheld_condition(found)
        if found and condition:
            path = f"{CUSTOM_RESOURCE_DEFINITION.path(name)}/status"
            removed = {"op": "remove", "path": f"/status/conditions/{condition[0]}"}
            version = found.metadata.resource_version
            await patch_definition(self.client, path, version, [removed])


def _opening(definition: CustomResourceDefinition) -> list[Operation]:
    """Return the operations by which every version has an open schema."""
    return [
        operation
        for at, each in enumerate(definition.spec.versions)
        for opening in _opening_of(f"/spec/versions/{at}", each)
        for operation in at_version(at, each.name, opening)
    ]


def _opening_of(path: str, version: DefinitionVersion) -> Iterator[Operation]:
    if msgspec.json.decode(version.schema) != OPEN_SCHEMA:
        yield {"op": "replace", "path": f"{path}/schema", "value": OPEN_SCHEMA}
    if version.selectable_fields != NULL:
        yield {"op": "remove", "path": f"{path}/selectableFields"}
