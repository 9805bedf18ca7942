"""Answers show a tenant its own objects and what is published, in its own spelling."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from lnamespace.model.quantities import ShownTotals
from lnamespace.translate.bodies.encoded import answer_down, events_down
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests import event_selection

from tests.unit.support.translation import (
    ACME,
    LABEL,
    TYPES,
    asked,
    down,
    event,
    up,
)

PROVISIONED = "pvc-cb23c200-f249-11ea-9039-3497f65a8415"


def named(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"metadata": metadata | more}


def listed(plural: str, *items: Any, **more: Any) -> Any:
    answer = down(plural, {"kind": "XList", "metadata": {}, "items": list(items)}, "list", **more)
    return answer["items"]


def test_a_list_contains_no_objects_of_other_tenants() -> None:
    items = [named("a", "acme-prod"), named("b", "beta-prod"), named("c", "kube-system")]
    assert listed("configmaps", *items) == [named("a", "prod")]


def test_a_cluster_scoped_list_contains_own_and_published_objects() -> None:
    items = [named("acme-own"), named("beta-own"), named("admin"), named("cluster-autoscaler")]
    assert listed("clusterroles", *items) == [named("own"), named("admin")]


def test_a_namespace_that_only_resembles_the_prefix_is_not_the_tenants() -> None:
    assert listed("namespaces", named("acme"), named("acmeprod"), named("default")) == []


def test_no_node_and_no_address_of_the_platform_is_listed() -> None:
    assert listed("nodes", named("node-1")) == []
    assert listed("ipaddresses", named("10.96.0.1")) == []


def test_objects_created_by_the_platform_in_a_namespace_are_not_listed() -> None:
    items = [named("kept", "acme-prod", labels={LABEL: "acme"}), named("a", "acme-prod")]
    assert listed("configmaps", *items) == [named("a", "prod")]
    assert listed("rolebindings", named("lcluster:account", "acme-prod")) == []


def test_a_published_object_reveals_no_metadata_of_the_platform() -> None:
    bootstrap = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    platform = named(
        "admin",
        labels=bootstrap | {"team": "platform"},
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        managedFields=[{"manager": "platform-tool"}],
        ownerReferences=[{"name": "x"}],
    )
    assert down("clusterroles", platform) == named("admin", labels=bootstrap)


@pytest.mark.parametrize(
    ("claim", "is_shown"),
    [({"namespace": "acme-prod", "name": "c"}, True), ({"namespace": "beta-prod"}, False)],
)
def test_a_provisioned_volume_belongs_to_the_tenant_of_its_claim(
    claim: Any, is_shown: bool
) -> None:
    volume = named(PROVISIONED) | {"spec": {"claimRef": claim}}
    shown = [named(PROVISIONED) | {"spec": {"claimRef": {"namespace": "prod", "name": "c"}}}]
    assert listed("persistentvolumes", volume) == (shown if is_shown else [])


def test_a_provisioned_volume_without_a_claim_is_not_listed() -> None:
    assert listed("persistentvolumes", named(PROVISIONED)) == []


@pytest.mark.parametrize(
    ("plural", "answer"),
    [
        ("configmaps", named("a", "beta-prod")),
        ("namespaces", named("beta-prod")),
        ("clusterroles", named("cluster-autoscaler")),
    ],
)
def test_an_object_of_another_tenant_is_answered_with_404(plural: str, answer: Any) -> None:
    with pytest.raises(Refused) as refused:
        down(plural, answer, name="a")
    assert refused.value.status.code == 404


def test_an_untranslatable_value_is_unchanged_and_fails_no_list() -> None:
    claim = named("c", "acme-prod") | {"spec": {"storageClassName": "hidden", "volumeName": "x"}}
    binding = named("b", "acme-prod") | {
        "roleRef": {"kind": "ClusterRole", "name": "unknown"},
        "subjects": [{"kind": "User", "name": "root"}, 7],
    }
    shown = named("c", "prod") | {"spec": claim["spec"]}
    assert listed("persistentvolumeclaims", claim) == [shown]
    assert listed("rolebindings", binding)[0]["roleRef"] == binding["roleRef"]


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def annotated(subject: dict[str, Any], applied: Any) -> dict[str, Any]:
    text = applied if isinstance(applied, str) else msgspec.json.encode(applied).decode()
    metadata = subject["metadata"] | {"annotations": {LAST_APPLIED: text}}
    return subject | {"metadata": metadata}


def test_last_applied_annotations_of_the_api_server_are_in_tenant_spelling() -> None:
    deployment = named("d", "acme-prod") | {"spec": {"x": "acme-prod"}}
    below = named("d", "prod") | {"spec": {"x": "acme-prod"}}
    assert down("deployments", annotated(deployment, deployment)) == annotated(below, below)
    role, shown = named("acme-r", labels={LABEL: "acme", "a": "b"}), named("r", labels={"a": "b"})
    assert down("clusterroles", annotated(named("acme-r"), role)) == annotated(named("r"), shown)


@pytest.mark.parametrize(
    "applied", ["acme-no JSON", "{}", "[]", named("d", "prod") | {"data": {"a": "acme-prod"}}]
)
def test_last_applied_annotations_of_kubectl_are_unchanged(applied: Any) -> None:
    shown = annotated(named("d", "prod"), applied)
    assert down("deployments", annotated(named("d", "acme-prod"), applied)) == shown
    own = named("acme-own")
    assert down("clusterroles", annotated(named("acme-acme-own"), own)) == annotated(own, own)


KEPT = ".metadata.labels.lcluster.tenancy.loblaw.digital/pod-security.kubernetes.io.enforce"
ENFORCED = ".metadata.labels.pod-security.kubernetes.io/enforce"


def conflict(*fields: tuple[str, str], message: str) -> dict[str, Any]:
    causes = [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{who}"', "field": field}
        for who, field in fields
    ]
    status = {"kind": "Status", "apiVersion": "v1", "reason": "Conflict", "message": message}
    return status | {"details": {"causes": causes}}


def test_an_apply_conflict_names_the_field_that_the_tenant_wrote() -> None:
    answer = conflict(("a", KEPT), ("a", ENFORCED), message="2 conflicts")
    one = f'Apply failed with 1 conflict: conflict with "a": {ENFORCED}'
    assert down("namespaces", answer) == conflict(("a", ENFORCED), message=one)
    answer = conflict(("a", KEPT), ("a", ".x"), ("b", ".x"), message="3 conflicts")
    words = f'conflicts with "a":\n- {ENFORCED}\n- .x\nconflicts with "b":\n- .x'
    shown = conflict(("a", ENFORCED), ("a", ".x"), ("b", ".x"), message="")
    assert down("namespaces", answer) == shown | {
        "message": f"Apply failed with 3 conflicts: {words}"
    }


def test_an_apply_conflict_about_the_kept_aggregation_rule_names_the_rule() -> None:
    kept = ".metadata.annotations.lcluster.tenancy.loblaw.digital/aggregation-rule"
    one = 'Apply failed with 1 conflict: conflict with "a": .aggregationRule'
    answer = conflict(("a", kept), message="1 conflict")
    assert down("clusterroles", answer) == conflict(("a", ".aggregationRule"), message=one)


STORED = (
    r'"{\"metadata\":{\"labels\":{\"tenancy.loblaw.digital/lcluster\":\"acme\"}},\"a\":\"b\\\\\"}"'
)


@pytest.mark.parametrize("stored", [STORED, '"map[metadata:map[labels:map[a:acme]] spec:q]"'])
@pytest.mark.parametrize("plural", ["configmaps", "namespaces"])
def test_a_patch_that_cannot_be_decoded_is_refused_without_the_stored_object(
    plural: str, stored: str
) -> None:
    """It showed the labels, annotations and conditions that the platform has in each object."""
    said = 'Invalid value: {}: json: cannot unmarshal "x"'

    def refused(value: str) -> dict[str, Any]:
        cause = {"message": said.format(value), "field": "patch"}
        return failure(f' "" is invalid: patch: {said.format(value)}', causes=[cause])

    assert down(plural, refused(stored), "patch") == refused('"..."')


def test_a_list_that_cannot_be_merged_is_refused_without_its_stored_items() -> None:
    text = "map: {} does not contain declared merge key: name"
    stored = "map[matchConditions:[map[expression:request.name.startsWith('acme-')]] zz:map[]]"
    shown = down("validatingwebhookconfigurations", failure(text.format(stored)), "patch")
    assert shown == failure(text.format("..."))


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (
            'involvedObject: Invalid value: {"Name":"acme-prod","a":[1]}: fixed',
            'involvedObject: Invalid value: "...": fixed',
        ),
        (
            '[uid: Invalid value: "q": fixed, data: Invalid value: {"x":["acme-high"]}: fixed]',
            '[uid: Invalid value: "q": fixed, data: Invalid value: "...": fixed]',
        ),
        (
            '[modes: Required value, spec: Forbidden: fixed\n@@ -1,2 +1 @@\n {\n-  "'
            + LABEL
            + '": "acme"\n }\n]',
            "[modes: Required value, spec: Forbidden: fixed]",
        ),
        (
            'spec: Forbidden: fixed\n@@ -1,2 +1 @@\n-  "Driver": "acme-d"\n',
            "spec: Forbidden: fixed",
        ),
        (
            'spec: Invalid value: {"Name":"other"}: fixed',
            'spec: Invalid value: {"Name":"other"}: fixed',
        ),
        ("spec: Invalid value: {acme-: fixed", "spec: Invalid value: {acme-: fixed"),
    ],
)
def test_objects_as_go_has_them_are_left_out_of_refusals(stored: str, shown: str) -> None:
    """In their words no name is found: they showed the prefix, and the label of the platform."""
    text = f'Event "e" is invalid: {stored}'
    cause = {"message": stored, "field": "spec"}
    answer = down("events", failure(text, causes=[cause]), "update")
    assert answer["message"] == f'Event "e" is invalid: {shown}'
    assert answer["details"]["causes"][0]["message"] == shown


def test_the_remaining_count_of_a_list_over_several_tenants_is_removed() -> None:
    body = {"metadata": {"remainingItemCount": 900, "continue": "x"}, "items": []}
    assert down("namespaces", body, "list")["metadata"] == {"continue": "x"}
    assert down("configmaps", body, "list")["metadata"] == body["metadata"]


def test_a_list_of_custom_resources_has_the_tenants_group() -> None:
    own = {"apiVersion": "acme-example.com/v1", "kind": "Widget"} | named("w", "acme-prod")
    body = {"apiVersion": "acme-example.com/v1", "kind": "WidgetList", "items": [own]}
    assert down("widgets", body, "list") == {
        "apiVersion": "example.com/v1",
        "kind": "WidgetList",
        "items": [{"apiVersion": "example.com/v1", "kind": "Widget"} | named("w", "prod")],
    }


def test_the_data_of_a_custom_resource_is_not_changed() -> None:
    own = named("w", "acme-prod") | {"spec": {"namespace": "acme-prod", "rules": ["acme-x"]}}
    assert down("widgets", own) == own | named("w", "prod")


def table(columns: list[str], *rows: Any) -> dict[str, Any]:
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "columnDefinitions": [{"name": each} for each in columns],
        "rows": [{"cells": cells, "object": item} for cells, item in rows],
    }


def cells(plural: str, columns: list[str], *rows: Any) -> Any:
    return [row["cells"] for row in down(plural, table(columns, *rows), "list")["rows"]]


def test_a_name_column_of_a_custom_resource_has_no_prefix() -> None:
    columns = ["Name", "Id", "Data", "Version"]
    printed = ["acme-acme-w", "acme-acme-w", "acme-x", "acme-example.com/v1"]
    shown = ["acme-w", "acme-w", "acme-x", "example.com/v1"]
    assert cells("gadgets", columns, (printed, named("acme-acme-w"))) == [shown]
    assert cells("gadgets", columns, (printed, None)) == [shown]


def test_a_custom_resource_may_have_the_name_of_its_namespace() -> None:
    printed = ["acme-prod", "acme-prod"]
    row = (printed, named("acme-prod", "acme-prod"))
    assert cells("widgets", ["Name", "Namespace"], row) == [["acme-prod", "prod"]]


def test_an_owner_column_of_a_custom_resource_has_no_prefix() -> None:
    owner = {"apiVersion": "acme-example.com/v1", "kind": "Gadget", "name": "acme-g", "uid": "1"}
    item = named("w", "acme-prod")
    item["metadata"]["ownerReferences"] = [owner]
    shown = cells("widgets", ["Name", "Owner", "Data"], (["w", "acme-g", "acme-x"], item))
    assert shown == [["w", "g", "acme-x"]]


def test_a_table_contains_no_rows_of_other_tenants() -> None:
    rows = [(["acme-prod", "Active"], named("acme-prod")), (["beta-x", "Active"], named("beta-x"))]
    shown = down("namespaces", table(["Name", "Status"], *rows), "list")["rows"]
    assert shown == [{"cells": ["prod", "Active"], "object": named("prod")}]


@pytest.mark.parametrize(
    ("plural", "columns", "printed", "shown"),
    [
        ("configmaps", ["Name", "Data"], ["acme-cm", 1], ["acme-cm", 1]),
        ("clusterroles", ["Name", "X"], ["acme-a", "acme-b"], ["a", "acme-b"]),
        ("storageclasses", ["Name"], ["acme-fast (default)"], ["fast (default)"]),
        (
            "persistentvolumeclaims",
            ["Name", "Volume", "StorageClass"],
            ["acme-c", f"acme-{PROVISIONED}", "acme-fast"],
            ["acme-c", PROVISIONED, "fast"],
        ),
        ("persistentvolumes", ["Name", "Claim"], ["acme-v", "acme-prod/c"], ["v", "prod/c"]),
        (
            "clusterrolebindings",
            ["Name", "Role", "Users", "Groups", "ServiceAccounts"],
            [
                "acme-b",
                "ClusterRole/inert:acme-r",
                "lcluster:acme:bob, lcluster:acme:eve",
                "lcluster:acme:system:authenticated, system:serviceaccounts:acme-prod",
                "acme-prod/default, acme-x/y",
            ],
            [
                "b",
                "ClusterRole/r",
                "bob, eve",
                "system:authenticated, system:serviceaccounts:prod",
                "prod/default, x/y",
            ],
        ),
        (
            "clusterrolebindings",
            ["Name", "Role"],
            ["acme-b", "ClusterRole/inert:admin"],
            ["b", "ClusterRole/admin"],
        ),
        (
            "resourcequotas",
            ["Name", "Request"],
            ["q", "count/widgets.acme-example.com: 0/1, acme-a.storageclass.storage.k8s.io/x: 1/2"],
            ["q", "count/widgets.example.com: 0/1, a.storageclass.storage.k8s.io/x: 1/2"],
        ),
        (
            "customresourcedefinitions",
            ["Name", "Created At"],
            ["widgets.acme-just-made.com", "2026"],
            ["widgets.just-made.com", "2026"],
        ),
        (
            "events",
            ["Object", "Message"],
            ["namespace/acme-prod", 'namespaces "acme-prod" not found'],
            ["namespace/prod", 'namespaces "prod" not found'],
        ),
        ("events", ["Object"], ["pod/acme-pod"], ["pod/acme-pod"]),
    ],
)
def test_cells_that_print_names_are_in_tenant_spelling(
    plural: str, columns: list[str], printed: list[Any], shown: list[Any]
) -> None:
    namespace = "acme-prod" if asked(plural).namespace else ""
    name = printed[0] if not namespace else "acme-x"
    item = named(name.partition(" ")[0], namespace) | {"spec": {}}
    assert cells(plural, columns, (printed, item)) == [shown]


def test_columns_of_a_custom_resource_that_print_its_metadata_are_in_tenant_spelling() -> None:
    printed = ["acme-w", "acme-prod", "acme-example.com/v1", "acme-prod/x", 1]
    shown = ["acme-w", "prod", "example.com/v1", "acme-prod/x", 1]
    columns = ["Name", "Namespace", "Version", "Data", "Count"]
    assert cells("widgets", columns, (printed, named("acme-w", "acme-prod"))) == [shown]
    printed = ["acme-g", "acme-example.com/v1", "acme-h"]
    shown = ["g", "example.com/v1", "acme-h"]
    assert cells("gadgets", ["Name", "V", "Data"], (printed, named("acme-g"))) == [shown]


def test_table_rows_without_objects_are_filtered_by_name() -> None:
    def names(plural: str, *printed: str) -> Any:
        rows = [{"cells": [name, "1d"], "object": None} for name in printed]
        answer = down(plural, table(["Name", "Age"]) | {"rows": rows}, "list")
        return [row["cells"][0] for row in answer["rows"]]

    assert names("clusterroles", "acme-a", "beta-a", "admin", "addon") == ["a", "admin"]
    assert names("persistentvolumes", "acme-a", PROVISIONED) == ["a"]
    assert names("rolebindings", "lcluster:account", "own") == ["own"]


def test_a_table_of_a_watch_is_translated_without_column_definitions() -> None:
    row = (["acme-b", "ClusterRole/inert:acme-r", "1d"], named("acme-b"))
    answer = event("clusterrolebindings", "ADDED", table([], row))
    assert answer["object"]["rows"][0]["cells"] == ["b", "ClusterRole/r", "1d"]
    foreign = (["beta-b", "ClusterRole/r", "1d"], named("beta-b"))
    assert event("clusterrolebindings", "ADDED", table([], foreign)) is None


def failure(message: str, **details: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "details": details,
    }


@pytest.mark.parametrize(
    ("upstream", "shown"),
    [
        (
            failure('namespaces "acme-prod" not found', name="acme-prod", kind="namespaces"),
            failure('namespaces "prod" not found', name="prod", kind="namespaces"),
        ),
        (
            failure('pods "acme-pod" not found', name="acme-pod", kind="pods"),
            failure('pods "acme-pod" not found', name="acme-pod", kind="pods"),
        ),
        (
            failure(
                'widgets.acme-example.com "w" not found',
                name="w",
                group="acme-example.com",
                kind="widgets",
            ),
            failure(
                'widgets.example.com "w" not found', name="w", group="example.com", kind="widgets"
            ),
        ),
        (
            failure(
                'gone.acme-left.com "w" not found', name="w", group="acme-left.com", kind="gone"
            ),
            failure('gone.left.com "w" not found', name="w", group="left.com", kind="gone"),
        ),
        (
            failure("x", causes=[{"field": "spec", "message": 'namespace "acme-prod" is bad'}]),
            failure("x", causes=[{"field": "spec", "message": 'namespace "prod" is bad'}]),
        ),
    ],
)
def test_a_failure_status_is_in_tenant_spelling(upstream: Any, shown: Any) -> None:
    assert down("widgets", upstream) == shown


def test_the_success_status_of_a_deletion_is_in_tenant_spelling() -> None:
    details = {"name": "acme-prod", "kind": "namespaces", "uid": "1"}
    upstream = {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}
    shown = down("namespaces", upstream, "delete")
    assert shown["details"] == details | {"name": "prod"}


@pytest.mark.parametrize("what", ["ADDED", "MODIFIED", "DELETED"])
def test_a_watch_event_of_another_tenant_is_dropped(what: str) -> None:
    assert event("configmaps", what, named("a", "acme-prod"))["object"] == named("a", "prod")
    assert event("configmaps", what, named("a", "beta-prod")) is None
    assert event("namespaces", what, named("kube-system")) is None


def test_a_bookmark_is_never_dropped() -> None:
    metadata = {
        "resourceVersion": "12",
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    bookmark = {"apiVersion": "acme-example.com/v1", "kind": "Widget", "metadata": metadata}
    assert event("widgets", "BOOKMARK", bookmark) == {
        "type": "BOOKMARK",
        "object": bookmark | {"apiVersion": "example.com/v1"},
    }
    for plural in ("namespaces", "persistentvolumes", "configmaps"):
        assert event(plural, "BOOKMARK", {"metadata": metadata})["object"]["metadata"] == metadata


def test_the_error_event_of_a_watch_is_an_unchanged_status() -> None:
    expired = failure("too old resource version: 1 (2)") | {"code": 410, "reason": "Expired"}
    assert event("configmaps", "ERROR", expired)["object"] == expired


@pytest.mark.parametrize(
    ("plural", "path", "value"),
    [
        ("storageclasses", "provisioner", "x.example.com/z"),
        ("ingressclasses", "spec.controller", "c.example.com/d"),
        ("resourceslices", "spec.driver", "d.example.com"),
    ],
)
def test_a_refused_value_of_a_confined_field_is_in_tenant_spelling(
    plural: str, path: str, value: str
) -> None:
    text = f'{path}: Invalid value: "{{}}{value}": field is immutable'
    assert down(plural, failure(text.format("acme-"))) == failure(text.format(""))


def test_a_name_mismatch_error_is_in_the_tenant_spelling_of_its_kind() -> None:
    text = "the name of the object ({0}zz) does not match the name on the URL ({0}prod)"
    shown = down("namespaces", failure(text.format("acme-")))
    assert shown["message"] == text.format("")
    own = failure(text.format("acme-"))
    assert down("deployments", own) == own
    text = "the name of the object (as.{0}x.com) does not match the name on the URL (bs.{0}y.com)"
    shown = down("customresourcedefinitions", failure(text.format("acme-")))
    assert shown["message"] == text.format("")


def test_a_scale_has_the_translated_metadata_of_its_object() -> None:
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": 2}}
    shown = down("deployments", scale | named("d", "acme-prod"), subresource="scale")
    assert shown == scale | named("d", "prod")


def test_a_proxied_response_is_unchanged() -> None:
    proxied = asked("services", subresource="proxy")
    body = msgspec.json.encode(named("x", "beta-prod"))
    assert answer_down(proxied, body, ACME) == body


def test_owner_references_to_kinds_of_the_platform_are_hidden() -> None:
    owner = {"apiVersion": "tenancy.loblaw.digital/v1beta1", "kind": "LCluster", "name": "acme"}
    assert down("namespaces", named("acme-prod", ownerReferences=[owner])) == named("prod")


def test_the_namespace_in_a_service_account_token_secret_is_translated() -> None:
    kind = {"type": "kubernetes.io/service-account-token"}
    token = named("t", "acme-prod") | kind | {"data": {"namespace": "YWNtZS1wcm9k", "x": "eA=="}}
    shown = down("secrets", token)
    assert shown["data"] == {"namespace": "cHJvZA==", "x": "eA=="}
    assert up("secrets", shown) == token
    other = token | {"type": "Opaque"}
    assert down("secrets", other)["data"] == token["data"]


def test_a_published_role_has_no_rules_for_resources_that_are_not_served() -> None:
    rules = [
        {"apiGroups": ["", "backup.platform.io"], "verbs": ["get"]},
        {"apiGroups": ["backup.platform.io"], "verbs": ["get"]},
        {"apiGroups": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    shown = down("clusterroles", named("admin") | {"rules": rules})["rules"]
    assert shown == [{"apiGroups": [""], "verbs": ["get"]}, *rules[2:]]


def test_the_discovery_failure_of_a_namespace_reveals_no_foreign_groups() -> None:
    condition = {"type": "NamespaceDeletionDiscoveryFailure", "status": "True"}
    told = condition | {"message": "Discovery failed for some groups, 1 failing: beta-x.io/v1"}
    namespace = named("acme-prod") | {"status": {"conditions": [told]}}
    shown = condition | {"message": "Discovery failed for some groups"}
    assert down("namespaces", namespace)["status"] == {"conditions": [shown]}


@pytest.mark.parametrize(
    ("remaining", "hidden"),
    [
        ("failed to list beta-x.io/v2, Kind=Nest: conversion webhook for ... no route", True),
        ("unexpected items ... for gvr: backup.platform.io/v1, Resource=backups", True),
        ("for gvr: apps/v1, Resource=deployments, for gvr: beta-x.io/v1, Resource=nests", True),
        ("failed to list acme-x.io/v2, Kind=Nest: no mapping, apps/v1, Kind=Deployment", False),
        ("failed to list /v1, Kind=Pod: time-out", False),
    ],
)
def test_the_content_failure_of_a_namespace_reveals_no_foreign_kinds(
    remaining: str, hidden: bool
) -> None:
    """The API server lists a kind for all namespaces, and says of each why it cannot."""
    said = "Failed to delete all resource types"
    condition = {"type": "NamespaceDeletionContentFailure", "status": "True"}
    told = condition | {"message": f"{said}, 1 remaining: {remaining}"}
    namespace = named("acme-prod") | {"status": {"conditions": [told]}}
    shown = condition | {"message": said} if hidden else told
    assert down("namespaces", namespace)["status"] == {"conditions": [shown]}


def test_the_upstream_requester_of_a_certificate_signing_request_is_hidden() -> None:
    gateway = {"username": "system:serviceaccount:platform:gateway", "groups": ["a"], "uid": "1"}
    request = named("acme-c") | {"spec": {"request": "eA==", **gateway}}
    shown = named("c") | {"spec": {"request": "eA=="}}
    assert down("certificatesigningrequests", request) == shown


OWN_CELLS = [
    ("rolebindings", {"Role": ("Role/acme-reader", "Role/acme-reader")}),
    ("rolebindings", {"Role": ("ClusterRole/acme-reader", "ClusterRole/reader")}),
    (
        "rolebindings",
        {
            "Users": ("lcluster:acme:acme-bob, lcluster:acme:eve", "acme-bob, eve"),
            "ServiceAccounts": (
                "acme-prod/acme-sa, acme-default/sa",
                "prod/acme-sa, default/sa",
            ),
            "Groups": ("system:serviceaccounts:acme-prod", "system:serviceaccounts:prod"),
        },
    ),
    ("persistentvolumes", {"Claim": ("acme-prod/acme-data", "prod/acme-data")}),
    ("persistentvolumes", {"StorageClass": ("lcluster.acme", "")}),
    ("persistentvolumeclaims", {"Volume": ("acme-acme-v", "acme-v")}),
    ("csistoragecapacities", {"StorageClassName": ("acme-fast", "fast")}),
    ("controllerrevisions", {"Controller": ("deployment.apps/acme-d", "deployment.apps/acme-d")}),
    (
        "controllerrevisions",
        {"Controller": ("gadget.acme-example.com/acme-g", "gadget.example.com/g")},
    ),
    (
        "resourcequotas",
        {
            "Request": (
                "acme-a.storageclass.storage.k8s.io/requests.storage: 1/5, pods: 0/1",
                "a.storageclass.storage.k8s.io/requests.storage: 1/5, pods: 0/1",
            ),
        },
    ),
    ("ingressclasses", {"Controller": ("acme-example.com/acme-x", "example.com/acme-x")}),
    (
        "ingressclasses",
        {"Parameters": ("Widget.acme-example.com/acme-w", "Widget.example.com/acme-w")},
    ),
    ("validatingadmissionpolicybindings", {"ParamRef": ("acme-prod/acme-p", "prod/acme-p")}),
    ("validatingadmissionpolicybindings", {"ParamRef": ("*/acme-p", "*/acme-p")}),
    (
        "validatingadmissionpolicies",
        {"ParamKind": ("acme-example.com/v1/Widget", "example.com/v1/Widget")},
    ),
    (
        "resourceslices",
        {"Node": ("acme-n1", "n1"), "Driver": ("acme-gpu.example.com", "gpu.example.com")},
    ),
    ("events", {"Object": ("deployment/acme-api", "deployment/acme-api")}),
    ("events", {"Object": ("persistentvolume/acme-pv", "persistentvolume/pv")}),
    ("events", {"Object": ("gadget/acme-g", "gadget/g")}),
    ("events", {"Object": ("widget/acme-w", "widget/acme-w")}),
    ("events", {"Message": ("Created pod: acme-api-x", "Created pod: acme-api-x")}),
]


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("plural", "printed"), OWN_CELLS)
def test_table_cells_that_refer_to_other_objects_are_in_tenant_spelling(
    plural: str, printed: dict[str, tuple[str, str]], told: bool
) -> None:
    namespaced = TYPES[plural].namespaced
    item = named("acme-o", "acme-prod") if namespaced else named("acme-o")
    if plural == "persistentvolumes":
        item |= {"spec": {"claimRef": {"namespace": "acme-prod", "name": "acme-data"}}}
    columns = ["Name", *printed] if told else []
    row = ["acme-o", *(above for above, _ in printed.values())]
    shown = ["acme-o" if namespaced else "o", *(below for _, below in printed.values())]
    assert cells(plural, columns, (row, item)) == [shown]


@pytest.mark.parametrize("columns", [[], ["Name", "Age", "SignerName", "Requestor"]])
def test_tables_do_not_show_the_upstream_requester_of_signing_requests(columns: list[str]) -> None:
    gateway = "system:serviceaccount:platform:gateway"
    own = "lcluster.tenancy.loblaw.digital/kube-apiserver-client"
    for signer, spelled in (
        ("lcluster.tenancy.loblaw.digital/acme.2.example.com.x", "example.com/x"),
        (own, "kubernetes.io/kube-apiserver-client"),
    ):
        row = (["acme-c", "1s", signer, gateway, "x"], named("acme-c"))
        shown = ["c", "1s", spelled, "", "x"]
        assert cells("certificatesigningrequests", columns, row) == [shown]


def about(kind: str, name: str, namespace: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{kind}.{name}", "namespace": "acme-default"},
        "involvedObject": {"kind": kind, "name": name, "namespace": namespace, "apiVersion": "v1"},
    }


ABOUT_A = [
    about("Pod", "a", "acme-default"),
    about("Pod", "acme-a", "acme-default"),
    about("PersistentVolume", "acme-a", "acme-default"),
    about("PersistentVolume", "acme-b", "acme-default"),
]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("involvedObject.name=a", ["Pod.a", "PersistentVolume.acme-a"]),
        ("involvedObject.name!=a", ["Pod.acme-a", "PersistentVolume.acme-b"]),
        ("involvedObject.namespace=default", ["Pod.a", "Pod.acme-a"]),
        ("involvedObject.namespace=", ["PersistentVolume.acme-a", "PersistentVolume.acme-b"]),
        ("involvedObject.namespace!=", ["Pod.a", "Pod.acme-a"]),
    ],
)
def test_events_are_selected_by_the_tenant_spelling_of_their_object(
    selector: str, names: list[str]
) -> None:
    query = (("fieldSelector", selector),)
    answer = down("events", {"items": ABOUT_A}, "list", namespace="", query=query)
    assert [each["metadata"]["name"] for each in answer["items"]] == names
    rows = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "rows": [{"cells": [], "object": each} for each in ABOUT_A],
    }
    table = down("events", rows, "list", namespace="", query=query)
    assert [each["object"]["metadata"]["name"] for each in table["rows"]] == names


def test_events_in_metadata_format_are_not_filtered_by_their_object() -> None:
    named = {"name": "e", "namespace": "acme-a"}
    metadata = {"kind": "PartialObjectMetadata", "metadata": named}
    query = (("fieldSelector", "involvedObject.name=a"),)
    assert len(down("events", {"items": [metadata]}, "list", query=query)["items"]) == 1


def test_a_bookmark_is_sent_regardless_of_the_selector() -> None:
    bookmark = {"kind": "Event", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
    request = asked("events", "watch", query=(("fieldSelector", "involvedObject.name=a"),))
    frame = msgspec.json.encode({"type": "BOOKMARK", "object": bookmark})
    assert events_down(request, ACME)(frame) == frame


def test_the_selector_of_a_watch_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each event read the selector anew, and each of its terms all others: 4 seconds an event.
    read = Mock(return_value=None)
    monkeypatch.setattr(event_selection, "exact_match", read)
    selector = ",".join(["involvedObject.name!=a"] * 100)
    translate = events_down(asked("events", "watch", query=(("fieldSelector", selector),)), ACME)
    for name in ("b", "c"):
        about = {"kind": "Pod", "name": name, "namespace": "acme-prod"}
        found = {"metadata": {"name": "e", "namespace": "acme-prod"}, "involvedObject": about}
        assert translate(msgspec.json.encode({"type": "ADDED", "object": found}))
    assert read.call_count == 3


@pytest.mark.parametrize("plural", ["persistentvolumeclaims", "persistentvolumes"])
def test_a_table_shows_an_empty_storage_class_as_empty(plural: str) -> None:
    claims = plural == "persistentvolumeclaims"
    name = "data" if claims else "acme-data"
    whose = {"namespace": "acme-prod"} if claims else {"labels": {LABEL: "acme"}}
    item = {"metadata": {"name": name, **whose}}
    for told in (["Name", "StorageClass"], []):
        answer = down(plural, table(told, ([name, "lcluster.acme"], item)))
        assert answer["rows"][0]["cells"] == ["data", ""]
        answer = down(plural, table(told, ([name, "lcluster.acmes"], item)))
        assert answer["rows"][0]["cells"][1] == "lcluster.acmes"


def test_a_definition_without_a_group_belongs_to_no_tenant() -> None:
    assert ACME.crd_name_up("nobody") == "nobody"
    assert ACME.crd_name_down("nobody") == "nobody"
    assert ACME.crd_name_up("widgets.example.com") == "widgets.acme-example.com"
    assert ACME.crd_name_down("widgets.beta-example.com") is None


def test_a_share_quota_is_shown_with_the_totals_of_the_lcluster() -> None:
    totals = ShownTotals({"count/secrets": "30"}, {"count/secrets": "7"})
    view = replace(ACME, totals=lambda: totals)
    own = {
        "spec": {"hard": {"count/secrets": "3"}},
        "status": {"hard": {"count/secrets": "3"}, "used": {"count/secrets": "1"}},
    }
    share = named("lcluster", "acme-prod", labels={LABEL: "acme"})
    quotas = [share | own, named("own", "acme-prod") | own]
    printed = [(["lcluster", "count/secrets: 1/3", "", "5s"], share)]
    printed += [(["own", "count/secrets: 1/3", "", "5s"], quotas[1])]
    rows = table(["Name", "Request", "Limit", "Age"], *printed)

    def shown(answer: Any) -> Any:
        body = msgspec.json.encode(answer)
        return msgspec.json.decode(answer_down(asked("resourcequotas", "list"), body, view))

    first, second = shown({"kind": "ResourceQuotaList", "metadata": {}, "items": quotas})["items"]
    assert first["spec"] == {"hard": {"count/secrets": "30"}}
    assert first["status"] == {"hard": {"count/secrets": "30"}, "used": {"count/secrets": "7"}}
    assert (second["spec"], second["status"]) == (own["spec"], own["status"])
    told = [each["cells"] for each in shown(rows)["rows"]]
    assert told == [["lcluster", "count/secrets: 7/30", "", "5s"], printed[1][0]]


@pytest.mark.parametrize(
    ("kind", "version", "name"),
    [
        ("Node", "v1", "worker-1"),
        ("Node", "v1", "acme-n"),
        ("IPAddress", "networking.k8s.io/v1", "10.0.0.1"),
    ],
)
def test_a_reference_to_a_kind_without_own_objects_round_trips(
    kind: str, version: str, name: str
) -> None:
    """An Event about a node was read with the prefix before the node's name."""
    reference = {"kind": kind, "apiVersion": version, "name": name}
    metadata = {"name": "e", "namespace": "default"}
    event_ = {"metadata": metadata, "involvedObject": reference}
    above = up("events", event_, "create", namespace="default")
    assert above["involvedObject"]["name"] == f"acme-{name}", "it is about no real node"
    assert down("events", above, namespace="default")["involvedObject"] == reference
