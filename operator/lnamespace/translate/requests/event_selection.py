"""Field selectors over Events, whose involved objects have other names upstream.

An Event about a cluster-scoped object names no namespace; upstream it names the one that the Event
is in, the tenant's ``default``, because the API server wants it so. The kind decides which of the
two it is, so a selector without the kind matches too many Events upstream: its terms are then
evaluated again for the answer.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from lnamespace.kube.resources import DEFAULT_NAMESPACE
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.selectors import FieldTerm, exact_match


@dataclass(frozen=True)
class TranslatedTerm:
    """A term of a field selector in upstream spelling.

    Parameters
    ----------
    upstream
        None if the API server cannot evaluate it without losing objects.
    residual
        Whether the objects found upstream have to be filtered by the tenant's own term.
    """

    upstream: FieldTerm | None
    residual: bool = False


@dataclass(frozen=True)
class EventSelector:
    """A translator of the terms of a field selector over Events.

    What all terms need is found once: of 3,500 terms each read all others and all types, for each
    Event of a watch.

    Parameters
    ----------
    about
        The field that refers to the object: ``involvedObject`` or ``regarding``.
    namespace
        The namespace of the request in tenant spelling; empty for all.
    """

    about: str
    namespace: str
    terms: tuple[FieldTerm, ...]
    view: TenantView

    def translate(self, term: FieldTerm) -> TranslatedTerm:
        """Return one term on the involved object in upstream spelling."""
        match term.field.removeprefix(f"{self.about}."):
            case "apiVersion":
                return TranslatedTerm(replace(term, value=self.view.api_version_up(term.value)))
            case "name":
                return self._translate_name(term)
            case "namespace":
                return self._translate_namespace(term)
            case _:
                return TranslatedTerm(term)

    @cached_property
    def _types(self) -> set[ResourceType | None]:
        """Return the types that the object may have; None for one that is not served."""
        kind = exact_match(self.terms, f"{self.about}.kind")
        version = exact_match(self.terms, f"{self.about}.apiVersion")
        group = None if version is None else version.rpartition("/")[0]
        # No Event is about a cluster-scoped object but those in ``default``.
        namespaced_only = self.namespace not in {"", DEFAULT_NAMESPACE}
        types: set[ResourceType | None] = {
            each
            for each in self.view.resources.types
            if kind in {None, each.kind}
            and group in {None, each.group}
            and (each.namespaced or not namespaced_only)
        }
        return types or {None}

    @cached_property
    def _named_types(self) -> tuple[ResourceType | None, ...]:
        """Return the possible types in the namespace that is selected, or of no namespace."""
        namespace = exact_match(self.terms, f"{self.about}.namespace")
        return tuple(
            each
            for each in self._types
            if namespace is None or each is None or each.namespaced is bool(namespace)
        )

    def _translate_name(self, term: FieldTerm) -> TranslatedTerm:
        names = {
            term.value if each is None else self.view.name_up(each, term.value)
            for each in self._named_types
        }
        if len(names) == 1:
            return TranslatedTerm(replace(term, value=names.pop()))
        return TranslatedTerm(None, residual=True)

    def _translate_namespace(self, term: FieldTerm) -> TranslatedTerm:
        namespaced = {each is None or each.namespaced for each in self._types}
        upstream = replace(term, value=self.view.namespace_up(term.value))
        if namespaced == {True} or term.value not in {"", DEFAULT_NAMESPACE}:
            return TranslatedTerm(upstream)
        if term.negated:
            return TranslatedTerm(None, residual=True)
        in_default = replace(term, value=self.view.namespace_up(DEFAULT_NAMESPACE))
        return TranslatedTerm(in_default, residual=namespaced != {False} or bool(term.value))
