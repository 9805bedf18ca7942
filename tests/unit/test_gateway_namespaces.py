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


def test_a_terminating_namespace_is_listed_until_its_binding_is_deleted(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.add("acme-old", terminating=True)
    assert namespaces.all() == ["acme-default", "acme-old"]
    namespaces.grant("acme-old", granted=False)
    assert namespaces.all() == ["acme-default"]
    assert "acme-old" in namespaces


def test_an_active_namespace_whose_binding_was_deleted_is_still_listed(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.grant("acme-old", granted=False)
    assert namespaces.all() == ["acme-default", "acme-old"]


async def test_waiting_for_the_binding_of_a_terminating_namespace_returns_at_once(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.grant("acme-old", granted=False)
    namespaces.add("acme-old", terminating=True)
    assert not await namespaces.wait_usable("acme-old", 60)
    assert await namespaces.wait_ended("acme-old", 60)
    assert not await namespaces.wait_ended("acme-default", 0)


def test_listeners_are_notified_once_that_a_terminating_namespace_is_unreadable(
    namespaces: TenantNamespaces,
) -> None:
    told: list[tuple[str, bool]] = []
    namespaces.listen(lambda name, there: told.append((name, there)))
    namespaces.add("acme-old", terminating=True)
    namespaces.grant("acme-old", granted=False)
    namespaces.grant("acme-old", granted=False)
    assert told == [("acme-old", False)]


def test_a_recreated_namespace_is_not_terminating(
    namespaces: TenantNamespaces,
) -> None:
    namespaces.add("acme-old", terminating=True)
    namespaces.grant("acme-old", granted=False)
    namespaces.remove("acme-old")
    namespaces.add("acme-old")
    assert namespaces.all() == ["acme-default", "acme-old"]


def test_the_deletion_timestamp_marks_a_namespace_as_terminating() -> None:
    time = b'"deletionTimestamp":"2026-01-01T00:00:00Z"'
    assert read_watched(
        b'{"metadata":{"name":"a","resourceVersion":"5",' + time + b"}}"
    ).terminating
    assert not read_watched(b'{"metadata":{"name":"a","resourceVersion":"5"}}').terminating


def test_only_a_new_binding_counts_as_recently_granted(
    namespaces: TenantNamespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert namespaces.recently_granted("acme-default")
    assert not namespaces.recently_granted("acme-other")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    namespaces.grant("acme-default", granted=True)
    assert not namespaces.recently_granted("acme-default"), "told again by a list, it is not newer"
