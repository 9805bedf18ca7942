"""The paths that are no objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.discovery.service_paths import (
    PathKind,
    ServicePath,
    forwarded_paths,
    forwarded_target,
    issuer_down,
    service_path,
)
from lnamespace.translate.protocol.status import Refused


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ServicePath(PathKind.ROOT)),
        ("/api", ServicePath(PathKind.CORE_VERSIONS)),
        ("/api/", ServicePath(PathKind.CORE_VERSIONS)),
        ("/apis/", ServicePath(PathKind.GROUPS)),
        ("/api/v1", ServicePath(PathKind.RESOURCES, version="v1")),
        ("/apis/apps", ServicePath(PathKind.GROUP, "apps")),
        ("/apis/apps/v1/", ServicePath(PathKind.RESOURCES, "apps", "v1")),
        ("/openapi/v2", ServicePath(PathKind.OPENAPI_V2)),
        ("/openapi/v3", ServicePath(PathKind.OPENAPI_V3_INDEX)),
        ("/openapi/v3/apis/apps/v1", ServicePath(PathKind.OPENAPI_V3, path="apis/apps/v1")),
        ("/version/", ServicePath(PathKind.FORWARDED, path="/version")),
        ("/openid/v1/jwks", ServicePath(PathKind.FORWARDED, path="/openid/v1/jwks")),
        ("/.well-known/openid-configuration", ServicePath(PathKind.ISSUER)),
        ("/readyz/poststarthook/rbac/bootstrap-roles", None),
        ("/healthz", None),
    ],
)
def test_a_non_resource_path_is_recognized(path: str, expected: ServicePath | None) -> None:
    assert service_path(path) == (expected or ServicePath(PathKind.FORWARDED, path=path))


@pytest.mark.parametrize(
    "path",
    [
        "/metrics",
        "/metrics/slis",
        "/logs",
        "/logs/kube-apiserver.log",
        "/debug/pprof",
        "/flagz",
        "/statusz",
        "/configz",
        "/openapi",
        "/openapi/v2/",
        "/openapi/v3/",
        "/healthz/",
        "/healthz/../metrics",
        "/livez/%2e%2e/metrics",
        "/readyz/.",
        "/readyzx",
        "/api/v1/x/y",
        "//apis",
        "",
    ],
)
def test_other_non_resource_paths_are_answered_with_404(path: str) -> None:
    with pytest.raises(Refused) as refusal:
        service_path(path)
    assert refusal.value.status.code == 404


@given(st.text(alphabet="/.%ahelthzliv?#\\", max_size=20))
def test_only_plain_health_check_paths_are_forwarded(rest: str) -> None:
    try:
        found = service_path(f"/healthz{rest}")
    except Refused:
        return
    assert found.path == f"/healthz{rest}"
    assert not set(rest) & set("?#%\\")
    assert "/." not in rest


def test_only_the_parameters_of_health_checks_are_forwarded() -> None:
    query = [("verbose", ""), ("exclude", "etcd&x"), ("timeout", "1h")]
    assert forwarded_target(service_path("/readyz"), query) == "/readyz?verbose&exclude=etcd%26x"
    assert forwarded_target(service_path("/version"), query) == "/version"


def test_the_root_path_list_contains_health_checks_and_no_platform_paths() -> None:
    upstream = {"paths": ["/livez/etcd", "/metrics", "/flagz", "/apis/beta-example.com"]}
    assert forwarded_paths(json.dumps(upstream).encode()) == [
        "/.well-known/openid-configuration",
        "/api",
        "/apis",
        "/livez/etcd",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/version",
    ]


def test_the_issuer_is_unchanged_and_its_keys_are_served_by_the_gateway() -> None:
    upstream = {"issuer": "https://kubernetes.default.svc", "jwks_uri": "https://10.0.0.1/keys"}
    down = issuer_down(json.dumps(upstream).encode(), "https://acme.example.com")
    assert json.loads(down) == {
        "issuer": "https://kubernetes.default.svc",
        "jwks_uri": "https://acme.example.com/openid/v1/jwks",
    }
