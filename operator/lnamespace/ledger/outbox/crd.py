"""The CustomResourceDefinition of the outbox, generated from :class:`BillingRecord`."""

from typing import Any

from lnamespace.ledger.outbox.record import KIND, PLURAL, VERSION, BillingRecord
from lnamespace.model.crd import build_definition, printer_columns
from lnamespace.model.names import Names
from lnamespace.model.schemas import structural_schema, validation_rule

_COLUMNS = (
    ("Namespace", "string", ".spec.namespace", 0),
    ("Operation", "string", ".spec.operation", 0),
    ("Cost Center", "string", ".spec.costCenter", 0),
    ("Valid From", "string", ".spec.validFrom", 0),
    ("Changed By", "string", ".spec.changedBy", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)


def billingrecords_crd(names: Names) -> dict[str, Any]:
    """Return the CustomResourceDefinition for an instance."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": printer_columns(_COLUMNS),
        "schema": {"openAPIV3Schema": _root_schema()},
    }
    return build_definition(names, KIND, PLURAL, [version])


def _root_schema() -> dict[str, Any]:
    spec = structural_schema(BillingRecord)
    spec["x-kubernetes-validations"] = [
        validation_rule(
            "self == oldSelf", "what happened does not change: a BillingRecord cannot be edited"
        ),
    ]
    return {
        "type": "object",
        "description": "A billing event on its way to the ledger. It is deleted when it is there.",
        "required": ["spec"],
        "x-kubernetes-validations": [
            validation_rule(
                "self.metadata.name == self.spec.eventId.lowerAscii().replace('/', '.')",
                "a BillingRecord is named by its event",
                ".metadata",
            )
        ],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
        },
    }
