"""Answer lists: of one namespace, of all of a tenant's, of cluster-scoped objects."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lnamespace.gateway.fairness.costs import seconds_for_answer
from lnamespace.gateway.lists.empty_answers import current_version, empty_list
from lnamespace.gateway.lists.merged_lists import PageRequest, list_all, list_page
from lnamespace.gateway.lists.pages import merge_pages
from lnamespace.gateway.lists.parts import Part, list_parts, names_of
from lnamespace.gateway.lists.sealing import TokenSealer
from lnamespace.gateway.objects.volumes import MarkedVolumes, no_volume_is_marked
from lnamespace.gateway.requests.answers import UpstreamRefused, answer_json
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.namespaces import TenantNamespaces
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.gateway.upstream.retrying import send_until_granted
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.requests.headers import merged_headers

_END_SECONDS = 1.0
"""Seconds that a list which is forbidden in a namespace waits for the end of the namespace."""


@dataclass(frozen=True)
class Lister:
    """A handler of lists, each from one or more lists upstream."""

    upstream: Upstream
    sealer: TokenSealer
    marked: MarkedVolumes = no_volume_is_marked

    async def answer(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        """Answer a list.

        Raises
        ------
        Refused
            The list cannot be had.
        ClusterError
            The API server does not answer.
        """
        marked = self.marked(call.view.tenant)
        parts = list_parts(call.request, namespaces.all(), call.view, marked=marked)
        empty = b"" if parts else await self._empty_list(call)
        # Again: a namespace created meanwhile may have objects older than that version.
        parts = parts or list_parts(call.request, namespaces.all(), call.view, marked=marked)
        for part in parts:
            if part.name in namespaces:
                await namespaces.wait_usable(part.name)
        heads: list[Headers] = []
        try:
            body = await self._list(call, parts, namespaces, heads) if parts else empty
        except UpstreamRefused as refused:
            await answer_json(call, refused.status, refused.headers, refused.body)
        else:
            await answer_json(call, 200, merged_headers(heads), body)

    async def _empty_list(self, call: TenantCall) -> bytes:
        """Return an empty list, for a tenant without namespaces."""
        resource = call.request.resource
        above = replace(resource, group=call.view.group_up(resource.group))
        version = await current_version(self.upstream)
        return empty_list(replace(call.request, resource=above), call.accept, version)

    async def _list(
        self,
        call: TenantCall,
        parts: Sequence[Part],
        namespaces: TenantNamespaces,
        heads: list[Headers],
    ) -> bytes:
        """Return the list; add the headers of all answers upstream to ``heads``."""

        async def fetch(page: PageRequest) -> bytes:
            headers, body = await self._fetch(call, parts, page, namespaces)
            heads.append(headers)
            return body

        limit, token = max(call.number("limit"), 0), call.parameter("continue")
        if not limit and not token:
            if len(parts) == 1:
                return await fetch(PageRequest(parts[0].name))
            return await list_all(fetch, names_of(parts), call.usage)
        owner = call.view.tenant
        start = self.sealer.unseal(call.request, owner, token) if token else None
        pages, rest = await list_page(fetch, names_of(parts), limit, start)
        if not pages:
            return await self._empty_list(call)  # the last of the namespaces left between two pages
        return merge_pages(pages, self.sealer.seal(call.request, owner, rest) if rest else "")

    async def _fetch(
        self,
        call: TenantCall,
        parts: Sequence[Part],
        page: PageRequest,
        namespaces: TenantNamespaces,
    ) -> tuple[Headers, bytes]:
        part = next(each for each in parts if each.name == page.namespace)
        async with call.usage.costly_request():
            response = await self._get(call, part, page, namespaces)
            body = await response.read(call.usage.reserve)
        if (
            response.status == 403
            and call.over_namespaces
            and await namespaces.wait_ended(part.name, _END_SECONDS)
        ):
            return (), await self._empty_list(call)
        call.usage.charge_extra(seconds_for_answer(len(body)))
        if response.status == 200:
            return response.headers, body
        refusal = self.sealer.resealed(call.request, call.view.tenant, part.name, body)
        raise UpstreamRefused(response.status, response.headers, refusal)

    async def _get(
        self, call: TenantCall, part: Part, page: PageRequest, namespaces: TenantNamespaces
    ) -> UpstreamResponse:
        target = part.target(call.view, page.parameters, page.continue_)
        send = partial(self.upstream.send, "GET", target, call.identity, call.headers)
        return await send_until_granted(send, partial(namespaces.recently_granted, part.name))
