"""Write the status of an LNamespace or an LCluster, and take the answer into the cache."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from lnamespace.errors import NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Item, Store
from lnamespace.model.lnamespace import CommonObject, CommonStatus


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
        self, of: CommonObject, new: CommonStatus, *, if_unchanged: bool = False
    ) -> R | None:
        """Write a status; return the object then, or None if it is gone.

        Raises
        ------
        ClusterError
            The status could not be written.
        """
        try:
            raw = await replace_status(
                self.client, self.resource, of, new, if_unchanged=if_unchanged
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
    of: CommonObject,
    new: CommonStatus,
    *,
    if_unchanged: bool = False,
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
    path = resource.path(of.name, subresource="status")
    # The API server ignores a UID in a merge patch on `/status`: an LNamespace that was deleted and
    # created again under its name got the status of its predecessor, and with it the Namespace.
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": of.uid},
        {"op": "add", "path": "/status", "value": new},
    ]
    if if_unchanged:
        version = of.metadata.resource_version
        operations[1:1] = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
    return await client.patch_json(path, operations)
