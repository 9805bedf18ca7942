"""Build the labels of a Namespace that say who pays, for OpenCost, Kubecost and the like.

They are a copy of ``spec.billing``; the ledger is authoritative. Labels of the LNamespace itself
are not copied: a tool that put one there would take the Namespace for its own.
"""

import base64
import hashlib
import re

from lnamespace.model.billing import BILLING_TEXTS, Charge
from lnamespace.model.names import Names

_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_READABLE_MAX = 46
_HASH_LENGTH = 16


def cost_label_keys(names: Names) -> tuple[str, ...]:
    """Return the keys of the labels, which only the controller may write."""
    return tuple(f"{names.group}/{name.replace('_', '-')}" for name in BILLING_TEXTS.values())


def build_cost_labels(charge: Charge, names: Names) -> dict[str, str]:
    """Return the labels; an empty field has none."""
    values = (getattr(charge, name) for name in BILLING_TEXTS.values())
    pairs = zip(cost_label_keys(names), values, strict=True)
    return {key: label_value(value) for key, value in pairs if value}


def label_value(text: str) -> str:
    """Return the text as a label's value, shortened and with a hash if it cannot be one as it is.

    The hash (80 bits) tells apart texts that differ only in what a label cannot hold.
    """
    if _VALUE.fullmatch(text):
        return text
    readable = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:_READABLE_MAX].strip("-")
    digest = base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"{readable}-{digest[:_HASH_LENGTH].lower()}".lstrip("-")
