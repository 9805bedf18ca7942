"""Compares the ledger with the cluster, and puts what differs into the outbox."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from lnamespace.billing.compare import Differences, Listed, differences
from lnamespace.billing.ledger import Ledger, Place
from lnamespace.billing.outbox import Outbox, pages, read_queued
from lnamespace.billing.record import BillingRecord, Operation, billingrecords
from lnamespace.errors import ModelError, SettingsError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION, LNamespace, decode
from lnamespace.model.names import Names
from lnamespace.settings import Settings

log = logging.getLogger(__name__)


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
        uids.add(_head.decode(raw).metadata.uid)
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


async def find(client: Client, names: Names, ledger: Ledger, place: Place) -> Differences:
    """What differs now.

    Raises
    ------
    LedgerError, ClusterError
        One of the two does not answer.
    """
    rows = await asyncio.to_thread(ledger.open, place)
    listed = await tenants(client, names)
    now = datetime.now(UTC)
    return await asyncio.to_thread(differences, rows, listed, now)


async def repair(outbox: Outbox, found: Differences) -> int:
    """Put it into the outbox; returns how many records that made. Raises ClusterError."""
    return sum(await asyncio.gather(*map(outbox.add, found.records)))
