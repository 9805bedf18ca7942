"""Compares the ledger with the cluster, and puts what differs into the outbox."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from lnamespace.errors import ModelError, SettingsError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.ledger.database.ledger import ClusterIdentity, Ledger, Row
from lnamespace.ledger.outbox.client import OutboxClient, decode_queued, list_all
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    as_pending,
    billingrecords,
)
from lnamespace.ledger.publisher.comparison import (
    ClusterState,
    Differences,
    find_differences,
    rows_of_cluster,
    withhold_excess,
)
from lnamespace.ledger.publisher.pending_deletions import namespace_remains
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION, LNamespace, decode
from lnamespace.model.names import Names
from lnamespace.settings import Settings

_KUBE_SYSTEM = "kube-system"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ComparisonOptions:
    """What an administrator asks of a comparison, besides what it does by itself.

    ``end_all``: end what is gone, however much that is. ``former``: the UIDs of clusters that had
    these names and are gone; "" is whichever wrote the rows that have none.
    """

    end_all: bool = False
    former: frozenset[str] = frozenset()


_AUTOMATIC = ComparisonOptions()


class _Metadata(msgspec.Struct, frozen=True):
    uid: str


class _Head(msgspec.Struct, frozen=True):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head)


def cluster_of(settings: Settings) -> ClusterIdentity:
    """Which cluster this is.

    Raises
    ------
    SettingsError
        The database may be shared by clusters, and nothing tells this one from the others: its
        LNamespaces would look to them as if they were gone.
    """
    if not settings.cluster_name and not settings.ledger_url.startswith(("sqlite", "duckdb")):
        raise SettingsError("--cluster-name is needed: clusters share a ledger by their names")
    return ClusterIdentity(
        settings.project_id,
        settings.cluster_location,
        settings.cluster_name,
        Names(settings.api_group_suffix).group,
    )


async def list_cluster(client: Client, names: Names) -> ClusterState:
    """All LNamespaces as they are now, then all announced ends; raises ClusterError."""
    readable: list[LNamespace] = []
    uids: set[str] = set()
    async for raw in list_all(client, Resource(names.group, VERSION, KIND, PLURAL)):
        uids.add(answers.decode(_head, raw).metadata.uid)
        try:
            readable.append(decode(raw))
        except ModelError as error:
            log.warning("an LNamespace cannot be read", extra={"error": str(error)})
    return ClusterState(tuple(readable), frozenset(uids), await _announced(client, names))


async def _announced(client: Client, names: Names) -> Mapping[str, BillingRecord]:
    found: dict[str, BillingRecord] = {}
    async for raw in list_all(client, billingrecords(names)):
        record = decode_queued(raw).record
        if record.operation is BillingOperation.ENDING:
            known = found.setdefault(record.lnamespace_uid, record)
            found[record.lnamespace_uid] = max(known, record, key=lambda each: each.generation)
    return found


async def cluster_uid(client: Client) -> str:
    """Return what tells this cluster from all others: the UID of Namespace kube-system.

    It is made with the cluster, nobody can delete it, and a restored etcd has it again. Raises
    ClusterError.
    """
    answer = await client.get(NAMESPACE.path(_KUBE_SYSTEM))
    return answers.decode(_head, answer).metadata.uid


async def compare_with_cluster(
    client: Client,
    names: Names,
    ledger: Ledger,
    place: ClusterIdentity,
    request: ComparisonOptions = _AUTOMATIC,
) -> Differences:
    """Compare ledger and cluster; see :mod:`lnamespace.ledger.publisher.comparison`.

    Raises
    ------
    LedgerError, ClusterError
        One of the two does not answer.
    """
    rows = await asyncio.to_thread(ledger.open, place)
    listed = await list_cluster(client, names)
    mine, strangers = rows_of_cluster(rows, place.cluster_uid, listed.uids, request.former)
    ended = await _wrongly_ended(client, names, ledger, mine, listed)
    now = datetime.now(UTC)
    found = await asyncio.to_thread(find_differences, mine, listed, now, ended)
    found = replace(found, strangers=strangers)
    found = found if request.end_all else withhold_excess(found)
    return replace(found, gone=await _as_they_go(client, found.gone))


async def _wrongly_ended(
    client: Client, names: Names, ledger: Ledger, rows: Iterable[Row], listed: ClusterState
) -> dict[str, str]:
    """The ends that the ledger has of LNamespaces that live, by UID.

    They were ended by a cluster of the same names, or this one was restored from a backup. The
    cluster is asked once more after the ledger, lest one that is just deleted be brought back.
    """
    known = {row["lnamespace_uid"] for row in rows}
    recorded = {
        lns.uid: lns
        for lns in listed.readable
        if lns.uid not in known and lns.status.recorded.generation
    }
    if not recorded or not ledger.corrects:
        return {}
    ends = await asyncio.to_thread(ledger.ends, list(recorded))
    if not ends:
        return {}
    now = await list_cluster(client, names)
    living = {
        lns.uid for lns in now.readable if lns.metadata.deletion_timestamp is msgspec.UNSET
    } - set(now.announced)
    return {uid: end for uid, end in ends.items() if uid in living}


async def _as_they_go(client: Client, gone: Iterable[BillingRecord]) -> tuple[BillingRecord, ...]:
    """Ends, but announcements of those whose Namespace is there still."""
    found = []
    for record in gone:
        there = await namespace_remains(client, record.namespace, record.lnamespace_uid)
        found.append(as_pending(record) if there else record)
    return tuple(found)


async def enqueue(outbox: OutboxClient, found: Differences) -> int:
    """Put it into the outbox; returns how many records that made. Raises ClusterError."""
    return sum(await asyncio.gather(*map(outbox.add, found.records)))
