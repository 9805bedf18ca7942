"""Lists over all namespaces of a tenant: one list of each, all at one resource version."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.lists.pages import NamespacePage, merge_pages, read_page
from lnamespace.translate.protocol.request import Query
from lnamespace.translate.requests.continuation import ListPosition

_AT_A_TIME = 8


@dataclass(frozen=True)
class PageRequest:
    """One list of one namespace.

    Parameters
    ----------
    version
        The resource version that the list must have exactly; empty means as the client asked.
    limit
        The most items; 0: all.
    continue_
        The API server's own token, where the list of this namespace goes on.
    """

    namespace: str
    version: str = ""
    limit: int = 0
    continue_: str = ""

    @property
    def parameters(self) -> Query:
        """Return the parameters in which this list differs from what the client asked for."""
        exact: Query = ()
        if self.version:
            exact = (("resourceVersion", self.version), ("resourceVersionMatch", "Exact"))
        limit = (("limit", str(self.limit)),) if self.limit else ()
        return (*exact, *limit, ("continue", ""))


Fetch = Callable[[PageRequest], Awaitable[bytes | None]]
"""A function that returns one list as JSON; None leaves its namespace out."""


def first_failure(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first failure of a group: the client gets one answer."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


async def _read_page(fetch: Fetch, request: PageRequest) -> NamespacePage | None:
    body = await fetch(request)
    return None if body is None else read_page(body)


async def list_all(fetch: Fetch, namespaces: Sequence[str], usage: RequestUsage) -> bytes:
    """List all namespaces at the version of the first one's list; empty if all are left out.

    Whatever ``fetch`` raises is raised.
    """
    rest = iter(namespaces)
    first: NamespacePage | None = None
    while first is None and (namespace := next(rest, None)) is not None:
        first = await _read_page(fetch, PageRequest(namespace))
    if first is None:
        return b""
    version, turns = first.metadata.resource_version, asyncio.Semaphore(_AT_A_TIME)

    async def one(namespace: str) -> NamespacePage | None:
        async with turns:
            return await _read_page(fetch, PageRequest(namespace, version))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(usage.metered(one(each))) for each in rest]
    except BaseExceptionGroup as failed:
        # Callers handle failures of the API server, and no groups of them.
        raise first_failure(failed) from None
    found = [first, *(task.result() for task in tasks)]
    return merge_pages([each for each in found if each is not None])


async def list_page(
    fetch: Fetch, namespaces: Sequence[str], limit: int, start: ListPosition | None
) -> tuple[list[NamespacePage], ListPosition | None]:
    """Return the next items, and where the rest begins; None if it is empty.

    Parameters
    ----------
    limit
        The most items; 0: all.
    """
    pages: list[NamespacePage] = []
    remaining = [each for each in namespaces if start is None or each >= start.part]
    version = start.version if start else ""
    # The token of a namespace that is deleted must not be used for another: it would skip objects.
    goes_on = start is not None and remaining[:1] == [start.part]
    continue_ = start.upstream if start and goes_on else ""
    left = limit
    for index, namespace in enumerate(remaining):
        # A token of the API server has its version in itself and takes no other.
        exact = "" if continue_ else version
        page = await _read_page(fetch, PageRequest(namespace, exact, left, continue_))
        continue_ = ""
        if page is None:
            continue
        pages.append(page)
        version = version or page.metadata.resource_version
        continue_ = page.metadata.continue_
        left -= page.count if limit else 0
        if continue_:
            return pages, ListPosition(namespace, continue_, version)
        if limit and left <= 0 and index + 1 < len(remaining):
            return pages, ListPosition(remaining[index + 1], "", version)
    return pages, None
