"""Who pays, as labels of the Namespace: always valid, and never two payers as one."""

import re
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lnamespace.access.conventions import Conventions
from lnamespace.access.cost_labels import build_cost_labels, cost_label_keys, label_value
from lnamespace.access.lnamespace import NamespaceState, namespace_object
from lnamespace.access.ownership import Ownership
from lnamespace.model.lnamespace import Billing, Charge, LNamespace, Metadata, Spec
from lnamespace.model.names import Names

from tests.unit.support.strategies import lnamespaces

VALID = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
"""A label's value as the API server has it (apimachinery, validation.IsValidLabelValue)."""

NAMES = Names()
NEW = NamespaceState(Ownership.ABSENT)
CHARGE = Charge("4711", "alice@loblaw.digital", "Team Blue", "production", {"app": "shop"})

texts = st.one_of(
    st.text(min_size=1),
    st.text(string.ascii_letters + string.digits + "-_. ", min_size=1, max_size=70),
    st.sampled_from(["-", "_", ".", "\n", "\0", "-a", "a-", "a\n", "x" * 63, "x" * 64, "ü"]),
    st.just("\N{FULLWIDTH DIGIT ONE}"),
    st.integers(1, 10_000).map(lambda length: "é" * length),
)


@given(texts)
@example("a\n")
@example("-" * 50 + "a" * 50)
@example("a" * 45 + "-" * 10 + "b" * 20)
def test_every_text_has_a_value_that_a_label_may_have(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63
    assert VALID.fullmatch(value)


@given(texts)
def test_what_is_valid_stays_as_it_is_and_nothing_else_does(text: str) -> None:
    assert (label_value(text) == text) == (VALID.fullmatch(text) is not None)


@given(texts, texts)
@example("Team Blue", "Team-Blue")
@example("Team Blue", "Team/Blue")
@example("a" * 63, "a" * 64)
@example("a" * 64, "a" * 65)
@example("日本", "中国")
def test_two_texts_never_read_the_same(one: str, other: str) -> None:
    assume(one != other)
    assert label_value(one) != label_value(other)


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("Team Blue", "Team-Blue-"),
        ("alice@loblaw.digital", "alice-loblaw-digital-"),
        ("  4711  ", "4711-"),
        ("x" * 100, "x" * 46 + "-"),
        ("(" + "x" * 100, "x" * 46 + "-"),
        ("x" * 45 + " y", "x" * 45 + "-"),
        ("X & Y", "X-Y-"),
        ("=1+1", "1-1-"),
        ("日本", ""),
    ],
)
def test_people_can_read_what_can_be_read(text: str, readable: str) -> None:
    value = label_value(text)
    assert re.fullmatch(re.escape(readable) + "[a-z2-7]{16}", value)
    assert label_value(text) == value


def test_the_labels_are_the_fields_that_say_something() -> None:
    labels = build_cost_labels(CHARGE, NAMES)
    assert list(labels) == [
        "tenancy.loblaw.digital/cost-center",
        "tenancy.loblaw.digital/owner",
        "tenancy.loblaw.digital/team",
        "tenancy.loblaw.digital/environment",
    ]
    assert labels["tenancy.loblaw.digital/cost-center"] == "4711"
    assert build_cost_labels(Charge(), NAMES) == {}
    assert list(build_cost_labels(Charge(team="a"), NAMES)) == ["tenancy.loblaw.digital/team"]


def test_another_instance_has_labels_of_its_own() -> None:
    assert not {*cost_label_keys(NAMES)} & {*cost_label_keys(Names("example.com"))}


def test_the_namespace_has_them_and_no_label_of_the_tenants_choice() -> None:
    conventions = Conventions()
    billing = Billing("4711", labels={"argocd.argoproj.io/instance": "theirs", "app": "x"})
    made = namespace_object(
        LNamespace(Metadata("team-a", "u"), Spec(billing=billing)), NEW, conventions
    )
    assert made.object.metadata.labels == conventions.labels("team-a") | {
        "tenancy.loblaw.digital/cost-center": "4711"
    }


@given(lnamespaces())
def test_they_are_among_those_that_only_the_controller_writes(lns: LNamespace) -> None:
    """So that somebody else's value is put right, and one that is not wanted is taken away."""
    conventions = Conventions()
    labels = namespace_object(lns, NEW, conventions).object.metadata.labels
    managed_metadata = conventions.managed_metadata
    assert set(cost_label_keys(conventions.names)) < set(managed_metadata.labels)
    assert set(build_cost_labels(lns.spec.billing, conventions.names).items()) <= set(
        labels.items()
    )
    assert not {*labels} & {*conventions.labels(lns.name)} & {*cost_label_keys(conventions.names)}
