"""The account to which counts what a ServiceAccount creates: its Namespace's.

The controller annotates each Namespace with the account to which its LNamespace counts. No tenant
can change the annotation, and it stays when the LNamespace goes and leaves its Namespace. One read
is therefore enough, however many namespaces were made from within others. The Namespaces of an
LCluster count to the account of that. The account is stamped into the new LNamespace or LCluster,
so that it stays counted whatever becomes of the Namespace it came from.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from lnamespace.access.conventions import lcluster_resource
from lnamespace.access.limit import RequesterLimits
from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import NAMESPACE
from lnamespace.model.lcluster import decode_lcluster
from lnamespace.model.names import Names
from lnamespace.payers.entries import Requester

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
        home = Requester(username).home
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
