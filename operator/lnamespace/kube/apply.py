"""Does what a plan says, and remembers the answers so that nothing is done twice."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from lnamespace.errors import AlreadyExists, ClusterError, Conflict, NoNamespace, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.objects import (
    DesiredObject,
    Key,
    ManagedMetadata,
    ObservedObject,
    build_finalizer_removal,
    build_patch,
    read_observed,
)
from lnamespace.kube.plan import Action, Create, Delete, Patch, Recreate
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.kube.store import Store


def _stage(action: Action) -> int:
    match action:
        case Patch(want, _) if want.resource is NAMESPACE:
            return 0
        case Delete():
            return 2
        case _:
            return 1


class Applier:
    """Carries out actions, at most ``concurrency`` requests at a time over all callers."""

    def __init__(
        self,
        client: Client,
        stores: Mapping[Resource, Store[ObservedObject]],
        managed_metadata: ManagedMetadata,
        concurrency: int,
    ) -> None:
        self._client = client
        self._stores = stores
        self._marks = managed_metadata
        self._slots = asyncio.Semaphore(concurrency)

    async def apply(self, actions: Iterable[Action]) -> list[ClusterError]:
        """Do them, as many at once as can be; one that fails stops no other.

        A Namespace that is being adopted comes first, for policies look at its labels when
        something is made in it; deletions come last. Returns the failures.
        """
        failures = []
        for _, stage in groupby(sorted(actions, key=_stage), key=_stage):
            failures += await self._all(list(stage))
        return failures

    async def refresh(self, places: Iterable[tuple[Resource, Key]]) -> list[ClusterError]:
        """Get again what stands in our places by somebody else's hand, where no watch tells of it.

        It may have been changed or deleted since. Namespaces are watched whosever they are.
        """
        known = ((place, self._stores[place[0]].get(place[1])) for place in places)
        outside = [
            self.look(*place)
            for place, seen in known
            if seen and not seen.watched and place[0] is not NAMESPACE
        ]
        return [error for found in await asyncio.gather(*outside) for error in found]

    async def look(self, resource: Resource, key: Key) -> list[ClusterError]:
        """See whether something is there, whatever the watch has told. Returns the failure."""
        try:
            await self._look(resource, key)
        except ClusterError as error:
            return [error]
        return []

    async def _all(self, actions: Sequence[Action]) -> list[ClusterError]:
        if len(actions) == 1:
            return [error] if (error := await self._try(actions[0])) else []
        results = await asyncio.gather(*map(self._try, actions))
        return [error for error in results if error]

    async def _try(self, action: Action) -> ClusterError | None:
        try:
            async with self._slots:
                await self._do(action)
        except ClusterError as error:
            return error
        return None

    async def _do(self, action: Action) -> None:
        match action:
            case Create(want):
                await self._create(want)
            case Patch(want, seen):
                await self._patch(want, seen)
            case Delete(resource, seen):
                await self._delete(resource, seen)
            case Recreate(want, seen):
                await self._delete(want.resource, seen)
                await self._create(want)

    async def _create(self, want: DesiredObject) -> None:
        namespace, _ = want.key
        body = msgspec.json.encode(want.object)
        try:
            answer = await self._client.create(want.resource.path(namespace=namespace), body)
        except AlreadyExists:
            # Not known to us: its label was taken away, or the watch is behind. Look, plan again.
            await self._look(want.resource, want.key)
            raise
        except NotFound as error:
            raise NoNamespace(str(error), status=404) from error
        self._stores[want.resource].learn(read_observed(answer, self._marks))

    async def _look(self, resource: Resource, key: Key) -> None:
        namespace, name = key
        known = self._stores[resource].get(key)
        with self._stores[resource].looking(key) as look:
            try:
                answer = await self._client.get(resource.path(name, namespace))
            except NotFound:
                if known:
                    self._stores[resource].forget(key, known.version)
                return
            self._stores[resource].meet(read_observed(answer, self._marks), look)

    async def _patch(self, want: DesiredObject, seen: ObservedObject) -> None:
        namespace, name = want.key
        body = msgspec.json.encode(build_patch(want, seen, self._marks))
        try:
            answer = await self._client.patch(want.resource.path(name, namespace), body)
        except NotFound as error:
            self._stores[want.resource].forget(seen.key, seen.version)
            raise Conflict("deleted while it was being changed", status=404) from error
        self._stores[want.resource].learn(read_observed(answer, self._marks))

    async def _delete(self, resource: Resource, seen: ObservedObject) -> None:
        namespace, name = seen.key
        path = resource.path(name, namespace)
        try:
            if seen.has_finalizers:
                body = msgspec.json.encode(build_finalizer_removal(seen.uid))
                seen = read_observed(await self._client.patch(path, body), self._marks)
            await self._client.delete(path, seen.uid, seen.version)
        except NotFound:
            pass
        self._stores[resource].forget(seen.key, seen.version)
