"""Texts for people: the tenant's own names in them lose the prefix on the way down.

They are found by :mod:`~lnamespace.translate.objects.text_names`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from lnamespace.model.names import CLUSTERS_NAMESPACE
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.admission import quoted_conditions_down
from lnamespace.translate.objects.confinement.policy_expressions import policy_expression_down
from lnamespace.translate.objects.confinement.volumes import empty_class
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.keys import private_domain
from lnamespace.translate.objects.references import INERT
from lnamespace.translate.objects.text_names import AT_MOST, names_down
from lnamespace.translate.objects.translators import Leaf, object_of, text_at, text_of
from lnamespace.translate.protocol.policies import BUILT_IN_GROUPS

_POLICY = re.compile(
    r"((?:Validating|Mutating)AdmissionPolicy|\bpolicy) '([^']*)' with binding '[^']*' "
    r"(denied request: )?"
)
"""Of one whose expression failed the API server says ``policy`` alone, if it is a mutating one."""
_EXPRESSION = re.compile(r"expression '.*' resulted in error: |failed expression: ", re.DOTALL)
_DIALLED = re.compile(r"failed to call webhook: (?:[A-Z][a-z]+ )?\"https?://([^/\"]+).*", re.DOTALL)
_UNANSWERED = "failed to call webhook: a webhook of the platform does not answer"


@lru_cache(maxsize=4096)
def _account(tenant: str) -> re.Pattern[str]:
    return re.compile(
        rf"system:serviceaccount:{CLUSTERS_NAMESPACE}[a-z0-9-]*:{re.escape(tenant)}\b"
    )


def text_down(
    view: TenantView, text: str, group: str = "", namespace: str = "", at_most: int = AT_MOST
) -> str:
    """Return a text with this tenant's names in tenant spelling.

    Parameters
    ----------
    group
        An API group in tenant spelling that the text may name besides those that are served.
    namespace
        The namespace that the text is about, in upstream spelling.
    at_most
        How many names may lose the prefix.
    """
    text = _without_platform(view, text)
    text = view.webhook_route.text_down(text) if view.webhook_route else text
    text = policy_expression_down(quoted_conditions_down(text, view), view)
    text = identities_down(view, text)
    if view.tenant not in text:
        return text
    text = text.replace(INERT + view.prefix, "")
    text = text.replace(f'"{empty_class(view)}"', '""')
    if (own := f"{private_domain(view)}/") in text:
        text = re.sub(rf"(?<![\w.-]){own}", "", text.replace(f".{own}", "/"))
    return names_down(view, text, frozenset({group} if group else ()), namespace, at_most)


def identities_down(view: TenantView, text: str) -> str:
    """Return a text with the tenant's users in tenant spelling, and without its account."""
    if view.tenant not in text:
        return text
    text = text.replace(view.identity_prefix, "")
    return _account(view.tenant).sub("the cluster", text)


def _without_platform(view: TenantView, text: str) -> str:
    """Return the text of a refusal without names, addresses and expressions of the platform's.

    A policy of the tenant has the prefix, and its webhooks are called through the gateway. The
    message that a policy's author wrote stays.
    """
    if "' with binding '" in text:
        text = _policies(view, text)
    found = _DIALLED.search(text) if "failed to call webhook" in text else None
    if found and not _is_own_webhook(view, found[1]):
        text = text[: found.start()] + _UNANSWERED
    return text


def _policies(view: TenantView, text: str) -> str:
    found = _POLICY.search(text)
    if found is None or found[2].startswith(view.prefix):
        return text
    message = text[found.end() :]
    if _EXPRESSION.match(message):
        message = "an expression failed"
    return f"{text[: found.start()]}{found[1]} of the platform {found[3] or ''}{message}"


def _is_own_webhook(view: TenantView, host: str) -> bool:
    route = view.webhook_route
    return route is not None and host.partition(":")[0] == route.service.host


@dataclass(frozen=True)
class TextTranslator(Leaf):
    """The translation of a text for people, on the way down only."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the text as it is."""
        del context
        return value

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the text with the tenant's names in tenant spelling."""
        if context.tenant_bytes not in bytes(value):
            return value
        text = text_of(value)
        if text is None:
            return value
        at_most = min(context.renaming_budget.names, AT_MOST)
        context.renaming_budget.spend(text.count(context.view.prefix))
        return text_down(context.view, text, namespace=context.namespace, at_most=at_most)


TEXT = TextTranslator()
_DISCOVERY = "NamespaceDeletionDiscoveryFailure"
_FAILURES = {
    _DISCOVERY: "Discovery failed for some groups",
    "NamespaceDeletionContentFailure": "Failed to delete all resource types",
}
"""The conditions whose message may name kinds of others, and what is said in its place."""


def _names_foreign_kinds(message: str, prefix: str) -> bool:
    """Return whether a text has a kind, as ``GROUP/VERSION, Kind=KIND``, of somebody else."""
    groups = (
        word.partition("/")[0]
        for word, following in pairwise(message.split())
        if following.startswith(("Kind=", "Resource="))
    )
    return any(not group.startswith(prefix) for group in groups if group not in BUILT_IN_GROUPS)


@dataclass(frozen=True)
class NamespaceCondition(Leaf):
    """The translation of a condition of a Namespace.

    When a Namespace is deleted and an API group cannot be read, or a kind cannot be listed, its
    condition names the group or the kind, which may be another tenant's.
    """

    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the condition as it is."""
        del context
        return value

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the condition with its text in tenant spelling."""
        condition = object_of(value)
        if condition is None or "message" not in condition:
            return value
        kind, message = text_at(condition, "type"), text_at(condition, "message")
        failed = kind in _FAILURES and bytes(condition.get("status", b"")) == b'"True"'
        if failed and (kind == _DISCOVERY or _names_foreign_kinds(message, context.view.prefix)):
            condition["message"] = _FAILURES[kind]
        else:
            condition["message"] = TEXT.down(condition["message"], context)
        return condition
