"""The pure parts of the endpoint `mine`: rights, what spans namespaces, headers."""

import asyncio
from typing import Any, cast

import msgspec
import pytest
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.lists.empty_answers import empty_list, empty_replay
from lnamespace.gateway.lists.sealing import TokenSealer
from lnamespace.gateway.mine import rights, spans
from lnamespace.gateway.mine.callers import MineCaller
from lnamespace.gateway.mine.calls import MineCall, Platform
from lnamespace.gateway.mine.lists import MineLister
from lnamespace.gateway.mine.proxying import headers_for_platform
from lnamespace.gateway.mine.rights import Resumption
from lnamespace.gateway.mine.spans import (
    confirm_options,
    deleted_event,
    gone_namespace,
    parse_platform_request,
    part_target,
)
from lnamespace.gateway.mine.watches import permitted_namespaces
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.http.messages import HttpRequest
from lnamespace.model.subject import Subject, SubjectKind
from lnamespace.translate.protocol.selectors import FieldTerm, parse_field_selector
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.mine import ANN, BOTH, DEVELOPERS, MineApi, World, asked, call_of, table

TABLE_FORM = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("/api/v1/pods", "/api/v1/namespaces/team-a/pods"),
        ("/api/v1/pods?watch=1", "/api/v1/namespaces/team-a/pods?watch=1"),
        ("/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/team-a/deployments"),
        (
            "/api/v1/pods?fieldSelector=metadata.namespace%3Dteam-b",
            "/api/v1/namespaces/team-a/pods?fieldSelector=metadata.namespace%3Dteam-b",
        ),
        ("/api/v1/namespaces", "/api/v1/namespaces?fieldSelector=metadata.name%3Dteam-a"),
        (
            "/api/v1/namespaces?fieldSelector=metadata.name%3Dteam-b&labelSelector=a",
            (
                "/api/v1/namespaces?labelSelector=a"
                "&fieldSelector=metadata.name%3Dteam-a%2Cmetadata.name%3Dteam-b"
            ),
        ),
    ],
)
def test_a_request_over_all_namespaces_becomes_one_request_per_namespace(
    target: str, part: str
) -> None:
    request = asked(target)
    assert request is not None
    assert part_target(request, "team-a", ()) == part


def test_a_selector_is_parsed_once_for_all_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A selector of 60 kB for 1,000 namespaces blocked the thread for ten seconds."""
    read: list[str] = []

    def reading(text: str) -> tuple[FieldTerm, ...]:
        read.append(text)
        return parse_field_selector(text)

    monkeypatch.setattr(spans, "parse_field_selector", reading)
    request = asked("/api/v1/namespaces?fieldSelector=status.phase%3DActive")
    assert request is not None
    targets = {part_target(request, f"team-{number}", ()) for number in range(5)}
    assert len(targets) == 5
    assert len(read) <= 1


async def test_a_long_list_is_not_indented_in_one_step() -> None:
    world = World()
    world.bind("a", 20, ANN)
    api = MineApi()
    api.items = 20_000
    call, client = call_of(world, api, "/api/v1/pods?pretty=1")
    await MineLister(TokenSealer([b"k" * 32])).answer(call)
    assert b"\n  " not in await client.sent.get()


def test_a_selector_that_ends_in_a_backslash_is_refused() -> None:
    request = asked("/api/v1/namespaces?fieldSelector=metadata.name%3Dteam-b%5C")
    assert request is not None
    with pytest.raises(Refused) as refused:
        part_target(request, "team-a", ())
    assert refused.value.status.code == 400


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("labelSelector=!!", 400),
        ("fieldSelector=a", 400),
        ("resourceVersion=abc", 400),
        ("resourceVersion=-1", 400),
        ("sendInitialEvents=true", 422),
        ("watch=1&sendInitialEvents=true", 422),
        ("watch=1&resourceVersionMatch=Exact", 422),
    ],
)
def test_invalid_options_are_refused_before_any_namespace_is_asked(query: str, code: int) -> None:
    request = asked(f"/api/v1/pods?{query}")
    assert request is not None
    with pytest.raises(Refused) as refused:
        confirm_options(request)
    assert refused.value.status.code == code


@pytest.mark.parametrize("query", ["", "resourceVersion=5&resourceVersionMatch=Exact", "watch=1"])
def test_valid_options_are_accepted(query: str) -> None:
    request = asked(f"/api/v1/pods?{query}")
    assert request is not None
    confirm_options(request)


async def test_an_invalid_continue_token_is_refused_without_any_namespace() -> None:
    call = refused_call(World(), Asked(), target="/api/v1/pods?limit=1&continue=what")
    with pytest.raises(Refused) as refused:
        await MineLister(TokenSealer([b"k" * 32])).answer(call)
    assert refused.value.status.code == 400


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/api/v1/nodes"),
        ("GET", "/api/v1/namespaces/team-a"),
        ("GET", "/api/v1/namespaces/team-a/pods"),
        ("POST", "/api/v1/namespaces"),
        ("DELETE", "/api/v1/namespaces"),
        ("GET", "/api/v1/pods?limit=1&limit=2"),
        ("GET", "/apis/unknown.example.com/v1/namespaces/team-a/things?watch=1"),
        ("GET", "/api/v1//pods"),
        ("GET", "/apis/unknown.example.com/v1/things"),
        ("GET", "/api"),
    ],
)
def test_other_requests_are_left_to_the_api_server(method: str, target: str) -> None:
    assert asked(target, method) is None


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/pods?watch=1&watch=0",
        "/api/v1/namespaces/team-a/pods?w%61tch=1&watch=0",
        "/api/v1/namespaces/team-a/pods?watch=1&fieldSelector=&fieldSelector=a%3Db",
        "/api/v1/watch/namespaces/team-a/pods",
        "/api/v1/w%61tch/pods",
        "/apis/apps/v1/watch/deployments",
    ],
)
def test_a_watch_with_an_ambiguous_target_is_refused(target: str) -> None:
    """Such a watch was counted as a read, and continued after the rights were revoked."""
    with pytest.raises(Refused):
        parse_platform_request("GET", target, table())


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "PodList"),
        (TABLE_FORM, "Table"),
        (PARTIAL_LIST, "PartialObjectMetadataList"),
    ],
)
def test_an_empty_list_has_the_requested_media_type(accept: str, kind: str) -> None:
    request = asked("/api/v1/pods")
    assert request is not None
    found = msgspec.json.decode(empty_list(request, accept, "7"))
    assert found["kind"] == kind
    assert found["metadata"]["resourceVersion"] == "7"
    assert found.get("rows", found.get("items")) == []


@pytest.mark.parametrize(
    ("accept", "kind"),
    [("application/json", "Pod"), (TABLE_FORM, "Table"), (PARTIAL, "PartialObjectMetadata")],
)
def test_the_bookmark_after_no_initial_events_has_the_requested_media_type(
    accept: str, kind: str
) -> None:
    request = asked("/api/v1/pods?watch=1")
    assert request is not None
    found = msgspec.json.decode(empty_replay(request, accept, "7"))
    assert (found["type"], found["object"]["kind"]) == ("BOOKMARK", kind)


@pytest.mark.parametrize("accept", ["application/json", TABLE_FORM, PARTIAL])
def test_the_deleted_event_has_the_version_at_which_the_rights_ended(accept: str) -> None:
    event = msgspec.json.decode(deleted_event(gone_namespace("team-a", accept), "12"))
    about = event["object"]["rows"][0]["object"] if accept == TABLE_FORM else event["object"]
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["resourceVersion"] == "12"
    assert (about["metadata"]["name"], about["metadata"]["resourceVersion"]) == ("team-a", "12")


def test_rights_follow_from_the_bindings_of_a_person_and_their_groups() -> None:
    world = World()
    world.bind("a", 20, ANN)
    world.bind("b", 21, DEVELOPERS)
    world.bind("c", 22, Subject(SubjectKind.USER, "ben"))
    world.bind("d", 23, ANN, name="anything-else")
    world.bind("e", 24, Subject(SubjectKind.GROUP, "e-sudoers"), name="lnamespace-sudoers")
    assert world.held(*BOTH) == ["a", "b"]
    assert world.held(ANN, Subject(SubjectKind.GROUP, "e-sudoers")) == ["a", "e"]
    world.bind("a", 25, DEVELOPERS)
    assert world.held(ANN) == []
    world.unbind("a", 26)
    assert world.held(*BOTH) == ["b"]


def test_only_bindings_in_namespaces_of_lnamespaces_count() -> None:
    """A tenant bound everybody in its own namespace, which ended everybody's watches."""
    world, told = World(), list[str]()
    world.unmarked.add("evil")
    world.rights.listen(BOTH, lambda: told.append("changed"))
    world.bind("evil", 20, ANN)
    world.unbind("evil", 21)
    assert (world.held(ANN), told, world.resumption(15)) == ([], [], Resumption())
    world.bind("evil", 22, ANN)
    world.mark("evil", 23)
    world.clock.now += 100
    assert (world.held(ANN), told) == (["evil"], ["changed"])
    assert world.resumption(22) == Resumption(frozenset(("evil",)))
    world.mark("evil", 24, there=False)
    world.clock.now += 100
    assert (world.held(ANN), world.resumption(23).lost) == ([], True)


def test_the_history_of_one_person_does_not_evict_that_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rights, "_ENDED", 2)
    world = World()
    for version in range(20, 40, 2):
        world.bind("a", version, ANN)
        world.unbind("a", version + 1)
    assert world.resumption(15, frozenset((DEVELOPERS,))) == Resumption()
    assert world.resumption(38).lost


def test_a_resumption_names_the_namespaces_granted_since_the_version() -> None:
    world = World()
    world.bind("a", 20, ANN)
    world.bind("b", 30, ANN)
    assert world.resumption(40) == Resumption()
    assert world.resumption(25) == Resumption(frozenset("b"))
    assert world.resumption(15) == Resumption(frozenset("ab"))


def test_a_resumption_from_before_a_revocation_is_lost() -> None:
    world = World()
    world.bind("a", 20, ANN)
    world.unbind("a", 30)
    assert world.resumption(25).lost
    assert not world.resumption(35).lost
    assert not world.resumption(25, frozenset((DEVELOPERS,))).lost
    world.bind("a", 40, ANN)
    assert world.resumption(25) == Resumption(frozenset("a"), lost=True)
    assert world.resumption(35) == Resumption(frozenset("a"))


def test_rights_kept_by_another_subject_of_the_person_are_not_revoked() -> None:
    world = World()
    world.bind("a", 20, ANN, DEVELOPERS)
    world.bind("a", 30, DEVELOPERS)
    assert world.resumption(25) == Resumption()


def test_a_resumption_is_lost_before_the_bindings_are_listed() -> None:
    assert World().resumption(9).lost
    assert World().rights.resumption(BOTH, "what").lost


@pytest.mark.parametrize("version", ["9" * 5000, "١٢", "-1", "20\n"])
def test_a_resumption_from_an_invalid_version_is_lost(version: str) -> None:
    assert World().rights.resumption(BOTH, version).lost


def test_rights_are_new_to_a_list_that_was_answered_before_them() -> None:
    world = World()
    world.bind("a", 20, ANN)
    world.clock.now -= 99
    assert world.resumption(50) == Resumption(frozenset("a"))
    world.rights.listed(BOTH, "50", world.rights.now())
    assert world.resumption(50) == Resumption()
    world.rights.listed(BOTH, "60", world.rights.now() - 5)
    assert world.resumption(60) == Resumption(frozenset("a"))


def test_a_listener_is_notified_only_of_changes_of_its_own_rights() -> None:
    world, told = World(), []
    stop = world.rights.listen(BOTH, lambda: told.append("changed"))
    world.bind("a", 20, Subject(SubjectKind.USER, "ben"))
    assert told == []
    world.bind("a", 21, DEVELOPERS)
    world.unbind("a", 22)
    assert told == ["changed", "changed"]
    assert world.rights.ended(BOTH, "a") == 22
    stop()
    world.bind("a", 23, ANN)
    assert len(told) == 2


class Upstream403:
    """An API server that refuses everything but the version of now."""

    async def send(self, method: str, target: str, *_: Any, **__: Any) -> Any:
        del method, target
        return self

    status, headers = 403, tuple[tuple[str, str], ...]()

    async def read(self, *_: Any) -> bytes:
        found = {"kind": "NamespaceList", "metadata": {"resourceVersion": "77"}, "items": []}
        return msgspec.json.encode(found)


class UpstreamWarns(Upstream403):
    """An API server that warns of what is listed."""

    status = 200
    headers = (("warning", '299 - "deprecated"'), ("content-length", "7"))


class Asked:
    """A client, and what it was answered."""

    def __init__(self) -> None:
        self.request = HttpRequest("GET", "/api/v1/pods", ())
        self.answers: list[tuple[int, bytes]] = []
        self.headers: list[tuple[str, str]] = []

    async def answer(self, status: int, headers: Any, body: bytes) -> None:
        self.headers += headers
        self.answers.append((status, body))


def refused_call(
    world: World, exchange: Asked, platform: type = Upstream403, target: str = "/api/v1/pods"
) -> MineCall:
    request, upstream = asked(target), cast(Any, platform())
    assert request is not None
    caller = MineCaller("ann", BOTH, (("authorization", "Bearer t"),))
    both = Platform(upstream, upstream)
    return MineCall.from_request(
        cast(Any, exchange), request, caller, both, world.rights, RequestUsage()
    )


async def test_a_refused_list_waits_until_the_revocation_is_observed() -> None:
    world, exchange = World(), Asked()
    world.bind("a", 20, ANN)
    call = refused_call(world, exchange)
    answer = asyncio.create_task(MineLister(TokenSealer([b"k" * 32])).answer(call))
    await asyncio.sleep(0.01)
    assert not exchange.answers
    world.unbind("a", 30)
    await answer
    ((status, body),) = exchange.answers
    assert (status, msgspec.json.decode(body)["items"]) == (200, [])


async def test_a_list_of_several_namespaces_passes_on_a_repeated_warning_once() -> None:
    world, exchange = World(), Asked()
    for name in ("a", "b"):
        world.bind(name, 20, ANN)
    call = refused_call(world, exchange, UpstreamWarns)
    await MineLister(TokenSealer([b"k" * 32])).answer(call)
    told = [("Content-Type", "application/json"), ("warning", '299 - "deprecated"')]
    assert exchange.headers == told


class UpstreamRefusesMost(UpstreamWarns):
    """An API server that lets nobody list in namespaces other than ``b``."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def send(self, method: str, target: str, *_: Any, **__: Any) -> Any:
        del method
        self.asked.append(target)
        return self if "/namespaces/b/" in target else Upstream403()


def test_a_right_is_as_old_as_its_oldest_binding() -> None:
    world = World()
    world.bind("a", 20, ANN)
    world.bind("a", 21, DEVELOPERS, name="lnamespace-sudoers")
    world.clock.now -= 99
    assert not world.rights.recently_granted(BOTH, "a", 3.0)
    assert world.rights.recently_granted(frozenset((DEVELOPERS,)), "a", 3.0)
    assert not world.rights.recently_granted(BOTH, "b", 3.0)


class UpstreamBusy(Upstream403):
    """An API server that reviews nobody's rights just now."""

    status = 429

    async def review(self, *_: Any) -> Any:
        return self


async def test_a_watch_is_refused_with_the_status_of_the_refused_access_review() -> None:
    world, there = World(), frozenset("ab")
    call = refused_call(world, Asked(), UpstreamBusy, "/api/v1/pods?watch=1")
    with pytest.raises(UpstreamRefused) as refused:
        await permitted_namespaces(call, there)
    assert refused.value.status == 429


@pytest.mark.parametrize("query", ["", "?limit=5"])
async def test_namespaces_that_refuse_a_list_are_left_out_and_asked_only_once(
    query: str,
) -> None:
    """Each refusal restarted the list: 200 refusals caused 20,000 requests."""
    world, exchange = World(), Asked()
    for name in "abcdef":
        world.bind(name, 20, ANN)
    call = refused_call(world, exchange, UpstreamRefusesMost, f"/api/v1/pods{query}")
    await MineLister(TokenSealer([b"k" * 32])).answer(call)
    ((status, body),) = exchange.answers
    assert (status, msgspec.json.decode(body)["metadata"]["resourceVersion"]) == (200, "77")
    assert len(cast(Any, call.platform.as_caller).asked) == 6


async def test_a_list_that_is_refused_in_all_namespaces_is_refused() -> None:
    world = World()
    world.bind("a", 20, ANN)
    world.bind("b", 21, ANN)
    with pytest.raises(UpstreamRefused) as refused:
        await MineLister(TokenSealer([b"k" * 32])).answer(refused_call(world, Asked()))
    assert refused.value.status == 403


def test_proxy_and_hop_by_hop_headers_are_not_forwarded() -> None:
    sent = (
        ("authorization", "Bearer t"),
        ("impersonate-user", "ann"),
        ("x-remote-user", "admin"),
        ("x-remote_group", "system:masters"),
        ("x-forwarded-for", "1.2.3.4"),
        ("connection", "close, x-other"),
        ("x-other", "1"),
        ("content-length", "3"),
        ("content-type", "application/json"),
        ("user-agent", "kubectl"),
    )
    kept = dict(headers_for_platform(sent, upgrade=False))
    assert set(kept) == {"authorization", "impersonate-user", "content-type", "user-agent"}
    upgraded = headers_for_platform(
        (("upgrade", "SPDY/3.1"), ("connection", "upgrade")), upgrade=True
    )
    assert upgraded == (("connection", "Upgrade"), ("upgrade", "SPDY/3.1"))


async def test_a_continued_list_without_a_limit_returns_the_remaining_items() -> None:
    world, sealer, names = World(), TokenSealer([b"k" * 32]), []
    for name in "abc":
        world.bind(name, 20, ANN)
    target = "/api/v1/namespaces?limit=1"
    for _ in range(2):
        call, client = call_of(world, MineApi(), target)
        await MineLister(sealer).answer(call)
        found = msgspec.json.decode(await client.sent.get())
        names.append([each["metadata"]["name"] for each in found["items"]])
        target = f"/api/v1/namespaces?continue={found['metadata'].get('continue')}"
    assert names == [["a"], ["b", "c"]]
