"""The parts of the API server's answers that the check reads."""

from collections.abc import Mapping
from typing import Any

import msgspec

from lnamespace.kube.metadata import ListMeta, PartialMetadata
from lnamespace.kube.objects import RbacSubject, RoleRef


class ServerVersion(msgspec.Struct, frozen=True):
    """The version of the API server."""

    major: str
    minor: str


class Version(msgspec.Struct, frozen=True, rename="camel"):
    """A version of an API group."""

    group_version: str


class Group(msgspec.Struct, frozen=True):
    """An API group, and its versions."""

    name: str
    versions: tuple[Version, ...] = ()


class Groups(msgspec.Struct, frozen=True):
    """The API groups of the API server."""

    groups: tuple[Group, ...] = ()


class ServedKind(msgspec.Struct, frozen=True):
    """A kind of a version of an API group, or a subresource."""

    name: str
    kind: str


class ServedKinds(msgspec.Struct, frozen=True):
    """The kinds of a version of an API group."""

    resources: tuple[ServedKind, ...] = ()


class ItemSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an APIService, and of a PersistentVolume."""

    group: str = ""
    service: dict[str, Any] | None = None
    claim_ref: dict[str, Any] | None = None
    storage_class_name: str = ""


class ItemMeta(PartialMetadata, frozen=True, rename="camel"):
    """The metadata of an object that is read in whole."""

    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


class ItemCondition(msgspec.Struct, frozen=True):
    """A condition of an APIService."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class ItemStatus(msgspec.Struct, frozen=True):
    """What is read of the status of an APIService."""

    conditions: tuple[ItemCondition, ...] | None = None


class PlatformItem(msgspec.Struct, frozen=True, rename="camel"):
    """An object of any of the kinds that are read in whole."""

    metadata: ItemMeta
    spec: ItemSpec = ItemSpec()
    status: ItemStatus = ItemStatus()
    role_ref: RoleRef = RoleRef("", "")
    subjects: tuple[RbacSubject, ...] | None = None
    parameters: dict[str, str] | None = None
    data: dict[str, str] | None = None
    global_default: bool = False


class ItemPage(msgspec.Struct, frozen=True):
    """A page of a list of such objects."""

    metadata: ListMeta
    items: tuple[PlatformItem, ...] | None = None


item_pages = msgspec.json.Decoder(ItemPage)


class AuthenticationConfig(msgspec.Struct, frozen=True):
    """The ConfigMap with which the API server says who its people are."""

    data: dict[str, str] = {}
