"""The address of the gateway, which the status of each LCluster shows."""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import msgspec

from lnamespace.errors import ClusterError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CONFIG_MAP

_UNKNOWN_SECONDS, _KNOWN_SECONDS = 2.0, 10.0
"""Seconds between two requests for the CA of the gateway, before and after it is known."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GatewayLocation:
    """The address and CA of the gateway for clients.

    Parameters
    ----------
    url
        ``https://HOST`` without a path; empty where there is no gateway.
    authorities
        PEM of the CAs that its certificate is checked by; empty where clients trust it already.
    """

    url: str = ""
    authorities: str = ""

    def address(self, lcluster: str) -> str:
        """Return the URL of an LCluster's API server; empty where there is no gateway."""
        return f"{self.url.rstrip('/')}/clusters/{lcluster}" if self.url else ""

    @property
    def ca_bundle(self) -> str:
        """Return the CAs as Kubernetes writes bytes in JSON: in base64."""
        return base64.b64encode(self.authorities.encode()).decode() if self.url else ""


class _CAConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


_config_map = msgspec.json.Decoder(_CAConfigMap)


class GatewayLocator:
    """A reader of the gateway's address, and of the CA of the certificate that it issued to itself.

    Parameters
    ----------
    config_map
        NAMESPACE/NAME of the ConfigMap with that CA; empty if there is none.
    """

    def __init__(self, client: Client, location: GatewayLocation, config_map: str = "") -> None:
        self._client = client
        self._location = location
        self._config_map = config_map if location.url else ""
        self.current: GatewayLocation | None = None if self._config_map else location
        """None until the CA is known: before, clients could not verify the address."""

    async def run(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Poll the ConfigMap for ever; await ``changed`` when the CA has changed."""
        while self._config_map:
            before = self.current
            await self.refresh()
            if self.current != before:
                await changed()
            await asyncio.sleep(_KNOWN_SECONDS if self.current else _UNKNOWN_SECONDS)

    async def refresh(self) -> None:
        """Read the CA; keep the last one where it cannot be read."""
        if not self._config_map:
            return
        namespace, _, name = self._config_map.partition("/")
        try:
            body = await self._client.get(CONFIG_MAP.path(name, namespace))
            read = answers.decode(_config_map, body).data.get("ca.crt", "")
        except ClusterError as error:
            log.warning("the CA of the gateway cannot be read", extra={"error": str(error)})
            return
        if read:
            self.current = replace(self._location, authorities=read)
