"""The metrics of the controller."""

from dataclasses import dataclass
from typing import Annotated

from prometheus_client import Counter, Gauge, Histogram

from lnamespace.metrics.base import REQUEST_BUCKETS, Definition, ProcessMetrics

_WAIT_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300)
"""Seconds of what a person waits for."""


@dataclass(frozen=True)
class ControllerMetrics(ProcessMetrics):
    """The metrics of the controller.

    ``create_to_ready`` and ``edit_to_revoked`` begin when this process receives the watch event and
    end with the API server's answer to the last write. They lack the way of the event from the API
    server to this process, which takes milliseconds.
    """

    leader: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_leader",
            "1 if this process may write, else 0.",
        ),
    ]
    queue_depth: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_queue_depth",
            "Keys that wait for a worker; urgent ones go first.",
        ),
    ]
    queue_wait: Annotated[
        Histogram,
        Definition(
            "lnamespace_controller_queue_wait_seconds",
            "Time from when a key was due until a worker took it.",
            buckets=_WAIT_BUCKETS,
        ),
    ]
    reconciles: Annotated[
        Counter,
        Definition(
            "lnamespace_controller_reconciles",
            "Reconciles by kind (LNamespace, LCluster, Person, Departed: a deleted LNamespace) and "
            "by result: Done, the type of the error that put it off (errors.py), or Defect.",
            labels=("kind", "result"),
        ),
    ]
    reconcile_seconds: Annotated[
        Histogram,
        Definition(
            "lnamespace_controller_reconcile_duration_seconds",
            "Time of a reconcile, its requests included.",
            labels=("kind",),
            buckets=_WAIT_BUCKETS,
        ),
    ]
    failing: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_failing_keys",
            "Keys whose last reconcile was put off, by the type of the error.",
            labels=("result",),
        ),
    ]
    lnamespaces: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_lnamespaces",
            "LNamespaces by the reason of their condition Ready; Pending: nothing is said yet.",
            labels=("reason",),
        ),
    ]
    create_to_ready: Annotated[
        Histogram,
        Definition(
            "lnamespace_controller_create_to_ready_seconds",
            "Time from the news of a new LNamespace to the answer to the status that says Ready.",
            buckets=_WAIT_BUCKETS,
        ),
    ]
    edit_to_revoked: Annotated[
        Histogram,
        Definition(
            "lnamespace_controller_edit_to_revoked_seconds",
            "Time from the news that somebody is off a list, or that the LNamespace is "
            "gone, to the answer to the last write that takes the rights.",
            buckets=_WAIT_BUCKETS,
        ),
    ]
    drift: Annotated[
        Counter,
        Definition(
            "lnamespace_controller_drift_repaired",
            "Managed objects made as they should be again though no LNamespace asked for it.",
            labels=("resource",),
        ),
    ]
    api_requests: Annotated[
        Counter,
        Definition(
            "lnamespace_controller_api_requests",
            "Requests to the API server by verb, resource and HTTP code; 0: no answer.",
            labels=("verb", "resource", "code"),
        ),
    ]
    api_seconds: Annotated[
        Histogram,
        Definition(
            "lnamespace_controller_api_request_duration_seconds",
            "Time from sending a request to the head of its answer, by verb.",
            labels=("verb",),
            buckets=REQUEST_BUCKETS,
        ),
    ]
    watch_silence: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_watch_silence_seconds",
            "How long nothing was heard of a kind; the API server says something every minute.",
            labels=("resource",),
        ),
    ]
    watch_failures: Annotated[
        Counter,
        Definition(
            "lnamespace_controller_watch_failures",
            "Watches and lists that failed, by resource.",
            labels=("resource",),
        ),
    ]
    profiles_problem: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_profiles_unusable",
            "1 if the present content of the profiles' file cannot be used and an older one, if "
            "there is one, goes on.",
        ),
    ]
    guards_missing: Annotated[
        Gauge,
        Definition(
            "lnamespace_controller_guard_missing",
            "1 if a policy or webhook configuration of the chart is not there or was changed.",
            labels=("guard",),
        ),
    ]
