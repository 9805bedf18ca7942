"""CEL in the schema of a tenant's own kind, which the API server evaluates on upstream objects.

The name of a cluster-scoped object has the tenant's prefix there. ``self.metadata.name`` in a rule
of the whole object becomes an expression without it; a rule further down has no metadata. The
expression takes the prefix from the API version, which always begins with it, so that the text,
which OpenAPI documents and refusals show, names no tenant.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.cel import FieldReads
from lnamespace.translate.objects.confinement.rules import ConfinedBody, Object, parents

_NAMES = ("self.metadata.name", "oldSelf.metadata.name")
_READS = FieldReads(_NAMES)
_EXPRESSIONS = ("rule", "messageExpression")


def expression_up(text: str, view: TenantView) -> str:
    """Translate an expression about an object of the tenant for the object upstream.

    A patch does not say whether the kind is cluster-scoped, so the expression tests the name.
    """
    return _READS.replaced(text, partial(_without_prefix, view))


def expression_down(text: str, view: TenantView) -> str:
    """Return an expression as the tenant wrote it."""
    for name in _NAMES:
        text = text.replace(_without_prefix(view, name), name)
    return text


def _without_prefix(view: TenantView, name: str) -> str:
    length = len(view.prefix)
    prefix = f"{name.partition('.')[0]}.apiVersion.substring(0, {length})"
    return f"({name}.startsWith({prefix}) ? {name}.substring({length}) : {name})"


@dataclass(frozen=True)
class SchemaExpressions:
    """The validation rules about whole objects, in each version of a definition."""

    paths = (("spec", "versions"),)

    def confine(self, subject: ConfinedBody) -> None:
        """Translate the rules for objects upstream."""
        _spell(subject, expression_up)

    def restore(self, subject: ConfinedBody) -> None:
        """Write the rules as the tenant did."""
        _spell(subject, expression_down)


def _spell(subject: ConfinedBody, spelling: Callable[[str, TenantView], str]) -> None:
    spec = subject.body.get("spec")
    if isinstance(spec, dict) and spec.get("scope") == "Namespaced":
        return  # names of namespaced objects have no prefix
    for validation in _validations(subject.body):
        for key in _EXPRESSIONS:
            if isinstance(validation.get(key), str):
                validation[key] = spelling(validation[key], subject.view)


def _validations(body: Any) -> Iterator[Object]:
    path = ("spec", "versions", "*", "schema", "openAPIV3Schema", "x-kubernetes-validations")
    for schema in parents(body, path):
        for validation in schema.get(path[-1]) or ():
            if isinstance(validation, dict):
                yield validation
