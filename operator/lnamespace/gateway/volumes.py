"""Writes of PersistentVolumes that a provisioner made: only for the tenant whose claim they are.

Their names are the same upstream and do not say whose they are, so that the account by which the
gateway writes cluster-scoped objects could write everybody's.
"""

from dataclasses import replace

from lnamespace.gateway.calls import TenantCall
from lnamespace.gateway.upstream import Upstream
from lnamespace.translate.bodies import answer_down
from lnamespace.translate.media_types import JSON
from lnamespace.translate.status import not_found
from lnamespace.translate.targets import READ_VERBS, is_dynamic_volume, upstream_target


async def confirm_own_volume(upstream: Upstream, call: TenantCall) -> None:
    """Let a call pass unless it writes the volume of somebody else.

    Raises
    ------
    Refused
        Not found, as for a volume that is not there.
    """
    request = call.request
    if request.verb in READ_VERBS or not is_dynamic_volume(request):
        return
    stored = replace(request, verb="get", subresource="", query=())
    target = upstream_target(stored, call.view)
    response = await upstream.send("GET", target, call.acting, (("accept", JSON),))
    body = await response.read()
    if response.status != 200:
        raise not_found(request.resource.group_resource, request.name)
    answer_down(stored, JSON, body, call.view)
