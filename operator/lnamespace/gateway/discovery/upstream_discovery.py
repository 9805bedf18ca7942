"""The API groups that the platform's API server serves, kept current."""

import asyncio
import logging
from collections.abc import Callable

from lnamespace.errors import ClusterError
from lnamespace.gateway.discovery.documents import RevalidatedDocument, UpstreamDocument
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.runtime.lifecycle import wait_at_most
from lnamespace.translate.discovery.groups import DiscoveredGroup, parse_discovery
from lnamespace.translate.protocol.discovery_formats import AGGREGATED

_EVERY = 30.0
_PAUSE = 0.2
"""Seconds before a requested refresh; a new CustomResourceDefinition changes several times."""

log = logging.getLogger(__name__)


class UpstreamDiscovery:
    """The API groups that are served upstream; ``changed`` is called when they change."""

    def __init__(self, upstream: Upstream, changed: Callable[[], object]) -> None:
        accept = AGGREGATED.content_type
        self._documents = [
            RevalidatedDocument(upstream, path, accept) for path in ("/api", "/apis")
        ]
        self._known: list[UpstreamDocument] = []
        self._changed = changed
        self._due = asyncio.Event()
        self.groups: tuple[DiscoveredGroup, ...] = ()

    def request_refresh(self) -> None:
        """Request a refresh soon."""
        self._due.set()

    async def refresh(self) -> None:
        """Revalidate the discovery documents.

        Raises
        ------
        ClusterError
            The API server does not answer.
        """
        found = [await document.read() for document in self._documents]
        if self._known and all(new is old for new, old in zip(found, self._known, strict=True)):
            return
        self.groups = tuple(group for each in found for group in parse_discovery(each.body))
        self._known = found
        self._changed()

    async def run(self) -> None:
        """Refresh every half minute, and soon after it is requested."""
        while True:
            await wait_at_most(self._due, _EVERY)
            self._due.clear()
            try:
                await asyncio.sleep(_PAUSE)
                await self.refresh()
            except (ClusterError, ValueError) as error:
                log.warning("discovery failed", extra={"error": str(error)})
