"""The schema of version ``v1alpha1``: that of ``v1beta1``, flattened.

It is made from the schema of ``v1beta1``, so that rules, list types and descriptions of both stay
equal. :mod:`lnamespace.model.conversion` converts objects between the two.
"""

from lnamespace.model.billing import BILLING_LABELS_MAX, BILLING_TEXTS
from lnamespace.model.lnamespace import MEMBER_LISTS
from lnamespace.model.schemas import Schema, validation_rule

VERSION = "v1alpha1"
DEPRECATION = (
    "LNamespace v1alpha1 is deprecated; use v1beta1, where an entry can end by itself "
    "(expiresAt) and the keys of the bill are fields (billing.costCenter, billing.labels)"
)


def spec_schema(newer: Schema) -> Schema:
    """Return the schema of the spec, made from that of ``v1beta1``."""
    properties = newer["properties"]
    lists = {name: _without_end(properties[name]) for name in MEMBER_LISTS}
    billing = _billing_schema(properties["billing"]["properties"]["labels"])
    return newer | {"properties": properties | lists | {"billing": billing}}


def _without_end(newer: Schema) -> Schema:
    member = newer["items"]
    known = {key: value for key, value in member["properties"].items() if key != "expiresAt"}
    return newer | {"items": member | {"properties": known}}


def _billing_schema(labels: Schema) -> Schema:
    fields = ", ".join(f"'{field}'" for field in BILLING_TEXTS)
    return {
        "type": "object",
        "description": "Who pays for the namespace: costCenter, owner, team and environment, as "
        "in v1beta1. Every other key is one of its billing.labels.",
        "maxProperties": BILLING_LABELS_MAX + len(BILLING_TEXTS),
        "additionalProperties": labels["additionalProperties"],
        "x-kubernetes-validations": [
            *labels["x-kubernetes-validations"],
            validation_rule(
                f"self.filter(key, !(key in [{fields}])).size() <= {BILLING_LABELS_MAX}",
                f"at most {BILLING_LABELS_MAX} keys besides {', '.join(BILLING_TEXTS)}",
            ),
        ],
    }
