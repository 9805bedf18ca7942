"""Who pays, as labels of the Namespace: for tools that sum up costs by label (OpenCost, Kubecost).

A copy for convenience; the ledger is what counts. Taken from the spec alone: labels that other
tools put on an LNamespace are never carried over, for they would take the Namespace for their own.
"""

import base64
import hashlib
import re

from lnamespace.model.lnamespace import Charge
from lnamespace.model.names import Names

COST_LABELS = ("cost-center", "owner", "team", "environment")

_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_READABLE_MAX = 46
_HASH_LENGTH = 16


def cost_label_keys(names: Names) -> tuple[str, ...]:
    """The labels' keys, all of which only the controller writes."""
    return tuple(f"{names.group}/{key}" for key in COST_LABELS)


def build_cost_labels(charge: Charge, names: Names) -> dict[str, str]:
    """The labels; what is empty has none."""
    values = (charge.cost_center, charge.owner, charge.team, charge.environment)
    pairs = zip(cost_label_keys(names), values, strict=True)
    return {key: label_value(value) for key, value in pairs if value}


def label_value(text: str) -> str:
    """The text where it can be a label's value, else what can be read of it and a hash of it all.

    The hash (80 bits) keeps two texts apart that read the same without what a label cannot hold.
    """
    if _VALUE.fullmatch(text):
        return text
    readable = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:_READABLE_MAX].strip("-")
    digest = base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"{readable}-{digest[:_HASH_LENGTH].lower()}".lstrip("-")
