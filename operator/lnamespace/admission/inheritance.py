"""Rule R8 of who pays: what a ServiceAccount creates is charged like the LNamespace it lives in.

Only where that LNamespace lists the ServiceAccount as a manager or sudoer, who may change who pays
anyway. Everybody who works in a namespace can make ServiceAccounts and act as them: so a mere user
charged another team's cost centre, and went on after they were taken off the list.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lnamespace.admission.decisions.editors import Editors
from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.model.lnamespace import Charge, LNamespace, decode
from lnamespace.model.subject import Member
from lnamespace.payers.entries import Requester

PATIENCE = 1.5
"""Seconds; the API server waits five for the whole answer."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Home:
    """What the LNamespace of a ServiceAccount says: its payer, and whether the account is listed.

    ``name`` is empty, and there is no ``charge``, where there is nothing to inherit.
    """

    name: str = ""
    charge: Charge | None = None
    listed: bool = False

    @property
    def inherited(self) -> Charge | None:
        """The payer that the ServiceAccount may charge."""
        return self.charge if self.listed else None

    @property
    def unlisted(self) -> str:
        """The name of an LNamespace whose payer it could charge if it were listed there."""
        return self.name if self.charge and not self.listed else ""


NOWHERE = Home()


class Inheritance(Protocol):
    """Where a ServiceAccount's payer is looked up."""

    async def of(self, username: str) -> Home:
        """Return what the LNamespace says in which a ServiceAccount lives."""


class NoInheritance:
    """For a webhook that has no connection to the API server."""

    async def of(self, username: str) -> Home:  # noqa: ARG002 - the protocol's
        """Return nothing to inherit."""
        return NOWHERE


@dataclass(frozen=True)
class FromCluster:
    """Asks the API server."""

    client: Client
    resource: Resource
    clock: Callable[[], datetime]

    async def of(self, username: str) -> Home:
        """Return nothing to inherit too where the API server did not answer in time."""
        home = Requester(username).home
        if not home:
            return NOWHERE
        try:
            async with asyncio.timeout(PATIENCE):
                found = decode(await self.client.get(self.resource.path(home)))
        except (ClusterError, ModelError, TimeoutError) as error:
            log.info("no payer to inherit", extra={"error": str(error)})
            return NOWHERE
        # One in Conflict has the name of that namespace, and not the namespace.
        if not found.status.namespace_uid or not found.spec.billing.cost_center:
            return NOWHERE
        return Home(home, found.spec.billing, _lists(found, username, self.clock()))


def _lists(lns: LNamespace, username: str, now: datetime) -> bool:
    editors = Editors.at(lns.spec, now)
    return Member(username).subject in editors.managers | editors.sudoers
