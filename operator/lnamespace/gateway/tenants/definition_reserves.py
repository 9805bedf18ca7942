"""Give the definitions of tenants that an earlier version of the gateway wrote their reserve."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lnamespace.errors import ClusterError
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.conversion_marks import reserve, tenant_of_definition
from lnamespace.kube.client import Client

_EVERY = 5.0
AGAIN = 3600.0
"""Seconds until a definition that has no room is tried again."""

log = logging.getLogger(__name__)


@dataclass
class DefinitionReserves:
    """The reserves of definitions; every replica fills them, and the first one wins."""

    tenants: Tenants
    client: Client
    now: Callable[[], float] = time.monotonic
    _tried: dict[str, float] = field(default_factory=dict)

    async def run(self) -> None:
        """Fill what is missing, for ever: in an upgrade an older replica may write after it."""
        while True:
            await self.fill()
            await asyncio.sleep(_EVERY)

    async def fill(self) -> None:
        """Fill the reserve of each definition that has none, unless that was tried lately."""
        missing, now = self.tenants.unreserved_definitions(), self.now()
        self._tried = {
            each: at for each, at in self._tried.items() if each in missing and now - at < AGAIN
        }
        for name in sorted(missing - self._tried.keys()):
            self._tried[name] = now
            try:
                await reserve(self.client, name)
            except ClusterError as error:
                about = {"lcluster": tenant_of_definition(name), "definition": name}
                what = "a definition has no room for the mark of a failing conversion"
                log.warning(what, extra=about | {"error": str(error)})
