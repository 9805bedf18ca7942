"""The process around the controller, by kopf: signals, graceful end.

The only module that imports kopf. kopf watches nothing here, for its watch does not tell of
deletions that it missed (docs/decisions/0002-own-reflector.md).
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Any

import kopf

from lnamespace.controller.controller import Controller
from lnamespace.kube.client import Access, Client, connect
from lnamespace.runtime.probes import serve_probes
from lnamespace.settings import Settings

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Run the controller until a signal asks it to end.

    Raises
    ------
    LNamespaceError
        It cannot run; the message says why.
    """
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        access = Access(settings.kubeconfig, settings.context)
        client = await stack.enter_async_context(connect(access))
        controller = Controller(client, settings)
        await stack.enter_async_context(serve_probes(settings.health_listen, controller.probes))
        work = asyncio.create_task(controller.run())
        work.add_done_callback(lambda _: stop.set())
        await kopf.operator(
            registry=_registry(client, work),
            settings=_settings(),
            clusterwide=True,
            stop_flag=stop,
        )
        if not work.cancelled():
            work.result()  # It ended by itself: raises why.


def _registry(client: Client, work: asyncio.Task[None]) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(**client.credentials())

    @kopf.on.cleanup(registry=registry)
    async def end(**_: Any) -> None:
        log.info("stopping")
        # Here, for kopf waits five seconds for tasks that it finds running after this.
        work.cancel()
        await asyncio.wait([work])

    return registry


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.process.ultimate_exiting_timeout = 25
    return settings
