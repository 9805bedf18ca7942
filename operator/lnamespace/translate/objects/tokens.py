"""Secrets with the token of a ServiceAccount, which contain its namespace."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass

from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import WholeObjectTranslator
from lnamespace.translate.objects.translators import Encoded, object_at, text_at

TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secrets


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
