"""The process around the controller: signals, graceful end."""

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import partial

from lnamespace.controller.controller import Controller
from lnamespace.http.probes import serve_probes
from lnamespace.kube.connection import Access, connect
from lnamespace.runtime.lifecycle import set_at_signals, stop_event
from lnamespace.settings import Settings

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Run the controller until a signal asks it to end.

    Raises
    ------
    LNamespaceError
        The controller cannot start; the message says why.
    """
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = stop_event()
    async with AsyncExitStack() as stack:
        access = Access(settings.kubeconfig, settings.context)
        client = await stack.enter_async_context(connect(access))
        controller = Controller(client, settings, partial(set_at_signals, stop))
        await stack.enter_async_context(serve_probes(settings.health_listen, controller.probes))
        work = asyncio.create_task(controller.run())
        work.add_done_callback(lambda _: stop.set())
        await stop.wait()
        if not work.done():
            log.info("stopping")
            work.cancel()
            await asyncio.wait([work])
        if not work.cancelled():
            work.result()  # It ended by itself: this raises its error.
