"""The options of the ledger."""

from dataclasses import dataclass

from lnamespace.settings.definition import option


@dataclass(frozen=True)
class LedgerOptions:
    """The options of the ledger; see each option's meaning."""

    ledger_url: str = option(
        "sqlite:////var/lib/lnamespace/ledger.db",
        "SQLAlchemy URL of the ledger's database: sqlite, postgresql+psycopg, duckdb, bigquery.",
        "ledger",
    )
    ledger_table: str = option(
        "lnamespace_billing_events",
        "The table's name; SCHEMA.NAME or PROJECT.DATASET.NAME too.",
        "ledger",
    )
    ledger_manage: str = option(
        "CreateAndExtend",
        "CreateAndExtend the table as needed, or Never touch its columns.",
        "ledger",
    )
    project_id: str = option("", "The cloud project of this cluster, as in its bill.", "ledger")
    cluster_location: str = option("", "The region or zone of this cluster.", "ledger")
    cluster_name: str = option("", "The name of this cluster.", "ledger")
    flush_seconds: int = option(60, "How long records are gathered before a write.", "ledger")
    batch_size: int = option(100, "How many records are written at a time.", "ledger")
    compare_hours: int = option(
        24, "How often the ledger is compared with the cluster, besides at start.", "ledger"
    )
