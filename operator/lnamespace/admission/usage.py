"""How many LNamespaces or LClusters each account has, so that admission can refuse one too many.

Each replica watches them and keeps the accounts alone. The watch may be a moment behind: what
passes for it gets no Namespace, since the controller decides in the end
(docs/decisions/0019-limit.md). No request waits for the watch.
"""

from collections import Counter

import msgspec

from lnamespace.access.limit import RequesterLimits
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store


class CountedObject(msgspec.Struct, frozen=True):
    """An object's name, its resource version and the account to which it counts."""

    key: Key
    version: int
    account: str


class _CountedSpec(msgspec.Struct, frozen=True):
    requester: str = ""
    counted_to: str = msgspec.field(default="", name="countedTo")


class _DecodedObject(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: _CountedSpec | None = None


_decoder = msgspec.json.Decoder(_DecodedObject)


class Usage:
    """The number of objects of one kind by account."""

    def __init__(self, limits: RequesterLimits) -> None:
        self._limits = limits
        self._used: Counter[str] = Counter()
        self.store: Store[CountedObject] = Store(self._changed)
        """The objects by name."""

    def exceeded(self, account: str) -> str:
        """Return why the account may have no further one; empty if it may."""
        return self._limits.exceeded(account, self._used[self._limits.account(account)])

    def reflector(self, client: Client, resource: Resource) -> Reflector[CountedObject]:
        """Return the reflector that keeps the counts current while it runs."""
        return Reflector(client, resource, self.store, decode_counted)

    def _changed(self, old: CountedObject | None, new: CountedObject | None) -> None:
        if old:
            self._used[self._limits.account(old.account)] -= 1
        if new:
            self._used[self._limits.account(new.account)] += 1


def decode_counted(raw: bytes | msgspec.Raw) -> CountedObject:
    """Decode the name, resource version and account of an object."""
    found = answers.decode(_decoder, raw)
    spec = found.spec or _CountedSpec()
    version = answers.version_of(found.metadata.resource_version)
    return CountedObject(("", found.metadata.name), version, spec.counted_to or spec.requester)
