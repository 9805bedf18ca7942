"""What a stranger can do to the webhook's port; over real TLS, on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import aiohttp
import pytest
import pytest_asyncio
from lnamespace.admission.server import LARGE, LIMITS, Bounds, Endpoint
from lnamespace.errors import ReviewError
from lnamespace.runtime.addresses import Address

from tests.unit.support.reviews import (
    DEADLINE,
    JSON,
    Answer,
    Served,
    ended,
    fresh,
    serving,
    trusting,
    until,
    within,
)

MIB = 2**20
LONG = LARGE + 1
Connected = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HASTY = Bounds(replace(LIMITS, handshake=1, arrive=1, finish=2), answer=1, write=1)


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as served:
        yield served


@pytest_asyncio.fixture
async def hasty() -> AsyncIterator[Served]:
    async with serving(bounds=HASTY) as served:
        yield served


async def test_a_review_is_answered(served: Served) -> None:
    answer = await served.post("/echo", b'{"a":1}')
    assert (answer.status, answer.body) == (200, b'{"a":1}')
    assert answer.headers["Content-Type"] == "application/json"
    assert served.count(200) == 1


@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("GET", "/echo", JSON, 405),
        ("PUT", "/echo", JSON, 405),
        ("POST", "/", JSON, 404),
        ("POST", "/echo/", JSON, 404),
        ("POST", "/../echo%00", JSON, 404),
        ("GET", "/metrics", JSON, 404),
        ("GET", "/readyz", JSON, 404),
        ("POST", "/echo", {"Content-Type": "text/plain"}, 415),
        ("POST", "/echo", {}, 415),
        ("POST", "/echo", JSON | {"Content-Encoding": "gzip"}, 415),
    ],
)
async def test_a_request_that_is_no_review_is_refused_with_a_reason(
    served: Served, method: str, path: str, headers: dict[str, str], code: int
) -> None:
    answer = await served.ask(method, path, data=b"{}", headers=headers)
    assert answer.status == code
    assert answer.body.decode().strip()
    assert answer.headers["Connection"] == "close"
    assert served.count(code, "/echo" if path == "/echo" else "other") == 1


async def refuse(body: bytes) -> bytes:
    raise ReviewError(f"not a review: {len(body)} bytes")


async def fail(body: bytes) -> bytes:
    raise RuntimeError(f"broken by {body!r}")


async def test_a_review_error_is_sent_to_the_caller() -> None:
    async with serving(Endpoint("/echo", refuse, MIB)) as served:
        answer = await served.post("/echo", b"garbage")
    assert (answer.status, answer.body) == (400, b"not a review: 7 bytes\n")


async def test_an_unexpected_exception_is_logged_and_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(Endpoint("/echo", fail, MIB)) as served:
        answer = await served.post("/echo", b"secret")
        assert answer.status == 500
        assert b"secret" not in answer.body
        assert (await served.post("/echo", b"again")).status == 500
    assert "no answer" in caplog.messages
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize("size", [MIB + 1, 3 * MIB, 9 * MIB])
async def test_a_large_body_is_refused_by_its_length(served: Served, size: int) -> None:
    answer = await served.post("/echo?timeout=5s", b" " * size)
    assert answer.status == 413
    assert str(MIB) in answer.body.decode()
    assert served.count(413) == 1


async def test_a_body_of_exactly_the_limit_is_read(served: Served) -> None:
    assert len((await served.post("/echo", b" " * MIB)).body) == MIB


async def test_the_total_size_of_all_bodies_is_limited() -> None:
    finish = asyncio.Event()

    async def hold(body: bytes) -> bytes:
        await finish.wait()
        return body

    bounds = Bounds(replace(LIMITS, bodies=3 * MIB))
    async with serving(Endpoint("/echo", hold, 2 * MIB), bounds=bounds) as served:
        first = asyncio.create_task(served.post("/echo", b" " * (2 * MIB)))
        await until(lambda: held(served) == 2 * MIB)
        assert (await served.post("/echo", b" " * (2 * MIB))).status == 503
        assert served.count(503) == 1
        finish.set()
        assert (await first).status == 200
        assert (await served.post("/echo", b" " * (2 * MIB))).status == 200


@pytest.mark.parametrize(
    ("sent", "code", "endpoint"),
    [
        (b"hello\r\n\r\n", 400, "other"),
        (b"POST /echo?timeout=5s HTTP/1.1\r\nX: " + b"y" * 100_000, 431, "/echo"),
        (b"POST /" + b"y" * 100_000, 431, "other"),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n", 417, "/echo"),
    ],
)
async def test_what_cannot_be_read_is_refused_and_counted(
    served: Served, sent: bytes, code: int, endpoint: str
) -> None:
    """These refusals were in the log alone, and so a webhook without memory raised no alert."""
    reader, writer = await served.connect()
    writer.write(sent)
    assert (await ended(reader)).startswith(f"HTTP/1.1 {code}".encode())
    writer.close()
    assert served.count(code, endpoint) == 1


async def still_answers(hasty: Served) -> None:
    """It answers whoever is quick enough, which is not everybody on a busy machine."""
    async with asyncio.timeout(DEADLINE):
        while True:
            with suppress(aiohttp.ClientConnectionError):
                if (await hasty.post("/echo", b"{}")).status == 200:
                    return


async def test_a_handshake_that_never_ends_is_closed(hasty: Served) -> None:
    reader, writer = await asyncio.open_connection(hasty.address.host, hasty.address.port)
    writer.write(b"\x16\x03\x01\x02\x00")  # The beginning of a ClientHello.
    await ended(reader)
    writer.close()
    await still_answers(hasty)


def held(served: Served) -> int:
    """Return the bytes of all bodies and answers."""
    return served.server._server._held  # noqa: SLF001 - no other sign of it


async def kept(served: Served, address: str = "127.0.0.1") -> Connected:
    """Return a connection on which something has been asked and answered."""
    assert served.identity.pair
    reader, writer = await asyncio.open_connection(
        *where(served.address), ssl=trusting(served.identity.pair), local_addr=(address, 0)
    )
    await asked(reader, writer)
    return reader, writer


async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )
    assert (await within(reader.readuntil(b"{}"))).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="silent"),
        pytest.param(b"POST /echo HT", id="half headers"),
        pytest.param(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 10\r\n\r\n{",
            id="half a body",
        ),
    ],
)
async def test_silent_connections_do_not_block_new_connections(sent: bytes) -> None:
    async with serving(bounds=Bounds(replace(LIMITS, connections=3))) as served:
        strangers = [await served.connect() for _ in range(9)]
        for _, writer in strangers:
            writer.write(sent)
        for _ in range(3):
            _, writer = await kept(served)
            writer.close()
        for _, writer in strangers:
            writer.close()


async def test_a_client_with_many_connections_loses_its_own_connections_first() -> None:
    async with serving(bounds=Bounds(replace(LIMITS, connections=4))) as served:
        api_server = await kept(served, "127.0.0.2")
        strangers = [await kept(served) for _ in range(9)]
        await asked(*api_server)
        for _, writer in (api_server, *strangers):
            writer.close()


async def test_a_request_under_way_is_not_cut_off_for_a_new_connection() -> None:
    finish = asyncio.Event()

    async def slow(body: bytes) -> bytes:
        await finish.wait()
        return body

    bounds = Bounds(replace(LIMITS, connections=1))
    async with serving(Endpoint("/echo", slow, MIB), bounds=bounds) as served:
        first = asyncio.create_task(served.post("/echo", b"{}"))
        await until(lambda: held(served) == 2)
        reader, writer = await served.connect()
        assert await ended(reader) == b""
        writer.close()
        finish.set()
        assert (await first).status == 200


async def test_large_bodies_are_answered_one_at_a_time_and_small_bodies_meanwhile() -> None:
    sizes, finish = list[int](), asyncio.Event()

    async def slow(body: bytes) -> bytes:
        sizes.append(len(body))
        if len(body) > 2:
            await finish.wait()
        return body

    async with serving(Endpoint("/echo", slow, MIB)) as served:
        large = [asyncio.create_task(served.post("/echo", b" " * LONG)) for _ in range(3)]
        await until(lambda: held(served) == 3 * LONG)
        assert (await served.post("/echo", b"{}")).status == 200
        assert sizes == [LONG, 2]
        finish.set()
        assert [(await one).status for one in large] == [200] * 3


async def test_a_large_body_that_waits_too_long_is_refused_for_now() -> None:
    finish = asyncio.Event()

    async def slow(body: bytes) -> bytes:
        await finish.wait()
        return body

    async with serving(Endpoint("/echo", slow, MIB), bounds=Bounds(turn=0.1)) as served:
        first = asyncio.create_task(served.post("/echo", b" " * LONG))
        await until(lambda: held(served) == LONG)
        assert (await served.post("/echo", b" " * LONG)).status == 503
        finish.set()
        assert (await first).status == 200


async def test_a_small_body_is_never_refused_for_lack_of_memory() -> None:
    async with serving(bounds=Bounds(replace(LIMITS, bodies=1))) as served:
        assert (await served.post("/echo", b" " * LARGE)).status == 200
        assert (await served.post("/echo", b" " * LONG)).status == 503
        assert (await served.post("/echo", b"{}")).status == 200


async def test_an_answer_that_takes_too_long_is_cancelled() -> None:
    async def hang(body: bytes) -> bytes:
        await asyncio.Event().wait()
        return body

    bounds = replace(HASTY, answer=0.1)
    async with serving(Endpoint("/echo", hang, MIB), bounds=bounds) as served:
        assert (await served.post("/echo", b"{}")).status == 500


async def test_a_client_that_does_not_read_the_answer_is_cut_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def much(_: bytes) -> bytes:
        return b" " * (64 * MIB)

    async with serving(Endpoint("/echo", much, MIB), bounds=HASTY) as served:
        _, writer = await served.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\n\r\n{}"
        )
        await until(lambda: "cut off" in caplog.messages)
        writer.close()


async def test_a_connection_is_reused_for_later_requests(served: Served) -> None:
    for _ in range(5):
        await served.post("/echo", b"{}")
    assert served.metrics.registry.get_sample_value("lnamespace_webhook_connections") == 1


async def load(served: Served, until_set: asyncio.Event) -> list[Answer]:
    """Ask again and again, eight at a time; every failure is an exception."""

    async def one() -> list[Answer]:
        answers = []
        while not until_set.is_set():
            answers.append(await served.post("/echo", b"{}"))
        return answers

    found = await asyncio.gather(*(one() for _ in range(8)))
    return [answer for answers in found for answer in answers]


async def test_no_request_is_refused_while_the_server_drains(served: Served) -> None:
    enough = asyncio.Event()
    loading = asyncio.create_task(load(served, enough))
    await until(lambda: served.count(200) > 50)
    served.server.drain()
    assert served.server.problem() == "stopping"
    before = served.count(200)
    await until(lambda: served.count(200) > before + 50)
    enough.set()
    answers = await loading
    assert {answer.status for answer in answers} == {200}
    assert answers[-1].headers["Connection"] == "close"
    assert "Connection" not in answers[0].headers


async def test_requests_under_way_are_finished_when_the_server_stops() -> None:
    begun, finish = asyncio.Event(), asyncio.Event()

    async def slow(body: bytes) -> bytes:
        begun.set()
        await finish.wait()
        return body

    async with serving(Endpoint("/echo", slow, MIB)) as served:
        asked = asyncio.create_task(served.post("/echo", b"{}"))
        await within(begun.wait())
        stopping = asyncio.create_task(served.server.stop())
        await until(lambda: served.server.problem() == "stopping")
        with pytest.raises(OSError, match="Connect"):
            await served.connect()
        finish.set()
        assert (await asked).status == 200
        await within(stopping)


async def test_idle_connections_do_not_delay_the_stop(served: Served) -> None:
    await served.post("/echo", b"{}")
    await within(served.server.stop())


async def test_a_handshake_that_ends_after_the_stop_is_dropped(served: Served) -> None:
    assert served.identity.pair
    host, port = served.address.host, served.address.port
    reader, writer = await asyncio.open_connection(host, port)
    await served.post("/echo", b"{}")  # Whoever came before this has been let in.
    await within(served.server.stop())
    with suppress(OSError):
        await within(writer.start_tls(trusting(served.identity.pair), server_hostname=host))
        writer.write(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        writer.write(b"Content-Length: 2\r\n\r\n{}")
        assert await ended(reader) == b""
    writer.close()
    assert served.count(200) == 1


async def test_a_new_certificate_is_served_without_a_refused_request(served: Served) -> None:
    old, new = served.identity.pair, fresh()
    assert old
    enough = asyncio.Event()
    loading = asyncio.create_task(load(served, enough))
    await until(lambda: served.count(200) > 20)
    served.identity.use(new)
    _, writer = await asyncio.open_connection(*where(served.address), ssl=trusting(new))
    writer.close()
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection(*where(served.address), ssl=trusting(old))
    before = served.count(200)
    await until(lambda: served.count(200) > before + 20)
    enough.set()
    assert {answer.status for answer in await loading} == {200}


def where(address: Address) -> tuple[str, int]:
    return address.host, address.port


async def test_a_second_server_does_not_share_the_port_of_the_first(served: Served) -> None:
    async with serving() as second:
        await second.server.stop()
        with pytest.raises(OSError, match="in use"):
            await second.server.start(served.address, second.identity.context)
        await served.server.stop()
        again = await second.server.start(served.address, second.identity.context)
        assert again == served.address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("0.0.0.0:8443", "0.0.0.0", 8443),  # noqa: S104 - an example
        ("[::]:1", "::", 1),
        (":0", "", 0),
        ("localhost:65535", "localhost", 65535),
    ],
)
async def test_an_address_is_parsed(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize("text", ["", "8443", "a:", "a:b", "a:-1", "a:65536", "a:1e3"])
async def test_a_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        Address.parse(text)
