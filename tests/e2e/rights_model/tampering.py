"""Changing what the controller keeps, as somebody might who can."""

from typing import Any

from tests.e2e.rights_model.cast import SUBJECTS
from tests.e2e.rights_model.misdeeds import Tamper
from tests.e2e.rights_model.model import ACCOUNTS, Layout, Subject
from tests.e2e.rights_model.stage import Stage
from tests.e2e.support.api import Api, ApiError, Object, rbac_path, unless

_RBAC = "rbac.authorization.k8s.io"
_OURS = {"app.kubernetes.io/managed-by": "lnamespace"}
_PERSON = "tenancy.loblaw.digital/person"


def bound(name: str, kind: str, role: str, *subjects: Subject) -> Object:
    """Return a binding of a role."""
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [_subject(subject) for subject in subjects],
    }


def tamper(stage: Stage, step: Tamper) -> None:
    """Do what the step says to the binding, or to the role, of a grant."""
    api = stage.api(step.actor, step.name if step.sudo else "")
    if step.target == "decoy":
        _decoy(stage, api, step.name)
        return
    binding, role = _places(stage, step)
    eve = _subject(SUBJECTS["eve"])
    match step.how:
        case "unbind":
            api.delete(binding)
        case "unrole":
            api.delete(role)
        case "add":
            _change(api, binding, subjects=[*api.get(binding).get("subjects", ()), eve])
        case "widen":
            rules = api.get(role)["rules"]
            _change(api, role, rules=[_without_names(rule) for rule in rules])
        case "strip":
            labels = dict.fromkeys(api.get(binding)["metadata"].get("labels", ()))
            _change(api, binding, metadata={"labels": labels, "ownerReferences": None})
        case "swap":
            api.delete(binding)
            body = bound(binding.rpartition("/")[2], "ClusterRole", "cluster-admin")
            # Who mends may be faster: then it is there again.
            unless(
                "AlreadyExists", api.create, binding.rpartition("/")[0], body | {"subjects": [eve]}
            )


def _decoy(stage: Stage, api: Api, namespace: str) -> None:
    """Create what the controller must take for its own, and take away."""
    by_group = stage.parts.layout is Layout.GROUP
    name = "lnamespace-sudo-account" if by_group else "lnamespace-sudoers"
    body = bound(name, "ClusterRole", "admin", SUBJECTS["eve"])
    body["metadata"]["labels"] = _OURS
    unless("AlreadyExists", api.create, rbac_path("rolebindings", namespace=namespace), body)


def _places(stage: Stage, step: Tamper) -> tuple[str, str]:
    by_group = stage.parts.layout is Layout.GROUP
    match step.target:
        case "users":
            return rbac_path("rolebindings", "lnamespace-users", step.name), ""
        case "sudo":
            name = "lnamespace-sudoers" if by_group else "lnamespace-sudo-account"
            return rbac_path("rolebindings", name, step.name), ""
        case "editor":
            return _both(f"lnamespace:{step.name}:editor")
        case "sudoer":
            at = "" if by_group else ACCOUNTS
            return _both(f"lnamespace:{step.name}:sudoer-impersonator", at)
        case _:
            return _own(stage.admin, SUBJECTS[step.label])


def _both(name: str, namespace: str = "") -> tuple[str, str]:
    """Return where a binding and a role of the same name are."""
    kinds = ("rolebindings", "roles") if namespace else ("clusterrolebindings", "clusterroles")
    binding, role = (rbac_path(kind, name, namespace) for kind in kinds)
    return binding, role


def _own(admin: Api, person: Subject) -> tuple[str, str]:
    """Return where somebody's self-impersonator is: nobody can tell by its name."""
    roles = "roles" if person.namespace else "clusterroles"
    for item in admin.items(rbac_path(roles, namespace=person.namespace)):
        metadata = item["metadata"]
        if metadata.get("annotations", {}).get(_PERSON) == person.username:
            return _both(metadata["name"], person.namespace)
    raise ApiError(404, "NotFound", f"no self-impersonator of {person.username}")


def _change(api: Api, path: str, **fields: Any) -> None:
    api.patch(path, fields)


def _without_names(rule: Object) -> Object:
    return {key: value for key, value in rule.items() if key != "resourceNames"}


def _subject(subject: Subject) -> Object:
    if subject.kind == "ServiceAccount":
        return {"kind": subject.kind, "name": subject.name, "namespace": subject.namespace}
    return {"apiGroup": _RBAC, "kind": subject.kind, "name": subject.name}
