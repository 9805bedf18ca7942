"""Bodies of requests, answers and watches, in each encoding.

The URL chooses the translator of a body, never the body itself, in which ``kind`` and
``apiVersion`` may be absent.
"""

from collections.abc import Callable
from dataclasses import replace

from msgspec import DecodeError, ValidationError
from msgspec.json import encode

from lnamespace.kube.media_types import APPLY_PATCH, JSON
from lnamespace.nesting import at_any_depth
from lnamespace.translate.bodies.answers import AnswerTranslator, encoded
from lnamespace.translate.bodies.confined import confined_up
from lnamespace.translate.bodies.object_names import refuse_names
from lnamespace.translate.bodies.patches import patch_up, unreadable
from lnamespace.translate.bodies.readable_times import refuse_unreadable_times
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import (
    DELETE_OPTIONS,
    translation_context,
    translator_of,
)
from lnamespace.translate.objects.confinement import confines
from lnamespace.translate.objects.confinement.rules import Path
from lnamespace.translate.objects.default_classes import with_default_class
from lnamespace.translate.objects.managed_fields import leave_managed_fields
from lnamespace.translate.objects.translators import (
    Encoded,
    ForeignObject,
    ObjectTranslator,
    object_of,
    text_of,
)
from lnamespace.translate.protocol.repeated import has_repeated_keys, with_repeated
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.request_json import check_text, json_of_body
from lnamespace.translate.protocol.status import (
    bad_request,
    internal_error,
    not_found,
    request_too_large,
)
from lnamespace.translate.protocol.verbs import CONNECTIONS, DELETION_VERBS
from lnamespace.translate.protocol.yaml_bodies import json_for_yaml

_ADMISSION = "admissionregistration.k8s.io"
MAX_ADMISSION = 256 * 1024
"""Bytes of a body with an admission policy, a binding, or the webhooks of a configuration. A policy
of 3 MB, with 350,000 names of objects, took the thread that all share for three seconds."""
_TOO_DEEP = "an answer of the platform's API server is nested too deeply"


def request_up(
    request: ResourceRequest,
    content_type: str,
    body: bytes,
    view: TenantView,
    owned_by_others: frozenset[Path] = frozenset(),
) -> tuple[str, bytes]:
    """Return the content type and the body of a request in upstream spelling.

    Parameters
    ----------
    owned_by_others
        See :func:`~lnamespace.translate.bodies.patches.patch_up`.

    Raises
    ------
    Refused
        If the body cannot be read, or has a value that the tenant may not write.
    """
    if not body or request.subresource in CONNECTIONS:
        return content_type, body
    if request.resource.group == _ADMISSION and len(body) > MAX_ADMISSION:
        raise request_too_large(f"limit is {MAX_ADMISSION} in {_ADMISSION}")
    media_type = media_type_of(content_type)
    try:
        if request.verb == "patch":
            check_text(media_type, body)
            above = patch_up(request, content_type, body, view, owned_by_others)
        else:
            content_type, above = (
                JSON,
                json_up(request, json_of_body(request, media_type, body), view),
            )
        refuse_unreadable_times(request, above)
    except (RecursionError, ValidationError) as error:
        raise unreadable(error) from error
    return content_type, as_read(media_type, above)


def as_read(media_type: str, body: bytes) -> bytes:
    """Return a body in upstream spelling that the API server reads as the gateway has read it.

    An apply is JSON as any body, but the API server reads it as YAML.
    """
    return json_for_yaml(body) if media_type == APPLY_PATCH else body


def media_type_of(content_type: str) -> str:
    """Return a content type without its parameters; an empty one means JSON."""
    return content_type.partition(";")[0].strip().lower() or JSON


def json_up(request: ResourceRequest, body: bytes, view: TenantView) -> bytes:
    """Return a body in JSON in upstream spelling."""
    written = _request_members(body)
    deletes = request.verb in DELETION_VERBS
    translator: ObjectTranslator = (
        DELETE_OPTIONS if deletes else translator_of(request.resource, request.subresource)
    )
    if not deletes:
        _check(request, written, view)
    members = {**written}
    if request.verb == "create" and not request.subresource:
        members = with_default_class(members, request.resource, view)
    context = translation_context(view, request.resource, request.namespace, whole=not deletes)
    if _reports_repeated_keys(request) and has_repeated_keys(body):
        above = translator.members_up(members, replace(context, repeats=True))
        return encode(with_repeated(body, written, above, translator.rules))
    above = translator.members_up(members, context)
    if request.verb == "update":
        leave_managed_fields(above, context)
    if not deletes:
        above = confined_up(above, request.subresource, context)
    return encoded(above, body)


def _request_members(body: bytes) -> Encoded:
    try:
        members = object_of(body)
    except (DecodeError, RecursionError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    if members is None:
        raise bad_request("couldn't get version/kind; json parse error: the body is no object")
    return members


def _check(request: ResourceRequest, members: Encoded, view: TenantView) -> None:
    """Refuse versions and names that the API server would refuse in tenant spelling."""
    resource = request.resource
    version = text_of(members.get("apiVersion", b"null"))
    expected = f"{resource.group}/{request.version}" if resource.group else request.version
    if resource.custom and not request.subresource and version not in {None, expected}:
        raise bad_request(
            f"the API version in the data ({version}) does not match "
            f"the expected API version ({expected})"
        )
    refuse_names(request, members, view)


def _reports_repeated_keys(request: ResourceRequest) -> bool:
    """Return whether the API server is to see keys that are written twice."""
    resource = request.resource
    written = request.verb in {"create", "update"} and resource.namespaced
    validated = request.parameter("fieldValidation") != "Ignore"
    return written and validated and not confines(resource)


def answer_down(request: ResourceRequest, body: bytes, view: TenantView) -> bytes:
    """Return an answer in JSON in tenant spelling; it is an object, a list or a Status.

    Raises
    ------
    Refused
        Not found, if the answer is an object that is not this tenant's.
    """
    if not body or request.subresource == "proxy":
        return body
    try:
        return at_any_depth(_body_down, request, body, view)
    except RecursionError as error:
        raise internal_error(_TOO_DEEP) from error


def _body_down(request: ResourceRequest, body: bytes, view: TenantView) -> bytes:
    translator = AnswerTranslator(request, view)
    spliced = translator.spliced(body)
    if spliced is not None:
        return spliced
    members = _answer_members(body)
    try:
        return encoded(translator.answer(members), body)
    except ForeignObject as foreign:
        raise not_found(request.resource.group_resource, request.name) from foreign


def events_down(request: ResourceRequest, view: TenantView) -> Callable[[bytes], bytes | None]:
    """Return a function that returns one event of a watch in tenant spelling.

    It takes a line of JSON without its end, and returns None for an event that is not this
    tenant's.
    """
    translator = AnswerTranslator(request, view)

    def event_down(frame: bytes) -> bytes | None:
        try:
            return at_any_depth(_frame_down, translator, frame)
        except RecursionError as error:
            raise internal_error(_TOO_DEEP) from error

    return event_down


def _frame_down(translator: AnswerTranslator, frame: bytes) -> bytes | None:
    spliced = translator.spliced_event(frame)
    if spliced is not None:
        return spliced
    event = translator.event(_answer_members(frame))
    return None if event is None else encoded(event, frame)


def _answer_members(body: bytes) -> Encoded:
    try:
        members = object_of(body)
    except DecodeError as error:
        raise internal_error("an answer of the platform's API server is not JSON") from error
    if members is None:
        raise internal_error("an answer of the platform's API server is no object")
    return members
