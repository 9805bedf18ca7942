"""Translators of kinds that need more than a table: Events, Secrets, volumes, DeleteOptions."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass

from lnamespace.kube.resources import DEFAULT_NAMESPACE
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import WholeObjectTranslator, name_of
from lnamespace.translate.objects.references import referenced_type, refuse_foreign_claim
from lnamespace.translate.objects.translators import (
    Encoded,
    ObjectTranslator,
    object_at,
    object_of,
    text_at,
)
from lnamespace.translate.protocol.status import forbidden

TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secrets
UNSAFE_DELETE = "ignoreStoreReadErrorWithClusterBreakingPotential"


@dataclass(frozen=True)
class EventTranslator(WholeObjectTranslator):
    """The translation of Events; ``subject`` is the field that refers to an Event's object.

    The API server wants an Event about a cluster-scoped object in the namespace ``default`` and
    no namespace in its reference. Upstream a tenant's ``default`` is another namespace, where the
    reference must have the Event's own: the gateway adds it there, and removes it on the way down.
    """

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


@dataclass(frozen=True)
class SecretTranslator(WholeObjectTranslator):
    """The translation of Secrets: of the namespace in those with a token."""

    marks = (TOKEN_TYPE.encode(),)

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate a Secret in place and return it."""
        _translate_data(members, context.view.namespace_up)
        return super().members_up(members, context)

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate a Secret in place and return it."""
        _translate_data(members, context.view.namespace_down)
        return super().members_down(members, context)


def _translate_data(members: Encoded, spell: Callable[[str], str | None]) -> None:
    """Translate the namespace of a token in place."""
    if text_at(members, "type") != TOKEN_TYPE:
        return
    data = object_at(members, "data")
    encoded = text_at(data, "namespace")
    if not encoded:
        return
    try:
        namespace = b64decode(encoded, validate=True).decode()
    except ValueError:
        return
    spelled = spell(namespace) or namespace
    members["data"] = data | {"namespace": b64encode(spelled.encode()).decode()}


@dataclass(frozen=True)
class VolumeTranslator(WholeObjectTranslator):
    """The translation of PersistentVolumes; the claim decides the tenant of a provisioned one."""

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate a volume in place and return it."""
        name = name_of(members)
        if name and not name.startswith(context.view.prefix):
            spec = object_at(members, "spec")
            refuse_foreign_claim(spec.get("claimRef", b"{}"), context)
        return super().members_down(members, context)


@dataclass(frozen=True)
class DeleteOptionsTranslator(ObjectTranslator):
    """The translation of DeleteOptions, which clients send in the group of a custom resource."""

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate options in place and return them."""
        if bytes(members.get(UNSAFE_DELETE, b"false")) == b"true":
            raise forbidden(
                context.resource.group_resource, "", f"{UNSAFE_DELETE} is the platform's to set"
            )
        return super().members_up(members, context)
