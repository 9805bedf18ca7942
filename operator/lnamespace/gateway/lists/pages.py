"""Merge lists of several namespaces into one of a whole cluster; pure."""

from collections.abc import Sequence

import msgspec

from lnamespace.nesting import at_any_depth


class _PageMetadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


_NULL = msgspec.Raw(b"null")


class NamespacePage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A page of the list of one namespace, or of its Table; the items stay as bytes."""

    kind: str = ""
    api_version: str = ""
    metadata: _PageMetadata = _PageMetadata()
    column_definitions: msgspec.Raw = _NULL
    rows: list[msgspec.Raw] | None = None
    items: list[msgspec.Raw] | None = None

    @property
    def count(self) -> int:
        """Return how many items there are."""
        return len(self.rows or ()) + len(self.items or ())


_page = msgspec.json.Decoder(NamespacePage)


def read_page(body: bytes) -> NamespacePage:
    """Read a page of a list.

    Raises
    ------
    ValueError
        The body is not a page of a list.
    """
    return at_any_depth(_page.decode, body)


def merge_pages(pages: Sequence[NamespacePage], continue_: str = "") -> bytes:
    """Return one list of the items of all pages, at the resource version of the first.

    Column definitions are those of the first page that has any: the API server leaves them out of
    later pages.
    """
    first = pages[0]
    merged: dict[str, object] = {"kind": first.kind, "apiVersion": first.api_version}
    metadata: dict[str, object] = {"resourceVersion": first.metadata.resource_version}
    if continue_:
        metadata["continue"] = continue_
    if len(pages) == 1 and first.metadata.remaining_item_count is not None:
        metadata["remainingItemCount"] = first.metadata.remaining_item_count
    merged["metadata"] = metadata
    if first.kind == "Table":
        columns = (page.column_definitions for page in pages)
        merged["columnDefinitions"] = next((each for each in columns if each != _NULL), _NULL)
        merged["rows"] = [row for page in pages for row in page.rows or ()]
    else:
        merged["items"] = [item for page in pages for item in page.items or ()]
    return msgspec.json.encode(merged)
