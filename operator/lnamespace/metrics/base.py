"""The definition of a metric, and the base class of every process's metrics."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple, Self, get_args, get_origin, get_type_hints

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REQUEST_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
"""Seconds of one request."""

Kind = type[Counter] | type[Gauge] | type[Histogram]


@dataclass(frozen=True)
class Definition:
    """The definition of a metric: name, help text, labels and buckets.

    Parameters
    ----------
    name
        Without the ``_total`` with which Prometheus exposes a counter.
    buckets
        Upper bounds in seconds, of a histogram only.
    initial_labels
        Label values that have a series from the start. A series that begins at 1 has no increase
        in Prometheus, so that ``rate`` would miss the first failure.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    initial_labels: tuple[tuple[str, ...], ...] = ()


class Metric(NamedTuple):
    """The definition of a metric, and the client library's class for it."""

    kind: Kind
    definition: Definition

    @property
    def exposed_name(self) -> str:
        """Return the name as Prometheus exposes it."""
        return f"{self.definition.name}_total" if self.kind is Counter else self.definition.name

    @property
    def series(self) -> tuple[str, ...]:
        """Return the names of its time series, as queries use them."""
        if self.kind is Histogram:
            return tuple(f"{self.exposed_name}_{part}" for part in ("bucket", "count", "sum"))
        return (self.exposed_name,)

    def make(self, registry: CollectorRegistry) -> Any:
        """Register a new metric with all its values at zero, and return it."""
        wanted = self.definition
        options: dict[str, Any] = {"buckets": wanted.buckets} if wanted.buckets else {}
        metric = self.kind(wanted.name, wanted.help, wanted.labels, registry=registry, **options)
        for values in wanted.initial_labels:
            metric.labels(*values)
        return metric


@dataclass(frozen=True)
class ProcessMetrics:
    """The metrics of one process: each annotated field is one, made by :meth:`new`."""

    registry: CollectorRegistry
    info: Annotated[
        Gauge,
        Definition(
            "lnamespace_info",
            "Always 1: which version of the process serves which API group.",
            labels=("version", "group"),
        ),
    ]

    @classmethod
    def new(cls, group: str = "") -> Self:
        """Register all metrics in a registry of their own.

        Parameters
        ----------
        group
            The API group that the process serves; a label of the info metric.
        """
        registry = CollectorRegistry()
        metrics = cls(registry, **{name: each.make(registry) for name, each in cls._fields()})
        metrics.info.labels(version("lnamespace"), group).set(1)
        return metrics

    @classmethod
    def all(cls) -> tuple[Metric, ...]:
        """Return the metrics in the order of the fields."""
        return tuple(each for _, each in cls._fields())

    @classmethod
    def _fields(cls) -> Iterator[tuple[str, Metric]]:
        hints = get_type_hints(cls, include_extras=True)
        for one in fields(cls):
            if get_origin(hints[one.name]) is Annotated:
                yield one.name, Metric(*get_args(hints[one.name]))

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
