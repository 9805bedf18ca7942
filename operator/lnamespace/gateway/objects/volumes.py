"""PersistentVolumes that a provisioner created for a claim of a tenant.

Their names are the same upstream, and do not name a tenant. The gateway's account may write the
volumes of all tenants, so their claims are checked here. Where no policy of the platform labels
volumes by their tenants, the gateway has to read all of them.
"""

from collections.abc import Callable

from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import read_request, read_stored
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.protocol.status import not_found
from lnamespace.translate.protocol.verbs import READ_VERBS
from lnamespace.translate.requests.targets import is_dynamic_volume

MarkedVolumes = Callable[[str], bool]
"""A function that returns whether all volumes provisioned for a tenant's claims have its label."""


def no_volume_is_marked(_tenant: str) -> bool:
    """Return False: volumes get no label."""
    return False


async def confirm_own_volume(upstream: Upstream, call: TenantCall) -> None:
    """Refuse a write of a volume that is not the tenant's.

    Raises
    ------
    Refused
        Not found, as for a volume that is not there.
    """
    request = call.request
    if request.verb in READ_VERBS or not is_dynamic_volume(request):
        return
    status, body = await read_stored(upstream, call)
    if status != 200:
        raise not_found(request.resource.group_resource, request.name)
    answer_down(read_request(call), body, call.view)
