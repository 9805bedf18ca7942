"""What a request asks for: paths, verbs, and what is refused."""

import time
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest, parse_request
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType, Subresource
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests.targets import upstream_target

from tests.unit.support.served import (
    ACME,
    CLUSTER_ROLES,
    CRDS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    SERVED,
    VOLUMES,
    WIDGETS,
)


def parsed(target: str, method: str = "GET") -> ResourceRequest | PathRequest:
    return parse_request(method, target, SERVED, "acme")


def asked(target: str, method: str = "GET") -> ResourceRequest:
    request = parsed(target, method)
    assert isinstance(request, ResourceRequest)
    return request


def code(target: str, method: str = "GET") -> int:
    with pytest.raises(Refused) as refused:
        parsed(target, method)
    return refused.value.status.code


@pytest.mark.parametrize(
    ("method", "target", "verb"),
    [
        ("GET", "/api/v1/pods", "list"),
        ("GET", "/api/v1/pods?watch=1", "watch"),
        ("GET", "/api/v1/pods?watch=true", "watch"),
        ("GET", "/api/v1/pods?watch", "watch"),
        ("GET", "/api/v1/pods?watch=0", "list"),
        ("GET", "/api/v1/pods?watch=FALSE", "list"),
        ("GET", "/api/v1/namespaces/a/pods/b?watch=1", "get"),
        ("HEAD", "/api/v1/namespaces/a/pods/b", "get"),
        ("POST", "/api/v1/namespaces/a/pods", "create"),
        ("POST", "/api/v1/namespaces/a/pods/b/exec", "create"),
        ("GET", "/api/v1/namespaces/a/pods/b/exec", "get"),
        ("PUT", "/api/v1/namespaces/a/pods/b/status", "update"),
        ("PATCH", "/api/v1/namespaces/a/pods/b", "patch"),
        ("DELETE", "/api/v1/namespaces/a/pods/b", "delete"),
        ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection"),
        ("OPTIONS", "/api/v1/namespaces/a/pods/b/proxy/c", ""),
    ],
)
def test_request_verbs_are_derived_as_in_kubernetes(method: str, target: str, verb: str) -> None:
    assert asked(target, method).verb == verb


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/api/v1/namespaces", ResourceRequest("list", NAMESPACES, "v1")),
        ("/api/v1/namespaces/", ResourceRequest("list", NAMESPACES, "v1")),
        ("/api/v1/namespaces/prod", ResourceRequest("get", NAMESPACES, "v1", name="prod")),
        (
            "/api/v1/namespaces/acme-prod",
            ResourceRequest("get", NAMESPACES, "v1", name="prod", in_pod=True),
        ),
        (
            "/api/v1/namespaces/prod/finalize",
            ResourceRequest("get", NAMESPACES, "v1", name="prod", subresource="finalize"),
        ),
        (
            "/api/v1/namespaces/prod/pods/status",
            ResourceRequest("get", PODS, "v1", "prod", "status"),
        ),
        (
            "/api/v1/namespaces/acme-prod/pods/a",
            ResourceRequest("get", PODS, "v1", "prod", "a", in_pod=True),
        ),
        (
            "/apis/apps/v1/namespaces/p%72od/deployments/web/scale",
            ResourceRequest("get", DEPLOYMENTS, "v1", "prod", "web", "scale"),
        ),
        (
            "/apis/example.com/v2/namespaces/a/widgets/b",
            ResourceRequest("get", WIDGETS, "v2", "a", "b"),
        ),
        (
            "/api/v1/namespaces/a/pods/b:80/proxy/x%2Fy//z/?q=1&q=2",
            ResourceRequest(
                "get", PODS, "v1", "a", "b:80", "proxy", "/x%2Fy//z/", (("q", "1"), ("q", "2"))
            ),
        ),
        (
            "/api/v1/namespaces/a/pods/b/proxy/",
            ResourceRequest("get", PODS, "v1", "a", "b", "proxy", "/"),
        ),
        (
            "/api/v1/namespaces/proxy/pods/proxy/proxy",
            ResourceRequest("get", PODS, "v1", "proxy", "proxy", "proxy"),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
            ResourceRequest("get", CLUSTER_ROLES, "v1", name="system:node"),
        ),
        ("/api/v1/persistentvolumes/a", ResourceRequest("get", VOLUMES, "v1", name="a")),
    ],
)
def test_a_resource_path_is_parsed_into_its_parts(target: str, expected: ResourceRequest) -> None:
    assert asked(target) == expected


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", "/"),
        ("/api", "/api"),
        ("/api/v1", "/api/v1"),
        ("/apis/apps/v1", "/apis/apps/v1"),
        ("/apis/", "/apis/"),
        ("/openapi/v3/apis/apps/v1", "/openapi/v3/apis/apps/v1"),
        ("/.well-known/openid-configuration", "/.well-known/openid-configuration"),
    ],
)
def test_non_resource_paths_are_parsed_as_paths(target: str, path: str) -> None:
    assert parsed(f"{target}?timeout=32s") == PathRequest("get", path, (("timeout", "32s"),))


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/namespaces//configmaps",
        "/api/v1/namespaces//pods",
        "//api/v1/pods",
        "/api/v1//pods",
        "/apis//v1/pods",
        "/openapi//v2",
        "/api/v1/namespaces/a/pods//exec",
        "/api/v1/watch/pods",
        "/api/v1/watch/namespaces/a/pods",
        "/apis/apps/v1/watch/deployments",
        "/api/v1/proxy/namespaces/a/pods/b",
        "/api/v1/nodes",
        "/api/v1/nodes/x/proxy/y",
        "/api/v1/gadgets",
        "/apis/acme-example.com/v1/widgets",
        "/api/v1/pods/a",
        "/api/v1/namespaces/a/persistentvolumes",
        "/api/v1/namespaces/a/namespaces/b",
        "/api/v1/namespaces/a/pods/b/log/c",
        "/api/v1/namespaces/a/status/b",
        "/api/v1/namespaces/acme-",
        "/api/v1/namespaces/acme-acme-x",
        "/api/v1/namespaces/acme-/pods",
        "/api/v1/namespaces/acme-acme-x/pods",
        "/api/v1/namespaces/a%2Fpods",
        "/api/v1/namespaces/a/pods/b%2Fexec",
    ],
)
def test_a_path_without_a_route_is_answered_with_404(target: str) -> None:
    assert code(target) == 404


@pytest.mark.parametrize(
    "target",
    [
        "http://example.com/api/v1/pods",
        "*",
        "",
        "/api/v1/namespaces/%2E%2E/pods",
        "/api/v1/namespaces/../pods",
        "/api/v1/namespaces/./pods",
        "/api/v1/namespaces/a/pods/b%252Fexec",
        "/api/v1/namespaces/a/pods/b%00",
        "/api/v1/namespaces/a/pods/b%0Ac",
        "/api/v1/namespaces/a/pods/b%zz",
        "/api/v1/namespaces/a/pods/%ff",
        "/api/v1/namespaces/a/pods/b%",
        "/api/v1/namespaces/a/pods/b#c",
        "/api/v1/namespaces/a/pods/b\\c",
        "/api/v1/namespaces/a/pods/b c",
        "/api/v1/namespaces/a/pods/b\r\nHost: c",
        "/api/v1/namespaces/ä/pods",
        "/api/v1/namespaces/a/pods/b/proxy/../../../c",
        "/api/v1/namespaces/a/pods/b/proxy/%2e%2e/c",
        "/api/v1/namespaces/a/pods/b/proxy/c%2f%2e%2e",
        "/api/v1/namespaces/a/pods/b/proxy/c%5c..%5cd",
        "/api/v1/namespaces/a/pods/b/proxy/%0d%0a",
        "/openapi/%2e%2e/v2",
        "/api/v1/pods?limit=1&limit=2",
        "/api/v1/pods?labelSelector=a&labelSelector=b",
        "/api/v1/pods?fieldSelector=%zz",
        "/version?a=1&a=1",
    ],
)
def test_an_ambiguous_url_is_refused(target: str) -> None:
    assert code(target) == 400


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/api/v1/pods"),
        ("HEAD", "/api/v1/pods"),
        ("DELETE", "/api/v1/pods"),
        ("POST", "/api/v1/namespaces/a/pods/b"),
        ("PUT", "/api/v1/namespaces/a/pods"),
        ("PATCH", "/api/v1/namespaces"),
        ("OPTIONS", "/api/v1/namespaces"),
        ("TRACE", "/api/v1/namespaces/a/pods/b/log"),
    ],
)
def test_an_unsupported_method_of_a_path_is_answered_with_405(method: str, target: str) -> None:
    assert code(target, method) == 405


def test_only_versions_verbs_and_subresources_in_discovery_are_served() -> None:
    shown = replace(
        PODS,
        versions=("v1",),
        verbs=frozenset({"get", "list"}),
        subresources=(Subresource("log", frozenset({"get"})),),
    )
    table = ResourceTable.from_types([shown])
    pod = "/api/v1/namespaces/a/pods/b"
    assert parse_request("GET", f"{pod}/log", table, "acme")
    for method, target, status in [
        ("GET", "/api/v2/pods", 404),
        ("GET", f"{pod}/binding", 404),
        ("POST", f"{pod}/log", 405),
        ("DELETE", pod, 405),
        ("DELETE", "/api/v1/namespaces/a/pods", 405),
        ("GET", "/api/v1/pods?watch=1", 405),
    ]:
        with pytest.raises(Refused) as refused:
            parse_request(method, target, table, "acme")
        assert refused.value.status.code == status


def test_a_repeated_command_parameter_of_exec_is_accepted() -> None:
    query = asked("/api/v1/namespaces/a/pods/b/exec?command=echo&command=a+b%26").query
    assert query == (("command", "echo"), ("command", "a b&"))


def test_a_client_in_a_pod_may_select_its_namespace_by_the_upstream_spelling() -> None:
    request = asked("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dacme-prod")
    assert request.parameter("fieldSelector") == "metadata.name=prod"
    assert request.in_pod
    plain = asked("/api/v1/namespaces?fieldSelector=metadata.name%3Dprod,status.phase%3Dx")
    assert plain.parameter("fieldSelector") == "metadata.name=prod,status.phase=x"
    assert not plain.in_pod
    pods = asked("/api/v1/pods?fieldSelector=metadata.name%3Dacme-prod")
    assert pods.parameter("fieldSelector") == "metadata.name=acme-prod"


def test_a_request_for_a_namespace_is_authorized_in_that_namespace() -> None:
    assert asked("/api/v1/namespaces/prod").authorization_namespace == "prod"
    assert asked("/api/v1/namespaces/prod/pods/a").authorization_namespace == "prod"


names = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["..", ".", "%2e%2e", "a/b", "a%2Fb", "acme-", "proxy", "watch", "status", "a?b#c&d", "pvc-1"]
)


@given(names, names, names, st.sampled_from([PODS, WIDGETS, CLUSTER_ROLES, CRDS, VOLUMES]))
def test_no_name_escapes_its_path_segment_upstream(
    namespace: str, name: str, subresource: str, resource: object
) -> None:
    request = ResourceRequest("get", resource, "v1", "", name, subresource)  # type: ignore[arg-type]
    if request.resource.namespaced:
        request = replace(request, namespace=namespace)
    target = upstream_target(request, ACME)
    assert "?" not in target
    decoded = [unquote(each) for each in target[1:].split("/")]
    below = decoded[decoded.index("v1") + 1 :]
    above = ["namespaces", ACME.namespace_up(namespace)] if request.namespace else []
    above += [request.resource.plural, ACME.name_up(request.resource, name), subresource]
    assert below == above


@given(st.text("acme-prodx/%.2Fe?&#=\\ns", max_size=60))
def test_a_parsed_request_has_the_same_names_upstream(text: str) -> None:
    try:
        request = parsed(f"/api/v1/{text}")
    except Refused:
        return
    if isinstance(request, ResourceRequest) and request.resource.namespaced:
        again = asked(upstream_target(request, ACME), "GET")
        assert again == replace(request, in_pod=bool(request.namespace))


@pytest.mark.parametrize("timeout", ["invalid", "5", "1.s.", "1d", "5%20s"])
@pytest.mark.parametrize("path", ["/version", "/api", "/api/v1/pods"])
def test_an_invalid_timeout_parameter_is_refused(path: str, timeout: str) -> None:
    """Paths that the gateway answers itself took any; Kubernetes' own suite asks ``/version``."""
    assert code(f"{path}?timeout={timeout}") == 400


def test_a_long_timeout_parameter_is_parsed_in_linear_time() -> None:
    """It took the square of it: 60 KiB of digits stopped all tenants' requests for a minute."""
    began = time.process_time()
    assert code(f"/version?timeout={'1' * 16_000}") == 400
    assert code(f"/version?timeout={'1m' * 8_000}x") == 400
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "timeout", ["", "0", "0s", "5s", "1h1.5m", "1.h", ".5s", "-1ms", "3%C2%B5s"]
)
def test_a_timeout_parameter_is_a_go_duration(timeout: str) -> None:
    assert parsed(f"/version?timeout={timeout}")
    assert parsed(f"/api/v1/pods?timeout={timeout}")
    assert parsed("/api/v1/pods?watch=1&timeout=invalid")


def test_every_verb_of_a_tenants_own_kind_is_served() -> None:
    """Discovery lacks update and patch while the definition terminates: a finalizer stayed."""
    verbs = frozenset({"delete", "deletecollection", "get", "list", "watch"})
    own = ResourceType("example.com", "carts", "Cart", namespaced=False, custom=True, verbs=verbs)
    assert own.serves_verb("patch")
    assert not replace(own, custom=False).serves_verb("patch")
