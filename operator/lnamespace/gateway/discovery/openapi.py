"""The OpenAPI documents of all tenants, translated on request."""

from asyncio import gather
from collections.abc import Awaitable
from dataclasses import dataclass

from lnamespace.gateway.discovery.documents import (
    DocumentCache,
    RevalidatedDocument,
    TaggedDocument,
    UpstreamDocument,
    fetch_served,
)
from lnamespace.gateway.discovery.served_apis import ServedApi
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.media_types import JSON
from lnamespace.translate.discovery.openapi_v2 import (
    SwaggerDocument,
    SwaggerPart,
    parse_swagger,
    platform_part,
    swagger_down,
    tenant_part,
)
from lnamespace.translate.discovery.openapi_v2_protobuf import ACCEPTED, swagger_protobuf_down
from lnamespace.translate.discovery.openapi_v3 import (
    ROOT,
    OpenApiIndex,
    document_down,
    document_hash,
    index_down,
    parse_index,
    path_up,
)

_MEMORY = 32 * 1024 * 1024
"""Bytes of cached documents; one of OpenAPI v2 has two million."""
_INDEXES = 256
"""The most cached indexes; each has ten thousand bytes."""
_JSON = (("accept", JSON),)


@dataclass(frozen=True)
class DocumentLocation:
    """The path of an OpenAPI v3 document upstream, and its hash for the tenant."""

    upstream: str
    hash: str


class OpenApiDocuments:
    """Translated OpenAPI documents of the platform, of which some are cached."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._swagger = RevalidatedDocument(upstream, "/openapi/v2")
        self._swagger_protobuf = RevalidatedDocument(upstream, "/openapi/v2", ACCEPTED[1])
        self._index = RevalidatedDocument(upstream, "/openapi/v3")
        self._cache = DocumentCache(_MEMORY)
        self._parsed_swagger: tuple[UpstreamDocument, SwaggerDocument, SwaggerPart] | None = None
        self._translated_indexes: dict[tuple[str, str, str], bytes] = {}
        self._parsed_index: tuple[UpstreamDocument, OpenApiIndex] | None = None

    async def swagger(self, serving: Awaitable[ServedApi]) -> TaggedDocument:
        """Return the document of OpenAPI v2 of a tenant.

        Parameters
        ----------
        serving
            Returns the tenant's API; awaited while the document is read.
        """
        document, served = await gather(self._swagger.read(), serving)
        key = ("v2", served.version, document.etag)
        known = self._cache.get(key)
        if known is None:
            swagger, platform = self._parts(document, served)
            body = swagger_down(swagger, platform, tenant_part(swagger, served.paths))
            known = self._cache.put(key, TaggedDocument.from_body(body))
        return known

    async def swagger_protobuf(self, serving: Awaitable[ServedApi]) -> TaggedDocument:
        """Return the document of OpenAPI v2 of a tenant as protobuf."""
        document, encoded, served = await gather(
            self._swagger.read(), self._swagger_protobuf.read(), serving
        )
        key = ("v2 protobuf", served.version, document.etag, encoded.etag)
        known = self._cache.get(key)
        if known is None:
            swagger, platform = self._parts(document, served)
            body = swagger_protobuf_down(encoded.body, swagger, platform, served.paths)
            known = self._cache.put(key, TaggedDocument.from_body(body))
        return known

    def _parts(
        self, document: UpstreamDocument, served: ServedApi
    ) -> tuple[SwaggerDocument, SwaggerPart]:
        parsed = self._parsed_swagger
        if parsed is None or parsed[0] is not document:
            swagger = parse_swagger(document.body)
            parsed = (document, swagger, platform_part(swagger, served.paths))
            self._parsed_swagger = parsed
        return parsed[1:]

    async def index(self, served: ServedApi) -> tuple[bytes, str]:
        """Return the index of OpenAPI v3 of a tenant, and its media type."""
        index, document = await self._current_index()
        translated = self._translated_indexes.get(served.version)
        if translated is None:
            translated = self._translated_indexes[served.version] = index_down(index, served.paths)
        return translated, document.value("content-type")

    async def location(self, path: str, served: ServedApi) -> DocumentLocation | None:
        """Return the location of the document at a tenant's path; None if the tenant has none."""
        index, _ = await self._current_index()
        upstream = path_up(path, index, served.paths)
        if upstream is None:
            return None
        return DocumentLocation(upstream, document_hash(upstream, index, served.paths))

    async def document(self, location: DocumentLocation, served: ServedApi) -> TaggedDocument:
        """Return a document of OpenAPI v3 of a tenant."""
        key = ("v3", location)
        known = self._cache.get(key)
        if known is None:
            # Not found if the last definition of the group went just now.
            found = await fetch_served(self._upstream, ROOT + location.upstream, _JSON)
            body = document_down(found.body, location.upstream, served.paths)
            known = self._cache.put(key, TaggedDocument(body, f'"{location.hash}"'))
        return known

    async def _current_index(self) -> tuple[OpenApiIndex, UpstreamDocument]:
        document = await self._index.read()
        if self._parsed_index is None or self._parsed_index[0] is not document:
            self._parsed_index = (document, parse_index(document.body))
            self._translated_indexes.clear()
        elif len(self._translated_indexes) > _INDEXES:
            self._translated_indexes.clear()
        return self._parsed_index[1], document
