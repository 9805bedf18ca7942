"""ServiceAccounts as sudoers: nothing is written for one that is not there."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
import pytest_asyncio
from lnamespace import errors
from lnamespace.access.conventions import lnamespace_resource
from lnamespace.access.impersonator import ImpersonatorKey, impersonator_refs
from lnamespace.controller.resource import read_lnamespace
from lnamespace.kube.resources import NAMESPACE, ROLE_BINDING, SERVICE_ACCOUNT
from lnamespace.kube.state import read_observed
from lnamespace.model.subject import Subject, SubjectKind

from tests.unit.support.desk import LAYOUT, LNS, Desk, working

BOT = Subject(SubjectKind.SERVICE_ACCOUNT, "bot", "ci")
PERSON = ImpersonatorKey.from_subject(BOT)
(_BINDING, KEY), (_ROLE, _) = impersonator_refs(PERSON, LAYOUT)
OWN = unquote(_BINDING.path(KEY[1], "ci")), unquote(_ROLE.path(KEY[1], "ci"))
ACCOUNT = SERVICE_ACCOUNT.path("bot", "ci")
ENTRY = {"kind": "ServiceAccount", "namespace": "ci", "name": "bot"}


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    async with working() as desk:
        yield desk


def namespace(desk: Desk, name: str = "ci", **meta: Any) -> None:
    path = NAMESPACE.path(name)
    desk.cluster.make(path, {"metadata": {"name": name} | meta})
    raw = msgspec.json.encode(desk.cluster.objects[path])
    desk.cache.objects[NAMESPACE].apply_event(read_observed(raw, LAYOUT.managed_metadata))


def account(desk: Desk) -> None:
    desk.cluster.make(ACCOUNT, {"metadata": {"name": "bot", "namespace": "ci"}})


def made(desk: Desk) -> list[str]:
    return [path for path in OWN if path in desk.cluster.objects]


async def test_no_objects_are_created_for_a_missing_service_account(desk: Desk) -> None:
    namespace(desk)
    desk.lnamespace(sudoers=[ENTRY])
    outcome = await desk.impersonators.reconcile(PERSON)
    assert isinstance(outcome.decisive_failure, errors.NoServiceAccount)
    assert outcome.decisive_failure.retryable
    assert made(desk) == []
    await desk.reconcile()
    await desk.reconcile()
    assert desk.conditions["AccessReady"] == ("False", "SudoNotReady")
    told = desk.cluster.objects[LNS]["status"]["conditions"][0]["message"]
    assert 'there is no ServiceAccount "bot" in namespace "ci"' in told

    account(desk)
    assert (await desk.impersonators.reconcile(PERSON)).decisive_failure is None
    assert made(desk) == [*OWN]
    await desk.reconcile()
    assert desk.conditions["Ready"] == ("True", "Ready")


async def test_no_request_is_sent_for_an_account_in_a_missing_namespace(desk: Desk) -> None:
    desk.lnamespace(sudoers=[ENTRY])
    desk.cluster.written()
    outcome = await desk.impersonators.reconcile(PERSON)
    assert isinstance(outcome.decisive_failure, errors.NoNamespace)
    assert desk.cluster.written() == []


async def test_a_service_account_of_a_platform_namespace_may_be_a_sudoer(desk: Desk) -> None:
    """GitOps and pipeline accounts of OpenShift lost sudo by an upgrade."""
    namespace(desk, "openshift-gitops")
    path = SERVICE_ACCOUNT.path("bot", "openshift-gitops")
    desk.cluster.make(path, {"metadata": {"name": "bot", "namespace": "openshift-gitops"}})
    desk.lnamespace(sudoers=[ENTRY | {"namespace": "openshift-gitops"}])
    (person,) = desk.cache.impersonators
    assert (await desk.impersonators.reconcile(person)).decisive_failure is None
    assert any("/openshift-gitops/rolebindings" in path for path in desk.cluster.objects)


@pytest.mark.parametrize("name", ["kube-public", "lnamespace-system", "lnamespace-sudo"])
async def test_no_objects_are_created_in_system_namespaces(desk: Desk, name: str) -> None:
    namespace(desk, name)
    path = SERVICE_ACCOUNT.path("bot", name)
    desk.cluster.make(path, {"metadata": {"name": "bot", "namespace": name}})
    desk.lnamespace(sudoers=[ENTRY | {"namespace": name}])
    for person in desk.cache.impersonators:
        await desk.impersonators.reconcile(person)
    assert not any(f"/{name}/rolebindings" in path for path in desk.cluster.objects)


async def test_the_objects_of_a_deleted_service_account_are_deleted(desk: Desk) -> None:
    namespace(desk)
    account(desk)
    desk.lnamespace(sudoers=[ENTRY])
    await desk.impersonators.reconcile(PERSON)
    assert made(desk) == [*OWN]
    del desk.cluster.objects[ACCOUNT]
    await desk.impersonators.reconcile(PERSON)
    assert made(desk) == []


@pytest.mark.parametrize("there", [True, False])
async def test_a_failed_lookup_of_a_service_account_changes_nothing(
    desk: Desk, there: bool
) -> None:
    namespace(desk)
    account(desk)
    desk.lnamespace(sudoers=[ENTRY])
    if there:
        await desk.impersonators.reconcile(PERSON)
    desk.cluster.refusals["GET", ACCOUNT] = 403
    outcome = await desk.impersonators.reconcile(PERSON)
    assert isinstance(outcome.decisive_failure, errors.Forbidden)
    assert made(desk) == ([*OWN] if there else [])


async def test_a_revoked_service_account_loses_its_objects_without_a_lookup(desk: Desk) -> None:
    namespace(desk)
    account(desk)
    desk.lnamespace(sudoers=[ENTRY])
    await desk.impersonators.reconcile(PERSON)
    desk.cluster.refusals["GET", ACCOUNT] = 503
    desk.lnamespace()
    assert (await desk.impersonators.reconcile(PERSON)).decisive_failure is None
    assert made(desk) == []


def lnamespace(desk: Desk, name: str, **spec: Any) -> None:
    shown = {"metadata": {"name": name, "uid": f"uid-{name}", "generation": 1}, "spec": spec}
    made = desk.cluster.make(lnamespace_resource(LAYOUT.names).path(name), shown)
    desk.cache.lnamespaces.apply_event(read_lnamespace(msgspec.json.encode(made)))


@pytest.mark.parametrize("own", [True, False])
async def test_a_service_account_waits_for_the_access_of_its_own_lnamespace(
    desk: Desk, own: bool
) -> None:
    """An LNamespace may list accounts that are still to be created in its own Namespace."""
    lnamespace(desk, "ci", sudoers=[ENTRY] if own else [])
    if not own:
        desk.lnamespace(sudoers=[ENTRY])
    owner = {LAYOUT.names.owner_annotation: "uid-ci"}
    namespace(desk, annotations=owner, labels={"app.kubernetes.io/managed-by": "lnamespace"})
    outcome = await desk.impersonators.reconcile(PERSON)
    assert isinstance(outcome.decisive_failure, errors.NoNamespace)
    await desk.tenants.reconcile("ci")
    assert desk.cache.get(ROLE_BINDING, ("ci", "lnamespace-users"))
    await desk.impersonators.reconcile(PERSON)
    assert made(desk) == ([*OWN] if own else [])


async def test_an_lnamespace_in_conflict_writes_nothing_to_the_foreign_namespace(
    desk: Desk,
) -> None:
    """Its list names an account in a Namespace that it does not own."""
    namespace(desk)
    lnamespace(desk, "ci", sudoers=[ENTRY])
    assert isinstance(
        (await desk.impersonators.reconcile(PERSON)).decisive_failure, errors.NoServiceAccount
    )
    assert made(desk) == []
