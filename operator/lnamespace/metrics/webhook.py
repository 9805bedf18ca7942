"""The metrics of the webhook."""

from dataclasses import dataclass
from typing import Annotated

from prometheus_client import Counter, Gauge, Histogram

from lnamespace.metrics.base import REQUEST_BUCKETS, Definition, ProcessMetrics

ENDPOINTS = (
    *("/mutate", "/mutate-administrator", "/validate", "/validate-administrator"),
    *("/depart", "/convert"),
)
"""The paths that the webhook answers."""


@dataclass(frozen=True)
class WebhookMetrics(ProcessMetrics):
    """The metrics of the webhook."""

    requests: Annotated[
        Counter,
        Definition(
            "lnamespace_webhook_requests",
            "Requests answered, by endpoint (other: no such path, or none that could be read) and "
            "HTTP code.",
            labels=("endpoint", "code"),
            initial_labels=tuple((each, code) for each in ENDPOINTS for code in ("500", "503")),
        ),
    ]
    seconds: Annotated[
        Histogram,
        Definition(
            "lnamespace_webhook_request_duration_seconds",
            "Time from the end of a request to its answer.",
            labels=("endpoint",),
            buckets=REQUEST_BUCKETS,
        ),
    ]
    refusals: Annotated[
        Counter,
        Definition(
            "lnamespace_webhook_refusals",
            "Reviews answered with a no, by endpoint.",
            labels=("endpoint",),
        ),
    ]
    limit_refusals: Annotated[
        Counter,
        Definition(
            "lnamespace_webhook_limit_refusals",
            "Creations refused since who asks has as many LNamespaces, or LClusters, as they may "
            "have. Dry runs count too.",
        ),
    ]
    resolutions: Annotated[
        Counter,
        Definition(
            "lnamespace_webhook_resolutions",
            "Creations by where who pays came from (spec.billing.provenance.source); "
            "Refused: it could not be said. Dry runs and creations that are refused later"
            " count too.",
            labels=("source",),
        ),
    ]
    unrecorded: Annotated[
        Counter,
        Definition(
            "lnamespace_webhook_unrecorded_deletions",
            "Deletions let through though nothing could be written down for the ledger in time; "
            "the controller or the publisher has to see them.",
        ),
    ]
    payers_problem: Annotated[
        Gauge,
        Definition(
            "lnamespace_webhook_payers_unusable",
            "1 if the present content of the payers' file cannot be used and an older one goes on.",
        ),
    ]
    in_flight: Annotated[
        Gauge,
        Definition(
            "lnamespace_webhook_requests_in_flight",
            "Requests being answered.",
        ),
    ]
    connections: Annotated[
        Gauge,
        Definition(
            "lnamespace_webhook_connections",
            "Connections open.",
        ),
    ]
    certificate_expiry: Annotated[
        Gauge,
        Definition(
            "lnamespace_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that is served expires, in seconds since 1970; 0: none.",
        ),
    ]
    certificate_not_before: Annotated[
        Gauge,
        Definition(
            "lnamespace_webhook_certificate_not_before_timestamp_seconds",
            "From when on the certificate that is served is good, in seconds since 1970; 0: none.",
        ),
    ]
    trusted: Annotated[
        Gauge,
        Definition(
            "lnamespace_webhook_certificate_trusted",
            "1 if every caBundle trusted the certificate that is served, when last seen. No series "
            "where somebody else makes the certificate, such as cert-manager: the webhook may not "
            "look then.",
        ),
    ]
    trust_failures: Annotated[
        Counter,
        Definition(
            "lnamespace_webhook_trust_failures",
            "Rounds of looking after the certificate that failed.",
        ),
    ]
