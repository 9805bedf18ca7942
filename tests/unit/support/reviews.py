"""A webhook's server for one test, on loopback, with a real certificate; and who calls it."""

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
from lnamespace.admission.certificates.keypairs import CertificateSpec, KeyPair, make_pair
from lnamespace.admission.certificates.tls import ServingCertificate
from lnamespace.admission.server import Bounds, Endpoint, Server
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.runtime.addresses import Address

DEADLINE = 60.0
"""Seconds after which something that should have happened did not."""

TERMS: CertificateSpec = CertificateSpec.of_options(("127.0.0.1",), hours=48, settle_seconds=60)
LOOPBACK = Address("127.0.0.1", 0)
JSON = {"Content-Type": "application/json"}


async def echo(body: bytes) -> bytes:
    """Return an endpoint that answers with the question."""
    return body


def fresh() -> KeyPair:
    """Return a pair that is good from now on."""
    return make_pair(TERMS, datetime.now(UTC))


def trusting(*pairs: KeyPair) -> ssl.SSLContext:
    """Return a client's context that trusts these and nobody else."""
    return ssl.create_default_context(cadata=b"".join(pair.ca for pair in pairs).decode())


@dataclass(frozen=True)
class Answer:
    """The answer to a review."""

    status: int
    body: bytes
    headers: Any


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    server: Server
    identity: ServingCertificate
    metrics: WebhookMetrics
    address: Address
    session: aiohttp.ClientSession

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return f"https://{self.address}{path}"

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        """Send a body, as JSON unless ``headers`` say otherwise."""
        data = io.BytesIO(body) if isinstance(body, bytes) else body
        return await self.ask("POST", path, data=data, **({"headers": JSON} | options))

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        """Send any request."""
        async with (
            asyncio.timeout(DEADLINE),
            self.session.request(method, self.url(path), **options) as response,
        ):
            return Answer(response.status, await response.read(), response.headers)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection on which anything can be sent."""
        assert self.identity.pair
        context = trusting(self.identity.pair)
        return await asyncio.open_connection(self.address.host, self.address.port, ssl=context)

    def count(self, code: int, endpoint: str = "/echo") -> float:
        """Return how many requests were answered so, by the metrics."""
        labels = {"endpoint": endpoint, "code": str(code)}
        name = "lnamespace_webhook_requests_total"
        return self.metrics.registry.get_sample_value(name, labels) or 0


@asynccontextmanager
async def serving(
    *endpoints: Endpoint, bounds: Bounds | None = None, pair: KeyPair | None = None
) -> AsyncIterator[Served]:
    """Run a server for as long as the block lasts."""
    metrics = WebhookMetrics.new()
    identity, pair = ServingCertificate(metrics), pair or fresh()
    identity.use(pair)
    server = Server(endpoints or (Endpoint("/echo", echo, 2**20),), metrics, bounds or Bounds())
    address = await server.start(LOOPBACK, identity.context)
    connector = aiohttp.TCPConnector(ssl=trusting(pair), limit=0)
    try:
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Served(server, identity, metrics, address, session)
    finally:
        await server.stop()


async def until(happened: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(DEADLINE):
        while True:
            if happened():
                return
            await asyncio.sleep(0.005)


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Everything that comes until the other side closes."""
    async with asyncio.timeout(DEADLINE):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def within(waited: Awaitable[Any]) -> Any:
    """Return what is waited for, if it comes in time."""
    async with asyncio.timeout(DEADLINE):
        return await waited
