"""How many LNamespaces each account has, and to which account a creation counts."""

import asyncio
from typing import Any

import msgspec
import pytest
from lnamespace.access.limit import RequesterLimits
from lnamespace.admission.accounts import NamespaceAccounts, Usage, decode_counted
from lnamespace.admission.decisions.mutation import mutate
from lnamespace.admission.decisions.validation import validate

from tests.unit.support.admission import ALICE, NAMES, POLICY, context, creation, patched, update
from tests.unit.support.server import client_of, serving

LIMITS = RequesterLimits(2, {"system:serviceaccounts:ci": 1, "gitops": 0, "carol": 7})
REFUSAL = 'exceeded limit: "alice" has 2 of 2 LNamespaces'


def manifest(name: str, version: int, spec: Any = None) -> bytes:
    metadata = {"name": name, "resourceVersion": str(version)}
    return msgspec.json.encode({"metadata": metadata, "spec": spec})


def test_only_the_account_of_an_lnamespace_is_kept() -> None:
    kept = decode_counted(manifest("a", 7, {"requester": "alice", "users": [{"name": "bob"}]}))
    assert (kept.key, kept.version, kept.account) == (("", "a"), 7, "alice")
    assert decode_counted(manifest("a", 7)).account == ""


def test_usage_follows_creations_and_deletions() -> None:
    usage = Usage(LIMITS)
    for version, name in enumerate(("a", "b"), 1):
        assert not usage.exceeded("alice")
        usage.store.apply_event(decode_counted(manifest(name, version, {"requester": "alice"})))
    assert usage.exceeded("alice").startswith(REFUSAL)
    assert not usage.exceeded("bob")
    usage.store.apply_event(decode_counted(manifest("b", 3, {"requester": "alice", "users": []})))
    usage.store.remove(("", "b"), 4)
    assert not usage.exceeded("alice")


def test_the_service_accounts_of_a_namespace_share_an_account() -> None:
    usage = Usage(LIMITS)
    one = manifest("a", 1, {"requester": "system:serviceaccount:ci:one"})
    usage.store.apply_event(decode_counted(one))
    assert usage.exceeded("system:serviceaccount:ci:other")


def test_an_lnamespace_counts_to_the_account_that_it_names() -> None:
    usage = Usage(LIMITS)
    robot = {"requester": "system:serviceaccount:home:robot", "countedTo": "alice"}
    for version, name in enumerate(("a", "b"), 1):
        usage.store.apply_event(decode_counted(manifest(name, version, robot)))
    assert usage.exceeded("alice").startswith(REFUSAL)
    assert not usage.exceeded("system:serviceaccount:home:robot")


ROBOT = "system:serviceaccount:home:robot"


@pytest.mark.parametrize(
    ("annotations", "account"),
    [
        ({"tenancy.loblaw.digital/requester": "alice"}, "alice"),
        ({"tenancy.loblaw.digital/requester": "carol"}, "carol"),
        ({"tenancy.loblaw.digital/requester": "gitops"}, ""),
        ({"other": "x"}, ""),
        (None, ""),
    ],
)
async def test_a_service_account_counts_to_the_account_of_its_namespace(
    annotations: dict[str, str] | None, account: str
) -> None:
    """Otherwise it would have the exception of a robot that creates namespaces for teams."""
    async with serving() as server, client_of(server.url) as client:
        accounts = NamespaceAccounts(client, NAMES, LIMITS)
        task = asyncio.create_task(accounts.account_of(ROBOT))
        exchange = await server.next("GET")
        assert exchange.path == "/api/v1/namespaces/home"
        exchange.answer({"metadata": {"annotations": annotations} if annotations else {}})
        assert await task == account


@pytest.mark.parametrize(
    ("spec", "account"),
    [
        ({"requester": "alice"}, "alice"),
        ({"requester": "system:serviceaccount:x:y", "countedTo": "carol"}, "carol"),
        ({"requester": "gitops"}, ""),
    ],
)
async def test_a_service_account_in_an_lcluster_counts_to_the_account_of_the_lcluster(
    spec: dict[str, str], account: str
) -> None:
    """Annotations that the people of the LCluster write do not count."""
    async with serving() as server, client_of(server.url) as client:
        accounts = NamespaceAccounts(client, NAMES, LIMITS)
        task = asyncio.create_task(accounts.account_of(ROBOT))
        marks = {
            "annotations": {"tenancy.loblaw.digital/requester": "bob"},
            "labels": {"tenancy.loblaw.digital/lcluster": "acme"},
        }
        (await server.next("GET")).answer({"metadata": marks})
        exchange = await server.next("GET")
        assert exchange.path.endswith("/v1beta1/lclusters/acme")
        exchange.answer({"metadata": {"name": "acme"}, "spec": spec})
        assert await task == account


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
async def test_an_account_that_cannot_be_read_is_not_guessed(status: int) -> None:
    """Otherwise a ServiceAccount of an exhausted account would get another limit."""
    async with serving() as server, client_of(server.url) as client:
        task = asyncio.create_task(NamespaceAccounts(client, NAMES, LIMITS).account_of(ROBOT))
        (await server.next("GET")).refuse(status)
        assert await task is None


@pytest.mark.parametrize("who", [ALICE, "system:serviceaccount:ci:bot"])
async def test_only_service_accounts_need_a_request(who: str) -> None:
    async with serving() as server, client_of(server.url) as client:
        assert await NamespaceAccounts(client, NAMES, LIMITS).account_of(who) == ""
        assert server.arrived.empty()


def test_the_account_is_stamped_and_never_changes() -> None:
    circumstances = context(counted_to="alice")
    spec: dict[str, Any] = {"managers": [{"name": ALICE}]}
    for sent in (spec, spec | {"countedTo": "bob"}):
        request = creation(sent, ROBOT)
        made = patched(request.new, mutate(request, POLICY, circumstances).patch)["spec"]
        assert (made["requester"], made["countedTo"]) == (ROBOT, "alice")
    mine = patched(creation(spec).new, mutate(creation(spec), POLICY, context()).patch)["spec"]
    assert "countedTo" not in mine
    kept = update(made, {k: v for k, v in made.items() if k != "countedTo"}, ROBOT)
    assert patched(kept.new, mutate(kept, POLICY, context()).patch)["spec"] == made
    told = validate(update(made, made | {"countedTo": "bob"}), POLICY, context()).errors
    assert [error.path for error in told] == ["spec.countedTo"]


def test_a_creation_without_a_known_account_is_refused_for_now() -> None:
    spec = {"managers": [{"name": ALICE}], "requester": ALICE}
    (told,) = validate(creation(spec), POLICY, context(counted_to=None)).errors[:1]
    assert str(told).startswith("spec.countedTo: Forbidden: it cannot be found out now")


@pytest.mark.parametrize("administrator", [True, False])
def test_only_a_creation_is_refused_for_the_limit(administrator: bool) -> None:
    circumstances = context(limit_exceeded="exceeded limit: x", administrator=administrator)
    spec = {"managers": [{"name": ALICE}], "requester": ALICE}
    made = validate(creation(spec), POLICY, circumstances)
    assert "spec.requester: Forbidden: exceeded limit: x" in map(str, made.errors)
    assert made.limit_exceeded
    changed = validate(update(spec, spec), POLICY, circumstances)
    assert not changed.limit_exceeded
    assert not any("exceeded" in str(error) for error in changed.errors)
