"""Where the API server keeps things; a name can never leave its place in the path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.kube.resources import CLUSTER_ROLE, EVENT, NAMESPACE, ROLE_BINDING, Resource


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (NAMESPACE.path(), "/api/v1/namespaces"),
        (NAMESPACE.path("team-a"), "/api/v1/namespaces/team-a"),
        (EVENT.path(namespace="default"), "/api/v1/namespaces/default/events"),
        (EVENT.path(), "/api/v1/events"),
        (CLUSTER_ROLE.path(), "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        (
            CLUSTER_ROLE.path("lnamespace:team-a:editor"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/lnamespace%3Ateam-a%3Aeditor",
        ),
        (
            ROLE_BINDING.path("x", "team-a"),
            "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings/x",
        ),
        (ROLE_BINDING.path(), "/apis/rbac.authorization.k8s.io/v1/rolebindings"),
        (
            Resource("t.io", "v1", "T", "ts").path("a", subresource="status"),
            "/apis/t.io/v1/ts/a/status",
        ),
        # A cluster-scoped kind has no namespace, whatever is said.
        (CLUSTER_ROLE.path("x", "a"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/x"),
    ],
)
def test_request_paths_follow_the_kubernetes_api(path: str, expected: str) -> None:
    assert path == expected


@given(st.text(min_size=1))
def test_any_name_is_escaped_to_one_path_segment(name: str) -> None:
    path = NAMESPACE.path(name)
    assert path.count("/") == NAMESPACE.path("x").count("/")
    assert not set("?# \n") & set(path)
    assert path.isascii()


def test_the_api_version_is_written_as_in_manifests() -> None:
    assert NAMESPACE.api_version == "v1"
    assert CLUSTER_ROLE.api_version == "rbac.authorization.k8s.io/v1"
