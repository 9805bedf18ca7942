"""How many LNamespaces everybody has, for a refusal at the door.

A watch of the door's own, of which only the requesters are kept. It may be a moment behind, and
each replica has one for itself: what slips through gets no Namespace, for the controller decides
(docs/decisions/0019-limit.md). It never makes anybody wait.
"""

from collections import Counter

import msgspec

from lnamespace.access.limit import RequesterLimits
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store


class Holding(msgspec.Struct, frozen=True):
    """That there is an LNamespace, and who asked for it."""

    key: Key
    version: int
    account: str


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str


class _Spec(msgspec.Struct, frozen=True):
    requester: str = ""
    counted_to: str = msgspec.field(default="", name="countedTo")


class _LNamespace(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec | None = None


_decoder = msgspec.json.Decoder(_LNamespace)


class Holdings:
    """The numbers by account."""

    def __init__(self, limits: RequesterLimits) -> None:
        self._limits = limits
        self._used: Counter[str] = Counter()
        self.store: Store[Holding] = Store(self._changed)
        """What there is, by name."""

    def exceeded(self, account: str) -> str:
        """Return why no further one is counted to the account, or nothing."""
        return self._limits.exceeded(account, self._used[self._limits.account(account)])

    def reflector(self, client: Client, resource: Resource) -> Reflector[Holding]:
        """What keeps the numbers true for as long as it runs."""
        return Reflector(client, resource, self.store, read)

    def _changed(self, old: Holding | None, new: Holding | None) -> None:
        if old:
            self._used[self._limits.account(old.account)] -= 1
        if new:
            self._used[self._limits.account(new.account)] += 1


def read(raw: bytes | msgspec.Raw) -> Holding:
    """Keep of an LNamespace whose it is."""
    found = answers.decode(_decoder, raw)
    spec = found.spec or _Spec()
    version = answers.version_of(found.metadata.resource_version)
    return Holding(("", found.metadata.name), version, spec.counted_to or spec.requester)
