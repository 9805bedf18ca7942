"""Cached documents of the platform's API server, revalidated for each request.

Every request of a client revalidates the document by its ETag; an unchanged one is not sent again.
So a client sees its new CustomResourceDefinition as soon as the API server shows it.
"""

import gzip
import hashlib
import time
from asyncio import Lock
from collections import OrderedDict
from collections.abc import Container, Hashable
from dataclasses import dataclass, field
from functools import cached_property

from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.messages import Headers
from lnamespace.kube.answers import error_of
from lnamespace.kube.media_types import JSON
from lnamespace.translate.protocol.status import no_such_path


@dataclass(frozen=True)
class UpstreamDocument:
    """An answer of the API server to a GET."""

    status: int = 200
    headers: Headers = ()
    body: bytes = b""

    def value(self, name: str) -> str:
        """Return the value of a header; empty without one."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def etag(self) -> str:
        """Return the ETag, in its quotes; empty without one."""
        return self.value("etag")


async def fetch(upstream: Upstream, target: str, headers: Headers = ()) -> UpstreamDocument:
    """Return the answer to a GET by the gateway itself, whatever its status."""
    response = await upstream.send("GET", target, UpstreamIdentity(), headers)
    return UpstreamDocument(response.status, response.headers, await response.read())


async def fetch_served(
    upstream: Upstream,
    target: str,
    headers: Headers = (),
    *,
    missing: Container[int] = (404,),
    served: Container[int] = (200,),
) -> UpstreamDocument:
    """Return the answer to a GET by the gateway itself, if its status is one of ``served``.

    Raises
    ------
    Refused
        Not found: the answer has one of the statuses ``missing``.
    ClusterError
        The API server does not answer, or with another status.
    """
    found = await fetch(upstream, target, headers)
    if found.status in missing:
        raise no_such_path()
    if found.status not in served:
        raise error_of(found.status, found.body, found.value("retry-after"))
    return found


class RevalidatedDocument:
    """One cached document, which is revalidated each time it is read.

    Reads that arrive during a revalidation share the next one.

    Parameters
    ----------
    seconds
        The time for which it is used without revalidation; 0 means never.
    """

    def __init__(
        self, upstream: Upstream, target: str, accept: str = JSON, seconds: float = 0
    ) -> None:
        self._seconds = seconds
        self._upstream = upstream
        self._target = target
        self._accept = ("accept", accept)
        self._turn = Lock()
        self._began = float("-inf")
        self._known = UpstreamDocument()

    async def read(self) -> UpstreamDocument:
        """Return the document; the same value if it has not changed.

        Raises
        ------
        ClusterError
            The API server does not answer, or with an error.
        """
        oldest = time.monotonic() - self._seconds
        if self._seconds and self._began >= oldest:
            return self._known
        async with self._turn:
            if self._began < oldest:
                began = time.monotonic()
                await self._ask()
                self._began = began
        return self._known

    async def _ask(self) -> None:
        known = self._known
        condition = (("if-none-match", known.etag),) if known.etag else ()
        found = await fetch(self._upstream, self._target, (self._accept, *condition))
        if found.status == 304 and known.etag:
            return
        if found.status != 200:
            raise error_of(found.status, found.body, found.value("retry-after"))
        # Without an ETag the body says whether anything changed.
        if found.body != known.body:
            self._known = found


@dataclass(frozen=True)
class TaggedDocument:
    """A document for clients, and its ETag in quotes."""

    body: bytes
    etag: str

    @cached_property
    def compressed(self) -> bytes:
        """Return the document in gzip, at the fastest level."""
        return gzip.compress(self.body, 1, mtime=0)

    @classmethod
    def from_body(cls, body: bytes) -> "TaggedDocument":
        """Return a document with its ETag, computed as in kube-apiserver."""
        return cls(body, f'"{hashlib.sha512(body).hexdigest().upper()}"')


@dataclass
class DocumentCache:
    """A cache of tenants' documents, up to a size in bytes; the least recently used goes first."""

    limit: int
    size: int = 0
    _kept: OrderedDict[Hashable, TaggedDocument] = field(default_factory=OrderedDict)

    def get(self, key: Hashable) -> TaggedDocument | None:
        """Return the document kept under a key, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, document: TaggedDocument) -> TaggedDocument:
        """Keep a document, and return it."""
        before = self._kept.pop(key, None)
        self.size += len(document.body) - (len(before.body) if before else 0)
        self._kept[key] = document
        while self.size > self.limit:
            _, forgotten = self._kept.popitem(last=False)
            self.size -= len(forgotten.body)
        return document
