"""Who loses their rights loses what they had opened: watches, exec, port-forwards."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from lnamespace.gateway.audit import RequestRecord
from lnamespace.gateway.authentication.logins import Login
from lnamespace.gateway.destinations import Destination
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.forwarding import Forwarder
from lnamespace.gateway.refusals import refuse_suspended
from lnamespace.gateway.requests.answer_encoders import JsonEncoder
from lnamespace.gateway.requests.answers import answer_json
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.serving import Gateway, InboundRequest
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.namespaces import TenantNamespaces, WatchedObject, read_watched
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.tenants.totals import TenantTotals
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.gateway.watches.watching import Watcher
from lnamespace.http.messages import HttpRequest
from lnamespace.kube.resources import RBAC
from lnamespace.model.lcluster import LCluster, LClusterSpec, Suspension
from lnamespace.model.lnamespace import Metadata
from lnamespace.model.names import Names
from lnamespace.model.subject import Member
from lnamespace.rbac.objects import decode_role
from lnamespace.translate.objects.synthetic_objects import is_synthetic
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType, ServingPolicy
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.server import DEADLINE
from tests.unit.support.translation import ACME, asked

ANN = (Member("ann"),)
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
CLUSTER_ADMIN = {"metadata": {"name": "cluster-admin"}, "rules": [EVERYTHING]}
PUBLISHED = {"cluster-admin": decode_role(json.dumps(CLUSTER_ADMIN).encode())}


def tenant_of(**spec: Any) -> ServedTenant:
    cluster = LCluster(Metadata("acme", "uid-a", "1"), LClusterSpec(users=ANN, **spec))
    return ServedTenant(cluster, ACME, PUBLISHED)


async def test_the_expiry_of_a_sudoers_entry_counts_as_a_change() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    async with asyncio.timeout(DEADLINE):
        await tenant_of(sudoers=(Member("ann", expires_at=soon),)).changed()


async def test_an_unexpired_sudoers_entry_counts_as_no_change() -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await tenant_of(sudoers=(Member("ann", expires_at=later),)).changed()


async def test_the_deletion_of_an_lcluster_wakes_its_open_requests() -> None:
    tenants = Tenants(cast(Any, None), cast(Any, None), Names())
    tenants._tenants["acme"] = tenant = tenant_of()  # noqa: SLF001
    waiting = asyncio.create_task(tenant.changed())
    await asyncio.sleep(0)
    gone = cast(Any, type("Gone", (), {"name": "acme"})())
    tenants._cluster_changed(gone, None)  # noqa: SLF001
    async with asyncio.timeout(DEADLINE):
        await waiting
    assert tenants.get("acme") is None


async def test_a_definition_in_one_lcluster_wakes_no_open_request_of_another() -> None:
    """Each watch of each LCluster was confirmed anew whenever anybody made a definition."""
    tenants = Tenants(cast(Any, None), cast(Any, None), Names())
    tenants._tenants["acme"] = tenant = tenant_of()  # noqa: SLF001
    tenants._renew_views()  # noqa: SLF001
    waiting = asyncio.create_task(tenant.changed())
    await asyncio.sleep(0)
    tenants._renew_views()  # noqa: SLF001
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward", "proxy"])
def test_streaming_subresources_opened_by_get_are_refused_in_a_suspended_lcluster(
    subresource: str,
) -> None:
    request = asked("pods", "get", name="web", subresource=subresource)
    with pytest.raises(Refused) as refused:
        refuse_suspended(tenant_of(suspend=Suspension.READ_ONLY), request)
    assert refused.value.status.code == 403


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
def test_writes_to_a_suspended_lcluster_are_refused(verb: str) -> None:
    with pytest.raises(Refused):
        refuse_suspended(tenant_of(suspend=Suspension.READ_ONLY), asked("pods", verb))


@pytest.mark.parametrize("subresource", ["", "log", "status"])
@pytest.mark.parametrize("verb", ["get", "list", "watch"])
def test_reads_of_a_suspended_lcluster_are_allowed(verb: str, subresource: str) -> None:
    request = asked("pods", verb, subresource=subresource)
    refuse_suspended(tenant_of(suspend=Suspension.READ_ONLY), request)


class Answered:
    """Take an answer in."""

    status = 0
    body = b""

    async def answer(self, status: int, headers: Any, body: bytes) -> None:
        """Note the answer."""
        del headers
        self.status, self.body = status, body


async def test_a_plain_text_error_keeps_its_status_code_and_loses_its_text() -> None:
    answered = Answered()
    call = TenantCall(cast(Any, answered), asked("pods", "list"), ACME, "ann", (), JsonEncoder())
    text = (("content-type", "text/plain; charset=utf-8"), ("retry-after", "1"))
    await answer_json(call, 429, text, b"Too many requests of beta-secret")
    assert answered.status == 429
    assert b'"reason":"TooManyRequests"' in answered.body
    await answer_json(call, 502, text, b"no endpoint 10.0.0.7 of beta-secret")
    assert answered.status == 502
    assert b"beta" not in answered.body


async def test_a_tenant_with_too_many_watches_is_answered_with_429() -> None:
    watcher = Watcher(cast(Any, None), ResumeLog())
    namespaces = TenantNamespaces()
    for number in range(30):
        namespaces.add(f"acme-{number}")
    watcher.counts.running["acme"] = 980
    call = TenantCall(cast(Any, None), asked("pods", "watch", namespace=""), ACME, "ann")
    with pytest.raises(Refused) as refused:
        await watcher.watch(call, namespaces)
    assert refused.value.status.code == 429
    assert watcher.counts.running["acme"] == 980


async def test_waiting_for_other_resources_ends_on_new_resources_but_not_on_new_rights() -> None:
    tenant = tenant_of()
    waiting = asyncio.create_task(tenant.other_resources(ACME.resources))
    await asyncio.sleep(0)
    tenant.end()
    await asyncio.sleep(0)
    assert not waiting.done()
    tenant.set_view(replace(ACME, resources=ResourceTable()), {})
    async with asyncio.timeout(DEADLINE):
        await waiting


class Endless:
    """Forward calls that never end."""

    begun = False

    async def forward(self, *_: Any) -> None:
        """Wait for ever."""
        self.begun = True
        await asyncio.Event().wait()


def gateway_with(forwarder: Any, tenant: ServedTenant) -> Gateway:
    nothing = cast(Any, None)
    tenants = Tenants(nothing, nothing, Names())
    tenants._tenants["acme"] = tenant  # noqa: SLF001
    return Gateway("", tenants, nothing, forwarder, *(nothing,) * 6)


class Sent:
    """A request without a word of whom its sender acts as."""

    request = HttpRequest("GET", "/", ())


def asks_of(tenant: ServedTenant, login: Login) -> InboundRequest:
    nothing = cast(Any, None)
    return InboundRequest(cast(Any, Sent()), nothing, tenant, login, nothing)


def may_do_all(user: str) -> WatchedObject:
    subject = {"kind": "User", "name": f"lcluster:acme:{user}", "apiGroup": RBAC}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "acme-all", "labels": {Names().lcluster_label: "acme"}},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    return read_watched(json.dumps(binding).encode())


async def test_a_watch_of_a_disconnected_client_leaves_no_task_running() -> None:
    request, tenant, endless = asked("pods", "watch"), tenant_of(), Endless()
    tenant.put("clusterrolebindings", may_do_all("ann"))
    asks = asks_of(tenant, Login("ann"))
    call = TenantCall(asks.exchange, request, ACME, "ann")
    gateway = gateway_with(endless, tenant)
    before = asyncio.all_tasks()
    work = asyncio.create_task(gateway._forward_while_allowed(asks, call))  # noqa: SLF001
    await asyncio.sleep(0.01)
    assert endless.begun
    work.cancel()
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before


async def test_an_expired_client_certificate_ends_the_streams_opened_with_it() -> None:
    request = asked("pods", "create", name="web", subresource="exec")
    ends = datetime.now(UTC) + timedelta(seconds=0.1)
    login = Login("ann", tenant="acme", lcluster_uid="uid-a", ends=ends)
    tenant, endless = tenant_of(), Endless()
    tenant.put("clusterrolebindings", may_do_all("ann"))
    asks = asks_of(tenant, login)
    call = TenantCall(asks.exchange, request, ACME, "ann")
    gateway = gateway_with(endless, tenant)
    with pytest.raises(Refused) as refused:
        async with asyncio.timeout(DEADLINE):
            await gateway._forward_while_allowed(asks, call)  # noqa: SLF001
    assert endless.begun
    assert refused.value.status.code == 401


async def test_a_queued_request_is_refused_if_its_user_lost_access_meanwhile() -> None:
    """It was admitted before it waited for its turn, and not asked about after."""
    request, tenant, endless = asked("pods", "get", name="web"), tenant_of(), Endless()
    asks = asks_of(tenant, Login("ann"))
    tenant.set_lcluster(LCluster(tenant.cluster.metadata, LClusterSpec()))
    with pytest.raises(Refused) as refused:
        await gateway_with(endless, tenant)._authorize_and_answer(asks, RequestUsage(), request)  # noqa: SLF001
    assert refused.value.status.code == 403
    assert not endless.begun


class Silent:
    """Open watches that tell nothing, and count the watches that clients have begun."""

    begun = 0
    request = HttpRequest("GET", "/", ())

    async def start(self, *_: Any) -> None:
        """Count an answer that has begun."""
        self.begun += 1

    async def send(self, *_: Any, **__: Any) -> Any:
        """Take an event in, or wait for a watch upstream for ever."""
        if len(_) > 1:
            await asyncio.Event().wait()

    async def end(self) -> None:
        """Note nothing."""


async def test_namespaces_added_to_a_running_watch_count_towards_the_watch_limit() -> None:
    client = Silent()
    watcher = Watcher(cast(Any, client), ResumeLog())
    namespaces = TenantNamespaces()
    namespaces.add("acme-one")
    call = TenantCall(cast(Any, client), asked("pods", "watch", namespace=""), ACME, "ann")
    watcher.counts.running["acme"] = 997
    watching = asyncio.create_task(watcher.watch(call, namespaces))
    await asyncio.sleep(0.01)
    for number in range(2):
        namespaces.add(f"acme-{number}")
    assert watcher.counts.running["acme"] == 1000
    await asyncio.sleep(0.01)
    assert not watching.done()
    namespaces.add("acme-last")
    async with asyncio.timeout(DEADLINE):
        await watching
    assert watcher.counts.running["acme"] == 997


async def test_watches_of_synthetic_objects_count_towards_the_watch_limit() -> None:
    watcher = Watcher(cast(Any, None), ResumeLog())
    watcher.counts.running["acme"] = 1000
    nodes = ResourceType("", "nodes", "Node", namespaced=False, policy=ServingPolicy.SHARED)
    request = ResourceRequest("watch", nodes, "v1")
    assert is_synthetic(request)
    call = TenantCall(cast(Any, None), request, ACME, "ann")
    nothing = cast(Any, None)
    others = [nothing] * 6
    forwarder = Forwarder(nothing, nothing, watcher, *others)
    with pytest.raises(Refused) as refused:
        await forwarder.forward(call, TenantNamespaces(), TenantTotals())
    assert refused.value.status.code == 429


async def refused_to(login: Login) -> str:
    tenants = Tenants(cast(Any, None), cast(Any, None), Names())
    tenants._tenants["acme"] = tenant_of()  # noqa: SLF001

    class Authenticated:
        async def login(self, *_: Any) -> Login:
            return login

    class Client:
        request = HttpRequest("GET", "/clusters/acme/api", ())
        connection = cast(Any, type("Connection", (), {"server_name": "", "certificate": b""}))

    nothing = cast(Any, None)
    gateway = Gateway("", tenants, cast(Any, Authenticated()), *(nothing,) * 7)
    to = Destination("acme", "/api", "/clusters/acme")
    with pytest.raises(Refused) as refused:
        await gateway._authenticate(cast(Any, Client()), to, RequestRecord())  # noqa: SLF001
    return refused.value.status.message


@pytest.mark.parametrize(("tenant", "uid"), [("acme", "uid-earlier"), ("beta", "uid-b")])
async def test_a_refusal_explains_that_the_certificate_belongs_to_another_lcluster(
    tenant: str, uid: str
) -> None:
    message = await refused_to(Login("robot", tenant=tenant, lcluster_uid=uid))
    assert "issued in another LCluster, or in an earlier one of this name" in message
    assert "kubectl lns grant" not in message


async def test_a_refusal_of_an_unlisted_user_names_the_grant_command() -> None:
    assert "kubectl lns grant lc/acme --user eve" in await refused_to(Login("eve"))
    assert "--user USER" in await refused_to(Login("$(reboot)"))
