"""The commands that read the ledger: status, show, intervals and costs."""

import argparse
import asyncio
import sys
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import sqlalchemy as sa

from lnamespace.access.conventions import lcluster_resource
from lnamespace.errors import (
    ClusterError,
    LedgerError,
    SettingsError,
)
from lnamespace.kube.connection import Access, connect
from lnamespace.kube.pages import list_objects
from lnamespace.ledger.commands.costs import parse_arguments, print_report, report
from lnamespace.ledger.commands.output import progress, visible, write
from lnamespace.ledger.costs.allocation import Cluster
from lnamespace.ledger.costs.lclusters import BilledLCluster
from lnamespace.ledger.database.embedded import existing_ledger
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import CLUSTER_COLUMNS
from lnamespace.ledger.outbox.client import list_records
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
)
from lnamespace.ledger.publisher import reconciliation
from lnamespace.model.billing import BILLING_TEXTS
from lnamespace.model.lcluster import decode_lcluster
from lnamespace.model.names import Names
from lnamespace.runtime.texts import first_names
from lnamespace.settings import Settings

EVENTS = (
    *("valid_from", "operation", "namespace"),
    *BILLING_TEXTS.values(),
    *("labels", "billing_source", "billing_source_group", "requester", "changed_by"),
    *("generation", "event_id", "recorded_at", "lnamespace_uid", "cluster_uid", "corrects"),
    "reason",
)
INTERVALS = (
    *("namespace", "valid_from", "valid_to"),
    *EVENTS[3:],
)
BRIEF = frozenset(
    {"labels", "billing_source_group", "generation", "event_id", "requester"}
    | {"recorded_at", "lnamespace_uid", "cluster_uid", "corrects", "reason"}
)
"""Columns that a table leaves out, to fit a terminal; CSV and JSON have them."""

STUCK = timedelta(minutes=15)
"""The time in the outbox after which ``status`` names a record."""


def status(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print whether the database answers, and the number of records in the outbox."""
    facts, problem = _database(settings)
    facts |= asyncio.run(_waiting(settings))
    if arguments.output == "json":
        write([facts], list(facts), "json")
    else:
        write([{"what": k, "is": v} for k, v in facts.items()], ["what", "is"], "table")
    if problem:
        raise problem
    return 0


def _database(settings: Settings) -> tuple[dict[str, Any], LedgerError | None]:
    facts: dict[str, Any] = {"database": settings.ledger_url.partition(":")[0]}
    facts["table"] = settings.ledger_table
    try:
        with (
            closing(existing_ledger(settings)) as ledger,
            progress("asking the database"),
        ):
            columns = ledger.table.c
            query = sa.select(
                sa.func.count().label("rows"),
                sa.func.max(columns.recorded_at, type_=columns.recorded_at.type).label("newest"),
            )
            (found,) = ledger.read(query)
    except LedgerError as error:
        return facts | {"reachable": False}, error
    return facts | {"reachable": True} | found, None


async def _waiting(settings: Settings) -> dict[str, Any]:
    try:
        async with connect(Access(settings.kubeconfig, settings.context)) as client:
            records = await list_records(client, Names(settings.api_group_suffix))
    except SettingsError as error:
        # An analyst may have no kubeconfig: the state of the database is shown all the same.
        return {"outbox": f"left out, for it is in the cluster: {error}"}
    except ClusterError as error:
        return {"outbox": f"not known: {error}"}
    oldest = min((record.recorded_at for record in records), default=None)
    return {"outbox": len(records), "oldest_in_outbox": oldest, "stuck_in_outbox": _stuck(records)}


def _stuck(records: Collection[BillingRecord]) -> str:
    """Return the names of the oldest records that wait for long, as if the database refused them.

    An ENDING waits for as long as its Namespace exists.
    """
    limit = datetime.now(UTC) - STUCK
    waiting = (
        r for r in records if r.recorded_at < limit and r.operation is not BillingOperation.ENDING
    )
    stuck = sorted(waiting, key=lambda record: record.recorded_at)
    return first_names([record.name for record in stuck])


def show(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the events."""
    ledger = existing_ledger(settings)
    found = ledger.events().subquery("found")
    order = (found.c.valid_from, found.c.generation, found.c.event_id)
    query = _filtered(found, settings, arguments).order_by(*order)
    return _print(ledger, query, EVENTS, settings, arguments)


def intervals(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print who paid from when to when."""
    ledger = existing_ledger(settings)
    found = ledger.intervals().subquery("found")
    order = (*(found.c[name] for name in CLUSTER_COLUMNS), found.c.namespace, found.c.valid_from)
    query = _filtered(found, settings, arguments).order_by(*order)
    return _print(ledger, query, INTERVALS, settings, arguments)


def _filtered(
    found: sa.Subquery, settings: Settings, arguments: argparse.Namespace
) -> sa.Select[Any]:
    wanted = {"namespace": arguments.namespace, "cost_center": arguments.cost_center}
    if not arguments.all_clusters:
        wanted |= {name: getattr(settings, name) for name in CLUSTER_COLUMNS}
    conditions = (found.c[name] == value for name, value in wanted.items() if value is not None)
    return sa.select(found).where(*conditions)


def _print(
    ledger: Ledger,
    query: sa.Select[Any],
    columns: Sequence[str],
    settings: Settings,
    arguments: argparse.Namespace,
) -> int:
    wide = (
        [*CLUSTER_COLUMNS, *columns]
        if arguments.all_clusters or arguments.output != "table"
        else columns
    )
    shown = [c for c in wide if c not in BRIEF] if arguments.output == "table" else wide
    with closing(ledger), closing(ledger.stream(query)) as rows:
        here = [] if arguments.all_clusters else [reconciliation.cluster_of(settings).columns()]
        with progress("asking the database"):
            first = next(rows, None)
            clusters = () if first or arguments.all_clusters else _clusters(ledger)
        write(chain([first] if first else (), rows), shown, arguments.output, arguments.exact)
    _note_other_clusters(clusters, here)
    return 0


def _clusters(ledger: Ledger) -> list[dict[str, Any]]:
    found = ledger.intervals().subquery("found")
    columns = [found.c[name] for name in CLUSTER_COLUMNS]
    return [dict(found) for found in ledger.read(sa.select(*columns).distinct().order_by(*columns))]


def _note_other_clusters(
    clusters: Collection[dict[str, Any]], asked: Collection[dict[str, Any]]
) -> None:
    """Print a note if the ledger has other clusters only: no rows would seem to mean no cost."""
    if clusters and not any(place in clusters for place in asked):
        known = ", ".join("/".join(visible(str(v or "-")) for v in c.values()) for c in clusters)
        print(
            "note: the ledger knows nothing of this cluster. Name one by --project-id, "
            f"--cluster-location and --cluster-name; it has {known}",
            file=sys.stderr,
        )


def costs(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the cost of each cost centre."""
    asked = parse_arguments(arguments, _cluster(settings, arguments))
    if asked.names_lclusters:
        asked = replace(asked, lclusters=asyncio.run(_lclusters(settings)))
    with closing(existing_ledger(settings)) as ledger:
        rows, is_known = report(ledger, asked)
        clusters = [] if is_known else _clusters(ledger)
    print_report(rows, asked, arguments.output, arguments.exact)
    _note_other_clusters(clusters, [])
    return 0


async def _lclusters(settings: Settings) -> tuple[BilledLCluster, ...]:
    """List the LClusters of this cluster.

    Raises
    ------
    SettingsError, ClusterError, ModelError
        The LClusters cannot be listed or read.
    """
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        resource = lcluster_resource(Names(settings.api_group_suffix))
        found = [raw async for raw in list_objects(client, resource)]
    return tuple(BilledLCluster.from_lcluster(decode_lcluster(raw)) for raw in found)


def _cluster(settings: Settings, arguments: argparse.Namespace) -> Cluster:
    if arguments.all_clusters:
        return (settings.project_id, settings.cluster_location, settings.cluster_name)
    place = reconciliation.cluster_of(settings)
    return (place.project_id, place.cluster_location, place.cluster_name)
