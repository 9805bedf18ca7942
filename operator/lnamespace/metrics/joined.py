"""The metrics of several processes as those of one, told apart by the label ``worker``; pure."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample


def join_metrics(texts: Mapping[str, str]) -> bytes:
    """Return the metrics of all processes in Prometheus' text format.

    Each series has one label more. Sums would be wrong: a counter of a process that began anew
    would be a sum that falls, which Prometheus takes for a reset of all of it.

    Parameters
    ----------
    texts
        The metrics in that format, by the value of the label.
    """
    registry = CollectorRegistry()
    registry.register(_Joined(texts))
    return generate_latest(registry)


class _Joined(Collector):
    """All families, each once: the format has the series of a family together."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        """Return the families with the series of all processes."""
        families: dict[str, Metric] = {}
        for worker, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                joined = families.setdefault(family.name, family)
                samples = [_labelled(each, worker) for each in family.samples]
                joined.samples = [*joined.samples, *samples] if joined is not family else samples
        return families.values()


def _labelled(sample: Sample, worker: str) -> Sample:
    return sample._replace(labels={**sample.labels, "worker": worker})
