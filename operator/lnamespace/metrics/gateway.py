"""The metrics of the gateway."""

from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from prometheus_client import Counter, Gauge, Histogram

from lnamespace.metrics.base import REQUEST_BUCKETS, Definition, ProcessMetrics


@dataclass(frozen=True)
class GatewayMetrics(ProcessMetrics):
    """The metrics of the gateway.

    The label ``lcluster`` has as many values as there are LClusters. No other label has a value
    that somebody chooses.
    """

    requests: Annotated[
        Counter,
        Definition(
            "lnamespace_gateway_requests",
            "Requests answered, by verb (other: none of Kubernetes') and HTTP code.",
            labels=("verb", "code"),
        ),
    ]
    seconds: Annotated[
        Histogram,
        Definition(
            "lnamespace_gateway_request_duration_seconds",
            "Time from a whole request to its answer, but for watches and streams.",
            labels=("verb",),
            buckets=REQUEST_BUCKETS,
        ),
    ]
    audit_lost: Annotated[
        Counter,
        Definition(
            "lnamespace_gateway_audit_lines_lost",
            "Lines of the audit log that could not be written, or came faster than its file takes.",
        ),
    ]
    connections: Annotated[
        Gauge, Definition("lnamespace_gateway_connections", "Connections of clients that are open.")
    ]
    certificate_expiry: Annotated[
        Gauge,
        Definition(
            "lnamespace_gateway_certificate_expiry_timestamp_seconds",
            "When the certificate that is served expires, in seconds since 1970.",
        ),
    ]
    certificate_not_before: Annotated[
        Gauge,
        Definition(
            "lnamespace_gateway_certificate_not_before_timestamp_seconds",
            "From when on the certificate that is served is good, in seconds since 1970.",
        ),
    ]
    tenants: Annotated[
        Gauge, Definition("lnamespace_gateway_lclusters", "LClusters that are served.")
    ]
    lcluster_requests: Annotated[
        Counter,
        Definition(
            "lnamespace_gateway_lcluster_requests",
            "Requests answered of the people and programs of each LCluster that there is.",
            labels=("lcluster",),
        ),
    ]
    lcluster_namespaces: Annotated[
        Gauge,
        Definition(
            "lnamespace_gateway_lcluster_namespaces",
            "Namespaces of each LCluster.",
            labels=("lcluster",),
        ),
    ]

    lcluster_objects: Annotated[
        Gauge,
        Definition(
            "lnamespace_gateway_lcluster_objects",
            "Objects in the namespaces of each LCluster, and its cluster-scoped custom resources, "
            "when they were last counted.",
            labels=("lcluster",),
        ),
    ]
    lcluster_storage: Annotated[
        Gauge,
        Definition(
            "lnamespace_gateway_lcluster_storage_bytes",
            "Capacity of the PersistentVolumes that are claimed in namespaces of each LCluster.",
            labels=("lcluster",),
        ),
    ]

    failing_converters: Annotated[
        Gauge,
        Definition(
            "lnamespace_gateway_lcluster_failing_converters",
            "CustomResourceDefinitions of each LCluster that are marked, for their conversion "
            "webhooks fail.",
            labels=("lcluster",),
        ),
    ]

    def answered(self, verb: str, status: int, seconds: float | None) -> None:
        """Count a request that was answered; ``seconds`` are None for watches and streams."""
        _requests(self.requests, verb, status).inc()
        if seconds is not None:
            _seconds(self.seconds, verb).observe(seconds)

    def forget_lclusters(self, known: Container[str]) -> None:
        """Remove the series of LClusters that are gone."""
        for metric in (
            self.lcluster_requests,
            self.lcluster_namespaces,
            self.lcluster_objects,
            self.lcluster_storage,
            self.failing_converters,
        ):
            names = {
                sample.labels["lcluster"] for found in metric.collect() for sample in found.samples
            }
            for name in names:
                if name not in known:
                    metric.remove(name)


# Values of these labels never go, and to look them up took longer than to count.
@lru_cache(maxsize=1024)
def _requests(metric: Counter, verb: str, status: int) -> Counter:
    return metric.labels(verb, str(status))


@lru_cache(maxsize=64)
def _seconds(metric: Histogram, verb: str) -> Histogram:
    return metric.labels(verb)
