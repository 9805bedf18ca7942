"""Convert bodies of requests to JSON."""

from lnamespace.kube import media_types
from lnamespace.translate.protocol import protobuf, yaml_bodies
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import bad_request, unsupported_media_type
from lnamespace.translate.protocol.verbs import DELETION_VERBS


def json_of_body(request: ResourceRequest, media_type: str, body: bytes) -> bytes:
    """Return the JSON of an object, or of the options of a deletion.

    Parameters
    ----------
    media_type
        The content type without its parameters.

    Raises
    ------
    Refused
        With 415 if objects are not read in this encoding, or not this kind in protobuf; with 400
        if the body is malformed.
    """
    match media_type:
        case media_types.JSON:
            check_text(media_type, body)
            return body
        case media_types.YAML:
            return yaml_bodies.to_json(body)
        case media_types.PROTOBUF if not request.resource.custom or request.verb in DELETION_VERBS:
            api_version, kind = _default_kind(request)
            return protobuf.to_json(body, api_version=api_version, kind=kind)
    accepted = [media_types.JSON, media_types.YAML]
    if not request.resource.custom:
        accepted.append(media_types.PROTOBUF)
    raise unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)}"
    )


def check_text(media_type: str, body: bytes) -> None:
    """Refuse JSON that is no UTF-8, which decoders read differently."""
    if not media_type.endswith("json"):
        return
    try:
        body.decode()
    except UnicodeDecodeError as error:
        problem = f"invalid UTF-8 at byte {error.start}"
        raise bad_request(f"couldn't get version/kind; json parse error: {problem}") from error


def _default_kind(request: ResourceRequest) -> tuple[str, str]:
    """Return the version and kind that the API server assumes for a body without them."""
    if request.verb in DELETION_VERBS:
        return "v1", "DeleteOptions"
    if request.subresource not in {"", "status"}:
        return "", ""
    group = request.resource.group
    version = f"{group}/{request.version}" if group else request.version
    return version, request.resource.kind
