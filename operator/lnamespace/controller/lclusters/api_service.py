"""The Service ``kubernetes`` in a tenant's namespace ``default``, which leads to the gateway.

In every cluster there are a Service, an EndpointSlice and Endpoints of that name for the API server
(https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/). They are read before
anything is written, so that a reconcile writes nothing where nothing has changed.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lnamespace.controller.lclusters.gateway_endpoints import GatewayEndpoints
from lnamespace.errors import AlreadyExists, ClusterError, NotFound
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import SERVICE, Resource

NAME = "kubernetes"

ENDPOINTS = Resource("", "v1", "Endpoints", "endpoints", namespaced=True)
ENDPOINT_SLICE = Resource(
    "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True
)

RECHECK_SECONDS = 60.0
"""Seconds for which objects that were as desired are not read again."""

Json = dict[str, Any]

_object = msgspec.json.Decoder(Json)


@dataclass(frozen=True)
class TenantApiService:
    """A writer of the objects of the Service ``kubernetes`` of tenants.

    ``checked`` is the time when the objects of a Namespace were last as desired, by its UID.
    """

    client: Client
    endpoints: GatewayEndpoints = field(default_factory=GatewayEndpoints)
    checked: dict[str, float] = field(default_factory=dict)

    async def ensure(self, namespace: str, uid: str) -> list[ClusterError]:
        """Apply the objects in a tenant's namespace ``default``; return the failures."""
        now = time.monotonic()
        if now - self.checked.get(uid, -RECHECK_SECONDS) < RECHECK_SECONDS:
            return []
        desired = api_service_objects(self.endpoints)
        results = await asyncio.gather(
            *(self._ensure(resource, namespace, body) for resource, body in desired.items())
        )
        failures = [error for error in results if error]
        if not failures:
            self.checked[uid] = now
        return failures

    def forget(self, uid: str) -> None:
        """Forget a Namespace that is being deleted."""
        self.checked.pop(uid, None)

    async def _ensure(self, resource: Resource, namespace: str, body: Json) -> ClusterError | None:
        path = resource.path(NAME, namespace)
        try:
            found = answers.decode(_object, await self.client.get(path))
        except NotFound:
            return await self._create(resource.path(namespace=namespace), body)
        except ClusterError as error:
            return error
        changes = endpoint_changes(found, body)
        if not changes:
            return None
        try:
            await self.client.patch(path, msgspec.json.encode(changes))
        except ClusterError as error:
            return error
        return None

    async def _create(self, path: str, body: Json) -> ClusterError | None:
        try:
            await self.client.create(path, msgspec.json.encode(body))
        except AlreadyExists:
            return None
        except ClusterError as error:
            return error
        return None


def api_service_objects(endpoints: GatewayEndpoints) -> Mapping[Resource, Json]:
    """Return the three objects; without endpoints the Service alone."""
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": endpoints.port}]
    service = {"metadata": {"name": NAME}, "spec": {"ports": ports, "type": "ClusterIP"}}
    if not endpoints.addresses:
        return {SERVICE: service}
    to = [{"name": "https", "port": endpoints.port, "protocol": "TCP"}]
    addresses = [{"ip": str(address)} for address in endpoints.addresses]
    # As the API server labels its own, so that no controller mirrors the Endpoints into slices.
    unmirrored = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    each = [
        {"addresses": [str(address)], "conditions": {"ready": True}}
        for address in endpoints.addresses
    ]
    return {
        SERVICE: service,
        ENDPOINTS: {
            "metadata": {"name": NAME, "labels": unmirrored},
            "subsets": [{"addresses": addresses, "ports": to}],
        },
        ENDPOINT_SLICE: {
            "metadata": {"name": NAME, "labels": {"kubernetes.io/service-name": NAME}},
            "addressType": f"IPv{endpoints.addresses[0].version}",
            "endpoints": each,
            "ports": to,
        },
    }


def endpoint_changes(found: Json, desired: Json) -> Json:
    """Return the patch for addresses and ports that differ from the desired ones; or empty.

    A Service is not patched: the API server fills in most of its fields.
    """
    keys = ("subsets", "endpoints", "ports")
    return {key: desired[key] for key in keys if key in desired and found.get(key) != desired[key]}
