"""Kubernetes Events about LNamespaces and LClusters.

Only changes of readiness that need somebody are worth one; that all went well is not, for it
would cost a write for every LNamespace.
"""

import logging
from datetime import UTC, datetime
from time import time_ns

import msgspec

from lnamespace.controller.status import BEING_DELETED, LIMIT_EXCEEDED, READY
from lnamespace.errors import ClusterError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import DEFAULT_NAMESPACE, EVENT, Resource
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import CommonObject, CommonStatus, LNamespace

log = logging.getLogger(__name__)


class EventRecorder:
    """A writer of Events about the objects of one kind; each that cannot be posted is logged."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource

    async def record(self, lns: LNamespace | LCluster, new: CommonStatus) -> None:
        """Post an Event if the new status needs attention by somebody, or needs it no more."""
        before, after = lns.status.condition(READY), new.condition(READY)
        if after is None or (before and before.reason == after.reason):
            return
        if after.reason in (LIMIT_EXCEEDED, BEING_DELETED):
            return  # There may be thousands, and the user who made or deleted them saw it.
        if after.status == "True" and (before is None or before.status == "True"):
            return
        kind = "Normal" if after.status == "True" else "Warning"
        await self._post(lns, kind, after.reason, after.message)

    async def _post(self, lns: CommonObject, kind: str, reason: str, message: str) -> None:
        now = datetime.now(UTC)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{lns.name}.{time_ns():x}",
                "namespace": DEFAULT_NAMESPACE,
            },
            "involvedObject": {
                "apiVersion": self._resource.api_version,
                "kind": self._resource.kind,
                "name": lns.name,
                "uid": lns.uid,
                "resourceVersion": lns.metadata.resource_version,
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": "lnamespace"},
            "firstTimestamp": now.replace(microsecond=0),
            "lastTimestamp": now.replace(microsecond=0),
            "count": 1,
        }
        try:
            path = EVENT.path(namespace=DEFAULT_NAMESPACE)
            await self._client.create(path, msgspec.json.encode(event))
        except ClusterError as error:
            log.warning("event not posted", extra={"lnamespace": lns.name, "error": str(error)})
