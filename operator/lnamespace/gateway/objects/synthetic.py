"""Answer requests for objects that exist in the gateway alone: nodes, addresses, APIServices."""

import asyncio
import random
from contextlib import suppress

from lnamespace.gateway.requests.answers import answer_encoded
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.translate.objects.synthetic_objects import SyntheticObjects, build_synthetic_objects
from lnamespace.translate.protocol.status import forbidden
from lnamespace.translate.protocol.verbs import READ_VERBS
from lnamespace.translate.requests.headers import NOT_CACHED

_WATCH_SECONDS = 1800
"""The shortest watch of a client that names no time, as of kube-apiserver."""


async def answer_synthetic(call: TenantCall) -> None:
    """Answer a request for synthetic objects.

    Raises
    ------
    Refused
        The object does not exist, the options cannot be read, or the request would write.
    """
    request = call.request
    if request.verb not in READ_VERBS:
        why = "it is published by the platform and read-only"
        raise forbidden(request.resource.group_resource, request.name, why)
    if not request.name:
        for each in ("limit", "timeoutSeconds"):
            call.number(each)
    accept = ",".join(call.exchange.request.values("accept"))
    objects = build_synthetic_objects(request, call.view, accept)
    if request.verb == "watch":
        await _watch(call, objects)
    else:
        await answer_encoded(call, 200, (), objects.one() if request.name else objects.all())


async def _watch(call: TenantCall, objects: SyntheticObjects) -> None:
    """Send the initial events, and end at the timeout, or when the objects have changed.

    The client then resumes at its version, which is too old, and lists again.
    """
    encoding, exchange = call.encoder, call.exchange
    events = list(objects.events())
    await exchange.start(200, (("Content-Type", encoding.stream_content_type), NOT_CACHED))
    for event in events:
        await exchange.send(encoding.encode_event(event))
    with suppress(TimeoutError):
        async with asyncio.timeout(_seconds(call.parameter("timeoutSeconds"))):
            await call.other_resources()
    await exchange.end()


def _seconds(asked: str) -> float:
    known = int(asked[:9]) if asked.isdecimal() else 0
    return known or _WATCH_SECONDS * (1 + random.random())
