"""Rows of the ledger: what a record says, and of which cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.ledger.database.table import CLUSTER_COLUMNS, SCHEMA_VERSION
from lnamespace.ledger.outbox.record import BillingRecord
from lnamespace.model.names import Names

Row = dict[str, Any]

DEFAULT_GROUP = Names().group


@dataclass(frozen=True)
class ClusterIdentity:
    """A cluster, by the names that the cloud's bill has too, and an instance on it.

    Attributes
    ----------
    api_group
        The instance. The bill does not have it: a namespace belongs to one instance.
    cluster_uid
        Distinguishes clusters of the same names; empty if it is not known.
    """

    project_id: str = ""
    cluster_location: str = ""
    cluster_name: str = ""
    api_group: str = DEFAULT_GROUP
    cluster_uid: str = ""

    def columns(self) -> dict[str, str]:
        """Return its names, by the ledger's columns."""
        return {name: getattr(self, name) for name in CLUSTER_COLUMNS}


def to_row(record: BillingRecord, cluster: ClusterIdentity) -> Row:
    """Return the row of a record, with every column."""
    values = msgspec.structs.asdict(record)
    return {
        **values,
        **cluster.columns(),
        "api_group": cluster.api_group,
        "operation": record.operation.value,
        "labels": labels_text(record.labels),
        "schema_version": SCHEMA_VERSION,
        "cluster_uid": cluster.cluster_uid or None,
        "corrects": record.corrects or None,
        "reason": None,
    }


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as JSON, sorted by key: not every database has a type for JSON."""
    return msgspec.json.encode(labels, order="deterministic").decode()
