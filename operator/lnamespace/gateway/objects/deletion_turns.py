"""Let few definitions of an LCluster wait at a time for their objects to be deleted.

The API server deletes the objects of five definitions at a time, of the whole cluster, and waits a
minute for those that have finalizers, again and again. Ten such definitions of one LCluster kept
the definition of another for two minutes. Each process takes turns by itself.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.kube.prefixed import MOST_WAITING
from lnamespace.translate.protocol.status import too_many_requests

_TICK = 0.1


@dataclass(frozen=True)
class DeletionTurns:
    """The turns of each LCluster to delete a definition.

    Parameters
    ----------
    definitions
        Returns of each definition of a tenant, by its name upstream, whether it is being deleted.
    patience
        Seconds that a deletion waits for earlier ones: those of a chart go one after the other.
    """

    definitions: Callable[[str], Mapping[str, bool]]
    patience: float = 10.0
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    _sent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Definitions whose deletion the watch may not have reported yet, by tenant."""

    async def send(
        self, call: TenantCall, name: str, send: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Send the deletion of a definition when few others are being deleted.

        Parameters
        ----------
        name
            The name upstream.

        Raises
        ------
        Refused
            Too many requests: they still are after some seconds.
        """
        if call.parameter("dryRun"):
            return await send()
        tenant = call.view.tenant
        async with self._turns.setdefault(tenant, asyncio.Lock()):
            await self._wait(call, name)
            response, answer = await send()
            if response.status < 300:
                self._sent[tenant].add(name)
            return response, answer

    async def _wait(self, call: TenantCall, name: str) -> None:
        deadline = asyncio.get_running_loop().time() + self.patience
        while len(waiting := self._waiting(call.view.tenant) - {name}) >= MOST_WAITING:
            if asyncio.get_running_loop().time() >= deadline:
                names = " and ".join(sorted(str(call.view.crd_name_down(each)) for each in waiting))
                raise too_many_requests(
                    f"{names} are being deleted and wait until their objects are gone, which have"
                    " finalizers: meanwhile no other definition is deleted"
                )
            await asyncio.sleep(_TICK)

    def _waiting(self, tenant: str) -> set[str]:
        """Return the definitions of a tenant that are being deleted, by their names upstream."""
        found = self.definitions(tenant)
        sent = self._sent.pop(tenant, set()) & found.keys()
        if sent:
            self._sent[tenant] = sent
        return sent | {name for name, deleted in found.items() if deleted}
