"""Callers of the endpoint `mine` who impersonate others, as with `kubectl sudo`."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lnamespace.gateway.authentication.logins import Login
from lnamespace.gateway.destinations import Destination
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.gateway.lists.sealing import TokenSealer
from lnamespace.gateway.mine import handler
from lnamespace.gateway.mine.callers import CallerAuthenticator, MineCaller
from lnamespace.gateway.mine.calls import Platform
from lnamespace.gateway.mine.handler import MineHandler
from lnamespace.gateway.mine.lists import MineLister
from lnamespace.gateway.mine.watches import MineWatcher
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.gateway.watches.watch_requests import WatchRequest
from lnamespace.http.messages import HttpRequest
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.model.subject import Subject, SubjectKind

from tests.unit.support.mine import Answered, Client, MineApi, World, asked, table
from tests.unit.support.server import DEADLINE

BEARER = ("authorization", "Bearer t")
SUDO = (BEARER, ("impersonate-user", "ann"), ("impersonate-group", "c-sudoers"))
SUDOERS = Subject(SubjectKind.GROUP, "c-sudoers")
WATCH = "/api/v1/namespaces?watch=1&resourceVersion=1000"


class SudoApi(MineApi):
    """An API server that lets ann use sudo until a test says no."""

    def __init__(self) -> None:
        super().__init__()
        self.status = 201
        self.reviews = 0
        self.reviewing = asyncio.Event()
        self.reviewing.set()

    async def review_self(self, credentials: Any) -> UpstreamResponse:
        """Name the impersonated user."""
        self.reviews += 1
        await self.reviewing.wait()
        groups = [value for name, value in credentials if name == "impersonate-group"]
        user = {"username": "ann", "groups": groups}
        return Answered(self.status, {"status": {"userInfo": user}})


class Sudo:
    """The endpoint, with one LNamespace ``c`` that ann reaches by sudo."""

    def __init__(self) -> None:
        self.api, self.world, self.cut = SudoApi(), World(), asyncio.Event()
        self.world.bind("c", 20, SUDOERS, name="lnamespace-sudoers")
        upstream = cast(Any, self.api)

        async def login(*_: Any) -> Login:
            return Login("ann", ("system:authenticated",))

        tenants = SimpleNamespace(get=lambda _: None)
        self.handler = MineHandler(
            CallerAuthenticator(
                cast(Any, SimpleNamespace(login=login)), cast(Any, tenants), upstream
            ),
            Platform(upstream, upstream),
            cast(Any, SimpleNamespace(table=table())),
            self.world.rights,
            MineLister(TokenSealer([b"k" * 32])),
            MineWatcher(ResumeLog()),
            InFlight(100, "you have"),
        )

    def serve(
        self, target: str, headers: Sequence[tuple[str, str]] = SUDO
    ) -> tuple["asyncio.Task[None]", Client]:
        """Serve a request."""
        client = Client(target)
        client.request = HttpRequest("GET", target, tuple(headers))
        transport = SimpleNamespace(abort=self.cut.set)
        exchange = cast(Any, client)
        exchange.connection = SimpleNamespace(certificate=b"", owner="", transport=transport)
        exchange.verb = ""
        task = asyncio.create_task(self.handler.serve(exchange, Destination("", target)))
        return task, client


async def test_requests_with_different_impersonated_groups_count_to_one_caller() -> None:
    """A sudoer of eight LNamespaces had 256 times the limits, one for each set of groups."""
    sudo, tasks, owners = Sudo(), [], set()
    for number in range(3):
        headers = (*SUDO, ("impersonate-group", f"other-{number}"))
        task, client = sudo.serve(WATCH, headers)
        tasks.append(task)
        async with asyncio.timeout(DEADLINE):
            await client.began.wait()
        owners.add(cast(Any, client).connection.owner)
    assert len(owners) == 1
    assert list(Counter(sudo.handler.watcher.counts.running).values()) == [3]
    for task in tasks:
        task.cancel()


async def test_a_caller_has_at_most_16_impersonation_reviews_at_a_time() -> None:
    sudo = Sudo()
    sudo.api.reviewing.clear()
    tasks = [sudo.serve(WATCH)[0] for _ in range(40)]
    await asyncio.sleep(0.02)
    assert sudo.api.reviews == 16
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_watch_is_cut_when_its_caller_loses_the_right_to_impersonate(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """The RoleBinding names the group, so it is kept while another sudoer is left."""
    monkeypatch.setattr(handler, "_CONFIRM_SECONDS", 0.01)
    sudo = Sudo()
    task, client = sudo.serve(WATCH)
    async with asyncio.timeout(DEADLINE):
        await client.began.wait()
        while sudo.api.reviews < 3:  # noqa: ASYNC110 - as time goes by
            await asyncio.sleep(0.01)
        assert not sudo.cut.is_set()
        sudo.api.status = status
        await sudo.cut.wait()
    task.cancel()


async def test_a_watch_continues_while_the_impersonation_review_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handler, "_CONFIRM_SECONDS", 0.001)
    sudo = Sudo()
    for headers in (SUDO, (BEARER,)):
        task, client = sudo.serve(WATCH, headers)
        async with asyncio.timeout(DEADLINE):
            await client.began.wait()
        sudo.api.status, before = 503, sudo.api.reviews
        await asyncio.sleep(0.05)
        assert not sudo.cut.is_set()
        assert (sudo.api.reviews > before) == (headers is SUDO)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_the_owner_key_of_a_caller_is_short_and_depends_on_user_and_groups() -> None:
    """Each remembered watch and list stores this key."""
    groups = frozenset(Subject(SubjectKind.GROUP, f"group-{number}") for number in range(200))
    callers = [MineCaller("ann", groups), MineCaller("ann", frozenset()), MineCaller("ben", groups)]
    keys = {each.owner for each in callers}
    assert len(keys) == 3
    assert max(map(len, keys)) < 50


def test_the_key_of_a_watch_is_short_and_depends_on_the_selector() -> None:
    targets = [f"{WATCH}&labelSelector={value * 50_000}" for value in "ab"]
    keys = {
        WatchRequest.from_request(request, "ann").key
        for each in targets
        if (request := asked(each))
    }
    assert len(keys) == 2
    assert max(map(len, keys)) < 50
