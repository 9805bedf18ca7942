"""The API server's secondary authorization checks, for a tenant's users."""

from collections.abc import Mapping

import msgspec

from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import read_request, read_stored
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.metadata import PartialMetadata, PartialObject
from lnamespace.rbac.attributes import Attributes, User
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.secondary import (
    confirm_connection,
    confirm_existing,
    confirm_signer,
    may_create,
    needs_signer,
)
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.protocol.status import not_found


async def confirm_secondary(
    upstream: Upstream, call: TenantCall, authorizer: Authorizer, user: User, attributes: Attributes
) -> Mapping[str, str]:
    """Refuse a request that needs a further right which the user does not have.

    Returns
    -------
    Mapping[str, str]
        Preconditions that bind a write to the present object: if its writer may not create one,
        or may approve for its signer.

    Raises
    ------
    Refused
        The user does not have that right.
    UpstreamRefused
        The object that it depends on cannot be read.
    """
    confirm_connection(authorizer, user, attributes)
    preconditions = {}
    if not may_create(authorizer, user, attributes, call.media_type):
        stored = await stored_object(upstream, call)
        confirm_existing(authorizer, user, attributes, exists=bool(stored))
        preconditions = {"uid": metadata_of(stored).uid}
    if needs_signer(attributes):
        stored = await stored_object(upstream, call)
        if not stored:
            # A request that is created right now would be approved unchecked.
            raise not_found(call.request.resource.group_resource, call.request.name)
        confirm_signer(authorizer, user, attributes, stored)
        # A new request of the same name may be for another signer.
        preconditions = {"uid": metadata_of(stored).uid}
    return preconditions


async def stored_object(upstream: Upstream, call: TenantCall) -> bytes:
    """Return the object that a call is about in tenant spelling; empty if there is none.

    Raises
    ------
    UpstreamRefused
        The object cannot be read.
    """
    status, body = await read_stored(upstream, call)
    if status == 404:
        return b""
    if status != 200:
        raise UpstreamRefused(status, (), body)
    return answer_down(read_request(call), body, call.view)


def metadata_of(stored: bytes) -> PartialMetadata:
    """Return the metadata of an object that the API server has stored."""
    return msgspec.json.decode(stored, type=PartialObject).metadata
