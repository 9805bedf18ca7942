"""Forward a tenant's requests for objects, and translate the answers."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from lnamespace.gateway.fairness.costs import is_long, seconds_for_answer, seconds_for_write
from lnamespace.gateway.lists.listing import Lister
from lnamespace.gateway.objects.applies import ApplyBasis, apply_basis, by_force
from lnamespace.gateway.objects.cluster_quota import ClusterQuota
from lnamespace.gateway.objects.content import creates_object
from lnamespace.gateway.objects.definition_deletions import SUCCESS, delete_definition, deletions
from lnamespace.gateway.objects.definition_pace import DefinitionPace
from lnamespace.gateway.objects.definition_status import kept_status
from lnamespace.gateway.objects.deletion_turns import DeletionTurns
from lnamespace.gateway.objects.requesters import kept_requester, with_requester
from lnamespace.gateway.objects.schema_quota import SchemaQuota
from lnamespace.gateway.objects.stored_versions import StoredVersions
from lnamespace.gateway.objects.streams import pass_on, splice
from lnamespace.gateway.objects.synthetic import answer_synthetic
from lnamespace.gateway.objects.volumes import confirm_own_volume
from lnamespace.gateway.requests.answers import answer_json
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.emptied import with_named_removals
from lnamespace.gateway.tenants.namespaces import TenantNamespaces
from lnamespace.gateway.tenants.totals import Answer, TenantTotals, send_within_total
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.gateway.upstream.retrying import send_until_granted
from lnamespace.gateway.watches.watching import Watcher
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.client import Client
from lnamespace.kube.media_types import JSON, METADATA_LIST
from lnamespace.kube.metadata import PartialObject
from lnamespace.rbac.preconditions import with_preconditions
from lnamespace.translate.bodies.encoded import as_read, media_type_of, request_up
from lnamespace.translate.names.tenant_view import CRDS, NAMESPACES
from lnamespace.translate.objects.synthetic_objects import is_synthetic
from lnamespace.translate.protocol.list_options import SELECTORS, confirm_list_options
from lnamespace.translate.protocol.status import not_found
from lnamespace.translate.protocol.verbs import CONNECTIONS, LISTING_VERBS
from lnamespace.translate.requests.headers import headers_down, proxied_headers_down
from lnamespace.translate.requests.targets import (
    refuse_deletion,
    refuse_foreign_write,
    upstream_target,
)


@dataclass(frozen=True)
class Forwarder:
    """A forwarder of calls to the platform's API server, and of its answers to the client."""

    upstream: Upstream
    lister: Lister
    watcher: Watcher
    client: Client
    schema_quota: SchemaQuota
    cluster_quota: ClusterQuota
    stored_versions: StoredVersions
    deletion_turns: DeletionTurns
    definition_pace: DefinitionPace

    async def forward(
        self, call: TenantCall, namespaces: TenantNamespaces, totals: TenantTotals
    ) -> None:
        """Answer a call.

        Raises
        ------
        Refused
            The request cannot be carried out; nothing has been answered.
        ClusterError
            The API server does not answer.
        """
        request = call.request
        if request.verb in LISTING_VERBS:
            confirm_list_options(request)
        if request.verb == "watch":
            await self.watcher.watch(call, namespaces)
        elif is_synthetic(request):
            await answer_synthetic(call)
        elif request.verb == "list":
            await self.lister.answer(call, namespaces)
        elif request.verb == "deletecollection" and not _has_namespace(call, namespaces):
            # There is nothing to delete, and the answer is the list of deleted objects.
            await self.lister.answer(_as_list(call), namespaces)
        elif _is_of_definitions(call, "deletecollection"):
            await self._delete_definitions(call, namespaces)
        else:
            await self._await_namespace(call, namespaces)
            if request.subresource in CONNECTIONS:
                await self._forward_stream(call)
            elif call.reads:
                await self._forward_read(call, namespaces)
            else:
                await self._forward_object(call, namespaces, totals)

    async def _await_namespace(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        """Wait until the tenant may act in a namespace that is new; refuse one that is not."""
        request = call.request
        if not _has_namespace(call, namespaces):
            if creates_object(call) or (
                request.verb == "create" and request.subresource not in CONNECTIONS
            ):
                raise not_found(NAMESPACES, request.namespace)
            raise not_found(request.resource.group_resource, request.name)
        if request.resource.namespaced:
            await namespaces.wait_usable(call.view.namespace_up(request.namespace))

    async def _forward_read(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        """Answer with one object. As for the API server, a body means nothing."""
        above = call.view.namespace_up(call.request.namespace)
        send = partial(
            self.upstream.send,
            call.exchange.request.method,
            upstream_target(call.request, call.view),
            call.identity,
            call.headers,
        )
        response = await send_until_granted(send, partial(namespaces.recently_granted, above))
        body = await response.read(call.usage.reserve)
        call.usage.charge_extra(seconds_for_answer(len(body)))
        await answer_json(call, response.status, response.headers, body)

    async def _forward_object(
        self, call: TenantCall, namespaces: TenantNamespaces, totals: TenantTotals
    ) -> None:
        call = await with_named_removals(self.upstream, call)
        write = partial(self._write, namespaces=namespaces, totals=totals)
        response, answer = await self.stored_versions.send(call, namespaces, write)
        if _is_namespace(call) and response.status == 201 and not call.parameter("dryRun"):
            # Its creator may work in it from now on. A dry run has created none.
            created = msgspec.json.decode(answer, type=PartialObject).metadata.name
            await namespaces.wait_usable(created)
        await answer_json(call, response.status, response.headers, answer)

    async def _write(
        self, call: TenantCall, namespaces: TenantNamespaces, totals: TenantTotals
    ) -> Answer:
        basis = await self._basis(call)
        send = partial(self._send, call, namespaces, basis, totals)
        if _is_of_definitions(call, "delete"):
            return await self._delete_definition(call, send)
        response, answer = await send()
        if basis.conflicts_with_gateway_only(response.status, answer):
            return await self._send(by_force(call), namespaces, basis, totals)
        return response, answer

    async def _delete_definition(
        self, call: TenantCall, send: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        name = _definition_of(call)
        delete = partial(delete_definition, self.client, name, send)
        return await self.deletion_turns.send(call, name, delete)

    async def _delete_definitions(self, call: TenantCall, namespaces: TenantNamespaces) -> None:
        """Delete definitions each by its name.

        Of a collection the API server deletes the definitions alone. Their objects stay in etcd,
        also after their LCluster, and are those of the next definition of the kind.
        """
        target = upstream_target(_as_list(call).request, call.view)
        page = await self.upstream.read(target, call.identity, (("accept", METADATA_LIST),))
        for one in deletions(call, page):
            send = partial(self._send, one, namespaces, await self._basis(one), TenantTotals())
            response, answer = await self._delete_definition(one, send)
            if response.status >= 300 and response.status != 404:
                await answer_json(one, response.status, response.headers, answer)
                return
        await answer_json(call, 200, (), SUCCESS)

    async def _basis(self, call: TenantCall) -> ApplyBasis:
        """Return the stored state that a write depends on; refuse a write of a foreign object."""
        refuse_foreign_write(call.request, call.view)
        refuse_deletion(call.request)
        await confirm_own_volume(self.upstream, call)
        basis = await apply_basis(self.upstream, call)
        return replace(
            basis,
            requester=await kept_requester(self.upstream, call),
            status=await kept_status(self.upstream, call),
        )

    async def _send(
        self,
        call: TenantCall,
        namespaces: TenantNamespaces,
        basis: ApplyBasis,
        totals: TenantTotals,
    ) -> Answer:
        """Return the answer of the API server."""
        resource, size = call.request.resource.group_resource, len(call.body)
        call.usage.charge_extra(seconds_for_write(resource, size, creates=creates_object(call)))
        content_type, body = _body_up(call, basis)
        # The API server needs the type to recognise an empty patch.
        headers = (*call.headers, ("content-type", content_type)) if content_type else call.headers
        target = upstream_target(call.request, call.view, default_manager=call.default_manager)
        method = call.exchange.request.method
        send = partial(self.upstream.send, method, target, call.identity, headers, body)
        recently_granted = partial(
            namespaces.recently_granted, call.view.namespace_up(call.request.namespace)
        )
        granted = partial(send_until_granted, send, recently_granted)
        within = partial(send_within_total, self.upstream, call, totals, granted)
        async with (
            self.definition_pace.paced(call),
            self.schema_quota.counted(call, content_type, body)
            if self.schema_quota.counts(call)
            else nullcontext(),
            call.usage.costly_request() if is_long(len(body)) else nullcontext(),
        ):
            return await self.cluster_quota.send(call, headers, body, within)

    async def _forward_stream(self, call: TenantCall) -> None:
        response = await self._open(call)
        if response.status == 101:
            await splice(call.exchange, response, _switching(response.headers), call.usage)
        elif response.status >= 400 and response.value("content-type").startswith(JSON):
            await answer_json(call, response.status, response.headers, await response.read())
        else:
            content_type = response.value("content-type")
            typed = (("Content-Type", content_type),) if content_type else ()
            proxied = call.request.subresource == "proxy"
            pick = proxied_headers_down if proxied else headers_down
            down = (*typed, *pick(response.headers, call.view, call.base))
            await pass_on(call.exchange, response, down)

    async def _open(self, call: TenantCall) -> UpstreamResponse:
        """Send the request for a stream; return the answer when its head has arrived."""
        sent = call.exchange.request
        target = upstream_target(call.request, call.view)
        headers = call.headers
        if sent.upgrade:
            headers = (*headers, ("connection", "Upgrade"), ("upgrade", sent.value("upgrade")))
        if call.body:
            headers = (*headers, ("content-type", sent.value("content-type")))
        return await self.upstream.send(sent.method, target, call.identity, headers, call.body)


def _body_up(call: TenantCall, basis: ApplyBasis) -> tuple[str, bytes]:
    """Return the content type and the body of a call in upstream spelling."""
    content_type = call.exchange.request.value("content-type")
    if not call.body:
        return content_type, b""
    request, view = call.request, call.view
    if request.resource.group_resource == CRDS:
        view = view.for_write_of(request.name)
    content_type, body = request_up(request, content_type, call.body, view, basis.owned_by_others)
    media_type = media_type_of(content_type)
    body = with_requester(body, basis.requester)
    if basis.status:
        body = basis.status.in_body(media_type, body)
    if call.preconditions:
        body = with_preconditions(media_type, body, call.preconditions)
    return content_type, as_read(media_type, body)  # once more: these have encoded it anew


def _as_list(call: TenantCall) -> TenantCall:
    """Return the call that lists the objects which the deletion of a collection deletes."""
    query = tuple(each for each in call.request.query if each[0] in SELECTORS)
    return replace(call, request=replace(call.request, verb="list", query=query))


def _definition_of(call: TenantCall) -> str:
    """Return the name upstream of the definition that a call is about."""
    return call.view.crd_name_up(call.request.name)


def _is_of_definitions(call: TenantCall, verb: str) -> bool:
    request = call.request
    return request.verb == verb and request.resource.group_resource == CRDS


def _is_namespace(call: TenantCall) -> bool:
    """Return whether a call is about a Namespace itself; an apply creates one too."""
    return call.request.resource.group_resource == NAMESPACES and not call.request.subresource


def _has_namespace(call: TenantCall, namespaces: TenantNamespaces) -> bool:
    """Return whether the namespace of a call exists, or the call needs none."""
    request = call.request
    return (
        not request.resource.namespaced or call.view.namespace_up(request.namespace) in namespaces
    )


def _switching(headers: Headers) -> Headers:
    """Return the headers by which an answer 101 agrees on a protocol."""
    names = ("connection", "upgrade", "x-stream-protocol-version")
    return tuple(each for each in headers if each[0] in names or each[0].startswith("sec-websock"))
