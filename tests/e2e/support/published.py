"""A cluster with a gateway that publishes more than by default, and with an audit log."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.e2e.support.gateway import GatewayCluster, GatewayProcess

CERTS = "certs.example.com"
PUBLISHED: dict[str, Any] = {
    "storageClasses": ["fast"],
    "runtimeClasses": ["gvisor*"],
    "clusterRoles": ["platform-reader"],
    "customResources": [
        {"group": CERTS, "clusterScoped": {"issuers": ["main"]}, "namespaced": ["certificates"]}
    ],
}


class PublishingCluster(GatewayCluster):
    """A cluster that shares more with its LClusters, and whose API server keeps an audit log."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rules = [{"level": "Metadata"}]
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
        self.keep_audit_log(json.dumps(policy))

    def helm(self, verb: str, *flags: str) -> None:
        """Install or upgrade the chart, with what is published."""
        values = (f"--set-json=gateway.published.{k}={json.dumps(v)}" for k, v in PUBLISHED.items())
        super().helm(verb, *values, *flags)

    @cached_property
    def gateway(self) -> GatewayProcess:
        """Return the gateway, with the published objects; it is not started."""
        published = {"LNAMESPACE_GATEWAY_PUBLISHED": json.dumps(PUBLISHED)}
        return self.another_gateway("gateway", self.port, **published)
