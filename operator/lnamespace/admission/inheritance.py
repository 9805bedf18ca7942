"""Rule R8 of docs/payers.md: a ServiceAccount's LNamespaces are charged like its own LNamespace.

The rule holds only where that LNamespace lists the ServiceAccount as a manager or sudoer, who may
change who pays anyway. Every user of a namespace can create ServiceAccounts in it and act as them:
without this condition a mere user charged the team's cost centre, and went on after they were taken
off the list.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.admission.decisions.editors import Editors
from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.model.billing import Charge
from lnamespace.model.lnamespace import LNamespace, decode_lnamespace
from lnamespace.model.subject import subject_of_username

PATIENCE = 1.5
"""Seconds; the API server waits five for the whole answer."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HomeLNamespace:
    """The LNamespace in which a ServiceAccount lives.

    Parameters
    ----------
    name
        Empty if there is nothing to inherit.
    charge
        Who pays for it; None if there is nothing to inherit.
    listed
        Whether it lists the ServiceAccount as a manager or sudoer.
    """

    name: str = ""
    charge: Charge | None = None
    listed: bool = False

    @property
    def inherited(self) -> Charge | None:
        """Return the charge that the ServiceAccount inherits, or None."""
        return self.charge if self.listed else None

    @property
    def unlisted(self) -> str:
        """Return the LNamespace whose charge it would inherit if it were listed there, or empty."""
        return self.name if self.charge and not self.listed else ""


NO_HOME = HomeLNamespace()


HomeOf = Callable[[str], Awaitable[HomeLNamespace]]
"""Returns the LNamespace in which a user lives; :data:`NO_HOME` for most."""


async def no_home(_: str) -> HomeLNamespace:
    """Return :data:`NO_HOME`: the webhook has no client of the API server."""
    return NO_HOME


@dataclass(frozen=True)
class ClusterInheritance:
    """A reader that asks the API server for the LNamespace."""

    client: Client
    resource: Resource
    clock: Callable[[], datetime]

    async def home_of(self, username: str) -> HomeLNamespace:
        """Return the LNamespace; :data:`NO_HOME` too where the API server gave no answer."""
        home = subject_of_username(username).namespace
        if not home:
            return NO_HOME
        try:
            async with asyncio.timeout(PATIENCE):
                found = decode_lnamespace(await self.client.get(self.resource.path(home)))
        except (ClusterError, ModelError, TimeoutError) as error:
            log.info("no payer to inherit", extra={"error": str(error)})
            return NO_HOME
        # An LNamespace in Conflict has the name of the Namespace and does not own it.
        if not found.status.namespace_uid or not found.spec.billing.cost_center:
            return NO_HOME
        return HomeLNamespace(home, found.spec.billing, _lists(found, username, self.clock()))


def _lists(lns: LNamespace, username: str, now: datetime) -> bool:
    editors = Editors.at(lns.spec, now)
    return subject_of_username(username) in editors.managers | editors.sudoers
