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
from lnamespace.ledger.database.ledger import Ledger, Place, Row
from lnamespace.ledger.outbox.announcements import lingers
from lnamespace.ledger.outbox.client import Outbox, pages, read_queued
from lnamespace.ledger.outbox.record import BillingRecord, Operation, announcing, billingrecords
from lnamespace.ledger.publisher.comparison import Differences, Listed, bounded, differences, ours
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION, LNamespace, decode
from lnamespace.model.names import Names
from lnamespace.settings import Settings

_KUBE_SYSTEM = "kube-system"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What an administrator asks of a comparison, besides what it does by itself.

    ``end_all``: end what is gone, however much that is. ``former``: the UIDs of clusters that had
    these names and are gone; "" is whichever wrote the rows that have none.
    """

    end_all: bool = False
    former: frozenset[str] = frozenset()


_AUTOMATIC = Request()


class _Metadata(msgspec.Struct, frozen=True):
    uid: str


class _Head(msgspec.Struct, frozen=True):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head)


def place_of(settings: Settings) -> Place:
    """Which cluster this is.

    Raises
    ------
    SettingsError
        The database may be shared by clusters, and nothing tells this one from the others: its
        LNamespaces would look to them as if they were gone.
    """
    if not settings.cluster_name and not settings.ledger_url.startswith(("sqlite", "duckdb")):
        raise SettingsError("--cluster-name is needed: clusters share a ledger by their names")
    return Place(
        settings.project_id,
        settings.cluster_location,
        settings.cluster_name,
        Names(settings.api_group_suffix).group,
    )


async def tenants(client: Client, names: Names) -> Listed:
    """All LNamespaces as they are now, then all announced ends; raises ClusterError."""
    readable: list[LNamespace] = []
    uids: set[str] = set()
    async for raw in pages(client, Resource(names.group, VERSION, KIND, PLURAL)):
        uids.add(answers.decode(_head, raw).metadata.uid)
        try:
            readable.append(decode(raw))
        except ModelError as error:
            log.warning("an LNamespace cannot be read", extra={"error": str(error)})
    return Listed(tuple(readable), frozenset(uids), await _announced(client, names))


async def _announced(client: Client, names: Names) -> Mapping[str, BillingRecord]:
    found: dict[str, BillingRecord] = {}
    async for raw in pages(client, billingrecords(names)):
        record = read_queued(raw).record
        if record.operation is Operation.ENDING:
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


async def find(
    client: Client, names: Names, ledger: Ledger, place: Place, request: Request = _AUTOMATIC
) -> Differences:
    """Compare ledger and cluster; see :mod:`lnamespace.ledger.publisher.comparison`.

    Raises
    ------
    LedgerError, ClusterError
        One of the two does not answer.
    """
    rows = await asyncio.to_thread(ledger.open, place)
    listed = await tenants(client, names)
    mine, strangers = ours(rows, place.cluster_uid, listed.uids, request.former)
    ended = await _wrongly_ended(client, names, ledger, mine, listed)
    now = datetime.now(UTC)
    found = await asyncio.to_thread(differences, mine, listed, now, ended)
    found = replace(found, strangers=strangers)
    found = found if request.end_all else bounded(found)
    return replace(found, gone=await _as_they_go(client, found.gone))


async def _wrongly_ended(
    client: Client, names: Names, ledger: Ledger, rows: Iterable[Row], listed: Listed
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
    now = await tenants(client, names)
    living = {
        lns.uid for lns in now.readable if lns.metadata.deletion_timestamp is msgspec.UNSET
    } - set(now.announced)
    return {uid: end for uid, end in ends.items() if uid in living}


async def _as_they_go(client: Client, gone: Iterable[BillingRecord]) -> tuple[BillingRecord, ...]:
    """Ends, but announcements of those whose Namespace is there still."""
    found = []
    for record in gone:
        there = await lingers(client, record.namespace, record.lnamespace_uid)
        found.append(announcing(record) if there else record)
    return tuple(found)


async def repair(outbox: Outbox, found: Differences) -> int:
    """Put it into the outbox; returns how many records that made. Raises ClusterError."""
    return sum(await asyncio.gather(*map(outbox.add, found.records)))
