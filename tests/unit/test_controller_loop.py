"""The whole loop beside a small API server: what failed comes again, and what ends by time does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from lnamespace.access.conventions import Conventions, SudoLayout, conventions_of
from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.controller import controller, queue
from lnamespace.controller.controller import Controller
from lnamespace.errors import LostLease
from lnamespace.kube.backoff import Backoff
from lnamespace.model.names import Names
from lnamespace.settings import Settings

from tests.unit.support.cluster import Cluster
from tests.unit.support.desk import BINDINGS as CLUSTER_BINDINGS
from tests.unit.support.desk import EDITOR, LAYOUT, LNS, SELF, SPACE, USERS
from tests.unit.support.server import DEADLINE, client_of, failure, listening

SPACES = SPACE.rpartition("/")[0]


class Served(Cluster):
    """One that can be listed and watched too; nothing happens in a watch, but it may be cut."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = asyncio.Event()
        self.held = ""
        """Of which kind the list is held back, until ``listed``."""
        self.waiting = asyncio.Event()
        """Somebody waits for that list."""
        self.selectors: dict[str, str] = {}
        """By which labels each kind was listed."""
        self.expired = ""
        """Of which kind no watch knows its place any more."""
        self._outage = asyncio.Event()
        self.slow = ("", "")
        """Which request is not carried out before ``hurry``."""
        self.hurry = asyncio.Event()
        self.refused: dict[tuple[str, str], list[int]] = {}
        """With which statuses a request is refused, one after the other."""

    def cut(self) -> None:
        """Cut all watches; new ones are let in."""
        self._outage.set()
        self._outage = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(request)
        if "limit" in request.query:
            return await self._list(request.path, request.query.get("labelSelector", ""))
        if statuses := self.refused.get((request.method, request.path)):
            self.requests.append((request.method, request.path))
            code = statuses.pop(0)
            return web.json_response(failure(code), status=code)
        if (request.method, request.path) == self.slow and not self.hurry.is_set():
            self.requests.append(self.slow)
            await self.hurry.wait()
        return await super().handle(request)

    def lnamespace(self, deleted: str = "", **spec: Any) -> None:
        """There is one from the start; or still is, for somebody's finalizer holds it."""
        meta: dict[str, Any] = {"name": "team-a", "uid": "uid-a", "generation": 1}
        if deleted:
            meta |= {"deletionTimestamp": deleted, "finalizers": ["example.com/held"]}
        self.make(LNS, {"metadata": meta, "spec": spec})

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [request for request in self.requests if request[0] != "GET"]

    def is_ready(self) -> bool:
        """Return whether the LNamespace says so."""
        conditions = self.objects[LNS].get("status", {}).get("conditions", ())
        return any((c["type"], c["status"]) == ("Ready", "True") for c in conditions)

    def all_are_looked_at(self) -> bool:
        """Return whether every LNamespace says how it is."""
        kind = LNS.rpartition("/")[0]
        made = (item for path, item in self.objects.items() if path.rpartition("/")[0] == kind)
        return all(item.get("status", {}).get("conditions") for item in made)

    def users(self) -> list[str]:
        """Return who is bound as a user."""
        return [subject["name"] for subject in self.objects[USERS].get("subjects", ())]

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if request.path == self.expired:
            return web.json_response(failure(410), status=410)
        outage, response = self._outage, web.StreamResponse()
        await response.prepare(request)
        await outage.wait()
        assert request.transport
        request.transport.abort()
        return response

    async def _list(self, path: str, selector: str) -> web.Response:
        if path == self.held:
            self.waiting.set()
            await self.listed.wait()
        self.requests.append(("GET", path))
        self.selectors[path] = selector
        items = [item for at, item in self.objects.items() if at.rpartition("/")[0] == path]
        meta = {"resourceVersion": str(self.version)}
        return web.Response(body=json.dumps({"metadata": meta, "items": items}).encode())


@dataclass
class Loop:
    """A controller that runs beside its cluster."""

    cluster: Served

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until it is so."""
        async with asyncio.timeout(DEADLINE):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.005)

    @asynccontextmanager
    async def running(self, **settings: Any) -> AsyncIterator[Controller]:
        """Run the controller for as long as the block lasts."""
        async with client_of(self.cluster.url) as client:
            running = Controller(client, Settings(**settings))
            work = asyncio.create_task(running.run())
            try:
                yield running
                assert not work.done()
            finally:
                work.cancel()
                await asyncio.wait([work])


@pytest.fixture
async def loop() -> AsyncIterator[Loop]:
    served = Served()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", served.handle)
    async with listening(app) as served.url:
        yield Loop(served)


BINDINGS = USERS.rpartition("/")[0]
LCLUSTERS = f"{LNS.rpartition('/lnamespaces/')[0]}/lclusters"


@pytest.mark.parametrize("code", [401, 403, 409, 410, 429, 500, 503])
async def test_a_failed_write_is_retried_soon(loop: Loop, code: int) -> None:
    loop.cluster.lnamespace(users=[{"name": "alice"}])
    loop.cluster.refused[("POST", BINDINGS)] = [code] * 3
    async with loop.running():
        await loop.until(lambda: USERS in loop.cluster.objects)
        assert loop.cluster.users() == ["alice"]


async def test_the_end_of_an_outage_retries_failed_keys_at_once(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage of a minute a key waited up to a minute more, after a 403 up to five."""
    monkeypatch.setattr(queue, "Backoff", partial(Backoff, first=3600.0))
    loop.cluster.lnamespace(users=[{"name": "alice"}])
    async with loop.running():
        await loop.until(loop.cluster.is_ready)
    # Only its two bindings are left to do, so that no news of another brings the key back.
    del loop.cluster.objects[USERS]
    loop.cluster.refused[("POST", BINDINGS)] = [403, 403]
    async with loop.running():
        await loop.until(lambda: not loop.cluster.refused[("POST", BINDINGS)])
        loop.cluster.cut()
        await loop.until(lambda: USERS in loop.cluster.objects)


async def test_a_permanent_failure_is_retried_too(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "SLOW_RETRY", 0.05)
    loop.cluster.lnamespace(users=[{"name": "alice"}])
    loop.cluster.refused[("POST", BINDINGS)] = [422] * 3
    async with loop.running():
        await loop.until(lambda: USERS in loop.cluster.objects)


async def test_a_resync_does_not_fill_the_queue(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revocation waited behind all LNamespaces, because those with access are all urgent."""
    waiting = list[int]()

    def add(self: queue.WorkQueue[Any], key: Any) -> None:
        ordinary(self, key)
        waiting.append(len(self))

    for number in range(40):
        meta = {"name": f"team-{number}", "uid": f"uid-{number}", "generation": 1}
        path = f"{LNS.rpartition('/')[0]}/team-{number}"
        loop.cluster.make(path, {"metadata": meta, "spec": {}})
    async with loop.running(resync_seconds=1, workers=2):
        await loop.until(loop.cluster.all_are_looked_at)
        asked = -1
        while asked != len(loop.cluster.writes):
            asked = len(loop.cluster.writes)
            await asyncio.sleep(0.2)
        ordinary = queue.WorkQueue.add
        monkeypatch.setattr(queue.WorkQueue, "add", add)
        await loop.until(lambda: len(waiting) >= 40)
    assert max(waiting) < 20  # A machine that stands still for a moment has some come at once.


async def test_an_entry_expires_without_any_other_event(loop: Loop) -> None:
    end = datetime.now(UTC) + timedelta(seconds=1)
    brief = {"name": "brief", "expiresAt": end.isoformat()}
    loop.cluster.lnamespace(users=[{"name": "alice"}, brief])
    async with loop.running():
        await loop.until(lambda: USERS in loop.cluster.objects)
        await loop.until(lambda: loop.cluster.users() == ["alice"])
        assert datetime.now(UTC) >= end


async def test_rights_are_revoked_when_the_deletion_begins(loop: Loop) -> None:
    loop.cluster.lnamespace(deleted="2026-03-01T00:00:00Z", managers=[{"name": "alice"}])
    editor = f"{CLUSTER_BINDINGS}/{EDITOR}"
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": EDITOR}
    loop.cluster.make(editor, {"metadata": {"name": EDITOR}, "roleRef": ref, "subjects": []})
    async with loop.running():
        await loop.until(lambda: editor not in loop.cluster.objects)


async def test_no_write_happens_before_all_caches_are_synced(loop: Loop) -> None:
    """An object that is not listed yet would look as if it were missing."""
    loop.cluster.lnamespace(users=[{"name": "alice"}])
    loop.cluster.held = SPACES
    async with loop.running():
        await loop.until(lambda: len(loop.cluster.requests) >= 5)
        assert loop.cluster.writes == []
        loop.cluster.listed.set()
        await loop.until(lambda: USERS in loop.cluster.objects)


async def test_no_write_happens_while_a_cache_may_be_out_of_date(loop: Loop) -> None:
    """An entry expires during a relist: the controller reads the list before it acts."""
    end = datetime.now(UTC) + timedelta(seconds=3)  # On a busy machine it must not end before.
    brief = {"name": "brief", "expiresAt": end.isoformat()}
    loop.cluster.lnamespace(users=[{"name": "alice"}, brief])
    async with loop.running():
        await loop.until(loop.cluster.is_ready)
        loop.cluster.held = loop.cluster.expired = LNS.rpartition("/")[0]
        loop.cluster.cut()
        await loop.until(loop.cluster.waiting.is_set)
        edited = loop.cluster.objects[LNS]
        loop.cluster.make(LNS, edited | {"spec": {"users": [{"name": "bob"}]}})
        written = len(loop.cluster.writes)
        await loop.until(lambda: datetime.now(UTC) > end + timedelta(seconds=0.2))
        assert len(loop.cluster.writes) == written
        loop.cluster.expired = ""
        loop.cluster.listed.set()
        await loop.until(lambda: loop.cluster.users() == ["bob"])


async def test_a_sudoer_can_use_sudo_when_the_lnamespace_is_ready(loop: Loop) -> None:
    loop.cluster.lnamespace(sudoers=[{"name": "alice"}])
    async with loop.running():
        await loop.until(loop.cluster.is_ready)
    assert f"{CLUSTER_BINDINGS}/{SELF}" in loop.cluster.objects


async def test_a_reserved_name_is_reported_by_an_event(loop: Loop) -> None:
    loop.cluster.lnamespace()
    async with loop.running(reserved_names="team-*"):
        await loop.until(lambda: any("/events/" in path for path in loop.cluster.objects))
    (event,) = (o for path, o in loop.cluster.objects.items() if "/events/" in path)
    assert (event["reason"], event["involvedObject"]["kind"]) == ("ReservedName", "LNamespace")
    assert SPACE not in loop.cluster.objects


async def test_all_namespaces_but_only_managed_rbac_objects_are_watched(loop: Loop) -> None:
    async with loop.running():
        await loop.until(lambda: len(loop.cluster.selectors) == 6)
    by = {path: selector for path, selector in loop.cluster.selectors.items() if "rbac" in path}
    assert set(by.values()) == {LAYOUT.managed_metadata.selector}
    others = loop.cluster.selectors.keys() - by.keys()
    assert {loop.cluster.selectors[path] for path in others} == {""}
    assert SPACES in others


async def test_the_controller_exposes_probes_and_metrics(loop: Loop) -> None:
    loop.cluster.lnamespace()
    async with loop.running() as running:
        await loop.until(loop.cluster.is_ready)
        done = b'reconciles_total{kind="LNamespace",result="Done"}'
        await loop.until(lambda: done in running.probes.metrics())
        text = running.probes.metrics().decode()
        assert (running.probes.unready(), running.probes.dead()) == (None, None)
    assert 'api_requests_total{code="200",resource="namespaces",verb="create"} 1.0' in text
    assert "lnamespace_controller_leader 1.0" in text


async def test_the_watch_of_events_is_measured_while_any_lcluster_has_totals(loop: Loop) -> None:
    acme = {"metadata": {"name": "acme", "uid": "uid-l", "generation": 1}}
    watched = b'watch_silence_seconds{resource="events"}'
    async with loop.running(lclusters="yes") as running:
        await loop.until(lambda: b'resource="lclusters"' in running.probes.metrics())
        assert watched not in running.probes.metrics()
    loop.cluster.make(f"{LCLUSTERS}/acme", {**acme, "spec": {"quota": {"pods": "9"}}})
    async with loop.running(lclusters="yes") as running:
        await loop.until(lambda: watched in running.probes.metrics())


LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/controller"


async def test_a_controller_acquires_the_lease_before_writing_and_releases_it(
    loop: Loop,
) -> None:
    loop.cluster.lnamespace()
    async with loop.running(lease="system/controller"):
        await loop.until(loop.cluster.is_ready)
        assert loop.cluster.writes[0] == ("POST", LEASE.rpartition("/")[0])
    assert loop.cluster.objects[LEASE]["spec"]["holderIdentity"] == ""


async def test_a_standby_queues_no_keys_and_reconciles_all_when_it_leads(loop: Loop) -> None:
    """The queue kept a key of every LNamespace that was deleted while another led."""
    another = {"holderIdentity": "another", "leaseDurationSeconds": 3600}
    loop.cluster.make(LEASE, {"metadata": {"name": "controller"}, "spec": another})
    loop.cluster.lnamespace()
    async with loop.running(lease="system/controller") as standby:
        await loop.until(lambda: ("GET", LEASE) in loop.cluster.requests)
        await loop.until(lambda: b"lnamespaces{" in standby.probes.metrics())
        assert b"lnamespace_controller_queue_depth 0.0" in standby.probes.metrics()
        assert loop.cluster.writes == []
        loop.cluster.make(LEASE, {"metadata": {"name": "controller"}, "spec": {}})
        await loop.until(loop.cluster.is_ready)


async def test_the_lease_is_kept_until_the_last_write_has_ended(loop: Loop) -> None:
    """A cancelled write may still be carried out after another process has become the leader."""
    loop.cluster.lnamespace()
    slow = loop.cluster.slow = ("POST", SPACES)
    async with client_of(loop.cluster.url) as client:
        work = asyncio.create_task(Controller(client, Settings(lease="system/controller")).run())
        await loop.until(lambda: slow in loop.cluster.requests)
        work.cancel()
        await asyncio.wait([work], timeout=0.05)
        assert not work.done()
        assert loop.cluster.objects[LEASE]["spec"]["holderIdentity"]
        loop.cluster.hurry.set()
        await asyncio.wait([work])
    assert SPACE in loop.cluster.objects
    assert loop.cluster.requests[-1] == ("PATCH", LEASE)
    assert loop.cluster.objects[LEASE]["spec"]["holderIdentity"] == ""


async def test_a_new_leader_first_reconciles_changes_made_during_the_failover(loop: Loop) -> None:
    """After a failover an edit waited behind all other keys."""
    kind = LNS.rpartition("/")[0]
    another = {"holderIdentity": "another", "leaseDurationSeconds": 3600}
    loop.cluster.make(LEASE, {"metadata": {"name": "controller"}, "spec": another})
    for number in range(8):
        meta = {"name": f"team-{number}", "uid": f"uid-{number}", "generation": 1}
        loop.cluster.make(f"{kind}/team-{number}", {"metadata": meta, "spec": {}})
    async with loop.running(lease="system/controller", workers=2) as standby:
        await loop.until(lambda: ("GET", LEASE) in loop.cluster.requests)
        edited = loop.cluster.objects[f"{kind}/team-7"]
        edited["spec"] = {"users": [{"name": "alice"}]}
        edited["metadata"]["generation"] = 2
        loop.cluster.make(f"{kind}/team-7", edited)
        loop.cluster.expired = kind
        loop.cluster.cut()
        await loop.until(lambda: loop.cluster.requests.count(("GET", kind)) > 1)
        loop.cluster.expired = ""
        await loop.until(lambda: standby.probes.unready() is None)
        loop.cluster.make(LEASE, {"metadata": {"name": "controller"}, "spec": {}})
        await loop.until(lambda: ("POST", SPACES) in loop.cluster.requests)
        made = [path for path in loop.cluster.objects if path.startswith(f"{SPACES}/")]
        assert made[0] == f"{SPACES}/team-7"


async def test_a_new_leader_revokes_before_the_lists_for_the_limit_are_complete(
    loop: Loop,
) -> None:
    """With 10,000 LNamespaces these lists took nine seconds, and edits had to wait."""
    kind = LNS.rpartition("/")[0]
    another = {"holderIdentity": "another", "leaseDurationSeconds": 3600}
    loop.cluster.make(LEASE, {"metadata": {"name": "controller"}, "spec": another})
    meta = {"name": "team-a", "uid": "uid-a", "generation": 1}
    there = {"metadata": meta, "spec": {}, "status": {"namespaceUID": "uid-space"}}
    loop.cluster.make(LNS, there)
    new = {"metadata": {"name": "team-b", "uid": "uid-b", "generation": 1}, "spec": {}}
    loop.cluster.make(f"{kind}/team-b", new)
    limits = {"lease": "system/controller", "limit_per_requester": 5, "workers": 2}
    async with loop.running(**limits) as standby:
        await loop.until(lambda: standby.probes.unready() is None)
        loop.cluster.held = kind
        loop.cluster.make(LEASE, {"metadata": {"name": "controller"}, "spec": {}})
        await loop.cluster.waiting.wait()
        await loop.until(lambda: SPACE in loop.cluster.objects)
        assert f"{SPACES}/team-b" not in loop.cluster.objects
        loop.cluster.listed.set()
        await loop.until(lambda: f"{SPACES}/team-b" in loop.cluster.objects)


async def test_a_controller_that_lost_its_lease_ends(loop: Loop) -> None:
    loop.cluster.lnamespace()
    async with client_of(loop.cluster.url) as client:
        work = asyncio.create_task(Controller(client, Settings(lease="system/controller")).run())
        await loop.until(loop.cluster.is_ready)
        taken = {"metadata": {"name": "controller"}, "spec": {"holderIdentity": "another"}}
        loop.cluster.make(LEASE, taken)
        with pytest.raises(LostLease, match="another process may lead"):
            await asyncio.wait_for(work, DEADLINE)
    assert loop.cluster.objects[LEASE]["spec"]["holderIdentity"] == "another"


def test_the_conventions_are_read_from_the_settings() -> None:
    settings = Settings(
        api_group_suffix="example.com",
        sudoers_group_format="su-{name}",
        class_name="gold",
        users_role="edit",
        sudo_layout="serviceaccount",
        limit_per_requester=2,
        limit_exceptions='{"bot": 5}',
        required_labels="cost,team",
        forbidden_labels="pod-security.kubernetes.io/",
        lcluster_namespaces=7,
        lcluster_definitions=0,
        lcluster_admission=5,
        lcluster_cluster_role_bindings=0,
    )
    assert conventions_of(settings) == Conventions(
        Names("example.com", "su-{name}", "gold"),
        "edit",
        sudo=SudoLayout.SERVICE_ACCOUNT,
        counted=True,
        required_labels=("cost", "team"),
        forbidden_labels=("pod-security.kubernetes.io/",),
        content_limits=ContentLimits(namespaces=7, admission=5),
    )
