"""A stand-in for BigQuery: its REST protocol, version 2, over loopback, on DuckDB.

The real client talks to it. It keeps the rules of BigQuery that DuckDB has not (quotas, request
ids, the streaming buffer, required fields), and it fails in the ways that the service fails in,
when told to. It is no BigQuery: what passes here was tested against the protocol.

In a test: ``with standin() as service, service.client("project") as client:``. As a process:
``python -m tests.bigquery --port 9050``.
"""

from tests.bigquery.faults import QUICK_FAULTS, Fault, Kind
from tests.bigquery.limits import Limits
from tests.bigquery.server import StandIn, standin

__all__ = ["QUICK_FAULTS", "Fault", "Kind", "Limits", "StandIn", "standin"]
