"""Serve discovery, OpenAPI and the other non-resource paths."""

import time
from dataclasses import dataclass, replace
from email.utils import formatdate

from lnamespace.gateway.discovery.documents import RevalidatedDocument, TaggedDocument, fetch_served
from lnamespace.gateway.discovery.openapi import OpenApiDocuments
from lnamespace.gateway.discovery.served_apis import ServedApi, ServedApis
from lnamespace.gateway.requests.answer_encoders import answer_encoder, indented_json
from lnamespace.gateway.requests.compression import GZIPPED, LARGE, accepts_gzip
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.kube.media_types import JSON
from lnamespace.runtime.steps import in_steps
from lnamespace.translate.discovery.documents import (
    api_versions,
    group_document,
    resource_list_down,
    served_paths,
)
from lnamespace.translate.discovery.openapi_v2_protobuf import ACCEPTED, CONTENT_TYPE
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.discovery.service_paths import (
    ISSUER_PATH,
    PathKind,
    ServicePath,
    forwarded_paths,
    forwarded_target,
    issuer_down,
    service_path,
)
from lnamespace.translate.protocol.discovery_formats import (
    AGGREGATED,
    DiscoveryFormat,
    discovery_format,
)
from lnamespace.translate.protocol.negotiation import acceptable, wants_indentation
from lnamespace.translate.protocol.request import PathRequest
from lnamespace.translate.protocol.status import method_not_allowed, no_such_path, not_acceptable
from lnamespace.translate.requests.headers import NOT_CACHED

_TEXT = ("Content-Type", "text/plain; charset=utf-8")
_NOT_FOUND_TEXT = b"404 page not found\n"
_YEAR = 365 * 24 * 3600
_NOT_OURS = (403, 404)
"""Statuses for which a tenant is told that there is nothing: 403 is about the gateway's rights."""
_FORWARDED_HEADERS = frozenset({"content-type", "cache-control", "x-content-type-options"})


@dataclass(frozen=True)
class DocumentRequest:
    """A request for a non-resource path.

    Parameters
    ----------
    address
        Host and port at which the client reaches its cluster.
    base
        What the paths of this cluster begin with at this address; empty by host.
    """

    path: ServicePath
    request: PathRequest
    headers: Headers
    address: str
    base: str = ""

    def header(self, name: str) -> str:
        """Return the values of a header, joined by commas."""
        return ",".join(value for key, value in self.headers if key == name)

    @property
    def pretty(self) -> bool:
        """Return whether JSON is to be indented."""
        return wants_indentation(self.request.parameter("pretty"), self.header("user-agent"))

    @property
    def accepts_gzip(self) -> bool:
        """Return whether the answer may be compressed."""
        return accepts_gzip(self.header("accept-encoding"))


@dataclass(frozen=True)
class DocumentAnswer:
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes = b""


class DiscoveryDocuments:
    """The answers to requests for non-resource paths, for all tenants."""

    def __init__(self, upstream: Upstream, published: Published) -> None:
        self._upstream = upstream
        self._apis = ServedApis(upstream, published)
        self._openapi = OpenApiDocuments(upstream)
        self._root = RevalidatedDocument(upstream, "/")

    async def serve(
        self, exchange: Exchange, request: PathRequest, tenant: str, address: str, base: str = ""
    ) -> None:
        """Answer a client.

        Raises
        ------
        Refused
            If there is nothing at the path for tenants.
        ClusterError
            The API server does not answer.
        """
        path = service_path(request.path)
        asked = DocumentRequest(path, request, exchange.request.headers, address, base)
        answer = await self.answer(asked, tenant)
        await exchange.answer(answer.status, answer.headers, answer.body)

    async def answer(self, asked: DocumentRequest, tenant: str) -> DocumentAnswer:
        """Return the answer to a request of a tenant."""
        if asked.request.verb not in {"get", "head"}:
            raise method_not_allowed()
        match asked.path.kind:
            case PathKind.FORWARDED:
                return await self._forwarded(asked)
            case PathKind.ISSUER:
                return await self._issuer(asked)
            case PathKind.OPENAPI_V2:
                return await self._swagger(asked, tenant)
        return await self._served(asked, await self._apis.api_for(tenant))

    async def _served(self, asked: DocumentRequest, served: ServedApi) -> DocumentAnswer:
        match asked.path.kind:
            case PathKind.ROOT:
                return await self._paths(served)
            case PathKind.OPENAPI_V3_INDEX:
                body, media_type = await self._openapi.index(served)
                return DocumentAnswer(200, (("Content-Type", media_type), NOT_CACHED), body)
            case PathKind.OPENAPI_V3:
                return await self._openapi_document(asked, served)
            case PathKind.RESOURCES:
                return await self._resources(asked, served)
        return await _discovery(asked, served)

    async def _resources(self, asked: DocumentRequest, served: ServedApi) -> DocumentAnswer:
        group = served.group(asked.path.group)
        if group is None:
            return _no_page()
        if asked.path.version not in {each.version for each in group.versions}:
            raise no_such_path()
        format_ = discovery_format(asked.header("accept"), aggregated=False)
        names = served.paths.groups
        upstream = names.up(group.name)
        target = f"/apis/{upstream}/" if upstream else "/api/"
        target += asked.path.version
        # Not found if the last definition of the group went just now.
        found = await fetch_served(self._upstream, target, (("accept", JSON),))
        body = resource_list_down(found.body, names, served.paths.resources)
        return await _encoded(asked, format_, body)

    async def _paths(self, served: ServedApi) -> DocumentAnswer:
        further = forwarded_paths((await self._root.read()).body)
        body = served_paths(served.groups, further)
        return DocumentAnswer(200, (("Content-Type", JSON), NOT_CACHED), indented_json(body))

    async def _swagger(self, asked: DocumentRequest, tenant: str) -> DocumentAnswer:
        media_type = acceptable(asked.header("accept"), (JSON, *ACCEPTED))
        if media_type is None:
            types = ", ".join((JSON, *ACCEPTED))
            raise not_acceptable(f"only the following media types are accepted: {types}")
        headers = (("Vary", "Accept"), NOT_CACHED)
        if media_type == JSON:
            document = await self._openapi.swagger(self._apis.api_for(tenant))
            return _tagged(asked, document, JSON, headers)
        document = await self._openapi.swagger_protobuf(self._apis.api_for(tenant))
        return _tagged(asked, document, CONTENT_TYPE, headers)

    async def _openapi_document(self, asked: DocumentRequest, served: ServedApi) -> DocumentAnswer:
        location = await self._openapi.location(asked.path.path, served)
        if location is None:
            return DocumentAnswer(404, (NOT_CACHED,))
        if acceptable(asked.header("accept"), (JSON,)) is None:
            raise not_acceptable(f"only the following media types are accepted: {JSON}")
        known = asked.request.parameter("hash")
        vary = ("Vary", "Accept")
        if known and known != location.hash:
            url = f"{asked.base}/openapi/v3/{asked.path.path}?hash={location.hash}"
            return DocumentAnswer(301, (("Location", url), vary, NOT_CACHED))
        document = await self._openapi.document(location, served)
        return _tagged(asked, document, JSON, (vary, *(_immutable() if known else (NOT_CACHED,))))

    async def _forwarded(self, asked: DocumentRequest) -> DocumentAnswer:
        accept = (("accept", asked.header("accept") or "*/*"),)
        target = forwarded_target(asked.path, asked.request.query)
        # 500 is a failed health check.
        served = (200, 406, 500)
        found = await fetch_served(self._upstream, target, accept, missing=_NOT_OURS, served=served)
        headers = tuple(each for each in found.headers if each[0] in _FORWARDED_HEADERS)
        return DocumentAnswer(found.status, headers, found.body)

    async def _issuer(self, asked: DocumentRequest) -> DocumentAnswer:
        found = await fetch_served(self._upstream, ISSUER_PATH, missing=_NOT_OURS)
        headers = tuple(each for each in found.headers if each[0] in _FORWARDED_HEADERS)
        body = issuer_down(found.body, f"https://{asked.address}{asked.base}")
        return DocumentAnswer(200, headers, body)


async def _discovery(asked: DocumentRequest, served: ServedApi) -> DocumentAnswer:
    kind = asked.path.kind
    format_ = discovery_format(asked.header("accept"), aggregated=kind is not PathKind.GROUP)
    if kind is PathKind.GROUP:
        group = served.group(asked.path.group)
        return await _encoded(asked, format_, group_document(group)) if group else _no_page()
    core = kind is PathKind.CORE_VERSIONS
    if format_.aggregated:
        document = served.core_document if core else served.groups_document
        return await _aggregated(asked, format_, document)
    body = api_versions(asked.address) if core else served.group_list
    return await _encoded(asked, format_, body)


async def _aggregated(
    asked: DocumentRequest, format_: DiscoveryFormat, document: TaggedDocument
) -> DocumentAnswer:
    headers = (("Vary", "Accept"), ("Cache-Control", "public"))
    if format_ == AGGREGATED:
        return _tagged(asked, document, format_.content_type, headers)
    # The tag is that of the content, whatever it is written in.
    body = await in_steps(answer_encoder(format_.media_type).steps(document.body))
    return _tagged(asked, replace(document, body=body), format_.content_type, headers)


def _no_page() -> DocumentAnswer:
    """Return kube-apiserver's answer for a group that it does not serve."""
    headers = (_TEXT, ("X-Content-Type-Options", "nosniff"), NOT_CACHED)
    return DocumentAnswer(404, headers, _NOT_FOUND_TEXT)


async def _encoded(asked: DocumentRequest, format_: DiscoveryFormat, body: bytes) -> DocumentAnswer:
    headers = (("Content-Type", format_.content_type), NOT_CACHED)
    encoding = answer_encoder(format_.media_type, indented=asked.pretty)
    return DocumentAnswer(200, headers, await in_steps(encoding.steps(body)))


def _tagged(
    asked: DocumentRequest, document: TaggedDocument, media_type: str, headers: Headers
) -> DocumentAnswer:
    """Return a document, or 304 if the client has it."""
    tagged = (("ETag", document.etag), *headers)
    known = {each.strip().removeprefix("W/") for each in asked.header("if-none-match").split(",")}
    if document.etag in known:
        return DocumentAnswer(304, tagged)
    headers = (("Content-Type", media_type), *tagged)
    if asked.pretty and media_type == AGGREGATED.content_type:
        return DocumentAnswer(200, headers, indented_json(document.body))
    if len(document.body) > LARGE and asked.accepts_gzip:
        return DocumentAnswer(200, (*headers, *GZIPPED), document.compressed)
    return DocumentAnswer(200, headers, document.body)


def _immutable() -> Headers:
    expires = formatdate(time.time() + _YEAR, usegmt=True)
    return (("Cache-Control", "public, immutable"), ("Expires", expires))
