"""The Roles and bindings of one tenant, as the watches tell of them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lnamespace.access.entries import ActiveEntries
from lnamespace.gateway.authentication.logins import Login
from lnamespace.gateway.authentication.people import audited_name, user_of
from lnamespace.gateway.tenants import roles
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.gateway.tenants.roles import TenantRoles
from lnamespace.kube.resources import RBAC
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.objects import decode_role, role_of_groups
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import (
    GroupResource,
    ResourceTable,
    ResourceType,
    ServingPolicy,
)

from tests.unit.support.rbac import JANE, asks

LABEL = "tenancy.loblaw.digital/lcluster"
CONFINED = ServingPolicy.CONFINED


def types() -> Iterator[ResourceType]:
    for kind, namespaced in (
        ("Role", True),
        ("RoleBinding", True),
        ("ClusterRole", False),
        ("ClusterRoleBinding", False),
    ):
        yield ResourceType(RBAC, f"{kind.lower()}s", kind, namespaced, CONFINED)


VIEW = TenantView("acme", ResourceTable.from_types(types()))
PODS_GROUP = GroupResource("", "pods")
PODS = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
TO_JANE = [{"kind": "User", "name": "lcluster:acme:jane", "apiGroup": RBAC}]


def watched(name: str, namespace: str = "", labels: Any = None, **members: Any) -> WatchedObject:
    meta = {"name": name, "resourceVersion": "1", "labels": labels or {}}
    if namespace:
        meta["namespace"] = namespace
    else:
        meta["labels"] = {LABEL: "acme"} if labels is None else labels
    kind = "RoleBinding" if "roleRef" in members else "Role"
    whole = {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind if namespace else f"Cluster{kind}",
        "metadata": meta,
        **members,
    }
    return read_watched(json.dumps(whole).encode())


def bound(name: str, to: str, namespace: str = "acme-prod", kind: str = "Role") -> WatchedObject:
    ref = {"apiGroup": RBAC, "kind": kind, "name": to}
    return watched(name, namespace, roleRef=ref, subjects=TO_JANE)


def allowed(roles: TenantRoles) -> bool:
    return roles.authorizer.allows(JANE, asks("get", "pods", "prod")).allowed


def test_watched_changes_of_roles_and_bindings_apply_to_the_next_authorization() -> None:
    roles = TenantRoles(VIEW, {})
    assert not allowed(roles)
    roles.put("roles", watched("reader", "acme-prod", rules=PODS))
    roles.put("rolebindings", bound("b", "reader"))
    assert allowed(roles)
    roles.put("roles", watched("reader", "acme-prod", rules=[]))
    assert not allowed(roles)
    roles.put("roles", watched("reader", "acme-prod", rules=PODS))
    assert allowed(roles)
    roles.remove("rolebindings", ("acme-prod", "b"))
    assert not allowed(roles)


def test_the_authorizer_is_reused_while_nothing_changes() -> None:
    roles = TenantRoles(VIEW, {})
    assert roles.authorizer is roles.authorizer


def test_a_view_with_other_names_makes_all_roles_be_decoded_again() -> None:
    roles = TenantRoles(TenantView("acme"), {})
    roles.put("roles", watched("reader", "acme-prod", rules=PODS))
    roles.put("rolebindings", bound("b", "reader"))
    assert not allowed(roles)
    roles.set_view(VIEW, {})
    assert allowed(roles)


def test_a_new_custom_resource_definition_causes_no_role_to_be_decoded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 5,000 RoleBindings of one tenant each definition that came or went took 0.3 s."""
    known = TenantRoles(VIEW, {})
    known.put("roles", watched("reader", "acme-prod", rules=PODS))
    known.put("rolebindings", bound("b", "reader"))
    assert allowed(known)
    monkeypatch.setattr(roles, "answer_down", None)
    widget = ResourceType("example.com", "widgets", "Widget", namespaced=True, custom=True)
    more = ResourceTable.from_types([*types(), widget])
    known.set_view(replace(VIEW, resources=more, default_classes={PODS_GROUP: "x"}), {})
    assert allowed(known)


def test_a_platform_cluster_role_named_with_the_tenants_prefix_grants_nothing() -> None:
    roles = TenantRoles(VIEW, {})
    roles.put("rolebindings", bound("b", "acme-reader", kind="ClusterRole"))
    roles.put("clusterroles", watched("acme-reader", labels={}, rules=PODS))
    assert not allowed(roles)
    roles.put("clusterroles", watched("acme-reader", rules=PODS))
    assert allowed(roles)


def test_an_undecodable_role_leaves_other_roles_in_force() -> None:
    roles = TenantRoles(VIEW, {})
    roles.put("roles", watched("reader", "acme-prod", rules=PODS))
    roles.put("rolebindings", bound("b", "reader"))
    roles.put("roles", watched("odd", "acme-prod", rules="none"))
    assert allowed(roles)


CHANGES = st.lists(
    st.tuples(st.sampled_from(["roles", "rolebindings"]), st.sampled_from("ab"), st.booleans()),
    max_size=60,
)


@settings(max_examples=40)
@given(CHANGES, st.integers(1, 40))
def test_incremental_changes_give_the_same_role_store_as_a_rebuild(
    changes: list[tuple[str, str, bool]], often: int
) -> None:
    roles = TenantRoles(VIEW, {})
    for number, (plural, name, there) in enumerate(changes):
        if not there:
            roles.remove(plural, ("acme-prod", name))
        elif plural == "roles":
            roles.put(plural, watched(name, "acme-prod", rules=PODS if number % 2 else []))
        else:
            roles.put(plural, bound(name, "ab"[number % 2]))
        if number % often == 0:
            assert isinstance(roles.authorizer, Authorizer)
    kept = roles.authorizer.store
    roles.set_view(VIEW, {})
    assert roles.authorizer.store == kept
    assert isinstance(kept, RoleStore)


def test_a_published_role_omits_api_groups_that_are_not_published() -> None:
    rules = [*PODS, {"verbs": ["get"], "apiGroups": ["add-on.example.com", ""], "resources": ["x"]}]
    rules.append({"verbs": ["get"], "apiGroups": ["add-on.example.com"], "resources": ["x"]})
    rules.append({"verbs": ["get"], "nonResourceURLs": ["/x"]})
    role = decode_role(json.dumps({"metadata": {"name": "view"}, "rules": rules}))
    shown = role_of_groups(role, {"", "apps"}).rules
    assert [each.api_groups for each in shown] == [("",), ("",), ()]


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("system:serviceaccount:acme-prod:sa", "system:serviceaccount:prod:sa"),
        ("system:serviceaccount:acme-platform:sa", None),
        ("system:serviceaccount:other:sa", None),
        ("jane", None),
    ],
)
def test_only_service_accounts_of_the_tenants_namespaces_are_its_users(
    user: str, expected: str | None
) -> None:
    extra = (("authentication.kubernetes.io/node-name", ("node",)),)
    login = Login(user, ("system:serviceaccounts", "system:authenticated"), "1", extra)
    found = user_of(login, ActiveEntries((), (), ()), VIEW, {"acme-prod"})
    assert (found and found.name) == expected
    assert found is None or found.extra == {}


def test_a_client_certificate_of_a_tenant_confers_no_reserved_group() -> None:
    login = Login("ann", ("devs", "system:masters", "lcluster:users"), tenant="acme")
    found = user_of(login, ActiveEntries((), (), ()), VIEW, ())
    assert found is not None
    assert found.groups == ("devs", "system:authenticated")


def test_the_audited_name_marks_users_authenticated_by_a_tenants_certificate() -> None:
    assert audited_name(Login("ann", tenant="acme")) == "lcluster:acme:ann"
    assert audited_name(Login("ann")) == "ann"
