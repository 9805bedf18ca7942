"""The metadata of objects and lists (meta/v1), for callers that read little else of them."""

import msgspec

from lnamespace.kube.answers import version_of


class PartialMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The identity of an object; a bookmark of a watch has no name and no UID."""

    resource_version: str
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return the namespace, empty for an object of the cluster, and the name."""
        return self.namespace, self.name

    @property
    def version(self) -> int:
        """Return the resource version as a number; raises Unreadable."""
        return version_of(self.resource_version)


class PartialObject(msgspec.Struct, frozen=True):
    """An object of which only the metadata is read, as in meta/v1 PartialObjectMetadata."""

    metadata: PartialMetadata


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of a list; ``continue_`` asks for its next page and is empty on the last."""

    resource_version: str = "0"
    continue_: str = msgspec.field(default="", name="continue")

    @property
    def version(self) -> int:
        """Return the resource version as a number; raises Unreadable."""
        return version_of(self.resource_version)


class ListPage(msgspec.Struct, frozen=True):
    """One page of a list, its items as they came."""

    metadata: ListMeta
    items: tuple[msgspec.Raw, ...] | None = None


class PartialPage(msgspec.Struct, frozen=True):
    """One page of a list, of whose items only the metadata is read."""

    metadata: ListMeta
    items: tuple[PartialObject, ...] | None = None
