"""Clients of streams that speak WebSocket, to do what kubectl would not do."""

import asyncio
import base64
import os
import re
import socket
import struct
from pathlib import Path
from urllib.parse import urlencode

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.e2e.support.api import Api
from tests.e2e.support.floods import Connection, Target

PROTOCOLS = [
    pytest.param({}, id="WebSocket"),
    pytest.param(
        {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"},
        id="SPDY",
    ),
]
"""The variables by which kubectl speaks each protocol."""
STDIN, STDOUT = 0, 1
_BINARY = 0x82
_CLOSE = 0x88


def upgrade_headers(protocol: str = "v5.channel.k8s.io") -> tuple[str, ...]:
    """Return what asks for a WebSocket of a protocol of Kubernetes."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        f"Sec-WebSocket-Protocol: {protocol}",
    )


def exec_path(pod: str, *command: str) -> str:
    """Return the path of an exec with input and output."""
    query = [("stdin", "true"), ("stdout", "true")] + [("command", each) for each in command]
    return f"{pod}/exec?{urlencode(query)}"


async def open_exec(target: Target, pod: str, *command: str) -> Connection:
    """Open an exec by WebSocket."""
    reader, writer = await target.connect()
    writer.write(target.head("GET", exec_path(pod, *command), *upgrade_headers()))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 "), head
    return reader, writer


def frame(channel: int, data: bytes) -> bytes:
    """Return a message of a client to one of the streams."""
    payload = bytes((channel,)) + data
    size = len(payload)
    length = (
        bytes((0x80 | size,)) if size < 126
        else bytes((0x80 | 126,)) + struct.pack("!H", size) if size < 65536
        else bytes((0x80 | 127,)) + struct.pack("!Q", size)
    )  # fmt: skip
    return bytes((_BINARY,)) + length + bytes(4) + payload  # A mask of zeros changes nothing.


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next message: its stream's number and what came.

    Raises
    ------
    ConnectionError
        The server closes, for the reason that it gives.
    """
    kind, size = await reader.readexactly(2)
    if size >= 126:
        more = await reader.readexactly(2 if size == 126 else 8)
        size = int.from_bytes(more)
    message = await reader.readexactly(size)
    if kind == _CLOSE:
        raise ConnectionError(f"closed: {message!r}")
    return message


def web_socket(
    api: Api, path: str, *protocols: str, headers: tuple[tuple[str, str], ...] | None = None
) -> ClientConnection:
    """Open a WebSocket as a browser does: the API server refuses a watch without an Origin."""
    address = api.address
    plain = socket.create_connection((address.hostname or "", address.port or 0), 30)
    return connect(
        f"wss://{address.netloc}{address.path}{path}",
        sock=plain,
        ssl=api.tls,
        server_hostname=api.server_name or address.hostname,
        origin=None if headers else f"https://{address.netloc}",  # type: ignore[arg-type]
        additional_headers=api.headers if headers is None else headers,
        subprotocols=[Subprotocol(each) for each in protocols] or None,
        max_size=None,
        proxy=None,
    )


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a machine does that is switched off and on."""
    plain: socket.socket = writer.get_extra_info("socket")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def open_sockets(pid: int) -> int:
    """Return how many sockets a process has open."""
    found = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += each.readlink().name.startswith("socket:")
        except OSError:
            continue  # It was closed meanwhile.
    return found


def forwarded_port(line: str) -> int:
    """Return the port of this machine in the line that kubectl writes."""
    matched = re.fullmatch(r"Forwarding from 127\.0\.0\.1:(\d+) -> \d+\n", line)
    assert matched, line
    return int(matched[1])
