"""The sum of what is charged is the bill, whoever pays and however it is broken down."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.ledger.costs.allocation import (
    EXACT,
    FOREVER,
    LINE_PARTS,
    Charging,
    Key,
    Line,
    PaidInterval,
    PaidIntervals,
    Payer,
    Tally,
    Totals,
    divide_amount,
    microseconds,
)
from lnamespace.ledger.costs.distribution import RULES, RowCost, distribute
from lnamespace.ledger.costs.intervals import by_namespace
from lnamespace.ledger.costs.lclusters import BilledLCluster, assign_lclusters

HERE = ("p", "l", "main")
HOUR = 3_600_000_000
START = microseconds(datetime(2026, 11, 1, tzinfo=UTC))

amounts = st.decimals(
    allow_nan=False, allow_infinity=False, places=9, min_value=-(10**6), max_value=10**6
)
names = st.sampled_from(["a", "b", "stranger", "kube-system", ""])
payers = st.builds(Payer, st.sampled_from(["1", "2", "SHARED", ""]), team=st.sampled_from("xy"))


@st.composite
def histories(draw: st.DrawFn) -> list[PaidInterval]:
    moments = draw(st.lists(st.integers(0, 100 * HOUR), unique=True, max_size=6).map(sorted))
    ends = [*moments[1:], FOREVER][: len(moments)]
    spans = zip(moments, ends, strict=True)
    return [
        PaidInterval(START + a, START + b, draw(payers)) for a, b in spans if draw(st.booleans())
    ]


@st.composite
def bills(draw: st.DrawFn) -> list[Line]:
    line = st.builds(
        lambda name, start, length, cost, currency: Line(
            HERE, name, START + start, START + start + length, cost, currency
        ),
        names,
        st.integers(0, 90 * HOUR),
        st.one_of(st.just(HOUR), st.integers(1, 60 * HOUR)),
        amounts,
        st.sampled_from(["CAD", "USD"]),
    )
    return draw(st.lists(line, max_size=12))


def line(cost: str, name: str = "a", start: float = 0, hours: float = 1) -> Line:
    begins = START + int(start * HOUR)
    return Line(HERE, name, begins, begins + int(hours * HOUR), Decimal(cost), "CAD")


def span(start: float, end: float, cost_center: str) -> PaidInterval:
    return PaidInterval(START + int(start * HOUR), START + int(end * HOUR), Payer(cost_center))


def charge(
    lines: Sequence[Line], intervals: PaidIntervals, charging: Charging | None = None
) -> Totals:
    tally = Tally(charging or Charging(), intervals)
    with localcontext(EXACT):
        for each in lines:
            tally.add(each)
        return tally.totals()


def totals(
    lines: Sequence[Line], spans: Sequence[PaidInterval], by: tuple[str, ...] = ()
) -> Totals:
    return charge(lines, {(HERE, "a"): spans}, Charging(by))


def shown(found: Totals) -> dict[str, str]:
    return {key.cost_center: str(cost) for key, cost in found.items()}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], {"UNALLOCATED": "12.40"}),
        ([span(-9, 9, "1")], {"1": "12.40"}),
        # The hour in which it was made, and deleted: it was not there for the rest.
        ([span(0.25, 9, "1")], {"1": "12.40"}),
        ([span(-9, 0.25, "1")], {"1": "12.40"}),
        ([span(-9, 0, "1")], {"UNALLOCATED": "12.40"}),
        ([span(1, 9, "1")], {"UNALLOCATED": "12.40"}),
        # It moved: each pays for its time.
        ([span(-9, 0.25, "1"), span(0.25, 9, "2")], {"1": "3.100000000", "2": "9.300000000"}),
        ([span(-9, 0.5, "1"), span(0.5, 0.75, "2"), span(0.75, 9, "1")],
         {"1": "9.300000000", "2": "3.100000000"}),
        ([span(0, 0.25, "1"), span(0.5, 0.75, "2")], {"1": "6.200000000", "2": "6.200000000"}),
        ([span(0, 0.5, ""), span(0.5, 1, "2")],
         {"UNALLOCATED": "6.200000000", "2": "6.200000000"}),
    ],
)  # fmt: skip
def test_a_line_is_charged_to_the_payers_within_its_window(
    spans: list[PaidInterval], expected: dict[str, str]
) -> None:
    assert shown(totals([line("12.40")], spans)) == expected


def test_the_cost_of_a_day_is_divided_among_all_its_payers() -> None:
    spans = [span(-9, 18, "1"), span(18, 99, "2")]
    assert shown(totals([line("10", hours=24)], spans)) == {"1": "7.500000000", "2": "2.500000000"}


def test_amounts_are_summed_as_exact_decimals() -> None:
    """491.26 was shown as 491.2599999999999."""
    found = totals([line("0.1")] * 3 + [line("490.96")], [span(-9, 9, "1")])
    assert shown(found) == {"1": "491.26"}


def test_a_cost_center_named_shared_has_its_own_row() -> None:
    lines = [line("1"), line("2", "kube-system"), line("4", "__idle__"), line("8", "")]
    found = totals(lines, [span(-9, 9, "SHARED")])
    assert {key[1:3]: str(cost) for key, cost in found.items()} == {
        ("payer", "SHARED"): "1",
        ("shared", "SHARED"): "14",
    }


def test_additional_namespaces_can_be_configured_as_shared() -> None:
    charging = Charging(shared_namespaces=("ingress-*",))
    found = charge([line("1", "ingress-eu"), line("2", "a")], {}, charging)
    assert shown(found) == {"SHARED": "1", "UNALLOCATED": "2"}


def test_a_line_longer_than_a_day_is_split_into_days() -> None:
    found = totals([line("3", start=12, hours=36)], [span(-9, 99, "1")], ("day",))
    assert {key.by: str(cost) for key, cost in found.items()} == {
        ("2026-11-01",): "1.000000000",
        ("2026-11-02",): "2.000000000",
    }


@given(amounts, st.lists(st.integers(0, 10**13), min_size=1, max_size=9).filter(any))
def test_divided_parts_add_up_to_the_amount_and_are_proportional(
    amount: Decimal, weights: list[int]
) -> None:
    parts = divide_amount(amount, weights)
    assert sum(parts) == amount
    for part, weight in zip(parts, weights, strict=True):
        fair = amount * weight / sum(weights)
        assert abs(part - fair) <= Decimal("0.000000002")


@given(
    bills(),
    histories(),
    histories(),
    st.sets(st.sampled_from(sorted(LINE_PARTS))).map(tuple),
    st.sampled_from(RULES),
)
def test_the_sum_of_all_charges_equals_the_bill(
    lines: list[Line],
    first: list[PaidInterval],
    second: list[PaidInterval],
    by: tuple[str, ...],
    rule: str,
) -> None:
    spans = {(HERE, "a"): first, (HERE, "b"): second}
    found = distribute(charge(lines, spans, Charging(by)), rule)
    for currency in ("CAD", "USD"):
        bill = sum((one.cost for one in lines if one.currency == currency), Decimal(0))
        assert sum(one.cost for key, one in found.items() if key.currency == currency) == bill
    plain = distribute(charge(lines, spans), rule)
    assert per_cost_center(found) == per_cost_center(plain)


def per_cost_center(found: dict[Key, RowCost]) -> dict[tuple[str, str, str], Decimal]:
    """Return what a report comes to without its parts: the same, by whatever it is broken down."""
    sums: dict[tuple[str, str, str], Decimal] = {}
    for key, one in found.items():
        sums[key[:3]] = sums.get(key[:3], Decimal(0)) + one.cost
    return sums


@given(bills(), histories(), st.randoms())
def test_charges_do_not_depend_on_how_a_bill_is_cut_into_lines(
    lines: list[Line], spans: list[PaidInterval], chance: Random
) -> None:
    halves = [one._replace(cost=one.cost / 2) for one in lines for _ in range(2)]
    chance.shuffle(halves)
    assert totals(halves, spans) == totals(lines, spans)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("none", {"1": "1", "2": "3", "SHARED": "10", "UNALLOCATED": "5"}),
        ("proportional", {"1": "3.500000000", "2": "10.500000000", "UNALLOCATED": "5"}),
        ("even", {"1": "6.000000000", "2": "8.000000000", "UNALLOCATED": "5"}),
    ],
)
def test_shared_cost_is_distributed_among_payers(rule: str, expected: dict[str, str]) -> None:
    spans = {(HERE, "a"): [span(-9, 9, "1")], (HERE, "b"): [span(-9, 9, "2")]}
    lines = [line("1"), line("3", "b"), line("10", "kube-system"), line("5", "stranger")]
    found = distribute(charge(lines, spans), rule)
    assert {key.cost_center: str(one.cost) for key, one in found.items()} == expected


def test_shared_cost_without_payers_in_its_currency_remains_a_row() -> None:
    found = distribute(charge([line("10", "kube-system")], {}), "even")
    assert [(key.kind, str(one.cost)) for key, one in found.items()] == [("shared", "10")]


def test_a_credit_has_no_weight_in_the_distribution_of_shared_cost() -> None:
    spans = {(HERE, "a"): [span(-9, 9, "1")], (HERE, "b"): [span(-9, 9, "2")]}
    lines = [line("-4"), line("3", "b"), line("10", "kube-system")]
    found = distribute(charge(lines, spans), "proportional")
    costs = {key.cost_center: one.cost for key, one in found.items()}
    assert costs == {"1": -4, "2": 13}


def test_spans_of_the_ledger_are_in_order_and_do_not_overlap() -> None:
    """Two clusters of one name: no bill can tell them apart, and nothing is counted twice."""
    days = [datetime(2026, 11, day, tzinfo=UTC) for day in (1, 5, 3)]
    rows = [
        {"project_id": None, "cluster_location": "", "cluster_name": "main", "namespace": "a",
         "valid_from": day, "valid_to": day + timedelta(days=4), "cost_center": str(number),
         "owner": None, "team": "", "environment": ""}
        for number, day in enumerate(days)
    ]  # fmt: skip
    (found,) = by_namespace(rows).values()
    assert [one.payer.cost_center for one in found] == ["0", "2", "1"]
    assert all(one.end <= following.start for one, following in pairwise(found))


ACME = BilledLCluster("acme", "u-1", START + 10 * HOUR)


def test_a_span_belongs_to_the_lcluster_of_its_namespace_prefix_while_that_exists() -> None:
    spans = {
        (HERE, "acme-prod"): [span(1, 2, "1"), span(10, 11, "1"), span(11, 12, "2")],
        (HERE, "acme"): [span(11, 12, "3")],
        (HERE, "acmex-prod"): [span(11, 12, "4")],
        (("p", "l", "other"), "acme-prod"): [span(11, 12, "5")],
    }
    found = assign_lclusters(spans, HERE, [ACME])
    assert [each.payer.lcluster_uid for each in found[HERE, "acme-prod"]] == ["", "u-1", "u-1"]
    others = [spans_ for key, spans_ in found.items() if key != (HERE, "acme-prod")]
    assert {each.payer.lcluster for spans_ in others for each in spans_} == {""}
    plain = {
        key: [each._replace(payer=Payer(each.payer.cost_center)) for each in spans_]
        for key, spans_ in found.items()
    }
    assert plain == spans


@pytest.mark.parametrize(
    ("start", "end", "has"),
    [
        (9.95, 12, True),  # The controller's clock is a little behind.
        (9.95, 10, False),  # It had ended by then.
        (9, 12, False),
        (10, 10.01, True),
    ],
)
def test_a_span_that_starts_shortly_before_its_lcluster_belongs_to_the_lcluster(
    start: float, end: float, has: bool
) -> None:
    assert ACME.has(span(start, end, "1")) is has


def test_a_report_by_lcluster_has_a_sum_per_payer() -> None:
    spans = assign_lclusters(
        {(HERE, "acme-prod"): [span(10, 11, "1"), span(11, 14, "2")]}, HERE, [ACME]
    )
    line = Line(HERE, "acme-prod", START + 10 * HOUR, START + 14 * HOUR, Decimal(8), "CAD")
    other = line._replace(namespace="elsewhere")
    found = charge([line, other], spans, Charging(("lcluster",)))
    assert found == {
        Key("CAD", "payer", "1", ("acme", "u-1")): Decimal(2),
        Key("CAD", "payer", "2", ("acme", "u-1")): Decimal(6),
        Key("CAD", "unallocated", "UNALLOCATED", ("", "")): Decimal(8),
    }
