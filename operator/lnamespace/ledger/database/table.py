"""The ledger's table: its columns and rows, and the names of it and of its views.

One row for each event, never changed and never deleted: the cost of last Tuesday must not depend on
who pays today. The same code serves sqlite, PostgreSQL, DuckDB and BigQuery.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from lnamespace.errors import SettingsError
from lnamespace.ledger.outbox.record import BillingRecord
from lnamespace.model.names import Names

SCHEMA_VERSION = 4
"""The version of the table's columns and of the views; increase it with each change of either."""
VOID = "VOID"
"""The operation of a row that takes back the event in ``corrects``, and is nothing else.

Only people with access to the database can write one: no BillingRecord has this operation.
"""
VIEW_SUFFIX = "_intervals"
VERSION_SUFFIX = "_version"
"""The suffix of the view that has the version of the views in one row, free to read in BigQuery."""
CLUSTER_COLUMNS = ("project_id", "cluster_location", "cluster_name")
"""The columns that name the cluster; with ``namespace`` they join the cloud's bill."""


class _InstantText(TypeDecorator[datetime]):
    """An instant in sqlite, which has no zones: text of one width, so that it sorts by time."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: object) -> str | None:
        """Return ``2026-03-01T12:00:00.000000+00:00``."""
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, _: object) -> datetime | None:
        """Return the instant, aware of its zone."""
        return None if value is None else datetime.fromisoformat(value)


INSTANT = sa.TIMESTAMP(timezone=True).with_variant(_InstantText(), "sqlite")

_TABLE_COMMENT = (
    "Who pays for which namespace: one row for each change, never edited and never deleted. "
    "Read the view of intervals."
)

COLUMNS: Mapping[str, str] = {
    "event_id": "The id of the event: UID/GENERATION/APPLY, UID/DELETE, or the event that it "
    "corrects and /RETRACT or /VOID.",
    "project_id": "The project of the cluster, as the cloud's bill has it.",
    "cluster_location": "The location of the cluster, as the cloud's bill has it.",
    "cluster_name": "The name of the cluster, as the cloud's bill has it.",
    "namespace": "The namespace that costs, by which the bill is joined.",
    "lnamespace_uid": "The UID of the LNamespace; others may have had its name.",
    "generation": "The generation of the LNamespace with which this began.",
    "operation": "APPLY: this payer pays from valid_from on. DELETE: nobody does. RETRACT: this "
    "row replaces the event in corrects. VOID: the event in corrects does not count.",
    "valid_from": "When this took effect; of an interval, its beginning.",
    "valid_to": "The end of the interval (excluded); NULL: it has not ended.",
    "recorded_at": "When the record was made.",
    "requester": "Who created the LNamespace.",
    "changed_by": "Who made this change.",
    "billing_source": "The rule that chose the payer.",
    "billing_source_group": "The group whose entry chose the payer.",
    "cost_center": "The cost centre that is charged.",
    "owner": "Who answers for the cost.",
    "team": "The team that the cost belongs to.",
    "environment": "Such as production, staging.",
    "labels": "Further keys, as JSON.",
    "api_group": "The instance of LNamespace on that cluster; NULL: the default one.",
    "operator_version": "The version of LNamespace that made the row.",
    "schema_version": "The version of the columns at that time.",
    "cluster_uid": "The UID of Namespace kube-system, by which clusters of the same names differ.",
    "corrects": "The event_id of the event that this one corrects.",
    "reason": "Why somebody corrected it, in their words.",
}
"""What each column means, in the order of the table; readers see it in their database's tools.

New columns come last: a view can be replaced in place if columns are only appended.
"""

_VIEW_ONLY = ("valid_to",)
_TYPES: Mapping[str, Any] = {
    "generation": sa.BigInteger,
    "schema_version": sa.BigInteger,
    "valid_from": INSTANT,
    "recorded_at": INSTANT,
}
"""The types of columns that are not text."""


def events_table(name: str, default_schema: str = "") -> sa.Table:
    """Return the table of events.

    Parameters
    ----------
    name
        NAME, SCHEMA.NAME or PROJECT.DATASET.NAME.
    default_schema
        The schema of a NAME alone; empty: the database's own default.

    Raises
    ------
    SettingsError
        The name has an empty part, or more than three.
    """
    *schema, last = name.split(".")
    if not all((*schema, last)) or len(schema) > 2:
        raise SettingsError(
            f"--ledger-table must be NAME, SCHEMA.NAME or PROJECT.DATASET.NAME, not {name!r}"
        )
    columns = (
        # BigQuery enforces no primary key; the statement and the views do without one.
        sa.Column(key, _TYPES.get(key, sa.String), primary_key=key == "event_id", comment=text)
        for key, text in COLUMNS.items()
        if key not in _VIEW_ONLY
    )
    schema_name = ".".join(schema) or default_schema or None
    return sa.Table(last, sa.MetaData(), *columns, schema=schema_name, comment=_TABLE_COMMENT)


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


def labels_of(text: str | None) -> dict[str, str]:
    """Return the labels of a row; empty if they are not JSON, as another writer may store."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, str])
    except msgspec.DecodeError:
        return {}
