"""Events about objects that have no namespace.

The API server wants an Event about a cluster-scoped object in the namespace ``default`` and no
namespace in its reference. Upstream a tenant's ``default`` is another namespace, where the
reference must have the Event's own: the gateway adds it there, and removes it on the way down.
"""

from dataclasses import dataclass
from typing import Any

from lnamespace.kube.resources import DEFAULT_NAMESPACE
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import WholeObjectTranslator
from lnamespace.translate.objects.references import referenced_type
from lnamespace.translate.objects.translators import Encoded, object_of, text_of


@dataclass(frozen=True)
class EventTranslator(WholeObjectTranslator):
    """The translation of Events; ``subject`` is the field that refers to an Event's object."""

    subject: str = "involvedObject"

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate an Event in place and return it."""
        about = object_of(members.get(self.subject, b"null"))
        lacks_namespace = about is not None and not _namespace(about)
        super().members_up(members, context)
        reference = members.get(self.subject)
        if lacks_namespace and isinstance(reference, dict):
            metadata = object_of_member(members, "metadata")
            namespace = _namespace(metadata) or context.namespace
            if namespace == context.view.namespace_up(DEFAULT_NAMESPACE):
                reference["namespace"] = namespace
        return members

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate an Event in place and return it."""
        super().members_down(members, context)
        reference = members.get(self.subject)
        if isinstance(reference, dict):
            resource = referenced_type(reference, context.view)
            if resource is not None and not resource.namespaced:
                reference.pop("namespace", None)
        return members


def object_of_member(members: Encoded, key: str) -> Encoded:
    """Return a member that is an object, decoded or not; an empty one if it is none."""
    value: Any = members.get(key)
    if isinstance(value, dict):
        return value
    return object_of(value if value is not None else b"{}") or {}


def _namespace(members: Encoded) -> str:
    value = members.get("namespace")
    if value is None or isinstance(value, str):
        return value or ""
    return text_of(value) or ""
