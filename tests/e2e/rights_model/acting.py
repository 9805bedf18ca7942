"""What a step says is done here, on the real cluster, by the person who does it."""

import time
from datetime import UTC, datetime
from uuid import uuid4

from tests.e2e.rights_model.accidents import (
    Elapse,
    Hurry,
    Kill,
    Lose,
    Pause,
    Settle,
    Start,
    Upgrade,
)
from tests.e2e.rights_model.attacks import attack
from tests.e2e.rights_model.books import LONG
from tests.e2e.rights_model.cast import ADMIN, SUBJECTS, WHO
from tests.e2e.rights_model.lines import AnyStep
from tests.e2e.rights_model.misdeeds import Steal, Tamper
from tests.e2e.rights_model.model import Entry, Lists, Subject
from tests.e2e.rights_model.stage import Stage, persistently
from tests.e2e.rights_model.steps import (
    Clear,
    Create,
    Delete,
    Edit,
    Hold,
    PassOn,
    Propagation,
    Protect,
    Release,
    Squat,
)
from tests.e2e.rights_model.tampering import bound, tamper
from tests.e2e.support.api import LNAMESPACES, NAMESPACES, Object, lns_path, ns_path, rbac_path
from tests.e2e.support.tenants import ending, manifest
from tests.e2e.support.waiting import eventually

_HELD = "example.com/held"


def act(stage: Stage, step: AnyStep, now: float, next_end: float) -> bool:
    """Do a step at a moment; whether it was done, and not refused."""
    match step:
        case Kill():
            stage.kill(step.process)
        case Pause():
            stage.pause()
        case Lose():
            stage.books.lose()
        case Start() | Settle():
            stage.start()
        case Hurry():
            stage.hurry()
        case Upgrade():
            stage.upgrade(step.layout)
        case Elapse():
            eventually(lambda: time.time() >= next_end, LONG, tick=0.05)
        case _:
            return persistently(lambda: _request(stage, step, now))
    return True


def _request(stage: Stage, step: AnyStep, now: float) -> None:
    match step:
        case Create():
            _create(stage, step, now)
        case Edit() | Protect():
            api = stage.api(step.actor, step.name if step.sudo else "")
            api.patch(lns_path(step.name), {"spec": _spec(step, now)})
        case Delete():
            _delete(stage, step)
        case PassOn():
            _pass_on(stage, step)
        case Tamper():
            tamper(stage, step)
        case Steal():
            attack(stage, step)
        case _:
            _administer(stage, step)


def _administer(stage: Stage, step: AnyStep) -> None:
    path = lns_path(step.name)
    match step:
        case Hold():
            stage.admin.patch(path, {"metadata": {"finalizers": [_HELD]}})
            stage.admin.delete(path)
        case Release():
            stage.admin.patch(path, {"metadata": {"finalizers": None}})
        case Squat():
            stage.admin.create(NAMESPACES, {"metadata": {"name": step.name}})
        case Clear():
            _clear(stage, step.name)


def _create(stage: Stage, step: Create, now: float) -> None:
    body = manifest(step.name, **_lists(step.script.lists(now)))
    if step.retain:
        body["spec"]["deletionPolicy"] = "Retain"
    if step.forged:
        body["spec"]["requester"] = SUBJECTS[step.forged].username
    made = stage.api(step.actor).create(LNAMESPACES, body)
    if step.actor != ADMIN:
        requester = made["spec"]["requester"]
        assert requester == WHO[step.actor].user, f"{step.actor} made it as {requester}"


def _spec(step: Edit | Protect, now: float) -> Object:
    if isinstance(step, Protect):
        return {"deletionProtection": step.on}
    return manifest("", **_lists(step.script.lists(now)))["spec"]  # type: ignore[no-any-return]


def _delete(stage: Stage, step: Delete) -> None:
    path = lns_path(step.name)
    api = stage.api(step.actor, step.name if step.sudo else "")
    api.delete(path, propagationPolicy=step.propagation.value)
    if step.propagation is not Propagation.BACKGROUND:
        eventually(lambda: stage.admin.find(path) is None, LONG, f"{step.name} stays", tick=0.05)


def _pass_on(stage: Stage, step: PassOn) -> None:
    path = rbac_path("rolebindings", namespace=step.name)
    name = f"passed-{uuid4().hex[:8]}"
    body = bound(name, "ClusterRole", "admin", SUBJECTS[step.label])
    stage.api(step.actor).create(path, body)


def _clear(stage: Stage, name: str) -> None:
    uid = stage.admin.get(ns_path(name))["metadata"]["uid"]
    stage.admin.delete(ns_path(name))

    def gone() -> bool:
        found = stage.admin.find(ns_path(name))
        return found is None or found["metadata"]["uid"] != uid

    eventually(gone, LONG, f"namespace {name} stays", tick=0.05)


def _lists(lists: Lists) -> dict[str, list[Object]]:
    return {name: [*map(_entry, entries)] for name, entries in vars(lists).items()}


def _entry(entry: Entry) -> Object:
    subject = _member(entry.subject)
    if entry.ends == float("inf"):
        return subject
    return ending(subject, datetime.fromtimestamp(entry.ends, UTC))


def _member(subject: Subject) -> Object:
    return {key: value for key, value in vars(subject).items() if value}
