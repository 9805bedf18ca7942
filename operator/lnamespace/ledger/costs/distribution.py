"""Distribute the shared cost, which is the cluster's own, among the cost centres. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple

from lnamespace.ledger.costs.allocation import EXACT, PAYER, SHARED, Key, Totals, divide_amount

RULES = ("none", "proportional", "even")
"""``none`` leaves shared cost a row of its own; ``proportional`` and ``even`` distribute it."""


class RowCost(NamedTuple):
    """The cost of a row: its own, and its part of the shared cost."""

    own: Decimal
    shared: Decimal

    @property
    def cost(self) -> Decimal:
        """Return the sum of both."""
        return EXACT.add(self.own, self.shared)


def distribute(totals: Totals, rule: str) -> dict[Key, RowCost]:
    """Charge the shared rows of each currency to its cost centres, by one of :data:`RULES`.

    The part of a cost centre does not depend on how the report is broken down: the shared cost is
    divided among the cost centres first, then the part of each among its rows, in proportion to
    their own cost. In a currency in which nobody pays, shared cost stays a row of its own.
    """
    charges = {key: RowCost(cost, Decimal(0)) for key, cost in totals.items()}
    if rule != "none":
        with localcontext(EXACT):
            for currency in sorted({key.currency for key in totals}):
                if charged := _of_currency(totals, currency, rule):
                    rest = {k: v for k, v in charges.items() if k[:2] != (currency, SHARED)}
                    charges = rest | charged
    return charges


def _of_currency(totals: Totals, currency: str, rule: str) -> dict[Key, RowCost]:
    rows: dict[str, dict[Key, Decimal]] = defaultdict(dict)
    for key in sorted(totals):
        if key.currency == currency and key.kind == PAYER:
            rows[key.cost_center][key] = totals[key]
    if not rows:
        return {}
    shared = sum((v for k, v in totals.items() if k[:2] == (currency, SHARED)), Decimal(0))
    own = [sum(of.values(), Decimal(0)) for of in rows.values()]
    weights = _weights(own) if rule == "proportional" else [1] * len(own)
    found: dict[Key, RowCost] = {}
    for part, of in zip(divide_amount(shared, weights), rows.values(), strict=True):
        found |= _of_rows(of, part)
    return found


def _of_rows(rows: Mapping[Key, Decimal], part: Decimal) -> dict[Key, RowCost]:
    parts = divide_amount(part, _weights(list(rows.values())))
    return {key: RowCost(own, one) for (key, own), one in zip(rows.items(), parts, strict=True)}


def _weights(costs: Sequence[Decimal]) -> list[int]:
    """Return costs as whole numbers; a credit weighs 0, and if nothing weighs, all weigh 1."""
    lowest = min(0, *(int(cost.as_tuple().exponent) for cost in costs))
    weights = [int(max(cost, Decimal(0)).scaleb(-lowest)) for cost in costs]
    return weights if any(weights) else [1] * len(costs)
