"""The plan for the objects of each resource.

The resource of the request chooses the plan, never the body: ``kind`` and ``apiVersion`` may be
absent from it. A kind that is not Kubernetes' own has its metadata translated; the rest of a custom
resource is data of the tenant's own programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lnamespace.translate.names.view import View
from lnamespace.translate.objects.aggregation import ClusterRolePlan
from lnamespace.translate.objects.fields.cluster import (
    ACCESS,
    ADMISSION,
    ANNOTATIONS,
    NETWORK,
    OTHERS,
)
from lnamespace.translate.objects.fields.volumes import VOLUME_ANNOTATIONS, VOLUMES
from lnamespace.translate.objects.fields.workloads import WORKLOADS
from lnamespace.translate.objects.involved import EventPlan
from lnamespace.translate.objects.metadata import WholePlan, metadata_plan, name_of
from lnamespace.translate.objects.plans import Encoded, FieldRule, ObjectPlan, Scope, object_of
from lnamespace.translate.objects.references import refuse_foreign_claim
from lnamespace.translate.objects.spellings import API_VERSION
from lnamespace.translate.objects.tokens import SecretPlan
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import forbidden

FIELDS: Mapping[tuple[str, str], ObjectPlan] = {
    **WORKLOADS,
    **VOLUMES,
    **ACCESS,
    **ADMISSION,
    **NETWORK,
    **OTHERS,
}
"""The plans for the members of objects besides metadata, by group and plural."""
ANNOTATION_RULES = {**VOLUME_ANNOTATIONS, **ANNOTATIONS}
OWN_BODIES = frozenset({"scale", "eviction", "binding", "token"})
"""Subresources whose body is of another kind than the object, with the object's metadata."""
UNSAFE_DELETE = "ignoreStoreReadErrorWithClusterBreakingPotential"


@dataclass(frozen=True)
class VolumePlan(WholePlan):
    """The translation of PersistentVolumes; the claim decides the tenant of a provisioned one."""

    def members_down(self, members: Encoded, scope: Scope) -> Encoded:
        """Translate a volume in place and return it."""
        name = name_of(members)
        if name and not name.startswith(scope.view.prefix):
            spec = object_of(members.get("spec", b"{}")) or {}
            refuse_foreign_claim(spec.get("claimRef", b"{}"), scope)
        return super().members_down(members, scope)


@dataclass(frozen=True)
class DeleteOptionsPlan(ObjectPlan):
    """The translation of DeleteOptions, which clients send in the group of a custom resource."""

    def members_up(self, members: Encoded, scope: Scope) -> Encoded:
        """Translate options in place and return them."""
        if bytes(members.get(UNSAFE_DELETE, b"false")) == b"true":
            raise forbidden(
                scope.resource.group_resource, "", f"{UNSAFE_DELETE} is the platform's to set"
            )
        return super().members_up(members, scope)


DELETE_OPTIONS = DeleteOptionsPlan({"apiVersion": API_VERSION})


@lru_cache(maxsize=8192)
def plan_of(resource: ResourceType, subresource: str = "") -> ObjectPlan:
    """Return the plan for the objects of a type, or for the bodies of one of its subresources."""
    key = (resource.group, resource.plural)
    rules: dict[str, FieldRule] = {}
    if subresource not in OWN_BODIES and not resource.custom:
        rules.update(FIELDS.get(key, ObjectPlan()).rules)
    if resource.custom and subresource not in OWN_BODIES:
        rules["apiVersion"] = API_VERSION
    if subresource == "eviction":
        rules["deleteOptions"] = DELETE_OPTIONS
    rules["metadata"] = metadata_plan(resource, ANNOTATION_RULES.get(key, {}))
    return _built(key, rules)


def _built(key: tuple[str, str], rules: Mapping[str, FieldRule]) -> ObjectPlan:
    match key:
        case ("", "persistentvolumes"):
            return VolumePlan(rules)
        case ("", "secrets"):
            return SecretPlan(rules)
        case ("rbac.authorization.k8s.io", "clusterroles"):
            return ClusterRolePlan(rules)
        case ("", "events"):
            return EventPlan(rules)
        case ("events.k8s.io", "events"):
            return EventPlan(rules, subject="regarding")
        case _:
            return WholePlan(rules)


def rule_at(plan: FieldRule, path: tuple[str, ...]) -> FieldRule | None:
    """Return the rule for the value at a path, or None if it stays as it is.

    Parameters
    ----------
    path
        Keys of objects in tenant spelling, and indexes of arrays.
    """
    rule: FieldRule | None = plan
    for key in path:
        if rule is None:
            return None
        rule = rule.child(key)
    return rule


def scope_of(view: View, resource: ResourceType, namespace: str = "", *, whole: bool) -> Scope:
    """Return the scope of a request, whose namespace is in tenant spelling."""
    return Scope(view, resource, view.namespace_up(namespace), whole)
