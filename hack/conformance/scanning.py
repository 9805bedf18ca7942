"""Look for words of others in every byte that the gateway answers to the specs.

The specs talk to a proxy, which talks to the gateway as the tenant. TLS ends at the proxy, and it
asks for no compressed answers, so headers, bodies and streams are there as they are written.
"""

import asyncio
import base64
import json
import re
import ssl
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_AROUND = 60
_CHUNK = 1 << 16
_COMPRESSED = b"content-encoding: gzip"


@dataclass
class Scanner:
    """The answers, and the places in them of words of other tenants.

    Parameters
    ----------
    words
        The words, in lower case.
    """

    words: Sequence[bytes]
    size: int = 0
    leaks: list[str] = field(default_factory=list)

    def stream(self) -> "ScannedStream":
        """Return a scanner of the bytes of one connection."""
        return ScannedStream(self)


@dataclass
class ScannedStream:
    """The bytes of one connection, as they come; a word may be in two pieces of them."""

    scanner: Scanner
    _rest: bytes = b""

    def take(self, data: bytes) -> None:
        """Scan more bytes of an answer."""
        self.scanner.size += len(data)
        text = (self._rest + data).lower()
        for word in (*self.scanner.words, _COMPRESSED):
            for found in re.finditer(re.escape(word), text):
                if found.end() > len(self._rest):
                    around = text[max(found.start() - _AROUND, 0) : found.end() + _AROUND]
                    self.scanner.leaks.append(around.decode("utf-8", "replace"))
        longest = max(map(len, (*self.scanner.words, _COMPRESSED)))
        self._rest = (self._rest + data)[-longest + 1 :]


@dataclass(frozen=True)
class _Gateway:
    """The address of the gateway, and the user of the requests."""

    port: int
    server_name: str
    context: ssl.SSLContext


@contextmanager
def scanned(kubeconfig: Path, scanner: Scanner, certificates: Path) -> Iterator[Path]:
    """Serve a proxy that scans all answers; yield a kubeconfig that leads to it.

    Parameters
    ----------
    kubeconfig
        The kubeconfig of a user in an LCluster, with a client certificate.
    certificates
        A folder with a serving certificate for 127.0.0.1, its key and its CA.
    """
    document = yaml.safe_load(kubeconfig.read_text())
    gateway = _gateway_of(document)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.set_alpn_protocols(["http/1.1"])
    serving.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(_start(gateway, scanner, serving), loop).result()
    try:
        file = kubeconfig.with_suffix(".scanned")
        port = server.sockets[0].getsockname()[1]
        file.write_text(json.dumps(_leading_to(document, port, certificates)))
        yield file
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _gateway_of(document: dict[str, Any]) -> _Gateway:
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.NamedTemporaryFile(suffix=".pem") as login:
        for part in ("certificate", "key"):
            login.write(_login(user, part))
        login.flush()
        context.load_cert_chain(login.name)
    port = int(cluster["server"].rpartition(":")[2])
    return _Gateway(port, cluster["tls-server-name"], context)


def _login(user: dict[str, str], part: str) -> bytes:
    if data := user.get(f"client-{part}-data"):
        return base64.b64decode(data)
    return Path(user[f"client-{part}"]).read_bytes()


def _leading_to(document: dict[str, Any], port: int, certificates: Path) -> dict[str, Any]:
    authority = base64.b64encode((certificates / "ca.crt").read_bytes()).decode()
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority-data": authority,
    }
    # The login stays: the proxy needs none, but kubectl would ask the person for a missing one.
    named = {"name": document["clusters"][0]["name"], "cluster": cluster}
    return document | {"clusters": [named]}


async def _start(gateway: _Gateway, scanner: Scanner, serving: ssl.SSLContext) -> asyncio.Server:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ssl.SSLError):
            from_gateway, to_gateway = await asyncio.open_connection(
                "127.0.0.1",
                gateway.port,
                ssl=gateway.context,
                server_hostname=gateway.server_name,
            )
            await asyncio.gather(
                _requests(reader, to_gateway), _answers(from_gateway, writer, scanner.stream())
            )

    return await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=serving)


async def _requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward requests without their Accept-Encoding, so that answers are not compressed."""
    with suppress(OSError, ssl.SSLError):
        while data := await reader.read(_CHUNK):
            writer.write(data.replace(b"Accept-Encoding: gzip", b"Accept-Encoding: none"))
            await writer.drain()
    writer.close()


async def _answers(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: ScannedStream
) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await reader.read(_CHUNK):
            stream.take(data)
            writer.write(data)
            await writer.drain()
    writer.close()
