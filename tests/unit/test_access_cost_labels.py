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
from lnamespace.model.billing import Billing, Charge
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec
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
def test_every_text_becomes_a_valid_label_value(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63
    assert VALID.fullmatch(value)


@given(texts)
def test_only_valid_label_values_stay_unchanged(text: str) -> None:
    assert (label_value(text) == text) == (VALID.fullmatch(text) is not None)


@given(texts, texts)
@example("Team Blue", "Team-Blue")
@example("Team Blue", "Team/Blue")
@example("a" * 63, "a" * 64)
@example("a" * 64, "a" * 65)
@example("日本", "中国")
def test_different_texts_have_different_label_values(one: str, other: str) -> None:
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
def test_an_invalid_text_keeps_its_readable_part_before_a_hash(text: str, readable: str) -> None:
    value = label_value(text)
    assert re.fullmatch(re.escape(readable) + "[a-z2-7]{16}", value)
    assert label_value(text) == value


def test_only_charge_fields_that_are_set_become_labels() -> None:
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


def test_two_instances_share_no_cost_label_key() -> None:
    assert not {*cost_label_keys(NAMES)} & {*cost_label_keys(Names("example.com"))}


def test_the_namespace_gets_the_cost_labels_and_no_billing_labels() -> None:
    conventions = Conventions()
    billing = Billing("4711", labels={"argocd.argoproj.io/instance": "theirs", "app": "x"})
    made = namespace_object(
        LNamespace(Metadata("team-a", "u"), Spec(billing=billing)), NEW, conventions
    )
    assert made.object.metadata.labels == conventions.labels("team-a") | {
        "tenancy.loblaw.digital/cost-center": "4711"
    }


@given(lnamespaces())
def test_cost_labels_are_managed_by_the_controller_alone(lns: LNamespace) -> None:
    """A value set by others is restored, and a label that is not desired is removed."""
    conventions = Conventions()
    labels = namespace_object(lns, NEW, conventions).object.metadata.labels
    managed_metadata = conventions.managed_metadata
    assert set(cost_label_keys(conventions.names)) < set(managed_metadata.labels)
    assert set(build_cost_labels(lns.spec.billing, conventions.names).items()) <= set(
        labels.items()
    )
    assert not {*labels} & {*conventions.labels(lns.name)} & {*cost_label_keys(conventions.names)}
