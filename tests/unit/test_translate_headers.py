"""Which headers go upstream, which come back, and who is named by them."""

from base64 import urlsafe_b64encode

import pytest
from lnamespace.translate.protocol.impersonation import ImpersonationHeaders, impersonation_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.protocol.websocket import websocket_token
from lnamespace.translate.requests.headers import (
    STREAM_ACCEPT,
    USER_AGENT,
    Headers,
    headers_down,
    headers_up,
    location_down,
    merged_headers,
    proxied_headers_down,
)

from tests.unit.support.served import ACME, PODS

GET = ResourceRequest("get", PODS, "v1", "prod", "a")
EXEC = ResourceRequest("create", PODS, "v1", "prod", "a", "exec")
PROXY = ResourceRequest("get", PODS, "v1", "prod", "a", "proxy", "/x")
HOSTILE: Headers = (
    ("authorization", "Bearer x"),
    ("impersonate-user", "admin"),
    ("impersonate_user", "admin"),
    ("impersonate-extra-a", "b"),
    ("x-remote-user", "admin"),
    ("x_remote_group", "system:masters"),
    ("x-forwarded-for", "10.0.0.1"),
    ("audit-id", "chosen"),
    ("cookie", "a=b"),
    ("connection", "Impersonate-User, Authorization, X-Mine"),
    ("x-mine", "1"),
    ("keep-alive", "5"),
    ("te", "trailers"),
    ("transfer-encoding", "chunked"),
    ("content-length", "5"),
    ("host", "elsewhere"),
    ("upgrade", "h2c"),
    ("user-agent", "curl/8"),
)


@pytest.mark.parametrize(
    ("request_", "kept"),
    [
        (GET, (("user-agent", USER_AGENT), ("accept", "application/json"))),
        (EXEC, (("user-agent", USER_AGENT), ("accept", STREAM_ACCEPT))),
        (PROXY, (("user-agent", "curl/8"),)),
    ],
)
def test_identity_headers_are_not_sent_upstream(request_: ResourceRequest, kept: Headers) -> None:
    assert headers_up(request_, HOSTILE, "application/json") == kept


def test_a_proxied_server_receives_the_headers_of_the_client() -> None:
    headers = (("accept", "text/html"), ("x-request-id", "1"), ("range", "bytes=0-1"))
    assert headers_up(PROXY, headers, "application/json") == headers


def bearer(token: bytes) -> str:
    encoded = urlsafe_b64encode(token).rstrip(b"=").decode()
    return f"base64url.bearer.authorization.k8s.io.{encoded}"


def test_a_websocket_token_is_not_sent_upstream() -> None:
    headers = (
        ("sec-websocket-key", "k"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-protocol", f"v5.channel.k8s.io, {bearer(b't')}"),
        ("sec-websocket-protocol", "v4.channel.k8s.io"),
        ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ("origin", "http://x"),
    )
    assert headers_up(EXEC, headers, "")[2:] == (
        ("sec-websocket-key", "k"),
        ("sec-websocket-version", "13"),
        ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ("sec-websocket-protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
    )
    assert bearer(b"t") not in str(headers_up(PROXY, headers, ""))
    assert websocket_token(headers) == "t"


def test_a_websocket_without_a_token_protocol_has_no_token() -> None:
    assert websocket_token((("sec-websocket-protocol", "v5.channel.k8s.io"),)) is None


@pytest.mark.parametrize(
    "protocols",
    [
        bearer(b"t"),
        f"a, {bearer(b't')}, {bearer(b'u')}",
        f"a, {bearer(b't')}, {bearer(b't')}",
        f"a, {bearer(b'')}",
        f"a, {bearer(bytes([0xFF]))}",
        "a, base64url.bearer.authorization.k8s.io.x",
    ],
)
def test_an_ambiguous_or_invalid_websocket_token_is_answered_with_401(protocols: str) -> None:
    with pytest.raises(Refused) as refused:
        websocket_token((("sec-websocket-protocol", protocols),))
    assert refused.value.status.code == 401


def test_response_headers_of_the_platform_are_removed() -> None:
    headers = (
        ("audit-id", "1"),
        ("content-type", "application/json"),
        ("x-kubernetes-pf-flowschema-uid", "2"),
        ("retry-after", "1"),
        ("set-cookie", "a=b"),
        ("server", "x"),
        ("warning", '299 - "namespace acme-prod and acme-b, not x.acme-c"'),
        ("location", "https://10.0.0.1:6443/x"),
    )
    assert headers_down(headers, ACME) == (
        ("audit-id", "1"),
        ("retry-after", "1"),
        ("warning", '299 - "namespace prod and acme-b, not x.acme-c"'),
    )


def test_a_proxied_response_keeps_its_own_headers() -> None:
    headers = (
        ("x-own", "1"),
        ("set-cookie", "a=b"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("x-kubernetes-pf-flowschema-uid", "2"),
        ("location", "/api/v1/namespaces/acme-prod/pods/a/proxy/y?z=1"),
    )
    assert proxied_headers_down(headers, ACME, "/clusters/acme") == (
        ("x-own", "1"),
        ("location", "/clusters/acme/api/v1/namespaces/prod/pods/a/proxy/y?z=1"),
    )


@pytest.mark.parametrize(
    "location",
    [
        "/api/v1/namespaces/beta-prod/pods/a/proxy/y",
        "https://upstream:6443/api/v1/namespaces/acme-prod/pods/a/proxy/y",
        "//elsewhere/api/v1/namespaces/acme-prod/pods/a/proxy/y",
        "/api/v1/nodes/a/proxy/y",
        "",
    ],
)
def test_a_redirect_location_outside_the_lcluster_is_removed(location: str) -> None:
    assert location_down(location, ACME) == ""


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), None),
        ((("accept", "x"),), None),
        ((("impersonate-user", "ann"),), ImpersonationHeaders("ann")),
        (
            (
                ("impersonate-user", "ann"),
                ("impersonate-group", "b"),
                ("impersonate-group", "a"),
                ("impersonate-uid", "1"),
                ("impersonate-extra-x%2fy", "2"),
                ("impersonate-extra-x%2fy", "3"),
            ),
            ImpersonationHeaders("ann", ("b", "a"), "1", (("x/y", ("2", "3")),)),
        ),
    ],
)
def test_impersonation_headers_are_parsed(
    headers: Headers, expected: ImpersonationHeaders | None
) -> None:
    assert impersonation_of(headers) == expected


@pytest.mark.parametrize(
    "headers",
    [
        (("impersonate-user", ""),),
        (("impersonate-group", "system:masters"),),
        (("impersonate-user", "a"), ("impersonate-user", "b")),
        (("impersonate-user", "a"), ("impersonate-uid", "b"), ("impersonate-uid", "b")),
        (("impersonate_user", "a"),),
        (("impersonate-user", "a"), ("impersonate_group", "b")),
        (("impersonate-users", "a"),),
        (("impersonate-user", "a"), ("impersonate-extra-", "b")),
        (("impersonate-user", "a\r\n impersonate-group: b"),),
    ],
)
def test_invalid_impersonation_headers_are_refused(headers: Headers) -> None:
    with pytest.raises(Refused) as refused:
        impersonation_of(headers)
    assert refused.value.status.code == 400


def test_a_merged_response_has_each_warning_once() -> None:
    old, gone = ("warning", '299 - "old"'), ("warning", '299 - "gone"')
    first = (("audit-id", "a"), old)
    assert merged_headers([first, (("audit-id", "b"), old, gone)]) == (("audit-id", "a"), old, gone)
    assert merged_headers([]) == ()
