"""Guard rails, reconciled: who is let in when, and what stays."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio
from lnamespace import errors
from lnamespace.access.profiles import ProfileSet, ResolvedProfile
from lnamespace.kube.resources import (
    NAMESPACE,
    NETWORK_POLICY,
    PROFILE_RESOURCES,
    RESOURCE_QUOTA,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import ObservedObject
from lnamespace.kube.store import Store

from tests.unit.support.desk import NAMES, SPACE, SUDOERS, USERS, Desk, working

QUOTA = RESOURCE_QUOTA.path("lnamespace", "team-a")
NETWORK = NETWORK_POLICY.path("lnamespace", "team-a")
NETWORKS = NETWORK_POLICY.path(namespace="team-a")
ALICE = {"name": "alice"}
FULL = ResolvedProfile(
    {RESOURCE_QUOTA: b'{"hard":{"pods":"5"}}', NETWORK_POLICY: b'{"podSelector":{}}'},
    {"mesh": "on"},
)


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    async with working() as desk:
        desk.cache.objects |= {
            kind: Store[ObservedObject](lambda *_: None) for kind in PROFILE_RESOURCES
        }
        gives(desk, FULL)
        yield desk


def gives(desk: Desk, profile: ResolvedProfile) -> None:
    """Let the profile `default` say this."""
    says(desk, ProfileSet({"default": profile}))


def says(desk: Desk, profiles: ProfileSet) -> None:
    desk.tenants = replace(desk.tenants, profiles=lambda: profiles)


def order(desk: Desk) -> list[tuple[str, str]]:
    return [(verb, path.rpartition("/")[2]) for verb, path in desk.cluster.written()]


async def test_profile_objects_are_created_before_access_is_granted(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    made = order(desk)
    first_in = made.index(("POST", "rolebindings"))
    assert {("POST", "resourcequotas"), ("POST", "networkpolicies")} <= {*made[:first_in]}
    assert desk.cluster.objects[SPACE]["metadata"]["labels"]["mesh"] == "on"
    assert desk.conditions["GuardRailsReady"] == ("True", "InPlace")
    await desk.reconcile()
    assert not order(desk)


async def test_no_access_is_granted_while_profile_objects_are_missing(desk: Desk) -> None:
    desk.cluster.refusals["POST", NETWORKS] = 422
    desk.lnamespace(users=[ALICE])
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.Invalid)
    assert USERS not in desk.cluster.objects
    assert QUOTA in desk.cluster.objects
    assert desk.conditions["AccessReady"] == ("False", "GuardRailsNotReady")
    assert desk.conditions["Ready"] == ("False", "Invalid")
    desk.cluster.refusals.clear()
    await desk.reconcile()
    assert desk.subjects(USERS) == ["alice"]


async def test_existing_access_follows_the_lists_while_profile_objects_fail(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    desk.cluster.refusals["PATCH", QUOTA] = 422
    gives(desk, ResolvedProfile({RESOURCE_QUOTA: b'{"hard":{"pods":"9"}}'}))
    desk.lnamespace(users=[{"name": "bob"}])
    await desk.reconcile()
    assert desk.subjects(USERS) == ["bob"]
    assert NETWORK not in desk.cluster.objects
    assert desk.conditions["GuardRailsReady"] == ("False", "Invalid")
    assert desk.conditions["AccessReady"] == ("True", "AsListed")


async def test_an_unknown_profile_changes_no_existing_objects(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    before = desk.cluster.objects.copy()
    says(desk, ProfileSet(problem="f:1: bad"))
    await desk.reconcile()
    assert {path: desk.cluster.objects[path] for path in (SPACE, QUOTA, NETWORK, USERS)} == {
        path: before[path] for path in (SPACE, QUOTA, NETWORK, USERS)
    }
    assert desk.conditions["Ready"] == ("False", "UnknownProfile")
    removed(desk, ROLE_BINDING, USERS)
    await desk.reconcile()
    assert desk.subjects(USERS) == ["alice"]


async def test_no_first_access_is_granted_with_an_unknown_profile(desk: Desk) -> None:
    says(desk, ProfileSet({"big": FULL}))
    desk.lnamespace(users=[ALICE], profile="huge")
    await desk.reconcile()
    await desk.reconcile()
    assert USERS not in desk.cluster.objects
    assert desk.conditions["AccessReady"] == ("False", "GuardRailsNotReady")
    assert desk.conditions["Ready"] == ("False", "UnknownProfile")


async def test_a_changed_profile_label_is_restored(desk: Desk) -> None:
    desk.lnamespace()
    await desk.reconcile()
    space = desk.cluster.objects[SPACE]
    for change in ({"mesh": "off"}, {}):
        meta = space["metadata"]
        others = {key: value for key, value in meta["labels"].items() if key != "mesh"}
        desk.cluster.make(SPACE, space | {"metadata": meta | {"labels": others | change}})
        desk.told(NAMESPACE, SPACE)
        await desk.reconcile()
        assert desk.cluster.objects[SPACE]["metadata"]["labels"]["mesh"] == "on"


async def test_objects_that_left_the_profile_are_deleted(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    gives(desk, ResolvedProfile())
    await desk.reconcile()
    assert not {QUOTA, NETWORK} & desk.cluster.objects.keys()
    assert "mesh" not in desk.cluster.objects[SPACE]["metadata"]["labels"]
    assert "GuardRailsReady" not in desk.conditions


async def test_objects_that_left_the_profile_are_deleted_while_access_is_blocked(
    desk: Desk,
) -> None:
    desk.lnamespace()
    await desk.reconcile()
    for path in (USERS, SUDOERS):
        removed(desk, ROLE_BINDING, path)
    desk.cluster.refusals["PATCH", QUOTA] = 422
    gives(desk, ResolvedProfile({RESOURCE_QUOTA: b'{"hard":{"pods":"9"}}'}))
    await desk.reconcile()
    assert NETWORK not in desk.cluster.objects
    assert not {USERS, SUDOERS} & desk.cluster.objects.keys()


async def test_an_adopted_namespace_has_no_profile_objects_until_a_profile_is_named(
    desk: Desk,
) -> None:
    """An exceeded quota and a strict network policy stopped running workloads at once."""
    desk.cluster.make(
        SPACE,
        {
            "metadata": {
                "name": "team-a",
                "labels": {"theirs": "x"},
                "annotations": {NAMES.owner_annotation: "uid-a"},
            }
        },
    )
    desk.told(NAMESPACE, SPACE)
    desk.lnamespace(users=[ALICE])
    for _ in range(2):
        await desk.reconcile()
        assert desk.subjects(USERS) == ["alice"]
        assert not {QUOTA, NETWORK} & {*desk.cluster.objects}
        metadata = desk.cluster.objects[SPACE]["metadata"]
        assert "mesh" not in metadata["labels"]
        assert metadata["annotations"][NAMES.adopted_annotation] == "true"
    assert "GuardRailsReady" not in desk.conditions
    desk.lnamespace(users=[ALICE], profile="default")
    await desk.reconcile()
    assert {QUOTA, NETWORK} <= {*desk.cluster.objects}
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    assert not {QUOTA, NETWORK} & {*desk.cluster.objects}
    # An administrator has it be like any other.
    space = desk.cluster.objects[SPACE]
    notes = {NAMES.owner_annotation: "uid-a"}
    desk.cluster.make(SPACE, space | {"metadata": space["metadata"] | {"annotations": notes}})
    desk.told(NAMESPACE, SPACE)
    await desk.reconcile()
    assert {QUOTA, NETWORK} <= {*desk.cluster.objects}


async def test_a_quota_is_recreated_when_its_scopes_change(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    desk.cluster.written()
    gives(
        desk, ResolvedProfile({RESOURCE_QUOTA: b'{"hard":{"pods":"5"},"scopes":["Terminating"]}'})
    )
    await desk.reconcile()
    assert order(desk)[:2] == [("DELETE", "lnamespace"), ("POST", "resourcequotas")]


async def test_profile_objects_are_kept_when_the_lnamespace_is_deleted(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE])
    await desk.reconcile()
    path = next(path for path in desk.cluster.objects if path.endswith("lnamespaces/team-a"))
    desk.deleted(path)
    await desk.reconcile()
    assert USERS not in desk.cluster.objects
    assert {QUOTA, NETWORK} <= desk.cluster.objects.keys()


def removed(desk: Desk, kind: Resource, path: str) -> None:
    """Somebody deletes it; the watch tells."""
    meta = desk.cluster.objects.pop(path)["metadata"]
    desk.cluster.version += 1
    desk.cache.objects[kind].remove((meta["namespace"], meta["name"]), desk.cluster.version)
