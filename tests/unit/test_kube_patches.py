"""A merge patch makes one object into another, exactly."""

import copy
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.kube.plan import merge_patch

from tests.unit.support.structural import merged

Json = dict[str, Any]

keys = st.sampled_from("abc")
values = st.recursive(
    st.one_of(st.booleans(), st.integers(0, 2), st.sampled_from("xy")),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=3)


@given(objects, objects)
@example({"a": {"b": 1}}, {"a": {"c": 1}})
def test_a_merge_patch_turns_the_old_object_into_the_new_object(old: Json, new: Json) -> None:
    assert merged(copy.deepcopy(old), merge_patch(old, new)) == new


@given(objects)
def test_the_merge_patch_between_equal_objects_is_empty(one: Json) -> None:
    assert merge_patch(one, copy.deepcopy(one)) == {}
