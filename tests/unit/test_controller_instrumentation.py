"""What is measured of the controller's work, and when it is to be taken for dead."""

import dataclasses
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from lnamespace.access.conventions import Conventions
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.controller.cache import Cache, LNamespaceKey
from lnamespace.controller.instrumentation import Instrumentation
from lnamespace.controller.liveness import SILENCE, STUCK_WATCH, STUCK_WORKER, Liveness, WatchHealth
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.resource import CachedLNamespace, read_lnamespace
from lnamespace.kube.reflector import WatchActivity
from lnamespace.kube.resources import resource_of

from tests.unit.support.desk import LNS, USERS, Desk, working
from tests.unit.support.strategies import NOW

SOMETHING: Any = [object()]


@dataclasses.dataclass
class Watched:
    """An instrumentation with a clock of its own."""

    now: float = 0.0
    instrumentation: Instrumentation = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.instrumentation = Instrumentation(clock=lambda: self.now)
        self.instrumentation.active = True

    def value(self, name: str, **labels: str) -> float:
        found = self.instrumentation.metrics.registry.get_sample_value(name, labels)
        return 0.0 if found is None else found

    def waits(self, name: str) -> tuple[float, float]:
        """Return how many have waited, and how long all of them together."""
        name = f"lnamespace_controller_{name}_seconds"
        return self.value(f"{name}_count"), self.value(f"{name}_sum")


def listed(
    users: tuple[str, ...] = ("una",),
    *,
    ready: bool = False,
    terminating: bool = False,
    uid: str = "u",
) -> CachedLNamespace:
    condition = {
        "type": "Ready", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    }  # fmt: skip
    made: dict[str, Any] = {
        "metadata": {"name": "team-a", "uid": uid, "resourceVersion": "1", "generation": 1},
        "spec": {"users": [{"name": name} for name in users]},
        "status": {"observedGeneration": 1, "conditions": [condition]} if ready else {},
    }
    if terminating:
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return read_lnamespace(msgspec.json.encode(made))


def test_the_time_from_creation_to_ready_is_measured_once() -> None:
    watched = Watched(now=10)
    new = listed()
    watched.instrumentation.record_change(None, new)
    watched.now = 12
    watched.instrumentation.record_change(new, new)
    watched.now = 13
    watched.instrumentation.ready(new.lns)
    watched.instrumentation.ready(new.lns)
    assert watched.waits("create_to_ready") == (1, 3)


def test_a_refused_lnamespace_is_not_measured() -> None:
    watched, new = Watched(), listed()
    watched.instrumentation.record_change(None, new)
    watched.instrumentation.refused(new.lns)
    watched.instrumentation.ready(new.lns)
    assert watched.waits("create_to_ready") == (0, 0)


@pytest.mark.parametrize("news", [(None, listed(ready=True)), (listed(), listed())])
def test_an_lnamespace_that_is_not_new_is_not_measured_as_created(
    news: tuple[CachedLNamespace | None, CachedLNamespace],
) -> None:
    watched = Watched()
    watched.instrumentation.record_change(*news)
    watched.instrumentation.ready(news[1].lns)
    assert watched.waits("create_to_ready") == (0, 0)


@pytest.mark.parametrize(
    ("old", "new", "takes"),
    [
        (listed(("una", "ben")), listed(("una",)), True),
        (listed(("una",)), listed(("ben",)), True),
        (listed(("una",)), listed(("una", "ben")), False),
        (listed(("una", "ben")), listed(("ben", "una")), False),
        (listed(), listed(terminating=True), True),
        (listed(terminating=True), listed(terminating=True), False),
        (listed(), None, True),
        (listed(), listed(uid="another"), True),
    ],
)
def test_the_time_from_an_edit_to_the_revocation_is_measured(
    old: CachedLNamespace, new: CachedLNamespace | None, takes: bool
) -> None:
    watched = Watched(now=10)
    watched.instrumentation.record_change(old, new)
    watched.now = 12
    watched.instrumentation.record_change(new or old, new or old)
    watched.instrumentation.applied("team-b", SOMETHING)
    watched.instrumentation.applied("team-a", SOMETHING)
    watched.instrumentation.applied("team-a", SOMETHING)
    assert watched.waits("edit_to_revoked") == ((1, 2) if takes else (0, 0))


async def test_the_time_from_a_deletion_to_the_revocation_is_measured() -> None:
    """The measurement ends when all grants are gone."""
    watched = Watched()
    async with working() as desk:
        desk.tenants = dataclasses.replace(desk.tenants, instrumentation=watched.instrumentation)
        desk.lnamespace(users=[{"name": "una"}])
        await desk.reconcile()
        watched.instrumentation.record_change(desk.cache.lnamespace("team-a"), None)
        desk.deleted(LNS)
        desk.cluster.refusals["DELETE", USERS] = 503
        await desk.reconcile()
        assert watched.waits("edit_to_revoked") == (0, 0)
        desk.cluster.refusals.clear()
        watched.now = 3
        await desk.reconcile()
        assert watched.waits("edit_to_revoked") == (1, 3)


def test_revocations_by_others_are_not_measured() -> None:
    watched = Watched()
    watched.instrumentation.record_change(listed(), None)
    watched.instrumentation.applied("team-a", [])
    watched.instrumentation.applied("team-a", SOMETHING)
    assert watched.waits("edit_to_revoked") == (0, 0)


def test_a_standby_does_not_measure_the_work_of_the_leader() -> None:
    watched = Watched()
    watched.instrumentation.active = False
    watched.instrumentation.record_change(None, listed())
    watched.instrumentation.record_change(listed(("una", "ben")), listed(("una",)))
    watched.instrumentation.record_change(listed(), listed(ready=True))
    watched.now, watched.instrumentation.active = 3600, True
    watched.instrumentation.ready(listed().lns)
    watched.instrumentation.applied("team-a", SOMETHING)
    assert watched.waits("create_to_ready") == watched.waits("edit_to_revoked") == (0, 0)


def test_a_key_counts_as_failing_until_its_reconcile_succeeds() -> None:
    watched = Watched()
    instrumentation = watched.instrumentation
    instrumentation.reconciled(LNamespaceKey("a"), "Conflict", 1)
    instrumentation.reconciled(ImpersonatorKey("b"), "Conflict", 1)
    instrumentation.reconciled(LNamespaceKey("a"), "Forbidden", 1)
    instrumentation.text(True, 0, [])
    failing = "lnamespace_controller_failing_keys"
    assert watched.value(failing, result="Conflict") == 1
    assert watched.value(failing, result="Forbidden") == 1
    instrumentation.reconciled(LNamespaceKey("a"), "Done", 1)
    instrumentation.text(True, 0, [])
    assert watched.value(failing, result="Forbidden") == 0
    assert watched.value(failing, result="Done") == 0
    total = "lnamespace_controller_reconciles_total"
    assert watched.value(total, kind="LNamespace", result="Done") == 1
    assert watched.value(total, kind="Person", result="Conflict") == 1


def test_metrics_contain_no_names() -> None:
    watched = Watched()
    instrumentation = watched.instrumentation
    instrumentation.record_change(None, listed(("una",)))
    instrumentation.reconciled(LNamespaceKey("team-a"), "Done", 1)
    instrumentation.requested("GET", "/api/v1/namespaces/team-a", 200, 1)
    text = instrumentation.text(True, 1, [listed(), listed(ready=True)]).decode()
    assert 'lnamespace_controller_lnamespaces{reason="Pending"} 1.0' in text
    assert 'lnamespace_controller_lnamespaces{reason="Ready"} 1.0' in text
    assert "team-a" not in text
    assert "una" not in text


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/a", "namespaces"),
        ("/api/v1/namespaces/default/events", "events"),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles/x", "clusterroles"),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/x", "rolebindings"),
        ("/apis/tenancy.loblaw.digital/v1beta1/lnamespaces", "lnamespaces"),
        ("/apis/tenancy.loblaw.digital/v1beta1/lnamespaces/a/status", "lnamespaces/status"),
        ("/apis/resource.k8s.io", ""),
        ("/apis/resource.k8s.io/v1beta1", ""),
    ],
)
def test_a_request_is_counted_by_its_resource(path: str, resource: str) -> None:
    assert resource_of(path) == resource
    watched = Watched()
    watched.instrumentation.requested("PATCH", path, 409, 0.2)
    name, code = "lnamespace_controller_api_requests_total", "409"
    assert watched.value(name, verb="patch", resource=resource, code=code) == 1


async def test_only_changes_that_were_not_requested_count_as_drift() -> None:
    async with working() as desk:
        desk.lnamespace(users=[{"name": "una"}])
        await desk.reconcile()
        desk.lnamespace(users=[{"name": "ben"}])
        await desk.reconcile()
        assert desk.conditions["Ready"] == ("True", "Ready")
        assert _drift(desk) == {}
        desk.deleted(USERS)
        await desk.reconcile()
        assert USERS in desk.cluster.objects
        assert _drift(desk) == {"rolebindings": 1}


async def test_the_expiry_of_an_entry_is_no_drift() -> None:
    async with working() as desk:
        ends = {"name": "ben", "expiresAt": (NOW + timedelta(hours=1)).isoformat()}
        desk.lnamespace(users=[{"name": "una"}, ends])
        await desk.reconcile()
        desk.now[0] = NOW + timedelta(hours=2)
        await desk.reconcile()
        assert desk.subjects(USERS) == ["una"]
        assert _drift(desk) == {}


def _drift(desk: Desk) -> dict[str, float]:
    found = desk.tenants.instrumentation.metrics.drift.collect()
    return {
        sample.labels["resource"]: sample.value
        for family in found
        for sample in family.samples
        if sample.name.endswith("_total")
    }


class Patient:
    """A controller of which one thing at a time is wrong."""

    def __init__(self, **wrong: Any) -> None:
        activity = WatchActivity(
            tried=wrong.get("tried", 1000.0), answered_at=wrong.get("heard", 1000.0)
        )
        well = WatchHealth("namespaces", True, WatchActivity(1000.0, 1000.0))
        health = WatchHealth("lnamespaces", wrong.get("synced", True), activity)
        self.liveness = Liveness(
            lambda: [well, health], lambda: wrong.get("busy", []), lambda: 1000.0
        )


@pytest.mark.parametrize(
    ("wrong", "dead", "unready"),
    [
        ({}, None, None),
        ({"synced": False}, None, "lnamespaces have not been listed"),
        # The API server is away, or refuses us: nothing that a restart would mend.
        ({"heard": 999 - SILENCE}, None, "nothing was heard of lnamespaces for 181 seconds"),
        ({"heard": 0, "tried": 999}, None, "nothing was heard of lnamespaces for 1000 seconds"),
        ({"tried": 999 - STUCK_WATCH}, "the watch of lnamespaces is stuck", None),
        ({"busy": [1000, 1001 - STUCK_WORKER]}, None, None),
        ({"busy": [1000, 999 - STUCK_WORKER]}, "a worker is stuck", None),
    ],
)
def test_liveness_and_readiness_report_the_cause(
    wrong: dict[str, Any], dead: str | None, unready: str | None
) -> None:
    liveness = Patient(**wrong).liveness
    assert liveness.dead() == dead
    assert liveness.unready() == unready


async def test_lnamespaces_of_another_class_are_not_measured() -> None:
    """Otherwise the pending measurements of other classes would only grow."""
    instrumentation = Instrumentation()
    cache = Cache(Conventions(), WorkQueue(), instrumentation.record_change)
    for version, spec in enumerate(({"className": "gold"}, {"className": "gold"}, {}), 1):
        meta = {"name": "team-a", "uid": "u", "resourceVersion": str(version)}
        users = [{"name": "una"}] if version == 1 else []
        raw = {"metadata": meta, "spec": {"users": users} | spec}
        cache.lnamespaces.apply_event(read_lnamespace(msgspec.json.encode(raw)))
        assert instrumentation.waiting == (version // 3, 0)
    cache.lnamespaces.remove(("", "team-a"), 9)
    instrumentation.forget("team-a")
    assert instrumentation.waiting == (0, 0)


def test_a_replaced_lnamespace_leaves_no_pending_measurement() -> None:
    watched = Watched()
    watched.instrumentation.record_change(None, listed())
    watched.instrumentation.record_change(listed(), listed(uid="another"))
    watched.instrumentation.forget("team-a")
    assert watched.instrumentation.waiting == (0, 0)
