"""What a reconcile of an LCluster decides, and what its status says: without a cluster."""

import asyncio
import base64
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest
from lnamespace import errors
from lnamespace.access.conventions import Conventions
from lnamespace.access.lcluster import POD_SECURITY_ENFORCE, cluster_grant_refs
from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.controller.cache import Cache
from lnamespace.controller.lclusters.api_service import TenantApiService
from lnamespace.controller.lclusters.cache import LClusterKey
from lnamespace.controller.lclusters.charges import ChargeResult, TenantCharges
from lnamespace.controller.lclusters.decision import (
    decide_cluster_grants,
    decide_lcluster,
    decide_revocations,
)
from lnamespace.controller.lclusters.executor import (
    LClusterExecutor,
    describe_namespace,
    describe_remaining,
)
from lnamespace.controller.lclusters.location import GatewayLocation, GatewayLocator
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.lclusters.observer import LClusterObserver
from lnamespace.controller.lclusters.resource import CachedLCluster, read_lcluster
from lnamespace.controller.lclusters.status import (
    LClusterResult,
    build_lcluster_status,
    build_terminating_lcluster_status,
)
from lnamespace.controller.lclusters.tenant_info import TenantInfo
from lnamespace.controller.observation import Lifecycle
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.status import RESERVED_NAME, Refusal
from lnamespace.kube import prefixed
from lnamespace.kube.apply import Applier
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.plan import Delete, NamespacePatch, Write
from lnamespace.kube.prefixed import MOST_WAITING, ClusterObject, PrefixedObjects
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    NAMESPACE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import ObservedObject, read_observed
from lnamespace.kube.taken_names import FRESH, TakenNames
from lnamespace.model.lcluster import (
    SYSTEM_NAMESPACES,
    ChargedNamespace,
    LCluster,
    LClusterLimits,
    LClusterSpec,
    LClusterStatus,
)
from lnamespace.model.lnamespace import DeletionPolicy, Metadata
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING
from lnamespace.model.subject import Member

from tests.unit.support.cluster import cluster
from tests.unit.support.server import client_of, serving

CONVENTIONS = Conventions()
NAMES = CONVENTIONS.names
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = LClusterSpec(users=(Member("ann"),), managers=(Member("ben"),), sudoers=(Member("cem"),))
LCLUSTER = LCluster(
    Metadata("acme", "uid-a", "1", generation=2, finalizers=(NAMES.lcluster_finalizer,)), SPEC
)
SYSTEM = [f"acme-{name}" for name in SYSTEM_NAMESPACES]
EDITOR = [f"create clusterrole{kind}s lnamespace:acme:cluster-editor" for kind in ("", "binding")]


def namespace(name: str, **parts: Any) -> ObservedObject:
    """Return a Namespace of the tenant as it should be, but for the given parts."""
    status = parts.pop("status", {})
    labels = {NAMES.lcluster_label: "acme", POD_SECURITY_ENFORCE: "baseline"}
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "labels": labels,
        "annotations": {NAMES.lcluster_annotation: "uid-a"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    shown = {"metadata": metadata | parts, "status": status}
    return read_observed(json.dumps(shown).encode(), CONVENTIONS.managed_metadata)


def observed(
    *namespaces: ObservedObject, lcluster: LCluster = LCLUSTER, **parts: Any
) -> LClusterObservation:
    places = cluster_grant_refs("acme", (each.key[1] for each in namespaces), CONVENTIONS)
    seen = LClusterObservation(
        "acme",
        CONVENTIONS,
        Lifecycle.ACTIVE,
        CachedLCluster(("", "acme"), 1, lcluster),
        namespaces,
        dict.fromkeys(places),
    )
    return replace(seen, **parts)


def told(actions: Iterable[Write]) -> list[str]:
    return [_told(action) for action in actions]


def _told(action: Write) -> str:
    if isinstance(action, NamespacePatch):
        return f"namespacepatch {action.observed.key[1]}"
    if isinstance(action, Delete):
        return f"delete {action.resource.plural} {action.observed.key[1]}"
    namespace, name = action.desired.key
    where = f"{namespace}/" if namespace else ""
    return f"{type(action).__name__.lower()} {action.desired.resource.plural} {where}{name}"


COMPLETE = tuple(map(namespace, SYSTEM))


def test_a_new_lcluster_is_claimed_and_gets_its_namespaces() -> None:
    new = msgspec.structs.replace(LCLUSTER, metadata=Metadata("acme", "uid-a", "1"))
    decision = decide_lcluster(observed(lcluster=new), NOW)
    assert decision.claim
    assert told(decision.actions) == [*(f"create namespaces {name}" for name in SYSTEM), *EDITOR]
    assert decision.refusal is None


def test_a_refused_lcluster_gets_only_its_editors() -> None:
    decision = decide_lcluster(observed(name_problem="namespaces acme-x exists already"), NOW)
    assert not decision.claim
    assert told(decision.actions) == EDITOR
    assert decision.refusal
    assert "acme-x" in decision.refusal.message


def test_an_lcluster_over_the_limit_gets_only_its_editors_and_a_reason() -> None:
    seen = observed(limit_exceeded="exceeded limit: x")
    decision = decide_lcluster(seen, NOW)
    assert (told(decision.actions), decision.claim) == (EDITOR, False)
    status = build_lcluster_status(seen, LClusterResult(refusal=decision.refusal), LOCATION, NOW)
    ready = status.condition("Ready")
    assert ready
    assert (ready.status, ready.reason, ready.message) == (
        "False",
        "LimitExceeded",
        "exceeded limit: x",
    )
    assert (status.address, status.namespaces) == ("", 0)


def test_an_unavailable_name_is_reported_before_the_exceeded_limit() -> None:
    seen = observed(name_problem="it is taken", limit_exceeded="exceeded limit: x")
    refusal = decide_lcluster(seen, NOW).refusal
    assert refusal
    assert refusal.reason == RESERVED_NAME


def test_no_namespaces_are_created_before_the_name_is_known_to_be_free() -> None:
    decision = decide_lcluster(observed(failures=(errors.Unreachable("no answer"),)), NOW)
    assert (told(decision.actions), decision.claim) == (EDITOR, False)


def test_editors_are_the_managers_and_the_sudoers() -> None:
    *_, binding = decide_lcluster(observed(*COMPLETE), NOW).actions
    assert not isinstance(binding, NamespacePatch | Delete)
    assert [subject.name for subject in binding.desired.object.subjects] == ["ben", "cem"]


@pytest.mark.parametrize(
    ("parts", "repaired"),
    [
        ({}, False),
        ({"labels": {NAMES.lcluster_label: "acme", POD_SECURITY_ENFORCE: "restricted"}}, False),
        ({"labels": {NAMES.lcluster_label: "acme", POD_SECURITY_ENFORCE: "privileged"}}, True),
        ({"labels": {NAMES.lcluster_label: "acme"}}, True),
        ({"labels": {POD_SECURITY_ENFORCE: "baseline"}}, True),
        ({"annotations": {}}, True),
        ({"annotations": {NAMES.lcluster_annotation: "uid-b"}}, False),
        ({"labels": {}, "annotations": {}}, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {}}, False),
    ],
)
def test_the_metadata_of_a_namespace_are_repaired(parts: dict[str, Any], repaired: bool) -> None:
    one = namespace("acme-prod", **parts)
    actions = told(decide_lcluster(observed(*COMPLETE, one), NOW).actions)
    assert ("namespacepatch acme-prod" in actions) == repaired


def test_a_repair_of_metadata_keeps_a_stricter_pod_security_level() -> None:
    one = namespace("acme-prod", labels={POD_SECURITY_ENFORCE: "restricted"})
    (patch,) = (
        action
        for action in decide_lcluster(observed(*COMPLETE, one), NOW).actions
        if isinstance(action, NamespacePatch)
    )
    assert patch.labels == {NAMES.lcluster_label: "acme"}


def test_the_account_is_bound_in_every_namespace_of_the_tenant_and_in_no_other() -> None:
    own = namespace("acme-prod", annotations={})
    foreign = namespace("acme-x", labels={}, annotations={})
    earlier = namespace("acme-old", annotations={NAMES.lcluster_annotation: "uid-b"})
    ends = namespace("acme-end", deletionTimestamp="2026-01-01T00:00:00Z")
    grants = decide_cluster_grants(observed(own, foreign, earlier, ends))
    assert told(grants) == ["create rolebindings acme-prod/lcluster:account"]
    (grant,) = grants
    assert not isinstance(grant, Delete)
    (account,) = grant.desired.object.subjects
    assert (account.namespace, account.name) == ("lnamespace-clusters", "acme")
    assert grant.desired.object.role_ref == msgspec.convert(
        {"kind": "ClusterRole", "name": "cluster-admin"}, type(grant.desired.object.role_ref)
    )


def test_the_oldest_and_already_bound_namespaces_are_bound_up_to_the_limit() -> None:
    """Replicas of the gateway do not share the count by which they refuse creations."""
    limited = replace(CONVENTIONS, content_limits=ContentLimits(namespaces=6))
    young = namespace("acme-a", creationTimestamp="2026-01-03T00:00:00Z")
    old = namespace("acme-b", creationTimestamp="2026-01-02T00:00:00Z")
    used = namespace("acme-c", creationTimestamp="2026-01-04T00:00:00Z")
    seen = observed(young, old, used, *COMPLETE, conventions=limited)
    place = ROLE_BINDING, (used.key[1], CLUSTER_ACCOUNT_BINDING)
    seen = replace(seen, objects={**seen.objects, place: namespace(CLUSTER_ACCOUNT_BINDING)})
    bound = ["acme-b", "acme-c", *SYSTEM]
    granted = [
        each
        for each in decide_cluster_grants(seen)
        if not isinstance(each, NamespacePatch | Delete)
    ]
    assert sorted(each.desired.key[0] for each in granted) == sorted(bound)
    raised = LClusterSpec(limits=LClusterLimits(namespaces=7))
    more = msgspec.structs.replace(LCLUSTER, spec=raised)
    seen = replace(seen, cached=CachedLCluster(("", "acme"), 1, more))
    assert len(decide_cluster_grants(seen)) == len(bound) + 1


def test_a_limit_revokes_no_binding_and_always_allows_the_system_namespaces() -> None:
    limited = replace(CONVENTIONS, content_limits=ContentLimits(namespaces=1))
    assert len(decide_cluster_grants(observed(*COMPLETE, conventions=limited))) == len(SYSTEM)
    more = namespace("acme-more")
    seen = observed(*COMPLETE, more, conventions=limited)
    places = [(ROLE_BINDING, (each.key[1], CLUSTER_ACCOUNT_BINDING)) for each in (*COMPLETE, more)]
    held = dict.fromkeys(places, namespace(CLUSTER_ACCOUNT_BINDING))
    seen = replace(seen, objects={**seen.objects, **held})
    assert len(decide_cluster_grants(seen)) == len(SYSTEM) + 1


def test_a_terminating_lcluster_keeps_its_rights_until_its_namespaces_are_gone() -> None:
    """Without rights its operators could not remove their finalizers, and it never ended."""
    held = namespace(CLUSTER_ACCOUNT_BINDING)
    foreign = namespace("acme-x", labels={}, annotations={})
    ends = namespace("acme-end", deletionTimestamp=DELETED)
    seen = observed(*COMPLETE, foreign, ends, lifecycle=Lifecycle.TERMINATING)
    editor = CLUSTER_ROLE_BINDING, ("", NAMES.cluster_editor("acme"))
    own_groups = CLUSTER_ROLE_BINDING, ("", NAMES.cluster_resources("acme"))
    account = ROLE_BINDING, (SYSTEM[0], CLUSTER_ACCOUNT_BINDING)
    objects = dict.fromkeys((editor, own_groups, account), held)
    seen = replace(seen, objects={**seen.objects, **objects})
    assert told(decide_lcluster(seen, NOW).actions) == [
        "delete clusterrolebindings lcluster:account",
        *(f"delete namespaces {name}" for name in SYSTEM),
    ]
    assert len(decide_revocations(seen)) == len(objects)


def test_retained_namespaces_are_kept_and_lose_the_account_binding_at_once() -> None:
    spec = msgspec.structs.replace(SPEC, deletion_policy=DeletionPolicy.RETAIN)
    retained = msgspec.structs.replace(LCLUSTER, spec=spec)
    seen = observed(*COMPLETE, lcluster=retained, lifecycle=Lifecycle.TERMINATING)
    held = namespace(CLUSTER_ACCOUNT_BINDING)
    editor = CLUSTER_ROLE_BINDING, ("", NAMES.cluster_editor("acme"))
    account = ROLE_BINDING, (SYSTEM[0], CLUSTER_ACCOUNT_BINDING)
    seen = replace(seen, objects={**seen.objects, **dict.fromkeys((editor, account), held)})
    actions = decide_lcluster(seen, NOW).actions
    assert sorted(told(actions)) == [
        "delete clusterrolebindings lcluster:account",
        "delete rolebindings lcluster:account",
    ]


CONTENT, FAILURE = "NamespaceContentRemaining", "NamespaceDeletionContentFailure"
DISCOVERY = "NamespaceDeletionDiscoveryFailure"
DELETED = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("lifecycle", [Lifecycle.ACTIVE, Lifecycle.TERMINATING])
@pytest.mark.parametrize(
    ("content", "failure", "message", "patched"),
    [
        ("False", "True", "Failed to delete all resource types, 1 remaining: rolebindings", True),
        ("False", "True", "Failed to delete all resource types, 2 remaining: carts ...", False),
        ("False", "True", "in words of another version", True),
        ("True", "True", "Failed to delete all resource types, 1 remaining: rolebindings", False),
        ("False", "False", "All content successfully deleted", False),
    ],
)
def test_a_namespace_is_marked_empty_when_only_the_account_binding_remains(
    content: str, failure: str, message: str, patched: bool, lifecycle: Lifecycle
) -> None:
    annotations = {NAMES.lcluster_annotation: "uid-a", NAMES.lcluster_emptied_annotation: "true"}
    conditions = [
        {"type": CONTENT, "status": content, "message": "m"},
        {"type": FAILURE, "status": failure, "message": message},
    ]
    status = {"conditions": conditions}
    ends = namespace("acme-end", deletionTimestamp=DELETED, status=status)
    actions = decide_lcluster(observed(*COMPLETE, ends, lifecycle=lifecycle), NOW).actions
    assert ("namespacepatch acme-end" in told(actions)) is patched
    young = namespace("acme-end", deletionTimestamp=DELETED, annotations={}, status=status)
    seen = observed(*COMPLETE, young, lifecycle=lifecycle)
    patches = [
        each for each in decide_lcluster(seen, NOW).actions if isinstance(each, NamespacePatch)
    ]
    assert [each.annotations for each in patches] == ([annotations] if patched else [])
    stays = namespace("acme-end", status=status)
    assert not stays.emptied
    done = namespace("acme-end", deletionTimestamp=DELETED, annotations=annotations, status=status)
    seen = observed(*COMPLETE, done, lifecycle=lifecycle)
    assert "namespacepatch acme-end" not in told(decide_lcluster(seen, NOW).actions)


@pytest.mark.parametrize(
    ("kind", "status", "message", "fails"),
    [
        (DISCOVERY, "True", "1 failing: unable to retrieve ... beta-x.io/v1", True),
        (FAILURE, "True", "Failed to delete all resource types, 2 remaining: carts ...", True),
        (FAILURE, "True", "Failed to delete all resource types, 1 remaining: rolebindings", False),
        (FAILURE, "False", "All content successfully deleted", False),
    ],
)
def test_a_namespace_that_kubernetes_fails_to_delete_is_said_to_wait_for_it(
    kind: str, status: str, message: str, fails: bool
) -> None:
    """Without words of others: everybody may read an LCluster."""
    conditions = [
        {"type": CONTENT, "status": "False", "message": "m"},
        {"type": kind, "status": status, "message": message},
    ]
    ends = namespace("acme-end", deletionTimestamp=DELETED, status={"conditions": conditions})
    why = " (Kubernetes fails to delete it: its conditions say why)" if fails else ""
    assert describe_namespace(ends) == f"namespaces acme-end{why}"


def test_the_deletion_of_an_unclaimed_lcluster_deletes_no_namespace() -> None:
    unclaimed = msgspec.structs.replace(LCLUSTER, metadata=Metadata("acme", "uid-a", "1"))
    seen = observed(*COMPLETE, lcluster=unclaimed, lifecycle=Lifecycle.TERMINATING)
    assert decide_lcluster(seen, NOW).actions == ()


def test_a_finalizer_written_by_a_user_does_not_prove_that_the_name_was_free() -> None:
    assert not observed().established
    assert not observed(namespace("acme-x", annotations={})).established
    assert observed(namespace("acme-x")).established


PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
LOCATION = GatewayLocation("https://gateway.example.com/", PEM)


def result(**parts: Any) -> LClusterResult:
    charged = ChargeResult((ChargedNamespace("acme-default", "u"),))
    return replace(LClusterResult(charges=charged), **parts)


def reasons(status: LClusterStatus) -> dict[str, str]:
    return {each.type: each.reason for each in status.conditions}


def test_a_complete_lcluster_is_ready() -> None:
    status = build_lcluster_status(observed(*COMPLETE), result(), LOCATION, NOW)
    assert reasons(status) == {
        "Ready": "Ready",
        "NamespacesReady": "Created",
        "AccessReady": "AsListed",
        "BillingRecorded": "Recorded",
    }
    assert (status.namespaces, status.address) == (4, "https://gateway.example.com/clusters/acme")
    known = msgspec.structs.replace(LCLUSTER, status=status)
    later = datetime(2026, 1, 2, tzinfo=UTC)
    again = build_lcluster_status(observed(*COMPLETE, lcluster=known), result(), LOCATION, later)
    assert again == status


def test_the_status_states_the_address_and_the_ca_of_the_api_server() -> None:
    status = build_lcluster_status(observed(*COMPLETE), result(), LOCATION, NOW)
    assert status.address == "https://gateway.example.com/clusters/acme"
    assert base64.b64decode(status.ca_bundle).decode() == PEM
    trusted = replace(LOCATION, authorities="")
    assert build_lcluster_status(observed(*COMPLETE), result(), trusted, NOW).ca_bundle == ""
    nowhere = GatewayLocation(authorities=PEM)
    status = build_lcluster_status(observed(*COMPLETE), result(), nowhere, NOW)
    assert (status.address, status.ca_bundle) == ("", "")


def test_the_status_keeps_the_address_while_the_location_is_unknown() -> None:
    """Otherwise a starting controller would remove the address and restore it a moment later."""
    told_before = build_lcluster_status(observed(*COMPLETE), result(), LOCATION, NOW)
    known = msgspec.structs.replace(LCLUSTER, status=told_before)
    again = build_lcluster_status(observed(*COMPLETE, lcluster=known), result(), None, NOW)
    assert again == told_before
    assert build_lcluster_status(observed(*COMPLETE), result(), None, NOW).address == ""


async def test_the_ca_of_a_self_signing_gateway_is_read_from_its_config_map() -> None:
    async with serving() as server, client_of(server.url) as client:
        locator = GatewayLocator(client, GatewayLocation("https://g.example.com"), "public/gateway")
        assert locator.current is None
        for data in ({}, {"data": {"mine": "https://g.example.com/mine"}}):
            reading = asyncio.create_task(locator.refresh())
            request = await server.next("GET")
            assert request.path == "/api/v1/namespaces/public/configmaps/gateway"
            request.answer(data)
            await reading
            assert locator.current is None
        changed = asyncio.Event()

        async def note() -> None:
            changed.set()

        keeping = asyncio.create_task(locator.run(note))
        (await server.next("GET")).answer({"data": {"ca.crt": PEM}})
        await changed.wait()
        assert locator.current == GatewayLocation("https://g.example.com", PEM)
        keeping.cancel()
        reading = asyncio.create_task(locator.refresh())
        (await server.next("GET")).refuse(403, "Forbidden")
        await reading
        assert locator.current == GatewayLocation("https://g.example.com", PEM)


async def test_a_gateway_location_with_a_configured_ca_is_known_at_once() -> None:
    async with client_of("http://127.0.0.1:1") as client:
        assert GatewayLocator(client, LOCATION).current == LOCATION


@pytest.mark.parametrize(
    ("namespaces", "parts", "reason"),
    [
        (COMPLETE, {"refusal": Refusal(RESERVED_NAME, "It is taken.")}, "ReservedName"),
        (COMPLETE[1:], {}, "Progressing"),
        (COMPLETE[1:], {"failures": (errors.Invalid("no"),)}, "Invalid"),
        ((*COMPLETE, namespace("acme-x", labels={}, annotations={})), {}, "Conflict"),
        (
            (*COMPLETE[1:], namespace(SYSTEM[0], deletionTimestamp="2026-01-01T00:00:00Z")),
            {},
            "NamespaceTerminating",
        ),
        (COMPLETE, {"charges": ChargeResult((), (errors.Unreachable("no"),))}, "Unreachable"),
    ],
)
def test_the_status_states_why_an_lcluster_is_not_ready(
    namespaces: tuple[ObservedObject, ...], parts: dict[str, Any], reason: str
) -> None:
    status = build_lcluster_status(observed(*namespaces), result(**parts), GatewayLocation(), NOW)
    ready = status.condition("Ready")
    assert ready
    assert (ready.status, ready.reason) == ("False", reason)


def test_charged_namespaces_are_kept_in_the_status_if_no_charge_was_recorded() -> None:
    charged = (ChargedNamespace("acme-default", "u"),)
    known = msgspec.structs.replace(LCLUSTER, status=LClusterStatus(charged=charged))
    status = build_lcluster_status(
        observed(lcluster=known), LClusterResult(), GatewayLocation(), NOW
    )
    assert status.charged == charged


def test_the_status_of_a_terminating_lcluster_names_the_remaining_objects() -> None:
    remaining = ("namespaces acme-default", "clusterroles acme-x")
    status = build_terminating_lcluster_status(
        observed(*COMPLETE), result(remaining=remaining), NOW
    )
    ready = status.condition("Ready")
    assert ready
    assert ready.message.endswith("namespaces acme-default, clusterroles acme-x.")


class Listings:
    """Cluster-scoped objects, and how often they were listed."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.times = 0

    async def everything(self, _: Iterable[Resource]) -> tuple[ClusterObject, ...]:
        self.times += 1
        return tuple(
            ClusterObject(CLUSTER_ROLE, PartialMetadata("1", name=name)) for name in self.names
        )


async def test_one_list_request_serves_many_new_lclusters() -> None:
    listings = Listings("acme-x")
    taken = TakenNames(cast("PrefixedObjects", listings))
    for name in ("a1-", "a2-", "acm-"):
        assert await taken.with_prefix(name) == ()
    assert listings.times == 1
    assert [str(each) for each in await taken.with_prefix("acme-")] == ["clusterroles acme-x"]


async def test_lclusters_that_wait_for_a_listing_share_it() -> None:
    """Where it took longer than it was good for, each that had waited for it listed again."""
    now = 0.0

    class SlowListings(Listings):
        async def everything(self, kinds: Iterable[Resource]) -> tuple[ClusterObject, ...]:
            nonlocal now
            await asyncio.sleep(0)
            now += 3 * FRESH
            return await super().everything(kinds)

    listings = SlowListings()
    taken = TakenNames(cast("PrefixedObjects", listings), clock=lambda: now)
    await asyncio.gather(*(taken.with_prefix(f"a{number}-") for number in range(10)))
    assert listings.times == 1
    await taken.with_prefix("later-")
    assert listings.times == 2


async def test_a_deleted_object_does_not_block_a_name() -> None:
    listings = Listings("acme-x")
    taken = TakenNames(cast("PrefixedObjects", listings))
    assert await taken.with_prefix("acme-")
    listings.names = ()
    assert await taken.with_prefix("acme-") == ()


@pytest.mark.parametrize(
    ("resource", "name", "begins"),
    [
        (CLUSTER_ROLE, "acme-x", True),
        (CLUSTER_ROLE, "acmex", False),
        (CUSTOM_RESOURCE_DEFINITION, "widgets.acme-example.com", True),
        (CUSTOM_RESOURCE_DEFINITION, "acme-widgets.example.com", False),
    ],
)
def test_the_prefix_of_a_definition_is_looked_for_in_its_group(
    resource: Resource, name: str, begins: bool
) -> None:
    found = ClusterObject(resource, PartialMetadata("1", name=name))
    assert found.begins_with("acme-") == begins


def test_a_definition_that_waits_for_objects_elsewhere_says_how_to_find_them() -> None:
    """An object in a namespace of another LCluster kept an LCluster, and nothing told which."""
    name = "nests.acme-example.com"
    ending = PartialMetadata("1", name=name, deletion_timestamp="2026-11-26T09:00:00Z")
    told = describe_remaining(ClusterObject(CUSTOM_RESOURCE_DEFINITION, ending))
    assert f"kubectl get {name} --all-namespaces" in told
    begun = ClusterObject(CUSTOM_RESOURCE_DEFINITION, PartialMetadata("1", name=name))
    assert describe_remaining(begun) == f"customresourcedefinitions {name}"


@pytest.mark.parametrize("stay", [True, False], ids=["with finalizers", "without"])
async def test_a_sweep_leaves_workers_of_the_api_server_for_others(
    stay: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five workers each waits a minute for the objects of one definition, if they stay."""
    monkeypatch.setattr(prefixed, "_TICK", 0.0)
    path, group = CUSTOM_RESOURCE_DEFINITION.path(), "acme-example.com"
    there = {f"{path}/{name}.{group}": name for name in "abcdef"}
    deleted: list[str] = []

    class Server:
        async def get(self, asked: str, **_: str) -> bytes:
            if asked not in there:
                raise errors.NotFound("no such path", status=404)
            return b"{}"

        async def list_metadata(self, asked: str, **_: str) -> bytes:
            if asked != path:
                raise errors.NotFound("no such path", status=404)
            items = [
                {"metadata": {"name": f"{name}.{group}", "uid": name, "resourceVersion": "1"}}
                for name in there.values()
            ]
            return msgspec.json.encode({"metadata": {}, "items": items})

        async def delete(self, asked: str, uid: str) -> bytes:
            deleted.append(uid)
            if not stay:
                del there[asked]
            return b"{}"

    found = await PrefixedObjects(cast(Any, Server()), NAMES.lcluster_label).sweep("acme")
    assert len(found) == 6
    assert deleted == [*"abcdef"][: MOST_WAITING if stay else None]


async def test_a_sweep_deletes_objects_of_kinds_that_are_served_in_beta_alone() -> None:
    """Kubernetes 1.34 has such policies in v1beta1, and they outlived their LCluster."""
    group, deleted = "/apis/admissionregistration.k8s.io", []
    kind = "mutatingadmissionpolicies"
    policy = {"name": "acme-p", "uid": "u", "resourceVersion": "1"}
    documents: dict[str, Any] = {
        group: {"versions": [{"version": "v1"}, {"version": "v1beta1"}]},
        f"{group}/v1beta1": {"resources": [{"name": kind}]},
        f"{group}/v1beta1/{kind}": {"metadata": {}, "items": [{"metadata": policy}]},
    }

    class Beta:
        async def get(self, path: str, **_: str) -> bytes:
            if path not in documents:
                raise errors.NotFound("no such path", status=404)
            return msgspec.json.encode(documents[path])

        list_metadata = get

        async def delete(self, path: str, uid: str) -> bytes:
            deleted.append((path, uid))
            return b"{}"

    await PrefixedObjects(cast(Any, Beta()), NAMES.lcluster_label).sweep("acme")
    assert deleted == [(f"{group}/v1beta1/{kind}/acme-p", "u")]


class Desk:
    """A cache, and the keys that its news puts into the queue."""

    def __init__(self) -> None:
        self.queue: WorkQueue[Any] = WorkQueue()
        self.cache = Cache(CONVENTIONS, self.queue)

    async def keys(self) -> list[Any]:
        found = []
        while len(self.queue):
            found.append(await self.queue.get())
            self.queue.done(found[-1])
        return found

    def lcluster(self, lcluster: LCluster = LCLUSTER) -> None:
        self.cache.lclusters.lclusters.apply_event(read_lcluster(msgspec.json.encode(lcluster)))


async def test_namespaces_and_bindings_of_a_tenant_enqueue_its_lcluster() -> None:
    desk = Desk()
    desk.lcluster()
    assert await desk.keys() == [LClusterKey("acme")]
    desk.cache.objects[NAMESPACE].apply_event(namespace("acme-prod"))
    desk.cache.objects[NAMESPACE].apply_event(namespace("other-prod", labels={}, annotations={}))
    assert await desk.keys() == [LClusterKey("acme")]
    assert [each.key[1] for each in desk.cache.lclusters.namespaces_of("acme")] == ["acme-prod"]
    assert desk.cache.lclusters.key_of_rbac_object("acme-prod", "lcluster:account") == LClusterKey(
        "acme"
    )
    assert desk.cache.lclusters.key_of_rbac_object("acme-prod", "lnamespace-users") is None
    desk.cache.objects[NAMESPACE].remove(("", "acme-prod"), 9)
    assert await desk.keys() == [LClusterKey("acme")]
    assert desk.cache.lclusters.namespaces_of("acme") == ()


def test_a_name_belongs_to_an_lcluster_by_a_claim_or_a_label() -> None:
    desk = Desk()
    assert not desk.cache.lclusters.owns_name("acme-prod")
    desk.lcluster(msgspec.structs.replace(LCLUSTER, metadata=Metadata("acme", "uid-a", "1")))
    assert not desk.cache.lclusters.owns_name("acme-prod")
    desk.lcluster(
        msgspec.structs.replace(
            LCLUSTER, metadata=msgspec.structs.replace(LCLUSTER.metadata, resource_version="2")
        )
    )
    assert desk.cache.lclusters.owns_name("acme-prod")
    desk.cache.objects[NAMESPACE].apply_event(namespace("beta-prod"))
    assert desk.cache.lclusters.owns_name("beta-prod")


def test_an_lcluster_that_breaks_its_schema_keeps_its_status_and_class() -> None:
    found = read_lcluster(
        b"""{"metadata": {"name": "acme", "resourceVersion": "7"},
      "spec": {"className": "x", "users": 3}, "status": {"namespaces": 4}}"""
    )
    assert found.problem
    assert found.lcluster.status.namespaces == 4
    assert found.of_class("x")


async def test_no_objects_are_created_for_an_lcluster_deleted_before_the_claim() -> None:
    new = msgspec.structs.replace(LCLUSTER, metadata=Metadata("acme", "uid-a", "1"))
    seen = observed(lcluster=new)
    async with cluster() as made, client_of(made.url) as client:
        cache = Desk().cache
        applier = Applier(client, cache.objects, CONVENTIONS.managed_metadata, 8)
        objects = PrefixedObjects(client, NAMES.lcluster_label)
        executor = LClusterExecutor(
            client,
            cache,
            LClusterObserver(cache, applier, TakenNames(objects), CONVENTIONS),
            applier,
            objects,
            TenantCharges(BillingRecorder(client, NAMES)),
            TenantApiService(client),
            TenantInfo(client),
            CONVENTIONS,
        )
        _, result = await executor.execute(seen, decide_lcluster(seen, NOW))
        assert made.objects == {}
    assert [type(each) for each in result.failures] == [errors.NotFound]
