"""A request is answered alike in whatever parts it arrives."""

import asyncio
from collections.abc import Iterable
from typing import Any
from unittest.mock import Mock

import pytest
from lnamespace.http.connection import ClientConnection
from lnamespace.http.exchange import Exchange
from lnamespace.http.limits import ServerLimits

HOST = b"Host: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


class Written(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"socket": Mock()})
        self.data = b""

    def write(self, data: Any) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def echo(exchange: Exchange) -> None:
    request = exchange.request
    headers = repr(request.headers).encode()
    await exchange.answer(200, (), f"{request.method} {request.target} ".encode() + headers)


async def answer_to(parts: Iterable[bytes]) -> bytes:
    limits = ServerLimits(head=9000, body=50)
    state = Mock(limits=limits, handler=echo, draining=False, hold=lambda *_: True)
    connection, transport = ClientConnection(state), Written()
    connection.connection_made(transport)
    for part in parts:
        connection.data_received(part)
    if connection.task:
        await connection.task
    return transport.data


@pytest.mark.parametrize(
    ("whole", "status"),
    [
        pytest.param(b"GET /api?a=b HTTP/1.1\r\n" + HOST + b"\r\n", 200, id="get"),
        pytest.param(b"\r\n\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n", 200, id="empty lines first"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 200, id="a body"),
        pytest.param(b"POST / HTTP/1.1\r\n" + CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", 200, id="chunks"),
        pytest.param(b"POS / HTTP/1.1\r\n" + HOST + b"\r\n", 405, id="the beginning of a method"),
        pytest.param(b"GETS /api?a=b HTTP/1.0\r\n\r\n", 405, id="more than a method"),
        pytest.param(b"FOO / HTTP/1.1\n" + HOST + b"\r\n", 405, id="another method"),
        pytest.param(b"\r\nFOO / HTTP/1.1\r\n\r\n", 405, id="another method after an empty line"),
        pytest.param(b"FOO / HTTP/1.7\r\n\r\n", 400, id="another method of another version"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", 400, id="another version"),
        pytest.param(b"not http at all\r\n\r\n", 400, id="words"),
        pytest.param(b"FOO /\xff HTTP/1.1\r\n\r\n", 400, id="bytes that are no text"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", 400, id="the beginning of TLS"),
        pytest.param(b"GET / HTTP/1.1\r\nA b: c\r\n\r\n", 400, id="a header of two words"),
        pytest.param(b"POST / HTTP/1.1\r\n" + CHUNKED + b"zz\r\n", 400, id="no chunk"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n" + b"a" * 99, 413, id="long"),
        pytest.param(b"GET / HTTP/1.1\r\nExpect: x\r\n\r\n", 417, id="an expectation"),
    ],
)
async def test_a_request_that_is_split_at_any_byte_is_answered_as_the_whole_one(
    whole: bytes, status: int
) -> None:
    """An unknown method was no HTTP where its first line arrived in two parts."""
    answer = await answer_to([whole])
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    for at in range(1, len(whole)):
        assert await answer_to([whole[:at], whole[at:]]) == answer, whole[:at]
    assert await answer_to(bytes([each]) for each in whole) == answer


@pytest.mark.parametrize("length", [8191, 8192, 8193])
async def test_a_line_of_any_length_with_another_method_is_answered_as_the_whole_one(
    length: int,
) -> None:
    line = b"FOO /".ljust(length - len(" HTTP/1.1\r\n"), b"a") + b" HTTP/1.1\r\n"
    answer = await answer_to([line])
    assert answer.startswith(b"HTTP/1.1 %d " % (405 if length <= 8192 else 400))
    for at in (1, 100, 8000, 8190):
        assert await answer_to([line[:at], line[at:]]) == answer


async def test_an_endless_line_with_another_method_is_refused() -> None:
    assert not await answer_to([b"FOO /", b"a" * 8000])
    assert (await answer_to([b"FOO /", b"a" * 8000, b"a" * 200])).startswith(b"HTTP/1.1 400 ")
