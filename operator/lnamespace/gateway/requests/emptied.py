"""Patches that remove all labels or all annotations of an object at once."""

from dataclasses import replace

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import read_request, read_stored
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.answers import error_of
from lnamespace.translate.bodies.emptied_maps import (
    keys_in_maps,
    removed_maps,
    with_each_key_removed,
)
from lnamespace.translate.bodies.encoded import answer_down


async def with_named_removals(upstream: Upstream, call: TenantCall) -> TenantCall:
    """Return a call whose body removes no labels or annotations all at once, but names each.

    What somebody else adds at the same time stays, as it does in a patch that names what it
    removes.

    Raises
    ------
    ClusterError
        The present keys cannot be read.
    """
    if not _removed_maps(call):
        return call
    status, stored = await read_stored(upstream, call)
    if status == 404:
        return name_removals(call, b"")  # so is the patch
    if status != 200:
        raise error_of(status, stored)
    return name_removals(call, answer_down(read_request(call), stored, call.view))


def name_removals(call: TenantCall, stored: bytes) -> TenantCall:
    """Name the keys of the stored object, in tenant spelling; it is empty if there is none."""
    maps = _removed_maps(call)
    if not maps:
        return call
    named = with_each_key_removed(call.body, keys_in_maps(stored, maps))
    return replace(call, changed_body=named)


def _removed_maps(call: TenantCall) -> tuple[str, ...]:
    request = call.request
    if request.verb != "patch" or request.resource.namespaced:
        return ()
    return removed_maps(call.media_type, call.body)
