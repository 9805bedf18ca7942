"""The CustomResourceDefinition, generated from the types of this package.

``msgspec`` turns the types into JSON Schema; what is left to do here is what Kubernetes asks of
a *structural* schema (no references, a type everywhere), the list types that make server-side
apply merge (structured-merge-diff), and the rules in CEL for all that needs no caller.
"""

from typing import Any, cast

import msgspec
import yaml

from lnamespace.model import rules
from lnamespace.model.lnamespace import KIND, LABEL_KEY_MAX_LENGTH, PLURAL, VERSION, Spec, Status
from lnamespace.model.names import Names

Schema = dict[str, Any]

_TIMESTAMP = r"^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"
"""Narrower than the API server's date-time, which takes offsets that no clock has."""

_KEPT = frozenset(
    {"type", "description", "enum", "format", "items", "properties", "required"}
    | {"additionalProperties", "maxItems", "maxLength", "minLength", "maxProperties"}
)
_COLUMNS = (
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', 0),
    ("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', 1),
    ("Requester", "string", ".spec.requester", 0),
    ("Cost Center", "string", ".spec.billing.costCenter", 0),
    ("Users", "integer", ".status.counts.users", 1),
    ("Managers", "integer", ".status.counts.managers", 1),
    ("Sudoers", "integer", ".status.counts.sudoers", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)


def crd(names: Names) -> Schema:
    """The CustomResourceDefinition for the instance that ``names`` is of."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{names.group}"},
        "spec": {
            "group": names.group,
            "scope": "Cluster",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["lns"],
            },
            "versions": [_version()],
        },
    }


def as_yaml(manifest: Schema) -> str:
    """A manifest as a file that people read: in the order given, nothing abbreviated."""
    text: str = yaml.dump(manifest, Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True)
    return text


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class's signature
        return True


def _version() -> Schema:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": type_, "jsonPath": path, "priority": priority}
            for name, type_, path, priority in _COLUMNS
        ],
        "schema": {"openAPIV3Schema": _root_schema()},
    }


def _root_schema() -> Schema:
    return {
        "type": "object",
        "description": "A tenant's namespace, with who may do what in it and who pays for it.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec_schema(),
            "status": _status_schema(),
        },
        "x-kubernetes-validations": _name_rules(),
    }


def _spec_schema() -> Schema:
    schema = structural(Spec)
    properties = schema["properties"]
    for key in ("users", "managers", "sudoers"):
        _as_member_list(properties[key])
    properties["sudoers"]["x-kubernetes-validations"] = [
        rule("self.all(m, m.kind != 'Group')", "a Group cannot be a sudoer: list its people")
    ]
    properties["deletionPolicy"]["default"] = "Delete"
    properties["billing"]["properties"]["labels"]["x-kubernetes-validations"] = [
        rule(
            f"self.all(key, key.size() <= {LABEL_KEY_MAX_LENGTH})",
            f"keys may have at most {LABEL_KEY_MAX_LENGTH} characters",
        )
    ]
    schema["default"] = {}
    schema["x-kubernetes-validations"] = [
        rule(
            "has(self.requester) == has(oldSelf.requester) && "
            "(!has(self.requester) || self.requester == oldSelf.requester)",
            "requester is set when the LNamespace is created and never changes",
        )
    ]
    return schema


def _as_member_list(schema: Schema) -> None:
    """Make server-side apply merge the list by person, and refuse the same person twice."""
    schema["x-kubernetes-list-type"] = "map"
    schema["x-kubernetes-list-map-keys"] = ["kind", "name", "namespace"]
    member = schema["items"]
    member["properties"]["kind"]["default"] = "User"
    member["properties"]["namespace"]["default"] = ""
    member["properties"]["expiresAt"]["pattern"] = _TIMESTAMP
    member["x-kubernetes-validations"] = _member_rules()


def _status_schema() -> Schema:
    schema = structural(Status)
    conditions = schema["properties"]["conditions"]
    conditions["x-kubernetes-list-type"] = "map"
    conditions["x-kubernetes-list-map-keys"] = ["type"]
    return schema


def _name_rules() -> list[Schema]:
    exact = [p for p in rules.RESERVED_NAMES if not p.endswith("*")]
    prefixes = [p.removesuffix("*") for p in rules.RESERVED_NAMES if p.endswith("*")]
    free = [f"self.metadata.name != '{name}'" for name in exact]
    free += [f"!self.metadata.name.startsWith('{prefix}')" for prefix in prefixes]
    return [
        rule(
            f"self.metadata.name.size() <= {rules.DNS_LABEL_MAX_LENGTH} && "
            f"self.metadata.name.matches('^{rules.DNS_LABEL}$')",
            "metadata.name must be a DNS label of at most 63 characters: lower case letters, "
            "digits and '-', beginning and ending with a letter or digit",
            ".metadata",
        ),
        rule(" && ".join(free), "metadata.name is reserved", ".metadata"),
    ]


def _member_rules() -> list[Schema]:
    """The rules of :mod:`lnamespace.model.rules`, in CEL."""
    account = rules.SERVICE_ACCOUNT_USERNAME
    return [
        rule(
            f"self.kind != 'ServiceAccount' || (self.__namespace__.matches('^{rules.DNS_LABEL}$') "
            f"&& self.name.size() <= {rules.DNS_SUBDOMAIN_MAX_LENGTH} "
            f"&& self.name.matches('^{rules.DNS_SUBDOMAIN}$'))",
            "a ServiceAccount needs a namespace and a name, both as Kubernetes spells them",
        ),
        rule(
            "self.kind == 'ServiceAccount' || self.__namespace__ == ''",
            "only a ServiceAccount has a namespace",
        ),
        rule(
            r"!self.name.matches('[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}]')",
            "name must have no control or invisible characters",
        ),
        rule("self.name == self.name.trim()", "name must not start or end with white space"),
        rule("self.name != '*'", "name must be one name, not a pattern"),
        rule(
            "!self.name.startsWith('system:') || "
            f"(self.kind == 'User' && self.name.matches('^{account}$') && "
            f"self.name.split(':')[2].size() <= {rules.DNS_LABEL_MAX_LENGTH} && "
            f"self.name.split(':')[3].size() <= {rules.DNS_SUBDOMAIN_MAX_LENGTH})",
            "system: names are the cluster's own; only ServiceAccounts may be listed",
        ),
    ]


def rule(expression: str, message: str, field_path: str = "") -> Schema:
    """One entry of ``x-kubernetes-validations``; ``field_path`` is what the error points at."""
    entry = {"rule": expression, "message": message}
    return entry | {"fieldPath": field_path} if field_path else entry


def structural(type_: type) -> Schema:
    """The structural schema of a type: what Kubernetes accepts of its JSON Schema."""
    schema, components = msgspec.json.schema_components([type_], ref_template="{name}")
    return _inline(schema[0], components)


def _inline(schema: Schema, components: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        described = {k: v for k, v in schema.items() if k == "description"}
        return _inline(components[schema["$ref"]] | described, components)
    if "allOf" in schema:
        (inner,) = schema["allOf"]
        return _inline(inner | {k: v for k, v in schema.items() if k != "allOf"}, components)
    result = {k: v for k, v in schema.items() if k in _KEPT and v != []}
    if "enum" in schema:
        result["type"] = "string"
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _inline(cast(Schema, schema[key]), components)
    if "properties" in schema:
        properties = cast(Schema, schema["properties"])
        result["properties"] = {k: _inline(v, components) for k, v in properties.items()}
    return result
