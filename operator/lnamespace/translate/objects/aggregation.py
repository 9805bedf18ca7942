"""Aggregated ClusterRoles, whose rules the gateway gathers inside the tenant.

Upstream an aggregation rule would gather rules from everybody's ClusterRoles, so it is kept in an
annotation there.
"""

from dataclasses import dataclass

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import WholeObjectTranslator, name_of
from lnamespace.translate.objects.translators import (
    Encoded,
    list_of,
    object_at,
    object_of,
    text_at,
    text_of,
)

MEMBER = "aggregationRule"
KEPT_AS = LCLUSTER_KEYS + "aggregation-rule"
"""The annotation with the rule as its tenant wrote it, in JSON."""


@dataclass(frozen=True)
class ClusterRoleTranslator(WholeObjectTranslator):
    """The translation of ClusterRoles."""

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate a ClusterRole in place and return it."""
        rule = members.pop(MEMBER, None)
        super().members_up(members, context)
        if rule is not None:
            _annotate(members, rule)
        return members

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate a ClusterRole in place and return it."""
        if "rules" in members and name_of(members) in context.published:
            members["rules"] = Raw(encode(_served_rules(members, context)))
        if KEPT_AS.encode() in bytes(members.get("metadata", b"")):
            rule = _kept(members)
            if rule is not None:
                members[MEMBER] = rule
        return super().members_down(members, context)


def _served_rules(members: Encoded, context: TranslationContext) -> list[Encoded]:
    """Return the rules of a published role, without API groups that the tenant is not served.

    The platform's own add-ons aggregate rules into ``admin`` and ``view``.
    """
    served = {each.group for each in context.view.resources.types} | {"*"}
    rules = []
    for each in list_of(members.get("rules", b"null")) or []:
        rule = object_of(each) or {}
        groups = list_of(rule.get("apiGroups", b"null"))
        shown = [group for group in groups or [] if text_of(group) in served]
        if groups is None or shown:
            rules.append(rule | ({"apiGroups": shown} if shown else {}))
    return rules


def _annotate(members: Encoded, rule: Raw) -> None:
    """Store a rule in the annotations of an object whose metadata was translated."""
    metadata = object_at(members, "metadata")
    annotations = object_at(metadata, "annotations")
    text = bytes(rule).decode()
    kept = None if text.strip() == "null" else text
    members["metadata"] = metadata | {"annotations": annotations | {KEPT_AS: kept}}


def _kept(members: Encoded) -> Raw | None:
    """Return the kept rule; None if the annotation was overwritten with something else."""
    text = text_at(object_at(object_at(members, "metadata"), "annotations"), KEPT_AS)
    try:
        is_rule = text and object_of(text.encode()) is not None
    except DecodeError:
        return None
    return Raw(text.encode()) if is_rule else None
