"""What an LNamespace is: the types of the API, version ``v1beta1``.

The CRD is generated from these types (:mod:`lnamespace.model.crd`), and objects from the API
server are decoded into them, so the two cannot tell different stories.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from lnamespace.errors import ModelError
from lnamespace.model.subject import Member, Timestamp

KIND = "LNamespace"
PLURAL = "lnamespaces"
VERSION = "v1beta1"
LIST_MAX_ITEMS = 500
LABEL_KEY_MAX_LENGTH = 63


class DeletionPolicy(StrEnum):
    """What becomes of the Namespace when its LNamespace is deleted."""

    DELETE = "Delete"
    RETAIN = "Retain"


BillingText = Annotated[str, Meta(max_length=1024)]


class Billing(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who pays for the namespace."""

    cost_center: Annotated[BillingText, Meta(description="The cost centre that is charged.")] = ""
    owner: Annotated[BillingText, Meta(description="Who answers for the cost.")] = ""
    team: Annotated[BillingText, Meta(description="The team that the cost belongs to.")] = ""
    environment: Annotated[
        BillingText, Meta(description="Such as production, staging, development.")
    ] = ""
    labels: Annotated[
        dict[str, BillingText],
        Meta(max_length=32, description="Further keys for the ledger."),
    ] = {}


class Spec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the LNamespace should be."""

    users: Annotated[
        tuple[Member, ...],
        Meta(
            max_length=LIST_MAX_ITEMS,
            description="Who may work in the namespace, with the ordinary role, all the time.",
        ),
    ] = ()
    managers: Annotated[
        tuple[Member, ...],
        Meta(
            max_length=LIST_MAX_ITEMS,
            description="Who may edit and delete this LNamespace. It gives nothing else.",
        ),
    ] = ()
    sudoers: Annotated[
        tuple[Member, ...],
        Meta(
            max_length=LIST_MAX_ITEMS,
            description="Who may become cluster-admin inside the namespace, for the length of a "
            "command: `kubectl sudo`.",
        ),
    ] = ()
    requester: Annotated[
        str,
        Meta(max_length=1024, description="Who created it. Set when it is created, never changed."),
    ] = ""
    billing: Annotated[Billing, Meta(description="Who pays for the namespace.")] = Billing()
    deletion_policy: Annotated[
        DeletionPolicy,
        Meta(
            description="Whether the Namespace goes when the LNamespace is deleted (Delete) or "
            "stays, with nobody's access to it (Retain)."
        ),
    ] = DeletionPolicy.DELETE
    deletion_protection: Annotated[
        bool, Meta(description="Refuse to delete this LNamespace until this is false.")
    ] = False

    @property
    def members(self) -> tuple[Member, ...]:
        """All entries of the three lists."""
        return self.users + self.managers + self.sudoers


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that holds or does not (meta/v1 Condition)."""

    type: Annotated[str, Meta(description="Ready, NamespaceReady or AccessReady.")]
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


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """What the LNamespace is, as the controller last saw it."""

    observed_generation: Annotated[
        int, Meta(description="The metadata.generation that was last acted upon.")
    ] = 0
    namespace_uid: Annotated[
        str, Meta(description="The UID of the Namespace that belongs to this LNamespace.")
    ] = msgspec.field(default="", name="namespaceUID")
    sudoers_group: Annotated[
        str, Meta(description="The group that sudoers impersonate: `kubectl sudo` reads it here.")
    ] = ""
    counts: Annotated[Counts, Meta(description="Entries in force.")] = Counts()
    conditions: Annotated[tuple[Condition, ...], Meta(description="Ready sums up the others.")] = ()

    def condition(self, type_: str) -> Condition | None:
        """The condition of that type, if there is one."""
        return next((c for c in self.conditions if c.type == type_), None)


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The part of meta/v1 ObjectMeta that is read."""

    name: str
    uid: str = ""
    resource_version: str = "0"
    generation: int = 0
    deletion_timestamp: datetime | UnsetType = UNSET


class LNamespace(msgspec.Struct, frozen=True, rename="camel"):
    """A tenant's namespace, with who may do what in it and who pays for it."""

    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def name(self) -> str:
        """The name of the LNamespace and of its Namespace."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """What tells it from an earlier one of the same name."""
        return self.metadata.uid


_decoder = msgspec.json.Decoder(LNamespace)


def decode(raw: bytes | msgspec.Raw) -> LNamespace:
    """Read an LNamespace from JSON.

    Raises
    ------
    ModelError
        The object breaks its own schema (the CRD was changed or bypassed); the message has the
        path of the field.
    """
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise ModelError(str(error)) from error
