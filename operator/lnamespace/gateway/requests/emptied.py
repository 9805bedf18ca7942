"""Patches that remove all labels or all annotations of an object at once."""

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import read_request, read_stored
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.answers import error_of
from lnamespace.translate.bodies.emptied_maps import (
    keys_in_maps,
    removed_maps,
    with_each_key_removed,
)
from lnamespace.translate.bodies.encoded import answer_down, media_type_of


async def with_named_removals(upstream: Upstream, call: TenantCall) -> bytes:
    """Return the body of a call; one that removes all labels or annotations names each of them.

    What somebody else adds at the same time stays, as it does in a patch that names what it
    removes.

    Raises
    ------
    ClusterError
        The present keys cannot be read.
    """
    request, sent = call.request, call.exchange.request
    if request.verb != "patch" or request.resource.namespaced:
        return sent.body
    maps = removed_maps(media_type_of(sent.value("content-type")), sent.body)
    if not maps:
        return sent.body
    response = await read_stored(upstream, call)
    stored = await response.read()
    if response.status == 404:
        return with_each_key_removed(sent.body, dict.fromkeys(maps, ()))  # so is the patch
    if response.status != 200:
        raise error_of(response.status, stored)
    below = answer_down(read_request(call), stored, call.view)
    return with_each_key_removed(sent.body, keys_in_maps(below, maps))
