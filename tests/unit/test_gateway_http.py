"""HTTP/1.1 towards clients and upstream, on real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from lnamespace.http.exchange import Exchange
from lnamespace.http.flow import PART
from lnamespace.http.limits import ServerLimits
from lnamespace.http.messages import encode_request_head
from lnamespace.http.server import HttpServer
from lnamespace.http.upstream import UpstreamPool
from lnamespace.kube.client import ApiServerAddress
from lnamespace.runtime.addresses import Address

from tests.unit.support.server import DEADLINE

Handler = Callable[[Exchange], Awaitable[None]]
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def echo(exchange: Exchange) -> None:
    request = exchange.request
    body = f"{request.method} {request.target} ".encode() + request.body
    await exchange.answer(200, (("Content-Type", "text/plain"),), body)


@asynccontextmanager
async def serving(
    handler: Handler = echo, limits: ServerLimits | None = None
) -> AsyncIterator[int]:
    server = HttpServer(handler, limits or ServerLimits(finish=0.1))
    address = await server.start(Address("127.0.0.1", 0))
    try:
        yield address.port
    finally:
        await server.stop()


async def exchange_raw(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await writer.drain()
    writer.write_eof()
    async with asyncio.timeout(DEADLINE):
        answer = await reader.read()
    writer.close()
    return answer


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    async with serving() as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        for number in range(3):
            response = await pool.send("POST", f"/{number}", (), b"x" * number)
            assert await response.read() == f"POST /{number} ".encode() + b"x" * number
        pool.close()


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving() as port:
        first = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first + last)
        async with asyncio.timeout(DEADLINE):
            answer = await reader.read()
        writer.close()
    assert answer.index(b"GET /a") < answer.index(b"GET /b")


@pytest.mark.parametrize(
    "sent",
    [
        b"not http at all\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        CHUNKED + b"zz\r\n",
    ],
)
async def test_a_request_that_parsers_could_read_differently_is_refused(sent: bytes) -> None:
    async with serving() as port:
        assert (await exchange_raw(port, sent)).startswith(b"HTTP/1.1 400 ")


async def test_a_trailer_is_no_header() -> None:
    """A proxy in front that judges headers does not see it; nor does net/http take it for one."""
    seen: list[tuple[str, str]] = []

    async def handler(exchange: Exchange) -> None:
        seen.extend(exchange.request.headers)
        await exchange.answer(200, (), exchange.request.body)

    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    async with serving(handler) as port:
        sent = head + b"2\r\n{}\r\n0\r\nImpersonate-User: alice\r\nAuthorization: Bearer x\r\n\r\n"
        answer = await exchange_raw(port, sent)
    assert answer.endswith(b"{}")
    assert dict(seen).keys() == {"host", "transfer-encoding", "connection"}


async def test_headers_and_bodies_have_limits() -> None:
    async with serving(limits=ServerLimits(head=500, body=100, finish=0.1)) as port:
        long = b"GET /" + b"a" * 600 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
        assert (await exchange_raw(port, long)).startswith(b"HTTP/1.1 431 ")
        large = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n" + b"a" * 200
        assert (await exchange_raw(port, large)).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nX: ", id="header"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
            id="trailer",
        ),
    ],
)
async def test_an_endless_header_is_refused_at_the_size_limit(begun: bytes) -> None:
    async with serving(limits=ServerLimits(head=400, finish=0.1)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        for _ in range(5):
            await asyncio.sleep(0.01)
            writer.write(b"a" * 100)
        async with asyncio.timeout(DEADLINE):
            assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
        writer.close()


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"not http at all\r\n\r\n", 400, "BadRequest"),
        (b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n", 405, "MethodNotAllowed"),
        (b"GETS /api/v1?a=b HTTP/1.0\r\n\r\n", 405, "MethodNotAllowed"),
        (b"GET /" + b"a" * 600 + b" HTTP/1.1\r\n", 431, "RequestHeaderFieldsTooLarge"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + b"a" * 200,
            413,
            "RequestEntityTooLarge",
        ),
    ],
)
async def test_a_refusal_of_the_listener_is_a_kubernetes_status(
    sent: bytes, status: int, reason: str
) -> None:
    """A plain text made clients report that the server returned no information."""
    async with serving(limits=ServerLimits(head=500, body=100, finish=0.1)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(DEADLINE):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nContent-Type: application/json\r\n" in head
    told = json.loads(body)
    assert (told["kind"], told["code"], told["reason"]) == ("Status", status, reason)


async def test_a_client_that_is_still_sending_receives_the_refusal() -> None:
    """The connection was reset before the client had read the answer."""
    async with serving(limits=ServerLimits(body=100, finish=0.1)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n")
        async with asyncio.timeout(DEADLINE):
            for _ in range(50):
                writer.write(b"a" * 100_000)
                await writer.drain()
            assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()


async def stream(exchange: Exchange) -> None:
    await exchange.start(200, ())
    for part in (b"one", b"two"):
        await exchange.send(part)
    await exchange.end()


@pytest.mark.parametrize(("handler", "body"), [(echo, b"GET /a "), (stream, b"onetwo")])
async def test_an_http_1_0_client_is_answered_without_chunks_and_then_disconnected(
    handler: Handler, body: bytes
) -> None:
    """The client received chunks, which it cannot read, on a connection that stayed open."""
    async with serving(handler) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        async with asyncio.timeout(DEADLINE):
            head, _, found = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert found == body
    assert b"chunked" not in head


@pytest.mark.parametrize("handler", [echo, stream])
async def test_a_draining_server_closes_each_connection_after_its_next_answer(
    handler: Handler,
) -> None:
    """A client of the gateway kept its connection until it was reset, under a request or not."""
    server = HttpServer(handler, ServerLimits(finish=0.1))
    address = await server.start(Address("127.0.0.1", 0))
    server.drain()
    reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
    writer.write(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(DEADLINE):
        assert b"\r\nConnection: close\r\n" in await reader.read()
    writer.close()
    await server.stop()


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_ends_with_its_headers(status: int) -> None:
    """A chunk end after `kubectl logs` of a starting pod was read as the next answer."""

    async def empty(exchange: Exchange) -> None:
        await exchange.start(status, ())
        await exchange.send(b"nobody reads this")
        await exchange.end()

    async with serving(empty) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(DEADLINE):
            for _ in range(2):
                writer.write(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(f"HTTP/1.1 {status} ".encode())
                assert b"chunked" not in head
        writer.close()


async def test_an_answer_to_head_ends_with_its_head() -> None:
    """The end of its chunks was taken for the beginning of the next answer."""
    async with serving(stream) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(DEADLINE):
            for _ in range(2):
                writer.write(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                assert head == b"HTTP/1.1 200 OK\r\n\r\n"
        writer.close()


async def test_very_many_empty_headers_are_too_large() -> None:
    async with serving(limits=ServerLimits(head=2000, finish=0.1)) as port:
        many = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 100 + b"\r\n"
        assert (await exchange_raw(port, many)).startswith(b"HTTP/1.1 431 ")


async def test_the_bodies_of_all_connections_have_a_total_limit() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def wait(exchange: Exchange) -> None:
        asked.set()
        await answer.wait()
        await echo(exchange)

    async with serving(wait, ServerLimits(body=100, bodies=150, finish=0.1)) as port:
        whole = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + b"a" * 100
        reader, first = await asyncio.open_connection("127.0.0.1", port)
        first.write(whole)
        async with asyncio.timeout(DEADLINE):
            await asked.wait()
            assert (await exchange_raw(port, whole)).startswith(b"HTTP/1.1 503 ")
            answer.set()
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            assert (await exchange_raw(port, whole)).startswith(b"HTTP/1.1 200 ")
        first.close()


async def test_a_slow_sender_of_a_body_is_disconnected_in_favour_of_others() -> None:
    async with serving(limits=ServerLimits(body=100, bodies=150, finish=0.1)) as port:
        begun = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        reader, slow = await asyncio.open_connection("127.0.0.1", port)
        slow.write(begun + b"a" * 90)
        await slow.drain()
        async with asyncio.timeout(DEADLINE):
            while not reader.at_eof() and reader.exception() is None:
                answer = await exchange_raw(port, begun + b"a" * 100)
                assert answer.startswith(b"HTTP/1.1 200 ")
        slow.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n", id="headers"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{", id="a body"),
        pytest.param(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", id="chunks"
        ),
    ],
)
async def test_a_request_that_never_ends_is_cut_off(sent: bytes) -> None:
    async with serving(limits=ServerLimits(arrive=0.1, finish=0.1)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(DEADLINE):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()


async def test_an_unread_body_pauses_its_sender() -> None:
    sent = 0

    async def flood(exchange: Exchange) -> None:
        nonlocal sent
        await exchange.start(200, ())
        for _ in range(2000):
            await exchange.send(b"x" * 16384)
            sent += 1
        await exchange.end()

    async with serving(flood) as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        response = await pool.send("GET", "/", ())
        for _ in range(50):
            await asyncio.sleep(0)
        held = sent
        assert held < 2000
        total = 0
        async with asyncio.timeout(DEADLINE):
            while data := await response.take():
                total += len(data)
        assert total == 2000 * 16384
        pool.close()


async def test_both_ends_of_an_upgraded_connection_can_send_at_any_time() -> None:
    async def switch(exchange: Exchange) -> None:
        head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
        transport, chunks = await exchange.switch(head)
        while data := await chunks.take():
            transport.write(data.upper())

    async with serving(switch) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        upgrade = (("Host", "x"), ("Connection", "Upgrade"), ("Upgrade", "x"))
        writer.write(encode_request_head("GET", "/", upgrade) + b"early")
        async with asyncio.timeout(DEADLINE):
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(5) == b"EARLY"
            writer.write(b"later")
            assert await reader.readexactly(5) == b"LATER"
        writer.close()


async def test_a_tunnel_that_reads_no_input_ends_with_its_client() -> None:
    """The paused connection was not read any more, so its end was not noticed."""
    ended = asyncio.Event()

    async def stuck(exchange: Exchange) -> None:
        await exchange.switch(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(stuck, ServerLimits(stalled=2, finish=0.1)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        upgrade = (("Host", "x"), ("Connection", "Upgrade"), ("Upgrade", "x"))
        writer.write(encode_request_head("GET", "/", upgrade))
        async with asyncio.timeout(DEADLINE):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"x" * 320 * 1024)
            await writer.drain()
            writer.close()
            await ended.wait()


async def test_the_connection_of_a_refused_upgrade_is_not_reused() -> None:
    """The API server closes the connection; the next request on it failed if it was a write."""
    upgrade = (("connection", "Upgrade"), ("upgrade", "SPDY/3.1"))
    refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
    async with answering(refusal, whole(b"of the same connection")) as pool:
        refused = await pool.send("POST", "/exec", upgrade)
        assert (refused.status, await refused.read()) == (403, b"no")
        # A connection of its own is answered by the first of the answers again.
        assert (await pool.send("POST", "/configmaps", ())).status == 403


async def test_a_watch_opens_its_own_connection_and_takes_no_kept_connection() -> None:
    """Whoever opened watches took the kept connections: a third of the requests of another tenant
    began by a handshake with the API server, which took up to 60 ms."""
    async with answering(whole(b"first"), whole(b"second")) as pool:
        assert await (await pool.send("GET", "/short", ())).read() == b"first"
        assert await (await pool.send("GET", "/watch", (), lasting=True)).read() == b"first"
        assert await (await pool.send("GET", "/short", ())).read() == b"second"


async def test_other_tasks_run_while_a_long_body_is_sent() -> None:
    """Three megabytes in one write blocked all other tasks for 10 ms and more."""
    ran, body = 0, bytes(range(256)) * 12_000

    async def short() -> None:
        nonlocal ran
        while True:
            await asyncio.sleep(0)
            ran += 1

    async with serving() as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        other = asyncio.create_task(short())
        async with asyncio.timeout(DEADLINE):
            response = await pool.send("POST", "/", (), body)
            assert await response.read() == b"POST / " + body
        other.cancel()
        pool.close()
    assert ran > len(body) // PART


async def test_the_connection_of_a_partly_sent_request_is_not_reused() -> None:
    """The rest of its body would be read as the next request."""
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"
    async with answering(refusal, whole(b"of the same connection")) as pool:
        refused = await pool.send("POST", "/", (), b"x" * 64 * PART)
        assert (refused.status, await refused.read()) == (413, b"no")
        assert (await pool.send("GET", "/", ())).status == 413


def test_a_header_with_a_line_break_is_refused() -> None:
    with pytest.raises(ValueError, match="line break"):
        encode_request_head("GET", "/", (("a", "b\r\nc: d"),))


async def test_closing_an_answer_twice_does_not_affect_the_next_answer() -> None:
    async with serving() as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        first = await pool.send("GET", "/first", ())
        assert await first.read() == b"GET /first "
        first.close()
        second = await pool.send("GET", "/second", ())
        first.close()
        third = await pool.send("GET", "/third", ())
        assert await second.read() == b"GET /second "
        assert await third.read() == b"GET /third "
        pool.close()


async def long_or_short(exchange: Exchange) -> None:
    """Answer as many bytes as the path says."""
    await exchange.answer(200, (), b"x" * int(exchange.request.target[1:]))


async def test_the_connection_of_a_cancelled_read_is_closed() -> None:
    async with serving(long_or_short) as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        response = await pool.send("GET", "/8000000", ())
        connection = response._connection  # noqa: SLF001
        reading = asyncio.create_task(response.read())
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert connection.transport.is_closing()
        pool.close()


async def test_a_connection_paused_by_an_unread_answer_is_not_reused() -> None:
    async with serving(long_or_short) as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        response = await pool.send("GET", "/1", ())
        assert await response._chunks.take() == b"x"  # noqa: SLF001
        # As the last bytes of an answer do that are more than wait for a reader.
        response._connection.transport.pause_reading()  # noqa: SLF001
        response.close()
        async with asyncio.timeout(DEADLINE):
            assert await (await pool.send("GET", "/2", ())).read() == b"xx"
        pool.close()


@pytest.mark.parametrize("switched", [False, True])
async def test_a_stream_does_not_count_to_the_limit_of_bodies(switched: bool) -> None:
    begun = asyncio.Event()

    async def stream(exchange: Exchange) -> None:
        if exchange.request.target == "/short":
            await echo(exchange)
            return
        if switched:
            await exchange.switch(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        else:
            await exchange.start(200, ())
        begun.set()
        await asyncio.Event().wait()

    async with serving(stream, ServerLimits(body=100, bodies=150, finish=0.1)) as port:
        sent = b"POST /%b HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + b"a" * 100
        _, watching = await asyncio.open_connection("127.0.0.1", port)
        watching.write(sent % b"long")
        async with asyncio.timeout(DEADLINE):
            await begun.wait()
        for _ in range(3):
            answer = await exchange_raw(port, sent % b"short")
            assert answer.startswith(b"HTTP/1.1 200 ")
        watching.close()


async def test_keepalive_is_set_on_both_ends_of_a_connection() -> None:
    kept: list[int] = []

    async def look(exchange: Exchange) -> None:
        accepted = exchange.connection.transport.get_extra_info("socket")
        kept.append(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        await echo(exchange)

    async with serving(look) as port:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", port, None))
        response = await pool.send("GET", "/", ())
        opened = response._connection.transport.get_extra_info("socket")  # noqa: SLF001
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
        await response.read()
        pool.close()
    assert kept == [1]


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[UpstreamPool]:
    """Run an API server that answers each request on a connection by the next of some bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            for each in answers:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(each)
                await writer.drain()
            await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        pool = UpstreamPool(ApiServerAddress("127.0.0.1", server.sockets[0].getsockname()[1], None))
        yield pool
        pool.close()


INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"


def whole(body: bytes) -> bytes:
    """Return an answer with a body."""
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize("first", [INTERIM + whole(b"first"), INTERIM * 2 + whole(b"first")])
async def test_an_interim_response_is_not_taken_for_the_final_response(first: bytes) -> None:
    """The 103 of a pod was; its final response then answered the next request."""
    async with answering(first, whole(b"second")) as pool:
        response = await pool.send("POST", "/proxy", ())
        assert (response.status, response.headers) == (200, (("content-length", "5"),))
        assert await response.read() == b"first"
        assert await (await pool.send("POST", "/tokenreviews", ())).read() == b"second"


async def test_an_unsolicited_response_is_not_taken_for_the_next_response() -> None:
    async with answering(whole(b"first") + whole(b"forged"), whole(b"second")) as pool:
        assert await (await pool.send("POST", "/proxy", ())).read() == b"first"
        assert await (await pool.send("GET", "/tokenreviews", ())).read() == b"first"


async def test_an_expectation_other_than_100_continue_is_refused() -> None:
    """The gateway answered 100 Continue and carried out the request."""
    async with serving() as port:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: %b\r\n\r\n"
        assert (await exchange_raw(port, head % b"foo")).startswith(b"HTTP/1.1 417 ")
        answer = await exchange_raw(port, head % b"100-continue" + b"a")
        assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
