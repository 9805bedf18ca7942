"""JSON patches of confined objects.

Each operation is confined as if its value were alone in a merge patch. The platform's admission
policies validate the result again, whatever the operations were.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.json import encode

from lnamespace.kube.json_pointer import keys_of, pointer_of
from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.kinds import confine, rules_of
from lnamespace.translate.objects.confinement.rules import (
    MAX_BODY,
    ORIGINAL,
    ConfinedBody,
    Form,
    Object,
    Path,
    PinnedField,
    RenamedKey,
    field_of,
    metadata_map,
)
from lnamespace.translate.objects.confinement.schema_defaults import (
    SCHEMA,
    BoundedDefaults,
    has_default,
    is_added_once,
)
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import bad_request

CONDITIONS = "matchConditions"
_MISSING = object()
_INDEX = re.compile("-|[0-9]+")
_SIGNED_INDEX = re.compile("[+-][0-9]+")
"""What else strconv.Atoi reads, by which the API server's library takes indexes; RFC 6901 does not
have it. Zeros may come first in both."""


def confine_operations(
    resource: ResourceType, subresource: str, operations: Sequence[Object], view: TenantView
) -> list[Object]:
    """Return the operations of a JSON patch, confined to the tenant.

    Parameters
    ----------
    operations
        The patch with values and pointers in upstream spelling.

    Raises
    ------
    Refused
        If an operation changes a part of a value that is kept elsewhere upstream, or moves it.
    """
    if subresource == "scale" or not rules_of(resource):
        return list(operations)
    confined: list[Object] = []
    size = 0
    for operation in operations:
        more = _Operation(operation, resource, view).confined(subresource)
        confined += more
        size += len(encode(more))
        if size > MAX_BODY:
            raise bad_request("the operations are too long together")
    return confined


@dataclass(frozen=True)
class _Operation:
    body: Object
    resource: ResourceType
    view: TenantView

    @cached_property
    def path(self) -> Path:
        return _tokens(self.body.get("path"))

    def confined(self, subresource: str) -> list[Object]:
        self._refuse_unclear()
        value = self.body.get("value")
        if not self.path and not isinstance(value, dict):
            raise bad_request("a JSON patch may replace an object by an object only")
        partial = confine(self.resource, subresource, _at(self.path, value), self.view, self._form)
        if self.body.get("op") in ("move", "copy"):
            return [self.body]
        beside = [] if self.body.get("op") == "test" else self._beside(partial)
        return [*self._here(partial), *beside]

    @property
    def _form(self) -> Form:
        """Return the form of the value: whole if it contains confined fields."""
        above = any(
            len(self.path) < len(path) and _begins(path, self.path)
            for rule in rules_of(self.resource)
            for path in rule.paths
        )
        return Form.WHOLE if above else Form.MERGE

    def _here(self, partial: Any) -> list[Object]:
        for rule in rules_of(self.resource):
            if isinstance(rule, RenamedKey) and rule.paths[0] == self.path:
                pointer = pointer_of((*self.path[:-1], rule.kept_as))
                return [self.body | {"path": pointer}]
        value = _value_at(self.path, partial)
        if self.body.get("op") == "remove":
            replaced = {"op": "replace", "path": self.body["path"], "value": value}
            return [self.body if value is None or value is _MISSING else replaced]
        return [self.body | {"value": value}]

    def _beside(self, partial: Any) -> list[Object]:
        """Return operations for the originals that are kept under keys of the gateway."""
        if not self.path:
            return []
        kept = {} if self.path[0] == "metadata" else self._originals(partial)
        if self.path[:2] == ("metadata", "labels") and len(self.path) > len(("metadata", "labels")):
            kept = _own_keys(partial, "labels")
        return [_keep(path, value) for path, value in kept.items()]

    def _originals(self, partial: Any) -> dict[Path, Any]:
        touched = {
            rule.kept_as
            for rule in rules_of(self.resource)
            if isinstance(rule, PinnedField) and _begins(rule.path, self.path)
        }
        own = _own_keys(partial, "annotations")
        return {path: value for path, value in own.items() if path[-1] in touched}

    def _refuse_unclear(self) -> None:
        subject = ConfinedBody({}, self.resource, self.view, Form.MERGE)
        self._refuse_condition(subject)
        moves = self.body.get("op") in ("move", "copy")
        ends = (self.path, _tokens(self.body.get("from"))) if moves else ()
        if any(_SIGNED_INDEX.fullmatch(each) for path in (self.path, *ends) for each in path):
            raise bad_request("an index in a JSON patch has no sign")
        for rule in rules_of(self.resource):
            if isinstance(rule, PinnedField):
                self._refuse_pinned(rule, subject)
            if isinstance(rule, BoundedDefaults):
                self._refuse_default(subject)
            for path in rule.paths:
                if any(_begins(each, path) or _begins(path, each) for each in ends):
                    raise subject.refuse(field_of(path), "add its value instead")

    def _refuse_condition(self, subject: ConfinedBody) -> None:
        """Refuse to change one match condition by its index: it may be the gateway's own."""
        if CONDITIONS not in self.path:
            return
        below = self.path[self.path.index(CONDITIONS) + 1 :]
        if below and not (len(below) == 1 and self.body.get("op") in ("add", "test")):
            raise subject.refuse(CONDITIONS, "replace all of it")

    def _refuse_default(self, subject: ConfinedBody) -> None:
        """Refuse to add defaults to a schema one by one: only their sum has a bound."""
        below = self.path[len(SCHEMA) :] if _begins(self.path, SCHEMA) else ()
        adds, value = self.body.get("op") in ("add", "replace"), self.body.get("value")
        if below and adds and has_default(below, value) and not is_added_once(below, value):
            raise subject.refuse(field_of(SCHEMA), "replace all of a schema that has defaults")

    def _refuse_pinned(self, rule: PinnedField, subject: ConfinedBody) -> None:
        """Refuse to change a part of a pinned value, or to remove its original."""
        below = len(self.path) > len(rule.path) and _begins(self.path, rule.path)
        same = self.path == rule.path and self.body.get("op") == "test"
        originals = ("metadata", "annotations", ORIGINAL)
        above = self.path and originals[: len(self.path)] == self.path
        if below or same:
            raise subject.refuse(field_of(rule.path), "replace all of it")
        if above and self.body.get("op") != "test":
            raise subject.refuse(field_of(self.path), "change single annotations instead")


def _tokens(pointer: Any) -> Path:
    if not isinstance(pointer, str):
        return ()
    return keys_of(pointer)


def _is_index(part: str) -> bool:
    return bool(_INDEX.fullmatch(part))


def _at(path: Path, value: Any) -> Any:
    """Return an object that has a value at a path; indexes are those of lists of one element."""
    for depth in reversed(range(len(path))):
        part = path[depth]
        value = [value] if depth and _is_index(part) else {part: value}
    return value


def _value_at(path: Path, value: Any) -> Any:
    for part in path:
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return _MISSING
    return value


def _own_keys(partial: Any, group: str) -> dict[Path, Any]:
    found = metadata_map(partial, group) if isinstance(partial, dict) else {}
    return {("metadata", group, key): found[key] for key in found if key.startswith(LCLUSTER_KEYS)}


def _keep(path: Path, value: Any) -> Object:
    if value is None:
        return {"op": "remove", "path": pointer_of(path)}
    return {"op": "add", "path": pointer_of(path), "value": value}


def _begins(path: Path, beginning: Path) -> bool:
    return len(path) >= len(beginning) and all(
        "*" in (one, other) or one == other for one, other in zip(path, beginning, strict=False)
    )
