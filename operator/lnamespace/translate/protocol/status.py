"""Refusals in Kubernetes' own words: meta/v1 Status.

The words are those of k8s.io/apimachinery/pkg/api/errors, which clients show to people and which
some clients read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.errors import LNamespaceError
from lnamespace.translate.protocol.resources import GroupResource, ResourceType


@dataclass(frozen=True)
class Cause:
    """One field that is wrong: reason, message and path."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True)
class ApiStatus:
    """An answer of kind Status.

    Parameters
    ----------
    details
        ``status.details``: name, group, kind (the plural), causes, retryAfterSeconds.
    """

    code: int
    reason: str
    message: str
    details: Mapping[str, Any] | None = None

    def encode(self) -> bytes:
        """Return the Status as JSON."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            body["details"] = self.details
        return msgspec.json.encode(body | {"code": self.code})


class Refused(LNamespaceError):
    """The refusal of a request of a tenant; ``status`` is the answer."""

    def __init__(self, status: ApiStatus) -> None:
        super().__init__(status.message)
        self.status = status


def _details(resource: GroupResource, name: str = "", **further: Any) -> dict[str, Any]:
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in details.items() if value} | further


def not_found(resource: GroupResource, name: str) -> Refused:
    """Return a refusal because the object does not exist."""
    message = f'{resource} "{name}" not found'
    return Refused(ApiStatus(404, "NotFound", message, _details(resource, name)))


def no_such_path() -> Refused:
    """Return a refusal because nothing is served at a path."""
    message = "the server could not find the requested resource"
    return Refused(ApiStatus(404, "NotFound", message, {}))


def forbidden(resource: GroupResource, name: str, why: str) -> Refused:
    """Return a refusal by authorization or admission."""
    subject = f'{resource} "{name}"' if name else str(resource)
    message = f"{subject} is forbidden: {why}"
    return Refused(ApiStatus(403, "Forbidden", message, _details(resource, name)))


def unauthorized(message: str = "Unauthorized") -> Refused:
    """Return a refusal because the request is not authenticated."""
    return Refused(ApiStatus(401, "Unauthorized", message))


def already_exists(resource: GroupResource, name: str) -> Refused:
    """Return a refusal because an object of the name exists."""
    message = f'{resource} "{name}" already exists'
    return Refused(ApiStatus(409, "AlreadyExists", message, _details(resource, name)))


def conflict(resource: GroupResource, name: str, why: str) -> Refused:
    """Return a refusal because the object is not as the request assumes."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Refused(ApiStatus(409, "Conflict", message, _details(resource, name)))


def bad_request(message: str) -> Refused:
    """Return a refusal of a request that cannot be understood."""
    return Refused(ApiStatus(400, "BadRequest", message))


def method_not_allowed() -> Refused:
    """Return a refusal of an HTTP method that a path does not have."""
    message = "the server does not allow this method on the requested resource"
    return Refused(ApiStatus(405, "MethodNotAllowed", message, {}))


def not_acceptable(message: str) -> Refused:
    """Return a refusal of every encoding that the client accepts."""
    return Refused(ApiStatus(406, "NotAcceptable", message))


def unsupported_media_type(message: str) -> Refused:
    """Return a refusal of the encoding of a request's body."""
    return Refused(ApiStatus(415, "UnsupportedMediaType", message))


def expired(message: str) -> Refused:
    """Return a refusal because a resource version or a continue token is too old."""
    return Refused(ApiStatus(410, "Expired", message))


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> Refused:
    """Return a refusal of an object by some of its fields."""
    described = [f"{cause.field}: {cause.message}" for cause in causes]
    text = described[0] if len(described) == 1 else f"[{', '.join(described)}]"
    whole = f"{kind}.{group}" if group else kind
    details = {
        "name": name,
        "group": group,
        "kind": kind,
        "causes": [
            {"reason": cause.reason, "message": cause.message, "field": cause.field}
            for cause in causes
        ],
    }
    known = {key: value for key, value in details.items() if value}
    return Refused(ApiStatus(422, "Invalid", f'{whole} "{name}" is invalid: {text}', known))


def request_too_large(why: str) -> Refused:
    """Return a refusal of a body that is too large."""
    return Refused(ApiStatus(413, "RequestEntityTooLarge", f"Request entity too large: {why}"))


def too_many_requests(message: str, seconds: int = 1) -> Refused:
    """Return a refusal with ``Retry-After``."""
    return Refused(ApiStatus(429, "TooManyRequests", message, {"retryAfterSeconds": seconds}))


@dataclass(frozen=True)
class ExceededQuota:
    """A quota that a write would exceed.

    Parameters
    ----------
    quota
        What has the quota.
    word
        What is counted.
    advice
        What to do about it; empty if that is plain.
    """

    quota: str
    word: str
    requested: int
    used: int
    limited: int
    advice: str = ""

    def refusal(self, resource: GroupResource, name: str) -> Refused:
        """Return the refusal of a write, in the words of a ResourceQuota."""
        counts = (("requested", self.requested), ("used", self.used), ("limited", self.limited))
        listed = ", ".join(f"{what}: {self.word}={count}" for what, count in counts)
        advice = f" ({self.advice})" if self.advice else ""
        return forbidden(resource, name, f"exceeded quota: {self.quota}, {listed}{advice}")


def conversion_failed(resource: ResourceType) -> Refused:
    """Return the refusal of objects that nobody has converted, worded like the API server's."""
    return internal_error(
        f"conversion webhook for {resource.group}, Kind={resource.kind} failed: it is asked again "
        f"within two minutes; condition Terminating of CustomResourceDefinition "
        f"{resource.group_resource} says why"
    )


def internal_error(message: str) -> Refused:
    """Return the answer to a request that failed by no fault of its sender."""
    text = f"Internal error occurred: {message}"
    return Refused(ApiStatus(500, "InternalError", text, {"causes": [{"message": message}]}))
