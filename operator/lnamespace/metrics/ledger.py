"""The metrics of the ledger's publisher."""

from dataclasses import dataclass
from typing import Annotated

from prometheus_client import Counter, Gauge, Histogram

from lnamespace.metrics.base import Definition, ProcessMetrics

_WRITE_BUCKETS = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60)
"""Seconds of a write to the database."""


@dataclass(frozen=True)
class LedgerMetrics(ProcessMetrics):
    """The metrics of the publisher; ``oldest`` is how long the ledger has been behind."""

    outbox: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_outbox_records",
            "Records that wait.",
        ),
    ]
    oldest: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_outbox_oldest_seconds",
            "How long the oldest of them has waited; 0: none waits.",
        ),
    ]
    parked: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_parked_records",
            "Records that the database refuses, whatever they are sent with.",
        ),
    ]
    written: Annotated[
        Counter,
        Definition(
            "lnamespace_ledger_rows_written",
            "Rows added.",
        ),
    ]
    known: Annotated[
        Counter,
        Definition(
            "lnamespace_ledger_rows_known",
            "Rows that were there already: something was done twice, as it may be.",
        ),
    ]
    failures: Annotated[
        Counter,
        Definition(
            "lnamespace_ledger_write_failures",
            "Writes that failed, by reason: unavailable, misconfigured, refused.",
            labels=("reason",),
            initial_labels=(("unavailable",), ("misconfigured",), ("refused",)),
        ),
    ]
    seconds: Annotated[
        Histogram,
        Definition(
            "lnamespace_ledger_write_duration_seconds",
            "Time of a write.",
            buckets=_WRITE_BUCKETS,
        ),
    ]
    last_success: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_last_success_timestamp_seconds",
            "When a write last succeeded, in seconds since 1970; 0: not yet.",
        ),
    ]
    drift: Annotated[
        Counter,
        Definition(
            "lnamespace_ledger_drift",
            "Differences between ledger and cluster found by comparing: missing, changed, gone, "
            "reopened.",
            labels=("kind",),
            initial_labels=(("missing",), ("changed",), ("gone",)),
        ),
    ]
    differences: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_differences",
            "As drift, but found by the last comparison alone.",
            labels=("kind",),
            initial_labels=(("missing",), ("changed",), ("gone",)),
        ),
    ]
    withheld: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_ends_withheld",
            "LNamespaces that the last comparison did not end, though they seem gone: too many.",
        ),
    ]
    strangers: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_strangers",
            "LNamespaces in the ledger that have this cluster's names and not its UID, and do not "
            "live here.",
        ),
    ]
    views_outdated: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_views_outdated",
            "1 if the readers' views could not be replaced by those of this version.",
        ),
    ]
    compared: Annotated[
        Gauge,
        Definition(
            "lnamespace_ledger_last_comparison_timestamp_seconds",
            "When ledger and cluster were last compared, in seconds since 1970; 0: not yet.",
        ),
    ]
