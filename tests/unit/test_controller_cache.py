"""Whom a piece of news concerns: a key for each, and none for what is not ours."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.impersonator import ImpersonatorKey, impersonator_refs
from lnamespace.access.lcluster import cluster_grant_refs
from lnamespace.access.lnamespace import all_grant_refs
from lnamespace.access.profiles import profile_refs
from lnamespace.controller.cache import Cache, LNamespaceKey, WorkKey
from lnamespace.controller.deleted import DeletedLNamespaceKey
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.resource import read_lnamespace
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    NETWORK_POLICY,
    PROFILE_RESOURCES,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import ObservedObject
from lnamespace.ledger.outbox.record import pending_records
from lnamespace.model.names import Names
from lnamespace.model.subject import Subject, SubjectKind

from tests.unit.support.strategies import NOW

LAYOUT = Conventions(Names())
NAMES = LAYOUT.names
ALICE, BOB = (
    ImpersonatorKey.from_subject(Subject(SubjectKind.USER, name)) for name in ("alice", "bob")
)
BOT = ImpersonatorKey.from_subject(Subject(SubjectKind.SERVICE_ACCOUNT, "bot", "ci"))


class Desk:
    """A cache, and the keys that its news puts into the queue."""

    def __init__(self, conventions: Conventions = LAYOUT) -> None:
        self.queue: WorkQueue[WorkKey] = WorkQueue()
        self.cache = Cache(conventions, self.queue)
        self.version = 0

    async def keys(self) -> list[WorkKey]:
        found = []
        while len(self.queue):
            found.append(await self.queue.get())
            self.queue.done(found[-1])
        return sorted(found, key=str)

    def seen(self, resource: Resource, name: str, namespace: str = "", **parts: Any) -> None:
        """Take in an object that the watch tells of."""
        self.version += 1
        fields: dict[str, Any] = {"terminating": False, "managed": True, "owners": ()} | parts
        item = ObservedObject((namespace, name), "u", self.version, annotations={}, role_ref=None,
                    fingerprint=b"", **fields)  # fmt: skip
        self.cache.objects[resource].apply_event(item)

    def gone(self, resource: Resource, name: str, namespace: str = "") -> None:
        """Take in the end of an object that the watch tells of."""
        self.version += 1
        self.cache.objects[resource].remove((namespace, name), self.version)

    def lnamespace(self, name: str, *sudoers: str, uid: str = "", **spec: Any) -> None:
        """Take in an LNamespace that the watch tells of."""
        self.version += 1
        meta = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(self.version)}
        listed = [{"name": sudoer} for sudoer in sudoers]
        raw = {"metadata": meta, "spec": {"sudoers": listed} | spec}
        self.cache.lnamespaces.apply_event(read_lnamespace(json.dumps(raw).encode()))


@pytest.fixture
async def desk() -> Desk:
    return Desk()


async def test_an_lnamespace_event_enqueues_the_lnamespace_and_its_sudoers(desk: Desk) -> None:
    desk.lnamespace("team-a", "alice")
    assert await desk.keys() == sorted([LNamespaceKey("team-a"), ALICE], key=str)
    desk.lnamespace("team-a", "alice", users=[{"name": "bob"}])
    assert await desk.keys() == [LNamespaceKey("team-a")]


async def test_a_deletion_enqueues_the_lnamespace_its_sudoers_and_the_deletion(desk: Desk) -> None:
    desk.lnamespace("team-a", "alice")
    await desk.keys()
    desk.cache.lnamespaces.remove(("", "team-a"), 99)
    departed = DeletedLNamespaceKey("uid-team-a")
    assert await desk.keys() == sorted([LNamespaceKey("team-a"), ALICE, departed], key=str)
    assert desk.cache.lnamespace("team-a") is None


async def test_a_deleted_lnamespace_is_kept_until_its_end_is_recorded(desk: Desk) -> None:
    desk.lnamespace("team-a")
    desk.cache.lnamespaces.remove(("", "team-a"), 99)
    (deleted,) = desk.cache.deleted.values()
    assert (deleted.lns.name, deleted.lns.uid) == ("team-a", "uid-team-a")
    assert deleted.at.tzinfo is not None


async def test_a_deleted_lnamespace_is_billed_by_its_last_readable_spec(desk: Desk) -> None:
    desk.lnamespace("team-a", billing={"costCenter": "4711"})
    desk.lnamespace("team-a", users="of a newer version", billing={"costCenter": "4711"})
    desk.cache.lnamespaces.remove(("", "team-a"), 99)
    (deleted,) = desk.cache.deleted.values()
    assert deleted.lns.spec.billing.cost_center == "4711"


async def test_an_lnamespace_that_was_never_readable_has_no_billing_records(desk: Desk) -> None:
    """A change to an empty payer went into the ledger for good."""
    desk.lnamespace("team-a", users="of a newer version", billing={"costCenter": "4711"})
    desk.cache.lnamespaces.remove(("", "team-a"), 99)
    (deleted,) = desk.cache.deleted.values()
    assert pending_records(deleted.lns, deleted.at) == ()


async def test_a_successor_does_not_hide_the_deletion_of_its_predecessor(desk: Desk) -> None:
    """After a cut the watch may show only the successor."""
    desk.lnamespace("team-a")
    await desk.keys()
    desk.lnamespace("team-a", uid="uid-2")
    assert await desk.keys() == sorted(
        [DeletedLNamespaceKey("uid-team-a"), LNamespaceKey("team-a")], key=str
    )
    assert set(desk.cache.deleted) == {"uid-team-a"}


async def test_a_namespace_event_enqueues_only_deletions_of_the_same_name(desk: Desk) -> None:
    """With 10,000 deletions at once each event searched all of them, which took 19 ms."""
    for name, uid in (("team-a", "one"), ("team-a", "two"), ("team-b", "three")):
        desk.lnamespace(name, uid=uid)
        desk.version += 1
        desk.cache.lnamespaces.remove(("", name), desk.version)
    deleted = desk.cache.deleted
    assert [uid for uid, _ in deleted.by_name("team-a")] == ["one", "two"]
    await desk.keys()
    desk.seen(NAMESPACE, "team-a")
    await desk.keys()
    desk.seen(NAMESPACE, "team-a", terminating=True)
    told = [key for key in await desk.keys() if isinstance(key, DeletedLNamespaceKey)]
    assert told == [DeletedLNamespaceKey("one"), DeletedLNamespaceKey("two")]
    del deleted["one"]
    assert [uid for uid, _ in deleted.by_name("team-a")] == ["two"]
    deleted.pop("two")
    assert deleted.by_name("team-a") == []
    assert set(deleted) == {"three"}


async def test_changes_during_a_resync_do_not_end_the_resync(desk: Desk) -> None:
    """A resync waits while the queue is full; an exception in it ended the leader."""
    for number in range(4):
        desk.lnamespace(f"team-{number}", f"sue-{number}")
    for number in range(2):
        desk.cache.lnamespaces.remove(("", f"team-{number}"), 90 + number)
    found = list[WorkKey]()
    for key in desk.cache.resync_keys():
        found.append(key)
        if isinstance(key, DeletedLNamespaceKey):
            desk.cache.deleted.pop(key.uid)
            desk.lnamespace(f"new-{len(found)}", f"eve-{len(found)}")
            desk.cache.lnamespaces.remove(("", f"new-{len(found)}"), 200 + len(found))
    assert {
        DeletedLNamespaceKey("uid-team-0"),
        DeletedLNamespaceKey("uid-team-1"),
        LNamespaceKey("team-2"),
    } <= set(found)


async def test_an_edit_is_not_recorded_as_a_deletion(desk: Desk) -> None:
    desk.lnamespace("team-a")
    desk.lnamespace("team-a", users=[{"name": "bob"}])
    assert await desk.keys() == [LNamespaceKey("team-a")]
    assert desk.cache.deleted == {}


@pytest.mark.parametrize(
    ("person", "binding", "entry"),
    [
        (ALICE, CLUSTER_ROLE_BINDING, {"name": "alice"}),
        (BOT, ROLE_BINDING, {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}),
    ],
)
async def test_a_person_whose_objects_exist_is_enqueued_with_a_delay(
    desk: Desk, person: ImpersonatorKey, binding: Resource, entry: dict[str, str]
) -> None:
    """Only owner references are missing, and a thousand LNamespaces may arrive at once."""
    for name in ("old", "older"):
        desk.lnamespace(name, sudoers=[entry])
    owners = ("uid-old", "uid-older")
    name = NAMES.self_impersonator(person.digest)
    desk.seen(binding, name, person.namespace, owners=owners)
    await desk.keys()
    desk.lnamespace("team-a", sudoers=[entry])
    assert await desk.keys() == [LNamespaceKey("team-a")]
    async with asyncio.timeout(30):
        assert await desk.queue.get() == person


@pytest.mark.parametrize("owners", [(), ("uid-old",), ("uid-old", "uid-gone"), ("uid-gone",)])
async def test_a_person_whose_objects_have_one_owner_is_enqueued_at_once(
    desk: Desk, owners: tuple[str, ...]
) -> None:
    """The garbage collector deletes the objects as soon as that owner is deleted."""
    desk.lnamespace("old", "alice")
    name = NAMES.self_impersonator(ALICE.digest)
    desk.seen(CLUSTER_ROLE_BINDING, name, owners=owners)
    await desk.keys()
    desk.lnamespace("team-a", "alice")
    assert await desk.keys() == sorted([ALICE, LNamespaceKey("team-a")], key=str)
    assert desk.cache.stays_with(ALICE, "uid-old") == ("uid-old" in owners)
    assert not desk.cache.stays_with(ALICE, "uid-team-a")


async def test_two_remaining_owners_sponsor_a_person_and_one_owner_does_not(desk: Desk) -> None:
    for one in ("old", "older", "team-a"):
        desk.lnamespace(one, "alice")
    name, owners = NAMES.self_impersonator(ALICE.digest), ("uid-old", "uid-older")
    desk.seen(CLUSTER_ROLE_BINDING, name, owners=owners)
    await desk.keys()
    assert desk.cache.stays_with(ALICE, "uid-team-a")
    desk.lnamespace("old", "bob")
    assert ALICE in await desk.keys()
    assert not desk.cache.stays_with(ALICE, "uid-team-a")


@pytest.mark.parametrize(
    ("resource", "name", "namespace", "key"),
    [
        (NAMESPACE, "team-a", "", LNamespaceKey("team-a")),
        (CLUSTER_ROLE, NAMES.editor("team-a"), "", LNamespaceKey("team-a")),
        (CLUSTER_ROLE, NAMES.sudoer("team-a"), "", LNamespaceKey("team-a")),
        (CLUSTER_ROLE_BINDING, NAMES.editor("team-a"), "", LNamespaceKey("team-a")),
        (CLUSTER_ROLE_BINDING, NAMES.sudoer("team-a"), "", LNamespaceKey("team-a")),
        (ROLE_BINDING, "lnamespace-users", "team-a", LNamespaceKey("team-a")),
        (ROLE_BINDING, "lnamespace-sudoers", "team-a", LNamespaceKey("team-a")),
        (CLUSTER_ROLE, NAMES.self_impersonator(ALICE.digest), "", ALICE),
        (CLUSTER_ROLE_BINDING, NAMES.self_impersonator(ALICE.digest), "", ALICE),
        (ROLE, NAMES.self_impersonator(BOT.digest), "ci", BOT),
        (ROLE_BINDING, NAMES.self_impersonator(BOT.digest), "ci", BOT),
        # Tenants that are called like a part of a name.
        (CLUSTER_ROLE, NAMES.editor("self-impersonator"), "", LNamespaceKey("self-impersonator")),
        (CLUSTER_ROLE, NAMES.sudoer("editor"), "", LNamespaceKey("editor")),
    ],
)
async def test_a_managed_object_enqueues_the_key_of_its_owner(
    desk: Desk, resource: Resource, name: str, namespace: str, key: WorkKey
) -> None:
    desk.seen(resource, name, namespace)
    assert await desk.keys() == [key]
    desk.seen(resource, name, namespace)
    assert await desk.keys() == [key]
    desk.gone(resource, name, namespace)
    assert await desk.keys() == [key]


@pytest.mark.parametrize(
    ("resource", "name", "namespace"),
    [
        (CLUSTER_ROLE, "cluster-admin", ""),
        (CLUSTER_ROLE, "lnamespace:controller", ""),
        (ROLE_BINDING, "theirs", "team-a"),
        (ROLE_BINDING, NAMES.editor("team-a"), "team-b"),
        (CLUSTER_ROLE_BINDING, "lnamespace-users", ""),
        (CLUSTER_ROLE, Names("example.com").editor("team-a"), ""),
    ],
)
async def test_a_foreign_object_enqueues_no_key(
    desk: Desk, resource: Resource, name: str, namespace: str
) -> None:
    desk.seen(resource, name, namespace)
    desk.gone(resource, name, namespace)
    assert await desk.keys() == []


@pytest.mark.parametrize("sudo", SudoLayout)
def test_every_object_that_an_lnamespace_or_lcluster_may_have_is_needed(sudo: SudoLayout) -> None:
    conventions = Conventions(NAMES, sudo=sudo)
    cache = Cache(conventions, WorkQueue())
    refs = (
        *all_grant_refs("team-a", conventions),
        *profile_refs("team-a"),
        *impersonator_refs(ALICE, conventions),
        *impersonator_refs(BOT, conventions),
        *cluster_grant_refs("acme", ["acme-default"], conventions),
        (NAMESPACE, ("", "kube-system")),
    )
    assert [ref for ref in refs if not cache.is_needed(*ref)] == []


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        *((kind, "theirs") for kind in (ROLE, ROLE_BINDING, *PROFILE_RESOURCES)),
        (ROLE, "lnamespace-users"),
        (ROLE, "lcluster:account"),
        (ROLE_BINDING, NAMES.editor("team-a")),
        (ROLE_BINDING, NAMES.self_impersonator("short")),
        (NETWORK_POLICY, "lnamespace-users"),
    ],
)
def test_an_object_of_another_name_is_not_needed_whatever_its_labels(
    resource: Resource, name: str
) -> None:
    assert not Cache(LAYOUT, WorkQueue()).is_needed(resource, ("team-a", name))


async def test_a_foreign_namespace_enqueues_only_the_lnamespace_of_its_name(desk: Desk) -> None:
    desk.seen(NAMESPACE, "kube-system", managed=False)
    desk.gone(NAMESPACE, "kube-system")
    assert await desk.keys() == []
    desk.lnamespace("team-a")
    await desk.keys()
    desk.seen(NAMESPACE, "team-a", managed=False)
    assert await desk.keys() == [LNamespaceKey("team-a")]
    desk.gone(NAMESPACE, "team-a")
    assert await desk.keys() == [LNamespaceKey("team-a")]


async def test_a_namespace_that_lost_its_label_still_enqueues_its_lnamespace(desk: Desk) -> None:
    desk.seen(NAMESPACE, "team-a")
    await desk.keys()
    desk.seen(NAMESPACE, "team-a", managed=False)
    assert await desk.keys() == [LNamespaceKey("team-a")]


async def test_a_new_namespace_enqueues_the_keys_that_waited_for_the_namespace(desk: Desk) -> None:
    desk.lnamespace("team-a")
    desk.cache.impersonators.problems |= {ALICE: "x", BOT: "no such namespace"}
    await desk.keys()
    for name, keys in ((NAMES.sudo_namespace, [LNamespaceKey("team-a")]), ("ci", [BOT]), ("x", [])):
        desk.seen(NAMESPACE, name, managed=False)
        assert await desk.keys() == keys
        desk.seen(NAMESPACE, name, managed=False)
        assert await desk.keys() == []


async def test_a_resync_enqueues_people_before_lnamespaces(desk: Desk) -> None:
    for name in ("b", "a"):
        desk.lnamespace(name, "alice")
    assert list(desk.cache.resync_keys()) == [ALICE, LNamespaceKey("b"), LNamespaceKey("a")]


async def test_an_lnamespace_with_a_deletion_timestamp_is_terminating(desk: Desk) -> None:
    desk.lnamespace("team-a")
    assert (listed := desk.cache.lnamespace("team-a"))
    assert not listed.terminating
    meta = {"name": "a", "resourceVersion": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert read_lnamespace(json.dumps({"metadata": meta}).encode()).terminating


@pytest.mark.parametrize(("ours", "other"), [("", "gold"), ("gold", ""), ("gold", "silver")])
class TestClasses:
    """What is for another class of controllers is none of our business."""

    @pytest.fixture
    def desk(self, ours: str) -> Desk:
        return Desk(Conventions(Names(class_name=ours)))

    async def test_an_lnamespace_of_our_class_is_enqueued(
        self, desk: Desk, ours: str, other: str
    ) -> None:
        assert ours != other
        desk.lnamespace("team-a", "alice", className=ours)
        assert await desk.keys() == sorted([LNamespaceKey("team-a"), ALICE], key=str)

    async def test_an_lnamespace_of_another_class_is_ignored(
        self, desk: Desk, ours: str, other: str
    ) -> None:
        assert ours != other
        desk.lnamespace("team-a", "alice", className=other)
        desk.lnamespace("team-a", "bob", className=other)
        desk.cache.lnamespaces.remove(("", "team-a"), 99)
        assert await desk.keys() == []
        assert desk.cache.deleted == {}

    async def test_an_lnamespace_that_moves_to_another_class_is_not_recorded_as_deleted(
        self, desk: Desk, ours: str, other: str
    ) -> None:
        desk.lnamespace("team-a", "alice", className=ours)
        await desk.keys()
        desk.lnamespace("team-a", "alice", className=other)
        assert await desk.keys() == sorted([LNamespaceKey("team-a"), ALICE], key=str)
        assert desk.cache.of_our_class(desk.cache.lnamespace("team-a")) is None
        assert list(desk.cache.impersonators) == []
        desk.cache.lnamespaces.remove(("", "team-a"), 99)
        assert desk.cache.deleted == {}

    async def test_an_lnamespace_that_moves_to_our_class_is_enqueued(
        self, desk: Desk, ours: str, other: str
    ) -> None:
        desk.lnamespace("team-a", "alice", className=other)
        desk.lnamespace("team-a", "alice", className=ours)
        assert await desk.keys() == sorted([LNamespaceKey("team-a"), ALICE], key=str)

    async def test_a_successor_of_another_class_does_not_hide_the_deletion_of_ours(
        self, desk: Desk, ours: str, other: str
    ) -> None:
        desk.lnamespace("team-a", uid="one", className=ours)
        desk.lnamespace("team-a", uid="two", className=other)
        assert await desk.keys() == sorted(
            [LNamespaceKey("team-a"), DeletedLNamespaceKey("one")], key=str
        )

    async def test_an_unreadable_lnamespace_keeps_its_class(
        self, desk: Desk, ours: str, other: str
    ) -> None:
        desk.lnamespace("team-a", className=other, users=7)
        desk.lnamespace("team-b", className=ours, users=7)
        assert await desk.keys() == [LNamespaceKey("team-b")]


async def test_an_unreadable_lnamespace_keeps_the_sudoers_of_its_last_readable_spec(
    desk: Desk,
) -> None:
    """An unreadable spec revokes no sudo; the next readable spec counts."""
    desk.lnamespace("team-a", "alice")
    await desk.keys()
    for _ in range(2):
        desk.lnamespace("team-a", "alice", users=7)
        assert await desk.keys() == [LNamespaceKey("team-a")]
        assert desk.cache.impersonators.sponsors(ALICE, NOW) == {"team-a": "uid-team-a"}
    desk.lnamespace("team-a", "bob")
    assert await desk.keys() == sorted([LNamespaceKey("team-a"), ALICE, BOB], key=str)
    assert list(desk.cache.impersonators) == [BOB]


@pytest.mark.parametrize("uid", ["", "uid-2"])
async def test_a_deleted_unreadable_lnamespace_keeps_no_sudoers(desk: Desk, uid: str) -> None:
    desk.lnamespace("team-a", "alice")
    desk.lnamespace("team-a", "alice", users=7)
    await desk.keys()
    if uid:
        desk.lnamespace("team-a", "alice", uid=uid, users=7)
    else:
        desk.cache.lnamespaces.remove(("", "team-a"), 99)
    keys = sorted([LNamespaceKey("team-a"), ALICE, DeletedLNamespaceKey("uid-team-a")], key=str)
    assert await desk.keys() == keys
    assert list(desk.cache.impersonators) == []


async def test_a_new_leader_enqueues_all_keys_including_leftover_objects(
    desk: Desk,
) -> None:
    desk.queue.close()
    desk.lnamespace("team-a", "alice")
    desk.lnamespace("gone")
    desk.seen(NAMESPACE, "left-behind")
    desk.seen(NAMESPACE, "theirs", managed=False)
    desk.seen(ROLE_BINDING, "lnamespace-users", "also-left")
    desk.seen(CLUSTER_ROLE, NAMES.editor("once"))
    desk.seen(CLUSTER_ROLE_BINDING, NAMES.self_impersonator(ALICE.digest))
    desk.cache.lnamespaces.remove(("", "gone"), 99)
    assert not len(desk.queue)
    names = ("team-a", "left-behind", "also-left", "once")
    found = set(desk.cache.all_keys())
    assert {*map(LNamespaceKey, names), ALICE, DeletedLNamespaceKey("uid-gone")} <= found
    assert not {LNamespaceKey("theirs"), LNamespaceKey("gone")} & found


async def test_a_standby_forgets_old_deletions(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would record every LNamespace that was deleted since it started."""
    desk.queue.close()
    for name in ("first", "second", "third"):
        desk.lnamespace(name)
        desk.cache.lnamespaces.remove(("", name), 99)
        if name == "second":
            monkeypatch.setattr("lnamespace.controller.deleted.STANDBY_MEMORY", timedelta(0))
    assert set(desk.cache.deleted) == {"uid-third"}
    desk.queue.open()
    desk.lnamespace("fourth")
    desk.cache.lnamespaces.remove(("", "fourth"), 99)
    assert set(desk.cache.deleted) == {"uid-third", "uid-fourth"}
