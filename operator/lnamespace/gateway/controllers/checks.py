"""The checks of tenants' definitions that are under way."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from lnamespace.errors import ClusterError
from lnamespace.gateway.definitions.conversion_marks import log_fields, tenant_of_definition

_UNBOUNDED = 1 << 20
log = logging.getLogger(__name__)


class DefinitionChecks:
    """The checks under way: one of each definition at a time, and a few lists of each tenant.

    Parameters
    ----------
    per_tenant
        The lists of one tenant's kinds at the same time. A tenant whose kinds take long to list
        delays its own checks alone.
    overall
        The lists of all tenants' kinds at the same time.
    """

    def __init__(self, per_tenant: int, overall: int = _UNBOUNDED) -> None:
        self._under_way: set[str] = set()
        self._lists = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(per_tenant))
        self._all_lists = asyncio.Semaphore(overall)

    def begin(self, name: str) -> bool:
        """Begin a check of a definition; return False if one is under way."""
        if name in self._under_way:
            return False
        self._under_way.add(name)
        return True

    async def finish(self, name: str, check: Awaitable[None]) -> None:
        """Await a check that has begun. A failure is logged: a later check tries again."""
        try:
            await check
        except ClusterError as error:
            about = log_fields(name) | {"error": str(error)}
            log.warning("a definition of an LCluster was not checked", extra=about)
        finally:
            self._under_way.discard(name)

    @asynccontextmanager
    async def list_slot(self, name: str) -> AsyncIterator[None]:
        """Wait until objects of a definition may be listed."""
        async with self._lists[tenant_of_definition(name)], self._all_lists:
            yield
