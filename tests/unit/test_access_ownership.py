"""Whose a Namespace is. What existed before is never seized."""

from itertools import product

import pytest
from lnamespace.access.conventions import Conventions
from lnamespace.access.ownership import Ownership, determine_ownership, is_adopted
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lnamespace import LNamespace, Metadata, Status
from lnamespace.model.names import Names
from msgspec.structs import replace

LAYOUT = Conventions()
OURS, EARLIER, STRANGER = "uid-ours", "uid-earlier", "uid-stranger"
NAMESPACE = "uid-namespace"


def lns(namespace_uid: str = "") -> LNamespace:
    return LNamespace(Metadata("team-a", OURS), status=Status(namespace_uid=namespace_uid))


def found(
    *owners: str,
    annotated: str = "",
    managed: bool = False,
    terminating: bool = False,
    uid: str = NAMESPACE,
    conventions: Conventions = LAYOUT,
) -> ObservedObject:
    annotations = {conventions.names.owner_annotation: annotated} if annotated else {}
    key = ("", "team-a")
    return ObservedObject(key, uid, 1, terminating, managed, owners, annotations, None, b"")


def test_a_missing_namespace_is_absent() -> None:
    assert determine_ownership(lns(), None, LAYOUT) is Ownership.ABSENT
    assert determine_ownership(lns(NAMESPACE), None, LAYOUT) is Ownership.ABSENT


PROOFS = {
    "the status knows its UID": (lns(NAMESPACE), found()),
    "it is owned": (lns(), found(OURS)),
    "it is owned, among others": (lns(), found(STRANGER, OURS)),
    "it is annotated, as by Retain": (lns(), found(annotated=OURS)),
    "it is annotated, though owned by another": (lns(), found(STRANGER, annotated=OURS)),
    "all at once": (lns(NAMESPACE), found(OURS, annotated=OURS, managed=True)),
}


@pytest.mark.parametrize(("of", "namespace"), PROOFS.values(), ids=PROOFS.keys())
def test_a_matching_uid_proves_ownership(of: LNamespace, namespace: ObservedObject) -> None:
    assert determine_ownership(of, namespace, LAYOUT) is Ownership.OURS


def test_a_status_does_not_outweigh_the_annotation_of_another_owner() -> None:
    """After Retain the annotation names the former owner, whatever the status says."""
    left = found(annotated=EARLIER, managed=True)
    assert determine_ownership(lns(NAMESPACE), left, LAYOUT) is Ownership.FOREIGN
    assert (
        determine_ownership(lns(NAMESPACE), found(OURS, annotated=EARLIER), LAYOUT)
        is Ownership.OURS
    )


def marked(annotated: str, *, managed: bool) -> ObservedObject:
    return replace(
        found(annotated=OURS, managed=managed),
        annotations={LAYOUT.names.owner_annotation: OURS, annotated: "true"},
    )


ADOPTIONS = {
    "there is none": (lns(), None, False),
    "an administrator has just given it": (lns(), found(annotated=OURS), True),
    "our labels are on it, and the mark": (
        lns(NAMESPACE),
        marked(LAYOUT.names.adopted_annotation, managed=True),
        True,
    ),
    "we made it": (lns(), found(OURS, annotated=OURS, managed=True), False),
    "it was left behind, with its guard rails": (lns(), found(annotated=OURS, managed=True), False),
    "somebody took our labels off": (lns(NAMESPACE), found(annotated=OURS), False),
    "somebody else's mark": (lns(), marked("example.com/adopted", managed=True), False),
}


@pytest.mark.parametrize(("of", "namespace", "is_"), ADOPTIONS.values(), ids=ADOPTIONS.keys())
def test_a_namespace_that_existed_before_is_adopted(
    of: LNamespace, namespace: ObservedObject | None, is_: bool
) -> None:
    assert is_adopted(of, namespace, LAYOUT) is is_


NO_PROOFS = {
    "a namespace of before": found(),
    "our label alone, which anybody can set": found(managed=True),
    "owned by a stranger": found(STRANGER),
    "annotated for an earlier one": found(annotated=EARLIER),
    "left by an earlier one with Retain": found(annotated=EARLIER, managed=True),
}


@pytest.mark.parametrize("namespace", NO_PROOFS.values(), ids=NO_PROOFS.keys())
@pytest.mark.parametrize("of", [lns(), lns("uid-of-another-namespace")])
def test_a_namespace_without_proof_of_ownership_is_foreign(
    of: LNamespace, namespace: ObservedObject
) -> None:
    assert determine_ownership(of, namespace, LAYOUT) is Ownership.FOREIGN


def test_an_owned_namespace_that_is_being_deleted_is_terminating() -> None:
    assert (
        determine_ownership(lns(), found(OURS, terminating=True), LAYOUT) is Ownership.TERMINATING
    )


@pytest.mark.parametrize(
    "namespace",
    [
        found(EARLIER, managed=True),
        found(EARLIER, managed=True, terminating=True),
        found(terminating=True),
        found(STRANGER, terminating=True),
    ],
)
def test_a_foreign_namespace_that_is_about_to_be_deleted_is_a_predecessor(
    namespace: ObservedObject,
) -> None:
    assert determine_ownership(lns(), namespace, LAYOUT) is Ownership.PREDECESSOR


def test_the_annotation_of_another_instance_does_not_prove_ownership() -> None:
    other = Conventions(Names("example.com"))
    assert (
        determine_ownership(lns(), found(annotated=OURS, conventions=other), LAYOUT)
        is Ownership.FOREIGN
    )
    assert (
        determine_ownership(lns(), found(annotated=OURS, conventions=other), other)
        is Ownership.OURS
    )


def test_no_combination_without_a_matching_uid_proves_ownership() -> None:
    for managed, terminating, owner, annotated in product(
        (False, True), (False, True), ("", EARLIER), ("", STRANGER)
    ):
        owners = (owner,) if owner else ()
        namespace = found(*owners, annotated=annotated, managed=managed, terminating=terminating)
        verdict = determine_ownership(lns(), namespace, LAYOUT)
        assert verdict in (Ownership.FOREIGN, Ownership.PREDECESSOR)
