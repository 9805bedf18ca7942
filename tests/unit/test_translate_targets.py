"""The URL upstream: names, selectors and other parameters."""

from dataclasses import replace
from urllib.parse import parse_qsl, quote

import pytest
from lnamespace.translate.protocol.request import ResourceRequest, parse_request
from lnamespace.translate.protocol.resources import ResourceType, ServingPolicy
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests.selection import residual_fields
from lnamespace.translate.requests.targets import (
    ListedObjects,
    is_dynamic_volume,
    manager_of,
    refuse_deletion,
    upstream_target,
)

from tests.unit.support import translation
from tests.unit.support.served import ACME, SERVED

PROVISIONED = "pvc-cb23c200-f249-11ea-9039-3497f65a8415"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
OWN = "tenancy.loblaw.digital/lcluster=acme"


def asked(target: str, method: str = "GET") -> ResourceRequest:
    request = parse_request(method, target, SERVED, "acme")
    assert isinstance(request, ResourceRequest)
    return request


def parameters(target: str, method: str = "GET") -> dict[str, str]:
    return dict(parse_qsl(upstream_target(asked(target, method), ACME).partition("?")[2]))


def refusal(target: str, method: str = "GET") -> int:
    with pytest.raises(Refused) as refused:
        upstream_target(asked(target, method), ACME)
    return refused.value.status.code


@pytest.mark.parametrize(
    ("target", "upstream"),
    [
        ("/api/v1/namespaces/prod", "/api/v1/namespaces/acme-prod"),
        ("/api/v1/namespaces/acme-prod/pods", "/api/v1/namespaces/acme-prod/pods"),
        ("/api/v1/persistentvolumes/a", "/api/v1/persistentvolumes/acme-a"),
        (f"/api/v1/persistentvolumes/{PROVISIONED}", f"/api/v1/persistentvolumes/{PROVISIONED}"),
        ("/api/v1/persistentvolumes/pvc-1", "/api/v1/persistentvolumes/acme-pvc-1"),
        (f"{RBAC}/clusterroles/admin", f"{RBAC}/clusterroles/admin"),
        (f"{RBAC}/clusterroles/mine", f"{RBAC}/clusterroles/acme-mine"),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.acme-example.com",
        ),
        (
            "/apis/example.com/v1/namespaces/prod/widgets/a/status",
            "/apis/acme-example.com/v1/namespaces/acme-prod/widgets/a/status",
        ),
        ("/apis/example.com/v1/globes/a", "/apis/acme-example.com/v1/globes/acme-a"),
        (
            "/api/v1/namespaces/a/services/https:b:443/proxy/x%2Fy/?q=1&q=2",
            "/api/v1/namespaces/acme-a/services/https:b:443/proxy/x%2Fy/?q=1&q=2",
        ),
        (
            "/api/v1/namespaces/a/pods/b/exec?command=echo&command=a+b%26c&stdout=true",
            "/api/v1/namespaces/acme-a/pods/b/exec?command=echo&command=a%20b%26c&stdout=true",
        ),
    ],
)
def test_a_request_path_is_prefixed_upstream(target: str, upstream: str) -> None:
    assert upstream_target(asked(target), ACME) == upstream


@pytest.mark.parametrize(
    ("path", "selector", "upstream"),
    [
        ("/api/v1/namespaces", "metadata.name=prod", "metadata.name=acme-prod"),
        ("/api/v1/namespaces", "metadata.name==prod", "metadata.name=acme-prod"),
        ("/api/v1/namespaces", "metadata.name!=prod", "metadata.name!=acme-prod"),
        (
            "/api/v1/namespaces",
            "status.phase=Active,metadata.name!=a,metadata.name!=b",
            "status.phase=Active,metadata.name!=acme-a,metadata.name!=acme-b",
        ),
        ("/api/v1/namespaces", "metadata.name=", "metadata.name="),
        (f"{RBAC}/clusterroles", "metadata.name=admin", "metadata.name=admin"),
        ("/api/v1/pods", "metadata.name=a", "metadata.name=a"),
        ("/api/v1/pods", "metadata.namespace=a", "metadata.namespace=acme-a"),
        ("/api/v1/pods", r"spec.x=a\,metadata.namespace\=b", r"spec.x=a\,metadata.namespace\=b"),
        ("/api/v1/pods", ",,spec.x=a", "spec.x=a"),
        (
            "/api/v1/namespaces/a/events",
            "involvedObject.name=b,involvedObject.namespace=a,involvedObject.kind=Pod",
            "involvedObject.name=b,involvedObject.namespace=acme-a,involvedObject.kind=Pod",
        ),
        (
            "/api/v1/events",
            "involvedObject.name=b,involvedObject.namespace=,involvedObject.kind=PersistentVolume",
            (
                "involvedObject.name=acme-b,involvedObject.namespace=acme-default"
                ",involvedObject.kind=PersistentVolume"
            ),
        ),
        (
            "/apis/events.k8s.io/v1/events",
            "regarding.kind=Globe,regarding.apiVersion=example.com/v1,regarding.name=b",
            "regarding.kind=Globe,regarding.apiVersion=acme-example.com/v1,regarding.name=acme-b",
        ),
        (
            "/api/v1/events",
            "involvedObject.name=b,involvedObject.namespace=a",
            "involvedObject.name=b,involvedObject.namespace=acme-a",
        ),
        ("/api/v1/events", "involvedObject.uid=1,reason=x", "involvedObject.uid=1,reason=x"),
    ],
)
def test_a_field_selector_is_translated_upstream(path: str, selector: str, upstream: str) -> None:
    target = f"{path}?fieldSelector={quote(selector)}"
    assert parameters(target)["fieldSelector"] == upstream
    assert residual_fields(asked(target), ACME) == ()


@pytest.mark.parametrize(
    ("selector", "upstream", "residual"),
    [
        ("involvedObject.name=b", None, ["involvedObject.name=b"]),
        ("involvedObject.namespace!=", None, ["involvedObject.namespace!="]),
        (
            "involvedObject.namespace=default",
            "involvedObject.namespace=acme-default",
            ["involvedObject.namespace=default"],
        ),
        (
            "involvedObject.namespace=",
            "involvedObject.namespace=acme-default",
            ["involvedObject.namespace="],
        ),
    ],
)
def test_event_selectors_without_a_kind_are_evaluated_again_by_the_gateway(
    selector: str, upstream: str | None, residual: list[str]
) -> None:
    target = f"/api/v1/events?fieldSelector={quote(selector)}"
    assert parameters(target).get("fieldSelector") == upstream
    assert [str(each) for each in residual_fields(asked(target), ACME)] == residual


def test_event_selectors_outside_default_are_sent_upstream_unchanged() -> None:
    target = "/api/v1/namespaces/a/events?fieldSelector=involvedObject.name%3Db"
    assert parameters(target) == {"fieldSelector": "involvedObject.name=b"}
    assert residual_fields(asked(target), ACME) == ()


def test_table_rows_to_be_filtered_by_the_gateway_include_their_objects() -> None:
    target = "/api/v1/events?fieldSelector=involvedObject.name%3Db&includeObject=None"
    assert parameters(target) == {"includeObject": "Object"}
    volumes = upstream_target(
        asked("/api/v1/persistentvolumes"), ACME, listed=ListedObjects.PLATFORM
    )
    assert volumes.endswith("&includeObject=Object")


def test_deleting_events_by_a_partly_translatable_selector_is_refused() -> None:
    target = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Db"
    assert refusal(target, "DELETE") == 400


@pytest.mark.parametrize(
    ("selector", "upstream"),
    [
        ("kubernetes.io/metadata.name=prod", "kubernetes.io/metadata.name=acme-prod"),
        ("kubernetes.io/metadata.name!=prod", "kubernetes.io/metadata.name!=acme-prod"),
        (
            "a,kubernetes.io/metadata.name in (b, c)",
            "a,kubernetes.io/metadata.name in (acme-b,acme-c)",
        ),
        ("kubernetes.io/metadata.name notin (b)", "kubernetes.io/metadata.name notin (acme-b)"),
        ("kubernetes.io/metadata.name", "kubernetes.io/metadata.name"),
        ("!kubernetes.io/metadata.name", "!kubernetes.io/metadata.name"),
        ("x=kubernetes.io", "x=kubernetes.io"),
    ],
)
def test_a_namespace_name_label_is_translated_in_a_label_selector(
    selector: str, upstream: str
) -> None:
    found = parameters(f"/api/v1/namespaces?labelSelector={quote(selector)}")
    assert found["labelSelector"] == f"{upstream},{OWN}"


def test_aggregation_labels_are_selected_by_their_upstream_keys() -> None:
    request = asked(f"{RBAC}/clusterroles?labelSelector=rbac.example.com/aggregate-to-x")
    key = "rbac.example.com"
    own = parse_qsl(upstream_target(request, ACME).partition("?")[2])
    assert own == [("labelSelector", f"{key}.acme.lcluster/aggregate-to-x,{OWN}")]
    platform = upstream_target(request, ACME, listed=ListedObjects.PLATFORM)
    assert f"{key}%2Faggregate-to-x" in platform


def test_marks_of_an_operator_are_selected_by_their_upstream_spelling() -> None:
    selector = quote("app.kubernetes.io/managed-by=lnamespace,tenancy.loblaw.digital/lnamespace")
    found = parameters(f"/api/v1/namespaces?labelSelector={selector}")
    assert found["labelSelector"] == (
        "app.kubernetes.io/managed-by=acme.lnamespace,"
        f"tenancy.loblaw.digital.acme.lcluster/lnamespace,{OWN}"
    )
    inside = parameters(f"/api/v1/namespaces/b/pods?labelSelector={selector}")
    assert "acme.l" not in inside["labelSelector"]
    roles = parameters(f"{RBAC}/namespaces/b/roles?labelSelector={selector}")
    assert roles["labelSelector"].startswith(
        "app.kubernetes.io/managed-by=acme.lnamespace,tenancy.loblaw.digital/lnamespace"
    )


def test_a_list_of_cluster_scoped_objects_selects_the_tenant_label() -> None:
    assert parameters("/api/v1/persistentvolumes") == {"labelSelector": OWN}
    assert parameters("/api/v1/persistentvolumes?watch=1")["labelSelector"] == OWN
    assert parameters("/api/v1/persistentvolumes", "DELETE") == {"labelSelector": OWN}
    assert parameters("/api/v1/pods") == {}


@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/api/v1/pods"])
def test_a_selector_by_the_tenant_label_is_translated_to_an_unused_label(path: str) -> None:
    """A selector by it was refused with 400, which no cluster does for a label."""
    found = parameters(f"{path}?labelSelector=!tenancy.loblaw.digital/lcluster")["labelSelector"]
    assert found.startswith("!tenancy.loblaw.digital.acme.lcluster/lcluster")


def test_published_objects_are_listed_by_a_second_request() -> None:
    request = asked(f"{RBAC}/clusterroles?labelSelector=a")
    target = upstream_target(request, ACME, listed=ListedObjects.PLATFORM)
    assert parse_qsl(target.partition("?")[2]) == [
        ("labelSelector", "a,!tenancy.loblaw.digital/lcluster")
    ]


def test_a_delete_collection_never_selects_objects_of_the_platform() -> None:
    request = asked(f"{RBAC}/clusterroles", "DELETE")
    target = upstream_target(request, ACME, listed=ListedObjects.PLATFORM)
    assert target.endswith(f"?labelSelector={quote(OWN, safe='')}")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", f"{RBAC}/clusterroles/admin"),
        ("PUT", f"{RBAC}/clusterroles/system:node"),
        ("PATCH", f"{RBAC}/clusterroles/admin"),
        ("POST", "/apis/apiregistration.k8s.io/v1/apiservices"),
        ("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices"),
        ("PUT", "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps/status"),
    ],
)
def test_writes_of_published_objects_are_refused(method: str, path: str) -> None:
    assert refusal(path, method) == 403


ISSUERS = ResourceType(
    "platform.example.org", "issuers", "Issuer", namespaced=False, policy=ServingPolicy.SHARED
)
ISSUER = replace(
    ACME,
    published={ISSUERS.group_resource: frozenset({"main"})},
    platform_groups=frozenset({ISSUERS.group}),
)


@pytest.mark.parametrize("name", ["other", "acme-other", "acme-main"])
def test_only_published_objects_of_a_shared_kind_are_readable(name: str) -> None:
    request = ResourceRequest("get", ISSUERS, "v1", name=name)
    with pytest.raises(Refused) as refused:
        upstream_target(request, ISSUER)
    assert refused.value.status.code == 404
    assert ISSUER.name_down(ISSUERS, name) is None


def test_a_published_custom_resource_is_read_by_its_own_name() -> None:
    request = ResourceRequest("get", ISSUERS, "v1", name="main")
    assert upstream_target(request, ISSUER) == "/apis/platform.example.org/v1/issuers/main"
    assert ISSUER.name_down(ISSUERS, "main") == "main"
    with pytest.raises(Refused):
        upstream_target(replace(request, verb="delete"), ISSUER)


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/api/v1/pods?labelSelector=a%3Db%20c", 400),
        ("GET", "/api/v1/pods?labelSelector=a%00", 400),
        ("GET", "/api/v1/pods?fieldSelector=a", 400),
        ("GET", "/api/v1/pods?fieldSelector=a%3D%5Cb", 400),
        ("GET", "/api/v1/pods?shardSelector=x", 400),
        (
            "DELETE",
            "/api/v1/namespaces/a/pods/b?ignoreStoreReadErrorWithClusterBreakingPotential=true",
            403,
        ),
    ],
)
def test_unsupported_parameters_are_refused(method: str, target: str, status: int) -> None:
    assert refusal(target, method) == status


def test_other_parameters_are_unchanged() -> None:
    query = "?pretty=true&dryRun=All&fieldValidation=Strict&unheard=of&fieldManager=me"
    target = f"/api/v1/namespaces/a/pods{query}"
    upstream = f"/api/v1/namespaces/acme-a/pods{query}"
    assert upstream_target(asked(target, "POST"), ACME, default_manager="x") == upstream


def test_a_continue_token_of_the_gateway_is_not_sent_upstream() -> None:
    request = asked("/api/v1/namespaces/a/pods?limit=1&continue=ours")
    path = "/api/v1/namespaces/acme-a/pods?limit=1"
    assert upstream_target(request, ACME) == path
    assert upstream_target(request, ACME, upstream_continue="th=") == f"{path}&continue=th%3D"


@pytest.mark.parametrize(
    ("method", "path", "managed"),
    [
        ("POST", "/api/v1/namespaces/a/pods", True),
        ("PUT", "/api/v1/namespaces/a/pods/b/status?fieldManager=", True),
        ("PATCH", "/api/v1/namespaces/a/pods/b?fieldManager=me", False),
        ("DELETE", "/api/v1/namespaces/a/pods/b", False),
        ("POST", "/api/v1/namespaces/a/pods/b/exec", False),
        ("POST", "/api/v1/namespaces/a/pods/b/proxy/c", False),
    ],
)
def test_a_write_without_a_field_manager_gets_that_of_its_user_agent(
    method: str, path: str, *, managed: bool
) -> None:
    target = upstream_target(asked(path, method), ACME, default_manager="kubectl")
    assert target.endswith("fieldManager=kubectl") is managed


@pytest.mark.parametrize(
    ("user_agent", "manager"),
    [
        ("kubectl/v1.36 (linux/amd64)", "kubectl"),
        ("a\tb\u0000c", "abc"),
        ("", "unknown"),
        ("x" * 200, "x" * 128),
        ("ä" * 100, "ä" * 64),
    ],
)
def test_the_field_manager_is_derived_as_in_the_api_server(user_agent: str, manager: str) -> None:
    assert manager_of(user_agent) == manager


def test_no_field_manager_is_derived_for_an_apply() -> None:
    assert manager_of("kubectl/v1.36", "application/apply-patch+yaml") == ""
    assert manager_of("kubectl/v1.36", "application/merge-patch+json") == "kubectl"


def test_a_write_of_a_dynamically_provisioned_volume_requires_a_lookup() -> None:
    assert is_dynamic_volume(asked(f"/api/v1/persistentvolumes/{PROVISIONED}"))
    assert not is_dynamic_volume(asked("/api/v1/persistentvolumes/a"))
    assert not is_dynamic_volume(replace(asked("/api/v1/namespaces/a/pods/b"), name=PROVISIONED))


@pytest.mark.parametrize("verb", ["get", "update", "patch", "delete"])
@pytest.mark.parametrize("plural", ["roles", "rolebindings"])
def test_the_binding_of_the_tenants_service_account_is_answered_with_404(
    verb: str, plural: str
) -> None:
    with pytest.raises(Refused) as refused:
        upstream_target(translation.asked(plural, verb, name="lcluster:account"), translation.ACME)
    assert refused.value.status.code == 404
    upstream_target(translation.asked(plural, verb, name="own"), translation.ACME)
    upstream_target(translation.asked("pods", verb, name="lcluster:account"), translation.ACME)


def test_delete_collection_excludes_the_binding_of_the_tenants_service_account() -> None:
    asked_for = (("fieldSelector", "metadata.name=lcluster:account"),)
    request = translation.asked("rolebindings", "deletecollection", query=asked_for)
    selector = dict(parse_qsl(upstream_target(request, translation.ACME).partition("?")[2]))
    assert selector["fieldSelector"].split(",")[-1] == "metadata.name!=lcluster:account"
    request = translation.asked("rolebindings", "list")
    assert "?" not in upstream_target(request, translation.ACME)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_the_default_namespaces_of_a_cluster_cannot_be_deleted(name: str) -> None:
    """A slip of one user took all that was in ``default``; a plain API server refuses it."""
    with pytest.raises(Refused) as refused:
        refuse_deletion(asked(f"/api/v1/namespaces/{name}", "DELETE"))
    status = refused.value.status
    assert status.code == 403
    assert status.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("/api/v1/namespaces/kube-node-lease", "DELETE"),
        ("/api/v1/namespaces/prod", "DELETE"),
        ("/api/v1/namespaces/default", "PUT"),
        ("/api/v1/namespaces/default/pods/default", "DELETE"),
    ],
)
def test_other_namespaces_and_objects_may_be_deleted(target: str, method: str) -> None:
    refuse_deletion(asked(target, method))


@pytest.mark.parametrize(
    ("selector", "upstream"),
    [
        ("spec.driver=gpu.example.com", "spec.driver=acme-gpu.example.com"),
        ("spec.nodeName!=a,metadata.name=b", "spec.nodeName!=acme-a,metadata.name=acme-b"),
        ("spec.driver=", "spec.driver="),
    ],
)
def test_fields_with_an_upstream_spelling_are_selected_by_it(selector: str, upstream: str) -> None:
    """A driver selects its own ResourceSlices by its name, and found none."""
    slices = ResourceType("resource.k8s.io", "resourceslices", "ResourceSlice", namespaced=False)
    request = ResourceRequest("list", slices, "v1", query=(("fieldSelector", selector),))
    found = dict(parse_qsl(upstream_target(request, ACME).partition("?")[2]))
    assert found["fieldSelector"] == upstream


@pytest.mark.parametrize("verb", ["update", "patch"])
def test_a_tenant_cannot_allocate_devices_in_a_resource_claim(verb: str) -> None:
    """An allocation that a tenant wrote took any device of any node of the platform."""
    status = translation.asked("resourceclaims", name="c", subresource="status")
    with pytest.raises(Refused) as refused:
        upstream_target(replace(status, verb=verb), ACME)
    assert refused.value.status.code == 403
    assert refused.value.status.message.endswith("the platform allocates devices")
    assert upstream_target(status, ACME).endswith("/resourceclaims/c/status")
    assert upstream_target(replace(status, verb=verb, subresource=""), ACME)
