"""The metrics of every process by its name, and the tables of docs/metrics.md."""

from lnamespace.metrics.base import ProcessMetrics
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
    return "\n".join(f"### {name}\n\n{_table(each)}" for name, each in PROCESSES.items())


def _table(process: type[ProcessMetrics]) -> str:
    rows = [
        f"| `{one.exposed_name}` | {one.kind.__name__.lower()} | "
        f"{', '.join(f'`{label}`' for label in one.definition.labels)} | {one.definition.help} |"
        for one in process.all()
    ]
    return "\n".join(["| name | type | labels | |", "|---|---|---|---|", *rows, ""])
