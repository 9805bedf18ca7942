"""Objects as the API server shows them, for tests of `kube`."""

import json
from typing import Any

from lnamespace.kube.objects import (
    MANAGED_BY,
    Object,
    ObjectMeta,
    OwnerReference,
    PolicyRule,
    RbacSubject,
    RoleRef,
)
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    RBAC,
    RESOURCE_QUOTA,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import (
    DesiredObject,
    ManagedMetadata,
    ObservedObject,
    desired_object,
    read_observed,
)
from msgspec import Raw

MARKS = ManagedMetadata("lnamespace", ("t.io/tenant",), ("t.io/owner", "t.io/person"))
OWNER = OwnerReference("u-1", "t.io/v1", "Tenant", "a", controller=True)
ALICE = RbacSubject("User", "alice", api_group=RBAC)
BOB = RbacSubject("User", "bob", api_group=RBAC)


def meta(name: str, namespace: str = "", **parts: Any) -> ObjectMeta:
    labels = {MANAGED_BY: MARKS.manager, "t.io/tenant": "a"}
    return ObjectMeta(
        name=name, namespace=namespace, **({"labels": labels, "owner_references": (OWNER,)} | parts)
    )


def namespace(name: str = "a", **parts: Any) -> DesiredObject:
    return desired_object(NAMESPACE, Object(meta(name, **parts), "v1", "Namespace"), MARKS)


def role(name: str = "r", verbs: tuple[str, ...] = ("get",), **parts: Any) -> DesiredObject:
    rules = (PolicyRule(verbs, ("",), ("pods",), ("p",)),)
    built = Object(meta(name, **parts), f"{RBAC}/v1", "ClusterRole", rules=rules)
    return desired_object(CLUSTER_ROLE, built, MARKS)


def binding(
    name: str = "b",
    subjects: tuple[RbacSubject, ...] = (ALICE,),
    ref: str = "r",
    namespace: str = "",
    **parts: Any,
) -> DesiredObject:
    resource = ROLE_BINDING if namespace else CLUSTER_ROLE_BINDING
    built = Object(
        meta(name, namespace, **parts),
        f"{RBAC}/v1",
        resource.kind,
        role_ref=RoleRef("ClusterRole", ref),
        subjects=subjects,
    )
    return desired_object(resource, built, MARKS)


def quota(name: str = "q", namespace: str = "a") -> DesiredObject:
    spec = Raw(b'{"hard":{"pods":"1"}}')
    built = Object(meta(name, namespace), "v1", "ResourceQuota", spec=spec)
    return desired_object(RESOURCE_QUOTA, built, MARKS)


def served(
    want: DesiredObject, version: int = 1, uid: str = "uid-1", **more: Any
) -> dict[str, Any]:
    """Return the object as the API server shows it: with more than was asked for."""
    shown: dict[str, Any] = json.loads(json.dumps(want.object.manifest()))
    shown["metadata"] |= {
        "uid": uid,
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "lnamespace", "operation": "Update"}],
    } | more
    if want.resource is NAMESPACE:
        shown |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        shown["metadata"]["labels"]["kubernetes.io/metadata.name"] = want.key[1]
    return shown


def seen(shown: dict[str, Any]) -> ObservedObject:
    return read_observed(json.dumps(shown).encode(), MARKS)


def place(want: DesiredObject) -> tuple[Resource, tuple[str, str]]:
    return want.resource, want.key
