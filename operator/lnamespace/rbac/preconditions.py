"""Bind a write to the stored object for which it was checked.

What a patch of a Role or a binding grants depends on the stored object. The gateway asks the API
server for the result (``dryRun=All``), checks it, and sends the patch with a precondition: it
changes that version of the object, or fails with a Conflict.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lnamespace.kube.media_types import JSON_PATCH
from lnamespace.translate.protocol.encodings import UNREADABLE
from lnamespace.translate.protocol.patch_directives import PATCH, RETAIN_KEYS
from lnamespace.translate.protocol.status import bad_request

_DIRECTIVES = frozenset({PATCH, RETAIN_KEYS})


def with_preconditions(content_type: str, body: bytes, preconditions: Mapping[str, str]) -> bytes:
    """Return the body of a patch or an update with preconditions in its ``metadata``.

    Parameters
    ----------
    preconditions
        Members of ``metadata``: the ``resourceVersion`` of the object, or its ``uid`` if any
        version is good.
    content_type
        The media type of one of the four patch types, or JSON for an update; no parameters.
    body
        The body as JSON, also in a server-side apply.

    Raises
    ------
    Refused
        BadRequest if the body cannot be read, or has directives about ``metadata`` as a whole.
    """
    if content_type == JSON_PATCH:
        operations = _decoded(body, list[Any])
        # `add` replaces a member; as the last operation it is not undone.
        added = [
            {"op": "add", "path": f"/metadata/{key}", "value": value}
            for key, value in preconditions.items()
        ]
        return msgspec.json.encode([*operations, *added])
    members = _decoded(body, dict[str, Any])
    metadata = members.get("metadata", {})
    if not isinstance(metadata, dict) or _DIRECTIVES & metadata.keys():
        raise bad_request("metadata cannot be replaced as a whole")
    # Another uid that the client names is a condition of its own, and no object is without one.
    kept = {key: each for key, each in metadata.items() if key == "uid" and each}
    return msgspec.json.encode(members | {"metadata": metadata | dict(preconditions) | kept})


def _decoded(patch: bytes, shape: Any) -> Any:
    try:
        return msgspec.json.decode(patch, type=shape)
    except UNREADABLE as error:
        raise bad_request(f"error decoding body: {error}") from error
