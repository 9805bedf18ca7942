"""The managers of fields that the gateway adds to a server-side apply.

The gateway adds required fields to an apply. Where another manager owns such a field already,
adding it would be a conflict with that manager, or with force take its value away.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lnamespace.translate.objects.confinement.kinds import rules_of
from lnamespace.translate.objects.confinement.namespaces import PodSecurityRule, kept_as
from lnamespace.translate.objects.confinement.rules import (
    Object,
    Path,
    PinnedField,
    RenamedKey,
    labels,
)
from lnamespace.translate.protocol.resources import ResourceType


@dataclass(frozen=True)
class FieldApplier:
    """The manager of an apply, for one subresource."""

    manager: str
    subresource: str = ""

    def is_entry(self, entry: Object) -> bool:
        """Return whether an entry of managed fields is of this manager's applies."""
        found = (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "")
        return found == (self.manager, "Apply", self.subresource)


def adds_fields(resource: ResourceType) -> bool:
    """Return whether an apply of a resource gets fields that its manager did not write."""
    return any(_added_paths(resource))


def fields_of_others(
    resource: ResourceType, stored: Object, applier: FieldApplier
) -> frozenset[Path]:
    """Return the fields that the gateway would add and another manager owns.

    Parameters
    ----------
    stored
        The object in upstream spelling.
    """
    others = [each for each in _entries(stored) if not applier.is_entry(each)]
    return frozenset(
        path
        for path in _added_paths(resource)
        if any(_owns(each.get("fieldsV1"), path) for each in others)
    )


def fields_added_by_gateway(resource: ResourceType, stored: Object) -> frozenset[str]:
    """Return the fields that the gateway added and no manager of the tenant's wrote.

    They are written as conflicts of a server-side apply name them.
    """
    if not any(isinstance(each, PodSecurityRule) for each in rules_of(resource)):
        return frozenset()
    found = labels(stored)
    keys = (path[-1] for path in PodSecurityRule().paths)
    return frozenset(f".metadata.labels.{key}" for key in keys if kept_as(key) not in found)


def written_fields(resource: ResourceType) -> Mapping[str, str]:
    """Return the tenant's fields by the fields that keep them upstream, as conflicts name them."""
    fields = {}
    for rule in rules_of(resource):
        if isinstance(rule, PinnedField):
            fields[f".metadata.annotations.{rule.kept_as}"] = "." + ".".join(rule.path)
        elif isinstance(rule, RenamedKey):
            fields[f".metadata.annotations.{rule.kept_as}"] = f".metadata.annotations.{rule.key}"
        elif isinstance(rule, PodSecurityRule):
            keys = [path[-1] for path in rule.paths]
            fields |= {f".metadata.labels.{kept_as(k)}": f".metadata.labels.{k}" for k in keys}
    return fields


def _added_paths(resource: ResourceType) -> Iterator[Path]:
    for rule in rules_of(resource):
        if isinstance(rule, PinnedField | PodSecurityRule):
            yield from rule.paths


def _entries(stored: Object) -> Sequence[Object]:
    metadata = stored.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _owns(fields: Any, path: Path) -> bool:
    for key in path:
        if not isinstance(fields, dict):
            return False
        fields = fields.get(f"f:{key}")
    return fields is not None
