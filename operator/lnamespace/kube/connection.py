"""Connect to the cluster that is configured, and renew the credentials."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes.aio import config
from kubernetes.aio.client import Configuration
from yaml import YAMLError

from lnamespace import errors
from lnamespace.kube.client import Client

_RENEWAL_PAUSE = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Access:
    """A kubeconfig and its context; if both are empty, those of kubectl, or the pod's own."""

    kubeconfig: str = ""
    context: str = ""


@asynccontextmanager
async def connect(access: Access) -> AsyncIterator[Client]:
    """Connect as configured; while the client is open, renew credentials that expire.

    Raises
    ------
    SettingsError
        There is no usable configuration.
    """
    configuration = Configuration()
    try:
        renewal = await _configure(configuration, access)
    except (config.ConfigException, OSError) as error:
        raise errors.SettingsError(f"no usable cluster configuration: {error}") from error
    try:
        async with Client(configuration) as client:
            yield client
    finally:
        renewal.cancel()


async def _configure(configuration: Configuration, access: Access) -> asyncio.Task[None]:
    kubeconfig = access.kubeconfig or os.environ.get("KUBECONFIG", "")
    if not kubeconfig and not access.context and "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        return asyncio.create_task(asyncio.sleep(0))
    path = kubeconfig or f"{os.environ.get('HOME', '')}/.kube/config"
    if not any(map(os.path.exists, path.split(os.pathsep))):
        raise errors.SettingsError(f"no usable cluster configuration: {path}: no such file")
    try:
        loader = await config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=path,
            context=access.context or None,
            client_configuration=configuration,
            persist_config=False,
        )
    except (TypeError, AttributeError, ValueError, YAMLError) as error:
        # The library takes any file for a kubeconfig, and fails at what is missing in it.
        why = f"no usable cluster configuration: {path} is no kubeconfig"
        raise errors.SettingsError(why) from error
    return asyncio.create_task(_renew(loader, configuration))


async def _renew(loader: Any, configuration: Configuration) -> None:
    """Renew credentials that come from a program, also after the program has failed."""
    while True:
        try:
            await config.refresh_token(loader, configuration)  # type: ignore[no-untyped-call]
        except Exception as error:  # noqa: BLE001 - whatever somebody's login program does
            log.warning("credentials not renewed", extra={"error": str(error)})
            await asyncio.sleep(_RENEWAL_PAUSE)
        else:
            return
