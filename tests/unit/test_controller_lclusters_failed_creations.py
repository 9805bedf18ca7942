"""The controller learns what could not be created for want of a share."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lnamespace.access.quota_refusals import REQUEST_COMPONENT, ShareRefusal
from lnamespace.controller.lclusters import failed_creations
from lnamespace.controller.lclusters.cache import LClusterKey
from lnamespace.controller.lclusters.failed_creations import FailedCreations
from lnamespace.controller.lclusters.share_quotas import CONTROLLER_SECONDS, REQUEST_SECONDS
from lnamespace.kube.client import _WATCH_TIMEOUT

from tests.unit.support.server import client_of, serving

COUNTS = "requested: pods=1, used: pods=3, limited: pods=3"
MESSAGE = f'pods "p" is forbidden: exceeded quota: lcluster, {COUNTS}'
ACME = SimpleNamespace(name="acme", spec=SimpleNamespace(quota={"pods": "9"}))


class Demands:
    """The part of the cache that is asked: one LCluster with totals, and what is noted of it."""

    def __init__(self) -> None:
        self.totals = asyncio.Event()
        self.totals.set()
        self.demanded = asyncio.Event()
        self.noted: list[tuple[LClusterKey, str, ShareRefusal, float]] = []

    def get(self, name: str) -> Any:
        return ACME if name == "acme" else None

    def of_our_class(self, cached: Any) -> Any:
        return cached

    def note_demand(self, *noted: Any) -> None:
        self.noted.append(cast(Any, noted))
        self.demanded.set()


def event(version: int, namespace: str = "acme-a", kind: str = "ADDED", **parts: Any) -> Any:
    metadata = {"name": "e", "namespace": namespace, "resourceVersion": str(version)}
    return {"type": kind, "object": {"metadata": metadata, "message": MESSAGE} | parts}


async def test_a_watch_resumes_at_the_end_of_the_previous_watch() -> None:
    """Kubernetes' controllers repeat an event that falls between two watches only minutes later."""
    demands = Demands()
    async with serving() as server, client_of(server.url) as client:
        task = asyncio.create_task(FailedCreations(client, cast(Any, demands)).run())
        listed = await server.next("GET", limit="1", watch=None)
        listed.answer({"metadata": {"resourceVersion": "5"}, "items": []})
        watch = await server.next("GET", watch="true", resourceVersion="5")
        await watch.send(
            event(6),
            event(7, source={"component": REQUEST_COMPONENT}),
            event(8, "acme-a", message=5),
            event(9, "other"),
            event(10, message=f"exceeded quota: lcluster, requested: pods={'9' * 99}"),
            event(11, kind="BOOKMARK"),
        )
        await watch.end()
        # One that is too old ends by an ERROR; then it is listed again.
        watch = await server.next("GET", watch="true", resourceVersion="11")
        await watch.send({"type": "ERROR", "object": {"code": 410, "message": "too old"}})
        await watch.end()
        listed = await server.next("GET", limit="1", watch=None)
        listed.answer({"metadata": {"resourceVersion": "20"}, "items": []})
        await server.next("GET", watch="true", resourceVersion="20")
        task.cancel()
    key, refusal = LClusterKey("acme"), ShareRefusal({"pods": 1}, {"pods": 3})
    assert demands.noted == [
        (key, "acme-a", refusal, CONTROLLER_SECONDS),
        (key, "acme-a", refusal, REQUEST_SECONDS),
    ]


async def test_a_watch_ends_in_good_order_before_the_client_gives_up_a_silent_one() -> None:
    """On a quiet cluster each watch was interrupted after 90 s, and counted as a failure."""
    async with serving() as server, client_of(server.url) as client:
        task = asyncio.create_task(FailedCreations(client, cast(Any, Demands())).run())
        listed = await server.next("GET", limit="1", watch=None)
        listed.answer({"metadata": {"resourceVersion": "5"}, "items": []})
        watch = await server.next("GET", watch="true")
        task.cancel()
    assert _WATCH_TIMEOUT.sock_read
    assert int(watch.query["timeoutSeconds"]) + 10 < _WATCH_TIMEOUT.sock_read


@pytest.mark.parametrize(
    ("present", "begin"),
    [
        pytest.param("9", "6", id="where it was interrupted"),
        pytest.param("4", "4", id="where the cluster is after a restore from a backup"),
    ],
)
async def test_an_interrupted_watch_misses_nothing(
    monkeypatch: pytest.MonkeyPatch, present: str, begin: str
) -> None:
    monkeypatch.setattr(failed_creations, "_PAUSE", 0.0)
    failures: list[str] = []
    demands = Demands()
    async with serving() as server, client_of(server.url) as client:
        watcher = FailedCreations(client, cast(Any, demands), failures.append)
        task = asyncio.create_task(watcher.run())
        listed = await server.next("GET", limit="1", watch=None)
        listed.answer({"metadata": {"resourceVersion": "5"}, "items": []})
        watch = await server.next("GET", watch="true", resourceVersion="5")
        await watch.send(event(6))
        async with asyncio.timeout(5):
            await demands.demanded.wait()
        watch.cut()
        listed = await server.next("GET", limit="1", watch=None)
        listed.answer({"metadata": {"resourceVersion": present}, "items": []})
        await server.next("GET", watch="true", resourceVersion=begin)
        task.cancel()
    assert failures == ["events"]


async def test_there_is_activity_while_there_are_totals() -> None:
    demands = Demands()
    demands.totals.clear()
    async with serving() as server, client_of(server.url) as client:
        watcher = FailedCreations(client, cast(Any, demands))
        task = asyncio.create_task(watcher.run())
        await asyncio.sleep(0)
        assert watcher.activity is None
        demands.totals.set()
        await server.next("GET", limit="1", watch=None)
        assert watcher.activity
        task.cancel()
