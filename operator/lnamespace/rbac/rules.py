"""Match one rule against one request, in the words of k8s.io/kubernetes/pkg/apis/rbac/v1."""

from lnamespace.rbac.attributes import Attributes
from lnamespace.rbac.objects import AccessRule
from lnamespace.translate.protocol.quoting import go_quote_all

ALL = "*"
EVERYTHING = (
    AccessRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    AccessRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)
"""The rules of ``cluster-admin``."""


def verb_matches(rule: AccessRule, verb: str) -> bool:
    """Return whether a rule is about a verb."""
    return verb in rule.verbs or ALL in rule.verbs


def group_matches(rule: AccessRule, group: str) -> bool:
    """Return whether a rule is about an API group."""
    return group in rule.api_groups or ALL in rule.api_groups


def resource_matches(rule: AccessRule, attributes: Attributes) -> bool:
    """Return whether a rule is about a resource; ``*/scale`` is that subresource of any."""
    resources = rule.resources
    if ALL in resources or attributes.combined_resource in resources:
        return True
    return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources


def url_matches(rule: AccessRule, path: str) -> bool:
    """Return whether a rule allows a path; ``/healthz/*`` allows every path below it."""
    return any(url_covers(url, path) for url in rule.non_resource_urls)


def url_covers(url: str, path: str) -> bool:
    """Return whether one URL of a rule is about a path, or about all that another URL is about."""
    return url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))


def rule_matches(rule: AccessRule, attributes: Attributes) -> bool:
    """Return whether a rule allows a request, leaving aside the object's name."""
    if not verb_matches(rule, attributes.verb):
        return False
    if not attributes.resource_request:
        return url_matches(rule, attributes.path)
    return group_matches(rule, attributes.group) and resource_matches(rule, attributes)


def compact_text(rule: AccessRule) -> str:
    """Return a rule as messages about escalation show it."""
    parts = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.non_resource_urls,
        "ResourceNames": rule.resource_names,
        "Verbs": rule.verbs,
    }
    shown = (f"{key}:{go_quote_all(values)}" for key, values in parts.items() if values)
    return "{" + ", ".join(shown) + "}"
