"""Questions to a worker process, over a pair of sockets: a line each, answered in turn by JSON."""

import asyncio
import socket
from collections import deque

import msgspec

_LONGEST = 256 * 1024 * 1024
"""Bytes of one answer: the metrics of thousands of LClusters."""


class Questioner:
    """Ask the process that has the other end of a pair of sockets."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._asked: deque[asyncio.Future[str | None]] = deque()
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def open(cls) -> "tuple[Questioner, socket.socket]":
        """Return who asks, and the other end of the pair."""
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
        self._asked.append(answer)
        self._writer.write(question)
        return await answer

    def close(self) -> None:
        """Ask no more."""
        self._reading.cancel()
        self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                said = msgspec.json.decode(line, type=str | None)
                answer = self._asked.popleft()
                if not answer.done():  # Nobody may wait for it any more.
                    answer.set_result(said)
        except ConnectionError:
            pass
        finally:
            for answer in self._asked:
                if not answer.done():
                    answer.set_exception(ConnectionError("the worker has ended"))
