"""The metrics of every process by its name, and the tables of docs/metrics.md."""

from lnamespace.metrics.base import Metric, ProcessMetrics
from lnamespace.metrics.controller import ControllerMetrics
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.metrics.ledger import LedgerMetrics
from lnamespace.metrics.webhook import WebhookMetrics

PROCESSES: dict[str, type[ProcessMetrics]] = {
    "controller": ControllerMetrics,
    "webhook": WebhookMetrics,
    "gateway": GatewayMetrics,
    "ledger": LedgerMetrics,
}


def documented() -> str:
    """Return the tables of docs/metrics.md."""
    common = ProcessMetrics.all()
    tables = {"every process": common} | {
        name: tuple(one for one in each.all() if one not in common)
        for name, each in PROCESSES.items()
    }
    return "\n".join(f"### {name}\n\n{_table(metrics)}" for name, metrics in tables.items())


def _table(metrics: tuple[Metric, ...]) -> str:
    rows = [
        f"| `{one.exposed_name}` | {one.kind.__name__.lower()} | "
        f"{', '.join(f'`{label}`' for label in one.definition.labels)} | {one.definition.help} |"
        for one in metrics
    ]
    return "\n".join(["| name | type | labels | |", "|---|---|---|---|", *rows, ""])
