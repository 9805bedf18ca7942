"""The types of the LNamespace API, version ``v1beta1``.

The CRD is generated from these types (:mod:`lnamespace.model.crd`), and objects of the API server
are decoded into them, so schema and decoder cannot differ. Docstrings and descriptions of the types
are those that ``kubectl explain`` shows.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from lnamespace.errors import ModelError
from lnamespace.model.billing import Billing
from lnamespace.model.subject import Member, Timestamp
from lnamespace.nesting import at_any_depth

KIND = "LNamespace"
PLURAL = "lnamespaces"
VERSION = "v1beta1"
LIST_MAX_ITEMS = 500
"""The longest list that is read: lists from before :data:`ENTRIES_MAX` may be longer."""

ENTRIES_MAX = {"users": 250, "managers": 50, "sudoers": 50}
"""The longest lists that can be written. Each sudoer has RBAC objects that slow every request."""

MEMBER_LISTS = tuple(ENTRIES_MAX)

NAME_MAX = 256
"""The longest name that can be added, in characters; e-mail addresses have at most 254."""

SPEC_MAX_BYTES = 64 * 1024
"""The largest spec as JSON, without the webhook's own fields. Enforced by the webhook."""

METADATA_MAX_BYTES = 96 * 1024
"""The largest metadata without managedFields; `kubectl apply` keeps a copy of the spec there."""

MANAGED_MAX_BYTES = 256 * 1024
"""The largest metadata.managedFields, which grow with each field manager."""

LABEL_KEY_MAX_LENGTH = 63
CLASS_NAME_MAX_LENGTH = 63
PROFILE_MAX_LENGTH = 63


class DeletionPolicy(StrEnum):
    """What becomes of the Namespaces when their LNamespace or LCluster is deleted."""

    DELETE = "Delete"
    RETAIN = "Retain"


class CommonSpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The fields that LNamespaces and LClusters have in common."""

    users: Annotated[
        tuple[Member, ...],
        Meta(
            max_length=LIST_MAX_ITEMS,
            description="Who may work there, with the ordinary role, all the time.",
        ),
    ] = ()
    managers: Annotated[
        tuple[Member, ...],
        Meta(
            max_length=LIST_MAX_ITEMS,
            description="Who may edit and delete this object. It gives nothing else.",
        ),
    ] = ()
    sudoers: Annotated[
        tuple[Member, ...],
        Meta(
            max_length=LIST_MAX_ITEMS,
            description="Who may become cluster-admin there, for one command: `kubectl sudo`.",
        ),
    ] = ()
    requester: Annotated[
        str,
        Meta(max_length=1024, description="Who created it. Set when it is created, never changed."),
    ] = ""
    counted_to: Annotated[
        str,
        Meta(
            max_length=1024,
            description="To whom it is counted under the limit, where that is not the requester: "
            "what a ServiceAccount creates is counted like the namespace it lives in. Written by "
            "the webhook, never changed.",
        ),
    ] = ""
    billing: Annotated[Billing, Meta(description="Who pays.")] = Billing()
    deletion_policy: Annotated[
        DeletionPolicy,
        Meta(
            description="What becomes of its Namespaces when this object is deleted: they go "
            "(Delete), or stay, with nobody's access to them (Retain)."
        ),
    ] = DeletionPolicy.DELETE
    deletion_protection: Annotated[
        bool, Meta(description="Refuse to delete this object until this is false.")
    ] = False
    class_name: Annotated[
        str,
        Meta(
            max_length=CLASS_NAME_MAX_LENGTH,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
            description="The class of controllers that this is for, where there are several. "
            "Only administrators may change it.",
        ),
    ] = ""

    @property
    def account(self) -> str:
        """Return the account whose limit it counts to, before exceptions."""
        return self.counted_to or self.requester

    @property
    def members(self) -> tuple[Member, ...]:
        """Return all entries of the three lists."""
        return self.users + self.managers + self.sudoers


class Spec(CommonSpec, frozen=True, rename="camel", omit_defaults=True):
    """What the LNamespace should be."""

    profile: Annotated[
        str,
        Meta(
            max_length=PROFILE_MAX_LENGTH,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
            description="The guard rails around the namespace, by the name of a profile of the "
            "platform team. Empty: the profile `default`, if there is one. Any other needs the "
            "verb `use` on resource `profiles` of this name.",
        ),
    ] = ""


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that holds or does not (meta/v1 Condition)."""

    type: Annotated[
        str,
        Meta(
            description="Ready, NamespaceReady, GuardRailsReady (where there are guard rails), "
            "AccessReady or BillingRecorded."
        ),
    ]
    status: Annotated[str, Meta(description="True, False or Unknown.")]
    reason: Annotated[str, Meta(description="Why, as one word for programs.")]
    message: Annotated[str, Meta(description="Why, and what to do, for people.")]
    last_transition_time: Annotated[Timestamp, Meta(description="When the status last changed.")]
    observed_generation: Annotated[
        int, Meta(description="The metadata.generation that this speaks of.")
    ] = 0


class Counts(msgspec.Struct, frozen=True, rename="camel"):
    """How many entries are in force, those that have expired left out."""

    users: int = 0
    managers: int = 0
    sudoers: int = 0


class Recorded(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is recorded for the ledger."""

    generation: Annotated[
        int,
        Meta(description="The newest spec.billing.provenance.generation that is recorded."),
    ] = 0


class CommonStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the controller says of LNamespaces and of LClusters."""

    observed_generation: Annotated[
        int, Meta(description="The metadata.generation that was last acted upon.")
    ] = 0
    counts: Annotated[Counts, Meta(description="Entries in force.")] = Counts()
    recorded: Annotated[Recorded, Meta(description="What is recorded for the ledger.")] = Recorded()
    conditions: Annotated[tuple[Condition, ...], Meta(description="Ready sums up the others.")] = ()

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of a type, if there is one."""
        return next((c for c in self.conditions if c.type == type_), None)


class Status(CommonStatus, frozen=True, rename="camel"):
    """What the LNamespace is, as the controller last saw it."""

    namespace_uid: Annotated[
        str, Meta(description="The UID of the Namespace that belongs to this LNamespace.")
    ] = msgspec.field(default="", name="namespaceUID")
    sudoers_group: Annotated[
        str,
        Meta(
            description="The group that sudoers impersonate, as themselves: `kubectl sudo` reads "
            "it here. Empty where there is a sudoUser."
        ),
    ] = ""
    sudo_user: Annotated[
        str,
        Meta(
            description="The user that sudoers impersonate, where sudo is by ServiceAccounts: "
            "`kubectl sudo` reads it here."
        ),
    ] = ""


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The part of meta/v1 ObjectMeta that is read."""

    name: str
    uid: str = ""
    resource_version: str = "0"
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: datetime | UnsetType = UNSET
    labels: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class CommonObject(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of an LNamespace or an LCluster."""

    metadata: Metadata

    @property
    def name(self) -> str:
        """Return the name, which is also that of the tenant."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """Return the UID, which an earlier object of the same name did not have."""
        return self.metadata.uid


class LNamespace(CommonObject, frozen=True, rename="camel"):
    """A tenant's namespace, with who may do what in it and who pays for it."""

    spec: Spec = Spec()
    status: Status = Status()


class UndecodedHead(CommonObject, frozen=True, rename="camel"):
    """The metadata of an LNamespace or LCluster, and its other parts undecoded."""

    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


head_decoder = msgspec.json.Decoder(UndecodedHead)
"""Decodes the metadata of any object; its other parts may break their schema."""

_decoder = msgspec.json.Decoder(LNamespace)

C = TypeVar("C", bound=CommonObject)


def decode_lnamespace(raw: bytes | msgspec.Raw) -> LNamespace:
    """Read an LNamespace from JSON; raises ModelError."""
    return decode_object(_decoder, raw)


def decode_object(decoder: msgspec.json.Decoder[C], raw: bytes | msgspec.Raw) -> C:
    """Read an LNamespace or an LCluster from JSON.

    Raises
    ------
    ModelError
        The object breaks its own schema (the CRD was changed or bypassed); the message has the
        path of the field.
    """
    try:
        return at_any_depth(decoder.decode, raw)
    except (ValueError, RecursionError) as error:
        raise ModelError(str(error)) from error
