"""What `lnamespace gateway check` reads of clusters without a gateway, and without LNamespace."""

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
    """Return an object, or a definition that a webhook converts."""
    plural, _, group = name.partition(".")
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": "K", "plural": plural},
        "versions": [{"name": "v1", "served": True}],
        "conversion": {"strategy": "Webhook"},
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
