"""The baseline: a client that anybody would write first, and the measure for everything else.

One aiohttp session, one request after the other for a tenant, many tenants at a time.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import load_kube_config

T = TypeVar("T")
Manifest = dict[str, Any]


class Bare:
    """A client of plain requests; anything but a success is an exception."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        headers: Sequence[tuple[str, str]] = (),
        user: str = "",
    ) -> None:
        self.user = user
        self._session = session
        self._headers = tuple(headers)

    def acting(self, user: str, groups: Iterable[str] = ()) -> "Bare":
        """Return the same client, impersonating."""
        as_groups = (("Impersonate-Group", group) for group in groups)
        return Bare(self._session, (("Impersonate-User", user), *as_groups), user)

    async def post(self, path: str, body: Manifest) -> Manifest:
        """Create an object."""
        return await self._send("POST", path, body)

    async def patch(self, path: str, body: Manifest) -> Manifest:
        """Apply a merge patch."""
        return await self._send("PATCH", path, body, "application/merge-patch+json")

    async def delete(self, path: str) -> Manifest:
        """Delete an object."""
        return await self._send("DELETE", path, {})

    async def get(self, path: str) -> Manifest:
        """Read an object."""
        return await self._send("GET", path, None)

    async def text(self, path: str) -> str:
        """Read what is not JSON, such as metrics."""
        async with self._session.get(path) as response:
            response.raise_for_status()
            return await response.text()

    async def _send(
        self, method: str, path: str, body: Manifest | None, kind: str = "application/json"
    ) -> Manifest:
        data = None if body is None else msgspec.json.encode(body)
        async with self._session.request(
            method, path, data=data, headers=(("Content-Type", kind), *self._headers)
        ) as response:
            answer = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{method} {path}: {response.status} {answer[:300]!r}")
            decoded: Manifest = msgspec.json.decode(answer)
            return decoded

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[AsyncIterator[Manifest]]:
        """Watch from now on: without what is there already."""
        now = (await self.get(f"{path}?limit=1"))["metadata"]["resourceVersion"]
        params = {"watch": "1", "timeoutSeconds": "3000", "resourceVersion": now}
        limits = aiohttp.ClientTimeout(total=None)
        async with self._session.get(path, params=params, timeout=limits) as response:
            response.raise_for_status()
            yield _events(response.content)


async def _events(stream: aiohttp.StreamReader) -> AsyncIterator[Manifest]:
    async for line in stream:
        yield msgspec.json.decode(line)


@asynccontextmanager
async def connect(kubeconfig: Path) -> AsyncIterator[Bare]:
    """Return a baseline client with the credentials of a kubeconfig."""
    found = Configuration()
    await load_kube_config(config_file=str(kubeconfig), client_configuration=found)  # type: ignore[no-untyped-call]
    context = ssl.create_default_context(cafile=found.ssl_ca_cert)
    if found.cert_file:
        context.load_cert_chain(found.cert_file, found.key_file)
    token = await found.get_api_key_with_prefix("BearerToken")
    async with aiohttp.ClientSession(
        base_url=found.host,
        connector=aiohttp.TCPConnector(ssl=context, limit=0),
        headers={"Authorization": token} if token else {},
        read_bufsize=2**20,
    ) as session:
        yield Bare(session)


async def each(
    concurrency: int, items: Iterable[T], work: Callable[[T], Awaitable[object]]
) -> None:
    """Call a function for each item, for so many at a time."""
    left = iter(items)

    async def worker() -> None:
        for item in left:
            await work(item)

    await asyncio.gather(*(worker() for _ in range(concurrency)))
