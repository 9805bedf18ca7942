"""Lists that span the caller's namespaces."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from lnamespace.gateway.fairness.costs import seconds_for_answer
from lnamespace.gateway.lists.empty_answers import empty_list
from lnamespace.gateway.lists.merged_lists import Fetch, PageRequest, list_all, list_page
from lnamespace.gateway.lists.pages import merge_pages, read_page
from lnamespace.gateway.lists.sealing import TokenSealer
from lnamespace.gateway.mine.calls import WITHOUT_ANY, MineCall
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.http.messages import Headers
from lnamespace.runtime.steps import in_steps
from lnamespace.translate.protocol.numbers import parse_number
from lnamespace.translate.requests.continuation import ListPosition
from lnamespace.translate.requests.headers import merged_headers

_PAUSE = 0.05
_KEPT_HEADERS = frozenset({"audit-id", "cache-control", "warning"})
"""Headers of the API server's answers that the merged list keeps."""
_END_SECONDS = 0.5
"""Seconds that a refused list waits for the news that rights have ended."""


@dataclass(frozen=True)
class _PageStart:
    """The page that a client asks for.

    Parameters
    ----------
    limit
        The most items; 0: all.
    start
        The position at which it begins; None for the first item.
    """

    limit: int
    start: ListPosition | None


@dataclass(frozen=True)
class MineLister:
    """A handler of lists, each from one list for each namespace."""

    sealer: TokenSealer

    async def answer(self, call: MineCall) -> None:
        """Answer a list.

        Raises
        ------
        Refused
            The list cannot be had.
        UpstreamRefused
            The API server refused it in all namespaces, or failed in one.
        """
        page = self._page(call)
        began = call.rights.now()
        headers: Headers = WITHOUT_ANY
        body = b""
        while namespaces := call.namespaces():
            try:
                body, headers = await self._list(call, page, namespaces), ()
            except UpstreamRefused as refused:
                # The API server may know of the end of rights before we do.
                if refused.status != 403 or not await call.wait_changed(namespaces, _END_SECONDS):
                    raise
                continue
            break
        body = body or empty_list(call.request, call.accept, await call.platform.version())
        if call.heads and not headers:
            headers = tuple(each for each in merged_headers(call.heads) if each[0] in _KEPT_HEADERS)
        version = read_page(body).metadata.resource_version
        call.rights.listed(call.caller.subjects, version, began)
        encoded = await in_steps(call.encoder.steps(body))
        content_type = ("Content-Type", call.encoder.content_type)
        await call.exchange.answer(200, (content_type, *headers), encoded)

    def _page(self, call: MineCall) -> _PageStart:
        """Return the requested page, before any request upstream."""
        limit = max(parse_number(call.request.parameter("limit") or "0"), 0)
        token = call.request.parameter("continue") or ""
        start = self.sealer.unseal(call.request, call.caller.owner, token) if token else None
        return _PageStart(limit, start)

    async def _list(self, call: MineCall, page: _PageStart, namespaces: Sequence[str]) -> bytes:
        """Return the list without the namespaces in which the caller may not list the resource."""
        refusals: list[UpstreamRefused] = []

        async def fetch(part: PageRequest) -> bytes | None:
            try:
                return await self._fetch(call, part)
            except UpstreamRefused as refused:
                if refused.status != 403:
                    raise
                refusals.append(refused)
                return None

        body = await self._merged(call, page, fetch, namespaces)
        if len(refusals) == len(namespaces):
            raise refusals[0]
        return body

    async def _merged(
        self, call: MineCall, page: _PageStart, fetch: Fetch, namespaces: Sequence[str]
    ) -> bytes:
        request, owner, start = call.request, call.caller.owner, page.start
        if not page.limit and not start:
            return await list_all(fetch, namespaces, call.usage)
        pages, rest = await list_page(fetch, namespaces, page.limit, start)
        if not pages:
            # The last of the namespaces left between two pages, or they are all refused.
            return empty_list(request, call.accept, start.version if start else "")
        return merge_pages(pages, self.sealer.seal(request, owner, rest) if rest else "")

    async def _fetch(self, call: MineCall, page: PageRequest) -> bytes:
        parameters = (*page.parameters, ("continue", page.continue_))
        while True:
            response = await call.send(page.namespace, parameters)
            body = await response.read(call.usage.reserve)
            call.usage.charge_extra(seconds_for_answer(len(body)))
            if response.status == 200:
                call.heads.append(response.headers)
                return body
            if response.status != 403 or not call.recently_granted(page.namespace):
                break
            await asyncio.sleep(_PAUSE)
        owner = call.caller.owner
        body = self.sealer.resealed(call.request, owner, page.namespace, body)
        raise UpstreamRefused(response.status, response.headers, body)
