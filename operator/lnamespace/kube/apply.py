"""Carry out the actions of a plan, and put the answers into the stores."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

import msgspec

from lnamespace.errors import AlreadyExists, ClusterError, Conflict, NoNamespace, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key, ObjectRef
from lnamespace.kube.plan import (
    Create,
    Delete,
    NamespacePatch,
    Patch,
    Recreate,
    Write,
    build_finalizer_removal,
    build_patch,
)
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.kube.state import DesiredObject, ManagedMetadata, ObservedObject, read_observed
from lnamespace.kube.store import Store


def _stage(action: Write) -> int:
    match action:
        case Patch(desired, _) if desired.resource is NAMESPACE:
            return 0
        case NamespacePatch():
            return 0
        case Delete():
            return 2
        case _:
            return 1


class Applier:
    """An executor of actions, with at most ``concurrency`` requests at a time for all callers."""

    def __init__(
        self,
        client: Client,
        stores: Mapping[Resource, Store[ObservedObject]],
        managed: ManagedMetadata,
        concurrency: int,
    ) -> None:
        self._client = client
        self._stores = stores
        self._managed = managed
        self._slots = asyncio.Semaphore(concurrency)

    async def apply(self, actions: Iterable[Write]) -> list[ClusterError]:
        """Carry out actions concurrently and return the failures; a failure stops no other action.

        Patches of a Namespace come first, because admission policies read its labels when an
        object is created in it. Deletions come last.
        """
        failures = []
        for _, stage in groupby(sorted(actions, key=_stage), key=_stage):
            failures += await self._all(list(stage))
        return failures

    async def refresh(self, refs: Iterable[ObjectRef]) -> list[ClusterError]:
        """Read again the objects that our watch does not select; return the failures.

        Another client created them under our names, and may have changed or deleted them since.
        All Namespaces are watched, so they are not read again.
        """
        known = ((ref, self._stores[ref[0]].get(ref[1])) for ref in refs)
        unwatched = [
            self.reread(*ref)
            for ref, observed in known
            if observed and not observed.watched and ref[0] is not NAMESPACE
        ]
        return [error for failures in await asyncio.gather(*unwatched) for error in failures]

    async def reread(self, resource: Resource, key: Key) -> list[ClusterError]:
        """Read one object into its store, whatever the watch has reported; return the failure."""
        try:
            await self._reread(resource, key)
        except ClusterError as error:
            return [error]
        return []

    async def _all(self, actions: Sequence[Write]) -> list[ClusterError]:
        if len(actions) == 1:
            return [error] if (error := await self._try(actions[0])) else []
        results = await asyncio.gather(*map(self._try, actions))
        return [error for error in results if error]

    async def _try(self, action: Write) -> ClusterError | None:
        try:
            async with self._slots:
                await self._do(action)
        except ClusterError as error:
            return error
        return None

    async def _do(self, action: Write) -> None:
        match action:
            case Create(desired):
                await self._create(desired)
            case Patch(desired, observed):
                await self._patch(desired, observed)
            case Delete(resource, observed):
                await self._delete(resource, observed)
            case NamespacePatch(observed, labels, annotations):
                await self._patch_namespace(observed, labels, annotations)
            case Recreate(desired, observed):
                await self._delete(desired.resource, observed)
                await self._create(desired)

    async def _create(self, desired: DesiredObject) -> None:
        namespace, _ = desired.key
        body = msgspec.json.encode(desired.object)
        try:
            answer = await self._client.create(desired.resource.path(namespace=namespace), body)
        except AlreadyExists:
            # The store lacks the object: its label was removed, or the watch is behind.
            await self._reread(desired.resource, desired.key)
            raise
        except NotFound as error:
            raise NoNamespace(str(error), status=404) from error
        self._stores[desired.resource].apply_write_response(read_observed(answer, self._managed))

    async def _reread(self, resource: Resource, key: Key) -> None:
        namespace, name = key
        known = self._stores[resource].get(key)
        with self._stores[resource].lookup(key) as lookup:
            try:
                answer = await self._client.get(resource.path(name, namespace))
            except NotFound:
                if known:
                    self._stores[resource].remove_after_response(key, known.version)
                return
            self._stores[resource].apply_get_response(read_observed(answer, self._managed), lookup)

    async def _patch(self, desired: DesiredObject, observed: ObservedObject) -> None:
        namespace, name = desired.key
        body = msgspec.json.encode(build_patch(desired, observed, self._managed))
        try:
            answer = await self._client.patch(desired.resource.path(name, namespace), body)
        except NotFound as error:
            self._stores[desired.resource].remove_after_response(observed.key, observed.version)
            raise Conflict("deleted while it was being changed", status=404) from error
        self._stores[desired.resource].apply_write_response(read_observed(answer, self._managed))

    async def _patch_namespace(
        self, observed: ObservedObject, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> None:
        store, path = self._stores[NAMESPACE], NAMESPACE.path(observed.key[1])
        metadata = {"uid": observed.uid, "labels": labels, "annotations": annotations}
        body = msgspec.json.encode({"metadata": metadata})
        try:
            answer = await self._client.patch(path, body)
        except NotFound:
            store.remove_after_response(observed.key, observed.version)
            return
        store.apply_write_response(read_observed(answer, self._managed))

    async def _end_namespace(self, observed: ObservedObject) -> None:
        """Delete a Namespace, which ends some time later, and read its state until then."""
        path = NAMESPACE.path(observed.key[1])
        with suppress(NotFound):
            await self._client.delete(path, observed.uid)
        await self._reread(NAMESPACE, observed.key)

    async def _delete(self, resource: Resource, observed: ObservedObject) -> None:
        if resource is NAMESPACE:
            await self._end_namespace(observed)
            return
        namespace, name = observed.key
        path = resource.path(name, namespace)
        try:
            if observed.has_finalizers:
                body = msgspec.json.encode(build_finalizer_removal(observed.uid))
                observed = read_observed(await self._client.patch(path, body), self._managed)
            await self._client.delete(path, observed.uid, observed.version)
        except NotFound:
            pass
        self._stores[resource].remove_after_response(observed.key, observed.version)
