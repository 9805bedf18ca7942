"""Admission requests as values, and the object that results from an answer."""

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import jsonpatch
from hypothesis import strategies as st
from lnamespace.admission.decisions.decision import Policy, ReviewContext
from lnamespace.admission.decisions.patch import PatchOperation
from lnamespace.admission.decisions.review import AdmissionRequest, GroupVersionKind, UserInfo
from lnamespace.model.lnamespace import KIND, VERSION
from lnamespace.model.names import Names
from lnamespace.payers.entries import Payers

from tests.unit.support.strategies import NOW

Json = dict[str, Any]

NAMES = Names()
POLICY = Policy(NAMES)
ALICE = "alice@loblaw.digital"
GVK = GroupVersionKind(NAMES.group, VERSION, KIND)
ABSENT: Any = ...
"""For a spec: that there is none."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 3) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab~/0", max_size=3), inner)
    ),
    max_leaves=12,
)


def context(payers: Payers | None = None, **parts: Any) -> ReviewContext:
    """ReviewContext at NOW, with nothing configured unless said."""
    return dataclasses.replace(ReviewContext(NOW, payers or Payers()), **parts)


def manifest(spec: Any = ABSENT, **metadata: Any) -> Json:
    """Return an LNamespace as it is sent."""
    shown: Json = {
        "apiVersion": f"{NAMES.group}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": "team-a"} | metadata,
    }
    return shown if spec is ABSENT else shown | {"spec": spec}


def creation(
    spec: Any = ABSENT, user: str = ALICE, groups: tuple[str, ...] = (), **metadata: Any
) -> AdmissionRequest:
    """Somebody creates an LNamespace."""
    return AdmissionRequest(
        "r-1", GVK, "CREATE", UserInfo(user, groups), object=manifest(spec, **metadata)
    )


def update(
    old: Any, new: Any, user: str = ALICE, version: str = VERSION, recorded: int = 0
) -> AdmissionRequest:
    """Somebody changes the spec of one at generation 4, written in a version of the API."""
    status = {"recorded": {"generation": recorded}} if recorded else {}
    return AdmissionRequest(
        "r-1",
        GVK,
        "UPDATE",
        UserInfo(user),
        request_kind=GroupVersionKind(NAMES.group, version, KIND),
        object=manifest(new, uid="u-1", generation=4) | {"status": status},
        old_object=manifest(old, uid="u-1", generation=4) | {"status": status},
    )


def steps(patch: Sequence[PatchOperation]) -> list[Json]:
    """Return a patch as the API server reads it."""
    return [operation.as_json() for operation in patch]


def patched(before: Any, patch: Sequence[PatchOperation]) -> Any:
    """Return what somebody else's JSON patch makes of it."""
    return jsonpatch.apply_patch(copy.deepcopy(before), steps(patch))
