"""The account to which the creations of a ServiceAccount count: that of its Namespace.

The controller annotates each Namespace with the account to which its LNamespace counts. No tenant
can change the annotation, and it stays when the LNamespace goes and leaves its Namespace. One read
is therefore enough, however many namespaces were made from within others. The Namespaces of an
LCluster count to the account of that. The account is stamped into the new LNamespace or LCluster,
so that it still counts when the Namespace is gone.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from lnamespace.access.conventions import lcluster_resource
from lnamespace.access.limit import RequesterLimits
from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.kube.store import Store
from lnamespace.model.lcluster import decode_lcluster
from lnamespace.model.names import Names
from lnamespace.model.subject import subject_of_username

PATIENCE = 1.5
"""Seconds; the API server waits five for the whole answer."""

log = logging.getLogger(__name__)

AccountOf = Callable[[str], Awaitable[str | None]]
"""A function from a user name to the account to which their creations count, if it is another's;
else empty. None if it could not be determined now."""


class _AnnotatedMetadata(msgspec.Struct, frozen=True):
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class _AnnotatedNamespace(msgspec.Struct, frozen=True):
    metadata: _AnnotatedMetadata = _AnnotatedMetadata()


_decoder = msgspec.json.Decoder(_AnnotatedNamespace)


async def own_account(_: str) -> str | None:
    """Count every creation to its creator: there is no limit, or no client to ask with."""
    return ""


@dataclass(frozen=True)
class NamespaceAccounts:
    """A reader of the accounts to which Namespaces count, by their labels and annotations."""

    client: Client
    names: Names
    limits: RequesterLimits

    async def account_of(self, username: str) -> str | None:
        """Return the account of the Namespace in which a ServiceAccount lives.

        Returns
        -------
        str or None
            Empty for anybody but a ServiceAccount, for a Namespace that counts to nobody else, and
            where the limits do not follow it. None if the API server gave no answer in time.
        """
        if not self.limits.depends_on_namespace(username):
            return ""
        home = subject_of_username(username).namespace
        try:
            async with asyncio.timeout(PATIENCE):
                account = await self._account_in(home)
        except (ClusterError, ModelError, TimeoutError) as error:
            log.warning("no account of a ServiceAccount", extra={"error": str(error)})
            return None
        return self.limits.inherited_account(account)

    async def _account_in(self, home: str) -> str:
        """Return the account of a Namespace; empty if it counts to nobody."""
        found = answers.decode(_decoder, await self.client.get(NAMESPACE.path(home))).metadata
        # Tenants write the annotations of Namespaces in their LClusters, so the label decides.
        if lcluster := found.labels.get(self.names.lcluster_label):
            place = lcluster_resource(self.names).path(lcluster)
            return decode_lcluster(await self.client.get(place)).spec.account
        return found.annotations.get(self.names.requester_annotation, "")


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


_counted_decoder = msgspec.json.Decoder(_DecodedObject)


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
    found = answers.decode(_counted_decoder, raw)
    spec = found.spec or _CountedSpec()
    version = answers.version_of(found.metadata.resource_version)
    return CountedObject(("", found.metadata.name), version, spec.counted_to or spec.requester)
