"""The namespaces of a tenant as the gateway knows them."""

import time

import pytest
from lnamespace.gateway.tenants.namespaces import TenantNamespaces, read_watched


@pytest.fixture
def namespaces() -> TenantNamespaces:
    found = TenantNamespaces()
    for name in ("acme-default", "acme-old"):
        found.add(name)
        found.grant(name, granted=True)
    return found


def test_a_namespace_that_is_being_deleted_is_listed_as_long_as_it_can_be_read(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.add("acme-old", terminating=True)
    assert namespaces.all() == ["acme-default", "acme-old"]
    namespaces.grant("acme-old", granted=False)
    assert namespaces.all() == ["acme-default"]
    assert "acme-old" in namespaces


def test_a_namespace_whose_binding_somebody_deleted_is_still_listed(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.grant("acme-old", granted=False)
    assert namespaces.all() == ["acme-default", "acme-old"]


async def test_nobody_waits_for_a_right_in_a_namespace_that_is_being_deleted(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.grant("acme-old", granted=False)
    namespaces.add("acme-old", terminating=True)
    assert not await namespaces.wait_usable("acme-old", 60)
    assert await namespaces.wait_ended("acme-old", 60)
    assert not await namespaces.wait_ended("acme-default", 0)


def test_who_watches_is_told_once_that_a_namespace_is_as_good_as_gone(
    namespaces: TenantNamespaces,
) -> None:
    told: list[tuple[str, bool]] = []
    namespaces.listen(lambda name, there: told.append((name, there)))
    namespaces.add("acme-old", terminating=True)
    namespaces.grant("acme-old", granted=False)
    namespaces.grant("acme-old", granted=False)
    assert told == [("acme-old", False)]


def test_a_new_namespace_of_a_name_that_was_deleted_is_not_being_deleted(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.add("acme-old", terminating=True)
    namespaces.grant("acme-old", granted=False)
    namespaces.remove("acme-old")
    namespaces.add("acme-old")
    assert namespaces.all() == ["acme-default", "acme-old"]


def test_a_namespace_says_itself_that_it_is_being_deleted() -> None:
    time = b'"deletionTimestamp":"2026-01-01T00:00:00Z"'
    assert read_watched(
        b'{"metadata":{"name":"a","resourceVersion":"5",' + time + b"}}"
    ).terminating
    assert not read_watched(b'{"metadata":{"name":"a","resourceVersion":"5"}}').terminating


def test_only_a_binding_that_came_just_now_may_be_unknown_to_the_api_server(
    namespaces: TenantNamespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert namespaces.recently_granted("acme-default")
    assert not namespaces.recently_granted("acme-other")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    namespaces.grant("acme-default", granted=True)
    assert not namespaces.recently_granted("acme-default"), "told again by a list, it is not newer"
