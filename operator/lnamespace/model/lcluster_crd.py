"""Generate the CustomResourceDefinition of LClusters from their types."""

from lnamespace.model.crd import (
    COUNT_COLUMNS,
    PAYER_COLUMNS,
    READY_COLUMNS,
    Column,
    build_definition,
    build_version,
    common_spec_schema,
    root_schema,
    status_schema,
)
from lnamespace.model.lcluster import (
    KIND,
    NAME_PATTERN,
    PLURAL,
    RESERVED_TENANTS,
    SHORT_NAME,
    VERSION,
    LClusterSpec,
    LClusterStatus,
)
from lnamespace.model.names import Names
from lnamespace.model.schemas import Schema, validation_rule

_COLUMNS: tuple[Column, ...] = (
    *READY_COLUMNS,
    ("Namespaces", "integer", ".status.namespaces", 0),
    *PAYER_COLUMNS,
    ("Suspend", "string", ".spec.suspend", 1),
    ("Address", "string", ".status.address", 1),
    *COUNT_COLUMNS,
)


def build_lcluster_crd(names: Names) -> Schema:
    """Return the CustomResourceDefinition of LClusters for one instance."""
    description = "A cluster of a tenant's own, with who may do what in it and who pays for it."
    status = status_schema(LClusterStatus)
    condition = status["properties"]["conditions"]["items"]["properties"]["type"]
    condition["description"] = "Ready, NamespacesReady, AccessReady or BillingRecorded."
    schema = root_schema(description, common_spec_schema(LClusterSpec, KIND), status, _name_rules())
    version = build_version(VERSION, schema, _COLUMNS) | {"storage": True}
    found = build_definition(names, KIND, PLURAL, [version])
    found["spec"]["names"]["shortNames"] = [SHORT_NAME]
    return found


def _name_rules() -> list[Schema]:
    reserved = ", ".join(f"'{name}'" for name in RESERVED_TENANTS)
    return [
        validation_rule(
            f"self.metadata.name.matches('^{NAME_PATTERN}$')",
            "metadata.name must be 2 to 20 lower case letters and digits, beginning with a "
            "letter: names of the tenant's objects begin with it and a dash",
            ".metadata",
        ),
        validation_rule(
            f"!(self.metadata.name in [{reserved}])",
            "metadata.name is reserved: names that Kubernetes or platforms give begin with it and "
            "a dash; choose another",
            ".metadata",
        ),
    ]
