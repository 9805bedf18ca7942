"""Where people reach the gateway, which the status of each LCluster tells them."""

import base64
from dataclasses import dataclass


@dataclass(frozen=True)
class GatewayLocation:
    """The gateway as clients see it.

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
