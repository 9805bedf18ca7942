"""Let no definition change so often that nobody can list its kind.

When the specification of a definition changes, the API server reads all objects of the kind anew,
and refuses its lists meanwhile (429). Kubernetes' clients try again ten times, a second apart. One
LCluster that changed a definition six times a second kept all Namespaces of the cluster from being
deleted. Each process counts by itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.translate.names.tenant_view import CRDS
from lnamespace.translate.protocol.status import too_many_requests

_AT_ONCE = 5
_KEPT = 1_000
"""Definitions that are remembered; of a new one nothing is known."""


@dataclass
class _Budget:
    """The changes of one definition that need not wait, as of a time and a generation."""

    generation: int
    since: float
    changes: float = _AT_ONCE

    def left(self, now: float, generation: int, seconds: float) -> float:
        """Return how many changes need not wait."""
        made = max(generation - self.generation, 0)
        earned = (now - self.since) / seconds
        self.changes = max(min(self.changes + earned, _AT_ONCE) - made, 0.0)
        self.generation, self.since = generation, now
        return self.changes


@dataclass(frozen=True)
class DefinitionPace:
    """The pace of changes of each definition.

    Parameters
    ----------
    generation_of
        Returns the generation of a definition by its name upstream, as a watch has it.
    seconds
        After how many seconds one more change need not wait.
    patience
        How many seconds a change waits for earlier ones.
    """

    generation_of: Callable[[str], int]
    seconds: float = 10.0
    patience: float = 25.0
    _budgets: dict[str, _Budget] = field(default_factory=dict)
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @asynccontextmanager
    async def paced(self, call: TenantCall) -> AsyncIterator[None]:
        """Wait until a definition may be changed; other requests do not wait.

        Raises
        ------
        Refused
            Too many requests: earlier changes wait too.
        """
        request = call.request
        changes = request.verb in ("update", "patch") and not request.subresource
        if request.resource.group_resource != CRDS or not changes:
            yield
            return
        name = call.view.crd_name_up(request.name)
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.patience
        async with self._turns.setdefault(name, asyncio.Lock()):
            while (left := self._left(name, clock())) < 1:
                if clock() >= deadline:
                    why = "the definition changes all the time, so that nobody can list its kind"
                    raise too_many_requests(why, round(self.seconds) or 1)
                await asyncio.sleep((1 - left) * self.seconds)
            yield

    def _left(self, name: str, now: float) -> float:
        generation = self.generation_of(name)
        if len(self._budgets) >= _KEPT:
            del self._budgets[next(iter(self._budgets))]
        budget = self._budgets.setdefault(name, _Budget(generation, now))
        return budget.left(now, generation, self.seconds)
