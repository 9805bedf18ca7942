"""The cluster that a request is for."""

import pytest
from lnamespace.gateway.destinations import Destination, find_destination

HOST = "gateway.example.com"


@pytest.mark.parametrize(
    ("server_name", "target", "expected"),
    [
        ("acme.gateway.example.com", "/api", Destination("acme", "/api")),
        (
            "gateway.example.com",
            "/clusters/acme/api?a=b",
            Destination("acme", "/api?a=b", "/clusters/acme"),
        ),
        (
            "gateway.example.com",
            "/clusters/acme?a=/b",
            Destination("acme", "/?a=/b", "/clusters/acme"),
        ),
        ("mine.gateway.example.com", "/api", Destination("mine", "/api")),
        ("gateway.example.com", "/mine/api?a=b", Destination("mine", "/api?a=b", "/mine")),
        ("", "/mine", Destination("mine", "/", "/mine")),
        ("", "/mine?a=b/c", Destination("mine", "/?a=b/c", "/mine")),
        ("", "/mineral/api", Destination("", "/mineral/api")),
        ("acme.gateway.example.com", "/mine/api", Destination("acme", "/mine/api")),
    ],
)
def test_the_host_or_the_path_of_a_request_selects_the_cluster(
    server_name: str, target: str, expected: Destination
) -> None:
    assert find_destination(server_name, target, HOST) == expected
