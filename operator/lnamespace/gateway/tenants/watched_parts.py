"""The parts of watched objects that the gateway keeps.

Tenants write these objects, and every replica keeps all of them for as long as they exist: 100
CustomResourceDefinitions of 1 MB, of which only the names are used, were 100 MB.
"""

import logging
from collections import defaultdict
from dataclasses import dataclass, field, replace

import msgspec
from msgspec import Raw
from msgspec.json import Decoder, encode

from lnamespace.gateway.definitions.conversion_marks import marked_since
from lnamespace.gateway.definitions.conversion_paths import ConversionState, conversion_of
from lnamespace.gateway.definitions.definition import decode_definition
from lnamespace.gateway.tenants.embedding_schemas import SchemaState, withheld_since
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.kube.objects import Key
from lnamespace.translate.objects.aggregation import KEPT_AS
from lnamespace.translate.objects.confinement.embedded_objects import embeds_objects
from lnamespace.translate.objects.confinement.schema_sizes import schemas_of
from lnamespace.translate.objects.default_classes import DEFAULT_MARKS

RBAC_BYTES = 8 * 1024 * 1024
"""The bytes of one tenant's Roles and bindings that are kept; decoded they take five times more."""

_COUNTED = 10_000
"""Generations of definitions whose schemas are not counted anew."""

_Id = tuple[str, Key]
_members = Decoder(dict[str, Raw]).decode
_annotations = Decoder(dict[str, Raw] | None).decode

log = logging.getLogger(__name__)


class _SharedClassMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    creation_timestamp: str = ""
    annotations: dict[str, str] = {}


class _SharedClass(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: _SharedClassMeta
    global_default: bool = False


_class = Decoder(_SharedClass).decode


class KeptDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a CustomResourceDefinition, besides its name and its tenant.

    Parameters
    ----------
    marked
        When it was marked; empty if it is not.
    schemas
        The size of the schemas of a tenant's.
    generation
        Of its spec.
    state
        Whether its schemas embed objects, or are withheld.
    deleted
        Whether it is being deleted.
    """

    marked: str = ""
    schemas: int = 0
    conversion: ConversionState = ConversionState()
    generation: int = 0
    state: SchemaState = SchemaState()
    deleted: bool = False

    @classmethod
    def of(cls, item: WatchedObject) -> "KeptDefinition":
        """Return the kept part of a definition."""
        return _kept(item.raw)


_kept = Decoder(KeptDefinition).decode


@dataclass(frozen=True)
class PartReader:
    """A decoder of watched objects that keeps the parts that are used.

    Parameters
    ----------
    label
        The label whose value is the tenant: the only one that is read from every object.
    """

    label: str
    _counted: dict[tuple[str, int], tuple[int, bool]] = field(default_factory=dict)
    """By UID and generation: the size of a definition's schemas, and whether they embed objects.

    Labels change more often, and a size takes 30 ms.
    """

    def metadata(self, raw: bytes | Raw) -> WatchedObject:
        """Read an object of which its name and its tenant are used."""
        item = read_watched(raw)
        return replace(item, raw=b"", labels=self._own(item))

    def definition(self, raw: bytes | Raw) -> WatchedObject:
        """Read a CustomResourceDefinition: its name, its tenant, and :class:`KeptDefinition`."""
        item, found = self.metadata(raw), decode_definition(raw)
        # Those of the platform nobody bounds.
        version = found.metadata.uid, found.metadata.generation
        size, embeds = self._schemas(raw, version) if self.label in item.labels else (0, False)
        kept = KeptDefinition(
            marked_since(found),
            size,
            conversion_of(found),
            found.metadata.generation,
            SchemaState(embeds, withheld_since(found)),
            bool(found.metadata.deletion_timestamp),
        )
        return replace(item, raw=encode(kept))

    def _schemas(self, raw: bytes | Raw, version: tuple[str, int]) -> tuple[int, bool]:
        if version not in self._counted:
            if len(self._counted) >= _COUNTED:
                self._counted.clear()
            self._counted[version] = schemas_of(raw) or 0, embeds_objects(raw)
        return self._counted[version]

    def shared_class(self, raw: bytes | Raw) -> WatchedObject:
        """Read a class: its labels, and whether it is a default."""
        item, found = read_watched(raw), _class(raw)
        labels = self._own(item) or item.labels
        marks = found.metadata.annotations.items()
        found.metadata.annotations = {key: mark for key, mark in marks if key in DEFAULT_MARKS}
        return replace(item, raw=encode(found), labels=labels)

    def rbac(self, raw: bytes | Raw) -> WatchedObject:
        """Read a Role or a binding without managed fields, and only with the gateway's annotation.

        The annotation has the aggregation rule of a ClusterRole.
        """
        item, members = read_watched(raw), _members(raw)
        metadata = _members(members["metadata"])
        metadata.pop("managedFields", None)
        annotations = _annotations(metadata.pop("annotations", Raw(b"null"))) or {}
        if KEPT_AS in annotations:
            metadata["annotations"] = Raw(encode({KEPT_AS: annotations[KEPT_AS]}))
        labels = {} if item.namespace else self._own(item) or item.labels
        return replace(item, raw=encode(members | {"metadata": metadata}), labels=labels)

    def _own(self, item: WatchedObject) -> dict[str, str]:
        return {self.label: item.labels[self.label]} if self.label in item.labels else {}


@dataclass
class RbacBudget:
    """The limit of the bytes of each tenant's Roles and bindings.

    An object beyond the bound is kept by its name only and gives no rights, until it changes or the
    gateway starts anew while there is room.
    """

    most: int = RBAC_BYTES
    _sizes: dict[str, dict[_Id, int]] = field(default_factory=lambda: defaultdict(dict))
    _totals: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def kept(self, tenant: str, plural: str, item: WatchedObject) -> WatchedObject:
        """Count the bytes of an object; return it, empty if its LCluster has too many."""
        self.remove(tenant, plural, item.key)
        size = len(item.raw)
        if self._totals[tenant] + size > self.most:
            about = {"lcluster": tenant, "kind": plural, "object": item.name}
            log.warning(
                "the RBAC objects of an LCluster are too long: one is left out", extra=about
            )
            return replace(item, raw=b"")
        self._sizes[tenant][plural, item.key] = size
        self._totals[tenant] += size
        return item

    def remove(self, tenant: str, plural: str, key: Key) -> None:
        """Stop counting an object."""
        size = self._sizes[tenant].pop((plural, key), 0)
        self._totals[tenant] -= size
        if not self._sizes[tenant]:
            del self._sizes[tenant], self._totals[tenant]
