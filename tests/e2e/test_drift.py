"""Whatever somebody does to a managed object by hand, it is as it should be within a second."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.support.api import Api, Object, ns_path, rbac_path, unless
from tests.e2e.support.people import user
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import Measurements, eventually, measured

DEADLINE = 60.0
"""Long before anything is looked at again by the clock: the machine that runs this may be busy.
What it took is measured."""

NAME = "drift"
OBJECTS = {
    "Namespace": ns_path(NAME),
    "users RoleBinding": rbac_path("rolebindings", "lnamespace-users", NAME),
    "sudoers RoleBinding": rbac_path("rolebindings", "lnamespace-sudoers", NAME),
    "editor ClusterRole": rbac_path("clusterroles", f"lnamespace:{NAME}:editor"),
    "editor ClusterRoleBinding": rbac_path("clusterrolebindings", f"lnamespace:{NAME}:editor"),
    "sudoer ClusterRole": rbac_path("clusterroles", f"lnamespace:{NAME}:sudoer-impersonator"),
    "sudoer ClusterRoleBinding": rbac_path(
        "clusterrolebindings", f"lnamespace:{NAME}:sudoer-impersonator"
    ),
    "own ClusterRole": rbac_path("clusterroles"),
    "own ClusterRoleBinding": rbac_path("clusterrolebindings"),
    "own Role": rbac_path("roles", namespace="default"),
    "own RoleBinding": rbac_path("rolebindings", namespace="default"),
}
EVE = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
ALL = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


@pytest.fixture(scope="module")
def paths(tenants: Tenants) -> dict[str, str]:
    """Return where every kind of managed object of one LNamespace is."""
    sudoers = ["drift-person", tenants.account("default", "drift-account")]
    tenants.create(NAME, users=["drift-user"], managers=["drift-manager"], sudoers=sudoers)
    tenants.ready(NAME)
    found = dict(OBJECTS)
    for label, person in _own():
        items = tenants.admin.items(OBJECTS[label])
        found[label] += f"/{next(_name(item) for item in items if _is_of(item, person))}"
    return found


def _own() -> Iterator[tuple[str, str]]:
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        yield f"own {kind}", "drift-person"
    for kind in ("Role", "RoleBinding"):
        yield f"own {kind}", "system:serviceaccount:default:drift-account"


def _name(item: Object) -> str:
    return str(item["metadata"]["name"])


def _is_of(item: Object, person: str) -> bool:
    annotations = item["metadata"].get("annotations", {})
    return bool(annotations.get("tenancy.loblaw.digital/person") == person)


def _strip(item: Object, part: str) -> Object:
    item["metadata"].pop(part)
    return item


def _with(item: Object, **fields: object) -> Object:
    return item | fields


@dataclass(frozen=True)
class Deed:
    """Something that somebody does to an object, and to which objects it can be done."""

    name: str
    change: Callable[[Object], Object]
    suits: Callable[[str], bool]


def _binding(label: str) -> bool:
    return label.endswith("Binding")


def _role(label: str) -> bool:
    return label.endswith("Role")


def _annotated(label: str) -> bool:
    return label == "Namespace" or label.startswith("own")


DEEDS = (
    Deed("labels removed", lambda item: _strip(item, "labels"), lambda _: True),
    Deed("owners removed", lambda item: _strip(item, "ownerReferences"), lambda _: True),
    Deed("annotation removed", lambda item: _strip(item, "annotations"), _annotated),
    Deed(
        "subject added",
        lambda item: _with(item, subjects=[*item["subjects"], EVE]),
        _binding,
    ),
    Deed("subjects removed", lambda item: _with(item, subjects=[]), _binding),
    Deed("rule added", lambda item: _with(item, rules=[*item["rules"], ALL]), _role),
    Deed("rule widened", lambda item: _with(item, rules=[_unnamed(item["rules"][0])]), _role),
    Deed(
        "aggregation added",
        lambda item: _with(
            item, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        ),
        lambda label: label.endswith("ClusterRole"),
    ),
)
CASES = [
    pytest.param(label, deed, id=f"{label}-{deed.name}".replace(" ", "_"))
    for label in OBJECTS
    for deed in DEEDS
    if deed.suits(label)
]


def _unnamed(rule: Object) -> Object:
    return {key: value for key, value in rule.items() if key != "resourceNames"}


def _essence(item: Object) -> Object:
    """Return all of an object but what changes with every write."""
    item = copy.deepcopy(item)
    for part in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        item["metadata"].pop(part, None)
    return item


def _change(admin: Api, path: str, deed: Deed) -> None:
    """Do it, though the controller or Kubernetes may write at the same moment."""

    def done() -> bool:
        return unless("Conflict", admin.replace, path, deed.change(admin.get(path)))

    eventually(done)


def _as_before(admin: Api, path: str, before: Object) -> bool:
    now = admin.find(path)
    return now is not None and _essence(now) == _essence(before)


@pytest.mark.parametrize(("label", "deed"), CASES)
def test_an_edit_of_a_managed_object_is_reverted(
    label: str, deed: Deed, paths: dict[str, str], admin: Api, measurements: Measurements
) -> None:
    path = paths[label]
    before = admin.get(path)
    _change(admin, path, deed)
    took = measured(lambda: _as_before(admin, path, before), DEADLINE, "not repaired")
    measurements.note("managed object edited, repaired", took)


@pytest.mark.parametrize("label", [label for label in OBJECTS if label != "Namespace"])
def test_a_deleted_managed_object_is_recreated(
    label: str, paths: dict[str, str], admin: Api, measurements: Measurements
) -> None:
    path = paths[label]
    before = admin.get(path)
    admin.delete(path)
    took = measured(lambda: _as_before(admin, path, before), DEADLINE, "not made anew")
    measurements.note("managed object deleted, made anew", took)


@pytest.mark.parametrize("label", [label for label in OBJECTS if _binding(label)])
def test_a_binding_recreated_with_another_role_is_replaced(
    label: str, paths: dict[str, str], admin: Api, measurements: Measurements
) -> None:
    path = paths[label]
    before = admin.get(path)
    other = _essence(before) | {
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        }
    }

    def replaced() -> bool:
        admin.remove(path)  # the controller may be faster than the next line
        return unless("AlreadyExists", admin.create, path.rsplit("/", 1)[0], other)

    eventually(replaced)
    took = measured(lambda: _as_before(admin, path, before), DEADLINE, "not repaired")
    measurements.note("role of a binding replaced, repaired", took)


def test_labels_and_annotations_of_others_on_a_namespace_are_kept(
    tenants: Tenants, admin: Api
) -> None:
    name = tenants.make("decorated", managers=["somebody"])
    mine = {"labels": {"team": "blue"}, "annotations": {"note": "kept"}}
    admin.patch(ns_path(name), {"metadata": mine})
    tenants.edit(name, users=["somebody"], deletionPolicy="Retain")
    tenants.ready(name)
    eventually(lambda: "ownerReferences" not in admin.get(ns_path(name))["metadata"])
    kept = admin.get(ns_path(name))["metadata"]
    assert kept["labels"]["team"] == "blue"
    assert kept["annotations"]["note"] == "kept"


def test_a_namespace_deleted_by_hand_is_recreated(
    tenants: Tenants, admin: Api, rights: Rights
) -> None:
    name = tenants.make("deleted-by-hand", users=["ursula"], sudoers=["simon"])
    before = admin.get(ns_path(name))["metadata"]["uid"]
    # So that it cannot be over before it was seen.
    held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    admin.create(ns_path(name, "configmaps"), held)
    admin.delete(ns_path(name))
    tenants.unready(name, "NamespaceTerminating")
    admin.patch(ns_path(name, "configmaps", "held"), {"metadata": {"finalizers": None}})

    def anew() -> bool:
        found = admin.find(ns_path(name))
        return found is not None and found["metadata"]["uid"] != before

    eventually(anew)
    lns = tenants.ready(name)
    assert lns["status"]["namespaceUID"] == admin.get(ns_path(name))["metadata"]["uid"]
    eventually(lambda: rights.works(user("ursula"), name) and rights.sudoes(user("simon"), name))
