"""Quantities as numbers, what refusals say, and which changes of a ResourceQuota matter."""

import time
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given
from lnamespace.access.quota_refusals import ShareRefusal, read_refusal, waiting_message
from lnamespace.controller.lclusters.division import SharedNamespace, divide_totals
from lnamespace.controller.lclusters.share_quotas import (
    REQUEST_SECONDS,
    CachedShareQuota,
    ShareDemand,
    affects_shares,
    read_share_quota,
    unchanged_test,
)
from lnamespace.gateway.tenants.totals import TenantTotals, read_used
from lnamespace.model.lcluster import QUOTA_MAX_RESOURCES, NamespaceShare
from lnamespace.model.names import Names
from lnamespace.model.quantities import format_amount, parse_amount, parse_amounts


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("pods", "10", 10),
        ("pods", "1k", 1000),
        ("requests.cpu", "1", 1000),
        ("limits.cpu", "250m", 250),
        ("cpu", "1.5", 1500),
        ("requests.cpu", "100n", 1),
        ("requests.memory", "1Gi", 1 << 30),
        ("requests.memory", "1500m", 2),
        ("requests.storage", "2e3", 2000),
        ("requests.storage", "1E", 10**18),
        ("requests.storage", "0.5Ki", 512),
    ],
)
def test_a_quantity_is_parsed_as_a_whole_number(resource: str, text: str, amount: int) -> None:
    assert parse_amount(resource, text) == amount


def test_a_total_is_rounded_down() -> None:
    assert parse_amount("pods", "2500m", up=False) == 2


@pytest.mark.parametrize("text", ["", "-1", "1 ", "Gi", "1Gb", "0x1", "1e9999"])
def test_an_invalid_quantity_is_left_out(text: str) -> None:
    assert parse_amounts({"pods": text, "services": "1"}) == {"services": 1}


@given(
    st.sampled_from(["pods", "requests.cpu", "limits.memory", "requests.storage"]),
    st.integers(0, 2**60),
)
def test_a_formatted_amount_is_parsed_to_the_same_amount(resource: str, amount: int) -> None:
    assert parse_amount(resource, format_amount(resource, amount)) == amount


def test_amounts_are_written_in_the_largest_unit() -> None:
    assert format_amount("requests.memory", 3 << 30) == "3Gi"
    assert format_amount("requests.cpu", 2000) == "2"
    assert format_amount("pods", 2048) == "2048"


REFUSED = (
    'Error creating: pods "big-x" is forbidden: exceeded quota: lcluster, '
    "requested: pods=1,requests.cpu=2, used: pods=3,requests.cpu=500m, "
    "limited: pods=3,requests.cpu=1"
)


def test_the_limits_that_would_be_enough_are_read_from_a_quota_refusal() -> None:
    refusal = read_refusal(REFUSED)
    assert refusal
    assert refusal.wanted == {"pods": 4, "requests.cpu": 2500}


def test_the_event_of_a_request_that_waits_says_so_and_demands_the_same() -> None:
    """A tenant read that an object was forbidden which had been created."""
    counts = "requested: services=1, used: services=2"
    refused = f'services "w1" is forbidden: exceeded quota: lcluster, {counts}, limited: services=0'
    told = waiting_message(refused)
    assert told == (
        'services "w1" waits until this namespace has a larger share of the total, '
        f"{counts}, share: services=0"
    )
    assert read_refusal(told) == read_refusal(refused)
    assert read_refusal(waiting_message(REFUSED)) == read_refusal(REFUSED)


@pytest.mark.parametrize(
    "message",
    [
        "",
        REFUSED.replace("lcluster", "mine"),
        "failed quota: lcluster: must specify limits.cpu for: main",
        "exceeded quota: lcluster, requested: , used: , limited: ",
    ],
)
def test_other_error_messages_are_not_read_as_quota_refusals(message: str) -> None:
    assert read_refusal(message) is None


def test_a_malformed_quota_refusal_demands_nothing() -> None:
    refusal = read_refusal("exceeded quota: lcluster, requested: pods=x, used: =, limited: ,")
    assert refusal is None or not refusal.wanted


def test_the_refusal_message_names_the_totals_of_the_whole_lcluster() -> None:
    totals = TenantTotals({"pods": 10, "requests.cpu": 4000})
    totals.used["acme-a"] = read_used(b'{"status":{"used":{"pods":"3","requests.cpu":"500m"}}}')
    totals.used["acme-b"] = {"pods": 6, "requests.cpu": 1000}
    refusal = read_refusal(REFUSED)
    assert refusal
    assert totals.has_room(refusal)
    totals.used["acme-b"] = {"pods": 7, "requests.cpu": 1000}
    assert not totals.has_room(refusal)
    assert totals.refusal_message(REFUSED, refusal).endswith(
        "exceeded quota: lcluster, requested: pods=1,requests.cpu=2, "
        "used: pods=10,requests.cpu=1500m, limited: pods=10,requests.cpu=4"
    )


def test_a_resource_without_a_total_has_no_room() -> None:
    """Its share is about to go: nobody waits for a larger one."""
    assert not TenantTotals({"pods": 10}).has_room(ShareRefusal({"secrets": 1}, {"secrets": 0}))


def quota(**parts: Any) -> CachedShareQuota:
    given = CachedShareQuota(("acme-a", "lcluster"), 1, "u", 0, {"pods": 20}, {"pods": 20}, {})
    return msgspec.structs.replace(given, **parts)


@pytest.mark.parametrize(
    ("old", "new", "news"),
    [
        (None, quota(), True),
        (quota(), None, True),
        (quota(), quota(version=2), False),
        (quota(), quota(enforced={"pods": 10}), True),
        (quota(), quota(generation=1), True),
        (quota(used={"pods": 1}), quota(used={"pods": 2}), False),
        (quota(used={"pods": 1}), quota(used={"pods": 16}), True),
        (quota(used={"pods": 16}), quota(used={"pods": 16}, version=2), False),
    ],
)
def test_only_relevant_changes_of_a_quota_affect_the_shares(
    old: CachedShareQuota | None, new: CachedShareQuota | None, *, news: bool
) -> None:
    assert affects_shares(old, new, {"pods": 100}, demanded=False) is news
    assert affects_shares(old, new, {"pods": 100}, demanded=True)


def test_each_demand_expires_after_its_own_duration() -> None:
    """A request that had ended was kept alive by others, and its share refused to them."""
    now = [0.0]
    demand = ShareDemand(clock=lambda: now[0])
    demand.note("acme-a", ShareRefusal({"pods": 1}, {"pods": 3}), REQUEST_SECONDS)
    demand.note("acme-a", ShareRefusal({"pods": 1, "cpu": 1}, {"pods": 1, "cpu": 1}), 30)
    assert demand.demand_in("acme-a") == {"pods": 4, "cpu": 2}
    assert demand.any_with("acme-")
    assert not demand.any_with("acm-")
    now[0] = REQUEST_SECONDS
    assert demand.demand_in("acme-a") == {"pods": 2, "cpu": 2}
    demand.note("acme-b", ShareRefusal({"pods": 1}, {"pods": 1}), REQUEST_SECONDS)
    now[0] = 30
    assert not demand.demand_in("acme-a")
    assert not demand.any_with("acme-")


def test_a_quota_write_is_conditional_on_its_generation_or_resource_version() -> None:
    """Its version changes with each object under it: then a share was not moved for seconds."""
    names = Names()
    quota = CachedShareQuota(("acme-a", "lcluster"), 7, "u", 3, {}, {}, {})
    path = f"/metadata/annotations/{names.share_annotation.replace('/', '~1')}"
    assert unchanged_test(quota, names) == {"op": "test", "path": path, "value": "3"}
    unmarked = msgspec.structs.replace(quota, generation=-1)
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    assert unchanged_test(unmarked, names) == version


@pytest.mark.parametrize("text", ["007", "-1", "1" * 5000, "x", "", "\u0663"])
def test_an_invalid_generation_annotation_is_ignored(text: str) -> None:
    names = Names()
    annotations = {names.share_annotation: text}
    meta = {"name": "lcluster", "resourceVersion": "7", "annotations": annotations}
    assert read_share_quota(msgspec.json.encode({"metadata": meta}), names).generation == -1


@pytest.mark.parametrize("amount", ["9" * 100_000 + "z", "9" * 1_100_000, "." * 9999, "9" * 4000])
def test_a_forged_quota_refusal_is_parsed_quickly(amount: str) -> None:
    """10,000 digits stopped the controller for seconds, and a million ended it."""
    text = f"exceeded quota: lcluster, requested: pods={amount}, used: pods=1, limited: pods=1"
    started = time.process_time()
    refusal = read_refusal(text)
    assert time.process_time() - started < 1
    assert refusal is None or refusal.wanted == {}


def test_demands_for_many_amounts_use_limited_memory() -> None:
    now = [0.0]
    demand = ShareDemand(clock=lambda: now[0])
    for amount in (1000, *range(100)):
        now[0] += 0.001
        demand.note("acme-a", ShareRefusal({"pods": 1}, {"pods": amount}), REQUEST_SECONDS)
    assert demand.demand_in("acme-a") == {"pods": 100}, "the first is not remembered"


def test_a_quota_without_the_share_annotation_has_no_generation() -> None:
    raw = b'{"metadata":{"name":"lcluster","namespace":"acme-a","resourceVersion":"7"}}'
    assert read_share_quota(raw, Names()).generation == -1


def test_a_quota_of_thousands_of_resources_is_kept_as_far_as_a_share_goes() -> None:
    """One of an LNamespace with our label and name may have a megabyte of them, three times."""
    hard = {f"count/things{n}.example.com": "1" for n in range(10_000)}
    meta = {"name": "lcluster", "namespace": "team-a", "resourceVersion": "7"}
    stored = {"metadata": meta, "spec": {"hard": hard}, "status": {"hard": hard, "used": hard}}
    found = read_share_quota(msgspec.json.encode(stored), Names())
    kept = (found.written, found.enforced, found.used)
    assert [len(each) for each in kept] == [QUOTA_MAX_RESOURCES] * 3


def test_a_share_with_a_lower_limit_has_a_new_generation() -> None:
    held = quota(written={"pods": 60}, enforced={"pods": 60}, used={"pods": 20})
    full = quota(written={"pods": 40}, enforced={"pods": 40}, used={"pods": 40})
    first = SharedNamespace("acme-a", NamespaceShare("acme-a", {"pods": "60"}), held)
    second = SharedNamespace("acme-b", NamespaceShare("acme-b", {"pods": "40"}), full)
    shares = divide_totals({"pods": 100}, (first, replace(second, wanted={"pods": 45})))
    assert shares == (
        NamespaceShare("acme-a", {"pods": "50"}, {"pods": "60"}, 1),
        NamespaceShare("acme-b", {"pods": "40"}),
    )
    assert [replace(first, share=shares[0]).outdated, second.outdated] == [True, False]


def test_a_quota_with_deeply_nested_metadata_is_parsed() -> None:
    nested = b"[" * 9000 + b"]" * 9000
    raw = b'{"metadata":{"managedFields":' + nested + b'},"status":{"used":{"pods":"3"}}}'
    assert read_used(raw) == {"pods": 3}
