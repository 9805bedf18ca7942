"""What the API server looks through for everybody is bounded for each LCluster, however written."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.access.lcluster_content import ContentLimits
from lnamespace.gateway.objects.cluster_quota import ClusterQuota
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.http.messages import HttpRequest
from lnamespace.kube.media_types import JSON
from lnamespace.translate.objects.confinement.admission_sizes import admission_size, binding_size
from lnamespace.translate.protocol.resources import ResourceTable
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, LABEL, asked, up

HOOKS = "validatingwebhookconfigurations"
POLICIES = "validatingadmissionpolicies"
POLICY_BINDINGS = "validatingadmissionpolicybindings"
BINDINGS = "clusterrolebindings"
LIMITS = ContentLimits(admission=10, bindings=3)
SERVED = replace(
    ACME,
    resources=ResourceTable.from_types(
        replace(each, versions=("v1",)) for each in ACME.resources.types
    ),
)


def hooks(number: int, name: str = "w", conditions: int = 0) -> Any:
    condition = {"name": "c", "expression": "true"}
    service = {"namespace": "default", "name": "s"}
    webhook = {"clientConfig": {"service": service}, "matchConditions": [condition] * conditions}
    return {"metadata": {"name": name}, "webhooks": [webhook | {"name": f"h{number}"}] * number}


def policy(name: str = "p", **spec: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"matchConstraints": {}} | spec}


def bound(name: str = "b") -> Any:
    return {"metadata": {"name": name}, "spec": {"policyName": "p"}}


def granted(subjects: int, name: str = "r") -> Any:
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}
    role = {"apiGroup": subject["apiGroup"], "kind": "ClusterRole", "name": "view"}
    return {"metadata": {"name": name}, "roleRef": role, "subjects": [subject] * subjects}


@dataclass(frozen=True)
class Answered:
    """An answer of the API server."""

    status: int
    body: bytes
    headers: Any = ()

    async def read(self, _reserve: Callable[[int], None] | None = None) -> bytes:
        """Return the body."""
        return self.body

    def value(self, _name: str) -> str:
        """Return no header."""
        return ""


@dataclass
class Platform:
    """An API server that stores what it is sent; each request takes a moment."""

    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The objects by their names, by the path of their collection."""
    asked: list[str] = field(default_factory=list)
    status = 201

    async def send(
        self, method: str, target: str, _identity: object, headers: Any, body: bytes = b""
    ) -> Answered:
        """Answer a list or a write, and keep what is written by no dry run."""
        url = urlsplit(target)
        query = parse_qs(url.query)
        self.asked.append(f"{method} {url.path}")
        await asyncio.sleep(0)
        if method == "GET":
            assert query["labelSelector"] == [f"{LABEL}=acme"]
            items = list(self.stored.get(url.path, {}).values())
            return Answered(200, msgspec.json.encode({"items": items}))
        assert "dryRun" not in query or dict(headers)["accept"] == JSON
        written = msgspec.json.decode(body)
        if self.status == 201 and "dryRun" not in query:
            path = url.path if method == "POST" else url.path.rpartition("/")[0]
            self.stored.setdefault(path, {})[written["metadata"]["name"]] = written
        await asyncio.sleep(0)
        return Answered(self.status, body)

    @property
    def counted(self) -> int:
        """Return how many webhooks and policies there are; a configuration without any is one."""
        found = (each for kind in self.stored.values() for each in kind.values())
        return sum(max(1, len(each.get("webhooks", ()))) for each in found)


@dataclass(frozen=True)
class Tenant:
    """A tenant, whose processes of the gateway are one."""

    platform: Platform = field(default_factory=Platform)
    limits: ContentLimits = LIMITS

    @property
    def quota(self) -> ClusterQuota:
        """Return a process's bounds."""
        return ClusterQuota(cast("Upstream", self.platform), lambda _: self.limits)

    async def write(
        self, plural: str, obj: Any, verb: str = "create", quota: ClusterQuota | None = None
    ) -> int:
        """Write an object; return the status of the answer."""
        name = obj["metadata"]["name"] if verb == "update" else ""
        method = "POST" if verb == "create" else "PUT"
        sent = HttpRequest(method, "/", (("content-type", JSON),), b"")
        call = cast(
            "TenantCall",
            SimpleNamespace(
                request=asked(plural, verb, name=name),
                view=SERVED,
                exchange=SimpleNamespace(request=sent),
                usage=SimpleNamespace(reserve=None, charge_extra=lambda _: None),
                identity=None,
                default_manager="kubectl",
            ),
        )
        body = msgspec.json.encode(up(plural, obj, verb, name=name))
        path = f"/apis/{call.request.resource.group}/v1/{plural}{f'/acme-{name}' if name else ''}"

        async def send() -> Answer:
            response = await self.platform.send(method, path, None, (), body)
            return cast("Answer", (response, response.body))

        headers = (("accept", "application/json;as=Table"),)
        response, _ = await (quota or self.quota).send(call, headers, body, send)
        return response.status


@pytest.mark.parametrize(
    ("size", "obj", "counts"),
    [
        pytest.param(admission_size, hooks(0), 1, id="no webhooks"),
        pytest.param(admission_size, hooks(3), 3, id="webhooks"),
        pytest.param(admission_size, hooks(3, conditions=2), 9, id="with conditions"),
        pytest.param(admission_size, bound(), 1, id="a binding"),
        pytest.param(admission_size, policy(), 1, id="a policy"),
        pytest.param(admission_size, {"metadata": {"name": "empty"}}, 1, id="nothing"),
        pytest.param(
            admission_size,
            policy(
                matchConditions=[{"name": "c", "expression": "true"}],
                validations=[{"expression": "a", "messageExpression": "b", "message": "c"}],
                auditAnnotations=[{"key": "k", "valueExpression": "d"}] * 2,
                mutations=[{"jsonPatch": {"expression": "e"}}] * 2,
            ),
            2,
            id="a condition and six expressions",
        ),
        pytest.param(
            admission_size, policy(validations=[{"expression": "a"}] * 8), 2, id="more expressions"
        ),
        pytest.param(
            admission_size,
            policy(variables=[{"name": "v", "expression": "a" * 2048}]),
            3,
            id="a long expression",
        ),
        pytest.param(
            admission_size,
            policy(matchConstraints={"resourceRules": [{"resources": ["a"] * 1024}]}),
            5,
            id="a rule with many items",
        ),
        pytest.param(binding_size, granted(0), 1, id="nobody is bound"),
        pytest.param(binding_size, granted(15), 1, id="few subjects"),
        pytest.param(binding_size, granted(33), 3, id="many subjects"),
        pytest.param(binding_size, {"subjects": None}, 1, id="null"),
    ],
)
def test_an_object_counts_what_it_costs_others(
    size: Callable[[Any], int], obj: Any, counts: int
) -> None:
    assert size(obj) == counts


WRITES = [
    pytest.param(HOOKS, hooks(7, "old"), hooks(3), hooks(4), "admission", id="webhooks"),
    pytest.param(HOOKS, hooks(7, "old"), hooks(1, "w", 2), hooks(1, "w", 3), "admission", id="CEL"),
    pytest.param(HOOKS, hooks(9, "old"), policy(), hooks(2), "admission", id="kinds together"),
    pytest.param(BINDINGS, granted(16, "old"), granted(15), granted(16), "count", id="subjects"),
]


def kind_of(obj: Any) -> str:
    if "webhooks" in obj:
        return HOOKS
    if "roleRef" in obj:
        return BINDINGS
    return POLICY_BINDINGS if "policyName" in obj["spec"] else POLICIES


@pytest.mark.parametrize(("plural", "there", "fits", "more", "word"), WRITES)
async def test_no_write_exceeds_the_limits_of_an_lcluster(
    plural: str, there: Any, fits: Any, more: Any, word: str
) -> None:
    """Ten thousand webhooks of one LCluster took a third of a second of each write of others."""
    tenant = Tenant()
    assert await tenant.write(plural, there) == 201
    with pytest.raises(Refused, match=f"exceeded quota: lcluster, requested: {word}") as refused:
        await tenant.write(kind_of(more), more)
    assert refused.value.status.code == 403
    assert await tenant.write(kind_of(fits), fits) == 201


async def test_a_refusal_has_the_words_of_a_resourcequota() -> None:
    tenant = Tenant()
    await tenant.write(BINDINGS, granted(32, "old"))
    with pytest.raises(Refused) as refused:
        await tenant.write(BINDINGS, granted(0))
    count = "count/clusterrolebindings.rbac.authorization.k8s.io="
    told = f"exceeded quota: lcluster, requested: {count}1, used: {count}3, limited: {count}3"
    assert refused.value.status.message.endswith(f"is forbidden: {told}")


async def test_an_update_counts_what_it_adds() -> None:
    tenant = Tenant()
    await tenant.write(HOOKS, hooks(6, "old"))
    await tenant.write(HOOKS, hooks(10, "old"), "update")
    with pytest.raises(Refused, match="requested: admission=1, used: admission=10"):
        await tenant.write(HOOKS, hooks(11, "old"), "update")


async def test_who_has_more_than_the_limit_changes_and_removes_what_is_there() -> None:
    """It may be older than the limit."""
    tenant = Tenant()
    before = replace(tenant, limits=ContentLimits())
    await before.write(HOOKS, hooks(50, "old"))
    assert await tenant.write(HOOKS, hooks(50, "old"), "update") == 201
    assert await tenant.write(HOOKS, hooks(40, "old"), "update") == 201
    with pytest.raises(Refused):
        await tenant.write(HOOKS, hooks(1))


async def test_without_a_limit_and_for_other_kinds_nothing_is_asked() -> None:
    tenant = Tenant(limits=ContentLimits())
    await tenant.write(HOOKS, hooks(50))
    await Tenant(tenant.platform).write("clusterroles", {"metadata": {"name": "r"}})
    assert [each.partition(" ")[0] for each in tenant.platform.asked] == ["POST", "POST"]


async def test_what_the_api_server_refuses_is_answered_and_not_sent() -> None:
    """A write that is tried and fails might succeed a moment later, uncounted."""
    tenant = Tenant()
    tenant.platform.status = 422
    assert await tenant.write(HOOKS, hooks(50)) == 422
    assert len(tenant.platform.asked) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.booleans()), max_size=12))
def test_writes_at_the_same_time_do_not_exceed_the_limit(
    written: list[tuple[int, int, bool]],
) -> None:
    async def run() -> None:
        tenant = Tenant()
        quota = tenant.quota

        async def write(number: int, name: int, updates: bool) -> None:
            obj = hooks(number, f"w{name}") if name else policy(f"p{number}")
            verb = "update" if updates else "create"
            try:
                await tenant.write(kind_of(obj), obj, verb, quota)
            except Refused:
                await asyncio.sleep(0)
            assert tenant.platform.counted <= LIMITS.admission

        await asyncio.gather(*(write(*each) for each in written))

    asyncio.run(run())
