"""One billing event: as a value, and as an object of the outbox.

The controller makes a ``BillingRecord`` object of each event before it calls an LNamespace done;
the publisher carries it into the ledger and deletes it. Its name follows from what happened, so
that whoever tries twice, or in parallel, makes one.

One kind of record is no event yet: the door makes an ENDING when it is asked for a deletion, which
may come to nothing (:mod:`lnamespace.ledger.publisher.pending_deletions`).
"""

from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lnamespace.errors import ModelError
from lnamespace.kube.resources import Resource
from lnamespace.model.lnamespace import BillingSource, Charge, LNamespace, Provenance
from lnamespace.model.names import Names
from lnamespace.model.subject import Timestamp

KIND = "BillingRecord"
PLURAL = "billingrecords"
VERSION = "v1beta1"

RECONCILE = "Reconcile"
"""The source of what nobody was seen to do: found by comparing the ledger with the cluster."""

CORRECTION = "Correction"
"""The source of what was corrected in the ledger, by hand."""


class BillingOperation(StrEnum):
    """What happened."""

    APPLY = "APPLY"
    DELETE = "DELETE"
    RETRACT = "RETRACT"
    ENDING = "ENDING"


Text = Annotated[str, Meta(max_length=16384)]
"""Longer than any field it is filled from, so that a record is never refused for its length."""


class BillingRecord(msgspec.Struct, frozen=True, rename="camel"):
    """Who pays for a namespace from a moment on, or that from then on nobody does."""

    event_id: Annotated[
        str,
        Meta(
            max_length=512,
            description="UID/GENERATION/APPLY, UID/DELETE, UID/GENERATION/ENDING, or the id of a "
            "wrong end and /RETRACT: once for ever.",
        ),
    ]
    operation: Annotated[
        BillingOperation,
        Meta(
            description="APPLY: from then on it is so. DELETE: it ended. ENDING: its deletion was "
            "asked for; it becomes a DELETE when it is gone, and nothing if it stays. RETRACT: the "
            "end that `corrects` names was wrong and counts no more; from then on it is as it says."
        ),
    ]
    namespace: Annotated[str, Meta(max_length=253, description="The namespace.")]
    lnamespace_uid: Annotated[
        str, Meta(max_length=253, description="What tells it from others of the same name.")
    ] = msgspec.field(name="lnamespaceUID")
    generation: Annotated[
        int, Meta(description="The metadata.generation of the LNamespace since which it is so.")
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
    changed_by: Annotated[Text, Meta(description="Who made it so.")] = ""
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
        """What the object is called: ``UID.GENERATION.apply`` or ``UID.delete``."""
        return self.event_id.replace("/", ".").lower()


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    spec: BillingRecord


_decoder = msgspec.json.Decoder(_Object)


def billingrecords(names: Names) -> Resource:
    """Where this instance's outbox is."""
    return Resource(names.group, VERSION, KIND, PLURAL)


def is_billable(lns: LNamespace) -> bool:
    """Whether it has had a Namespace of its own, which can have cost something."""
    return bool(lns.status.namespace_uid)


def pending_records(lns: LNamespace, now: datetime) -> tuple[BillingRecord, ...]:
    """What the ledger is yet to be told of an LNamespace, the oldest first.

    ``status.recorded.generation`` says how far it knows. ``now`` (aware) is when the records are
    made, and when they take effect where no webhook has said (there is no provenance).
    """
    return records_since(lns, lns.status.recorded.generation, now)


def records_since(lns: LNamespace, generation: int, now: datetime) -> tuple[BillingRecord, ...]:
    """What happened to the billing of an LNamespace after that generation, the oldest first."""
    billing = lns.spec.billing
    events = (_apply_record(lns, charge, now) for charge in (*billing.superseded, billing))
    return tuple(event for event in events if event.generation > generation)


def newest_generation(lns: LNamespace) -> int:
    """The generation that ``status.recorded.generation`` has once all that is due is recorded."""
    origin = lns.spec.billing.provenance
    return origin.generation if isinstance(origin, Provenance) else lns.metadata.generation


def unseen_change(lns: LNamespace, now: datetime) -> BillingRecord:
    """The present billing, for the ledger to follow where it was changed behind the door's back.

    An administrator can do so while the webhook is down. Nobody knows when, so it counts from now.
    """
    return msgspec.structs.replace(
        _apply_record(lns, lns.spec.billing, now),
        event_id=_apply_id(lns, lns.metadata.generation),
        generation=lns.metadata.generation,
        valid_from=now,
        billing_source=RECONCILE,
        billing_source_group="",
        changed_by="",
    )


def retraction(lns: LNamespace, end: str, now: datetime) -> BillingRecord:
    """Return the event that takes back an end of an LNamespace which lives, by the end's id.

    It also says who pays from now on: another LNamespace may have had the name in between, and
    from its end on the bill would be nobody's.
    """
    return msgspec.structs.replace(
        _apply_record(lns, lns.spec.billing, now),
        event_id=f"{end}/{BillingOperation.RETRACT}",
        operation=BillingOperation.RETRACT,
        corrects=end,
        valid_from=now,
        billing_source=RECONCILE,
        billing_source_group="",
        changed_by="",
    )


def deletion(lns: LNamespace, now: datetime) -> BillingRecord:
    """That an LNamespace and its Namespace are gone, as the LNamespace was last seen.

    It ended ``now``, when they were seen to be gone, and not when the deletion was asked for: what
    finalizers hold costs what it did. Not before its last change, for clocks differ.
    An LNamespace ends once, so this is one event, whoever tells it and whatever generation they
    last saw.
    """
    ended, origin = now, lns.spec.billing.provenance
    if isinstance(origin, Provenance):
        ended = max(ended, origin.effective_at)
    return msgspec.structs.replace(
        _apply_record(lns, lns.spec.billing, now),
        event_id=deletion_id(lns.uid),
        operation=BillingOperation.DELETE,
        generation=lns.metadata.generation,
        valid_from=ended.astimezone(UTC),
        changed_by="",  # Who deletes is not told to anybody but the audit log.
    )


def pending_deletion(lns: LNamespace, now: datetime) -> BillingRecord:
    """That an LNamespace was asked to go: the end that it has if it does.

    One for each state of it, so that many who ask make one.
    """
    return as_pending(deletion(lns, now))


def as_pending(end: BillingRecord) -> BillingRecord:
    """Return the announcement of an end that has not come yet: the Namespace is there still."""
    return msgspec.structs.replace(
        end,
        event_id=f"{end.lnamespace_uid}/{end.generation}/{BillingOperation.ENDING}",
        operation=BillingOperation.ENDING,
    )


def as_deleted(announced: BillingRecord, gone: datetime | None = None) -> BillingRecord:
    """The end that an ENDING told of; the same event as :func:`deletion`.

    ``gone`` is when it was seen to be gone, by who had seen it there after the ENDING.
    """
    return msgspec.structs.replace(
        announced,
        event_id=deletion_id(announced.lnamespace_uid),
        operation=BillingOperation.DELETE,
        valid_from=max(gone, announced.valid_from) if gone else announced.valid_from,
    )


def deletion_id(uid: str, retractions: int = 0) -> str:
    """Return the id of the event that an LNamespace ended, after so many ends were taken back."""
    return f"{uid}/{BillingOperation.DELETE}" + (f"/{retractions}" if retractions else "")


def manifest(record: BillingRecord, names: Names) -> dict[str, Any]:
    """The object of the outbox; it has no owner, for it must outlive what it tells of."""
    return {
        "apiVersion": f"{names.group}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": record.name},
        "spec": msgspec.to_builtins(record),
    }


def decode_record(raw: bytes | msgspec.Raw) -> BillingRecord:
    """Read an object of the outbox.

    Raises
    ------
    ModelError
        It breaks its own schema (the CRD was changed or bypassed).
    """
    try:
        return _decoder.decode(raw).spec
    except (ValueError, RecursionError) as error:
        raise ModelError(str(error)) from error


def _apply_record(lns: LNamespace, charge: Charge, now: datetime) -> BillingRecord:
    """Return the event that somebody pays; it takes effect when a webhook said, and not later.

    The clock of a webhook's replica may be ahead. Of a name that was used again at once, an event
    in the future would begin after its successor's and so end the one that lives. So would one
    of the successor's that a clock which is behind puts before its own creation.
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
        valid_from=min(max(origin.effective_at, _created(lns, origin)), now).astimezone(UTC),
        recorded_at=now,
        requester=_storable(lns.spec.requester),
        billing_source=source,
        billing_source_group=_storable(origin.group),
        changed_by=_storable(origin.changed_by),
        cost_center=_storable(charge.cost_center),
        owner=_storable(charge.owner),
        team=_storable(charge.team),
        environment=_storable(charge.environment),
        labels={_storable(key): _storable(value) for key, value in charge.labels.items()},
        operator_version=_operator_version(),
    )


def _created(lns: LNamespace, origin: Provenance) -> datetime:
    """Return when it was made, by the API server; where that is not said, it does not matter."""
    made = lns.metadata.creation_timestamp
    return datetime.fromisoformat(made) if made else origin.effective_at


def _apply_id(lns: LNamespace, generation: int) -> str:
    return f"{lns.uid}/{generation}/{BillingOperation.APPLY}"


def _storable(text: str) -> str:
    """No database of ours must choke on U+0000, which PostgreSQL cannot keep; it has a picture."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


@cache
def _operator_version() -> str:
    return version("lnamespace")
