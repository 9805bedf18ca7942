"""AdmissionReviews (admission.k8s.io/v1): decode the request, encode the response."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from lnamespace.admission.decisions.patch import PatchOperation
from lnamespace.errors import ReviewError
from lnamespace.model import lcluster
from lnamespace.model.lnamespace import KIND
from lnamespace.model.names import Names
from lnamespace.nesting import at_any_depth

API_VERSION = "admission.k8s.io/v1"
KINDS = (KIND, lcluster.KIND)
_WARNING_MAX = 250
_WARNINGS_MAX = 12
"""The API server cuts a warning at 256 characters and all of them together at 4,096."""


class UserInfo(msgspec.Struct, frozen=True):
    """The caller as authenticated by the API server; under impersonation, the impersonated user."""

    username: str = ""
    groups: tuple[str, ...] = ()


class GroupVersionKind(msgspec.Struct, frozen=True):
    """A kind in one version."""

    group: str = ""
    version: str = ""
    kind: str = ""


class AdmissionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The operation that is under review.

    Parameters
    ----------
    kind
        The kind of the objects here, to which the API server may have converted them.
    request_kind
        The kind that the client sent to the API server.
    object
        The object as it will be; None for a deletion.
    old_object
        The object as it is; None for a creation.
    dry_run
        Whether nothing is stored in the end.
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
        """Return the object as it will be; empty for a deletion."""
        return self.object or {}

    @property
    def old(self) -> dict[str, Any]:
        """Return the object as it is; empty for a creation."""
        return self.old_object or {}

    @property
    def sent_version(self) -> str:
        """Return the version of the API in which the client wrote."""
        return (self.request_kind or self.kind).version


class _AdmissionReview(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    request: AdmissionRequest


_decoder = msgspec.json.Decoder(_AdmissionReview)


def decode_review(body: bytes, names: Names) -> AdmissionRequest:
    """Return the request of an AdmissionReview.

    Raises
    ------
    ReviewError
        The body is not an AdmissionReview of :data:`API_VERSION`, or about
        another kind.
    """
    try:
        review = at_any_depth(_decoder.decode, body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"not an AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise ReviewError(f"expected an AdmissionReview of {API_VERSION}")
    if review.request.kind.group != names.group or review.request.kind.kind not in KINDS:
        raise ReviewError(f"expected an {' or '.join(KINDS)} of {names.group}")
    return review.request


def allow(
    request: AdmissionRequest, warnings: Sequence[str] = (), patch: Sequence[PatchOperation] = ()
) -> bytes:
    """Return the answer that allows the request, with the object changed by ``patch``."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    if patch:
        encoded = msgspec.json.encode([operation.as_json() for operation in patch])
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(encoded).decode()
    return _answer(response, warnings)


def deny(request: AdmissionRequest, status: dict[str, Any], warnings: Sequence[str]) -> bytes:
    """Return the answer that refuses the request; ``status`` is a meta/v1 Status."""
    return _answer({"uid": request.uid, "allowed": False, "status": status}, warnings)


def name_of(manifest: dict[str, Any]) -> str | None:
    """Return ``metadata.name`` of an object that no schema has checked; None if it is no text."""
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else None


def _answer(response: dict[str, Any], warnings: Sequence[str]) -> bytes:
    if warnings:
        response["warnings"] = [_shortened(text) for text in warnings[:_WARNINGS_MAX]]
    return msgspec.json.encode(
        {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _WARNING_MAX else text[: _WARNING_MAX - 1] + "…"
