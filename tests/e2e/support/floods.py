"""Clients that mean harm: very many connections, and what they send and do not read."""

import asyncio
import resource
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.support.api import NAMESPACES, Api, Unreachable
from tests.e2e.support.waiting import eventually

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_AT_ONCE = 50
_READ = 65536
_GIVEN_BACK = 200
"""MiB, above which a gateway gives free memory back, every few seconds."""


@dataclass(frozen=True)
class Target:
    """The port of an LCluster to which somebody connects, and their credentials."""

    api: Api

    async def connect(self, *, tls: bool = True) -> Connection:
        """Open a connection; without TLS, send no byte."""
        host, port = str(self.api.address.hostname), self.api.address.port
        if not tls:
            return await asyncio.open_connection(host, port)
        return await asyncio.open_connection(
            host,
            port,
            ssl=self.api.tls,
            server_hostname=self.api.server_name or host,
            ssl_shutdown_timeout=0.1,
        )

    def head(self, method: str, path: str, *more: str) -> bytes:
        """Return a request up to its body."""
        said = [f"{name}: {value}" for name, value in self.api.headers]
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *said, *more, "", ""]
        return "\r\n".join(lines).encode()

    @asynccontextmanager
    async def connected(self, count: int, *, tls: bool = True) -> AsyncIterator[list[Connection]]:
        """Open a number of connections, some of which may be cut meanwhile."""
        turns, opened = asyncio.Semaphore(_AT_ONCE), list[Connection]()

        async def one() -> None:
            async with turns:
                with suppress(OSError):
                    opened.append(await self.connect(tls=tls))

        try:
            await asyncio.gather(*(one() for _ in range(count)))
            yield opened
        finally:
            for _, writer in opened:
                writer.transport.abort()


async def status_of(reader: asyncio.StreamReader) -> int:
    """Return the status of an answer; 0 if the connection is cut before it."""
    with suppress(OSError, ValueError):
        line = await reader.readline()
        return int(line.split()[1]) if line else 0
    return 0


async def send(writer: asyncio.StreamWriter, data: bytes, times: int = 1) -> int:
    """Send something again and again, as long as it is taken; how often it was."""
    sent = 0
    with suppress(OSError):
        for _ in range(times):
            writer.write(data)
            await writer.drain()
            sent += 1
    return sent


class Witness:
    """A client of another tenant, who sends requests all the time and must be answered."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.answers: Counter[int] = Counter()
        self._stopped = threading.Event()

    def _ask(self) -> None:
        while not self._stopped.wait(0.02):
            try:
                self.answers[self._api.answer("GET", NAMESPACES).status] += 1
            except (OSError, Unreachable):
                self.answers[0] += 1

    @contextmanager
    def asking(self) -> Iterator["Witness"]:
        """Send requests until the end of the block; all must be answered, and some within it."""
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            eventually(lambda: self.answers)
            yield self
            before = sum(self.answers.values())
            eventually(lambda: sum(self.answers.values()) > before + 3)
        finally:
            self._stopped.set()
            thread.join()
        assert set(self.answers) == {200}, self.answers


@dataclass(frozen=True)
class Memory:
    """The memory of a process, in MiB."""

    pid: int

    def settled(self) -> float:
        """Wait until free memory is given back, reset the peak, and return what is left.

        After a flood a gateway has 400 MiB for up to half a minute, and 100 MiB a moment later. A
        peak that is reset before is compared with what there was after; and growth does not show
        while there is free memory.
        """
        eventually(lambda: self.now < _GIVEN_BACK, what="the memory is not given back")
        return self.forget_peak()

    def forget_peak(self) -> float:
        """Reset the peak, and return what it is now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return self.peak

    @property
    def peak(self) -> float:
        """Return the most memory that the process had."""
        return self._read("VmHWM")

    @property
    def now(self) -> float:
        """Return the memory that the process has."""
        return self._read("VmRSS")

    def _read(self, name: str) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
        raise LookupError(name)


def raise_files() -> int:
    """Raise the limit of open files of this process as far as it may be; return the limit."""
    _, hardest = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hardest, hardest))
    return hardest


def client_hello(context: ssl.SSLContext, name: str) -> bytes:
    """Return the first message of a TLS handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    beginning = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        beginning.do_handshake()
    return outgoing.read()
