"""Plans are carried out, the answers remembered, and a failure stops nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest_asyncio
from lnamespace.errors import AlreadyExists, ClusterError, Conflict, Forbidden
from lnamespace.kube.apply import Applier
from lnamespace.kube.objects import MANAGED_BY
from lnamespace.kube.plan import Action, Create, Delete, Patch, Recreate, plan_actions
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import DesiredObject, ObservedObject
from lnamespace.kube.store import Store

from tests.unit.support import objects as make
from tests.unit.support.objects import BOB, MARKS, seen, served
from tests.unit.support.server import DEADLINE, Server, client_of, serving

KINDS = (NAMESPACE, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE_BINDING)


@dataclass
class Work:
    """An applier, its stores, and the server that it asks."""

    server: Server
    applier: Applier
    stores: dict[Resource, Store[ObservedObject]]
    news: list[ObservedObject | None]

    @asynccontextmanager
    async def doing(self, actions: Iterable[Action]) -> AsyncIterator["asyncio.Task[Any]"]:
        """Carry out actions while the block plays the server."""
        task = asyncio.create_task(self.applier.apply(actions))
        try:
            yield task
            await asyncio.wait_for(task, DEADLINE)
        finally:
            task.cancel()

    def known(self, want: DesiredObject) -> ObservedObject | None:
        return self.stores[want.resource].get(want.key)


@asynccontextmanager
async def working(concurrency: int = 8) -> AsyncIterator[Work]:
    news: list[ObservedObject | None] = []
    async with serving() as server, client_of(server.url) as client:
        stores = {kind: Store[ObservedObject](lambda _, new: news.append(new)) for kind in KINDS}
        yield Work(server, Applier(client, stores, MARKS, concurrency), stores, news)


@pytest_asyncio.fixture
async def work() -> AsyncIterator[Work]:
    async with working() as work:
        yield work


def result(task: "asyncio.Task[Any]") -> list[type[ClusterError]]:
    return [type(error) for error in task.result()]


async def test_a_created_object_is_cached_before_its_watch_event_arrives(work: Work) -> None:
    want = make.binding(namespace="a")
    async with work.doing([Create(want)]) as task:
        exchange = await work.server.next("POST")
        assert exchange.path.endswith("/namespaces/a/rolebindings")
        assert exchange.json == json.loads(json.dumps(want.object.manifest()))
        exchange.answer(served(want, version=7), 201)
    assert result(task) == []
    assert (known := work.known(want))
    assert known.version == 7
    assert plan_actions([want], lambda kind, key: work.stores[kind].get(key)) == ()
    assert work.news == [], "our own write is no news"


async def test_a_changed_object_is_patched_with_its_uid(work: Work) -> None:
    is_now, want = make.binding(subjects=(BOB,)), make.binding()
    async with work.doing([Patch(want, seen(served(is_now, uid="u-9")))]) as task:
        exchange = await work.server.next("PATCH")
        assert exchange.path.endswith("/clusterrolebindings/b")
        assert exchange.json["metadata"]["uid"] == "u-9"
        assert [subject["name"] for subject in exchange.json["subjects"]] == ["alice"]
        exchange.answer(served(want, version=8))
    assert result(task) == []
    assert (known := work.known(want))
    assert known.fingerprint == want.fingerprint


async def test_a_patch_of_an_object_deleted_meanwhile_is_a_conflict(work: Work) -> None:
    want = make.role()
    async with work.doing([Patch(want, seen(served(want)))]) as task:
        (await work.server.next("PATCH")).refuse(404, "NotFound")
    assert result(task) == [Conflict]


async def test_a_delete_has_the_observed_uid_and_resource_version_as_preconditions(
    work: Work,
) -> None:
    gone = make.role()
    async with work.doing([Delete(CLUSTER_ROLE, seen(served(gone, 5, "u-5")))]) as task:
        exchange = await work.server.next("DELETE")
        assert exchange.json == {"preconditions": {"uid": "u-5", "resourceVersion": "5"}}
        exchange.refuse(409, "Conflict")
    assert result(task) == [Conflict]


async def test_the_finalizers_of_a_grant_are_removed_before_its_deletion(work: Work) -> None:
    gone = make.role()
    held = seen(served(gone, 5, "u-5", finalizers=["theirs/x"]))
    async with work.doing([Delete(CLUSTER_ROLE, held)]) as task:
        release = await work.server.next("PATCH")
        assert release.json == {"metadata": {"uid": "u-5", "finalizers": None}}
        release.answer(served(gone, 6, "u-5"))
        deletion = await work.server.next("DELETE")
        assert deletion.json["preconditions"]["resourceVersion"] == "6"
        deletion.answer({})
    assert result(task) == []


async def test_a_delete_of_a_missing_object_succeeds(work: Work) -> None:
    async with work.doing([Delete(CLUSTER_ROLE, seen(served(make.role())))]) as task:
        (await work.server.next("DELETE")).refuse(404, "NotFound")
    assert result(task) == []


async def test_a_binding_to_another_role_is_deleted_then_created(work: Work) -> None:
    want = make.binding(ref="admin")
    async with work.doing([Recreate(want, seen(served(make.binding(ref="view"))))]) as task:
        (await work.server.next("DELETE")).answer({})
        (await work.server.next("POST")).answer(served(want, 9), 201)
    assert result(task) == []
    assert (known := work.known(want))
    assert known.role_ref == want.object.role_ref


async def test_a_binding_that_cannot_be_deleted_is_not_created(work: Work) -> None:
    want = make.binding(ref="admin")
    async with work.doing([Recreate(want, seen(served(make.binding(ref="view"))))]) as task:
        (await work.server.next("DELETE")).refuse(403, "Forbidden")
    assert result(task) == [Forbidden]


async def test_deletes_run_after_all_other_actions(work: Work) -> None:
    one, other = make.role("one"), make.role("other")
    gone = Delete(CLUSTER_ROLE, seen(served(make.role("gone"))))
    async with work.doing([gone, Create(one), Create(other)]) as task:
        creations = [await work.server.next("POST"), await work.server.next("POST")]
        assert work.server.arrived.empty()
        creations[0].refuse(403, "Forbidden")
        creations[1].answer(served(other), 201)
        (await work.server.next("DELETE")).answer({})
    assert result(task) == [Forbidden]
    assert work.known(other)


async def test_a_failure_stops_no_other_action(work: Work) -> None:
    wants = [make.role(name) for name in "abc"]
    async with work.doing(map(Create, wants)) as task:
        for _ in wants:
            exchange = await work.server.next("POST")
            name = exchange.json["metadata"]["name"]
            if name == "b":
                exchange.cut()
            else:
                exchange.answer(served(make.role(name)), 201)
    (error,) = task.result()
    assert error.retryable
    assert [bool(work.known(want)) for want in wants] == [True, False, True]


async def test_requests_in_flight_are_limited_to_the_configured_concurrency() -> None:
    async with working(concurrency=2) as work:
        wants = [make.role(name) for name in "abcde"]
        async with work.doing(map(Create, wants)) as task:
            under_way = [await work.server.next("POST"), await work.server.next("POST")]
            for answered in range(1, len(wants) + 1):
                assert work.server.arrived.empty()
                exchange = under_way.pop(0)
                exchange.answer(served(make.role(exchange.json["metadata"]["name"])), 201)
                if answered + len(under_way) < len(wants):
                    under_way.append(await work.server.next("POST"))
        assert result(task) == []


async def test_an_object_missing_from_the_cache_is_fetched_and_then_patched(work: Work) -> None:
    """Its label was taken away, so that no list or watch of ours shows it."""
    want = make.binding()
    stripped = served(make.binding(subjects=(BOB,)), version=4)
    del stripped["metadata"]["labels"][MANAGED_BY]
    # The watch has gone on since.
    work.stores[CLUSTER_ROLE_BINDING].replace([], 10)
    async with work.doing([Create(want)]) as task:
        (await work.server.next("POST")).refuse(409, "AlreadyExists")
        look = await work.server.next("GET")
        assert look.path.endswith("/clusterrolebindings/b")
        look.answer(stripped)
    assert result(task) == [AlreadyExists]
    (again,) = plan_actions([want], lambda kind, key: work.stores[kind].get(key))
    assert isinstance(again, Patch)
    async with work.doing([again]) as task:
        exchange = await work.server.next("PATCH")
        assert exchange.json["metadata"]["labels"][MANAGED_BY] == MARKS.manager
        exchange.answer(served(want, version=11))
    assert result(task) == []
    assert plan_actions([want], lambda kind, key: work.stores[kind].get(key)) == ()


async def test_an_object_deleted_while_it_is_fetched_is_created_the_next_time(work: Work) -> None:
    want = make.binding()
    async with work.doing([Create(want)]) as task:
        (await work.server.next("POST")).refuse(409, "AlreadyExists")
        look = await work.server.next("GET")
        work.stores[CLUSTER_ROLE_BINDING].remove(want.key, 5)
        look.answer(served(want, version=4))
    assert result(task) == [AlreadyExists]
    (again,) = plan_actions([want], lambda kind, key: work.stores[kind].get(key))
    assert isinstance(again, Create)


async def test_a_create_response_after_the_delete_event_does_not_restore_the_object(
    work: Work,
) -> None:
    want = make.role()
    store = work.stores[CLUSTER_ROLE]
    async with work.doing([Create(want)]) as task:
        exchange = await work.server.next("POST")
        store.apply_event(seen(served(want, version=11)))
        store.remove(want.key, 12)
        exchange.answer(served(want, version=11), 201)
    assert result(task) == []
    assert work.known(want) is None
