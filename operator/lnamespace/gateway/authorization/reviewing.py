"""Answer access reviews and token reviews inside a tenant's cluster."""

from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from lnamespace.gateway.requests.answers import answer_encoded, answer_json
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.messages import Headers
from lnamespace.kube.media_types import JSON
from lnamespace.kube.times import present_time
from lnamespace.rbac.attributes import User
from lnamespace.rbac.reviews import AUTHENTICATION, AUTHORIZATION, ReviewAnswers
from lnamespace.rbac.token_reviews import token_review_down
from lnamespace.translate.protocol.create_options import confirm_create_options
from lnamespace.translate.protocol.encodings import UNREADABLE
from lnamespace.translate.protocol.protobuf.strictness import unknown_fields
from lnamespace.translate.protocol.quoting import go_quote
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.request_json import json_of_body
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import bad_request

TOKEN_REVIEWS = GroupResource(AUTHENTICATION, "tokenreviews")
REVIEW_GROUPS = (AUTHENTICATION, AUTHORIZATION)
_MAX_UNKNOWN: Final = 16
_MAX_PATH: Final = 256
"""The API server cuts a warning at 256 characters, and all together at 4,096."""
_REVIEWS_PATH = "/apis/authentication.k8s.io/v1/tokenreviews?fieldValidation=Ignore"


@dataclass(frozen=True)
class Reviewer:
    """A handler of access reviews and token reviews."""

    upstream: Upstream

    async def answer(self, call: TenantCall, tenant: ServedTenant, user: User) -> bool:
        """Answer a review; return whether the call was one."""
        request = call.request
        resource = request.resource.group_resource
        if request.verb != "create" or request.subresource or resource.group not in REVIEW_GROUPS:
            return False
        confirm_create_options(request)
        body = json_of_body(request, call.media_type, call.body)
        warnings = unknown_field_warnings(request, body)
        if resource == TOKEN_REVIEWS:
            await self._review_token(call, body, tenant, warnings)
            return True
        now = present_time()
        found = ReviewAnswers(tenant.authorizer, user, now).answer(
            resource, request.namespace, body
        )
        if found is None:
            return False
        await answer_encoded(call, 201, warnings, found)
        return True

    async def _review_token(
        self, call: TenantCall, body: bytes, tenant: ServedTenant, warnings: Headers
    ) -> None:
        headers = (*call.headers, ("content-type", JSON))
        response = await self.upstream.send(
            "POST", _REVIEWS_PATH, UpstreamIdentity(), headers, body
        )
        answer = await response.read()
        if response.status != 201:
            await answer_json(call, response.status, response.headers, answer)
            return
        down = token_review_down(
            answer, call.view, tenant.namespaces, tenant.cluster.spec.revoked_credentials
        )
        await answer_encoded(call, 201, (*response.headers, *warnings), down)


def unknown_field_warnings(request: ResourceRequest, body: bytes) -> Headers:
    """Return a warning for each of the first fields of a review that its kind does not have.

    Raises
    ------
    Refused
        BadRequest: there are such fields, and the client wants none.
    """
    validation = request.parameter("fieldValidation") or "Warn"
    if validation not in ("Strict", "Warn"):
        return ()
    resource = request.resource
    try:
        subject = msgspec.json.decode(body)
    except UNREADABLE:
        return ()  # it is refused when it is decoded
    api_version = f"{resource.group}/{request.version}"
    # One header for each of the 300,000 fields of a body was more than any client takes.
    unknown = islice(unknown_fields(api_version, resource.kind, subject), _MAX_UNKNOWN)
    texts = [f"unknown field {go_quote(each[:_MAX_PATH])}" for each in unknown]
    if texts and validation == "Strict":
        raise bad_request(
            f'{resource.kind} in version "{request.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(texts)}"
        )
    return tuple(("warning", f"299 - {go_quote(each)}") for each in texts)
