"""How much each tenant uses, as metrics."""

from collections import Counter
from dataclasses import dataclass

from lnamespace.gateway.definitions.conversion_marks import tenant_of_definition
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.object_counts import ObjectCounter
from lnamespace.gateway.tenants.volume_sizes import VolumeSizes
from lnamespace.http.server import HttpServer
from lnamespace.metrics.gateway import GatewayMetrics


@dataclass(frozen=True)
class TenantUsage:
    """The sources of the tenants' usage metrics."""

    tenants: Tenants
    objects: ObjectCounter
    volumes: VolumeSizes


def expose_usage(usage: TenantUsage, server: HttpServer, metrics: GatewayMetrics) -> bytes:
    """Return all metrics in Prometheus' text format, without any request."""
    metrics.connections.set(server.connections)
    metrics.tenants.set(len(usage.tenants))
    metrics.forget_lclusters({each.name for each in usage.tenants})
    marked = Counter(map(tenant_of_definition, usage.tenants.marked_definitions()))
    storage = usage.volumes.by_tenant()
    for each in usage.tenants:
        metrics.lcluster_namespaces.labels(each.name).set(len(each.namespaces.all()))
        metrics.lcluster_storage.labels(each.name).set(storage.get(each.name, 0))
        metrics.failing_converters.labels(each.name).set(marked[each.name])
        objects = usage.objects.objects_of(each)
        if objects is not None:
            metrics.lcluster_objects.labels(each.name).set(objects)
    return metrics.text()
