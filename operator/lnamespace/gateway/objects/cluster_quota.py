"""Refuse webhooks, admission policies and ClusterRoleBindings beyond the limits of an LCluster.

For each request the API server evaluates those of all LClusters, whoever sends it. The gateway asks
for a dry run of a write, which shows the object after a patch of any form, and lists the others. So
that two writes do not pass together, those of an LCluster are sent one after the other, by each
process separately.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.gateway.fairness.costs import seconds_for_answer
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity, accepting_json
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.answers import decode, error_of
from lnamespace.kube.media_types import JSON
from lnamespace.kube.prefixed import FIRST_KINDS
from lnamespace.kube.resources import CLUSTER_ROLE_BINDING
from lnamespace.translate.objects.confinement import restore
from lnamespace.translate.objects.confinement.admission_sizes import admission_size, binding_size
from lnamespace.translate.protocol.resources import GroupResource, ResourceType
from lnamespace.translate.protocol.status import ExceededQuota
from lnamespace.translate.protocol.verbs import MANAGED_VERBS
from lnamespace.translate.requests.targets import listed_path, upstream_target

_BINDINGS = GroupResource(CLUSTER_ROLE_BINDING.group, CLUSTER_ROLE_BINDING.plural)
_Object = dict[str, Any]
_Key = tuple[str, str]


@dataclass(frozen=True)
class _LimitedKinds:
    """Kinds that are counted together.

    Parameters
    ----------
    word
        What the count is called in a refusal.
    """

    word: str
    kinds: frozenset[GroupResource]
    size: Callable[[_Object], int]
    limit: Callable[[ContentLimits], int]


_COUNTED = (
    _LimitedKinds(
        "admission",
        frozenset(GroupResource(each.group, each.plural) for each in FIRST_KINDS),
        admission_size,
        lambda limits: limits.admission,
    ),
    _LimitedKinds(
        f"count/{_BINDINGS}", frozenset({_BINDINGS}), binding_size, lambda limits: limits.bindings
    ),
)
_BY_KIND = {kind: each for each in _COUNTED for kind in each.kinds}


class _CountedPage(msgspec.Struct, frozen=True):
    items: list[_Object] | None = None


_page = msgspec.json.Decoder(_CountedPage)
_object = msgspec.json.Decoder(_Object)


@dataclass(frozen=True)
class ClusterQuota:
    """The limits of each LCluster on objects that the API server evaluates for every request.

    Parameters
    ----------
    limits
        Returns the limits of a tenant.
    """

    upstream: Upstream
    limits: Callable[[str], ContentLimits]
    _turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )

    async def send(
        self, call: TenantCall, headers: Headers, body: bytes, send: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Send a write within the limits; return the answer of its dry run if that fails.

        Parameters
        ----------
        headers, body
            Those of the request upstream.

        Raises
        ------
        Refused
            Forbidden, in the words of a ResourceQuota.
        ClusterError
            The API server does not answer.
        """
        request, tenant = call.request, call.view.tenant
        counted = _BY_KIND.get(request.resource.group_resource)
        if counted is None or request.verb not in MANAGED_VERBS or request.subresource:
            return await send()
        limit = counted.limit(self.limits(tenant))
        if not limit:
            return await send()
        async with self._turns.setdefault((tenant, counted.word), asyncio.Lock()):
            response = await self._dry_run(call, headers, body)
            written = await response.read(call.usage.reserve)
            if response.status >= 300:
                return response, written
            await self._confirm(call, counted, limit, decode(_object, written))
            return await send()

    async def _dry_run(self, call: TenantCall, headers: Headers, body: bytes) -> UpstreamResponse:
        request = call.request.with_parameters(("dryRun", "All"))
        target = upstream_target(request, call.view, default_manager=call.default_manager)
        method, as_json = call.exchange.request.method, accepting_json(headers)
        return await self.upstream.send(method, target, call.identity, as_json, body)

    async def _confirm(
        self, call: TenantCall, counted: _LimitedKinds, limit: int, written: _Object
    ) -> None:
        resource = call.request.resource
        sizes = await self._sizes(call, counted)
        used = sum(sizes.values())
        after = counted.size(restore(resource, written, call.view))
        more = after - sizes.get(_key_of(resource, written), 0)
        if more > 0 and used + more > limit:
            exceeded = ExceededQuota("lcluster", counted.word, more, used, limit)
            raise exceeded.refusal(resource.group_resource, call.request.name)

    async def _sizes(self, call: TenantCall, counted: _LimitedKinds) -> dict[_Key, int]:
        """Return how much each object of a tenant counts towards the limit."""
        types = [
            each
            for each in call.view.resources.types
            if each.group_resource in counted.kinds and each.versions
        ]
        pages = await asyncio.gather(*(self._list(call, each) for each in types))
        return {
            _key_of(resource, each): counted.size(restore(resource, each, call.view))
            for resource, page in zip(types, pages, strict=True)
            for each in page
        }

    async def _list(self, call: TenantCall, resource: ResourceType) -> list[_Object]:
        own = f"{call.view.tenant_label}%3D{call.view.tenant}"
        path = f"{listed_path(call.view, resource)}?labelSelector={own}"
        response = await self.upstream.send("GET", path, UpstreamIdentity(), (("accept", JSON),))
        body = await response.read(call.usage.reserve)
        call.usage.charge_extra(seconds_for_answer(len(body)))
        if response.status != 200:
            raise error_of(response.status, body, response.value("retry-after"))
        return decode(_page, body).items or []


def _key_of(resource: ResourceType, obj: _Object) -> _Key:
    return resource.plural, obj["metadata"]["name"]
