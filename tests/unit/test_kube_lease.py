"""One of several leads: who, since when, and from when on nobody may write.

Times are short and only ever waited for; what must not happen too early is compared by the clock.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from lnamespace.errors import LostLease, Unreachable
from lnamespace.kube.client import Client
from lnamespace.kube.lease import LeaderElector, LeaseConfig

from tests.unit.support.cluster import Cluster, cluster
from tests.unit.support.server import DEADLINE, Server, client_of, serving

PATH = "/apis/coordination.k8s.io/v1/namespaces/system/leases/controller"
LEASES = PATH.rpartition("/")[0]


def terms(identity: str, **times: float) -> LeaseConfig:
    short = {"duration": 4, "margin": 2, "retry_period": 0.01} | times
    return LeaseConfig("system", "controller", identity, **short)


def now() -> float:
    return asyncio.get_running_loop().time()


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            if happened():
                return
            await asyncio.sleep(0.002)


async def within(waited: Awaitable[Any]) -> Any:
    async with asyncio.timeout(DEADLINE):
        return await waited


@asynccontextmanager
async def background(work: Any) -> AsyncIterator["asyncio.Task[Any]"]:
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest_asyncio.fixture
async def made() -> AsyncIterator[Cluster]:
    async with cluster() as made:
        yield made


@pytest_asyncio.fixture
async def client(made: Cluster) -> AsyncIterator[Client]:
    async with client_of(made.url) as client:
        yield client


def held(made: Cluster) -> Any:
    return made.objects[PATH]["spec"]


def theirs(made: Cluster, **spec: Any) -> None:
    """Somebody else holds it, or renews it."""
    known = {"holderIdentity": "b", "renewTime": "2026-01-01T00:00:00.000000Z"}
    made.make(PATH, {"metadata": {"name": "controller"}, "spec": known | spec})


async def test_the_first_candidate_becomes_leader_and_records_it_in_the_lease(
    made: Cluster, client: Client
) -> None:
    election = LeaderElector(client, terms("a", duration=15))
    assert not election.leads
    await within(election.acquire())
    assert election.leads
    assert 10 < election.check() <= 15
    spec = held(made)
    assert spec["holderIdentity"] == "a"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 1
    assert spec["renewTime"] == spec["acquireTime"]
    assert spec["renewTime"].endswith("Z")


async def test_only_one_of_two_candidates_leads(made: Cluster, client: Client) -> None:
    one, two = (LeaderElector(client, terms(name, duration=60)) for name in "ab")
    async with background(one.acquire()), background(two.acquire()):
        await until(lambda: one.leads or two.leads)
        asked = len(made.requests)
        await until(lambda: len(made.requests) >= asked + 6)
        assert one.leads != two.leads


async def test_a_renewed_lease_is_never_taken_over(made: Cluster, client: Client) -> None:
    """Whatever its times say: clocks are not compared."""
    theirs(made)
    election = LeaderElector(client, terms("a", duration=0.1, margin=0.05))
    started, renewals = now(), 0
    async with background(election.acquire()):
        while now() < started + 0.4:
            renewals += 1
            theirs(made, renewTime=f"2001-01-01T00:00:00.{renewals:06}Z")
            asked = len(made.requests)
            await until(lambda asked=asked: len(made.requests) > asked)  # type: ignore[misc]
        assert held(made)["holderIdentity"] == "b"
    assert not election.leads


async def test_an_unrenewed_lease_is_taken_over_after_its_duration(
    made: Cluster, client: Client
) -> None:
    theirs(made, leaseTransitions=4)
    election = LeaderElector(client, terms("a", duration=0.3))
    started = now()
    await within(election.acquire())
    assert now() - started > 0.3
    assert held(made)["holderIdentity"] == "a"
    assert held(made)["leaseTransitions"] == 5


async def test_the_lease_duration_written_by_the_holder_applies(
    made: Cluster, client: Client
) -> None:
    """By an older version, or another setting."""
    theirs(made, leaseDurationSeconds=1)
    election = LeaderElector(client, terms("a", duration=0.1, margin=0.05))
    started = now()
    await within(election.acquire())
    assert now() - started > 1


async def test_a_candidate_measures_the_lease_duration_from_the_end_of_its_read() -> None:
    """While the question was on its way, the holder may have renewed it."""
    lease = {"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": "b"}}
    async with serving() as server, client_of(server.url) as client:
        election = LeaderElector(client, terms("a", duration=0.4, margin=0.3))
        async with background(election.acquire()):
            first = await server.next("GET")
            asked = now()
            await until(lambda: now() > asked + 0.2)
            first.answer(lease)
            answered = now()
            while (exchange := await server.next()).method == "GET":
                exchange.answer(lease)
            assert now() - answered > 0.4


@pytest.mark.parametrize("holder", ["", None, "a"])
async def test_an_unheld_or_own_lease_is_acquired_immediately(
    made: Cluster, client: Client, holder: str | None
) -> None:
    theirs(made, holderIdentity=holder, leaseDurationSeconds=60)
    await within(LeaderElector(client, terms("a", duration=60)).acquire())
    assert held(made)["holderIdentity"] == "a"


async def test_a_renewal_does_not_count_as_a_lease_transition(
    made: Cluster, client: Client
) -> None:
    election = LeaderElector(client, terms("a"))
    await within(election.acquire())
    first = dict(held(made))
    async with background(election.renew()):
        await until(lambda: held(made)["renewTime"] != first["renewTime"])
    assert held(made)["acquireTime"] == first["acquireTime"]
    assert held(made)["leaseTransitions"] == first["leaseTransitions"]
    assert election.leads


async def test_a_leader_that_cannot_renew_stops_a_margin_before_the_lease_expires(
    made: Cluster, client: Client
) -> None:
    election = LeaderElector(client, terms("a", duration=2, margin=1))
    await within(election.acquire())
    ends = now() + election.check()
    made.refusals["PATCH", PATH] = 503
    with pytest.raises(LostLease):
        await within(election.renew())
    assert not election.leads
    assert now() < ends
    with pytest.raises(LostLease):
        election.check()


async def test_a_leader_measures_its_lease_from_when_the_write_was_sent() -> None:
    """Its answer may have been long on the way; the others count from what they see."""
    async with serving() as server, client_of(server.url) as slow:
        election = LeaderElector(slow, terms("a", duration=10, margin=5))
        async with background(election.acquire()) as winning:
            (await server.next("GET")).refuse(404, "NotFound")
            exchange = await server.next("POST")
            started = now()
            await until(lambda: now() > started + 0.05)
            exchange.answer({"metadata": {"resourceVersion": "1"}, "spec": {}})
            await within(winning)
            assert election.check() < 10 - (now() - started)


async def test_a_leader_that_finds_another_holder_stops_writing(
    made: Cluster, client: Client
) -> None:
    election = LeaderElector(client, terms("a", duration=60, margin=1))
    await within(election.acquire())
    theirs(made)
    with pytest.raises(LostLease):
        await within(election.renew())
    assert held(made)["holderIdentity"] == "b"


async def test_a_candidate_whose_patch_conflicts_does_not_lead() -> None:
    async with serving() as server, client_of(server.url) as client:
        election = LeaderElector(client, terms("a"))
        async with background(election.acquire()):
            (await server.next("GET")).answer({"metadata": {"resourceVersion": "7"}, "spec": {}})
            patch = await server.next("PATCH")
            assert patch.json["metadata"] == {"resourceVersion": "7"}
            patch.refuse(409, "Conflict")
            await server.next("GET")
            assert not election.leads


async def test_a_candidate_whose_create_conflicts_does_not_lead() -> None:
    async with serving() as server, client_of(server.url) as client:
        election = LeaderElector(client, terms("a"))
        async with background(election.acquire()):
            (await server.next("GET")).refuse(404, "NotFound")
            create = await server.next("POST")
            assert create.path == LEASES
            create.refuse(409, "AlreadyExists")
            await server.next("GET")
            assert not election.leads


async def test_an_unanswered_lease_request_times_out() -> None:
    async with serving() as server, client_of(server.url) as client:
        election = LeaderElector(client, terms("a", duration=0.2, margin=0.05))
        async with background(election.acquire()):
            await server.next("GET")
            await server.next("GET")
            assert not election.leads


# The end


async def test_a_released_lease_is_acquired_immediately_by_the_next_candidate(
    made: Cluster, client: Client
) -> None:
    one = LeaderElector(client, terms("a", duration=60))
    two = LeaderElector(client, terms("b", duration=60))
    await within(one.acquire())
    async with background(two.acquire()) as winning:
        await within(one.release())
        assert not one.leads
        await within(winning)
    assert held(made)["holderIdentity"] == "b"


async def test_a_non_leader_releases_nothing(made: Cluster, client: Client) -> None:
    theirs(made)
    await within(LeaderElector(client, terms("a")).release())
    assert made.requests == []


async def test_a_candidate_that_stops_waiting_leaves_the_lease_to_its_holder(
    made: Cluster, client: Client
) -> None:
    theirs(made)
    election = LeaderElector(client, terms("a", duration=60))
    async with background(election.acquire()):
        await until(lambda: len(made.requests) > 1)
    await within(election.release())
    assert held(made)["holderIdentity"] == "b"


async def test_a_failed_release_still_ends_leadership(made: Cluster, client: Client) -> None:
    election = LeaderElector(client, terms("a", duration=60))
    await within(election.acquire())
    made.refusals["PATCH", PATH] = 500
    await within(election.release())
    assert not election.leads


async def won(server: Server, client: Client) -> LeaderElector:
    """Return a leader by a Lease that was not there before."""
    election = LeaderElector(client, terms("a", duration=60))
    async with background(election.acquire()) as winning:
        (await server.next("GET")).refuse(404, "NotFound")
        (await server.next("POST")).answer({"metadata": {"resourceVersion": "1"}})
        await within(winning)
    return election


async def test_a_release_is_retried_after_a_conflict_with_its_own_renewal() -> None:
    """The renewal was carried out, and its answer never read: the version has changed."""
    async with serving() as server, client_of(server.url) as client:
        election = await won(server, client)
        async with background(election.release()) as ending:
            (await server.next("PATCH")).refuse(409, "Conflict")
            ours = {"metadata": {"resourceVersion": "2"}, "spec": {"holderIdentity": "a"}}
            (await server.next("GET")).answer(ours)
            patch = await server.next("PATCH")
            assert patch.json["metadata"] == {"resourceVersion": "2"}
            assert patch.json["spec"]["holderIdentity"] == ""
            patch.answer(ours)
            await within(ending)


async def test_a_release_does_not_change_a_lease_that_another_candidate_holds() -> None:
    async with serving() as server, client_of(server.url) as client:
        election = await won(server, client)
        async with background(election.release()) as ending:
            (await server.next("PATCH")).refuse(409, "Conflict")
            theirs = {"metadata": {"resourceVersion": "2"}, "spec": {"holderIdentity": "b"}}
            (await server.next("GET")).answer(theirs)
            await within(ending)
        assert server.arrived.empty()


# What it is for


async def test_a_fenced_client_of_a_non_leader_sends_no_write(
    made: Cluster, client: Client
) -> None:
    election = LeaderElector(client, terms("a", duration=60))
    fenced = client.fenced(election.check)
    theirs(made)
    made.requests.clear()
    body = json.dumps({"metadata": {"name": "x"}}).encode()
    for write in (fenced.create("/api/v1/namespaces", body), fenced.patch(PATH, body)):
        with pytest.raises(LostLease):
            await within(write)
    with pytest.raises(LostLease):
        await within(fenced.delete(PATH, "uid-1", 1))
    assert made.requests == []
    assert await within(fenced.get(PATH)), "reading is nobody's privilege"


async def test_a_fenced_client_of_the_leader_and_an_unfenced_client_both_write(
    made: Cluster, client: Client
) -> None:
    election = LeaderElector(client, terms("a", duration=60))
    await within(election.acquire())
    body = json.dumps({"metadata": {"name": "x"}}).encode()
    await within(client.fenced(election.check).create("/api/v1/namespaces", body))
    await within(client.create("/api/v1/nodes", body))
    assert {"/api/v1/namespaces/x", "/api/v1/nodes/x"} <= set(made.objects)


async def test_a_fenced_write_times_out_before_the_lease_expires() -> None:
    async with serving() as server, client_of(server.url) as client:
        fenced = client.fenced(lambda: 0.5)
        async with background(fenced.create("/api/v1/namespaces", b"{}")) as writing:
            await server.next("POST")
            with pytest.raises(Unreachable):
                await within(writing)


async def test_a_fenced_write_checks_the_lease_again_after_connecting(
    made: Cluster, client: Client
) -> None:
    """The right to write was lost between its first check and the first byte."""
    answers = iter([60.0])

    def once() -> float:
        for seconds in answers:
            return seconds
        raise LostLease("not the leader any more")

    with pytest.raises(LostLease):
        await within(client.fenced(once).create("/api/v1/namespaces", b"{}"))
    assert made.requests == []
