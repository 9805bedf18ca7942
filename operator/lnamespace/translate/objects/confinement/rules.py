"""Rules that confine one field of an object, and restore it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.originals import decode_original, encode_original
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Cause, Refused, invalid

ORIGINAL = LCLUSTER_KEYS + "original"
"""The annotation in which the gateway keeps what a tenant wrote; the path of the field follows."""

MAX_BODY = 3 << 20
"""Bytes of a body that the API server takes. One that becomes longer by being confined is refused
while it does: names in 3 MB of expressions became 38 MB, and took the thread that all share for
six seconds."""

Path = tuple[str, ...]
Object = dict[str, Any]


class Form(Enum):
    """The form of a body, which decides about fields that it lacks."""

    WHOLE = auto()
    """The object: missing fields are removed."""
    APPLY = auto()
    """Server-side apply: missing fields that this manager applied before are removed."""
    MERGE = auto()
    """A merge patch: lists are replaced, missing fields stay."""
    STRATEGIC = auto()
    """A strategic merge patch: lists are merged by key, missing fields stay."""

    @property
    def complete(self) -> bool:
        """Return whether a field that the body lacks may be removed upstream."""
        return self in {Form.WHOLE, Form.APPLY}


@dataclass(frozen=True)
class ConfinedBody:
    """An object that is being confined, and its context.

    Parameters
    ----------
    owned_by_others
        Fields that another manager owns, and that are not added to an apply.
    """

    body: Object
    resource: ResourceType
    view: TenantView
    form: Form = Form.WHOLE
    owned_by_others: frozenset[Path] = frozenset()

    @property
    def name(self) -> str:
        """Return the name in upstream spelling; empty if a patch has none."""
        metadata = self.body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return name if isinstance(name, str) else ""

    def refuse(self, field: str, why: str) -> Refused:
        """Return a refusal of one field, as the API server's validation writes it."""
        name = self.view.name_down(self.resource, self.name) or ""
        cause = Cause("FieldValueForbidden", f"Forbidden: {why}", field)
        return invalid(self.resource.group, self.resource.kind, name, [cause])


class ConfinementRule(Protocol):
    """A rule that confines and restores one field, or some that belong together."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths of the fields; ``*`` stands for each element of a list."""

    def confine(self, subject: ConfinedBody) -> None:
        """Change the body so that it acts on its tenant only."""

    def restore(self, subject: ConfinedBody) -> None:
        """Change the body back to what the tenant wrote."""


def parents(body: Any, path: Path) -> Iterator[Object]:
    """Yield the objects that have, or may have, the last key of a path."""
    if len(path) == 1:
        if isinstance(body, dict):
            yield body
    elif path[0] == "*":
        for element in body if isinstance(body, list) else ():
            yield from parents(element, path[1:])
    elif isinstance(body, dict):
        yield from parents(body.get(path[0]), path[1:])


def annotations(body: Object, *, make: bool = False) -> Object:
    """Return the annotations of an object; without ``make`` a new map is not added to it."""
    return metadata_map(body, "annotations", make=make)


def labels(body: Object, *, make: bool = False) -> Object:
    """Return the labels of an object; without ``make`` a new map is not added to it."""
    return metadata_map(body, "labels", make=make)


def metadata_map(body: Object, key: str, *, make: bool = False) -> Object:
    """Return a map of the metadata; without ``make`` a new map is not added to the object."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
        if make:
            body["metadata"] = metadata
    found = metadata.get(key)
    if not isinstance(found, dict):
        found = {}
        if make:
            metadata[key] = found
    return found


@dataclass(frozen=True)
class _FieldRule:
    """A rule for one field."""

    path: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the path of the field."""
        return (self.path,)


class RefusingRule:
    """A rule that refuses objects and changes none, so it restores nothing."""

    def restore(self, subject: ConfinedBody) -> None:
        """Leave the object as it is."""


@dataclass(frozen=True)
class MappedField(_FieldRule):
    """A field whose value is translated so that no component of the platform acts on it.

    Both directions are functions of the value alone, and one-to-one: an immutable field stays
    immutable, and no original has to be kept.
    """

    up: Callable[[str, TenantView], str]
    down: Callable[[str, TenantView], str]

    def confine(self, subject: ConfinedBody) -> None:
        """Write the upstream value."""
        self._map(subject, self.up)

    def restore(self, subject: ConfinedBody) -> None:
        """Write the tenant's value."""
        self._map(subject, self.down)

    def _map(self, subject: ConfinedBody, direction: Callable[[str, TenantView], str]) -> None:
        key = self.path[-1]
        for parent in parents(subject.body, self.path):
            value = parent.get(key)
            if isinstance(value, str) and value:
                parent[key] = direction(value, subject.view)


def prefixed(
    path: Path, allowed: Callable[[TenantView], frozenset[str]] | None = None
) -> MappedField:
    """Return a rule that puts the tenant's prefix before a value that is not allowed."""

    def is_allowed(value: str, view: TenantView) -> bool:
        return allowed is not None and value in allowed(view)

    def up(value: str, view: TenantView) -> str:
        return value if is_allowed(value, view) else view.prefix + value

    def down(value: str, view: TenantView) -> str:
        return value if is_allowed(value, view) else value.removeprefix(view.prefix)

    return MappedField(path, up, down)


@dataclass(frozen=True)
class RenamedKey:
    """An annotation that the platform would act on, kept under a key of the gateway."""

    key: str

    @property
    def kept_as(self) -> str:
        """Return the key upstream."""
        return LCLUSTER_KEYS + self.key.replace("/", ".")

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the path of the key."""
        return (("metadata", "annotations", self.key),)

    def confine(self, subject: ConfinedBody) -> None:
        """Rename the key to the gateway's."""
        self._rename(subject.body, self.key, self.kept_as)

    def restore(self, subject: ConfinedBody) -> None:
        """Rename the key back."""
        self._rename(subject.body, self.kept_as, self.key)

    def _rename(self, body: Object, old: str, new: str) -> None:
        entries = annotations(body)
        if old in entries:
            entries[new] = entries.pop(old)


@dataclass(frozen=True)
class PinnedField(_FieldRule):
    """A field with a fixed harmless value upstream; the original is kept in an annotation.

    Parameters
    ----------
    value
        Returns the value upstream for the tenant's value.
    default
        The API server's default for a missing field; None if it has none.
    always
        Whether a missing field without a default is not harmless.
    """

    value: Callable[[Any, TenantView], Any]
    default: Any = None
    always: bool = False

    @property
    def kept_as(self) -> str:
        """Return the annotation that keeps the original."""
        return f"{ORIGINAL}.{'.'.join(self.path)}"

    def confine(self, subject: ConfinedBody) -> None:
        """Write the harmless value, and keep the original in the annotation."""
        key = self.path[-1]
        for parent in parents(subject.body, self.path):
            if key not in parent and not self._added(subject):
                continue
            written = parent.get(key)
            original = self.default if written is None else written
            parent[key] = self.value(original, subject.view)
            if parent[key] is None and subject.form.complete:
                del parent[key]
            keep = annotations(subject.body, make=True)
            keep[self.kept_as] = encode_original(original)

    def _added(self, subject: ConfinedBody) -> bool:
        """Return whether a missing field has to be added."""
        missed = subject.form.complete and self.path not in subject.owned_by_others
        return missed and (self.always or self.default is not None)

    def restore(self, subject: ConfinedBody) -> None:
        """Write the original, and remove the annotation."""
        kept = annotations(subject.body)
        original = kept.pop(self.kept_as, None)
        if not isinstance(original, str):
            return
        if not kept:
            del subject.body["metadata"]["annotations"]
        try:
            value = decode_original(original)
        except ValueError:
            return  # not written by a gateway
        for parent in parents(subject.body, self.path):
            parent[self.path[-1]] = value
            if value is None:
                parent.pop(self.path[-1])


@dataclass(frozen=True)
class ForbiddenField(RefusingRule, _FieldRule):
    """A field that a tenant cannot set, because it acts on everybody."""

    why: str
    harmless: tuple[Any, ...] = (None, "", False)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse the field."""
        for parent in parents(subject.body, self.path):
            value = parent.get(self.path[-1])
            if not any(value is each or value == each for each in self.harmless):
                raise subject.refuse(field_of(self.path), self.why)


@dataclass(frozen=True)
class ReadOnlyKind(RefusingRule):
    """A kind of which a tenant can write no object at all."""

    why: str

    paths = (("spec",),)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse the object."""
        raise subject.refuse("spec", self.why)


def field_of(path: Path) -> str:
    """Return a path as the API server writes it in refusals."""
    text = path[0]
    for key in path[1:]:
        text += f"[{key}]" if "/" in key else f".{key}"
    return text
