"""Patches in upstream spelling; each goes up as the kind of patch that it is.

A merge patch, a strategic merge patch and an apply are parts of an object: they are translated by
the object's own translator. None of them can remove a value that the object must have upstream.
"""

from typing import Any

from msgspec import DecodeError, ValidationError
from msgspec.json import Decoder, encode

from lnamespace.kube.media_types import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from lnamespace.translate.bodies.answers import encoded
from lnamespace.translate.bodies.json_patch import json_patch_up
from lnamespace.translate.bodies.object_names import refuse_names
from lnamespace.translate.bodies.partial_objects import PartialBody
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import translation_context, translator_of
from lnamespace.translate.objects.confinement import Form, confine, confines
from lnamespace.translate.objects.confinement.rules import Path
from lnamespace.translate.objects.translators import Encoded, object_of, text_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import (
    ApiStatus,
    Refused,
    bad_request,
    unsupported_media_type,
)
from lnamespace.translate.protocol.yaml_bodies import to_json

PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
CUSTOM_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""Custom resources have no strategic merge patch."""
_FORMS = {MERGE_PATCH: Form.MERGE, STRATEGIC_MERGE_PATCH: Form.STRATEGIC}

_decode = Decoder(dict[str, Any]).decode


def patch_up(
    request: ResourceRequest,
    content_type: str,
    body: bytes,
    view: TenantView,
    owned_by_others: frozenset[Path] = frozenset(),
) -> bytes:
    """Return the body of a PATCH in upstream spelling; an apply in YAML becomes one in JSON.

    Parameters
    ----------
    owned_by_others
        Required fields that an apply need not have, because another manager owns them.

    Raises
    ------
    Refused
        If the type is not served, the body cannot be read, or it has a value that the tenant may
        not write.
    """
    media_type = content_type.partition(";")[0].strip()
    served = CUSTOM_PATCH_TYPES if request.resource.custom else PATCH_TYPES
    if media_type not in served:
        raise _unsupported(request)
    try:
        if media_type == JSON_PATCH:
            return json_patch_up(request, body, view)
        if media_type in _FORMS:
            return _part_up(request, body, view, _FORMS[media_type])
        return _apply_up(request, to_json(body), view, owned_by_others)
    except (RecursionError, ValidationError) as error:
        raise unreadable(error) from error


def unreadable(error: RecursionError | ValidationError) -> Refused:
    """Return the refusal of a body that is JSON but cannot be decoded.

    A pointer of 600 keys in a JSON patch is too deep as well: its value is confined at its place.
    Values of confined kinds are decoded, in which a number of thousands of digits is out of range.
    """
    why = str(error) if isinstance(error, ValidationError) else "it is nested too deeply"
    return bad_request(f"the object cannot be read: {why}")


def _apply_up(
    request: ResourceRequest, body: bytes, view: TenantView, owned_by_others: frozenset[Path]
) -> bytes:
    """Return an apply, with the required fields that are missing."""
    members = _members(body)
    _check_version(request, members)
    refuse_names(request, members, view)
    return _translated(request, members, body, view, Form.APPLY, owned_by_others)


def _part_up(request: ResourceRequest, body: bytes, view: TenantView, form: Form) -> bytes:
    members = _members(body)
    context = translation_context(view, request.resource, request.namespace, whole=False)
    translator = translator_of(request.resource, request.subresource)
    part = PartialBody(context, strategic=form is Form.STRATEGIC)
    if part.replaces(members):
        form = Form.WHOLE
    prepared = part.prepared(members, translator)
    return _translated(request, _members(encode(prepared)), body, view, form)


def _translated(
    request: ResourceRequest,
    members: Encoded,
    body: bytes,
    view: TenantView,
    form: Form,
    owned_by_others: frozenset[Path] = frozenset(),
) -> bytes:
    resource, subresource = request.resource, request.subresource
    context = translation_context(view, resource, request.namespace, whole=form.complete)
    above = translator_of(resource, subresource).members_up(members, context)
    if confines(resource):
        above = confine(resource, subresource, _decode(encode(above)), view, form, owned_by_others)
    return encoded(above, body)


def _members(body: bytes) -> Encoded:
    try:
        members = object_of(body)
    except (DecodeError, RecursionError) as error:
        raise _undecodable(str(error)) from error
    if members is None:
        raise _undecodable("it is no object")
    return members


def _undecodable(why: str) -> Refused:
    return bad_request(f"error decoding patch: {why}")


def _unsupported(request: ResourceRequest) -> Refused:
    """Return the API server's refusal of a patch type."""
    if not request.resource.custom:
        message = "415: Unsupported Media Type"
        return Refused(ApiStatus(415, "UnsupportedMediaType", message, {}))
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(CUSTOM_PATCH_TYPES)
    )


def _check_version(request: ResourceRequest, members: Encoded) -> None:
    """Refuse another version than the URL's: the API server's message would show the prefix."""
    resource = request.resource
    found = text_of(members.get("apiVersion", b"null"))
    expected = f"{resource.group}/{request.version}"
    if resource.custom and not request.subresource and found not in {None, expected}:
        raise bad_request(
            "Incorrect version specified in apply patch. "
            f"Specified patch version: {found}, expected: {expected}"
        )
