"""The types of ``spec.billing``: who pays for an LNamespace or an LCluster, and since when."""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from lnamespace.model.subject import Timestamp

BILLING_LABELS_MAX = 32
SUPERSEDED_MAX = 10
BILLING_MAX_BYTES = 8 * 1024
"""The largest ``spec.billing`` that a person can write, as JSON: several states of it must fit into
one object (etcd takes 1.5 MiB). Enforced by the webhook, because a schema cannot add sizes."""

BILLING_TEXT_MAX = 1024
"""The longest text that can be written, in characters; an older one may be longer."""

BillingText = Annotated[str, Meta(max_length=16384, pattern=r"^[^\x00]*$")]
"""Any text without U+0000, which PostgreSQL cannot store."""


class BillingSource(StrEnum):
    """The origin of the payer in ``spec.billing``."""

    EXPLICIT = "Explicit"
    USER = "User"
    GROUP = "Group"
    INHERITED = "Inherited"
    DEFAULT = "Default"
    AMBIGUOUS = "Ambiguous"


class Provenance(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The origin of a charge: by whom, when and by which rule. Always written by the webhook."""

    generation: Annotated[
        int, Meta(description="The metadata.generation with which this charge began.")
    ]
    effective_at: Annotated[Timestamp, Meta(description="When this charge took effect.")]
    source: Annotated[
        BillingSource,
        Meta(
            description="Explicit: the requester named the payer. User, Group: an entry for the "
            "requester. Inherited: the LNamespace of the ServiceAccount that is the requester. "
            "Default: no entry fits. Ambiguous: several entries fit."
        ),
    ]
    changed_by: Annotated[str, Meta(max_length=1024, description="Who made this change.")] = ""
    group: Annotated[
        str, Meta(max_length=1024, description="The group whose entry it is, for source Group.")
    ] = ""


class ChargeFields(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The fields of a charge that people write."""

    cost_center: Annotated[BillingText, Meta(description="The cost centre that is charged.")] = ""
    owner: Annotated[BillingText, Meta(description="Who answers for the cost.")] = ""
    team: Annotated[BillingText, Meta(description="The team that the cost belongs to.")] = ""
    environment: Annotated[
        BillingText, Meta(description="Such as production, staging, development.")
    ] = ""
    labels: Annotated[
        dict[str, BillingText],
        Meta(max_length=BILLING_LABELS_MAX, description="Further keys for the ledger."),
    ] = {}


class Charge(ChargeFields, frozen=True, rename="camel", omit_defaults=True):
    """Who pays, and since when."""

    provenance: Annotated[
        Provenance | UnsetType,
        Meta(description="The origin of this charge. Always written by the webhook."),
    ] = UNSET


BILLING_TEXTS = {
    field.encode_name: field.name
    for field in msgspec.structs.fields(ChargeFields)
    if field.name != "labels"
}
"""The fields of a charge that are one text each: as the API spells them, and as Python and the
ledger's columns do."""


class Billing(Charge, frozen=True, rename="camel", omit_defaults=True):
    """Who pays for the namespace."""

    superseded: Annotated[
        tuple[Charge, ...],
        Meta(
            max_length=SUPERSEDED_MAX,
            description="Former states that the controller has yet to record for the ledger, the "
            "oldest first; of an LCluster also the one before these, for namespaces that the "
            "controller has yet to see. Always written by the webhook.",
        ),
    ] = ()
