"""All schemas of an LCluster's definitions together are bounded, whatever writes them."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from lnamespace.gateway.objects import schema_quota
from lnamespace.gateway.objects.schema_quota import SchemaQuota
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.watched_parts import KeptDefinition, PartReader
from lnamespace.kube.media_types import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, LABEL

DEFINITIONS = ResourceType(
    "apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", False
)
MOST = 10
UPSTREAM = "{}.acme-example.com"
SCHEMA = "/spec/versions/0/schema/openAPIV3Schema"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the bounds."""
    monkeypatch.setattr(schema_quota, "MAX_SIZE", MOST)
    monkeypatch.setattr(schema_quota, "total_for", lambda allowed: 5 * allowed)


def body(size: int, name: str = "new") -> Any:
    """Return a definition whose schemas have a size."""
    schema = {"openAPIV3Schema": {"enum": [1] * (size - 2)}}
    metadata = {"name": UPSTREAM.format(name)}
    return {"metadata": metadata, "spec": {"versions": [{"name": "v1", "schema": schema}]}}


def quota(**there: int) -> SchemaQuota:
    sizes = {UPSTREAM.format(name): size for name, size in there.items()}
    return SchemaQuota(lambda _: sizes, lambda _: 5)


def a_call(
    verb: str,
    name: str,
    body: bytes = b"{}",
    *,
    subresource: str = "",
    resource: ResourceType = DEFINITIONS,
) -> TenantCall:
    found = f"{name}.example.com" if name else ""
    request = ResourceRequest(verb, resource, "v1", "", found, subresource)
    return cast("TenantCall", SimpleNamespace(request=request, view=ACME, body=body))


def writing(bounds: SchemaQuota, verb: str, name: str, sent: Any, media: str = JSON) -> Any:
    sent = msgspec.json.encode(sent)
    call = a_call(verb, name, sent)
    assert bounds.counts(call)
    return bounds.counted(call, media, sent)


def adding(size: int) -> Any:
    value = {"enum": [1] * (size - 2)}  # with its place in the schema
    return [{"op": "add", "path": f"{SCHEMA}/properties/a", "value": value}]


WRITES = [
    pytest.param("create", "", body, JSON, id="create"),
    pytest.param("update", "old", lambda size: body(5 + size, "old"), JSON, id="update"),
    pytest.param("patch", "old", lambda size: body(5 + size), MERGE_PATCH, id="merge"),
    pytest.param("patch", "old", lambda size: body(5 + size), APPLY_PATCH, id="apply"),
    pytest.param("patch", "more", body, APPLY_PATCH, id="apply of a new one"),
    pytest.param("patch", "old", adding, f"{JSON_PATCH}; charset=utf-8", id="JSON patch"),
]


@pytest.mark.parametrize(("verb", "name", "sent", "media"), WRITES)
async def test_no_write_grows_the_schemas_of_an_lcluster_beyond_the_total(
    verb: str, name: str, sent: Any, media: str
) -> None:
    """Two hundred definitions, each as honest as any, were more than an API server has."""
    others = {"a": 10, "b": 7, "old": 5}
    async with writing(quota(**others), verb, name, sent(3), media):
        pass
    with pytest.raises(Refused, match=r"exceeded quota: lcluster.*limited: schemas=25") as refused:
        async with writing(quota(**others), verb, name, sent(4), media):
            pytest.fail("it was sent")
    assert refused.value.status.code == 403


@pytest.mark.parametrize(("verb", "name", "sent", "media"), WRITES)
async def test_no_write_makes_one_definition_larger_than_its_bound(
    verb: str, name: str, sent: Any, media: str
) -> None:
    most = MOST - (5 if name == "old" else 0)
    async with writing(quota(old=5), verb, name, sent(most), media):
        pass
    with pytest.raises(Refused, match="exceeded quota: definition, requested: schemas=11, used"):
        async with writing(quota(old=5), verb, name, sent(most + 1), media):
            pytest.fail("it was sent")


@pytest.mark.parametrize(
    ("sent", "media"),
    [
        pytest.param(body(50, "old"), JSON, id="as it is"),
        pytest.param(body(40, "old"), JSON, id="smaller"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH, id="a label"),
        pytest.param({"metadata": None}, MERGE_PATCH, id="no metadata"),
        pytest.param([{"op": "remove", "path": f"{SCHEMA}/a"}], JSON_PATCH, id="a removal"),
    ],
)
async def test_a_definition_above_the_bounds_may_do_what_adds_no_schemas(
    sent: Any, media: str
) -> None:
    """It may be older than the bounds."""
    verb = "update" if media == JSON else "patch"
    async with writing(quota(old=50), verb, "old", sent, media):
        pass


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(a_call("patch", "old", subresource="status"), id="the status"),
        pytest.param(a_call("delete", "old"), id="a deletion"),
        pytest.param(a_call("patch", "old", b""), id="a JSON patch of nothing could not be read"),
        pytest.param(
            a_call("update", "old", resource=ResourceType("", "secrets", "Secret", True)),
            id="another kind",
        ),
    ],
)
def test_what_changes_no_schemas_is_not_counted(call: TenantCall) -> None:
    assert not quota().counts(call)


async def test_what_is_under_way_counts_once_until_a_watch_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schema_quota, "_SEEN_SECONDS", 0.01)
    bounds = quota(a=10)
    async with writing(bounds, "create", "", body(10, "new")):
        async with writing(bounds, "update", "new", body(10, "new")):
            pass
        with pytest.raises(Refused, match="used: schemas=20"):
            async with writing(bounds, "create", "", body(6, "other")):
                pytest.fail("it was sent")
        with pytest.raises(Refused, match="requested: schemas=12"):
            async with writing(bounds, "patch", "new", adding(2), JSON_PATCH):
                pytest.fail("it was sent")
    await asyncio.sleep(0.05)
    async with writing(bounds, "create", "", body(6, "other")):
        pass


def test_a_watch_counts_the_schemas_of_tenants_only() -> None:
    labelled = body(9)
    labelled["metadata"] |= {"labels": {LABEL: "acme"}, "resourceVersion": "1"}
    reader = PartReader(LABEL)
    assert KeptDefinition.of(reader.definition(msgspec.json.encode(labelled))).schemas == 9
    del labelled["metadata"]["labels"]
    assert KeptDefinition.of(reader.definition(msgspec.json.encode(labelled))).schemas == 0


def test_the_schemas_of_a_definition_are_counted_anew_when_its_spec_changes() -> None:
    """To count 16,000 parts takes 30 ms of the thread, in every process, and labels are free."""
    reader = PartReader(LABEL)

    def read(size: int, **metadata: object) -> int:
        found = body(size)
        found["metadata"] |= {"labels": {LABEL: "acme"}, "resourceVersion": "1"} | metadata
        return KeptDefinition.of(reader.definition(msgspec.json.encode(found))).schemas

    assert read(9, uid="a", generation=1) == 9
    assert read(5, uid="a", generation=1) == 9
    assert read(5, uid="a", generation=2) == 5
    assert read(7, uid="b", generation=1) == 7
