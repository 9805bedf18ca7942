"""The namespaces of one tenant, and watched objects of the platform's cluster."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from lnamespace.kube.answers import version_of
from lnamespace.kube.objects import Key

NamespaceListener = Callable[[str, bool], None]
"""Called with a namespace in upstream spelling, and whether it exists."""


_GRANT_SECONDS = 10.0
"""Seconds that a request waits until the tenant has its rights in a new namespace."""
_FRESH_SECONDS = 10.0
"""Seconds that the API server's authorizer may be behind our watch of RoleBindings."""


class _WatchedMeta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = "0"
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class _WatchedHead(msgspec.Struct, frozen=True):
    metadata: _WatchedMeta


@dataclass(frozen=True)
class WatchedObject:
    """An object of the platform's cluster: its metadata, and all of it as JSON."""

    namespace: str
    name: str
    version: int
    labels: dict[str, str] = field(compare=False)
    raw: bytes = field(compare=False)
    terminating: bool = field(default=False, compare=False)

    @property
    def key(self) -> Key:
        """Return its namespace and name."""
        return self.namespace, self.name


_object = msgspec.json.Decoder(_WatchedHead)


def read_watched(raw: bytes | msgspec.Raw) -> WatchedObject:
    """Read an object.

    Raises
    ------
    ValueError
        The object has no metadata.
    """
    metadata = _object.decode(raw).metadata
    version = version_of(metadata.resource_version)
    ends = bool(metadata.deletion_timestamp)
    namespace, name = metadata.namespace, metadata.name
    return WatchedObject(namespace, name, version, metadata.labels, bytes(raw), ends)


class TenantNamespaces:
    """The namespaces of one tenant in upstream spelling, and which of them it may act in."""

    def __init__(self) -> None:
        self._there: set[str] = set()
        self._granted: dict[str, float] = {}
        """When each namespace was granted, by the monotonic clock."""
        self._terminating: set[str] = set()
        self._listeners: set[NamespaceListener] = set()
        self._changed = asyncio.Event()

    def __contains__(self, namespace: object) -> bool:
        return namespace in self._there

    def __len__(self) -> int:
        return len(self._there)

    def all(self) -> list[str]:
        """Return the namespaces that are not closed, in the order in which the API server lists."""
        return sorted(each for each in self._there if not self.closed(each))

    def closed(self, namespace: str) -> bool:
        """Return whether a namespace is terminating, and the tenant's RoleBinding is deleted."""
        return namespace in self._terminating and namespace not in self._granted

    def add(self, namespace: str, *, terminating: bool = False) -> None:
        """Add a namespace, or record that it is terminating."""
        closed = self.closed(namespace)
        if terminating:
            self._terminating.add(namespace)
        if namespace not in self._there:
            self._there.add(namespace)
            self._notify(namespace, present=True)
        self._notify_closed(namespace, closed)

    def remove(self, namespace: str) -> None:
        """Forget a namespace."""
        if namespace in self._there:
            self._there.discard(namespace)
            self._terminating.discard(namespace)
            self._notify(namespace, present=False)

    def grant(self, namespace: str, *, granted: bool) -> None:
        """Record whether the tenant's account is bound in a namespace."""
        closed = self.closed(namespace)
        if granted:
            self._granted.setdefault(namespace, time.monotonic())
        else:
            self._granted.pop(namespace, None)
        self._notify_closed(namespace, closed)
        self._wake()

    def recently_granted(self, namespace: str) -> bool:
        """Return whether the API server may not know yet of the tenant's rights in a namespace."""
        granted = self._granted.get(namespace)
        return granted is not None and time.monotonic() - granted < _FRESH_SECONDS

    async def wait_usable(self, namespace: str, seconds: float = _GRANT_SECONDS) -> bool:
        """Wait until the tenant has its rights in a new namespace; return whether it has."""
        await self._wait_for(lambda: self._is_usable(namespace) or self.closed(namespace), seconds)
        return self._is_usable(namespace)

    def _is_usable(self, namespace: str) -> bool:
        return namespace in self._there and namespace in self._granted

    async def wait_ended(self, namespace: str, seconds: float) -> bool:
        """Wait until a namespace is closed or deleted; return whether it is."""
        return await self._wait_for(
            lambda: namespace not in self._there or self.closed(namespace), seconds
        )

    async def _wait_for(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, or time is over; return whether it holds."""
        if holds():
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    await self._changed.wait()
        return holds()

    def listen(self, listener: NamespaceListener) -> Callable[[], None]:
        """Call a listener at each change; return a function to stop it."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def _notify_closed(self, namespace: str, was_closed: bool) -> None:
        if self.closed(namespace) and not was_closed:
            self._notify(namespace, present=False)

    def _notify(self, namespace: str, *, present: bool) -> None:
        for listener in list(self._listeners):
            listener(namespace, present)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
