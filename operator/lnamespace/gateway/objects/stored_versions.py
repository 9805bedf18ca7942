"""Rewrite all objects before a version leaves ``status.storedVersions`` of their definition.

A version that is not in that list may be removed from ``spec.versions``. If an object is still
stored in it, nobody can list the kind any more, and no Namespace of the cluster can be deleted. So
an admission policy of the platform refuses such a write until the gateway has patched each object
with ``{}``, after which the API server stores it in the present storage version
(decision 0069).
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

import msgspec

from lnamespace.errors import ClusterError, Conflict, NotFound, TooLarge
from lnamespace.gateway.definitions.definition import definition_decoder
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.namespaces import TenantNamespaces
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.answers import decode, error_of, read_status
from lnamespace.kube.client import Client
from lnamespace.kube.media_types import MERGE_PATCH, METADATA, METADATA_LIST
from lnamespace.kube.metadata import PartialPage
from lnamespace.kube.objects import Key
from lnamespace.kube.pages import list_pages
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.translate.names.tenant_view import CRDS
from lnamespace.translate.objects.texts import text_down
from lnamespace.translate.protocol.percent import encode_query, encode_segment
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import conflict
from lnamespace.translate.requests.targets import listed_path

SETTLED = 36.0
"""Seconds after which no write is under way that began before the definition was read.

The API server ends each after 34 s (k8s.io/apiserver: ``requestTimeoutUpperBound``); a webhook of
the tenant can make one as slow. Such a write may store an object in a version of before.
"""
KEPT = 600.0
"""Seconds for which a rewriting is remembered: its client may have disconnected before the end."""
_REFUSED = "denied request: status.storedVersions: "
_PAGES = 8
"""Pages of lists that are read at once. Each may have 8 MiB."""

_page = msgspec.json.Decoder(PartialPage)


@dataclass
class StoredVersions:
    """A rewriter of all objects of a definition, before a version leaves ``storedVersions``.

    It goes on when the client disconnects, so that a second request need not wait as long.
    """

    client: Client
    upstream: Upstream
    settled: float = SETTLED
    _rewritings: dict[str, asyncio.Task[str]] = field(default_factory=dict)
    """By the definition: the last, which returns the state that the definition had."""
    _turns: dict[str, asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(1))
    )
    """By tenant: one definition after the other."""
    _pages: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PAGES))

    async def send(
        self,
        call: TenantCall,
        namespaces: TenantNamespaces,
        send: Callable[[TenantCall], Awaitable[Answer]],
    ) -> Answer:
        """Send a write; where it removes a version, send it again when all objects are rewritten.

        Raises
        ------
        Refused
            Conflict: an object cannot be rewritten.
        """
        response, answer = await send(call)
        if not _removes_version(call, response.status, answer):
            return response, answer
        try:
            rewritten = await self._rewritten(call, namespaces)
        except ClusterError as error:
            name, why = call.request.name, text_down(call.view, str(error))
            text = f"objects may be stored in a version that status.storedVersions loses: {why}"
            raise conflict(CRDS, name, text) from error
        return await send(replace(call, rewritten=rewritten))

    async def _rewritten(self, call: TenantCall, namespaces: TenantNamespaces) -> str:
        name = call.view.crd_name_up(call.request.name)
        state = await self._state(name)
        known = self._rewritings.get(name)
        if known is None or (known.done() and not _returned(known, state)):
            known = asyncio.create_task(self._rewrite(state, call, namespaces))
            self._rewritings[name] = known
            known.add_done_callback(lambda task: self._keep(name, task))
        return await asyncio.shield(known)

    def _keep(self, name: str, task: asyncio.Task[str]) -> None:
        def forget() -> None:
            if self._rewritings.get(name) is task:
                del self._rewritings[name]

        asyncio.get_running_loop().call_later(KEPT, forget)
        if not task.cancelled():
            task.exception()  # there may be no client left to whom it could be told

    async def _rewrite(self, state: str, call: TenantCall, namespaces: TenantNamespaces) -> str:
        """Rewrite all objects of a definition; return its state, which was read before."""
        await asyncio.sleep(self.settled)
        async with self._turns[call.view.tenant]:
            plural, _, group = call.request.name.partition(".")
            resource = call.view.resources.by_plural(group, plural)
            if resource is None or not resource.versions:
                raise NotFound(f"no version of {call.request.name} is served")
            async for namespace, name in self._objects(call, resource):
                if bool(namespace) != resource.namespaced:
                    raise Conflict(f'object "{name}" is of a definition with another scope')
                if namespace and namespace not in namespaces:
                    raise Conflict(f'object "{name}" is in namespace {namespace}, which is gone')
                path = listed_path(call.view, resource, namespace)
                await self._write(call, f"{path}/{encode_segment(name)}")
        return state

    async def _state(self, name: str) -> str:
        """Return the UID and generation of a definition, as the platform's policy compares them."""
        raw = await self.client.get(CUSTOM_RESOURCE_DEFINITION.path(name))
        metadata = decode(definition_decoder, raw).metadata
        return f"{metadata.uid}/{metadata.generation}"

    async def _objects(self, call: TenantCall, resource: ResourceType) -> AsyncIterator[Key]:
        """Yield the namespace and name of each object.

        The list is of the whole cluster: an object outlives its namespace if its kind was not
        served, or a webhook was still judging its creation, when the namespace was deleted.
        """
        path = listed_path(call.view, resource)

        async def fetch(path: str, *, longest: int | None, **params: str) -> bytes:
            return await self._fetch(call, f"{path}?{encode_query(tuple(params.items()))}", longest)

        async for page in list_pages(fetch, path, _page, {}):
            for each in page.items or ():
                yield each.metadata.key

    async def _fetch(self, call: TenantCall, target: str, longest: int | None) -> bytes:
        size = 0

        def hold(more: int) -> None:
            nonlocal size
            size += more
            if longest is not None and size > longest:
                raise TooLarge(f"a page of more than {longest} bytes")

        async with self._pages:
            response = await self.upstream.send(
                "GET", target, call.identity_in_tenant, (("accept", METADATA_LIST),)
            )
            page = await response.read(hold)
        if response.status != 200:
            raise error_of(response.status, page, response.value("retry-after"))
        return page

    async def _write(self, call: TenantCall, path: str) -> None:
        """Patch an object with ``{}``."""
        headers = (("content-type", MERGE_PATCH), ("accept", METADATA))
        response = await self.upstream.send("PATCH", path, call.identity_in_tenant, headers, b"{}")
        answer = await response.read()
        if response.status < 300 or (response.status == 404 and await self._is_gone(call, path)):
            return
        raise error_of(response.status, answer, response.value("retry-after"))

    async def _is_gone(self, call: TenantCall, path: str) -> bool:
        """Return whether an object does not exist: a 404 may also be the refusal of a webhook."""
        response = await self.upstream.send(
            "GET", path, call.identity_in_tenant, (("accept", METADATA),)
        )
        await response.read()
        return response.status == 404


def _removes_version(call: TenantCall, status: int, answer: bytes) -> bool:
    """Return whether the platform's policy has refused a write because it removes a version."""
    request = call.request
    if request.resource.group_resource != CRDS or request.subresource != "status":
        return False
    return status == 403 and _REFUSED in read_status(answer).message


def _returned(task: asyncio.Task[str], state: str) -> bool:
    return not task.cancelled() and not task.exception() and task.result() == state
