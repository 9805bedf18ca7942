"""Ask again where the API server does not know yet of a RoleBinding that the gateway has seen."""

import asyncio
from collections.abc import Awaitable, Callable

from lnamespace.gateway.http.upstream import UpstreamResponse
from lnamespace.gateway.upstream import ACCOUNT_PREFIX

_PAUSE = 0.05


async def send_until_granted(
    send: Callable[[], Awaitable[UpstreamResponse]], fresh: Callable[[], bool]
) -> tuple[UpstreamResponse, bytes | None]:
    """Return an answer, and its body if it is a refusal (403).

    The API server's authorizer learns of a RoleBinding by a watch of its own, which may be later
    than ours: ``helm install --create-namespace`` was refused its first Secret on a busy machine. A
    request that the authorizer refuses has done nothing, so it can be sent again.

    Parameters
    ----------
    fresh
        Whether the binding is so new that the API server may not know of it.
    """
    while True:
        response = await send()
        if response.status != 403:
            return response, None
        refusal = await response.read()
        if not (fresh() and _lacks_rights(refusal)):
            return response, refusal
        await asyncio.sleep(_PAUSE)


def _lacks_rights(refusal: bytes) -> bool:
    """Return whether the authorizer refused: admission (quotas, policies) names no account."""
    return ACCOUNT_PREFIX.encode() in refusal and b" cannot " in refusal
