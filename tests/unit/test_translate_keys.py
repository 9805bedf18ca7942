"""Keys and values that a program of the platform heeds have another spelling upstream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.keys import (
    key_down,
    manager_down,
    manager_up,
    own_key_up,
    role_key_up,
)

ACME = TenantView("acme")
DOMAINS = st.sampled_from(
    [
        "",
        "acme.lcluster",
        "x.acme.lcluster",
        "tenancy.loblaw.digital",
        "rbac.authorization.k8s.io",
        "other.lcluster",
        "xacme.lcluster",
    ]
)
NAMES = st.sampled_from(["aggregate-to-admin", "lnamespace", "a_b", "acme.lcluster_x"])
OF_KUBEFLOW = "rbac.authorization.kubeflow.org/aggregate-to-kubeflow-pipelines-edit"
MANAGERS = st.lists(st.sampled_from(["acme", "lnamespace", "Helm", "example"]), max_size=4)


@given(DOMAINS, NAMES)
def test_each_key_round_trips_and_is_not_recognized_by_the_platform(domain: str, name: str) -> None:
    key = f"{domain}/{name}" if domain else name
    for key_up in (own_key_up, role_key_up):
        upstream = key_up(ACME, key)
        assert key_down(ACME, upstream) == key
        assert not upstream.startswith("tenancy.loblaw.digital/")


@given(DOMAINS, NAMES, DOMAINS, NAMES)
def test_different_keys_stay_different_upstream(
    domain: str, name: str, other: str, another: str
) -> None:
    keys = {f"{a}/{b}" if a else b for a, b in ((domain, name), (other, another))}
    for key_up in (own_key_up, role_key_up):
        assert len({key_up(ACME, each) for each in keys}) == len(keys)


def test_the_longest_label_of_kubeflow_is_valid_upstream() -> None:
    view = TenantView("a" * 20)
    upstream = role_key_up(view, OF_KUBEFLOW)
    domain, _, name = upstream.rpartition("/")
    assert len(domain) <= 253
    assert len(name) <= 63
    assert key_down(view, upstream) == OF_KUBEFLOW


@given(MANAGERS.map(".".join))
def test_each_manager_label_round_trips_and_is_never_that_of_the_platform(manager: str) -> None:
    upstream = manager_up(ACME, manager)
    assert manager_down(ACME, upstream) == manager
    assert upstream.split(".")[0] != "lnamespace"


@pytest.mark.parametrize(
    ("manager", "upstream"),
    [
        ("lnamespace", "acme.lnamespace"),
        ("lnamespace.example.com", "acme.lnamespace.example.com"),
        ("lnamespaces", "lnamespaces"),
        ("Helm", "Helm"),
        ("acme.lnamespace", "acme.acme.lnamespace"),
    ],
)
def test_a_manager_label_of_the_platform_is_prefixed_upstream(manager: str, upstream: str) -> None:
    assert manager_up(ACME, manager) == upstream
