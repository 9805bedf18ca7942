"""Stored objects are written anew, whatever happens meanwhile, and nothing is said too early."""

import asyncio
import json
from argparse import Namespace
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lnamespace.commands import migration
from lnamespace.errors import SettingsError
from lnamespace.settings import Settings

from tests.unit.support.server import Exchange, Server, serving

LNAMESPACES = "/apis/tenancy.loblaw.digital/v1beta1/lnamespaces"
DEFINITION = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lnamespaces.tenancy.loblaw.digital"
)


def definition(storage: str = "v1beta1", version: str = "7") -> dict[str, Any]:
    versions = [{"name": name, "storage": name == storage} for name in ("v1beta1", "v1alpha1")]
    return {
        "metadata": {"name": "lnamespaces.tenancy.loblaw.digital", "resourceVersion": version},
        "spec": {"versions": versions},
        "status": {"storedVersions": ["v1alpha1", "v1beta1"]},
    }


def page(*names: str, continue_: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": "9"} | ({"continue": continue_} if continue_ else {})
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    return {"metadata": metadata, "items": items}


class Play:
    """The command at work, and the server that it asks."""

    def __init__(self, server: Server, kubeconfig: Path) -> None:
        self.server = server
        self._settings = Settings(kubeconfig=str(kubeconfig))

    def start(self, *, dry_run: bool = False) -> "asyncio.Future[int]":
        arguments = Namespace(dry_run=dry_run)
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(None, migration.run, self._settings, arguments)

    async def next(self, method: str, path: str, **query: str) -> Exchange:
        exchange = await self.server.next(method, **query)
        assert exchange.path == path
        return exchange

    async def begin(self, *names: str) -> None:
        (await self.next("GET", DEFINITION)).answer(definition())
        (await self.next("GET", LNAMESPACES, limit="50")).answer(page(*names))

    async def written(self, *names: str) -> None:
        exchanges = [await self.server.next("PATCH") for _ in names]
        assert {exchange.path for exchange in exchanges} == {f"{LNAMESPACES}/{n}" for n in names}
        for exchange in exchanges:
            assert exchange.json == {}
            exchange.answer({})

    async def settled(self, version: str = "7") -> Exchange:
        (await self.next("GET", DEFINITION)).answer(definition(version=version))
        patch = await self.next("PATCH", f"{DEFINITION}/status")
        assert patch.json == {
            "metadata": {"resourceVersion": version},
            "status": {"storedVersions": ["v1beta1"]},
        }
        return patch

    async def nothing_more(self) -> None:
        assert self.server.arrived.empty()


@pytest_asyncio.fixture
async def play(tmp_path: Path) -> AsyncIterator[Play]:
    async with serving() as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        yield Play(server, kubeconfig)


async def test_each_lnamespace_is_written_before_the_stored_versions_are_updated(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    running = play.start()
    (await play.next("GET", DEFINITION)).answer(definition())
    (await play.next("GET", LNAMESPACES)).answer(page("a", "b", continue_="more"))
    await play.written("a", "b")
    (await play.next("GET", LNAMESPACES, **{"continue": "more"})).answer(page("c"))
    await play.written("c")
    (await play.settled()).answer({})
    assert await running == 0
    assert "3 LNamespaces written anew" in capsys.readouterr().out


async def test_a_dry_run_writes_nothing(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    running = play.start(dry_run=True)
    await play.begin("a", "b")
    assert await running == 0
    await play.nothing_more()
    assert "2 LNamespaces would be written anew" in capsys.readouterr().out


async def test_retryable_errors_are_retried(play: Play) -> None:
    running = play.start()
    await play.begin("a")
    for status in (409, 500, 429):
        (await play.next("PATCH", f"{LNAMESPACES}/a")).refuse(status)
    await play.written("a")
    (await play.settled("7")).refuse(409, "Conflict")
    (await play.settled("8")).answer({})
    assert await running == 0


async def test_an_lnamespace_deleted_meanwhile_is_skipped(play: Play) -> None:
    running = play.start()
    await play.begin("a")
    (await play.next("PATCH", f"{LNAMESPACES}/a")).refuse(404, "NotFound")
    (await play.settled()).answer({})
    assert await running == 0


async def test_an_expired_list_is_restarted(play: Play) -> None:
    running = play.start()
    (await play.next("GET", DEFINITION)).answer(definition())
    (await play.next("GET", LNAMESPACES)).answer(page("a", continue_="more"))
    await play.written("a")
    (await play.next("GET", LNAMESPACES, **{"continue": "more"})).refuse(410, "Expired")
    again = await play.next("GET", LNAMESPACES)
    assert "continue" not in again.query
    again.answer(page("a", "b"))
    await play.written("a", "b")
    (await play.settled()).answer({})
    assert await running == 0


async def test_a_failed_write_is_reported_and_the_stored_versions_are_not_updated(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    running = play.start()
    await play.begin("a")
    (await play.next("PATCH", f"{LNAMESPACES}/a")).refuse(422, "Invalid", message="spec is wrong")
    assert await running == 1
    await play.nothing_more()
    text = capsys.readouterr().err
    assert "a: spec is wrong" in text
    assert "run this again" in text


async def test_a_cluster_that_stores_another_version_is_left_alone(play: Play) -> None:
    running = play.start()
    (await play.next("GET", DEFINITION)).answer(definition("v1alpha1"))
    with pytest.raises(SettingsError, match="upgrade the chart first"):
        await running
    await play.nothing_more()
