"""Lists of objects page by page: each page is bounded in bytes as well as by count."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from lnamespace.errors import ClusterError, TooLarge
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import ListMeta, ListPage
from lnamespace.kube.resources import Resource

FIRST = 50
MOST = 1000
BYTES = 2 * 2**20
"""The size of a page, which must arrive in time and is in memory as a whole."""
LONGEST = 4 * BYTES
"""The bytes after which a page of several objects is not read on."""
_GROWTH = 4


@dataclass
class PageSize:
    """The ``limit`` of the next page, by the sizes of those before.

    The API server bounds a page by count alone, and one object may have a megabyte: 1,000 of
    750 KB did not arrive in 30 s, and would not have fitted into the memory of the process.
    """

    limit: int = FIRST

    @property
    def longest(self) -> int | None:
        """Return the most bytes that the next page may have; None for a single object.

        Small objects before many large ones, as users of a namespace can arrange it, raise the
        limit: the page after them had a gigabyte.
        """
        return LONGEST if self.limit > 1 else None

    def arrived(self, size: int) -> None:
        """Note how many bytes a page of ``limit`` objects had."""
        fitting = self.limit * BYTES // max(size, 1)
        self.limit = max(1, min(fitting, self.limit * _GROWTH, MOST))

    def failed(self) -> None:
        """Note that a page did not come; it may have been too large."""
        self.limit = max(1, self.limit // 2)

    def exceeded(self) -> None:
        """Note that a page had more bytes than it may have."""
        self.limit = max(1, self.limit // _GROWTH)


class Fetch(Protocol):
    """A function that reads a page, such as :meth:`Client.get` and :meth:`Client.list_metadata`."""

    async def __call__(self, path: str, *, longest: int | None, **params: str) -> bytes:
        """Return the page at a path.

        Raises
        ------
        TooLarge
            The page has more bytes than ``longest``.
        """


class Page(Protocol):
    """A page of a list, of whatever items."""

    @property
    def metadata(self) -> ListMeta:
        """Return the metadata, which lead to the next page."""


P = TypeVar("P", bound=Page)


async def list_pages(
    fetch: Fetch,
    path: str,
    decoder: msgspec.json.Decoder[P],
    params: Mapping[str, str],
    size: PageSize | None = None,
) -> AsyncIterator[P]:
    """Yield the pages of a list; ``size`` is kept up to date, for the next list.

    Raises
    ------
    ClusterError
        A page cannot be read.
    """
    size, params = size or PageSize(), dict(params)
    while True:
        page = decode(decoder, await _fetch_page(fetch, path, params, size))
        yield page
        if not page.metadata.continue_:
            return
        params["continue"] = page.metadata.continue_


async def _fetch_page(fetch: Fetch, path: str, params: Mapping[str, str], size: PageSize) -> bytes:
    while True:
        try:
            answer = await fetch(path, longest=size.longest, limit=str(size.limit), **params)
        except TooLarge:
            size.exceeded()
        except ClusterError:
            size.failed()
            raise
        else:
            size.arrived(len(answer))
            return answer


_page = msgspec.json.Decoder(ListPage)


async def list_objects(client: Client, resource: Resource) -> AsyncIterator[msgspec.Raw]:
    """Yield all objects of a kind; raises ClusterError."""
    async for page in list_pages(client.get, resource.path(), _page, {}):
        for item in page.items or ():
            yield item
