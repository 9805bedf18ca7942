"""An answer as the messages of a WebSocket (RFC 6455), as browsers read watches."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from websockets.exceptions import InvalidState
from websockets.frames import CloseCode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from lnamespace.http.flow import Chunks
from lnamespace.http.messages import HttpRequest, encode_request_head
from lnamespace.translate.protocol.status import bad_request
from lnamespace.translate.protocol.websocket import BEARER_PROTOCOL

_HANDSHAKE = ("connection", "upgrade", "sec-websocket-")
_MOST = 4096
"""Bytes of a message that a client may send. They are not used: only the answer has content."""
_STEP = 256
"""Bytes of frames that are parsed before other tasks run: 42 empty pings take 1 to 2 ms."""

Metered = Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]]


class MessageConnection(Protocol):
    """The connection of a WebSocket."""

    transport: asyncio.Transport

    async def write(self, data: bytes) -> None:
        """Write, and wait while the client reads too slowly."""


def asks_for_websocket(request: HttpRequest) -> bool:
    """Return whether a client wants the answer by a WebSocket."""
    return request.upgrade and request.value("upgrade").lower() == "websocket"


class WebSocket:
    """An answer as text messages; replies to pings, and ends when the client closes.

    Parameters
    ----------
    request
        The request of the opening handshake.
    metered
        Counts the time in which the client's frames are read.

    Raises
    ------
    Refused
        400: the handshake is not one of RFC 6455.
    """

    def __init__(self, request: HttpRequest, metered: Metered) -> None:
        self._metered = metered
        self._protocol = ServerProtocol(select_subprotocol=_select, max_size=_MOST)
        self._writing = asyncio.Lock()
        """A long message is written in parts, and a reply to a ping must not be among them."""
        self._reader: asyncio.Task[None] | None = None
        handshake = [each for each in request.headers if each[0].startswith(_HANDSHAKE)]
        self._protocol.receive_data(encode_request_head(request.method, "/", handshake))
        asked = next(iter(self._protocol.events_received()), None)
        response = self._protocol.accept(asked) if isinstance(asked, Request) else None
        if response is None or response.status_code != 101:
            raise bad_request("this is not a handshake of a WebSocket as in RFC 6455")
        self._protocol.send_response(response)
        self.head = b"".join(self._protocol.data_to_send())
        """The answer to the handshake."""

    def follow(self, connection: MessageConnection, sent: Chunks) -> None:
        """Read what the client sends from now on, and close the connection when it closes."""
        self._reader = asyncio.create_task(self._metered(self._read(connection, sent)))

    async def send(self, connection: MessageConnection, text: bytes) -> None:
        """Send a message.

        Raises
        ------
        ConnectionError
            The client has closed the WebSocket.
        """
        try:
            self._protocol.send_text(text)
        except InvalidState as error:
            raise ConnectionResetError("the client has closed the WebSocket") from error
        await self._write(connection)

    async def close(self, connection: MessageConnection) -> None:
        """Send the message that the answer is complete."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
        await self._write(connection)

    async def _read(self, connection: MessageConnection, sent: Chunks) -> None:
        try:
            while data := await sent.take():
                for start in range(0, len(data), _STEP):
                    self._protocol.receive_data(data[start : start + _STEP])
                    self._protocol.events_received()  # Messages of the client are dropped.
                    await self._write(connection)
                    await asyncio.sleep(0)
                if self._protocol.close_expected():
                    break
        except ConnectionError:
            return
        connection.transport.close()

    async def _write(self, connection: MessageConnection) -> None:
        async with self._writing:
            if data := b"".join(self._protocol.data_to_send()):
                await connection.write(data)


def _select(protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Return the first subprotocol that is not a credential."""
    del protocol
    return next((each for each in offered if not each.startswith(BEARER_PROTOCOL)), None)
