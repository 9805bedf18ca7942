"""Generate the CustomResourceDefinition from the types of this package.

To their structural schema (:mod:`~lnamespace.model.schemas`) this module adds the list
types by which server-side apply merges, and validation rules in CEL.
"""

from collections.abc import Iterable

import yaml

from lnamespace.model import rules, v1alpha1
from lnamespace.model.billing import BILLING_TEXT_MAX, BILLING_TEXTS
from lnamespace.model.lnamespace import (
    ENTRIES_MAX,
    KIND,
    LABEL_KEY_MAX_LENGTH,
    MEMBER_LISTS,
    NAME_MAX,
    PLURAL,
    VERSION,
    CommonSpec,
    CommonStatus,
    DeletionPolicy,
    Spec,
    Status,
)
from lnamespace.model.names import Names
from lnamespace.model.schemas import Schema, structural_schema, validation_rule

Column = tuple[str, str, str, int]
"""A column of ``kubectl get``: name, type, path and priority (0: always shown)."""

READY_COLUMNS: tuple[Column, ...] = (
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', 0),
    ("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', 1),
)
PAYER_COLUMNS: tuple[Column, ...] = (
    ("Requester", "string", ".spec.requester", 0),
    ("Cost Center", "string", ".spec.billing.costCenter", 0),
)
COUNT_COLUMNS: tuple[Column, ...] = (
    ("Users", "integer", ".status.counts.users", 1),
    ("Managers", "integer", ".status.counts.managers", 1),
    ("Sudoers", "integer", ".status.counts.sudoers", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)
_COLUMNS = (*READY_COLUMNS, *PAYER_COLUMNS, *COUNT_COLUMNS)
_SERVICE = {
    "namespace": "lnamespace-system",
    "name": "lnamespace-webhook",
    "path": "/convert",
    "port": 443,
}


def build_crd(names: Names) -> Schema:
    """Return the CustomResourceDefinition of LNamespaces for one instance."""
    found = build_definition(names, KIND, PLURAL, [_newer(), _older()])
    found["spec"]["names"]["shortNames"] = ["lns"]
    found["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": _SERVICE},
        },
    }
    return found


def build_definition(names: Names, kind: str, plural: str, versions: list[Schema]) -> Schema:
    """Return the CustomResourceDefinition of a cluster-scoped kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{names.group}"},
        "spec": {
            "group": names.group,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
            },
            "versions": versions,
        },
    }


def printer_columns(columns: Iterable[Column]) -> list[Schema]:
    """Return the columns of ``kubectl get``, as a CustomResourceDefinition has them."""
    return [
        {"name": name, "type": type_, "jsonPath": path, "priority": priority}
        for name, type_, path, priority in columns
    ]


def to_yaml(manifest: Schema) -> str:
    """Return a manifest as YAML in the order given, without anchors and aliases."""
    text: str = yaml.dump(manifest, Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True)
    return text


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class's signature
        return True


def _newer() -> Schema:
    description = "A tenant's namespace, with who may do what in it and who pays for it."
    schema = _root_schema(description, _spec_schema())
    return build_version(VERSION, schema, _COLUMNS) | {"storage": True}


def _older() -> Schema:
    description = (
        "A tenant's namespace, as v1alpha1 has it: nobody's access ends by itself and the bill is "
        "a flat map. Use v1beta1; every object is served in both."
    )
    schema = _root_schema(description, v1alpha1.spec_schema(_spec_schema()))
    return build_version(v1alpha1.VERSION, schema, _COLUMNS) | {
        "deprecated": True,
        "deprecationWarning": v1alpha1.DEPRECATION,
    }


def _root_schema(description: str, spec: Schema) -> Schema:
    return root_schema(description, spec, status_schema(Status), _name_rules())


def _spec_schema() -> Schema:
    return common_spec_schema(Spec, KIND)


def build_version(name: str, schema: Schema, columns: Iterable[Column]) -> Schema:
    """Return one version of a definition, served and not stored, with a status subresource."""
    return {
        "name": name,
        "served": True,
        "storage": False,
        "subresources": {"status": {}},
        "additionalPrinterColumns": printer_columns(columns),
        "schema": {"openAPIV3Schema": schema},
    }


def root_schema(
    description: str, spec: Schema, status: Schema, validations: list[Schema]
) -> Schema:
    """Return the schema of an object with a spec, which is required, and a status."""
    return {
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        "x-kubernetes-validations": validations,
    }


def common_spec_schema(type_: type[CommonSpec], kind: str) -> Schema:
    """Return the schema of the spec of a kind, with the rules that all such kinds have."""
    schema = structural_schema(type_)
    properties = schema["properties"]
    properties["deletionPolicy"]["default"] = DeletionPolicy.DELETE.value
    for key in MEMBER_LISTS:
        _as_member_list(properties[key])
    properties["sudoers"]["x-kubernetes-validations"] = [
        validation_rule("self.all(m, m.kind != 'Group')", rules.GROUP_SUDOER_PROBLEM),
        validation_rule(
            f"self.all(m, !m.__namespace__.startsWith('{rules.SYSTEM_NAMESPACES}') && "
            f"!m.name.startsWith('system:serviceaccount:{rules.SYSTEM_NAMESPACES}'))",
            rules.SYSTEM_SUDOER_PROBLEM,
        ),
    ]
    for key, most in ENTRIES_MAX.items():
        properties[key].setdefault("x-kubernetes-validations", []).append(_at_most(most))
    _as_read_by_people(properties["billing"]["properties"])
    properties["billing"]["properties"]["labels"]["x-kubernetes-validations"] = [
        validation_rule(
            f"self.all(key, key.size() <= {LABEL_KEY_MAX_LENGTH} && !key.matches('\\\\x00'))",
            f"keys may have at most {LABEL_KEY_MAX_LENGTH} characters, and no U+0000",
        )
    ]
    schema["default"] = {}
    schema["x-kubernetes-validations"] = [
        _never_changes("requester", kind),
        _never_changes("countedTo", kind),
    ]
    return schema


def _never_changes(field: str, kind: str) -> Schema:
    return validation_rule(
        f"has(self.{field}) == has(oldSelf.{field}) && "
        f"(!has(self.{field}) || self.{field} == oldSelf.{field})",
        f"{field} is set when the {kind} is created and never changes",
    )


def _as_member_list(schema: Schema) -> None:
    """Make server-side apply merge the list by person, and refuse the same person twice."""
    schema["x-kubernetes-list-type"] = "map"
    schema["x-kubernetes-list-map-keys"] = ["kind", "name", "namespace"]
    member = schema["items"]
    member["properties"]["kind"]["default"] = "User"
    member["properties"]["namespace"]["default"] = ""
    member["x-kubernetes-validations"] = _member_rules()
    end = member["properties"]["expiresAt"]
    del end["format"], end["pattern"]
    end |= {
        "maxLength": 64,
        # The API server silently drops a null that is not allowed, and the entry would never
        # expire. So null is allowed here, and the webhook refuses it.
        "nullable": True,
        "x-kubernetes-validations": [
            validation_rule(f"self.matches('^({_escaped(rules.MOMENT)})$')", rules.MOMENT_PROBLEM)
        ],
    }


def _at_most(most: int) -> Schema:
    """Return a rule that bounds a list; one that was longer before may only shrink."""
    return validation_rule(
        f"self.size() <= {most} || (oldSelf.hasValue() && self.size() <= oldSelf.value().size())",
        f"must have at most {most} entries; remove who is no longer needed",
    ) | {"optionalOldSelf": True}


def _as_read_by_people(billing: dict[str, Schema]) -> None:
    """Refuse texts with invisible characters; the API server ignores unchanged ones."""
    texts = [billing[field] for field in BILLING_TEXTS]
    for text in (*texts, billing["labels"]["additionalProperties"]):
        text["maxLength"] = BILLING_TEXT_MAX
        text["x-kubernetes-validations"] = [
            validation_rule(
                f"!self.matches('{_escaped(rules.UNPRINTABLE)}|{_escaped(rules.BLANK)}') "
                "&& self == self.trim()",
                rules.TEXT_PROBLEM,
            )
        ]
    reserved = ", ".join(f"'{word}'" for word in rules.RESERVED_COST_CENTERS)
    billing["costCenter"]["x-kubernetes-validations"] += [
        validation_rule(f"!self.matches('{_escaped(rules.FORMS)}')", rules.FORMS_PROBLEM),
        validation_rule(
            f"self == 'unallocated' || !(self.lowerAscii() in [{reserved}])",
            rules.RESERVED_PROBLEM,
        ),
    ]


def status_schema(type_: type[CommonStatus]) -> Schema:
    """Return the schema of a status, whose conditions are merged by type."""
    schema = structural_schema(type_)
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
        validation_rule(
            f"self.metadata.name.size() <= {rules.DNS_LABEL_MAX_LENGTH} && "
            f"self.metadata.name.matches('^{rules.DNS_LABEL}$')",
            "metadata.name must be a DNS label of at most 63 characters: lower case letters, "
            "digits and '-', beginning and ending with a letter or digit",
            ".metadata",
        ),
        validation_rule(
            " && ".join(free), "metadata.name is reserved; choose another", ".metadata"
        ),
    ]


def _member_rules() -> list[Schema]:
    """Return the rules of :mod:`lnamespace.model.rules` for an entry, in CEL."""
    account = rules.SERVICE_ACCOUNT_USERNAME
    return [
        validation_rule(
            f"self.kind != 'ServiceAccount' || (self.__namespace__.matches('^{rules.DNS_LABEL}$') "
            f"&& self.name.size() <= {rules.DNS_SUBDOMAIN_MAX_LENGTH} "
            f"&& self.name.matches('^{rules.DNS_SUBDOMAIN}$'))",
            "a ServiceAccount needs a namespace and a name, both as Kubernetes spells them",
        ),
        validation_rule(
            "self.kind == 'ServiceAccount' || self.__namespace__ == ''",
            "only a ServiceAccount has a namespace",
        ),
        validation_rule(
            f"!self.name.matches('{_escaped(rules.UNPRINTABLE)}|{_escaped(rules.BLANK)}')",
            f"name {rules.INVISIBLE_PROBLEM}",
        ),
        validation_rule(
            f"self.name.size() <= {NAME_MAX} || oldSelf.hasValue()",
            f"name may have at most {NAME_MAX} characters",
        )
        | {"optionalOldSelf": True},
        validation_rule(
            "self.name == self.name.trim()", "name must not start or end with white space"
        ),
        validation_rule("self.name != '*'", "name must be one name, not a pattern"),
        validation_rule(
            "!self.name.startsWith('system:') || "
            f"(self.kind == 'User' && self.name.matches('^{account}$') && "
            f"self.name.split(':')[2].size() <= {rules.DNS_LABEL_MAX_LENGTH} && "
            f"self.name.split(':')[3].size() <= {rules.DNS_SUBDOMAIN_MAX_LENGTH})",
            "system: names are the cluster's own; only ServiceAccounts may be listed",
        ),
    ]


def _escaped(pattern: str) -> str:
    """Return a pattern of RE2 escaped for a string of CEL."""
    return pattern.replace("\\", "\\\\")
