"""The API server's questions and our answers (admission.k8s.io/v1 AdmissionReview)."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from lnamespace.admission.decisions.patch import Operation
from lnamespace.errors import ReviewError
from lnamespace.model.lnamespace import KIND
from lnamespace.model.names import Names

API_VERSION = "admission.k8s.io/v1"
_WARNING_MAX = 250
_WARNINGS_MAX = 12
"""The API server cuts a warning at 256 characters and all of them together at 4,096."""


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks, as the API server authenticated them; under impersonation, who is impersonated."""

    username: str = ""
    groups: tuple[str, ...] = ()


class GroupVersionKind(msgspec.Struct, frozen=True):
    """A kind in one version."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What is about to be done; ``object`` is as it will be, ``old_object`` as it is.

    ``kind`` is what was sent to us, ``request_kind`` what the person sent to the API server.
    ``dry_run``: it will not be done in the end.
    """

    uid: Annotated[str, msgspec.Meta(min_length=1)]
    kind: GroupVersionKind
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    user_info: UserInfo = UserInfo()
    name: str = ""
    request_kind: GroupVersionKind | None = None
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool = False

    @property
    def new(self) -> dict[str, Any]:
        """The object as it will be; empty for a deletion."""
        return self.object or {}

    @property
    def old(self) -> dict[str, Any]:
        """The object as it is; empty for a creation."""
        return self.old_object or {}

    @property
    def sent_version(self) -> str:
        """The version in which the person wrote."""
        return (self.request_kind or self.kind).version


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    request: Request


_decoder = msgspec.json.Decoder(_Review)


def read(body: bytes, names: Names) -> Request:
    """The request in a review.

    Raises
    ------
    ReviewError
        It is no AdmissionReview of the version that is spoken here, or of another kind of object.
    """
    try:
        review = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"not an AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise ReviewError(f"expected an AdmissionReview of {API_VERSION}")
    if (review.request.kind.group, review.request.kind.kind) != (names.group, KIND):
        raise ReviewError(f"expected an {KIND} of {names.group}")
    return review.request


def allow(request: Request, warnings: Sequence[str] = (), patch: Sequence[Operation] = ()) -> bytes:
    """The answer that lets it pass, changed by ``patch``."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    if patch:
        encoded = msgspec.json.encode([operation.as_json() for operation in patch])
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(encoded).decode()
    return _answer(response, warnings)


def deny(request: Request, status: dict[str, Any], warnings: Sequence[str] = ()) -> bytes:
    """The answer that refuses it; ``status`` is a meta/v1 Status."""
    return _answer({"uid": request.uid, "allowed": False, "status": status}, warnings)


def _answer(response: dict[str, Any], warnings: Sequence[str]) -> bytes:
    if warnings:
        response["warnings"] = [_shortened(text) for text in warnings[:_WARNINGS_MAX]]
    return msgspec.json.encode(
        {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _WARNING_MAX else text[: _WARNING_MAX - 1] + "…"
