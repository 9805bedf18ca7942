"""The annotation ``last-applied-configuration`` of kubectl.

It is data of the tenant, but the API server writes it too: after a server-side apply by kubectl it
has the applied object in upstream spelling, with all fields that the gateway added.
"""

from collections.abc import Callable

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import name_of
from lnamespace.translate.objects.translators import (
    Encoded,
    ForeignObject,
    object_at,
    object_of,
    text_at,
)

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MARK = LAST_APPLIED.encode()


def last_applied_down(
    members: Encoded, context: TranslationContext, item_down: Callable[[Encoded], Encoded]
) -> Encoded:
    """Return an object in upstream spelling whose annotation is in tenant spelling.

    Parameters
    ----------
    item_down
        Returns an object in tenant spelling; raises ForeignObject for another's.
    """
    metadata = members.get("metadata", b"")
    if _MARK not in bytes(metadata) or context.tenant_bytes not in bytes(metadata):
        return members
    found = object_of(metadata) or {}
    annotations = object_at(found, "annotations")
    text = text_at(annotations, LAST_APPLIED)
    try:
        applied = object_of(Raw(text.encode()))
    except (DecodeError, RecursionError):
        return members
    if applied is None or not _is_upstream(applied, name_of(members), context):
        return members
    try:
        below = encode(item_down(applied)).decode()
    except ForeignObject:
        return members
    annotations[LAST_APPLIED] = below + "\n" if text.endswith("\n") else below
    return members | {"metadata": Raw(encode(found | {"annotations": annotations}))}


def _is_upstream(applied: Encoded, name: str, context: TranslationContext) -> bool:
    """Return whether an object is in upstream spelling, by its namespace or its own name."""
    if not context.resource.namespaced:
        return name_of(applied) == name
    namespace = text_at(object_at(applied, "metadata"), "namespace")
    return namespace.startswith(context.view.prefix)
