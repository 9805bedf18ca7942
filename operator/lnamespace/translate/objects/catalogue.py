"""The translator for the objects of each resource.

The resource of the request chooses the translator, never the body: ``kind`` and ``apiVersion`` may
be absent from it. A kind that is not Kubernetes' own has its metadata translated; the rest of a
custom resource is data of the tenant's own programs.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.aggregation import ClusterRoleTranslator
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.fields.cluster import (
    ACCESS,
    ADMISSION,
    ANNOTATIONS,
    NETWORK,
    OTHERS,
)
from lnamespace.translate.objects.fields.volumes import VOLUME_ANNOTATIONS, VOLUMES
from lnamespace.translate.objects.fields.workloads import WORKLOADS
from lnamespace.translate.objects.load_balancers import BalancedTranslator
from lnamespace.translate.objects.metadata import WholeObjectTranslator, metadata_translator
from lnamespace.translate.objects.single_kinds import (
    DeleteOptionsTranslator,
    EventTranslator,
    SecretTranslator,
    VolumeTranslator,
)
from lnamespace.translate.objects.spellings import API_VERSION
from lnamespace.translate.objects.translators import FieldRule, ObjectTranslator
from lnamespace.translate.protocol.resources import ResourceType

FIELDS: Mapping[tuple[str, str], ObjectTranslator] = {
    **WORKLOADS,
    **VOLUMES,
    **ACCESS,
    **ADMISSION,
    **NETWORK,
    **OTHERS,
}
"""The translators for the members of objects besides metadata, by group and plural."""
ANNOTATION_RULES = {**VOLUME_ANNOTATIONS, **ANNOTATIONS}
OWN_BODIES = frozenset({"scale", "eviction", "binding", "token"})
"""Subresources whose body is of another kind than the object, with the object's metadata."""
DELETE_OPTIONS = DeleteOptionsTranslator({"apiVersion": API_VERSION})


_BUILDERS: Mapping[tuple[str, str], Callable[[Mapping[str, FieldRule]], ObjectTranslator]] = {
    ("", "events"): EventTranslator,
    ("", "persistentvolumes"): VolumeTranslator,
    ("", "secrets"): SecretTranslator,
    ("", "services"): BalancedTranslator,
    ("networking.k8s.io", "ingresses"): BalancedTranslator,
    ("rbac.authorization.k8s.io", "clusterroles"): ClusterRoleTranslator,
}
"""The translators that do more than their rules say."""


@lru_cache(maxsize=8192)
def translator_of(resource: ResourceType, subresource: str = "") -> ObjectTranslator:
    """Return the translator for objects of a type, or for bodies of one of its subresources."""
    key = (resource.group, resource.plural)
    rules: dict[str, FieldRule] = {}
    if subresource not in OWN_BODIES and not resource.custom:
        rules.update(FIELDS.get(key, ObjectTranslator()).rules)
    if resource.custom and subresource not in OWN_BODIES:
        rules["apiVersion"] = API_VERSION
    if subresource == "eviction":
        rules["deleteOptions"] = DELETE_OPTIONS
    rules["metadata"] = metadata_translator(resource, ANNOTATION_RULES.get(key, {}))
    return _built(key, rules)


def _built(key: tuple[str, str], rules: Mapping[str, FieldRule]) -> ObjectTranslator:
    if key == ("events.k8s.io", "events"):
        return EventTranslator(rules, subject="regarding")
    return _BUILDERS.get(key, WholeObjectTranslator)(rules)


def rule_at(translator: FieldRule, path: tuple[str, ...]) -> FieldRule | None:
    """Return the rule for the value at a path, or None if it stays as it is.

    Parameters
    ----------
    path
        Keys of objects in tenant spelling, and indexes of arrays.
    """
    rule: FieldRule | None = translator
    for key in path:
        if rule is None:
            return None
        rule = rule.child(key)
    return rule


def translation_context(
    view: TenantView, resource: ResourceType, namespace: str, *, whole: bool
) -> TranslationContext:
    """Return the scope of a request, whose namespace is in tenant spelling."""
    return TranslationContext(view, resource, view.namespace_up(namespace), whole)
