"""Definitions whose webhooks fail are marked, and not converted, until the webhooks convert."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import Conflict, NotFound
from lnamespace.gateway.controllers.failing_converters import (
    BUSY,
    EVERY_MARKED,
    HELD,
    LONGEST_TRIAL_WAIT,
    PATIENCE,
    PROVEN,
    SHORT_PATIENCE,
    SLOW_PATIENCE,
    FailingConverters,
)
from lnamespace.gateway.controllers.listed_kinds import list_failure
from lnamespace.gateway.definitions.conversion_marks import REASON, TYPE, marked_since
from lnamespace.gateway.definitions.conversion_paths import conversion_of
from lnamespace.gateway.definitions.definition import decode_definition
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.model.lcluster import LCluster, LClusterSpec
from lnamespace.model.lnamespace import Metadata
from lnamespace.translate.names.webhook_routes import PATH, VERBATIM, TenantWebhook
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS
from lnamespace.translate.objects.labels import UNCONVERTED
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType

from tests.unit.support.translation import ACME

CARTS = ResourceType(
    "shop.example.com", "carts", "Cart", namespaced=True, custom=True, versions=("v2", "v1")
)
TILLS = replace(CARTS, plural="tills", kind="Till")
NAME = "carts.acme-shop.example.com"
DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
ESTABLISHED = {"type": "Established", "reason": "InitialNamesAccepted"}
VERSIONS = [{"name": "v1", "storage": True}, {"name": "v2", "storage": False}]
LONG: dict[str, Any] = {"annotations": {"a": '"metadata":{"continue":"forged"}' * 300}}
_WEBHOOK = "acme/5ec2e7/acme-default/hook/443/convert"
ASKED, NOT_ASKED = f"/{PATH}/{_WEBHOOK}", f"/{VERBATIM}/{_WEBHOOK}"
LISTED = "/apis/acme-shop.example.com/v2/carts"


@dataclass
class Platform:
    """An API server with one definition of a tenant, and the gateway's view of it."""

    tenant: ServedTenant
    conditions: list[dict[str, Any]] = field(default_factory=lambda: [ESTABLISHED])
    metadata: dict[str, Any] = field(
        default_factory=lambda: {"resourceVersion": "7", "annotations": {**DEFINITION_ANNOTATIONS}}
    )
    failure: int = 0
    path: str = ASKED
    generation: int = 1
    unconverted: bool = False
    written: bool = False
    retained: frozenset[str] = frozenset()
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    listed: list[str] = field(default_factory=list)
    patched: list[Sequence[Any]] = field(default_factory=list)

    def __iter__(self) -> Iterator[ServedTenant]:
        return iter((self.tenant,))

    def get(self, name: str) -> ServedTenant | None:
        return self.tenant if name == "acme" else None

    def marked_definitions(self) -> dict[str, str]:
        raw = msgspec.json.encode({"status": {"conditions": self.conditions}})
        return {NAME: at} if (at := marked_since(decode_definition(raw))) else {}

    def generation_of(self, definition: str) -> int:
        assert definition == NAME
        return self.generation

    def retained_definitions(self) -> frozenset[str]:
        return self.retained

    def ask(self, path: str) -> None:
        """Have the webhook asked by a path, as the gateway sees it then."""
        self.generation += path != self.path
        self.path = path
        self.changed.set()
        kinds = {CARTS.group_resource: "v1"} if path == NOT_ASKED else {}
        self.tenant.set_view(replace(self.tenant.view, unconverted=kinds), {})

    async def send(self, method: str, target: str, *_: object) -> "Answer":
        assert method == "GET"
        self.listed.append(target)
        if self.failure:
            return Answer(self.failure, b'{"message":"no conversion"}')
        more = {"continue": "next"} if "continue" not in target else {}
        items = [{"metadata": LONG}] * 9
        if self.unconverted:
            items.append({"metadata": {"labels": {UNCONVERTED: "v1"}}})
        page = {"metadata": {"resourceVersion": "1"} | more, "items": items}
        return Answer(200, msgspec.json.encode(page))


@dataclass
class Answer:
    """An answer of the API server, in parts."""

    status: int
    body: bytes

    async def take(self) -> bytes:
        part, self.body = self.body[:5000], self.body[5000:]
        return part

    def close(self) -> None:
        """Do nothing."""


@dataclass
class Definitions:
    """The API server's CustomResourceDefinitions."""

    platform: Platform

    async def get(self, path: str) -> bytes:
        if path != DEFINITION:
            raise NotFound("no such definition", status=404)
        found = self.platform
        status = {"conditions": found.conditions}
        webhook = {"clientConfig": {"service": {"path": found.path}}}
        spec = {"conversion": {"webhook": webhook}, "versions": VERSIONS}
        members = {"metadata": found.metadata, "spec": spec, "status": status}
        stored = "v1" if found.path == NOT_ASKED else None
        raw = msgspec.json.encode(members)
        conversion = conversion_of(decode_definition(raw))
        assert (conversion.asks_webhook, conversion.unconverted) == (stored is None, stored)
        return raw

    async def patch_json(self, path: str, operations: Sequence[Any]) -> bytes:
        *tests, change = operations
        if path == DEFINITION:
            assert [each["value"] for each in tests] == [self.platform.path]
            assert change["path"] == "/spec/conversion/webhook/clientConfig/service/path"
            self.platform.ask(change["value"])
            return b"{}"
        assert path == f"{DEFINITION}/status"
        first = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
        if self.platform.written and first in tests:
            raise Conflict("its tenant was first")
        self.platform.patched.append(operations)
        place = change["path"].rpartition("/")[2]
        if change["op"] == "add":
            self.platform.conditions.append(change["value"])
        elif change["op"] == "replace":
            self.platform.conditions[int(place)] = change["value"]
        else:
            self.platform.conditions.pop(int(place))
        return b"{}"


class Clock:
    """A clock that the test sets."""

    time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def platform() -> Platform:
    cluster = LCluster(Metadata("acme", "uid", "1"), LClusterSpec())
    tenant = ServedTenant(cluster, replace(ACME, resources=ResourceTable((CARTS, TILLS))), {})
    tenant.namespaces.add("acme-default")
    tenant.namespaces.grant("acme-default", granted=True)
    return Platform(tenant, failure=500)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def converters(platform: Platform, clock: Clock) -> FailingConverters:
    return FailingConverters(
        cast(Any, platform), cast(Any, platform), cast(Any, Definitions(platform)), clock
    )


def another(converters: FailingConverters) -> FailingConverters:
    """Return another replica."""
    new = FailingConverters(converters.tenants, converters.upstream, converters.client)
    return replace(new, now=converters.now)


def fail(converters: FailingConverters, platform: Platform) -> None:
    converters.failed(platform.tenant, CARTS, "no mapping")


async def look(converters: FailingConverters, clock: Clock, seconds: float) -> None:
    """Look every five seconds."""
    for _ in range(int(seconds // 5)):
        await converters.look()
        clock.time += 5


async def marked(converters: FailingConverters, platform: Platform, clock: Clock) -> None:
    """Have the definition marked."""
    fail(converters, platform)
    await look(converters, clock, PATIENCE + 10)
    assert platform.marked_definitions()


async def test_a_definition_is_marked_after_its_converter_has_failed_for_a_time(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    fail(converters, platform)
    await look(converters, clock, PATIENCE - 5)
    assert not platform.marked_definitions()
    await look(converters, clock, 10)
    established, mark = platform.conditions
    assert established == ESTABLISHED
    assert (mark["type"], mark["status"], mark["reason"]) == (TYPE, "True", REASON)
    assert "no mapping" in mark["message"]
    assert platform.listed[0] == f"{LISTED}?limit=500"
    assert platform.path == NOT_ASKED


async def test_a_definition_that_its_tenant_writes_all_the_time_is_marked(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """Its labels were written between each read and patch of the gateway, which never marked it."""
    platform.written = True
    fail(converters, platform)
    await look(converters, clock, PATIENCE + 5)
    assert platform.marked_definitions()
    assert platform.path == NOT_ASKED


async def test_a_converter_whose_kind_can_be_listed_is_not_marked(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """A converter may refuse what somebody writes; nobody else waits for that."""
    platform.failure = 0
    for _ in range(20):
        fail(converters, platform)
        await look(converters, clock, 5)
    assert not platform.marked_definitions()
    # It is not listed for each failure: a tenant chooses how many there are.
    assert len(platform.listed) <= 2 * 20 * 5 / PATIENCE + 2
    assert "continue=next" in platform.listed[1]


@pytest.mark.parametrize("failure", [429, 403, 404, 410])
async def test_an_answer_that_says_nothing_about_the_converter_marks_nothing(
    converters: FailingConverters, platform: Platform, clock: Clock, failure: int
) -> None:
    platform.failure = failure
    fail(converters, platform)
    await look(converters, clock, 2 * PATIENCE)
    assert not platform.marked_definitions()


@pytest.mark.parametrize("reason", [REASON, "MineAlone"])
@pytest.mark.parametrize("status", ["False", "Unknown"])
async def test_a_condition_of_the_tenant_does_not_take_the_place_of_the_mark(
    converters: FailingConverters, platform: Platform, clock: Clock, status: str, reason: str
) -> None:
    """Where one said that the definition is not terminating, none was written, and quotas stood."""
    own = {"type": TYPE, "status": status, "reason": reason, "lastTransitionTime": "now"}
    platform.conditions = [ESTABLISHED, own, own | {"status": "True", "reason": REASON}]
    assert not platform.marked_definitions()
    await marked(converters, platform, clock)
    assert [each["status"] for each in platform.conditions[1:]] == ["True", "True"]
    assert "no mapping" in platform.conditions[1]["message"]


async def test_the_mark_goes_when_the_kind_can_be_listed_again(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    await marked(converters, platform, clock)
    platform.failure = 0
    await look(converters, clock, HELD + EVERY_MARKED)
    assert platform.conditions == [ESTABLISHED]
    assert platform.path == ASKED


@pytest.mark.parametrize("replicas", [1, 12])
async def test_it_is_tried_from_time_to_time_whether_a_webhook_converts(
    converters: FailingConverters, platform: Platform, clock: Clock, replicas: int
) -> None:
    """While one is asked that fails, no namespace of the cluster can be deleted."""
    await marked(converters, platform, clock)
    all_of_them = [converters, *(another(converters) for _ in range(replicas - 1))]
    before = platform.generation
    for number in range(1800 // 5 * replicas):
        await all_of_them[number % replicas].look()
        clock.time += 5 / replicas
    assert 12 <= (platform.generation - before) / 2 <= 18
    platform.failure = 0
    await look(converters, clock, LONGEST_TRIAL_WAIT + 10)
    assert (platform.path, platform.conditions) == (ASKED, [ESTABLISHED])


async def test_what_a_former_lcluster_has_left_is_converted_by_nobody(
    converters: FailingConverters, platform: Platform
) -> None:
    """No gateway asks its webhook any more, so no namespace of the cluster could be deleted."""
    platform.retained = frozenset((NAME, "gone.acme-shop.example.com"))
    await converters.look()
    assert platform.path == NOT_ASKED


async def test_a_list_of_what_nobody_converted_does_not_end_the_mark(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """An API server that has not noticed yet that the webhook is to be asked answers so."""
    await marked(converters, platform, clock)
    platform.failure, platform.unconverted = 0, True
    await look(converters, clock, 2 * LONGEST_TRIAL_WAIT)
    assert platform.marked_definitions()
    platform.unconverted = False
    await look(converters, clock, 10)
    assert platform.conditions == [ESTABLISHED]


async def test_an_operator_of_many_definitions_is_marked_once(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """Twenty that failed together counted as twenty times, and were held for an hour."""
    await marked(converters, platform, clock)
    names = [f"carts{number}.acme-shop.example.com" for number in range(20)]
    converters._marks |= {(each, "then"): clock.time for each in names}  # noqa: SLF001
    platform.failure = 0
    await look(converters, clock, 4 * HELD + EVERY_MARKED)
    assert platform.conditions == [ESTABLISHED]


async def test_who_makes_failing_definitions_all_the_time_is_waited_for_no_more(
    converters: FailingConverters, platform: Platform
) -> None:
    names = [f"carts{number}.acme-shop.example.com" for number in range(4)]
    converters._marks |= {(each, "then"): 90.0 * n for n, each in enumerate(names)}  # noqa: SLF001
    task = asyncio.create_task(converters.run())
    await asyncio.sleep(0)
    fail(converters, platform)
    async with asyncio.timeout(2):  # it looks every five seconds, if nobody wakes it
        await platform.changed.wait()
    task.cancel()
    assert platform.marked_definitions()


async def test_a_converter_whose_answers_the_api_server_does_not_take_is_marked(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """It answered with the version that it was sent, and no namespace was ever deleted."""
    for _ in range(int(PATIENCE // 5) + 2):
        converters.answered(platform.tenant, CARTS)
        await look(converters, clock, 5)
    assert platform.marked_definitions()
    assert "does not take" in platform.conditions[-1]["message"]


async def test_a_kind_is_listed_once_a_minute_while_objects_of_it_are_converted(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    platform.failure = 0
    await look(converters, clock, 60)
    assert not platform.listed
    for _ in range(60):
        converters.answered(platform.tenant, CARTS)
        await look(converters, clock, 5)
    assert len(platform.listed) == 2 * 300 / PROVEN
    converters.answered(platform.tenant, replace(CARTS, namespaced=False))
    platform.failure = 500
    for _ in range(int((PROVEN + PATIENCE) // 5) + 2):
        converters.answered(platform.tenant, CARTS)
        await look(converters, clock, 5)
    assert platform.marked_definitions()


async def test_a_failure_right_after_a_routine_look_counts(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """It was forgotten, and nothing may be converted after it by which anybody notices."""
    platform.failure = 0
    converters.answered(platform.tenant, CARTS)
    await look(converters, clock, 5)
    platform.failure = 500
    fail(converters, platform)
    await look(converters, clock, PATIENCE + 10)
    assert platform.marked_definitions()


async def test_a_converter_that_is_slow_is_marked_after_minutes(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """It converted everything, each object in four seconds: no list of its kind ever ended."""
    webhook = TenantWebhook("acme-default", "hook")
    assert [converters.busy("acme", webhook, BUSY / 2) for _ in range(3)] == [False, False, True]
    platform.failure = 504
    converters.failed(platform.tenant, CARTS, "it takes too long", slow=True)
    await look(converters, clock, SLOW_PATIENCE - 5)
    assert not platform.marked_definitions()
    await look(converters, clock, 10)
    assert platform.marked_definitions()


async def test_a_converter_that_was_slow_for_a_moment_is_not_marked(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """After a restart of the API server it converts all objects once."""
    webhook = TenantWebhook("acme-default", "hook")
    for _ in range(100):
        assert not converters.busy("acme", webhook, BUSY / 8)
        clock.time += 10
    platform.failure = 504
    converters.failed(platform.tenant, CARTS, "it takes too long", slow=True)
    await look(converters, clock, SLOW_PATIENCE - 10)
    platform.failure = 0
    await look(converters, clock, 2 * SLOW_PATIENCE)
    assert not platform.patched


async def test_a_slow_converter_that_fails_is_waited_for_no_longer_than_another(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    converters.failed(platform.tenant, CARTS, "it takes too long", slow=True)
    fail(converters, platform)
    await look(converters, clock, PATIENCE + 10)
    assert platform.marked_definitions()


async def test_a_mark_is_kept_for_longer_than_earlier_ones_count(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    await marked(converters, platform, clock)
    clock.time += 7 * 3600
    await look(converters, clock, EVERY_MARKED)
    platform.failure = 0
    await look(converters, clock, 2 * EVERY_MARKED)
    assert platform.conditions == [ESTABLISHED]


async def test_a_slow_list_of_one_kind_holds_up_no_other_lcluster(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """All were looked at in turn, so one slow tenant kept the definitions of others unmarked."""
    fail(converters, platform)
    converters.checks.begin(NAME)
    async with asyncio.timeout(1):
        await look(converters, clock, 2 * PATIENCE)
    assert not platform.listed


async def test_a_gateway_that_starts_looks_at_what_others_have_marked(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    await marked(converters, platform, clock)
    platform.failure = 0
    await look(another(converters), clock, HELD + EVERY_MARKED + 15)
    assert platform.conditions == [ESTABLISHED]


async def test_a_mark_that_its_tenant_removes_is_put_back(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    await marked(converters, platform, clock)
    platform.conditions.pop()
    await look(converters, clock, 5)
    assert platform.marked_definitions()


async def test_a_converter_that_fails_again_and_again_is_marked_for_longer(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """Whoever broke and mended a definition in turn would stop the quotas of all each time."""
    held = []
    await marked(converters, platform, clock)
    for number in range(4):
        began, platform.failure = clock.time, 0
        while platform.marked_definitions():
            await look(converters, clock, 5)
        held.append(clock.time - began)
        clock.time += PATIENCE
        platform.failure = 500
        fail(converters, platform)
        platform.conditions = [each | {"at": number} for each in platform.conditions]
        before = clock.time
        while not platform.marked_definitions():
            await look(converters, clock, 5)
        platform.conditions[-1]["lastTransitionTime"] = f"mark {number}"
        assert clock.time - before <= SHORT_PATIENCE + 5
    assert held == sorted(held)
    assert held[-1] >= 4 * HELD


async def test_a_definition_that_is_being_deleted_is_not_marked(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """The API server has marked it itself."""
    platform.metadata["deletionTimestamp"] = "2026-11-26T09:00:00Z"
    platform.conditions = [{"type": TYPE, "status": "True", "reason": "InstanceDeletionPending"}]
    fail(converters, platform)
    await look(converters, clock, 2 * PATIENCE)
    assert not platform.patched


async def test_one_that_is_deleted_while_nobody_converts_is_tried_as_others_are(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """Its webhook was never asked again, so objects with finalizers and the definition stayed."""
    await marked(converters, platform, clock)
    assert platform.path == NOT_ASKED
    platform.metadata["deletionTimestamp"] = "2026-11-26T09:00:00Z"
    platform.conditions = [{"type": TYPE, "status": "True", "reason": "InstanceDeletionInProgress"}]
    asked = []
    for _ in range(24):
        await look(converters, clock, 5)
        asked.append(platform.path == ASKED)
    assert 1 < sum(asked) < 8  # as its webhook fails still
    platform.failure = 0
    await look(converters, clock, LONGEST_TRIAL_WAIT + 10)
    assert platform.path == ASKED


async def test_a_definition_that_is_being_deleted_is_marked_if_its_tenant_says_it_is_not(
    converters: FailingConverters, platform: Platform, clock: Clock
) -> None:
    """The API server writes its condition again after minutes, and then the mark stays."""
    platform.metadata["deletionTimestamp"] = "2026-11-26T09:00:00Z"
    platform.conditions = [{"type": TYPE, "status": "False", "reason": "InstanceDeletionPending"}]
    await marked(converters, platform, clock)
    platform.failure = 0
    await look(converters, clock, HELD + EVERY_MARKED)
    assert platform.marked_definitions()


async def test_a_cluster_scoped_kind_is_listed_in_no_namespace(platform: Platform) -> None:
    """The garbage collector of Kubernetes 1.30 and 1.31 waited for it for ever."""
    upstream, suns = cast(Any, platform), replace(CARTS, namespaced=False)
    assert await list_failure(upstream, platform.tenant, suns) == "no conversion"
    assert platform.listed == ["/apis/acme-shop.example.com/v2/carts?limit=500"]


@pytest.mark.parametrize(
    "conditions",
    [
        None,
        [ESTABLISHED],
        [{"type": TYPE, "status": "True", "reason": "InstanceDeletionInProgress"}],
        [{"type": TYPE, "status": "False", "reason": REASON, "lastTransitionTime": "now"}],
    ],
)
def test_a_definition_without_the_mark_is_not_marked(conditions: Any) -> None:
    assert (
        marked_since(decode_definition(msgspec.json.encode({"status": {"conditions": conditions}})))
        == ""
    )
