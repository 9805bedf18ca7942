"""To whom it is counted what a ServiceAccount creates: as the Namespace that it lives in.

The controller writes on each Namespace whose limit it counts to, which no tenant can change, and
which stays when the LNamespace goes and leaves its Namespace. So it is one read, however many
namespaces were made from within others; and it is stamped into what is created, so that nothing
that becomes of the first namespace later makes room again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from lnamespace.access.limit import RequesterLimits
from lnamespace.errors import ClusterError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import NAMESPACE
from lnamespace.model.names import Names
from lnamespace.payers.entries import Requester

PATIENCE = 1.5
"""Seconds; the API server waits five for the whole answer."""

log = logging.getLogger(__name__)

Accounts = Callable[[str], Awaitable[str | None]]
"""To whom it is counted what a user creates, where that is somebody else; None: not known now."""


class _Metadata(msgspec.Struct, frozen=True):
    annotations: dict[str, str] = {}


class _Namespace(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_decoder = msgspec.json.Decoder(_Namespace)


async def themselves(_: str) -> str | None:
    """Count to everybody what they create: there is no limit, or nobody to ask."""
    return ""


@dataclass(frozen=True)
class FromNamespaces:
    """Asks the API server, for ServiceAccounts only."""

    client: Client
    names: Names
    limits: RequesterLimits

    async def of(self, username: str) -> str | None:
        """Return the account on the Namespace where a ServiceAccount lives, if it has one."""
        if not self.limits.depends_on_namespace(username):
            return ""
        home = Requester(username).home
        try:
            async with asyncio.timeout(PATIENCE):
                found = answers.decode(_decoder, await self.client.get(NAMESPACE.path(home)))
        except (ClusterError, TimeoutError) as error:
            log.warning("no account of a ServiceAccount", extra={"error": str(error)})
            return None
        account = found.metadata.annotations.get(self.names.requester_annotation, "")
        return self.limits.inherited_account(account)
