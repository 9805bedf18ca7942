"""The definitions of tenants whose schemas embed objects, or are withheld."""

import asyncio
from collections.abc import Mapping

import msgspec

from lnamespace.gateway.definitions.definition import CustomResourceDefinition
from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.runtime.lifecycle import wait_at_most

OPEN_SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
"""The schema of a version in which everything is stored and shown."""
WITHHELD = "SchemasWithheld"
"""The type of the condition of a definition that has other schemas than its tenant wrote."""


class SchemaState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of the schemas of a definition.

    Parameters
    ----------
    embeds
        Whether a value may be an object of its own in a version.
    withheld
        When they were withheld; empty if they are not.
    """

    embeds: bool = False
    withheld: str = ""


def withheld_since(definition: CustomResourceDefinition) -> str:
    """Return when the schemas of a definition were withheld; empty if they are not."""
    found = withheld_condition(definition)
    return found[1] if found else ""


def withheld_condition(definition: CustomResourceDefinition) -> tuple[int, str] | None:
    """Return the place of the first condition that has a time, and the time."""
    for at, each in enumerate(definition.conditions):
        if each.type == WITHHELD and each.last_transition_time:
            return at, each.last_transition_time
    return None


class EmbeddingSchemas:
    """The definitions of all tenants whose schemas embed objects, or are withheld; from watches.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._states: dict[str, SchemaState] = {}
        self._changed = asyncio.Event()

    def states(self) -> Mapping[str, SchemaState]:
        """Return the state of each, by its name upstream."""
        return dict(self._states)

    def change(self, item: WatchedObject, state: SchemaState | None) -> None:
        """Update a definition as it is now; None if it is gone."""
        if state and state != SchemaState() and self._label in item.labels:
            self._states[item.name] = state
            self._changed.set()
        else:
            self._states.pop(item.name, None)

    async def wait(self, seconds: float) -> None:
        """Wait until one of them has changed, or until some seconds have passed."""
        await wait_at_most(self._changed, seconds)
        self._changed.clear()
