"""How much storage each tenant has: the capacity of the volumes that are bound in its namespaces.

The platform's PersistentVolumes say it, so one watch is enough for all tenants.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.kube.answers import version_of
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store
from lnamespace.model.lcluster import tenant_of_name
from lnamespace.model.quantities import parse_quantity

PERSISTENT_VOLUME = Resource("", "v1", "PersistentVolume", "persistentvolumes")


class _VolumeMeta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str = "0"


class _Claim(msgspec.Struct, frozen=True):
    namespace: str = ""


class _VolumeSpec(msgspec.Struct, frozen=True, rename="camel"):
    capacity: dict[str, str] = {}
    claim_ref: _Claim = _Claim()


class _Volume(msgspec.Struct, frozen=True):
    metadata: _VolumeMeta
    spec: _VolumeSpec = _VolumeSpec()


@dataclass(frozen=True)
class VolumeSize:
    """The size of a PersistentVolume in bytes, and in which namespace it is claimed."""

    key: Key
    version: int
    namespace: str
    size: float


_decode = msgspec.json.Decoder(_Volume).decode


def read_volume(raw: bytes | msgspec.Raw) -> VolumeSize:
    """Read a PersistentVolume.

    Raises
    ------
    ValueError
        It is none.
    """
    found = _decode(raw)
    meta, spec = found.metadata, found.spec
    size = _size(spec.capacity.get("storage", ""))
    version = version_of(meta.resource_version)
    return VolumeSize(("", meta.name), version, spec.claim_ref.namespace, size)


def _size(text: str) -> float:
    try:
        return float(parse_quantity(text))
    except ValueError:
        return 0.0


@dataclass(frozen=True)
class VolumeSizes:
    """The sizes of all PersistentVolumes, kept current."""

    client: Client
    _store: Store[VolumeSize] = field(default_factory=lambda: Store[VolumeSize](_ignore))

    async def run(self) -> None:
        """Follow the PersistentVolumes for ever."""
        await Reflector(self.client, PERSISTENT_VOLUME, self._store, read_volume).run()

    def by_tenant(self) -> Mapping[str, float]:
        """Return the bytes that are claimed in namespaces that begin as those of a tenant."""
        found: dict[str, float] = defaultdict(float)
        for volume in self._store:
            found[tenant_of_name(volume.namespace)] += volume.size
        return found


def _ignore(_old: object, _new: object) -> None:
    """Do nothing at a change: the sizes are summed up when somebody asks."""
