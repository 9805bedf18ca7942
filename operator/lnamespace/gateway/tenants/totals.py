"""Ask the controller for a larger share of a quota, and retry the request for a moment.

A namespace has a share of each total of ``spec.quota``, and the API server enforces the share
alone. A request that it refuses may be within the total: an Event asks the controller to move the
unused share of other namespaces. A request over the total is refused at once, with the total.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from lnamespace.access.quota_refusals import (
    REFUSAL_REASON,
    REQUEST_COMPONENT,
    ShareRefusal,
    read_refusal,
    waiting_message,
)
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube import answers
from lnamespace.kube.media_types import JSON
from lnamespace.kube.resources import EVENT, RESOURCE_QUOTA
from lnamespace.kube.times import present_time
from lnamespace.model.names import SHARE_QUOTA
from lnamespace.model.quantities import (
    Amounts,
    ShownTotals,
    format_amount,
    format_amounts,
    parse_amounts,
)

_PAUSE = 0.1
_SECONDS = 5.0
"""Seconds that a request waits for a share, which the controller moves in some tenths of one."""
_ASK_AGAIN = 0.5
"""Seconds after which a request asks again: others may have used the share that was moved."""

Answer = tuple[UpstreamResponse, bytes]


@dataclass
class TenantTotals:
    """The totals of one tenant, and the usage of each of its namespaces.

    Parameters
    ----------
    totals
        The totals of ``spec.quota``; empty if there are none.
    used
        The used amounts of the shares' ResourceQuotas, by namespace in upstream spelling.
    """

    totals: Amounts = field(default_factory=dict)
    used: dict[str, Amounts] = field(default_factory=dict)

    def used_of(self, resource: str) -> int:
        """Return how much of a total all namespaces use together."""
        return sum(each.get(resource, 0) for each in self.used.values())

    def shown(self) -> ShownTotals:
        """Return the totals and their use as quantities."""
        used = {each: self.used_of(each) for each in self.totals}
        return ShownTotals(format_amounts(self.totals), format_amounts(used))

    def has_room(self, refusal: ShareRefusal) -> bool:
        """Return whether the refused request would be within the totals."""
        return all(
            resource in self.totals and self.used_of(resource) + requested <= self.totals[resource]
            for resource, requested in refusal.requested.items()
        )

    def refusal_message(self, message: str, refusal: ShareRefusal) -> str:
        """Return the message of a refusal with the totals instead of the share."""
        parts = {
            "requested": refusal.requested,
            "used": {each: self.used_of(each) for each in refusal.requested},
            "limited": {each: self.totals.get(each, 0) for each in refusal.requested},
        }
        counts = ", ".join(f"{word}: {_listed(amounts)}" for word, amounts in parts.items())
        head = message.partition(f"exceeded quota: {SHARE_QUOTA}")[0]
        why = " (moving what other namespaces do not use: try again)"
        return f"{head}exceeded quota: {SHARE_QUOTA}, {counts}" + (
            why if self.has_room(refusal) else ""
        )


def _listed(amounts: Amounts) -> str:
    return ",".join(f"{each}={format_amount(each, amounts[each])}" for each in sorted(amounts))


class _UsedStatus(msgspec.Struct, frozen=True):
    used: dict[str, str] = {}


class _UsedQuota(msgspec.Struct, frozen=True):
    status: _UsedStatus = _UsedStatus()


_used = msgspec.json.Decoder(_UsedQuota)


def read_used(raw: bytes) -> Amounts:
    """Decode the used amounts of a ResourceQuota."""
    return parse_amounts(answers.decode(_used, raw).status.used)


async def send_within_total(
    upstream: Upstream,
    call: TenantCall,
    totals: TenantTotals,
    send: Callable[[], Awaitable[UpstreamResponse]],
) -> Answer:
    """Send a request; send it again while it exceeds its share and not the total.

    Raises
    ------
    ClusterError
        The API server does not answer.
    """
    until, asked = time.monotonic() + _SECONDS, 0.0
    while True:
        response = await send()
        body = await response.read(call.usage.reserve)
        refused = response.status == 403 and totals.totals
        message = answers.read_status(body).message if refused else ""
        refusal = read_refusal(message)
        if refusal is None:
            return response, body
        if not totals.has_room(refusal) or time.monotonic() > until:
            answer = msgspec.json.decode(body)
            answer["message"] = totals.refusal_message(message, refusal)
            return response, msgspec.json.encode(answer)
        if time.monotonic() > asked + _ASK_AGAIN:
            await _ask(upstream, call, message)
            asked = time.monotonic()
        await asyncio.sleep(_PAUSE)


async def _ask(upstream: Upstream, call: TenantCall, message: str) -> None:
    """Create the Event of a refusal for the controller, as Kubernetes' controllers do.

    The tenant reads it too, and nothing has failed yet.
    """
    namespace = call.view.namespace_up(call.request.namespace)
    now = present_time()
    quota = {"apiVersion": "v1", "kind": RESOURCE_QUOTA.kind, "name": SHARE_QUOTA}
    event = {
        "metadata": {"generateName": f"{SHARE_QUOTA}.", "namespace": namespace},
        "involvedObject": quota | {"namespace": namespace},
        "reason": REFUSAL_REASON,
        "message": waiting_message(message)[:1024],
        "type": "Normal",
        "source": {"component": REQUEST_COMPONENT},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    path, headers = EVENT.path(namespace=namespace), (("content-type", JSON), ("accept", JSON))
    response = await upstream.send("POST", path, call.identity, headers, msgspec.json.encode(event))
    await response.read()
