"""Every metric once: its name, its labels and its meaning.

A metric belongs to the process that counts it: each value here has a registry of its own, and
nothing is registered by an import. No label ever carries the name of a user or of an LNamespace,
nor anything else that people choose. docs/metrics.md is held to this module by a test.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple, Self, get_args, get_origin, get_type_hints

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
_HUMAN = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300)
_WRITE = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60)

ENDPOINTS = (
    *("/mutate", "/mutate-administrator", "/validate", "/validate-administrator"),
    *("/depart", "/convert"),
)
"""What the webhook answers."""

Kind = type[Counter] | type[Gauge] | type[Histogram]


@dataclass(frozen=True)
class Described:
    """A metric's name and meaning; a counter's name lacks the ``_total`` that it is shown with.

    ``from_start`` are label values that have a series before anything was counted: Prometheus sees
    no increase where a series begins at 1, so the first failure would be in no rate.
    """

    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    from_start: tuple[tuple[str, ...], ...] = ()


class Metric(NamedTuple):
    """A metric of some kind."""

    kind: Kind
    described: Described

    @property
    def shown(self) -> str:
        """Its name as Prometheus has it."""
        return f"{self.described.name}_total" if self.kind is Counter else self.described.name

    @property
    def series(self) -> tuple[str, ...]:
        """The names of its time series, as queries use them."""
        if self.kind is Histogram:
            return tuple(f"{self.shown}_{part}" for part in ("bucket", "count", "sum"))
        return (self.shown,)

    def make(self, registry: CollectorRegistry) -> Any:
        """A new one, at zero."""
        is_ = self.described
        options: dict[str, Any] = {"buckets": is_.buckets} if is_.buckets else {}
        made = self.kind(is_.name, is_.meaning, is_.labels, registry=registry, **options)
        for values in is_.from_start:
            made.labels(*values)
        return made


@dataclass(frozen=True)
class Metrics:
    """What the metrics of every process have in common."""

    registry: CollectorRegistry
    info: Annotated[
        Gauge,
        Described(
            "lnamespace_info",
            "Always 1: which version of the process serves which API group.",
            labels=("version", "group"),
        ),
    ]

    @classmethod
    def new(cls, group: str = "") -> Self:
        """All of them at zero, for the process that serves an API group."""
        registry = CollectorRegistry()
        metrics = cls(registry, **{name: each.make(registry) for name, each in cls._fields()})
        metrics.info.labels(version("lnamespace"), group).set(1)
        return metrics

    @classmethod
    def all(cls) -> tuple[Metric, ...]:
        """What there is, in order."""
        return tuple(each for _, each in cls._fields())

    @classmethod
    def _fields(cls) -> Iterator[tuple[str, Metric]]:
        hints = get_type_hints(cls, include_extras=True)
        for one in fields(cls):
            if get_origin(hints[one.name]) is Annotated:
                yield one.name, Metric(*get_args(hints[one.name]))

    def text(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self.registry)


@dataclass(frozen=True)
class ControllerMetrics(Metrics):
    """What the controller counts.

    ``create_to_ready`` and ``edit_to_revoked`` begin when the watch tells this process, and end
    with the API server's answer to the write that makes it so: what is not in them is the way of
    the news to us, which is milliseconds.
    """

    leader: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_leader",
            "1 if this process may write, else 0.",
        ),
    ]
    queue_depth: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_queue_depth",
            "Keys that wait for a worker; urgent ones go first.",
        ),
    ]
    queue_wait: Annotated[
        Histogram,
        Described(
            "lnamespace_controller_queue_wait_seconds",
            "Time from when a key was due until a worker took it.",
            buckets=_HUMAN,
        ),
    ]
    reconciles: Annotated[
        Counter,
        Described(
            "lnamespace_controller_reconciles",
            "Reconciles by what they were of (LNamespace, Person, Departed) and by "
            "result: Done, the type of the error that put it off (errors.py), or Defect.",
            labels=("kind", "result"),
        ),
    ]
    reconcile_seconds: Annotated[
        Histogram,
        Described(
            "lnamespace_controller_reconcile_duration_seconds",
            "Time of a reconcile, its requests included.",
            labels=("kind",),
            buckets=_HUMAN,
        ),
    ]
    failing: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_failing_keys",
            "Keys whose last reconcile was put off, by the type of the error.",
            labels=("result",),
        ),
    ]
    lnamespaces: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_lnamespaces",
            "LNamespaces by the reason of their condition Ready; Pending: nothing is said yet.",
            labels=("reason",),
        ),
    ]
    create_to_ready: Annotated[
        Histogram,
        Described(
            "lnamespace_controller_create_to_ready_seconds",
            "Time from the news of a new LNamespace to the answer to the status that says Ready.",
            buckets=_HUMAN,
        ),
    ]
    edit_to_revoked: Annotated[
        Histogram,
        Described(
            "lnamespace_controller_edit_to_revoked_seconds",
            "Time from the news that somebody is off a list, or that the LNamespace is "
            "gone, to the answer to the last write that takes the rights.",
            buckets=_HUMAN,
        ),
    ]
    drift: Annotated[
        Counter,
        Described(
            "lnamespace_controller_drift_repaired",
            "Managed objects made as they should be again though no LNamespace asked for it.",
            labels=("resource",),
        ),
    ]
    api_requests: Annotated[
        Counter,
        Described(
            "lnamespace_controller_api_requests",
            "Requests to the API server by verb, resource and HTTP code; 0: no answer.",
            labels=("verb", "resource", "code"),
        ),
    ]
    api_seconds: Annotated[
        Histogram,
        Described(
            "lnamespace_controller_api_request_duration_seconds",
            "Time from sending a request to the head of its answer, by verb.",
            labels=("verb",),
            buckets=_QUICK,
        ),
    ]
    watch_silence: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_watch_silence_seconds",
            "How long nothing was heard of a kind; the API server says something every minute.",
            labels=("resource",),
        ),
    ]
    watch_failures: Annotated[
        Counter,
        Described(
            "lnamespace_controller_watch_failures",
            "Watches and lists that failed, by resource.",
            labels=("resource",),
        ),
    ]
    profiles_problem: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_profiles_unusable",
            "1 if the present content of the profiles' file cannot be used and an older one, if "
            "there is one, goes on.",
        ),
    ]
    guards_missing: Annotated[
        Gauge,
        Described(
            "lnamespace_controller_guard_missing",
            "1 if a policy or webhook configuration of the chart is not there or was changed.",
            labels=("guard",),
        ),
    ]


@dataclass(frozen=True)
class WebhookMetrics(Metrics):
    """What the webhook counts."""

    requests: Annotated[
        Counter,
        Described(
            "lnamespace_webhook_requests",
            "Requests answered, by endpoint (other: no such path) and HTTP code.",
            labels=("endpoint", "code"),
            from_start=tuple((each, code) for each in ENDPOINTS for code in ("500", "503")),
        ),
    ]
    seconds: Annotated[
        Histogram,
        Described(
            "lnamespace_webhook_request_duration_seconds",
            "Time from a request's headers to its answer.",
            labels=("endpoint",),
            buckets=_QUICK,
        ),
    ]
    refusals: Annotated[
        Counter,
        Described(
            "lnamespace_webhook_refusals",
            "Reviews answered with a no, by endpoint.",
            labels=("endpoint",),
        ),
    ]
    limit_refusals: Annotated[
        Counter,
        Described(
            "lnamespace_webhook_limit_refusals",
            "Creations refused since who asks has as many LNamespaces as they may have. Dry runs "
            "count too.",
        ),
    ]
    resolutions: Annotated[
        Counter,
        Described(
            "lnamespace_webhook_resolutions",
            "Creations by where who pays came from (spec.billing.provenance.source); "
            "Refused: it could not be said. Dry runs and creations that are refused later"
            " count too.",
            labels=("source",),
        ),
    ]
    unrecorded: Annotated[
        Counter,
        Described(
            "lnamespace_webhook_unrecorded_deletions",
            "Deletions let through though nothing could be written down for the ledger in time; "
            "the controller or the publisher has to see them.",
        ),
    ]
    payers_problem: Annotated[
        Gauge,
        Described(
            "lnamespace_webhook_payers_unusable",
            "1 if the present content of the payers' file cannot be used and an older one goes on.",
        ),
    ]
    in_flight: Annotated[
        Gauge,
        Described(
            "lnamespace_webhook_requests_in_flight",
            "Requests being read or answered.",
        ),
    ]
    connections: Annotated[
        Gauge,
        Described(
            "lnamespace_webhook_connections",
            "Connections open.",
        ),
    ]
    certificate_expiry: Annotated[
        Gauge,
        Described(
            "lnamespace_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that is served expires, in seconds since 1970; 0: none.",
        ),
    ]
    certificate_not_before: Annotated[
        Gauge,
        Described(
            "lnamespace_webhook_certificate_not_before_timestamp_seconds",
            "From when on the certificate that is served is good, in seconds since 1970; 0: none.",
        ),
    ]
    trusted: Annotated[
        Gauge,
        Described(
            "lnamespace_webhook_certificate_trusted",
            "1 if every caBundle trusted the certificate that is served, when last seen. No series "
            "where somebody else makes the certificate, such as cert-manager: the webhook may not "
            "look then.",
        ),
    ]
    trust_failures: Annotated[
        Counter,
        Described(
            "lnamespace_webhook_trust_failures",
            "Rounds of looking after the certificate that failed.",
        ),
    ]


@dataclass(frozen=True)
class LedgerMetrics(Metrics):
    """What the ledger's publisher counts; ``oldest`` is how long the ledger has been behind."""

    outbox: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_outbox_records",
            "Records that wait.",
        ),
    ]
    oldest: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_outbox_oldest_seconds",
            "How long the oldest of them has waited; 0: none waits.",
        ),
    ]
    parked: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_parked_records",
            "Records that the database refuses, whatever they are sent with.",
        ),
    ]
    written: Annotated[
        Counter,
        Described(
            "lnamespace_ledger_rows_written",
            "Rows added.",
        ),
    ]
    known: Annotated[
        Counter,
        Described(
            "lnamespace_ledger_rows_known",
            "Rows that were there already: something was done twice, as it may be.",
        ),
    ]
    failures: Annotated[
        Counter,
        Described(
            "lnamespace_ledger_write_failures",
            "Writes that failed, by reason: unavailable, misconfigured, refused.",
            labels=("reason",),
            from_start=(("unavailable",), ("misconfigured",), ("refused",)),
        ),
    ]
    seconds: Annotated[
        Histogram,
        Described(
            "lnamespace_ledger_write_duration_seconds",
            "Time of a write.",
            buckets=_WRITE,
        ),
    ]
    last_success: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_last_success_timestamp_seconds",
            "When a write last succeeded, in seconds since 1970; 0: not yet.",
        ),
    ]
    drift: Annotated[
        Counter,
        Described(
            "lnamespace_ledger_drift",
            "Differences between ledger and cluster found by comparing: missing, changed, gone, "
            "reopened.",
            labels=("kind",),
            from_start=(("missing",), ("changed",), ("gone",)),
        ),
    ]
    differences: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_differences",
            "As drift, but found by the last comparison alone.",
            labels=("kind",),
            from_start=(("missing",), ("changed",), ("gone",)),
        ),
    ]
    withheld: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_ends_withheld",
            "LNamespaces that the last comparison did not end, though they seem gone: too many.",
        ),
    ]
    strangers: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_strangers",
            "LNamespaces in the ledger that have this cluster's names and not its UID, and do not "
            "live here.",
        ),
    ]
    views_outdated: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_views_outdated",
            "1 if the readers' views could not be replaced by those of this version.",
        ),
    ]
    compared: Annotated[
        Gauge,
        Described(
            "lnamespace_ledger_last_comparison_timestamp_seconds",
            "When ledger and cluster were last compared, in seconds since 1970; 0: not yet.",
        ),
    ]


PROCESSES: dict[str, type[Metrics]] = {
    "controller": ControllerMetrics,
    "webhook": WebhookMetrics,
    "ledger": LedgerMetrics,
}


def documented() -> str:
    """The tables of docs/metrics.md, from what is here."""
    return "\n".join(f"### {name}\n\n{_table(each)}" for name, each in PROCESSES.items())


def _table(process: type[Metrics]) -> str:
    rows = [
        f"| `{one.shown}` | {one.kind.__name__.lower()} | "
        f"{', '.join(f'`{label}`' for label in one.described.labels)} | {one.described.meaning} |"
        for one in process.all()
    ]
    return "\n".join(["| name | type | labels | |", "|---|---|---|---|", *rows, ""])
