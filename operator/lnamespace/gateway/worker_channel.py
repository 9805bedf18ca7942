"""Requests to a worker process over a socket pair: one line each, answered in order by JSON."""

import asyncio
import socket
from collections import deque

import msgspec

_LONGEST = 256 * 1024 * 1024
"""Bytes of one answer: the metrics of thousands of LClusters."""


class WorkerChannel:
    """The supervisor's end of the socket pair to a worker process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._pending: deque[asyncio.Future[str | None]] = deque()
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def open(cls) -> "tuple[WorkerChannel, socket.socket]":
        """Return the supervisor's end, and the socket for the worker."""
        ours, theirs = socket.socketpair()
        return cls(*await asyncio.open_unix_connection(sock=ours, limit=_LONGEST)), theirs

    async def ask(self, question: bytes) -> str | None:
        """Return the answer to a question, which ends with a line break.

        Raises
        ------
        ConnectionError
            The other end is closed.
        """
        if self._reading.done():
            raise ConnectionError("the worker has ended")
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._pending.append(answer)
        self._writer.write(question)
        return await answer

    def close(self) -> None:
        """Close the channel."""
        self._reading.cancel()
        self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                text = msgspec.json.decode(line, type=str | None)
                answer = self._pending.popleft()
                if not answer.done():  # Nobody may wait for it any more.
                    answer.set_result(text)
        except ConnectionError:
            pass
        finally:
            for answer in self._pending:
                if not answer.done():
                    answer.set_exception(ConnectionError("the worker has ended"))
