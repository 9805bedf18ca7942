"""What `lnamespace gateway check` reads of clusters without a gateway, and without LNamespace."""

import asyncio
import json
from typing import Any, cast

import pytest
from lnamespace.errors import (
    ClusterError,
    Forbidden,
    NotFound,
    ServerFault,
    SettingsError,
    Unreadable,
)
from lnamespace.gateway.check.findings import find_problems
from lnamespace.gateway.check.reading import PlatformReader
from lnamespace.model.names import Names

NAMES = Names()
ACCOUNT = "lnamespace-system/lnamespace-gateway"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LNAMESPACES = "/apis/tenancy.loblaw.digital/v1beta1/lnamespaces"
ACCOUNTS = "/api/v1/namespaces/lnamespace-system/serviceaccounts"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
UNREAD = "you may not read it, it does not answer, or its answer cannot be read"


class Platform:
    """An API server with some lists, whose gateway's account has the rights of everybody."""

    def __init__(
        self,
        lists: dict[str, list[Any]],
        forbidden: str = "",
        refusal: type[ClusterError] = Forbidden,
    ) -> None:
        self.lists = {DEFINITIONS: []} | lists
        self.forbidden = forbidden
        self.refusal = refusal

    async def get(self, path: str, **_: Any) -> bytes:
        if path == self.forbidden:
            raise self.refusal("no")
        if path == "/version":
            return b'{"major":"1","minor":"36"}'
        if path == "/apis":
            return b'{"groups":[]}'
        if path not in self.lists:
            raise NotFound("not found")
        metadata = {"resourceVersion": "1"}
        return json.dumps({"metadata": metadata, "items": self.lists[path]}).encode()

    list_metadata = get

    async def create(self, path: str, body: bytes) -> bytes:
        assert path.endswith("/subjectaccessreviews")
        right = json.loads(body)["spec"]["resourceAttributes"]
        return json.dumps({"status": {"allowed": right["resource"] == "lclusters"}}).encode()


def named(name: str, **labels: str) -> Any:
    """Return an object, or a definition."""
    plural, _, group = name.partition(".")
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": "K", "plural": plural},
        "versions": [{"name": "v1", "served": True}],
    }
    return {"metadata": {"name": name, "resourceVersion": "1", "labels": labels}, "spec": spec}


async def told(platform: Platform) -> list[str]:
    """Return the findings but for the one about logins by certificates."""
    found = find_problems(await PlatformReader(cast(Any, platform), NAMES, ACCOUNT).read())
    return [
        f"{each.severity}: {each.found}" for each in found if "client-ca-file" not in each.found
    ]


async def test_a_cluster_without_lnamespace_is_checked() -> None:
    """The error blamed an option that nobody had given."""
    group = "LNamespaces of tenancy.loblaw.digital"
    note = f"note: it is not installed yet: this cluster has no {group}"
    inside = named("lnamespaces.acme-x.org", **{NAMES.lcluster_label: "acme"})
    for lists in ({}, {DEFINITIONS: [inside]}):
        assert note in await told(Platform(lists))


async def test_a_cluster_with_another_instance_alone_is_refused() -> None:
    """A mistaken option would find nothing, and pass."""
    platform = Platform({DEFINITIONS: [named("lnamespaces.tenancy.example.com")]})
    with pytest.raises(SettingsError, match="has no LNamespaces of"):
        await told(platform)


async def test_a_chart_without_the_gateway_passes_with_a_note() -> None:
    """It failed by the rights and policies that the chart gives with gateway.enabled."""
    found = await told(Platform({LNAMESPACES: [], ACCOUNTS: []}))
    assert found == [f"note: it is not installed yet: this cluster has no {ACCOUNT}"]


async def test_an_account_without_its_rights_is_a_problem() -> None:
    found = await told(Platform({LNAMESPACES: [], ACCOUNTS: [named("lnamespace-gateway")]}))
    assert [each.partition(" ")[0] for each in found] == ["problem:"] * 3 + ["note:"]


@pytest.mark.parametrize("refusal", [Forbidden, ServerFault, Unreadable])
async def test_accounts_that_cannot_be_read_are_said_to_be_unread(
    refusal: type[ClusterError],
) -> None:
    """Where another server answers 503 for a group, the check ended without a finding."""
    found = await told(Platform({LNAMESPACES: []}, ACCOUNTS, refusal))
    assert f"problem: serviceaccounts: {UNREAD}" in found
    assert not [each for each in found if "not installed" in each]


async def test_a_kind_that_may_not_be_listed_is_said_to_be_unread() -> None:
    lists = {LNAMESPACES: [], DEFINITIONS: [named("widgets.example.org")]}
    platform = Platform(lists, forbidden="/apis/example.org")
    found = await told(platform)
    assert f"problem: widgets.example.org: {UNREAD}" in found


async def test_an_apiservice_that_does_not_answer_is_a_problem() -> None:
    """No Namespace of the cluster is deleted then, and it was a note that LClusters lack it."""

    def service(name: str, **condition: str) -> Any:
        made = named(name) | {"spec": {"group": "x.io", "service": {}}}
        made["spec"]["service"] = {"name": "nowhere"}
        return made | {"status": {"conditions": [{"type": "Available", **condition}]}}

    services = [
        service("v1.good.io", status="True"),
        service("v1.dead.io", status="False", reason="ServiceNotFound", message="none"),
        service("v1.odd.io", status="Unknown"),
        service("v1.new.io", status="True") | {"status": {}},
        {"metadata": {"name": "v1.", "resourceVersion": "1"}, "spec": {"group": ""}},
    ]
    found = await told(Platform({LNAMESPACES: [], API_SERVICES: services}))
    dead = [each for each in found if "it does not answer (" in each]
    assert [each.partition("(")[2].partition(")")[0] for each in dead] == [
        "ServiceNotFound: none",
        "Unknown",
        "not asked yet",
    ]


async def test_the_default_priority_is_seen_by_all() -> None:
    """Admission writes it into pods, so it is published whatever its name is."""
    classes = [
        named("standard") | {"globalDefault": True},
        named("low"),
        named("acme-x", **{NAMES.lcluster_label: "acme"}) | {"globalDefault": True},
    ]
    found = await told(Platform({LNAMESPACES: [], PRIORITIES: classes}))
    assert "note: every LCluster sees standard" in found


async def test_few_kinds_are_listed_at_the_same_time() -> None:
    """A platform has some hundred kinds."""
    definitions = [named(f"widgets{n}.example.org") for n in range(50)]
    platform = Platform({LNAMESPACES: [], DEFINITIONS: definitions})
    now, most = 0, 0

    async def get(path: str, **_: Any) -> bytes:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return await Platform.get(platform, path)

    platform.get = get  # type: ignore[method-assign]
    await told(platform)
    assert 1 < most <= 8
