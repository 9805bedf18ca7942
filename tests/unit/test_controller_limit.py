"""An LNamespace over the limit: it gets nothing but whoever can delete it, and nobody pays."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from lnamespace.access.conventions import Conventions, lnamespace_resource
from lnamespace.access.limit import RequesterLimits
from lnamespace.controller.cache import LNamespaceKey
from lnamespace.controller.resource import read_lnamespace
from lnamespace.errors import ServerFault
from lnamespace.kube.resources import NAMESPACE
from lnamespace.kube.state import read_observed

from tests.unit.support.desk import (
    BINDINGS,
    EDITOR,
    LAYOUT,
    LNS,
    SPACE,
    SUDOER,
    USERS,
    Desk,
    working,
)

SPEC: dict[str, Any] = {
    "requester": "alice",
    "users": [{"name": "bob"}],
    "managers": [{"name": "alice"}],
    "sudoers": [{"name": "sue"}],
}


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    """Alice may have one, and has the older `before`."""
    async with working(RequesterLimits(1)) as desk:
        older = await other(desk, "before")
        await desk.tenants.reconcile(older)
        desk.lnamespace(**SPEC)
        yield desk


async def other(desk: Desk, name: str, **status: Any) -> str:
    """Another one of alice's."""
    meta = {"name": name, "uid": f"uid-{name}", "generation": 1}
    body = {"metadata": meta, "spec": {"requester": "alice"}, "status": status}
    shown = desk.cluster.make(lnamespace_resource(LAYOUT.names).path(name), body)
    desk.cache.lnamespaces.apply_event(read_lnamespace(msgspec.json.encode(shown)))
    return name


def gone(desk: Desk, name: str, *, namespace_too: bool = True) -> None:
    """Somebody deletes it; the watches tell."""
    desk.cluster.objects.pop(lnamespace_resource(LAYOUT.names).path(name))
    desk.cluster.version += 1
    desk.cache.lnamespaces.remove(("", name), desk.cluster.version)
    if namespace_too:
        desk.cluster.objects.pop(NAMESPACE.path(name), None)
        desk.cache.objects[NAMESPACE].remove(("", name), desk.cluster.version)


async def left(desk: Desk, name: str, **more: str) -> None:
    """Somebody deletes it and keeps its Namespace, which says whose it was."""
    space = desk.cluster.objects[NAMESPACE.path(name)]
    meta = {key: v for key, v in space["metadata"].items() if key != "ownerReferences"}
    meta["annotations"] |= {LAYOUT.names.requester_annotation: "alice"}
    shown = desk.cluster.make(NAMESPACE.path(name), space | {"metadata": meta | more})
    managed_metadata = Conventions(counted=True).managed_metadata
    desk.cache.objects[NAMESPACE].apply_event(
        read_observed(msgspec.json.encode(shown), managed_metadata)
    )
    gone(desk, name, namespace_too=False)
    await desk.tenants.reconcile(name)


def told(desk: Desk) -> str:
    """Return what its status says of Ready."""
    message: str = desk.cluster.objects[LNS]["status"]["conditions"][0]["message"]
    return message


async def keys(desk: Desk) -> set[Any]:
    """Return what is to be worked on."""
    found = set()
    while len(desk.queue):
        found.add(key := await desk.queue.get())
        desk.queue.done(key)
    return found


async def test_an_lnamespace_over_the_limit_gets_a_reason_and_only_its_editors(desk: Desk) -> None:
    await desk.reconcile()
    assert set(desk.conditions.values()) == {("False", "LimitExceeded")}
    assert told(desk).startswith('exceeded limit: "alice" has 1 of 1 LNamespaces; delete one')
    assert SPACE not in desk.cluster.objects
    assert f"{BINDINGS}/{SUDOER}" not in desk.cluster.objects
    assert desk.subjects(f"{BINDINGS}/{EDITOR}") == ["alice", "sue", "team-a-sudoers"]
    assert not any(name.startswith("uid-a") for name in desk.records)


async def test_the_message_states_a_usage_above_the_limit() -> None:
    """The limit was lowered before the controller restarted."""
    async with working(RequesterLimits(1)) as desk:
        for name in ("one", "two"):
            await other(desk, name, namespaceUID=f"space-{name}")
        desk.lnamespace(**SPEC)
        await desk.reconcile()
        assert told(desk).startswith('exceeded limit: "alice" has 2 of 1 LNamespaces; ')


async def test_the_message_names_namespaces_left_by_deleted_lnamespaces(desk: Desk) -> None:
    """The requester can neither see nor delete them; an administrator needs their names."""
    await left(desk, "before")
    await desk.reconcile()
    assert told(desk).endswith(
        "It counts what deleted LNamespaces have left (before): ask a cluster administrator to "
        "delete it or to have a new LNamespace adopt it"
    )
    desk.cluster.version += 1
    desk.cache.objects[NAMESPACE].remove(("", "before"), desk.cluster.version)
    await desk.reconcile()
    assert SPACE in desk.cluster.objects


@pytest.mark.parametrize("spec", [{"className": "gold"}, {"deletionPolicy": "later"}])
async def test_the_message_does_not_name_namespaces_of_existing_lnamespaces(
    desk: Desk, spec: Any
) -> None:
    """Such an LNamespace is of another class or unreadable, and must not be deleted."""
    await left(desk, "before")
    meta = {"name": "before", "uid": "uid-before", "generation": 2}
    body = {"metadata": meta, "spec": {"requester": "alice"} | spec, "status": {}}
    shown = desk.cluster.make(lnamespace_resource(LAYOUT.names).path("before"), body)
    desk.cache.lnamespaces.apply_event(read_lnamespace(msgspec.json.encode(shown)))
    await desk.reconcile()
    assert "1 of 1" in told(desk)
    assert "before" not in told(desk)


async def test_the_message_names_the_account_that_an_lnamespace_is_counted_to(desk: Desk) -> None:
    robot = {"requester": "system:serviceaccount:before:robot", "countedTo": "alice"}
    desk.lnamespace(**SPEC | robot)
    await desk.reconcile()
    assert told(desk).startswith('exceeded limit: "alice" has 1 of 1 LNamespaces; ')


async def test_the_message_states_that_a_terminating_namespace_is_waited_for(desk: Desk) -> None:
    await left(desk, "before", deletionTimestamp="2026-01-01T00:00:00Z")
    await desk.reconcile()
    assert desk.conditions["Ready"] == ("False", "NamespaceTerminating")
    assert told(desk) == "It is made as soon as another namespace that is being deleted is gone."


async def test_an_lnamespace_over_the_limit_makes_nobody_a_sudoer(desk: Desk) -> None:
    await desk.reconcile()
    assert list(desk.cache.impersonators) == []
    gone(desk, "before")
    await desk.tenants.reconcile("before")
    await desk.reconcile()
    assert len(list(desk.cache.impersonators)) == 1
    desk.deleted(LNS)
    assert list(desk.cache.impersonators) == []


async def test_a_deletion_enqueues_the_next_lnamespace_which_gets_full_access(desk: Desk) -> None:
    await desk.reconcile()
    await keys(desk)
    gone(desk, "before")
    assert LNamespaceKey("team-a") not in await keys(desk)
    await desk.tenants.reconcile("before")
    assert LNamespaceKey("team-a") in await keys(desk)
    await desk.reconcile()
    assert SPACE in desk.cluster.objects
    assert desk.subjects(USERS) == ["bob"]
    assert desk.subjects(f"{BINDINGS}/{EDITOR}") == ["alice", "team-a-sudoers"]


async def test_the_deletion_of_an_orphaned_namespace_enqueues_the_next_lnamespace(
    desk: Desk,
) -> None:
    await left(desk, "before")
    await desk.reconcile()
    await keys(desk)
    assert desk.conditions["Ready"] == ("False", "LimitExceeded")
    desk.cluster.version += 1
    desk.cache.objects[NAMESPACE].remove(("", "before"), desk.cluster.version)
    assert LNamespaceKey("team-a") in await keys(desk)


async def test_the_deletion_of_an_lnamespace_over_the_limit_is_not_recorded(desk: Desk) -> None:
    desk.deleted(LNS)
    assert desk.cache.deleted == {}


async def test_a_slot_is_released_only_after_its_namespace_was_looked_up(desk: Desk) -> None:
    """The answer to the creation may have been lost, and the watch may be behind."""
    desk.cache.objects[NAMESPACE].remove(("", "before"), desk.cluster.version)
    gone(desk, "before", namespace_too=False)
    desk.cluster.refusals["GET", NAMESPACE.path("before")] = 500
    outcome = await desk.tenants.reconcile("before")
    assert isinstance(outcome.decisive_failure, ServerFault)
    await desk.reconcile()
    assert SPACE not in desk.cluster.objects
    desk.cluster.refusals.clear()
    desk.cluster.objects.pop(NAMESPACE.path("before"))
    await desk.tenants.reconcile("before")
    await desk.reconcile()
    assert SPACE in desk.cluster.objects


@pytest.mark.parametrize(
    "limits",
    [RequesterLimits(), RequesterLimits(1, {"alice": 0}), RequesterLimits(1, {"alice": 2})],
)
async def test_a_requester_below_the_limit_does_not_wait(limits: RequesterLimits) -> None:
    async with working(limits) as desk:
        await desk.tenants.reconcile(await other(desk, "before"))
        desk.lnamespace(requester="alice")
        await desk.reconcile()
        assert SPACE in desk.cluster.objects
