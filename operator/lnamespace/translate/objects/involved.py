"""Events about objects that have no namespace.

The API server wants an Event about a cluster-scoped object in the namespace ``default`` and no
namespace in its reference. Upstream a tenant's ``default`` is another namespace, where the
reference must have the Event's own: the gateway adds it there, and removes it on the way down.
"""

from dataclasses import dataclass

from lnamespace.kube.resources import DEFAULT_NAMESPACE
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import WholeObjectTranslator
from lnamespace.translate.objects.references import referenced_type
from lnamespace.translate.objects.translators import Encoded, object_at, object_of, text_at


@dataclass(frozen=True)
class EventTranslator(WholeObjectTranslator):
    """The translation of Events; ``subject`` is the field that refers to an Event's object."""

    subject: str = "involvedObject"

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate an Event in place and return it."""
        about = object_of(members.get(self.subject, b"null"))
        lacks_namespace = about is not None and not text_at(about, "namespace")
        super().members_up(members, context)
        reference = members.get(self.subject)
        if lacks_namespace and isinstance(reference, dict):
            metadata = object_at(members, "metadata")
            namespace = text_at(metadata, "namespace") or context.namespace
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
