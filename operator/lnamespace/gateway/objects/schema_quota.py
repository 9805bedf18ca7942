"""Refuse definitions whose schemas would take too much of the API server's memory.

Their size is that of :mod:`~lnamespace.translate.objects.confinement.schema_sizes`. The sizes of
stored definitions are known from the watch; the size after a write is computed before it is sent.
Each process counts its own writes under way only.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.kube.media_types import JSON_PATCH
from lnamespace.translate.bodies.encoded import media_type_of
from lnamespace.translate.names.tenant_view import CRDS
from lnamespace.translate.objects.confinement.schema_sizes import (
    MAX_SIZE,
    named_schemas_of,
    schemas_after,
    total_for,
)
from lnamespace.translate.protocol.status import ExceededQuota
from lnamespace.translate.protocol.verbs import MANAGED_VERBS

_SEEN_SECONDS = 0.5
"""Seconds that a write counts as under way after the answer, until a watch has it."""

_ADVICE = (
    "objects and items in spec.versions.schema: leave out parts that are not needed, or definitions"
)


@dataclass(frozen=True)
class SchemaQuota:
    """The bounds of the schemas of a definition, and of all definitions of an LCluster.

    Parameters
    ----------
    sizes
        Returns the size of the schemas of each definition of a tenant, by its name upstream.
    allowed
        Returns how many definitions a tenant may have; 0 is no limit.
    """

    sizes: Callable[[str], Mapping[str, int]]
    allowed: Callable[[str], int]
    _sending: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    """What is under way: the definition, and the size that it would have, by tenant."""

    def counts(self, call: TenantCall) -> bool:
        """Return whether a request may change the schemas of a definition."""
        request = call.request
        definition = request.resource.group_resource == CRDS and not request.subresource
        return definition and request.verb in MANAGED_VERBS and bool(call.body)

    @asynccontextmanager
    async def counted(
        self, call: TenantCall, content_type: str, body: bytes
    ) -> AsyncIterator[None]:
        """Count the size that a write gives a definition, until a watch reports it.

        Parameters
        ----------
        body
            The body in upstream spelling.

        Raises
        ------
        Refused
            Forbidden, in the words of a ResourceQuota.
        """
        tenant, asked = call.view.tenant, call.request.name
        operations = media_type_of(content_type) == JSON_PATCH
        written, size = ("", None) if operations else named_schemas_of(body)
        sizes, name = self._sizes(tenant), call.view.crd_name_up(asked) if asked else written
        before = sizes.get(name, 0)
        if operations:
            size = schemas_after(body, before)
        after = before if size is None else size
        if after > before:
            self._confirm(call, after, sum(sizes.values()) - before)
        entry = name, after
        self._sending[tenant].append(entry)
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(_SEEN_SECONDS, self._release, tenant, entry)

    def _sizes(self, tenant: str) -> dict[str, int]:
        """Return the size of each definition, of one that is being written the largest."""
        sizes = dict(self.sizes(tenant))
        for name, size in self._sending.get(tenant, ()):
            sizes[name] = max(size, sizes.get(name, 0))
        return sizes

    def _confirm(self, call: TenantCall, after: int, others: int) -> None:
        total = total_for(self.allowed(call.view.tenant))
        for what, used, most in (("definition", 0, MAX_SIZE), ("lcluster", others, total)):
            if most is not None and used + after > most:
                exceeded = ExceededQuota(what, "schemas", after, used, most, _ADVICE)
                raise exceeded.refusal(CRDS, call.request.name)

    def _release(self, tenant: str, entry: tuple[str, int]) -> None:
        self._sending[tenant].remove(entry)
        if not self._sending[tenant]:
            del self._sending[tenant]
