"""Whatever bytes come as an answer, they are a value or one of our errors."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from lnamespace import errors
from lnamespace.admission.accounts import decode_counted
from lnamespace.controller.profiles import Profiles
from lnamespace.controller.resource import read_lnamespace
from lnamespace.kube.answers import LONGEST_ADVICE, error_of
from lnamespace.kube.client import Client
from lnamespace.kube.lease import LeaderElector, LeaseConfig
from lnamespace.kube.pages import list_objects
from lnamespace.kube.resources import NAMESPACE
from lnamespace.kube.state import ManagedMetadata, read_observed
from lnamespace.ledger.outbox.client import decode_queued
from lnamespace.ledger.publisher.deletion_recorder import decode_watched
from lnamespace.model.names import Names

from tests.unit.support.server import DEADLINE, Server, client_of, failure, serving

GARBAGE = (
    b"",
    b"<html>Sign in, please</html>",
    b"null",
    b"[]",
    b"{}",
    b'{"metadata":7}',
    b'{"metadata":{"name":"a","uid":"u","resourceVersion":"soon"},"spec":{}}',
    b'{"metadata":{"name":"\xff"}}',
    b'{"metadata":' + b"[" * 100_000,
)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@pytest_asyncio.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with client_of(server.url) as client:
        yield client


def read_object(raw: bytes) -> object:
    return read_observed(raw, ManagedMetadata("lnamespace"))


@pytest.mark.parametrize(
    "reader", [read_object, read_lnamespace, decode_queued, decode_watched, decode_counted]
)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_malformed_object_raises_a_retryable_error(
    reader: Callable[[bytes], object], garbage: bytes
) -> None:
    with pytest.raises(errors.Unreadable) as error:
        reader(garbage)
    assert error.value.retryable


@pytest.mark.parametrize("advice", ["86400", "9" * 5000])
def test_retry_after_is_limited_to_half_a_minute(advice: str) -> None:
    """A maintenance page asked for a day, and a revocation waited for it."""
    assert error_of(503, b"", advice).retry_after == LONGEST_ADVICE
    body = json.dumps(failure(503, retryAfterSeconds=86_400)).encode()
    assert error_of(503, body).retry_after == LONGEST_ADVICE


@pytest.mark.parametrize("advice", ["", "-5", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "1.5"])
def test_an_invalid_retry_after_is_ignored(advice: str) -> None:
    assert error_of(503, b"", advice).retry_after == 0
    assert error_of(503, json.dumps(failure(503, retryAfterSeconds=-5)).encode()).retry_after == 0


async def test_a_response_that_cannot_be_decompressed_raises_unreachable(
    server: Server, client: Client
) -> None:
    for packed in (b"no gzip", zlib.compress(b"{}")[:-3]):
        asked = asyncio.ensure_future(client.get("/x"))
        (await server.next()).answer(packed, 200, {"Content-Encoding": "gzip"})
        with pytest.raises(errors.Unreachable):
            await asked


async def test_a_malformed_list_raises_unreadable(server: Server, client: Client) -> None:
    async def collect() -> list[Any]:
        return [item async for item in list_objects(client, NAMESPACE)]

    asked = asyncio.ensure_future(collect())
    (await server.next()).answer(b"<html>Sign in, please</html>")
    with pytest.raises(errors.Unreadable):
        await asked


@pytest.mark.parametrize("garbage", [some for some in GARBAGE if b"resourceVersion" not in some])
async def test_malformed_responses_do_not_end_leadership(
    server: Server, client: Client, garbage: bytes
) -> None:
    """One web page of a load balancer in place of the Lease ended the process that led."""
    lease = {"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "a"}}
    election = LeaderElector(client, LeaseConfig("system", "controller", "a", retry_period=0.001))
    winning = asyncio.ensure_future(election.acquire())
    for _ in range(2):
        (await server.next()).answer(lease)
    async with asyncio.timeout(DEADLINE):
        await winning
    keeping = asyncio.ensure_future(election.renew())
    (await server.next("GET")).answer(garbage)
    (await server.next("GET")).answer(lease)
    (await server.next("PATCH")).answer(garbage)
    (await server.next("GET")).answer(lease)
    assert not keeping.done()
    keeping.cancel()


async def test_a_malformed_response_to_a_profile_write_is_reported_as_a_problem(
    server: Server, client: Client, tmp_path: Any
) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text('default: {resourceQuota: {hard: {pods: "1"}}}\n')
    profiles = Profiles(client, str(file), Names("example.com"), 60)
    asked = asyncio.ensure_future(profiles.refresh())
    (await server.next("POST")).answer(b"<html>Sign in, please</html>")
    async with asyncio.timeout(DEADLINE):
        await asked
    assert "cannot be read" in profiles.problem


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("etcdserver: request is too large", errors.NoRoom),
        ("Internal error occurred: etcdserver: request is too large", errors.NoRoom),
        (
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3",
            errors.NoRoom,
        ),
        ("etcdserver: leader changed", errors.ServerFault),
        (
            'failed calling webhook "a.b.c": etcdserver: request is too large',
            errors.ServerFault,
        ),
    ],
)
def test_only_the_words_of_etcd_say_that_an_object_has_no_room(
    said: str, kind: type[errors.ClusterError]
) -> None:
    assert type(error_of(500, json.dumps({"message": said}).encode())) is kind
