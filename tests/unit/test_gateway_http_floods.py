"""Clients that come in thousands, say nothing, or read nothing."""

import asyncio
import gc
import resource
import ssl
import subprocess
import sys
import time
import tracemalloc
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
from lnamespace.errors import Unreachable
from lnamespace.http.exchange import Exchange
from lnamespace.http.flow import Chunks
from lnamespace.http.limits import ServerLimits, raise_open_files
from lnamespace.http.server import HttpServer
from lnamespace.http.upstream import UpstreamPool
from lnamespace.kube.client import ApiServerAddress
from lnamespace.runtime.addresses import Address

from tests.e2e.support.gateway import make_certificates
from tests.unit.support.server import DEADLINE

ASK = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = 8_000_000


async def answer(exchange: Exchange) -> None:
    exchange.connection.owner = exchange.request.target.strip("/")
    size = LONG if exchange.request.target == "/long" else 2
    await exchange.answer(200, (), b"x" * size)


@asynccontextmanager
async def serving(
    limits: ServerLimits, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[HttpServer, int]]:
    server = HttpServer(answer, limits)
    address = await server.start(Address("127.0.0.1", 0), context)
    try:
        yield server, address.port
    finally:
        await server.stop()


async def ended(reader: asyncio.StreamReader) -> bool:
    """Return whether a connection is closed, which it may be by a reset."""
    async with asyncio.timeout(DEADLINE):
        with suppress(ConnectionResetError):
            return not await reader.read()
    return True


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "certificates"
    make_certificates(folder)
    return folder


async def test_silent_connections_are_closed_in_favour_of_new_handshakes(
    certificates: Path,
) -> None:
    """Such connections were not counted until the process had no file descriptors left."""
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    ours = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    async with serving(ServerLimits(handshakes=3, finish=0.1), theirs) as (server, port):
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for reader, _ in silent[:2]:
            assert await ended(reader)
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ours)
            writer.write(ASK % b"/short")
            async with asyncio.timeout(DEADLINE):
                assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            writer.close()
        acceptor = server._acceptors[0]  # noqa: SLF001
        assert acceptor.beginning <= 3
        for _, writer in silent:
            writer.close()


async def test_aborted_handshakes_leave_no_connections(certificates: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    async with serving(ServerLimits(finish=0.1), context) as (server, port):
        acceptor = server._acceptors[0]  # noqa: SLF001
        for _ in range(50):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"\x16\x03\x01\x02\x00")
            writer.transport.abort()
        await until(lambda: not acceptor.beginning and not server.connections)


async def test_the_client_with_the_most_idle_connections_loses_one_first() -> None:
    async with serving(ServerLimits(connections=6, finish=0.1)) as (_, port):
        opened = []
        for owner in (b"/honest", *[b"/flood"] * 8):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(ASK % owner)
            async with asyncio.timeout(DEADLINE):
                await reader.readuntil(b"\r\n\r\nxx")
            opened.append((reader, writer))
        assert await ended(opened[1][0])
        reader, writer = opened[0]
        writer.write(ASK % b"/honest")
        async with asyncio.timeout(DEADLINE):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        for _, writer in opened:
            writer.close()


async def test_a_long_answer_is_written_at_the_pace_of_its_reader() -> None:
    """The whole answer was buffered again by TLS, and its reader was cut off a minute later."""
    async with serving(ServerLimits(finish=0.1)) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(ASK % b"/long")
        async with asyncio.timeout(DEADLINE):
            await reader.readuntil(b"\r\n\r\n")
            (connection,) = server._open  # noqa: SLF001
            await until(lambda: bool(connection.gate.closed_since))
            assert connection.transport.get_write_buffer_size() < 1_000_000
            read = 0
            while read < LONG:
                read += len(await reader.read(LONG))
        assert read == LONG
        writer.close()


async def test_the_memory_of_an_aborted_connection_is_freed_without_garbage_collection() -> None:
    """The bodies of hundreds of aborted connections stayed until the next collection."""
    gc.collect()
    gc.disable()
    try:
        async with serving(ServerLimits(finish=0.1)) as (server, port):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nhalf")
            await until(lambda: any(each.held for each in server._open))  # noqa: SLF001
            (cut,) = map(weakref.ref, server._open)  # noqa: SLF001
            writer.transport.abort()
            await until(lambda: cut() is None)
    finally:
        gc.enable()


async def test_the_memory_of_a_discarded_answer_is_freed_without_garbage_collection() -> None:
    gc.collect()
    gc.disable()
    try:
        async with serving(ServerLimits(finish=0.1)) as (_, port):
            pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
            response = await pool.send("GET", "/long", ())
            unwanted = weakref.ref(response)
            await response.take()
            response.close()
            del response
            await until(lambda: unwanted() is None)
            pool.close()
    finally:
        gc.enable()


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Give the memory that objects take which are made from now on, in bytes."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        pytest.param(CHUNKED + (b"10\r\n" + b"a" * 16 + b"\r\n") * 20_000, 320_000, id="chunks"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"ab:cd\r\n" * 400, 0, id="headers"),
    ],
)
async def test_a_request_takes_the_memory_that_is_counted(sent: bytes, counted: int) -> None:
    """A body in small chunks took thirty times that, before anybody had logged in."""
    async with serving(ServerLimits(finish=0.1)) as (server, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: bool(server.connections))
        (connection,) = server._open  # noqa: SLF001
        with traced() as memory:
            writer.write(sent)
            await writer.drain()
            await until(lambda: connection.arriving and connection.held == counted)
            await asyncio.sleep(0.05)
            assert memory() < (counted or connection._request.head_size) * 1.5 + 50_000  # noqa: SLF001
        writer.transport.abort()


async def test_a_body_in_tiny_chunks_is_refused_before_it_takes_much_time() -> None:
    """A body of 8 MB in chunks of a byte took three seconds of the thread, and nobody's share."""
    async with serving(ServerLimits(finish=0.1)) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(CHUNKED + b"1\r\na\r\n" * 100_000)
        async with asyncio.timeout(DEADLINE):
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        writer.transport.abort()


async def test_requests_that_are_sent_ahead_wait_as_bytes_and_are_all_answered() -> None:
    """Each became an object before the first was answered: 2 MB for a connection, without login."""
    count, begin = 20_000, asyncio.Event()

    async def wait(exchange: Exchange) -> None:
        await begin.wait()
        await answer(exchange)

    server = HttpServer(wait, ServerLimits(finish=0.1))
    port = (await server.start(Address("127.0.0.1", 0))).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with traced() as memory:
        writer.write(b"GET / HTTP/1.1\r\n\r\n" * count)
        await until(lambda: any(not each.transport.is_reading() for each in server._open))  # noqa: SLF001
        assert memory() < 1_500_000, "both ends of it"
    begin.set()
    async with asyncio.timeout(DEADLINE):
        for _ in range(count):
            await reader.readuntil(b"\r\n\r\nxx")
    writer.close()
    await server.stop()


class Source(asyncio.ReadTransport):
    """A transport that goes on sending."""

    def pause_reading(self) -> None:
        """Do nothing."""


async def test_an_answer_in_tiny_chunks_takes_its_own_size() -> None:
    """A tenant's pod chooses them, and a slow client lets them wait."""
    chunks = Chunks(Source())
    with traced() as memory:
        for number in range(100_000):
            chunks.put(number.to_bytes(4)[2:])
        assert memory() < 300_000
        assert len(await chunks.take()) == 200_000


async def test_an_answer_whose_head_does_not_end_is_not_read_on() -> None:
    """A pod may send ten megabytes of headers through the API server's proxy: 300 MB as objects."""

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(b"ab:cd\r\n" * 10_000)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    async with server:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", server.sockets[0].getsockname()[1], None))
        with pytest.raises(Unreachable):
            async with asyncio.timeout(DEADLINE):
                await pool.send("GET", "/proxy", ())
        pool.close()


def test_the_client_limits_leave_files_for_connections_to_the_api_server() -> None:
    few = ServerLimits().within(1024)
    assert few.connections + few.handshakes < 1024 * 3 / 4
    assert ServerLimits().within(1_048_576) == ServerLimits()


def test_the_limit_of_open_files_is_raised_to_the_hard_limit() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 1000), before[1]))
    try:
        assert raise_open_files() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("size", [3, 20])
def test_the_memory_of_long_buffers_is_returned_to_the_system(size: int) -> None:
    """This runs in a separate process, because the allocator keeps its adapted thresholds."""
    script = """
import sys
from lnamespace.runtime.memory import give_back, shorten_buffers

def resident():
    return int(open("/proc/self/statm").read().split()[1]) // 256

shorten_buffers()
kept = []
for _ in range(20):
    long = [b"x" * (int(sys.argv[1]) << 20) for _ in range(5)]
    kept.append(b"y" * 100_000)
    del long
give_back()
print(resident())
"""
    command = [sys.executable, "-c", script, str(size)]
    told = subprocess.run(command, capture_output=True, check=True)
    assert int(told.stdout) < 60


async def test_a_client_that_sends_after_a_refusal_is_refused_once(
    caplog: pytest.LogCaptureFixture, certificates: Path
) -> None:
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    ours = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    async with serving(ServerLimits(body=100, shutdown=0.2, finish=0.1), theirs) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ours)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
        with suppress(OSError):
            for _ in range(900):
                writer.write(b"x" * 1000)
                await writer.drain()
        async with asyncio.timeout(DEADLINE):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.transport.abort()
    assert [each.message for each in caplog.records if each.message == "refused"] == ["refused"]


def test_an_idle_connection_takes_little_memory(certificates: Path) -> None:
    """This runs in a separate process; asyncio allocates a buffer of 256 KiB per connection."""
    script = """
import asyncio, ssl, sys
from lnamespace.http.server import HttpServer
from lnamespace.runtime.addresses import Address
from lnamespace.runtime.memory import shorten_buffers

async def main():
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1] + "/tls.crt", sys.argv[1] + "/tls.key")
    ours = ssl.create_default_context(cafile=sys.argv[1] + "/ca.crt")
    server = HttpServer(None)
    port = (await server.start(Address("127.0.0.1", 0), context)).port
    before = resident()
    opened = [await asyncio.open_connection("127.0.0.1", port, ssl=ours) for _ in range(100)]
    print((resident() - before) // 100)
    for _, writer in opened:
        writer.transport.abort()
    await asyncio.sleep(0)

shorten_buffers()
asyncio.run(main())
"""
    command = [sys.executable, "-c", script, str(certificates)]
    told = subprocess.run(command, capture_output=True, check=True)
    assert int(told.stdout) < 250, "KiB, both ends of it"


async def test_a_connection_rests_between_the_parts_of_a_body() -> None:
    """Sixteen bodies of 3 MB at a time kept everybody else's requests waiting."""
    read = list[int]()

    def pause(owner: str, size: int) -> float:
        assert owner == "greedy"
        read.append(size)
        return 0.05

    server = HttpServer(answer, ServerLimits(finish=0.1), pause=pause)
    address = await server.start(Address("127.0.0.1", 0))
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(ASK % b"/greedy")
        await reader.readuntil(b"xx")
        assert not read  # a whole request
        began = time.monotonic()
        head = b"POST /greedy HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n"
        writer.write(head + b"x" * 2_000_000)
        async with asyncio.timeout(DEADLINE):
            await reader.readuntil(b"xx")
        parts = len(read)
        assert parts > 1
        assert time.monotonic() - began >= 0.05 * parts
        writer.close()
    finally:
        await server.stop()
