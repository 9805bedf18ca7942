"""The tenant's account has the API groups of the tenant's CustomResourceDefinitions, no others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.access.lcluster import custom_resource_objects, custom_resource_refs
from lnamespace.access.limit import RequesterLimits
from lnamespace.controller.lclusters.cache import LClusterCache, LClusterKey
from lnamespace.controller.lclusters.decision import decide_lcluster, decide_revocations
from lnamespace.controller.lclusters.definitions import CachedDefinition, read_definition
from lnamespace.controller.observation import Lifecycle
from lnamespace.kube.resources import CLUSTER_ROLE, CLUSTER_ROLE_BINDING
from lnamespace.kube.state import DesiredObject, ObservedObject
from lnamespace.kube.store import Store

from tests.unit.test_controller_lclusters import (
    COMPLETE,
    CONVENTIONS,
    LCLUSTER,
    NAMES,
    NOW,
    observed,
    told,
)

ROLE = "lnamespace:acme:cluster-resources"


def definition(name: str, tenant: str = "acme", version: int = 1) -> CachedDefinition:
    """Return a CustomResourceDefinition as the API server sends it."""
    metadata = {
        "name": name,
        "resourceVersion": str(version),
        "labels": {NAMES.lcluster_label: tenant},
    }
    return read_definition(json.dumps({"metadata": metadata, "spec": {}}).encode(), NAMES)


def test_the_account_is_granted_each_group_by_name() -> None:
    role, binding = custom_resource_objects(
        LCLUSTER, ["acme-b.io", "acme-a.io", "acme-b.io"], CONVENTIONS
    )
    assert role.object.rules
    [rule] = role.object.rules
    assert (rule.verbs, rule.api_groups, rule.resources) == (
        ("*",),
        ("acme-a.io", "acme-b.io"),
        ("*",),
    )
    [account] = binding.object.subjects
    assert (account.kind, account.namespace, account.name) == (
        "ServiceAccount",
        "lnamespace-clusters",
        "acme",
    )
    refs = {(each.resource, each.key) for each in (role, binding)}
    assert refs == set(custom_resource_refs("acme", CONVENTIONS))


@given(st.lists(st.sampled_from(["", "apps", "acme", "acmeb-x.io", "x-acme-y.io", "*", "a-c.io"])))
def test_no_group_without_the_prefix_of_the_tenant_is_granted(groups: list[str]) -> None:
    assert custom_resource_objects(LCLUSTER, groups, CONVENTIONS) == ()


@pytest.mark.parametrize(
    ("name", "tenant", "known"),
    [
        ("widgets.acme-example.com", "acme", "acme"),
        ("widgets.acme-example.com", "beta", ""),
        ("widgets.example.com", "acme", ""),
        ("acme-widgets.example.com", "acme", ""),
        ("widgets.acmeb-example.com", "acme", ""),
    ],
)
def test_a_definition_belongs_to_a_tenant_by_its_label_and_group(
    name: str, tenant: str, known: str
) -> None:
    assert definition(name, tenant).tenant == known


def test_only_a_new_group_of_definitions_enqueues_the_lcluster() -> None:
    woken: list[LClusterKey] = []
    namespaces = Store[ObservedObject](lambda *_: None)
    cache = LClusterCache(NAMES, namespaces, woken.append, RequesterLimits())
    cache.definitions.apply_write_response(definition("a.acme-x.io", version=1), notify=True)
    cache.definitions.apply_write_response(definition("b.acme-x.io", version=2), notify=True)
    cache.definitions.apply_write_response(definition("c.acme-y.io", version=3), notify=True)
    assert cache.groups_of("acme") == {"acme-x.io", "acme-y.io"}
    assert woken == [LClusterKey("acme")] * 2, "the second one brings no new group"
    assert cache.groups_of("beta") == frozenset()


def stored(desired: DesiredObject) -> ObservedObject:
    """Return an object as the API server has it once it was written."""
    ref = desired.object.role_ref or None
    return ObservedObject(desired.key, "uid", 1, False, True, (), {}, ref, desired.fingerprint)


def told_of(**parts: Any) -> list[str]:
    """Return what is done about the groups of a complete LCluster."""
    decision = decide_lcluster(replace(observed(*COMPLETE), **parts), NOW)
    return [line for line in told(decision.actions) if "cluster-resources" in line]


def test_the_grant_is_created_and_deleted_with_the_definitions() -> None:
    assert told_of() == []
    groups = frozenset({"acme-x.io"})
    assert told_of(groups=groups) == [
        f"create clusterroles {ROLE}",
        f"create clusterrolebindings {ROLE}",
    ]
    there = {
        (each.resource, each.key): stored(each)
        for each in custom_resource_objects(LCLUSTER, groups, CONVENTIONS)
    }
    objects = {**observed(*COMPLETE).objects, **there}
    assert told_of(groups=groups, objects=objects) == []
    gone = [f"delete clusterrolebindings {ROLE}", f"delete clusterroles {ROLE}"]
    assert told_of(objects=objects) == gone
    ending = replace(observed(*COMPLETE), objects=objects, lifecycle=Lifecycle.TERMINATING)
    assert told_of(objects=objects, lifecycle=Lifecycle.TERMINATING) == []
    assert told(decide_revocations(ending)) == gone
    assert (CLUSTER_ROLE, ("", ROLE)) in there
    assert (CLUSTER_ROLE_BINDING, ("", ROLE)) in there
