"""Retry requests whose RoleBinding the API server's authorizer has not observed yet."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.answers import read_status
from lnamespace.model.names import CLUSTERS_NAMESPACE

_PAUSE = 0.05
_OF_AUTHORIZER = re.compile(
    r'[^\s"]+( "[^\s"]*")? is forbidden: User "system:serviceaccount:'
    rf'{CLUSTERS_NAMESPACE}[a-z0-9-]*:[a-z0-9]+" cannot '
)


async def send_until_granted(
    send: Callable[[], Awaitable[UpstreamResponse]], recently_granted: Callable[[], bool]
) -> UpstreamResponse:
    """Send a request, and send it again while it is refused for a right that is new.

    The API server's authorizer watches RoleBindings too, and its watch may be behind ours: ``helm
    install --create-namespace`` was refused its first Secret on a busy machine. A request that the
    authorizer refuses has done nothing, so it can be sent again.

    Parameters
    ----------
    recently_granted
        Returns whether the binding is so new that the API server may not know of it.
    """
    while True:
        response = await send()
        if response.status != 403:
            return response
        refusal = await response.read()
        if not (recently_granted() and _lacks_rights(refusal)):
            return response
        await asyncio.sleep(_PAUSE)


def _lacks_rights(refusal: bytes) -> bool:
    """Return whether the authorizer refused, by the beginning of the message.

    Tenants write the messages of their webhooks and policies: if a match anywhere in it counted,
    they could cause two hundred repetitions of each request.
    """
    return _OF_AUTHORIZER.match(read_status(refusal).message) is not None
