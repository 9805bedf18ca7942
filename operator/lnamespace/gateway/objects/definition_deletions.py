"""Deletions of CustomResourceDefinitions that their tenant filled up to what etcd takes.

The API server writes to a definition that is deleted, and had no room for it in one of 1.5 MiB.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lnamespace.errors import ClusterError, NoRoom
from lnamespace.gateway.tenants.conversion_marks import make_room, unmark
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.kube.answers import error_of
from lnamespace.kube.client import Client

_TRIES = 5

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DefinitionRoom:
    """The room of a definition for its deletion, which a tenant asks for."""

    client: Client

    async def delete(self, name: str, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Send a deletion; where the definition has no room for it, make some and send it again."""
        response, answer = await send()
        marked = False
        try:
            for _ in range(_TRIES):  # others may write it at the same time
                if not isinstance(error_of(response.status, answer), NoRoom):
                    break
                marked |= await make_room(self.client, name)
                response, answer = await send()
            if marked and response.status >= 300:
                await unmark(self.client, name)
        except ClusterError as error:
            about = {"definition": name, "error": str(error)}
            log.warning("a definition has no room for its deletion", extra=about)
        return response, answer
