"""Record who requested a certificate: upstream, the gateway's account sends every request."""

from typing import Any

import msgspec

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import stored_upstream
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.media_types import APPLY_PATCH
from lnamespace.rbac.reviews import user_info
from lnamespace.translate.objects.confinement.certificates import REQUESTER
from lnamespace.translate.objects.confinement.rules import annotations
from lnamespace.translate.requests.selection import SIGNING_REQUESTS

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


async def kept_requester(upstream: Upstream, call: TenantCall) -> str:
    """Return the requester to write into a CertificateSigningRequest.

    It is empty for a call that keeps the annotation, as most patches do.
    """
    request = call.request
    if request.resource.group_resource != SIGNING_REQUESTS:
        return ""
    applies = request.verb == "patch" and call.media_type == APPLY_PATCH
    if request.verb == "update" or applies:
        found = await stored_upstream(upstream, call)
        if found is not None:
            return str(annotations(found).get(REQUESTER, ""))
    if request.verb == "create" or applies:
        return msgspec.json.encode(user_info(call.user)).decode() if call.user else ""
    return ""


def with_requester(body: bytes, requester: str) -> bytes:
    """Return a request in upstream spelling with its requester."""
    if not requester:
        return body
    subject = _decode_object(body)
    annotations(subject, make=True)[REQUESTER] = requester
    return msgspec.json.encode(subject)
