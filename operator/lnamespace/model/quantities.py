"""Quantities of Kubernetes as whole numbers, so that sums of them are exact.

An amount of ``cpu`` is counted in thousandths, every other in ones, as quotas do.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

PATTERN = r"^[0-9]{1,15}([.][0-9]{1,9})?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
"""What a total may be: no sign, no exponent, nothing smaller than a thousandth."""

_QUANTITY = re.compile(
    r"([0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"
    r"(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?"
)
"""Tenants write quantities into Events: 10,000 digits took seconds where each could be the last
one of two groups, and a million overflowed."""
_SUFFIXES = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
_SUFFIXES |= {letter: Decimal(1000) ** n for n, letter in enumerate("kMGTPE", 1)}
_SUFFIXES |= {f"{letter}i": Decimal(1024) ** n for n, letter in enumerate("KMGTPE", 1)}

Amounts = Mapping[str, int]
"""How much of each resource, by its name in a ResourceQuota."""


@dataclass(frozen=True)
class ShownTotals:
    """What all namespaces of an LCluster may have together, and what they use, as quantities."""

    hard: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)


def parse_quantity(text: str) -> Decimal:
    """Return the number that a quantity is.

    Raises
    ------
    ValueError
        The text is not a quantity.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is no quantity')
    number, suffix, exponent = found.groups()
    value = Decimal(number) * _SUFFIXES.get(suffix or "", Decimal(1))
    return value * Decimal(10) ** int(exponent or 0)


def parse_amount(resource: str, text: str, *, up: bool = True) -> int:
    """Return a quantity as an amount of a resource; a part of one is rounded ``up`` or down.

    Raises
    ------
    ValueError
        The text is not a quantity.
    """
    scaled = parse_quantity(text) * (1000 if _in_thousandths(resource) else 1)
    return int(scaled.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))


def format_amount(resource: str, amount: int) -> str:
    """Return an amount of a resource as a quantity, in the largest unit that is exact."""
    if _in_thousandths(resource):
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    for power, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if amount and amount % (1 << power) == 0 and _in_bytes(resource):
            return f"{amount >> power}{unit}"
    return str(amount)


def parse_amounts(quantities: Mapping[str, str], *, up: bool = True) -> dict[str, int]:
    """Return quantities by resource as amounts; leave out those that cannot be parsed."""
    found = {}
    for resource, text in quantities.items():
        try:
            found[resource] = parse_amount(resource, text, up=up)
        except ValueError:
            continue
    return found


def format_amounts(amounts: Amounts) -> dict[str, str]:
    """Return amounts by resource as quantities, in the order of their names."""
    return {each: format_amount(each, amounts[each]) for each in sorted(amounts)}


def _in_thousandths(resource: str) -> bool:
    return resource in {"cpu", "requests.cpu", "limits.cpu"}


def _in_bytes(resource: str) -> bool:
    return resource.endswith(("memory", "storage")) or "hugepages-" in resource
