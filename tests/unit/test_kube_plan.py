"""From what is and what should be to what is to be done."""

import copy
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.kube.objects import Key, Object
from lnamespace.kube.plan import Action, Create, Delete, Patch, Recreate, build_patch, plan_actions
from lnamespace.kube.resources import RBAC, Resource
from lnamespace.kube.state import DesiredObject, ObservedObject

from tests.unit.support import objects as make
from tests.unit.support.objects import ALICE, BOB, MARKS, place, seen, served
from tests.unit.support.structural import merged

Place = tuple[Resource, Key]


class Cluster:
    """The objects that are, as JSON, and the doing of actions on them."""

    def __init__(self, are: Iterable[DesiredObject] = ()) -> None:
        self.shown: dict[Place, dict[str, Any]] = {place(w): served(w) for w in are}
        self.touched: set[Place] = set()

    def look(self, resource: Resource, key: Key) -> ObservedObject | None:
        found = self.shown.get((resource, key))
        return seen(found) if found else None

    def do(self, action: Action) -> None:
        if isinstance(action, Delete):
            where = (action.resource, action.observed.key)
            del self.shown[where]
        else:
            where = place(action.desired)
            if isinstance(action, Patch):
                change = build_patch(action.desired, action.observed, MARKS)
                self.shown[where] = merged(copy.deepcopy(self.shown[where]), change)
            else:
                self.shown[where] = served(action.desired)
        self.touched.add(where)


def test_a_missing_object_is_created() -> None:
    want = make.namespace()
    assert plan_actions([want], Cluster().look) == (Create(want),)


def test_an_object_in_the_desired_state_is_left_unchanged() -> None:
    want = make.binding()
    assert plan_actions([want], Cluster([want]).look, [place(want)]) == ()


def test_an_object_that_differs_is_patched() -> None:
    cluster, want = Cluster([make.binding(subjects=(ALICE, BOB))]), make.binding()
    (action,) = plan_actions([want], cluster.look)
    assert action == Patch(want, cluster.look(*place(want)))  # type: ignore[arg-type]


def test_a_binding_to_another_role_is_recreated_because_role_refs_are_immutable() -> None:
    cluster, want = Cluster([make.binding(ref="view")]), make.binding(ref="admin")
    (action,) = plan_actions([want], cluster.look)
    assert isinstance(action, Recreate)


DIFFERING: dict[str, tuple[DesiredObject, Any]] = {
    "rules": (make.role(), [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]),
    "aggregationRule": (make.role(), {"clusterRoleSelectors": []}),
    "roleRef": (make.binding(), {"apiGroup": RBAC, "kind": "ClusterRole", "name": "other"}),
    "subjects": (make.binding(), []),
    "spec": (make.quota(), {"hard": {"pods": "1000000"}}),
}
"""An object and another value of one of its fields; a new field of Object needs one here."""

_, _, _, *MANAGED_FIELDS = (each.encode_name for each in msgspec.structs.fields(Object))


@pytest.mark.parametrize("field", MANAGED_FIELDS)
def test_a_difference_in_any_managed_field_is_repaired(field: str) -> None:
    want, value = DIFFERING[field]
    cluster = Cluster([want])
    cluster.shown[place(want)][field] = value
    (action,) = plan_actions([want], cluster.look)
    cluster.do(action)
    assert plan_actions([want], cluster.look) == ()


def test_an_undesired_object_at_a_managed_key_is_deleted() -> None:
    gone = make.binding()
    cluster = Cluster([gone])
    (action,) = plan_actions([], cluster.look, [place(gone)])
    assert action == Delete(gone.resource, cluster.look(*place(gone)))  # type: ignore[arg-type]


def test_an_undesired_object_at_an_unmanaged_key_is_not_touched() -> None:
    assert (
        plan_actions([], Cluster([make.binding(), make.role()]).look, [place(make.binding("c"))])
        == ()
    )


def test_deletes_are_planned_last_so_that_access_is_never_interrupted() -> None:
    cluster = Cluster([make.binding("old"), make.binding("changed", subjects=(BOB,))])
    wants = [make.binding("new"), make.binding("changed")]
    actions = plan_actions(wants, cluster.look, [place(make.binding("old")), *map(place, wants)])
    assert [type(action) for action in actions] == [Create, Patch, Delete]


names = st.sampled_from(["a", "b", "c"])
anything = st.one_of(
    st.builds(make.namespace, names),
    st.builds(make.role, names, st.sampled_from([("get",), ("get", "list")])),
    st.builds(
        make.binding,
        names,
        st.sampled_from([(), (ALICE,), (ALICE, BOB)]),
        st.sampled_from(["view", "admin"]),
        st.sampled_from(["", "a", "b"]),
    ),
)
sets = st.lists(anything, max_size=6, unique_by=place)


@given(are=sets, want=sets, data=st.data())
def test_a_second_plan_after_applying_the_first_is_empty(
    are: list[DesiredObject], want: list[DesiredObject], data: st.DataObject
) -> None:
    cluster = Cluster(are)
    everywhere = [place(w) for w in (*are, *want)]
    possible = data.draw(st.lists(st.sampled_from(everywhere), unique=True)) if everywhere else []
    before = copy.deepcopy(cluster.shown)
    actions = plan_actions(want, cluster.look, possible)
    for action in data.draw(st.permutations(actions)):
        cluster.do(action)
    assert plan_actions(want, cluster.look, possible) == ()
    # Nothing was touched but what is wanted or in a place of ours, and that only for a reason.
    assert cluster.touched <= {*map(place, want), *possible}
    assert len(actions) == len(cluster.touched)
    for where in set(before) - cluster.touched:
        assert cluster.shown[where] == before[where]


@pytest.mark.parametrize("possible", [[], [place(make.role())]])
def test_an_object_listed_several_times_is_deleted_once(possible: list[Place]) -> None:
    cluster = Cluster([make.role()])
    assert len(plan_actions([], cluster.look, possible)) == len(possible)
