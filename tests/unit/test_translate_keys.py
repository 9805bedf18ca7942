"""Keys and values that a program of the platform heeds have another spelling upstream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.keys import (
    key_down,
    manager_down,
    manager_up,
    own_key_up,
    role_key_up,
)
from lnamespace.translate.view import View

ACME = View("acme")
DOMAINS = st.sampled_from(
    ["", "acme.lcluster", "tenancy.loblaw.digital", "rbac.authorization.k8s.io", "other.lcluster"]
)
NAMES = st.sampled_from(["aggregate-to-admin", "lnamespace", "a_b", "acme.lcluster_x"])
MANAGERS = st.lists(st.sampled_from(["acme", "lnamespace", "Helm", "example"]), max_size=4)


@given(DOMAINS, NAMES)
def test_each_key_is_read_back_and_none_is_heeded(domain: str, name: str) -> None:
    key = f"{domain}/{name}" if domain else name
    for key_up in (own_key_up, role_key_up):
        upstream = key_up(ACME, key)
        assert key_down(ACME, upstream) == key
        assert not upstream.startswith("tenancy.loblaw.digital/")


@given(MANAGERS.map(".".join))
def test_each_manager_is_read_back_and_none_is_the_platforms(manager: str) -> None:
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
def test_who_manages_an_object(manager: str, upstream: str) -> None:
    assert manager_up(ACME, manager) == upstream
