"""A cache of all PersistentVolumes, by one watch for all tenants.

It sums up the storage of each tenant, which is the capacity of the volumes that are claimed in its
namespaces, and knows whether the platform's policy has labelled all of them.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from lnamespace.kube.answers import version_of
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import PERSISTENT_VOLUME
from lnamespace.kube.store import Store
from lnamespace.model.lcluster import tenant_of_name
from lnamespace.model.quantities import parse_quantity
from lnamespace.translate.names.tenant_view import is_provisioned
from lnamespace.translate.objects.labels import CLAIMED_BY


class _VolumeMeta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str = "0"
    labels: dict[str, str] | None = None


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
    """The size of a PersistentVolume in bytes, and in which namespace it is claimed.

    Parameters
    ----------
    marked
        The tenant in its label ``claimed-by``; empty without it.
    """

    key: Key
    version: int
    namespace: str
    size: float
    marked: str = ""

    @property
    def tenant(self) -> str:
        """Return the tenant of the claim's namespace, by its name."""
        return tenant_of_name(self.namespace)

    @property
    def lacks_mark(self) -> bool:
        """Return whether a list of the tenant's marked volumes would leave it out."""
        return is_provisioned(self.key[1]) and bool(self.tenant) and self.marked != self.tenant


_decode = msgspec.json.Decoder(_Volume).decode


def read_volume(raw: bytes | msgspec.Raw) -> VolumeSize:
    """Read a PersistentVolume.

    Raises
    ------
    ValueError
        The object is not a PersistentVolume.
    """
    found = _decode(raw)
    meta, spec = found.metadata, found.spec
    size = _size(spec.capacity.get("storage", ""))
    version = version_of(meta.resource_version)
    marked = (meta.labels or {}).get(CLAIMED_BY, "")
    return VolumeSize(("", meta.name), version, spec.claim_ref.namespace, size, marked)


def _size(text: str) -> float:
    try:
        return float(parse_quantity(text))
    except ValueError:
        return 0.0


class VolumeSizes:
    """All PersistentVolumes, kept current."""

    def __init__(self, client: Client) -> None:
        self._unmarked: Counter[str] = Counter()
        self._store = Store[VolumeSize](self._count)
        self._reflector = Reflector(client, PERSISTENT_VOLUME, self._store, read_volume)

    async def run(self) -> None:
        """Follow the PersistentVolumes for ever."""
        await self._reflector.run()

    def by_tenant(self) -> Mapping[str, float]:
        """Return the claimed bytes by the tenant that a namespace's name begins with."""
        found: dict[str, float] = defaultdict(float)
        for volume in self._store:
            found[volume.tenant] += volume.size
        return found

    def all_marked(self, tenant: str) -> bool:
        """Return whether the cache has synced, and all volumes of the tenant have its label."""
        return self._reflector.synced.is_set() and not self._unmarked[tenant]

    def _count(self, old: VolumeSize | None, new: VolumeSize | None) -> None:
        for volume, step in ((old, -1), (new, 1)):
            if volume and volume.lacks_mark:
                self._unmarked[volume.tenant] += step
