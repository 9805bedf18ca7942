"""Write the status of an LNamespace or an LCluster, and Events about it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time_ns
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from lnamespace.controller.status import LIMIT_EXCEEDED, READY, TERMINATING
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.resources import DEFAULT_NAMESPACE, EVENT, Resource
from lnamespace.kube.store import Item, Store
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import CommonObject, CommonStatus, LNamespace


class Reconciled(Item, Protocol):
    """An object in the cache whose status a reconcile writes."""

    @property
    def inputs(self) -> object:
        """Return the inputs of a reconcile, without the status that the reconcile writes itself."""


R = TypeVar("R", bound=Reconciled)


@dataclass(frozen=True)
class StatusWriter(Generic[R]):
    """The writer of the status of the objects of one resource."""

    client: Client
    resource: Resource
    store: Store[R]
    read: Callable[[bytes], R]

    async def write(
        self, target: CommonObject, new: CommonStatus, *, if_unchanged: bool = False
    ) -> R | None:
        """Write a status; return the object then, or None if it is gone.

        Raises
        ------
        ClusterError
            The status could not be written.
        """
        try:
            raw = await replace_status(
                self.client, self.resource, target, new, if_unchanged=if_unchanged
            )
        except NotFound:
            return None
        answer = self.read(raw)
        # Compare with the present cache: the watch may have brought a change meanwhile which the
        # answer undoes, and listeners that saw the first must see the second too.
        known = self.store.get(answer.key)
        notify = known is None or known.inputs != answer.inputs
        self.store.apply_write_response(answer, notify=notify)
        return answer


async def replace_status(
    client: Client,
    resource: Resource,
    target: CommonObject,
    new: CommonStatus,
    *,
    if_unchanged: bool,
) -> bytes:
    """Write the status of an object; return the object then.

    Parameters
    ----------
    if_unchanged
        Whether to write only if the object has not changed since it was read.

    Raises
    ------
    ClusterError
        The status could not be written.
    """
    path = resource.path(target.name, subresource="status")
    # The API server ignores a UID in a merge patch on `/status`: an LNamespace that was deleted and
    # created again under its name got the status of its predecessor, and with it the Namespace.
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": target.uid},
        {"op": "add", "path": "/status", "value": new},
    ]
    if if_unchanged:
        version = target.metadata.resource_version
        operations[1:1] = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
    return await client.patch_json(path, operations)


log = logging.getLogger(__name__)


class EventRecorder:
    """A writer of Events about the objects of one kind; each that cannot be posted is logged."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource

    async def record(self, lns: LNamespace | LCluster, new: CommonStatus) -> None:
        """Post an Event if the new status needs attention by somebody, or needs it no more."""
        before, after = lns.status.condition(READY), new.condition(READY)
        if after is None or (before and before.reason == after.reason):
            return
        if after.reason in (LIMIT_EXCEEDED, TERMINATING):
            return  # There may be thousands, and the user who made or deleted them saw it.
        if after.status == "True" and (before is None or before.status == "True"):
            return
        kind = "Normal" if after.status == "True" else "Warning"
        await self._post(lns, kind, after.reason, after.message)

    async def _post(self, lns: CommonObject, kind: str, reason: str, message: str) -> None:
        now = datetime.now(UTC)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{lns.name}.{time_ns():x}",
                "namespace": DEFAULT_NAMESPACE,
            },
            "involvedObject": {
                "apiVersion": self._resource.api_version,
                "kind": self._resource.kind,
                "name": lns.name,
                "uid": lns.uid,
                "resourceVersion": lns.metadata.resource_version,
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": "lnamespace"},
            "firstTimestamp": now.replace(microsecond=0),
            "lastTimestamp": now.replace(microsecond=0),
            "count": 1,
        }
        try:
            path = EVENT.path(namespace=DEFAULT_NAMESPACE)
            await self._client.create(path, msgspec.json.encode(event))
        except ClusterError as error:
            log.warning("event not posted", extra={"lnamespace": lns.name, "error": str(error)})
