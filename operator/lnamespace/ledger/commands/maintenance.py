"""The commands that write: publish, reconcile, replay, correct and create-table."""

import argparse
import asyncio
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

from lnamespace.errors import LedgerError
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
from lnamespace.ledger.commands import correct
from lnamespace.ledger.commands.output import progress, visible
from lnamespace.ledger.database.embedded import existing_ledger, make_folder
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import ClusterIdentity, to_row
from lnamespace.ledger.outbox.client import OutboxClient, list_records
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    recorded_since,
)
from lnamespace.ledger.publisher import process, reconciliation
from lnamespace.model.names import Names
from lnamespace.runtime import logs
from lnamespace.settings import Settings

_BATCH = 100
"""Rows that a replay appends at once."""


def publish(settings: Settings, _: argparse.Namespace) -> int:
    """Publish until a signal asks to stop."""
    logs.configure(settings.log_format, settings.log_level)
    make_folder(settings)
    process.run(settings)
    return 0


def reconcile(settings: Settings, arguments: argparse.Namespace) -> int:
    """Compare the ledger with the cluster, and create the records that are missing."""
    former = None if arguments.former_cluster is None else frozenset([arguments.former_cluster])
    request = reconciliation.ComparisonOptions(arguments.end_all, former or frozenset())
    return asyncio.run(_repair(settings, request, dry_run=arguments.dry_run))


async def _repair(
    settings: Settings, request: reconciliation.ComparisonOptions, *, dry_run: bool
) -> int:
    names = Names(settings.api_group_suffix)
    ledger = existing_ledger(settings) if dry_run else Ledger.from_settings(settings)
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        with progress("comparing the ledger with the cluster"):
            place = await _place(client, settings)
            found = await reconciliation.compare_with_cluster(client, names, ledger, place, request)
            made = (
                0 if dry_run else await reconciliation.enqueue(OutboxClient(client, names), found)
            )
    for kind, records in found.kinds.items():
        for record in records:
            print(f"{kind}: {visible(record.namespace)} {record.event_id}")
    if found.strangers:
        print(f"{found.strangers} LNamespaces of these names may be another cluster's: left alone")
    total = len(found.records)
    print(f"{total} differences" + ("" if dry_run else f", {made} records put into the outbox"))
    if found.suspicion:
        print(found.suspicion, file=sys.stderr)
    return 1 if found.suspicion else 0


def replay(settings: Settings, arguments: argparse.Namespace) -> int:
    """Write all events that the cluster knows, as for a new table."""
    records, place = asyncio.run(_all_known(settings))
    rows = [to_row(record, place) for record in records]
    if arguments.dry_run:
        print(f"{len(rows)} events are known to the cluster")
        return 0
    make_folder(settings)
    ledger, added = Ledger.from_settings(settings), 0
    with progress(f"writing {len(rows)} rows"):
        for start in range(0, len(rows), _BATCH):
            added += ledger.append(rows[start : start + _BATCH])
    print(f"{added} rows added, {len(rows) - added} were there")
    return 0


async def _all_known(settings: Settings) -> tuple[list[BillingRecord], ClusterIdentity]:
    """Return all events that the cluster has recorded: of its LNamespaces, and in the outbox."""
    names, now = Names(settings.api_group_suffix), datetime.now(UTC)
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        waiting = await list_records(client, names)
        tenants = await reconciliation.list_cluster(client, names)
        place = await _place(client, settings)
    events = (record for record in waiting if record.operation is not BillingOperation.ENDING)
    return [*events, *(r for lns in tenants.readable for r in recorded_since(lns, 0, now))], place


async def _place(client: Client, settings: Settings) -> ClusterIdentity:
    uid = await reconciliation.cluster_uid(client)
    return replace(reconciliation.cluster_of(settings), cluster_uid=uid)


def correct_event(settings: Settings, arguments: argparse.Namespace) -> int:
    """Correct an event by a further row."""
    with closing(existing_ledger(settings, read_only=arguments.dry_run)) as ledger:
        return correct.run(ledger, arguments)


def create_table(settings: Settings, arguments: argparse.Namespace) -> int:
    """Create or extend the table and its views, or print the SQL."""
    if arguments.dry_run:
        print(Ledger.from_settings(settings).definition(*_present_columns(settings)))
        return 0
    make_folder(settings)
    ledger = Ledger.from_settings(settings)
    with progress("creating the table"):
        Ledger(ledger.engine, ledger.table, manage=True).prepare()
    print(f"{ledger.table.fullname} is there, and {ledger.view} for readers")
    return 0


def _present_columns(settings: Settings) -> tuple[list[str], list[str]]:
    """Return the columns of table and view; none, with a note, if the database does not answer."""
    try:
        with closing(existing_ledger(settings)) as ledger:
            return ledger.present_columns()
    except LedgerError as error:
        print(f"note: this is for a new table: {visible(str(error))}", file=sys.stderr)
        return [], []
