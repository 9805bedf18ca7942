"""Confine ResourceSlices, of which the scheduler reads each one for every claim of devices.

A slice with a selector of nodes that cannot be parsed (``Gt`` of a word) kept the scheduler from
allocating any device of the cluster, and so did one for all nodes whose pool was not complete from
allocating all devices of a class.
"""

from dataclasses import dataclass
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    ConfinementRule,
    PinnedField,
    prefixed,
)


def _no_node(_: Any, view: TenantView) -> Any:
    """Return a selector of nodes for a name that no node has."""
    name = {"key": "metadata.name", "operator": "In", "values": [f"lcluster.{view.tenant}"]}
    return {"nodeSelectorTerms": [{"matchFields": [name]}]}


@dataclass(frozen=True)
class _NodesOfSlice(PinnedField):
    """The nodes of a slice, unless it is for one node, which has a prefix."""

    def _added(self, subject: ConfinedBody) -> bool:
        spec = subject.body.get("spec")
        one = isinstance(spec, dict) and spec.get("nodeName")
        return super()._added(subject) and not one


RESOURCE_SLICE_RULES: tuple[ConfinementRule, ...] = (
    # The driver too: a newer generation of a pool makes the scheduler forget the others.
    prefixed(("spec", "driver")),
    prefixed(("spec", "nodeName")),
    PinnedField(("spec", "devices"), lambda _, __: [], default=[]),
    # These make the scheduler read a slice whatever nodes it selects.
    PinnedField(("spec", "sharedCounters"), lambda _, __: None),
    PinnedField(("spec", "perDeviceNodeSelection"), lambda _, __: None),
    PinnedField(("spec", "allNodes"), lambda _, __: None),
    _NodesOfSlice(("spec", "nodeSelector"), _no_node, always=True),
)
