"""Roles, bindings and questions in few words."""

from typing import Any

from lnamespace.rbac.attributes import Attributes, User
from lnamespace.rbac.objects import RbacBinding, RbacRole, binding_value, role_value

JANE = User("jane", groups=("team", "system:authenticated"))


def role(name: str, *rules: dict[str, list[str]], namespace: str = "", **more: Any) -> RbacRole:
    meta = {"name": name, "namespace": namespace, "labels": more.pop("labels", None)}
    return role_value({"metadata": meta, "rules": list(rules), **more})


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> dict[str, list[str]]:
    return {
        "verbs": verbs.split(),
        "apiGroups": groups.split() or [""],
        "resources": resources.split(),
        "resourceNames": names.split(),
    }


def binding(
    name: str, to: str, *subjects: str, namespace: str = "", kind: str = "ClusterRole"
) -> RbacBinding:
    described = [
        dict(zip(("kind", "name", "namespace"), each.split("|"), strict=False)) for each in subjects
    ]
    return binding_value(
        {
            "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"kind": kind, "name": to, "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": described,
        }
    )


def asks(
    verb: str, resource: str, namespace: str = "", name: str = "", group: str = ""
) -> Attributes:
    resource, _, subresource = resource.partition("/")
    return Attributes(verb, group, "v1", resource, subresource, namespace, name)
