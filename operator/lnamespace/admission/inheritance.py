"""Rule R8 of who pays: what a ServiceAccount creates is charged like the LNamespace it lives in."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Protocol

from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.model.lnamespace import Charge, decode

PATIENCE = 1.5
"""Seconds; the API server waits five for the whole answer."""

log = logging.getLogger(__name__)


class Inheritance(Protocol):
    """Where a ServiceAccount's payer is looked up."""

    async def of(self, home: str) -> Charge | None:
        """What the LNamespace ``home`` is charged to; None where there is none."""


class NoInheritance:
    """For a webhook that has no connection to the API server."""

    async def of(self, home: str) -> Charge | None:  # noqa: ARG002 - the protocol's
        """Nothing."""
        return None


@dataclass(frozen=True)
class FromCluster:
    """Asks the API server."""

    client: Client
    resource: Resource

    async def of(self, home: str) -> Charge | None:
        """None too where the API server did not answer in time: then it is as if it had none."""
        if not home:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                found = decode(await self.client.get(self.resource.path(home)))
        except (ClusterError, ModelError, TimeoutError) as error:
            log.info("no payer to inherit", extra={"error": str(error)})
            return None
        # One in Conflict has the name of that namespace, and not the namespace.
        return found.spec.billing if found.status.namespace_uid else None
