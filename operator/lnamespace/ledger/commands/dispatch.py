"""``lnamespace ledger``, for people: what is in the ledger, and how to mend it."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import sqlalchemy as sa

from lnamespace.errors import (
    ClusterError,
    LedgerError,
    LedgerUnavailable,
    SettingsError,
)
from lnamespace.kube.client import Access, Client, connect
from lnamespace.ledger.commands import correct as correct_command
from lnamespace.ledger.commands.output import progress, visible, write
from lnamespace.ledger.costs import command as costs_command
from lnamespace.ledger.costs.allocation import Cluster
from lnamespace.ledger.database import embedded as database_file
from lnamespace.ledger.database.ledger import ClusterIdentity, Ledger, to_row
from lnamespace.ledger.database.table import CLUSTER_COLUMNS
from lnamespace.ledger.outbox.client import OutboxClient, decode_queued, list_all
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    billingrecords,
    records_since,
)
from lnamespace.ledger.publisher import process as publisher
from lnamespace.ledger.publisher import reconciliation as reconcile
from lnamespace.model.names import Names
from lnamespace.runtime import logs
from lnamespace.settings import Settings

EVENTS = (
    *("valid_from", "operation", "namespace", "cost_center", "owner", "team", "environment"),
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
"""Columns that are not in a table, for it must fit a terminal; CSV and JSON have them."""

STUCK = timedelta(minutes=15)
"""After so long in the outbox a record is named."""

_NAMED = 5
_BATCH = 100


def run(name: str, settings: Settings, arguments: argparse.Namespace) -> int:
    """Run ``lnamespace ledger NAME``; returns the exit code.

    Raises
    ------
    LNamespaceError
        It could not be done. The message says so, and of the database's failures that nothing is
        lost by them.
    """
    try:
        return _COMMANDS[name](settings, arguments)
    except BrokenPipeError:
        # Who reads has enough, as `head` has; the interpreter would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except LedgerError as error:
        silent = isinstance(error, LedgerUnavailable)
        what = "does not answer" if silent else "refuses"
        raise type(error)(
            f"the ledger's database {what}: {visible(str(error))}\n"
            "Nothing is lost: records wait in the outbox (kubectl get billingrecords)."
        ) from error


def _publish(settings: Settings, _: argparse.Namespace) -> int:
    logs.configure(settings.log_format, settings.log_level)
    database_file.make_folder(settings)
    publisher.run(settings)
    return 0


def _status(settings: Settings, arguments: argparse.Namespace) -> int:
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
            closing(database_file.existing_ledger(settings)) as ledger,
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
            records = await _outbox(client, Names(settings.api_group_suffix))
    except SettingsError as error:
        # An analyst has the database and no cluster; the database alone says whether it is there.
        return {"outbox": f"left out, for it is in the cluster: {error}"}
    except ClusterError as error:
        return {"outbox": f"not known: {error}"}
    oldest = min((record.recorded_at for record in records), default=None)
    return {"outbox": len(records), "oldest_in_outbox": oldest, "stuck_in_outbox": _stuck(records)}


def _stuck(records: Collection[BillingRecord]) -> str:
    """Name the oldest of those that wait for long: the database is away, or refuses them.

    An announced end waits for as long as its Namespace is there.
    """
    limit = datetime.now(UTC) - STUCK
    waiting = (
        r for r in records if r.recorded_at < limit and r.operation is not BillingOperation.ENDING
    )
    stuck = sorted(waiting, key=lambda record: record.recorded_at)
    more = f" and {len(stuck) - _NAMED} more" if len(stuck) > _NAMED else ""
    return ", ".join(record.name for record in stuck[:_NAMED]) + more


def _show(settings: Settings, arguments: argparse.Namespace) -> int:
    ledger = database_file.existing_ledger(settings)
    found = ledger.events().subquery("found")
    order = (found.c.valid_from, found.c.generation, found.c.event_id)
    query = _filtered(found, settings, arguments).order_by(*order)
    return _print(ledger, query, EVENTS, settings, arguments)


def _intervals(settings: Settings, arguments: argparse.Namespace) -> int:
    ledger = database_file.existing_ledger(settings)
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
        here = [] if arguments.all_clusters else [reconcile.cluster_of(settings).columns()]
        with progress("asking the database"):
            first = next(rows, None)
            clusters = () if first or arguments.all_clusters else _clusters(ledger)
        write(chain([first] if first else (), rows), shown, arguments.output, arguments.exact)
    _tell_of_others(clusters, here)
    return 0


def _clusters(ledger: Ledger) -> list[dict[str, Any]]:
    found = ledger.intervals().subquery("found")
    columns = [found.c[name] for name in CLUSTER_COLUMNS]
    return [dict(found) for found in ledger.read(sa.select(*columns).distinct().order_by(*columns))]


def _tell_of_others(
    clusters: Collection[dict[str, Any]], asked: Collection[dict[str, Any]]
) -> None:
    """Nothing known of the cluster in question is not the same as nothing to pay."""
    if clusters and not any(place in clusters for place in asked):
        known = ", ".join("/".join(visible(str(v or "-")) for v in c.values()) for c in clusters)
        print(
            "note: the ledger knows nothing of this cluster. Name one by --project-id, "
            f"--cluster-location and --cluster-name; it has {known}",
            file=sys.stderr,
        )


def _costs(settings: Settings, arguments: argparse.Namespace) -> int:
    asked = costs_command.parse_arguments(arguments, _cluster(settings, arguments))
    with closing(database_file.existing_ledger(settings)) as ledger:
        rows, is_known = costs_command.report(ledger, asked)
        clusters = [] if is_known else _clusters(ledger)
    costs_command.show(rows, asked, arguments.output, arguments.exact)
    _tell_of_others(clusters, [])
    return 0


def _cluster(settings: Settings, arguments: argparse.Namespace) -> Cluster:
    if arguments.all_clusters:
        return (settings.project_id, settings.cluster_location, settings.cluster_name)
    place = reconcile.cluster_of(settings)
    return (place.project_id, place.cluster_location, place.cluster_name)


def _reconcile(settings: Settings, arguments: argparse.Namespace) -> int:
    former = None if arguments.former_cluster is None else frozenset([arguments.former_cluster])
    request = reconcile.ComparisonOptions(arguments.end_all, former or frozenset())
    return asyncio.run(_repair(settings, request, dry_run=arguments.dry_run))


async def _repair(
    settings: Settings, request: reconcile.ComparisonOptions, *, dry_run: bool
) -> int:
    names, ledger = Names(settings.api_group_suffix), Ledger.of(settings)
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        with progress("comparing the ledger with the cluster"):
            place = await _place(client, settings)
            found = await reconcile.compare_with_cluster(client, names, ledger, place, request)
            made = 0 if dry_run else await reconcile.enqueue(OutboxClient(client, names), found)
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


def _replay(settings: Settings, arguments: argparse.Namespace) -> int:
    records, place = asyncio.run(_all_known(settings))
    rows = [to_row(record, place) for record in records]
    if arguments.dry_run:
        print(f"{len(rows)} events are known to the cluster")
        return 0
    database_file.make_folder(settings)
    ledger, added = Ledger.of(settings), 0
    with progress(f"writing {len(rows)} rows"):
        for start in range(0, len(rows), _BATCH):
            added += ledger.append(rows[start : start + _BATCH])
    print(f"{added} rows added, {len(rows) - added} were there")
    return 0


async def _place(client: Client, settings: Settings) -> ClusterIdentity:
    uid = await reconcile.cluster_uid(client)
    return replace(reconcile.cluster_of(settings), cluster_uid=uid)


async def _all_known(settings: Settings) -> tuple[list[BillingRecord], ClusterIdentity]:
    """All events that the cluster can still tell of: present LNamespaces, and the outbox."""
    names, now = Names(settings.api_group_suffix), datetime.now(UTC)
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        waiting = await _outbox(client, names)
        tenants = await reconcile.list_cluster(client, names)
        place = await _place(client, settings)
    events = (record for record in waiting if record.operation is not BillingOperation.ENDING)
    return [*events, *(r for lns in tenants.readable for r in records_since(lns, 0, now))], place


def _correct(settings: Settings, arguments: argparse.Namespace) -> int:
    with closing(database_file.existing_ledger(settings)) as ledger:
        return correct_command.run(ledger, arguments)


def _create_table(settings: Settings, arguments: argparse.Namespace) -> int:
    if arguments.dry_run:
        print(Ledger.of(settings).definition())
        return 0
    database_file.make_folder(settings)
    ledger = Ledger.of(settings)
    with progress("creating the table"):
        Ledger(ledger.engine, ledger.table, manage=True).prepare()
    print(f"{ledger.table.fullname} is there, and {ledger.view} for readers")
    return 0


async def _outbox(client: Client, names: Names) -> list[BillingRecord]:
    queued = [decode_queued(raw) async for raw in list_all(client, billingrecords(names))]
    return [item.record for item in queued if not item.problem]


_COMMANDS: dict[str, Callable[[Settings, argparse.Namespace], int]] = {
    "publish": _publish,
    "status": _status,
    "show": _show,
    "intervals": _intervals,
    "costs": _costs,
    "reconcile": _reconcile,
    "replay": _replay,
    "correct": _correct,
    "create-table": _create_table,
}
