"""A relay that does nothing: what two TLS connections and two HTTP parsers cost in Python.

It answers each request by the API server's answer, as whoever the kubeconfig logs in as. The CPU of
the gateway is compared with that of this process.
"""

import asyncio
import base64
import multiprocessing
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httptools
import yaml

from bench.plane import Process


@contextmanager
def relay(port: int, kubeconfig: Path, certificates: Path) -> Iterator[Process]:
    """Run a relay to the API server of a kubeconfig, on a port of this machine."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_run, args=(port, kubeconfig, certificates, ready))
    process.start()
    try:
        if not ready.wait(30):
            raise TimeoutError("the relay does not listen")
        yield Process(process.pid or 0)
    finally:
        process.kill()
        process.join()


def _run(port: int, kubeconfig: Path, certificates: Path, ready: Event) -> None:
    asyncio.run(_serve(port, kubeconfig, certificates, ready))


async def _serve(port: int, kubeconfig: Path, certificates: Path, ready: Event) -> None:
    host, upstream_port, upstream = _upstream(kubeconfig)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    loop = asyncio.get_running_loop()

    async def connect(client: "_Client") -> "_Upstream":
        _, made = await loop.create_connection(
            lambda: _Upstream(client), host, upstream_port, ssl=upstream
        )
        return made

    server = await loop.create_server(lambda: _Client(connect), "127.0.0.1", port, ssl=served)
    ready.set()
    await server.serve_forever()


def _upstream(kubeconfig: Path) -> tuple[str, int, ssl.SSLContext]:
    """Return the address of the API server, and how to log in by the certificate."""
    document = yaml.safe_load(kubeconfig.read_text())
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    address = urlsplit(cluster["server"])
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as pair:
        for key in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[key]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return address.hostname or "", address.port or 443, context


class _Message(asyncio.Protocol):
    """One side: it parses whole messages."""

    transport: Any
    parser: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.on_message_begin()

    def on_message_begin(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_body(self, part: bytes) -> None:
        self.body.append(part)

    def whole(self, first: bytes) -> bytes:
        """Return the message as bytes, with a length instead of chunks."""
        body, left = b"".join(self.body), (b"content-length", b"transfer-encoding")
        lines = [first, *(b"%b: %b" % each for each in self.headers if each[0].lower() not in left)]
        return b"\r\n".join((*lines, b"Content-Length: %d" % len(body), b"", body))


class _Client(_Message):
    """A client's connection, with one of its own to the API server."""

    def __init__(self, connect: Any) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self._connect = connect
        self._upstream: _Upstream | None = None

    def on_url(self, url: bytes) -> None:
        self.url = url

    def on_message_complete(self) -> None:
        request = self.whole(b"%b %b HTTP/1.1" % (self.parser.get_method(), self.url))
        self.task = asyncio.create_task(self._send(request))

    async def _send(self, request: bytes) -> None:
        self._upstream = self._upstream or await self._connect(self)
        self._upstream.transport.write(request)


class _Upstream(_Message):
    """The connection to the API server for one client."""

    def __init__(self, client: _Client) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self._client = client

    def on_message_complete(self) -> None:
        status = b"HTTP/1.1 %d OK" % self.parser.get_status_code()
        self._client.transport.write(self.whole(status))
