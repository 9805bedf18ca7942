"""Field selectors over Events, whose involved objects have other names upstream.

An Event about a cluster-scoped object names no namespace; upstream it names the one that the Event
is in, the tenant's ``default``, because the API server wants it so. The kind decides which of the
two it is, so a selector without the kind matches too many Events upstream: its terms are then
evaluated again for the answer.
"""

from dataclasses import dataclass, replace

from lnamespace.translate.names.view import View
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.selectors import FieldTerm, exact_match

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class JudgedTerm:
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
    """Which Events are selected.

    Parameters
    ----------
    about
        The field that refers to the object: ``involvedObject`` or ``regarding``.
    namespace
        The namespace of the request in tenant spelling; empty for all.
    """

    about: str
    namespace: str = ""

    @property
    def has_namespaced_only(self) -> bool:
        """Return whether no Event is about a cluster-scoped object: those are in ``default``."""
        return self.namespace not in {"", DEFAULT_NAMESPACE}

    def possible_types(self, terms: tuple[FieldTerm, ...], view: View) -> set[ResourceType | None]:
        """Return the types that the object may have; None for one that is not served."""
        kind = exact_match(terms, f"{self.about}.kind")
        version = exact_match(terms, f"{self.about}.apiVersion")
        group = None if version is None else version.rpartition("/")[0]
        types: set[ResourceType | None] = {
            each
            for each in view.resources.types
            if kind in {None, each.kind}
            and group in {None, each.group}
            and (each.namespaced or not self.has_namespaced_only)
        }
        return types or {None}


def judge_event_term(
    term: FieldTerm, terms: tuple[FieldTerm, ...], selector: EventSelector, view: View
) -> JudgedTerm:
    """Return one term on the involved object of an Event, in upstream spelling.

    Parameters
    ----------
    terms
        The whole selector, which may name the kind.
    """
    match term.field.removeprefix(f"{selector.about}."):
        case "apiVersion":
            return JudgedTerm(replace(term, value=view.api_version_up(term.value)))
        case "name":
            return _judge_name(term, terms, selector, view)
        case "namespace":
            return _judge_namespace(term, selector.possible_types(terms, view), view)
        case _:
            return JudgedTerm(term)


def _judge_name(
    term: FieldTerm, terms: tuple[FieldTerm, ...], selector: EventSelector, view: View
) -> JudgedTerm:
    namespace = exact_match(terms, f"{selector.about}.namespace")
    names = {
        term.value if each is None else view.name_up(each, term.value)
        for each in selector.possible_types(terms, view)
        if namespace is None or each is None or each.namespaced is bool(namespace)
    }
    if len(names) == 1:
        return JudgedTerm(replace(term, value=names.pop()))
    return JudgedTerm(None, residual=True)


def _judge_namespace(term: FieldTerm, types: set[ResourceType | None], view: View) -> JudgedTerm:
    namespaced = {each is None or each.namespaced for each in types}
    upstream = replace(term, value=view.namespace_up(term.value))
    if namespaced == {True} or term.value not in {"", DEFAULT_NAMESPACE}:
        return JudgedTerm(upstream)
    if term.negated:
        return JudgedTerm(None, residual=True)
    in_default = replace(term, value=view.namespace_up(DEFAULT_NAMESPACE))
    return JudgedTerm(in_default, residual=namespaced != {False} or bool(term.value))
