"""CEL in the admission policies of a tenant, and in the match conditions of its webhooks.

The API server evaluates it on upstream objects, whose names and namespaces have the tenant's
prefix. Each read of a name by its usual path is replaced by an expression without the prefix.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.cel import FieldReads
from lnamespace.translate.objects.confinement.rules import MAX_BODY, ConfinedBody, Object

_KEYS = ("expression", "messageExpression", "valueExpression")
_OBJECTS = ("object", "oldObject", "params")
_NAMESPACES = (
    "request.namespace",
    "namespaceObject.metadata.name",
    *(f"{each}.metadata.namespace" for each in _OBJECTS),
)
"""Paths of a namespace, which has the prefix."""
_NAMES = ("request.name", *(f"{each}.metadata.name" for each in _OBJECTS))
"""Paths of a name, which has the prefix if the object is cluster-scoped."""

_READS = FieldReads((*_NAMESPACES, *_NAMES))
_REFUSED = r"\b(?P<name>serviceAccount|reason|error)\s*+"
_CALL = re.compile(rf"{_REFUSED}\(")
_COMMENTED_CALL = re.compile(rf"{_REFUSED}(?://[^\n]*+\s*+)++(?P<called>\()?")
"""What follows a comment is read once: a line may have the name many times before its ``//``."""


def policy_expression_up(text: str, view: TenantView) -> str:
    """Translate an expression for objects upstream."""
    return _READS.replaced(text, partial(_without_prefix, view))


def policy_expression_down(text: str, view: TenantView) -> str:
    """Return an expression, or a text that quotes one, as the tenant wrote it."""
    if f".startsWith('{view.prefix}')" in text:
        for path in (*_NAMES, *_NAMESPACES):
            text = text.replace(_without_prefix(view, path), path)
    return text


def _refused_call(text: str) -> str:
    """Return the function of the authorizer that a text calls and may not; empty if none."""
    if found := _CALL.search(text):
        return found["name"]
    commented = (each["name"] for each in _COMMENTED_CALL.finditer(text) if each["called"])
    return next(commented, "")


def _without_prefix(view: TenantView, path: str) -> str:
    short = f"{path}.startsWith('{view.prefix}') ? {path}.substring({len(view.prefix)}) : {path}"
    if path in _NAMESPACES:
        return f"({short})"
    if path == "request.name":
        # A request about a Namespace names it as its namespace as well.
        namespaced = "has(request.namespace) && request.namespace != ''"
        others = f"{namespaced} && request.resource.resource != 'namespaces'"
        return f"({others} ? {path} : {short})"
    return f"(has({path.rpartition('.')[0]}.namespace) ? {path} : {short})"


@dataclass(frozen=True)
class PolicyExpressions:
    """The expressions of a policy or webhook, which read names in tenant spelling.

    They may not ask for the rights of ServiceAccounts of others; ``authorizer`` itself answers
    for the sender of the request, which is the tenant's own account or the gateway's. Nor may they
    ask why: the answer names bindings, roles and groups of the platform.
    """

    paths = (("spec",), ("webhooks", "*", "matchConditions"))

    def confine(self, subject: ConfinedBody) -> None:
        """Translate the expressions for objects upstream; refuse some calls of ``authorizer``."""
        size = 0
        for holder, key in _expressions(subject.body):
            if call := _refused_call(holder[key]):
                raise subject.refuse("expression", f"authorizer.{call} is not available")
            holder[key] = policy_expression_up(holder[key], subject.view)
            size += len(holder[key])
            if size > MAX_BODY:
                raise subject.refuse("expression", "all expressions together are too long")

    def restore(self, subject: ConfinedBody) -> None:
        """Write the expressions as the tenant did."""
        for holder, key in _expressions(subject.body):
            holder[key] = policy_expression_down(holder[key], subject.view)


def _expressions(value: Any) -> Iterator[tuple[Object, str]]:
    """Yield the object and the key of each expression."""
    if isinstance(value, list):
        for each in value:
            yield from _expressions(each)
    if isinstance(value, dict):
        yield from ((value, key) for key in _KEYS if isinstance(value.get(key), str))
        for each in list(value.values()):
            yield from _expressions(each)
