"""Read the ledger and the cluster, compare them, and create the records that are missing."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from lnamespace.access.conventions import lcluster_resource, lnamespace_resource
from lnamespace.errors import ModelError, NotFound, OptionError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.pages import list_objects
from lnamespace.kube.resources import NAMESPACE
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import ClusterIdentity, Row
from lnamespace.ledger.outbox.client import OutboxClient, list_records
from lnamespace.ledger.outbox.endings import as_pending
from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord
from lnamespace.ledger.outbox.tenant_charge import charged_lnamespaces
from lnamespace.ledger.publisher.comparison import (
    ClusterState,
    Differences,
    before_corrections,
    find_differences,
    is_corrected,
    rows_of_cluster,
    rows_of_other_names,
    withhold_excess,
)
from lnamespace.ledger.publisher.pending_deletions import namespace_exists, namespace_remains
from lnamespace.model.lcluster import decode_lcluster
from lnamespace.model.lnamespace import LNamespace, decode_lnamespace, head_decoder
from lnamespace.model.names import Names
from lnamespace.settings import Settings

_KUBE_SYSTEM = "kube-system"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ComparisonOptions:
    """The limits that an administrator sets to a comparison.

    Attributes
    ----------
    end_all
        Whether to record all deletions, however many they are.
    former
        The UIDs of clusters that had these names and are gone; "" stands for rows without one.
    """

    end_all: bool = False
    former: frozenset[str] = frozenset()


_AUTOMATIC = ComparisonOptions()


def cluster_of(settings: Settings) -> ClusterIdentity:
    """Return the identity of this cluster, without its UID.

    Raises
    ------
    OptionError
        Clusters may share the database, and this one has no name: the others would record its
        LNamespaces as deleted.
    """
    if not settings.cluster_name and not settings.ledger_url.startswith(("sqlite", "duckdb")):
        raise OptionError("--cluster-name is needed: clusters share a ledger by their names")
    return ClusterIdentity(
        settings.project_id,
        settings.cluster_location,
        settings.cluster_name,
        Names(settings.api_group_suffix).group,
    )


async def list_cluster(client: Client, names: Names) -> ClusterState:
    """List all LNamespaces, the namespaces of LClusters, and all ENDINGs; raises ClusterError."""
    readable: list[LNamespace] = []
    uids: set[str] = set()
    async for raw in list_objects(client, lnamespace_resource(names)):
        uids.add(answers.decode(head_decoder, raw).metadata.uid)
        try:
            readable.append(decode_lnamespace(raw))
        except ModelError as error:
            log.warning("an LNamespace cannot be read", extra={"error": str(error)})
    async for lns in _tenant_namespaces(client, names):
        uids.add(lns.uid)
        readable.append(lns)
    return ClusterState(tuple(readable), frozenset(uids), await _list_endings(client, names))


async def _tenant_namespaces(client: Client, names: Names) -> AsyncIterator[LNamespace]:
    """Yield the charged namespaces of all LClusters; empty if the kind does not exist."""
    try:
        async for raw in list_objects(client, lcluster_resource(names)):
            try:
                lcluster = decode_lcluster(raw)
            except ModelError as error:
                # Namespaces of it that exist are not recorded as gone, though they are not listed.
                log.warning("an LCluster cannot be read", extra={"error": str(error)})
                continue
            for lns in charged_lnamespaces(lcluster):
                yield lns
    except NotFound:
        return


async def _list_endings(client: Client, names: Names) -> Mapping[str, BillingRecord]:
    found: dict[str, BillingRecord] = {}
    for record in await list_records(client, names):
        if record.operation is BillingOperation.ENDING:
            known = found.setdefault(record.lnamespace_uid, record)
            found[record.lnamespace_uid] = max(known, record, key=lambda each: each.generation)
    return found


async def cluster_uid(client: Client) -> str:
    """Return the UID of Namespace kube-system, by which clusters of the same names differ.

    It is created with the cluster, nobody can delete it, and a restored etcd has it again. Raises
    ClusterError.
    """
    answer = await client.get(NAMESPACE.path(_KUBE_SYSTEM))
    return answers.decode(head_decoder, answer).metadata.uid


async def compare_with_cluster(
    client: Client,
    names: Names,
    ledger: Ledger,
    cluster: ClusterIdentity,
    request: ComparisonOptions = _AUTOMATIC,
) -> Differences:
    """Read ledger and cluster, and compare them.

    Raises
    ------
    LedgerError, ClusterError
        One of the two does not answer.
    """
    rows = await asyncio.to_thread(ledger.open_rows, cluster)
    listed = await list_cluster(client, names)
    mine, strangers = rows_of_cluster(rows, cluster.cluster_uid, listed.uids, request.former)
    ended = await _wrongly_ended(client, names, ledger, mine, listed)
    corrected = [row for row in mine if is_corrected(row)]
    history = await asyncio.to_thread(ledger.rows_of, [r["lnamespace_uid"] for r in corrected])
    first, now = before_corrections(corrected, history), datetime.now(UTC)
    renamed = await _renamed(ledger, cluster, mine, ended, listed)
    found = await asyncio.to_thread(find_differences, mine, listed, now, ended, first, renamed)
    found = replace(found, strangers=strangers)
    found = found if request.end_all else withhold_excess(found)
    return replace(found, gone=await _pending_if_namespace_remains(client, found.gone))


async def _renamed(
    ledger: Ledger,
    cluster: ClusterIdentity,
    rows: Iterable[Row],
    ended: Collection[str],
    listed: ClusterState,
) -> Mapping[str, Row]:
    """Return the newest rows of LNamespaces, by UID, that the ledger has under former names."""
    known = {row["lnamespace_uid"]: row["generation"] for row in rows}
    lacking = [
        lns.uid
        for lns in _recorded(listed)
        if lns.uid not in ended and known.get(lns.uid, 0) < lns.status.recorded.generation
    ]
    history = await asyncio.to_thread(ledger.rows_of, lacking)
    return rows_of_other_names(history, cluster.columns())


def _recorded(listed: ClusterState) -> Iterator[LNamespace]:
    """Yield the LNamespaces of which the controller has recorded who pays."""
    return (lns for lns in listed.readable if lns.status.recorded.generation)


async def _wrongly_ended(
    client: Client, names: Names, ledger: Ledger, rows: Iterable[Row], listed: ClusterState
) -> dict[str, str]:
    """Return the ids of the deletions in the ledger of LNamespaces that exist, by UID.

    Another cluster of the same names recorded them, or this one was restored from a backup. The
    cluster is listed again after the ledger was read, so that no deletion is retracted that has
    just been recorded.
    """
    known = {row["lnamespace_uid"] for row in rows}
    unknown = [lns.uid for lns in _recorded(listed) if lns.uid not in known]
    if not unknown or not ledger.can_retract:
        return {}
    ends = await asyncio.to_thread(ledger.deletion_ids, unknown)
    if not ends:
        return {}
    now = await list_cluster(client, names)
    living = {
        lns.uid for lns in now.readable if lns.metadata.deletion_timestamp is msgspec.UNSET
    } - set(now.pending)
    return {uid: end for uid, end in ends.items() if uid in living}


async def _pending_if_namespace_remains(
    client: Client, gone: Iterable[BillingRecord]
) -> tuple[BillingRecord, ...]:
    """Return the deletions; for an LNamespace whose Namespace still exists, its ENDING.

    A namespace of an LCluster that exists is not gone: it was recorded a moment ago.
    """
    found = []
    for record in gone:
        if await namespace_exists(client, record.namespace, record.lnamespace_uid):
            continue
        there = await namespace_remains(client, record.namespace, record.lnamespace_uid)
        found.append(as_pending(record) if there else record)
    return tuple(found)


async def enqueue(outbox: OutboxClient, found: Differences) -> int:
    """Create the records; return how many did not exist. Raises ClusterError."""
    return sum(await asyncio.gather(*map(outbox.add, found.records)))
