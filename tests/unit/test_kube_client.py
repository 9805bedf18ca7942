"""One request, one answer, typed errors; over real connections."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
from lnamespace import errors
from lnamespace.kube.answers import error_of
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
from lnamespace.kube.resources import CLUSTER_ROLE, NAMESPACE

from tests.unit.support.server import DEADLINE, Exchange, Server, client_of, failure, serving


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@pytest_asyncio.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with client_of(server.url) as client:
        yield client


async def dialogue(
    server: Server, asked: Awaitable[bytes], answer: Callable[[Exchange], object]
) -> tuple[Exchange, bytes]:
    """Ask, see what arrives, answer it, and see what comes back."""
    task = asyncio.ensure_future(asked)
    exchange = await server.next()
    answer(exchange)
    async with asyncio.timeout(DEADLINE):
        return exchange, await task


def good(exchange: Exchange) -> None:
    exchange.answer({"kind": "Namespace"})


async def test_a_get_returns_the_response_body_unchanged(server: Server, client: Client) -> None:
    asked = client.get("/api/v1/namespaces/a", limit="5")
    exchange, answer = await dialogue(server, asked, lambda e: e.answer(b'{ "x":1 }'))
    assert (exchange.method, exchange.path) == ("GET", "/api/v1/namespaces/a")
    assert exchange.query == {"limit": "5"}
    assert exchange.headers["Accept"] == "application/json"
    assert "Authorization" not in exchange.headers
    assert answer == b'{ "x":1 }'


async def test_an_answer_of_more_bytes_than_the_caller_takes_is_not_read_on(
    server: Server, client: Client
) -> None:
    _, answer = await dialogue(server, client.get("/x", longest=10), lambda e: e.answer(b"x" * 10))
    assert answer == b"x" * 10
    endless = asyncio.ensure_future(client.get("/x", longest=2**20))
    exchange = await server.next()
    await exchange.send(b"x" * 2**20, b"y")
    with pytest.raises(errors.TooLarge):
        async with asyncio.timeout(DEADLINE):
            await endless


async def test_a_name_is_escaped_to_one_path_segment(server: Server, client: Client) -> None:
    for name in ("lnamespace:a:editor", "a/b", "a?b=c", "a%2Fb", "a b#c", "ü"):
        path = CLUSTER_ROLE.path(name)
        exchange, _ = await dialogue(server, client.get(path), good)
        assert exchange.path.count("/") == path.count("/")
        assert exchange.query == {}


async def test_the_path_of_the_server_url_prefixes_every_request(server: Server) -> None:
    async with client_of(f"{server.url}/k8s/clusters/c-1/") as client:
        exchange, _ = await dialogue(server, client.get(NAMESPACE.path()), good)
    assert exchange.path == "/k8s/clusters/c-1/api/v1/namespaces"


async def test_writes_name_the_field_manager(server: Server, client: Client) -> None:
    exchange, _ = await dialogue(server, client.create("/api/v1/namespaces", b"{}"), good)
    assert (exchange.method, exchange.query) == ("POST", {"fieldManager": "lnamespace"})
    assert exchange.headers["Content-Type"] == "application/json"
    exchange, _ = await dialogue(server, client.patch("/api/v1/namespaces/a", b"{}"), good)
    assert (exchange.method, exchange.query) == ("PATCH", {"fieldManager": "lnamespace"})
    assert exchange.headers["Content-Type"] == "application/merge-patch+json"


async def test_a_json_patch_is_sent_as_its_operations(server: Server, client: Client) -> None:
    operations = [{"op": "test", "path": "/metadata/uid", "value": "u-1"}]
    exchange, _ = await dialogue(
        server, client.patch_json("/api/v1/namespaces/a", operations), good
    )
    assert (exchange.method, exchange.query) == ("PATCH", {"fieldManager": "lnamespace"})
    assert exchange.headers["Content-Type"] == "application/json-patch+json"
    assert exchange.json == operations


async def test_a_json_patch_whose_test_fails_is_a_conflict(server: Server, client: Client) -> None:
    asked = client.patch_json("/api/v1/namespaces/a", [{"op": "test", "path": "/x", "value": 1}])
    with pytest.raises(errors.Conflict):
        await dialogue(server, asked, lambda e: e.refuse(422, "Invalid"))


async def test_a_json_patch_with_a_value_that_is_not_allowed_is_invalid(
    server: Server, client: Client
) -> None:
    cause = {"reason": "FieldValueInvalid", "field": "metadata.labels"}
    asked = client.patch_json("/api/v1/namespaces/a", [{"op": "add", "path": "/x", "value": 1}])
    with pytest.raises(errors.Invalid):
        await dialogue(server, asked, lambda e: e.refuse(422, "Invalid", name="a", causes=[cause]))


async def test_a_delete_has_the_observed_uid_and_resource_version_as_preconditions(
    server: Server, client: Client
) -> None:
    exchange, _ = await dialogue(server, client.delete("/api/v1/namespaces/a", "u-1", 7), good)
    assert exchange.method == "DELETE"
    assert exchange.json == {"preconditions": {"uid": "u-1", "resourceVersion": "7"}}


async def test_a_renewed_token_is_sent_with_the_next_request(server: Server) -> None:
    tokens = iter(["one", "two"])

    async def renew(configuration: Any) -> None:
        configuration.api_key["BearerToken"] = f"Bearer {next(tokens)}"

    async with client_of(server.url, refresh_api_key_hook=renew) as client:
        for token in ("one", "two"):
            exchange, _ = await dialogue(server, client.get("/x"), good)
            assert exchange.headers["Authorization"] == f"Bearer {token}"


# Errors

ANOTHER_UID = failure(
    422, "Invalid", name="a", causes=[{"reason": "FieldValueInvalid", "field": "metadata.uid"}]
)
TERMINATING = failure(403, "Forbidden", causes=[{"reason": "NamespaceTerminating", "message": "x"}])


@pytest.mark.parametrize(
    ("status", "body", "expected", "retryable"),
    [
        (400, failure(400, "BadRequest"), errors.Invalid, False),
        (401, failure(401, "Unauthorized"), errors.Unauthenticated, True),
        (403, failure(403, "Forbidden"), errors.Forbidden, True),
        (403, TERMINATING, errors.Terminating, True),
        (409, TERMINATING, errors.Terminating, True),
        (404, failure(404, "NotFound"), errors.NotFound, False),
        (405, failure(405, "MethodNotAllowed"), errors.Invalid, False),
        (409, failure(409, "Conflict"), errors.Conflict, True),
        (409, failure(409, "AlreadyExists"), errors.AlreadyExists, True),
        (410, failure(410, "Expired"), errors.Expired, True),
        (410, failure(410, "Gone"), errors.Expired, True),
        (413, failure(413, "RequestEntityTooLarge"), errors.Invalid, False),
        (415, failure(415, "UnsupportedMediaType"), errors.Invalid, False),
        (422, failure(422, "Invalid"), errors.Invalid, False),
        (422, ANOTHER_UID, errors.Conflict, True),
        (429, failure(429, "TooManyRequests"), errors.Throttled, True),
        (500, failure(500, "InternalError"), errors.ServerFault, True),
        (502, failure(502), errors.ServerFault, True),
        (503, failure(503, "ServiceUnavailable"), errors.ServerFault, True),
        (504, failure(504, "Timeout"), errors.ServerFault, True),
    ],
)
def test_every_status_code_maps_to_its_error_type(
    status: int, body: Any, expected: type[errors.ClusterError], retryable: bool
) -> None:
    error = error_of(status, json.dumps(body).encode())
    assert type(error) is expected
    assert error.retryable is retryable
    assert error.status == status
    assert str(error) == "refused"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"404 page not found\n",
        b"<html>Bad gateway</html>",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"message": 7}',
        b'{"message": null}',
        b'{"details": "none"}',
        b'{"details": {"causes": null}}',
        b"x" * 10**6,
    ],
)
def test_an_error_body_that_is_not_a_status_still_gives_a_typed_error(body: bytes) -> None:
    assert type(error_of(404, body)) is errors.NotFound
    assert type(error_of(502, body)) is errors.ServerFault
    error = error_of(503, body)
    assert 0 < len(str(error)) <= 200


def test_the_retry_after_seconds_of_a_status_are_kept() -> None:
    body = json.dumps(failure(429, "TooManyRequests", retryAfterSeconds=3)).encode()
    assert error_of(429, body).retry_after == 3
    assert error_of(429, b"").retry_after == 0


async def test_retry_after_is_read_from_the_header_of_a_plain_text_error(
    server: Server, client: Client
) -> None:
    """As that of priority and fairness is, whose answer is plain text."""

    def refuse(exchange: Exchange) -> None:
        exchange.answer(b"Too many requests, please try again later.", 429, {"Retry-After": "7"})

    with pytest.raises(errors.Throttled, match="Too many requests") as error:
        await dialogue(server, client.get("/x"), refuse)
    assert error.value.retry_after == 7


async def test_an_error_response_raises_its_typed_error(server: Server, client: Client) -> None:
    with pytest.raises(errors.AlreadyExists, match="refused") as error:
        await dialogue(server, client.create("/x", b"{}"), lambda e: e.refuse(409, "AlreadyExists"))
    assert error.value.status == 409


async def test_a_connection_closed_without_a_response_raises_unreachable(
    server: Server, client: Client
) -> None:
    with pytest.raises(errors.Unreachable) as error:
        await dialogue(server, client.patch("/x", b"{}"), Exchange.cut)
    assert error.value.retryable
    assert error.value.status == 0


async def test_a_refused_connection_raises_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        async with client_of(f"http://127.0.0.1:{taken.getsockname()[1]}") as client:
            with pytest.raises(errors.Unreachable, match="GET /x"):
                await client.get("/x")


# Watches


async def watched(server: Server, client: Client, *pieces: bytes) -> list[bytes]:
    """Return the lines that come of pieces."""

    async def play() -> None:
        exchange = await server.next("GET", watch="true", allowWatchBookmarks="true")
        await exchange.send(*pieces)
        await exchange.end()

    playing = asyncio.create_task(play())
    async with asyncio.timeout(DEADLINE), client.watch("/x") as lines:
        got = [line async for line in lines]
    await playing
    return got


async def test_watch_lines_are_reassembled_from_chunks_split_anywhere(
    server: Server, client: Client
) -> None:
    text = '{"a":"ü€"}\n{"b":2}\n'.encode()
    for cut in range(1, len(text)):
        got = await watched(server, client, text[:cut], text[cut:])
        assert got == text.splitlines()
    one_by_one = [text[i : i + 1] for i in range(len(text))]
    assert await watched(server, client, *one_by_one) == text.splitlines()


async def test_empty_watch_lines_are_skipped(server: Server, client: Client) -> None:
    assert await watched(server, client, b"\n\n1\n\n", b"\n", b"2\n") == [b"1", b"2"]


async def test_a_watch_line_may_be_several_megabytes_long(server: Server, client: Client) -> None:
    long = b"x" * (3 * 2**20)
    assert await watched(server, client, b"1\n" + long, long + b"\n2\n") == [b"1", long * 2, b"2"]


async def test_an_unterminated_last_watch_line_is_dropped(server: Server, client: Client) -> None:
    assert await watched(server, client, b'1\n{"a":') == [b"1"]


async def test_an_interrupted_watch_yields_its_lines_and_raises_unreachable(
    server: Server, client: Client
) -> None:
    got: list[bytes] = []

    async def play() -> None:
        exchange = await server.next()
        await exchange.send(b'1\n{"a":')
        while not got:  # noqa: ASYNC110 - until the client has read it
            await asyncio.sleep(0.001)
        exchange.cut()

    playing = asyncio.create_task(play())
    with pytest.raises(errors.Unreachable, match="watch interrupted"):  # noqa: PT012
        async with asyncio.timeout(DEADLINE), client.watch("/x") as lines:
            async for line in lines:
                got.append(line)  # noqa: PERF401 - what came before the cut counts
    await playing
    assert got == [b"1"]


async def test_a_silent_watch_times_out_and_raises_unreachable(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server says something about every minute: who says nothing is cut off."""
    silence = aiohttp.ClientTimeout(sock_connect=DEADLINE, sock_read=0.2)
    monkeypatch.setattr("lnamespace.kube.client._WATCH_TIMEOUT", silence)
    with pytest.raises(errors.Unreachable, match="watch interrupted"):
        async with asyncio.timeout(DEADLINE), client.watch("/x") as lines:
            await anext(lines)
    await server.next()


async def test_a_refused_watch_is_an_error_at_once(server: Server, client: Client) -> None:
    async def play() -> None:
        (await server.next()).refuse(410, "Expired")

    playing = asyncio.create_task(play())
    with pytest.raises(errors.Expired):
        async with client.watch("/x"):
            pass
    await playing


# Connecting


def kubeconfig(folder: Path, url: str) -> Path:
    """Return a kubeconfig with two users."""
    path = folder / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "first",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": n, "user": {"token": f"token-{n}"}} for n in ("first", "second")],
        "contexts": [
            {"name": n, "context": {"cluster": "c", "user": n}} for n in ("first", "second")
        ],
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize(("context", "user"), [("", "first"), ("second", "second")])
async def test_the_kubeconfig_context_selects_the_server_and_the_user(
    server: Server, tmp_path: Path, context: str, user: str
) -> None:
    path = kubeconfig(tmp_path, server.url)
    before = path.read_bytes()
    async with connect(Access(str(path), context)) as client:
        exchange, _ = await dialogue(server, client.get("/x"), good)
        assert exchange.headers["Authorization"] == f"Bearer token-{user}"
    assert path.read_bytes() == before, "somebody's kubeconfig is not ours to write"


async def test_an_unusable_kubeconfig_is_a_settings_error(tmp_path: Path) -> None:
    with pytest.raises(errors.SettingsError, match="no usable cluster configuration"):
        async with connect(Access(str(tmp_path / "none"))):
            pass
    broken = tmp_path / "broken"
    broken.write_text("{}")
    with pytest.raises(errors.SettingsError, match="no usable cluster configuration"):
        async with connect(Access(str(broken))):
            pass
    unknown = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(errors.SettingsError, match="no usable cluster configuration"):
        async with connect(Access(str(unknown), "nobody")):
            pass


@pytest.mark.parametrize(
    "content", [b"", b"root:x:0", b"- a", b"a: [b", b"\x00\xff", b"contexts: 1"]
)
async def test_a_file_that_is_no_kubeconfig_is_a_settings_error(
    content: bytes, tmp_path: Path
) -> None:
    """The library ended with TypeError, so that the commands showed a stack trace."""
    file = tmp_path / "kubeconfig"
    file.write_bytes(content)
    with pytest.raises(errors.SettingsError, match="no usable cluster configuration"):
        async with connect(Access(kubeconfig=str(file))):
            pass
