"""A fingerprint tells whether the parts that we manage are as wanted, and nothing else."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.kube.objects import MANAGED_BY, Object, ObjectMeta, OwnerReference, PolicyRule
from lnamespace.kube.plan import build_patch
from lnamespace.kube.resources import CLUSTER_ROLE, NAMESPACE, RBAC
from lnamespace.kube.state import DesiredObject, ManagedMetadata, desired_object

from tests.unit.support import objects as make
from tests.unit.support.objects import ALICE, BOB, MARKS, OWNER, seen, served
from tests.unit.support.structural import merged

Shown = dict[str, Any]
Edit = Callable[[Shown], object]


@pytest.mark.parametrize("want", [make.namespace(), make.role(), make.binding(namespace="a")])
def test_an_object_created_as_desired_has_the_desired_fingerprint(want: DesiredObject) -> None:
    assert seen(served(want)).fingerprint == want.fingerprint


FOREIGN_EDITS: dict[str, Edit] = {
    "a label": lambda o: o["metadata"]["labels"].update({"theirs": "x"}),
    "an annotation": lambda o: o["metadata"].update(annotations={"theirs": "x"}),
    "managed fields": lambda o: o["metadata"].update(managedFields=[]),
    "the resource version": lambda o: o["metadata"].update(resourceVersion="99"),
    "the generation": lambda o: o["metadata"].update(generation=7),
    "the deletion": lambda o: o["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
    "the status": lambda o: o.update(status={"phase": "Terminating"}),
    "no kind, as in lists": lambda o: (o.pop("kind"), o.pop("apiVersion")),
}
OUR_EDITS: dict[str, Edit] = {
    "our label gone": lambda o: o["metadata"]["labels"].pop(MANAGED_BY),
    "all labels gone": lambda o: o["metadata"].pop("labels"),
    "another tenant": lambda o: o["metadata"]["labels"].update({"t.io/tenant": "b"}),
    "our annotation": lambda o: o["metadata"].update(annotations={"t.io/owner": "u-2"}),
    "no owner": lambda o: o["metadata"].pop("ownerReferences"),
    "another owner": lambda o: o["metadata"]["ownerReferences"][0].update(uid="u-2"),
    "one owner more": lambda o: o["metadata"]["ownerReferences"].append(
        {"uid": "u-2", "apiVersion": "v1", "kind": "ConfigMap", "name": "c"}
    ),
    "no controller": lambda o: o["metadata"]["ownerReferences"][0].update(controller=False),
}
ROLE_EDITS: dict[str, Edit] = {
    "a finalizer": lambda o: o["metadata"].update(finalizers=["theirs/x"]),
    "one rule more": lambda o: o["rules"].append({"verbs": ["*"], "apiGroups": ["*"]}),
    "no rules": lambda o: o.update(rules=[]),
    "null rules": lambda o: o.update(rules=None),
    "another verb": lambda o: o["rules"][0]["verbs"].append("delete"),
    "no resource names": lambda o: o["rules"][0].pop("resourceNames"),
    "another name": lambda o: o["rules"][0].update(resourceNames=["q"]),
    "another group": lambda o: o["rules"][0].update(apiGroups=["*"]),
    "another resource": lambda o: o["rules"][0]["resources"].append("secrets"),
    "a URL": lambda o: o["rules"][0].update(nonResourceURLs=["/metrics"]),
    "aggregation": lambda o: o.update(
        aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
    ),
}
BINDING_EDITS: dict[str, Edit] = {
    "a finalizer": lambda o: o["metadata"].update(finalizers=["theirs/x"]),
    "one subject more": lambda o: o["subjects"].append(
        {"kind": "User", "name": "mallory", "apiGroup": RBAC}
    ),
    "no subject": lambda o: o.pop("subjects"),
    "another kind": lambda o: o["subjects"][0].update(kind="Group"),
    "another role": lambda o: o["roleRef"].update(name="cluster-admin"),
    "a role of the namespace": lambda o: o["roleRef"].update(kind="Role"),
}


def cases(want: DesiredObject, edits: dict[str, Edit]) -> list[Any]:
    return [pytest.param(want, edit, id=f"{want.resource.kind}: {n}") for n, edit in edits.items()]


SEEN = seen(served(make.role()))
WANTED = (make.namespace(), make.role(), make.binding(), make.binding(namespace="a"))


@pytest.mark.parametrize(("want", "edit"), [c for w in WANTED for c in cases(w, FOREIGN_EDITS)])
def test_changes_of_unmanaged_fields_do_not_change_the_fingerprint(
    want: DesiredObject, edit: Edit
) -> None:
    shown = served(want)
    edit(shown)
    assert seen(shown).fingerprint == want.fingerprint


@pytest.mark.parametrize(
    ("want", "edit"),
    [c for w in WANTED for c in cases(w, OUR_EDITS)]
    + cases(make.role(), ROLE_EDITS)
    + cases(make.binding(), BINDING_EDITS)
    + cases(make.binding(namespace="a"), BINDING_EDITS),
)
def test_changes_of_managed_fields_change_the_fingerprint(want: DesiredObject, edit: Edit) -> None:
    shown = served(want)
    edit(shown)
    assert seen(shown).fingerprint != want.fingerprint


def test_the_order_of_owner_references_does_not_change_the_fingerprint() -> None:
    other = OwnerReference("u-2", "t.io/v1", "Tenant", "b")
    want = make.role(owner_references=(OWNER, other))
    shown = served(want)
    shown["metadata"]["ownerReferences"].reverse()
    assert seen(shown).fingerprint == want.fingerprint


def test_the_uid_version_and_termination_of_an_observed_object_are_read() -> None:
    shown = served(
        make.namespace(), version=17, uid="u-9", deletionTimestamp="2026-01-01T00:00:00Z"
    )
    got = seen(shown)
    assert (got.uid, got.version, got.terminating, got.managed) == ("u-9", 17, True, True)
    assert got.owners == ("u-1",)
    assert got.role_ref is None


def test_an_object_managed_by_another_manager_is_not_managed() -> None:
    shown = served(make.namespace())
    shown["metadata"]["labels"][MANAGED_BY] = "Helm"
    assert not seen(shown).managed


def test_only_managed_annotations_are_cached() -> None:
    shown = served(make.namespace(annotations={"t.io/owner": "u-1"}))
    shown["metadata"]["annotations"]["theirs"] = "x" * 1000
    assert seen(shown).annotations == {"t.io/owner": "u-1"}


def test_foreign_labels_and_annotations_of_a_grant_are_not_cached() -> None:
    """Whoever may label bindings in a namespace could have filled the memory of the controller."""
    for want in (
        make.binding(namespace="a"),
        make.role(namespace="a"),
        make.binding(),
        make.role(),
    ):
        shown = served(want)
        shown["metadata"].setdefault("labels", {}).update(theirs="x")
        shown["metadata"].setdefault("annotations", {})["t.io/owner"] = "x" * 1000
        assert (seen(shown).labels, seen(shown).annotations) == ({}, {})


def test_owners_and_roles_of_a_foreign_object_are_cached_up_to_a_bound() -> None:
    """In namespaces of others somebody may write one of our names with a megabyte in these."""
    shown = served(make.binding(namespace="a"))
    owner = shown["metadata"]["ownerReferences"][0]
    many = [owner | {"uid": f"u-{n}"} for n in range(20_000)]
    shown["metadata"]["ownerReferences"] = [owner | {"uid": "x" * 1_000_000}, *many]
    shown["roleRef"]["name"] = "x" * 1_000_000
    got = seen(shown)
    assert (len(got.owners), got.owners[0]) == (10_000, "u-0")
    assert got.role_ref
    assert len(got.role_ref.name) < 2_000
    assert not got.can_be_patched_to(make.binding(namespace="a"))


def test_foreign_labels_of_a_namespace_are_cached() -> None:
    shown = served(make.namespace())
    shown["metadata"].setdefault("labels", {})["theirs"] = "x"
    assert seen(shown).labels == {"theirs": "x"}


def test_a_manifest_has_no_empty_fields() -> None:
    assert json.loads(json.dumps(make.binding(namespace="a").object.manifest())) == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": "b",
            "namespace": "a",
            "labels": {"app.kubernetes.io/managed-by": "lnamespace", "t.io/tenant": "a"},
            "ownerReferences": [
                {
                    "uid": "u-1",
                    "apiVersion": "t.io/v1",
                    "kind": "Tenant",
                    "name": "a",
                    "controller": True,
                }
            ],
        },
        "roleRef": {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
    }


# The patch


def repaired(shown: Shown, want: DesiredObject) -> Shown:
    change = build_patch(want, seen(shown), MARKS)
    result: Shown = merged(copy.deepcopy(shown), change)
    return result


@pytest.mark.parametrize(
    ("want", "edit"),
    [c for w in WANTED for c in cases(w, OUR_EDITS)]
    + cases(make.role(), ROLE_EDITS)
    + cases(make.binding(), {k: v for k, v in BINDING_EDITS.items() if "role" not in k}),
)
def test_the_patch_reverts_changes_of_managed_fields(want: DesiredObject, edit: Edit) -> None:
    shown = served(want)
    edit(shown)
    assert seen(repaired(shown, want)).fingerprint == want.fingerprint


words = st.sampled_from(["a", "b", "t.io/tenant", "t.io/owner", "t.io/person", MANAGED_BY])
maps = st.dictionaries(words, words, max_size=3)
owners = st.lists(st.sampled_from(["u-1", "u-2", "u-3"]), max_size=3, unique=True)
policy_rules = st.builds(
    PolicyRule,
    verbs=st.lists(words, min_size=1, max_size=2).map(tuple),
    resources=st.lists(words, max_size=2).map(tuple),
    resource_names=st.lists(words, max_size=2).map(tuple),
    non_resource_urls=st.lists(words, max_size=1).map(tuple),
)


def owned_by(chosen: list[str]) -> tuple[OwnerReference, ...]:
    return tuple(OwnerReference(uid, "v1", "Tenant", f"n-{uid}") for uid in chosen)


roles = st.builds(
    lambda labels, annotations, uids, rules: desired_object(
        CLUSTER_ROLE,
        Object(
            ObjectMeta(
                "r",
                labels={MANAGED_BY: "x"} | labels,
                annotations=annotations,
                owner_references=owned_by(uids),
            ),
            f"{RBAC}/v1",
            "ClusterRole",
            rules=tuple(rules),
        ),
        MARKS,
    ),
    maps,
    maps,
    owners,
    st.lists(policy_rules, max_size=2),
)
bindings = st.builds(
    lambda subjects, annotations: make.binding(subjects=tuple(subjects), annotations=annotations),
    st.lists(st.sampled_from([ALICE, BOB]), max_size=3),
    maps,
)


@given(st.one_of(st.tuples(roles, roles), st.tuples(bindings, bindings)))
def test_the_patch_gives_any_object_the_desired_fingerprint(
    pair: tuple[DesiredObject, DesiredObject],
) -> None:
    want, is_now = pair
    after = repaired(served(is_now), want)
    assert seen(after).fingerprint == want.fingerprint


@given(roles, roles)
def test_the_patch_keeps_foreign_labels_and_annotations(
    want: DesiredObject, is_now: DesiredObject
) -> None:
    before = served(is_now)
    after = repaired(before, want)
    for key, ours in (("labels", (MANAGED_BY, *MARKS.labels)), ("annotations", MARKS.annotations)):
        theirs = {k: v for k, v in before["metadata"].get(key, {}).items() if k not in ours}
        kept = {k: v for k, v in after["metadata"].get(key, {}).items() if k not in ours}
        assert kept == theirs


def test_the_patch_keeps_finalizers_of_namespaces_and_removes_those_of_grants() -> None:
    """A user may put one on the binding in their namespace, and would keep it when it goes."""
    for want in WANTED:
        after = repaired(served(want, finalizers=["theirs/x"]), want)
        is_namespace = want.resource is NAMESPACE
        assert after["metadata"].get("finalizers") == (["theirs/x"] if is_namespace else None)


def test_the_patch_sends_an_empty_list_as_an_empty_list() -> None:
    """It must not be left out, for then a merge patch would leave the list as it is."""
    assert list(build_patch(make.binding(subjects=()), SEEN, MARKS)["subjects"]) == []
    change = build_patch(make.role(owner_references=()), SEEN, MARKS)
    assert list(change["metadata"]["ownerReferences"]) == []
    assert not repaired(served(make.binding()), make.binding(subjects=()))["subjects"]


def test_the_patch_has_the_uid_of_the_observed_object() -> None:
    assert build_patch(make.role(), SEEN, MARKS)["metadata"]["uid"] == SEEN.uid


def test_the_label_selector_matches_objects_of_this_manager() -> None:
    assert ManagedMetadata("lnamespace.x").selector == "app.kubernetes.io/managed-by=lnamespace.x"
