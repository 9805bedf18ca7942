"""The annotation ``last-applied-configuration`` of kubectl.

It is data of the tenant, but the API server writes it too: after a server-side apply by kubectl it
has the applied object in upstream spelling, with all fields that the gateway added.
"""

from collections.abc import Callable

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.translate.objects.metadata import name_of
from lnamespace.translate.objects.plans import Encoded, Foreign, Scope, object_of, text_of

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MARK = LAST_APPLIED.encode()


def last_applied_down(
    members: Encoded, scope: Scope, item_down: Callable[[Encoded], Encoded]
) -> Encoded:
    """Return an object in upstream spelling whose annotation is in tenant spelling.

    Parameters
    ----------
    item_down
        Returns an object in tenant spelling; raises Foreign for another's.
    """
    metadata = members.get("metadata", b"")
    if _MARK not in bytes(metadata) or scope.tenant_bytes not in bytes(metadata):
        return members
    found = object_of(metadata) or {}
    annotations = object_of(found.get("annotations", b"null")) or {}
    text = text_of(annotations.get(LAST_APPLIED, b"null")) or ""
    try:
        applied = object_of(Raw(text.encode()))
    except (DecodeError, RecursionError):
        return members
    if applied is None or not _is_upstream(applied, name_of(members), scope):
        return members
    try:
        below = encode(item_down(applied)).decode()
    except Foreign:
        return members
    annotations[LAST_APPLIED] = below + "\n" if text.endswith("\n") else below
    return members | {"metadata": Raw(encode(found | {"annotations": annotations}))}


def _is_upstream(applied: Encoded, name: str, scope: Scope) -> bool:
    """Return whether an object is in upstream spelling, by its namespace or its own name."""
    if not scope.resource.namespaced:
        return name_of(applied) == name
    metadata = object_of(applied.get("metadata", b"{}")) or {}
    namespace = text_of(metadata.get("namespace", b"null")) or ""
    return namespace.startswith(scope.view.prefix)
