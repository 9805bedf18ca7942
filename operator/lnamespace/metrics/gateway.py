"""The metrics of the gateway."""

from dataclasses import dataclass
from typing import Annotated

from prometheus_client import Counter, Gauge, Histogram

from lnamespace.metrics.base import REQUEST_BUCKETS, Definition, ProcessMetrics


@dataclass(frozen=True)
class GatewayMetrics(ProcessMetrics):
    """Hold the metrics of the gateway. No label has a value that a tenant chooses."""

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
    connections: Annotated[
        Gauge, Definition("lnamespace_gateway_connections", "Connections of clients that are open.")
    ]
    tenants: Annotated[
        Gauge, Definition("lnamespace_gateway_lclusters", "LClusters that are served.")
    ]
