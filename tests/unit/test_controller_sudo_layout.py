"""A change of the layout of sudo: the new is there before the old goes, and lists stay true."""

import dataclasses
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio
from lnamespace import errors
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.entries import active_entries
from lnamespace.access.sudo import sudo_objects
from lnamespace.controller.queue import RequeueResult
from lnamespace.kube.resources import ROLE, ROLE_BINDING

from tests.unit.support.desk import (
    ALICE,
    BINDINGS,
    EDITOR,
    LNS,
    NAMES,
    RECORDS,
    ROLES,
    SELF,
    SUDOER,
    SUDOERS,
    Desk,
    working,
)
from tests.unit.support.strategies import NOW

BY_ACCOUNT = Conventions(sudo=SudoLayout.SERVICE_ACCOUNT)
BY_GROUP = Conventions()
HOME = NAMES.sudo_namespace
ACCOUNT_ROLES = ROLE.path(namespace=HOME)
ACCOUNT_ROLE = f"{ACCOUNT_ROLES}/{SUDOER}"
ACCOUNT_BINDING = f"{ROLE_BINDING.path(namespace=HOME)}/{SUDOER}"
ACCOUNT_POWER = ROLE_BINDING.path("lnamespace-sudo-account", "team-a")
GROUP_BINDING, GROUP_ROLE = f"{BINDINGS}/{SUDOER}", f"{ROLES}/{SUDOER}"
SELF_BINDING, SELF_ROLE = f"{BINDINGS}/{SELF}", f"{ROLES}/{SELF}"
BY_ACCOUNT_OBJECTS = {ACCOUNT_ROLE, ACCOUNT_BINDING, ACCOUNT_POWER}
BY_GROUP_OBJECTS = {GROUP_ROLE, GROUP_BINDING, SUDOERS}
ENTRY, BOB_ENTRY = {"name": "alice"}, {"name": "bob"}
SOON = RequeueResult([], NOW + timedelta(seconds=1))
ACCOUNT = f"system:serviceaccount:{HOME}:team-a"


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    async with working() as desk:
        yield desk


def switch(desk: Desk, conventions: Conventions) -> None:
    """Start the controller anew with another layout."""
    desk.tenants = dataclasses.replace(desk.tenants, conventions=conventions)
    desk.impersonators = dataclasses.replace(desk.impersonators, conventions=conventions)


async def at_home(desk: Desk, conventions: Conventions) -> None:
    """Prepare an LNamespace of which Alice is a sudoer, in a layout."""
    switch(desk, conventions)
    desk.lnamespace(sudoers=[ENTRY])
    await desk.impersonators.reconcile(ALICE)
    assert await desk.reconcile() == RequeueResult([], None)
    desk.cluster.written()


def told(desk: Desk) -> tuple[str, str]:
    """Return as whom sudoers act, by the status."""
    status = desk.cluster.objects[LNS]["status"]
    return status["sudoersGroup"], status["sudoUser"]


async def test_a_new_lnamespace_gets_only_the_objects_of_sudo_by_account(desk: Desk) -> None:
    await at_home(desk, BY_ACCOUNT)
    assert set(desk.cluster.objects) >= BY_ACCOUNT_OBJECTS
    assert not set(desk.cluster.objects) & {*BY_GROUP_OBJECTS, SELF_BINDING, SELF_ROLE}
    assert told(desk) == ("", ACCOUNT)
    assert desk.subjects(ACCOUNT_BINDING) == ["alice"]


@pytest.mark.parametrize(("conventions", "of_alice"), [(BY_GROUP, 2), (BY_ACCOUNT, 0)])
async def test_a_new_lnamespace_needs_seven_creations_and_one_patch(
    desk: Desk, conventions: Conventions, of_alice: int
) -> None:
    """A sudoer whom no other LNamespace lists needs two more creations in the group layout."""
    switch(desk, conventions)
    desk.lnamespace(sudoers=[ENTRY])
    desk.cluster.written()
    await desk.impersonators.reconcile(ALICE)
    assert len(desk.cluster.written()) == of_alice
    await desk.reconcile()
    asked = [verb for verb, path in desk.cluster.written() if not path.startswith(RECORDS)]
    assert sorted(asked) == ["PATCH", *["POST"] * 7]


async def test_the_new_layout_is_created_before_the_previous_layout_is_deleted(desk: Desk) -> None:
    for old, new, gone in (
        (BY_GROUP, BY_ACCOUNT, BY_GROUP_OBJECTS),
        (BY_ACCOUNT, BY_GROUP, BY_ACCOUNT_OBJECTS),
    ):
        await at_home(desk, old)
        switch(desk, new)
        await desk.impersonators.reconcile(ALICE)
        desk.cluster.written()
        before = told(desk)
        assert await desk.reconcile() == SOON
        asked = desk.cluster.written()
        assert [verb for verb, _ in asked] == ["PATCH", "POST", "POST", "POST", "PATCH"]
        assert asked[-1] == ("PATCH", f"{LNS}/status")
        assert told(desk) != before
        assert set(desk.cluster.objects) >= {*BY_GROUP_OBJECTS, *BY_ACCOUNT_OBJECTS}
        assert await desk.reconcile() == RequeueResult([], None)
        asked = desk.cluster.written()
        assert asked[0] == ("PATCH", f"{BINDINGS}/{EDITOR}")
        assert set(asked[1:]) == {("DELETE", path) for path in gone}
        assert await desk.reconcile() == RequeueResult([], None)
        assert desk.cluster.written() == []


async def test_sudoers_edit_the_lnamespace_by_both_layouts_during_the_change(desk: Desk) -> None:
    editors = f"{BINDINGS}/{EDITOR}"
    await at_home(desk, BY_GROUP)
    switch(desk, BY_ACCOUNT)
    await desk.reconcile()
    assert desk.subjects(editors) == ["team-a", "team-a-sudoers"]
    await desk.reconcile()
    assert desk.subjects(editors) == ["team-a"]


async def test_the_status_names_the_previous_layout_while_the_new_layout_fails(desk: Desk) -> None:
    """`kubectl sudo` reads the status, which must not name a layout that does not work yet."""
    for old, new, path, identity in (
        (BY_GROUP, BY_ACCOUNT, ACCOUNT_ROLES, ("team-a-sudoers", "")),
        (BY_ACCOUNT, BY_GROUP, ROLES, ("", ACCOUNT)),
    ):
        await at_home(desk, old)
        desk.cluster.refusals["POST", path] = 403
        switch(desk, new)
        await desk.reconcile(failed_before=10)
        assert desk.conditions["AccessReady"][0] == "False"
        assert told(desk) == identity
        assert len(desk.subjects(f"{BINDINGS}/{EDITOR}")) == 2
        del desk.cluster.refusals["POST", path]
        await desk.impersonators.reconcile(ALICE)
        await desk.reconcile()
        assert told(desk) != identity
        await desk.reconcile()


async def test_a_binding_made_by_a_user_is_not_taken_for_the_previous_layout(desk: Desk) -> None:
    """Members of group team-a-sudoers by login could edit the LNamespace otherwise."""
    await at_home(desk, BY_ACCOUNT)
    listed = desk.cache.lnamespace("team-a")
    assert listed
    decoy = sudo_objects(listed.lns, active_entries(listed.lns.spec, NOW), BY_GROUP)[-1]
    desk.cluster.make(SUDOERS, decoy.object.manifest())
    desk.told(ROLE_BINDING, SUDOERS)
    assert await desk.reconcile() == RequeueResult([], None)
    assert desk.cluster.written() == [("DELETE", SUDOERS)]


async def test_the_previous_layout_is_kept_until_the_status_is_written(desk: Desk) -> None:
    await at_home(desk, BY_GROUP)
    switch(desk, BY_ACCOUNT)
    desk.cluster.refusals["PATCH", f"{LNS}/status"] = 403
    for _ in range(2):
        await desk.reconcile()
        assert set(desk.cluster.objects) >= BY_GROUP_OBJECTS
    del desk.cluster.refusals["PATCH", f"{LNS}/status"]
    await desk.reconcile()
    await desk.reconcile()
    assert not BY_GROUP_OBJECTS & set(desk.cluster.objects)


async def test_the_previous_layout_is_kept_and_a_failure_of_the_new_is_reported(desk: Desk) -> None:
    await at_home(desk, BY_GROUP)
    desk.cluster.refusals["POST", ACCOUNT_ROLES] = 403
    switch(desk, BY_ACCOUNT)
    outcome = await desk.reconcile(failed_before=10)
    assert isinstance(outcome.decisive_failure, errors.ClusterError)
    assert set(desk.cluster.objects) >= BY_GROUP_OBJECTS
    assert desk.conditions["AccessReady"][0] == "False"


async def test_a_sudoer_revoked_during_the_change_loses_the_previous_layout_too(desk: Desk) -> None:
    await at_home(desk, BY_GROUP)
    desk.cluster.refusals["POST", ACCOUNT_ROLES] = 403
    switch(desk, BY_ACCOUNT)
    desk.lnamespace(sudoers=[BOB_ENTRY])
    await desk.reconcile()
    assert desk.subjects(GROUP_BINDING) == ["bob"]


async def test_a_failed_revocation_in_the_previous_layout_is_retried(
    desk: Desk,
) -> None:
    await at_home(desk, BY_ACCOUNT)
    switch(desk, BY_GROUP)
    desk.cluster.refusals["PATCH", ACCOUNT_BINDING] = 503
    desk.lnamespace(sudoers=[BOB_ENTRY])
    assert isinstance((await desk.reconcile()).decisive_failure, errors.ServerFault)
    assert told(desk) == ("", ACCOUNT)


async def test_a_refused_change_does_not_prevent_the_deletion_of_the_previous_layout(
    desk: Desk,
) -> None:
    """The policies of the new layout refuse additions to objects of the previous layout."""
    await at_home(desk, BY_GROUP)
    desk.cluster.refusals["PATCH", GROUP_BINDING] = 403
    switch(desk, BY_ACCOUNT)
    desk.lnamespace(sudoers=[ENTRY, BOB_ENTRY])
    await desk.reconcile()
    assert await desk.reconcile() == RequeueResult([], None)
    assert not BY_GROUP_OBJECTS & set(desk.cluster.objects)
    assert desk.subjects(ACCOUNT_BINDING) == ["alice", "bob"]


async def test_a_person_keeps_their_objects_while_an_lnamespace_uses_the_group_layout(
    desk: Desk,
) -> None:
    await at_home(desk, BY_GROUP)
    switch(desk, BY_ACCOUNT)
    assert await desk.impersonators.reconcile(ALICE) == RequeueResult(requeue_at=SOON.requeue_at)
    assert set(desk.cluster.objects) >= {SELF_BINDING, SELF_ROLE}
    await desk.reconcile()
    assert await desk.impersonators.reconcile(ALICE) == RequeueResult(requeue_at=SOON.requeue_at)
    await desk.reconcile()
    assert await desk.impersonators.reconcile(ALICE) == RequeueResult([], None)
    assert not set(desk.cluster.objects) & {SELF_BINDING, SELF_ROLE}


async def test_the_account_layout_is_kept_until_every_sudoer_may_use_the_group_layout(
    desk: Desk,
) -> None:
    await at_home(desk, BY_ACCOUNT)
    switch(desk, BY_GROUP)
    await desk.reconcile()
    assert set(desk.cluster.objects) >= {*BY_GROUP_OBJECTS, *BY_ACCOUNT_OBJECTS}
    assert told(desk) == ("", ACCOUNT)
    desk.lnamespace(sudoers=[ENTRY, BOB_ENTRY])
    await desk.reconcile()
    assert desk.subjects(ACCOUNT_BINDING) == ["alice", "bob"]
    desk.lnamespace(sudoers=[ENTRY])
    await desk.reconcile()
    assert desk.subjects(ACCOUNT_BINDING) == ["alice"]
    await desk.impersonators.reconcile(ALICE)
    assert "team-a" in desk.woken
    await desk.reconcile()
    await desk.reconcile()
    assert not BY_ACCOUNT_OBJECTS & set(desk.cluster.objects)
    assert told(desk) == ("team-a-sudoers", "")


async def test_a_ready_lnamespace_is_requeued_once_when_its_sudoers_become_ready(
    desk: Desk,
) -> None:
    await at_home(desk, BY_ACCOUNT)
    switch(desk, BY_GROUP)
    await desk.reconcile()
    desk.woken.clear()
    await desk.impersonators.reconcile(ALICE)
    assert desk.woken == ["team-a"]
    await desk.reconcile()
    await desk.reconcile()
    desk.woken.clear()
    await desk.impersonators.reconcile(ALICE)
    assert desk.woken == []


async def test_the_previous_layout_is_deleted_too_when_the_name_becomes_reserved(
    desk: Desk,
) -> None:
    """As where the name was reserved meanwhile."""
    await at_home(desk, BY_GROUP)
    switch(desk, BY_ACCOUNT)
    desk.tenants = dataclasses.replace(desk.tenants, reserved=("team-*",))
    assert await desk.reconcile() == RequeueResult([], None)
    assert not {*BY_GROUP_OBJECTS, *BY_ACCOUNT_OBJECTS} & set(desk.cluster.objects)


async def test_the_deletion_of_an_lnamespace_deletes_the_objects_of_both_layouts(
    desk: Desk,
) -> None:
    await at_home(desk, BY_GROUP)
    switch(desk, BY_ACCOUNT)
    desk.cluster.refusals["POST", ACCOUNT_ROLES] = 403
    await desk.reconcile()
    desk.deleted(LNS)
    await desk.reconcile()
    assert not {*BY_GROUP_OBJECTS, *BY_ACCOUNT_OBJECTS} & set(desk.cluster.objects)


async def test_another_sudoer_changes_only_one_binding_in_the_account_layout(desk: Desk) -> None:
    """Only the LNamespace's own binding names its sudoers."""
    await at_home(desk, BY_ACCOUNT)
    desk.lnamespace(sudoers=[BOB_ENTRY])
    await desk.reconcile()
    assert await desk.impersonators.reconcile(ALICE) == RequeueResult([], None)
    assert [asked for asked in desk.cluster.written() if "rbac" in asked[1]] == [
        ("PATCH", ACCOUNT_BINDING)
    ]
