"""Keep the API server able to ask the gateway to convert the objects of tenants (decision 0066).

A definition names the CA of the gateway, and in the path a key of its LCluster. One in which its
tenant wrote no ``caBundle`` has no CA; one from before the root was made anew has an old CA and an
old key. The API server then asks nobody, or is not answered, and no namespace of the cluster is
deleted.
"""

import asyncio
import base64
import logging
from dataclasses import dataclass

from lnamespace.errors import ClusterError
from lnamespace.gateway.definitions.conversion_paths import (
    CERTIFICATE,
    WEBHOOK_CLIENT,
    digest_of,
)
from lnamespace.gateway.definitions.definition import CustomResourceDefinition
from lnamespace.gateway.definitions.definition_patches import (
    Operation,
    patch_definition,
    read_definition,
)
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.translate.names.webhook_routes import WebhookPath

EVERY = 5.0
"""Seconds between two looks at the definitions."""
log = logging.getLogger(__name__)


async def renew(client: Client, name: str, key: str, authority: str) -> None:
    """Write the present CA, and a key unless it is empty, into a definition.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    found = await read_definition(client, name)
    if found is None:
        return
    path = CUSTOM_RESOURCE_DEFINITION.path(name)
    operations = _renewed(found, key, authority)
    if await patch_definition(client, path, found.metadata.resource_version, operations):
        log.info("a conversion webhook is asked by a new CA or key", extra={"definition": name})


def _renewed(found: CustomResourceDefinition, key: str, authority: str) -> list[Operation]:
    operations: list[Operation] = []
    path = WebhookPath.parse(found.conversion_path)
    if path and key and path.key != key:
        # Keys have one length: a definition may have no room for another byte.
        value = path.with_key(key)
        operations.append(
            {"op": "replace", "path": f"{WEBHOOK_CLIENT}/service/path", "value": value}
        )
    if digest_of(found.conversion_authorities) != digest_of(authority.encode()):
        # What tenants wrote follows the gateway's own.
        bundle = authority.encode() + CERTIFICATE.sub(b"", found.conversion_authorities)
        value = base64.b64encode(bundle).decode()
        operations.append({"op": "add", "path": f"{WEBHOOK_CLIENT}/caBundle", "value": value})
    return operations


@dataclass(frozen=True)
class ConversionClients:
    """The renewal of definitions by which the API server cannot ask the gateway to convert.

    Every replica does so, and the first one wins.

    Parameters
    ----------
    authority
        The CA of the gateway's certificate, in PEM.
    """

    tenants: Tenants
    client: Client
    authority: str

    async def run(self) -> None:
        """Renew definitions whose CA or key is missing or old, for ever."""
        while True:
            await self.renew_all()
            await asyncio.sleep(EVERY)

    async def renew_all(self) -> None:
        """Renew all definitions in the cache whose CA or key is missing or old."""
        for name, key in self._outdated():
            try:
                await renew(self.client, name, key, self.authority)
            except ClusterError as error:
                about = {"definition": name, "error": str(error)}
                log.warning("a conversion webhook is asked by an old CA or key", extra=about)

    def _outdated(self) -> list[tuple[str, str]]:
        """Return the definitions to renew, each with the present key; empty if it is unknown."""
        if not self.tenants.has_synced:
            return []
        present, found = digest_of(self.authority.encode()), []
        for tenant, name, kept in self.tenants.definitions():
            key, state = self._key_of(tenant), kept.conversion
            if state.key and (state.authority != present or state.key != (key or state.key)):
                found.append((name, key))
        return found

    def _key_of(self, tenant: str) -> str:
        served = self.tenants.get(tenant)
        route = served.view.webhook_route if served else None
        return route.key if route else ""
