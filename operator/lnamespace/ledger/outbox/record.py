"""The BillingRecord of a billing event, and which records an LNamespace needs. Pure.

The controller creates a BillingRecord for each event before it reports an LNamespace as ready; the
publisher writes it into the ledger and deletes it. The record's name follows from the event, so
that several processes that record one event create one record.

An ENDING is no event yet. The webhook creates it when somebody asks for a deletion, which may still
fail (:mod:`lnamespace.ledger.publisher.pending_deletions`).
"""

from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lnamespace.kube.resources import Resource
from lnamespace.model.billing import BILLING_TEXTS, BillingSource, Charge, Provenance
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import Names
from lnamespace.model.subject import Timestamp

KIND = "BillingRecord"
PLURAL = "billingrecords"
VERSION = "v1beta1"

RECONCILE = "Reconcile"
"""The source of an event that no webhook saw: the comparison of ledger and cluster found it."""

CORRECTION = "Correction"
"""The source of a correction that somebody made by hand, in the database."""


class BillingOperation(StrEnum):
    """The kind of an event."""

    APPLY = "APPLY"
    DELETE = "DELETE"
    RETRACT = "RETRACT"
    ENDING = "ENDING"


Text = Annotated[str, Meta(max_length=16384)]
"""A text that may be longer than any field of an LNamespace, so that no record is refused."""


class BillingRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The payer of a namespace from a moment on, or the end of payment."""

    event_id: Annotated[
        str,
        Meta(
            max_length=512,
            description="UID/GENERATION/APPLY, UID/DELETE, UID/GENERATION/ENDING, the id of a "
            "wrong end and /RETRACT, or the id of the event that it follows and /APPLY: once for "
            "ever.",
        ),
    ]
    operation: Annotated[
        BillingOperation,
        Meta(
            description="APPLY: this charge begins. DELETE: the LNamespace is gone. ENDING: its "
            "deletion was asked for; it becomes a DELETE, or is removed if the LNamespace stays. "
            "RETRACT: the DELETE that `corrects` names was wrong; this charge begins."
        ),
    ]
    namespace: Annotated[str, Meta(max_length=253, description="The namespace.")]
    lnamespace_uid: Annotated[
        str, Meta(max_length=253, description="The UID of the LNamespace.")
    ] = msgspec.field(name="lnamespaceUID")
    generation: Annotated[
        int, Meta(description="The metadata.generation with which this charge began.")
    ]
    valid_from: Annotated[Timestamp, Meta(description="When it took effect.")]
    recorded_at: Annotated[Timestamp, Meta(description="When this record was made.")]
    requester: Annotated[Text, Meta(description="Who created the LNamespace.")] = ""
    billing_source: Annotated[
        str,
        Meta(
            max_length=253,
            description="Where the billing came from: a source of the LNamespace's provenance, or "
            "Reconcile: found by comparing the ledger with the cluster.",
        ),
    ] = ""
    billing_source_group: Annotated[
        Text, Meta(description="The group whose entry it is, for source Group.")
    ] = ""
    changed_by: Annotated[Text, Meta(description="Who made this change.")] = ""
    cost_center: Annotated[Text, Meta(description="The cost centre that is charged.")] = ""
    owner: Annotated[Text, Meta(description="Who answers for the cost.")] = ""
    team: Annotated[Text, Meta(description="The team that the cost belongs to.")] = ""
    environment: Annotated[Text, Meta(description="Such as production, staging.")] = ""
    labels: Annotated[dict[str, Text], Meta(max_length=64, description="Further keys.")] = {}
    operator_version: Annotated[
        str, Meta(max_length=253, description="Which version of the operator made the record.")
    ] = ""
    corrects: Annotated[
        str, Meta(max_length=512, description="The eventId of the end that a RETRACT takes back.")
    ] = ""

    @property
    def name(self) -> str:
        """Return the name of the record's object: ``UID.GENERATION.apply`` or ``UID.delete``."""
        return self.event_id.replace("/", ".").lower()


def billingrecords(names: Names) -> Resource:
    """Return the resource of the BillingRecords of an instance."""
    return Resource(names.group, VERSION, KIND, PLURAL)


def is_billable(lns: LNamespace) -> bool:
    """Return whether an LNamespace has had a Namespace, which can have cost something."""
    return bool(lns.status.namespace_uid)


def pending_records(lns: LNamespace, now: datetime) -> tuple[BillingRecord, ...]:
    """Return the records that an LNamespace still needs, the oldest first.

    They are those after ``status.recorded.generation``.

    Parameters
    ----------
    now
        When the records are made; a billing without provenance, which no webhook saw, takes effect
        then.
    """
    return records_since(lns, lns.status.recorded.generation, now)


def records_since(lns: LNamespace, generation: int, now: datetime) -> tuple[BillingRecord, ...]:
    """Return the records of an LNamespace after a generation, the oldest first."""
    billing = lns.spec.billing
    events = (apply_record(lns, charge, now) for charge in (*billing.superseded, billing))
    return tuple(event for event in events if event.generation > generation)


def recorded_since(lns: LNamespace, generation: int, now: datetime) -> tuple[BillingRecord, ...]:
    """Return the records after a generation that the controller has created.

    The controller creates the others in time. For an LNamespace that waits until another Namespace
    of its name is gone it creates none yet, and later gives them a later start than the LNamespace
    says.
    """
    recorded = lns.status.recorded.generation
    return tuple(r for r in records_since(lns, generation, now) if r.generation <= recorded)


def newest_generation(lns: LNamespace | LCluster) -> int:
    """Return the ``status.recorded.generation`` of an object without pending records."""
    origin = lns.spec.billing.provenance
    return origin.generation if isinstance(origin, Provenance) else lns.metadata.generation


def unseen_change(lns: LNamespace, now: datetime) -> BillingRecord:
    """Return the record of the present billing, where no webhook saw the change.

    An administrator can change it while the webhook is down. Nobody knows when, so it counts from
    now.
    """
    return msgspec.structs.replace(
        apply_record(lns, lns.spec.billing, now),
        event_id=_apply_id(lns, lns.metadata.generation),
        generation=lns.metadata.generation,
        valid_from=now,
        billing_source=RECONCILE,
        billing_source_group="",
        changed_by="",
    )


def following_change(
    lns: LNamespace, event_id: str, generation: int, since: datetime, now: datetime
) -> BillingRecord:
    """Return the record of the present billing, for a ledger that has its generation already.

    Of an LNamespace of a restored etcd, other states had its generations; after a change of the
    cluster's names, the ledger has its events under the former names. Its own event would not be
    written: there is one of that id.

    Parameters
    ----------
    event_id
        The newest event that the ledger has of it. The record follows that, and its id too.
    generation
        Its place among the events of the LNamespace: after those of lower generations.
    since
        When it takes effect.
    """
    return msgspec.structs.replace(
        unseen_change(lns, now),
        event_id=f"{event_id}/{BillingOperation.APPLY}",
        generation=generation,
        valid_from=since,
    )


def effective_at(lns: LNamespace, now: datetime) -> datetime | None:
    """Return when the present billing took effect; None if no webhook saw that."""
    if not isinstance(lns.spec.billing.provenance, Provenance):
        return None
    return apply_record(lns, lns.spec.billing, now).valid_from


def retraction(lns: LNamespace, end: str, now: datetime) -> BillingRecord:
    """Return the record that takes back a deletion of an LNamespace that exists.

    It also says who pays from now on: another LNamespace may have had the name in between, and
    from its deletion on nobody would pay.

    Parameters
    ----------
    end
        The id of the deletion.
    """
    return msgspec.structs.replace(
        apply_record(lns, lns.spec.billing, now),
        event_id=f"{end}/{BillingOperation.RETRACT}",
        operation=BillingOperation.RETRACT,
        corrects=end,
        valid_from=now,
        billing_source=RECONCILE,
        billing_source_group="",
        changed_by="",
    )


def manifest(record: BillingRecord, names: Names) -> dict[str, Any]:
    """Return the BillingRecord object. It has no owner: it must outlive its LNamespace."""
    return {
        "apiVersion": f"{names.group}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": record.name},
        "spec": msgspec.to_builtins(record),
    }


def apply_record(lns: LNamespace, charge: Charge, now: datetime) -> BillingRecord:
    """Return the record of a billing; it takes effect at the time of its provenance.

    The time is not later than ``now``: the clock of a webhook's replica may be ahead, and if a name
    is used again at once, an event in the future would begin after that of the successor, and so
    end the successor. The time is never before the creation of the LNamespace: with a clock that is
    behind, the webhook's or that of ``now``, the successor would begin before its predecessor.
    """
    origin = charge.provenance
    if isinstance(origin, Provenance):
        source = origin.source.value
    else:
        origin, source = Provenance(lns.metadata.generation, now, BillingSource.EXPLICIT), RECONCILE
    return BillingRecord(
        event_id=_apply_id(lns, origin.generation),
        operation=BillingOperation.APPLY,
        namespace=lns.name,
        lnamespace_uid=lns.uid,
        generation=origin.generation,
        valid_from=_began(lns, min(origin.effective_at, now)).astimezone(UTC),
        recorded_at=now,
        requester=_storable(lns.spec.requester),
        billing_source=source,
        billing_source_group=_storable(origin.group),
        changed_by=_storable(origin.changed_by),
        **{name: _storable(getattr(charge, name)) for name in BILLING_TEXTS.values()},
        labels={_storable(key): _storable(value) for key, value in charge.labels.items()},
        operator_version=_operator_version(),
    )


def _began(lns: LNamespace, moment: datetime) -> datetime:
    """Return a moment, or the LNamespace's creationTimestamp if that is later."""
    made = lns.metadata.creation_timestamp
    return max(moment, datetime.fromisoformat(made)) if made else moment


def _apply_id(lns: LNamespace, generation: int) -> str:
    return f"{lns.uid}/{generation}/{BillingOperation.APPLY}"


def _storable(text: str) -> str:
    """Replace U+0000, which PostgreSQL cannot store, by its symbol U+2400."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


@cache
def _operator_version() -> str:
    return version("lnamespace")
