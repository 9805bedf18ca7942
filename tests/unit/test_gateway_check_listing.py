"""How `lnamespace gateway check` finds kinds that the API server cannot list."""

import asyncio
import json
from typing import Any, cast

import pytest
from lnamespace.errors import ClusterError, Forbidden, NotFound, ServerFault, Throttled
from lnamespace.gateway.check import listing
from lnamespace.gateway.check.listing import (
    DefinedKind,
    UnlistableKind,
    find_unlistable,
    list_defined_kinds,
)

WIDGETS = DefinedKind(
    "widgets.down.example.org",
    "down.example.org",
    "Widget",
    "widgets",
    frozenset({"v1", "v2"}),
    words=frozenset({"widgets", "widget"}),
)
ROOT = "/apis/down.example.org"
ALL, EMPTY = f"{ROOT}/v2/widgets", f"{ROOT}/v2/namespaces/nobodys/widgets"
CAUSE = "conversion webhook for down.example.org/v1, Kind=Widget failed: no route to host"
SILENCE = "silence"
KEYLESS = "unable to sync list result: couldn't compute key: Namespace parameter required."
GONE = "request to convert CR from an invalid group/version: down.example.org/v1"
FILLING = "storage is (re)initializing"


class ApiServer:
    """An API server that gives each path its answers in turn, and the last one for ever."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers = answers

    async def get(self, path: str, **_: Any) -> bytes:
        found = self.answers.get(path, [NotFound("not found")])
        answer = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, ClusterError):
            raise answer
        if answer == SILENCE:
            await asyncio.Event().wait()
        return json.dumps(answer).encode()

    list_metadata = get


def definition(name: str, scope: str = "Namespaced", **names: Any) -> dict[str, Any]:
    """Return a definition whose last version is not served."""
    plural, _, group = name.partition(".")
    versions = [{"name": f"v{n}", "served": n < 3, "schema": {}} for n in (1, 2, 3)]
    spec: dict[str, Any] = {"group": group, "scope": scope, "versions": versions}
    spec["names"] = {"plural": plural, "kind": "Widget", "singular": "widget", **names}
    return {"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec}


async def test_the_kinds_of_all_definitions_are_known_with_what_kubectl_calls_them() -> None:
    """Only those that a webhook converts were looked at, and others stop deletions as well."""
    items = [
        definition("widgets.down.example.org"),
        definition("fleets.down.example.org", "Cluster", kind="LC", singular="", shortNames=["f"]),
        definition("widgets.acme-example.org"),
    ]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    server = ApiServer({path: [{"metadata": {"resourceVersion": "1"}, "items": items}]})
    found = await list_defined_kinds(cast(Any, server))
    assert [each.name for each in found] == [each["metadata"]["name"] for each in items]
    assert found[0] == WIDGETS
    assert not found[1].namespaced
    assert found[1].words == {"fleets", "lc", "f"}


async def said(in_all: list[Any], in_empty: list[Any]) -> UnlistableKind | None:
    """Return what is found where the kind is listed so."""
    versions = [{"version": each, "groupVersion": f"g/{each}"} for each in ("v3", "v2", "v1")]
    server = ApiServer({ROOT: [{"versions": versions}], ALL: in_all, EMPTY: in_empty})
    return await find_unlistable(cast(Any, server), WIDGETS, "nobodys")


FAILS = ServerFault(CAUSE, status=500)
BUSY, STAYS = Throttled(FILLING), Throttled(f"{FILLING}: failed to list v2: {CAUSE}")


@pytest.mark.parametrize(
    ("in_all", "in_empty", "message"),
    [
        ([{}], [{}], ""),
        ([FAILS], [{}], CAUSE),
        ([{}], [STAYS], CAUSE),
        ([{}], [BUSY, STAYS], CAUSE),
        ([{}], [BUSY, {}], ""),
        ([BUSY], [BUSY], ""),
        ([BUSY, FAILS], [BUSY], CAUSE),
        ([NotFound("")], [FAILS], ""),
        ([ServerFault(GONE, status=500)], [{}], GONE),
        ([{}], [Throttled(f"{FILLING}: failed to list g/v2, Kind=Widget: {GONE}")], GONE),
        ([{}], [BUSY, Throttled(f"{FILLING}: {KEYLESS}")], KEYLESS),
        ([{}], [Throttled("too many requests: try later")], ""),
        ([{}], [SILENCE], "no answer in 0.01 s"),
    ],
)
async def test_a_kind_that_cannot_be_listed_is_found_in_its_preferred_version(
    in_all: list[Any], in_empty: list[Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of one object succeeded, as the first needed no conversion, and none was deleted."""
    monkeypatch.setattr(listing, "_PAUSE", 0)
    monkeypatch.setattr(listing, "_SECONDS", 0.01)
    found = await said(in_all, in_empty)
    assert found == (UnlistableKind(WIDGETS.name, "v2", message) if message else None)


async def test_a_kind_that_may_not_be_listed_is_not_called_broken() -> None:
    with pytest.raises(Forbidden):
        await said([Forbidden("no")], [{}])


async def test_a_kind_of_a_group_that_is_not_served_stops_nothing() -> None:
    assert await find_unlistable(cast(Any, ApiServer({})), WIDGETS, "nobodys") is None
