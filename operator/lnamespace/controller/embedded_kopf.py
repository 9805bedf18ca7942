"""kopf inside the controller: it calls handlers with events that a reflector reads.

kopf runs in the event loop of the controller and opens no connection. What it asks of the API
server is answered here: which resources there are, and one watch that never ends, into which go
the events that the reflector reads. Anything else is refused, so that kopf cannot list, write,
post events, add finalizers or peer.

The reflector owns the connection. It knows at once that a watch was interrupted, though kopf may
still hold events that it has not yet handed on.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from functools import wraps
from typing import Any, Self, cast
from urllib.parse import urlsplit

import aiohttp
import kopf
import msgspec

from lnamespace.errors import Unreadable
from lnamespace.kube.answers import decode
from lnamespace.kube.reflector import WatchEvent
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, Resource

STALLED = 30.0
"""Seconds in which kopf must deliver the events that it was given."""

STOPPING = 10.0
"""Seconds in which kopf must stop."""

_CANCEL_AGAIN = 3.0
"""Seconds after which tasks of kopf that did not end are cancelled again.

A task can miss a cancellation that arrives together with the result it awaits. The time is longer
than kopf lets handlers finish.
"""

_VERBS = ["list", "watch", "patch"]

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOTHING = msgspec.Raw(b"null")

Handler = Callable[..., Awaitable[None]]


class EmbeddedKopf:
    """A kopf operator that handles the events of one resource.

    Register handlers in ``registry``, each wrapped by :meth:`delivers`. ``on_start`` is called
    when kopf has started, for it takes over the signal handlers of the process.
    """

    def __init__(self, resource: Resource, on_start: Callable[[], object] = lambda: None) -> None:
        self.registry = kopf.OperatorRegistry()
        self._resource = resource
        self._on_start = on_start
        self._run: _Run | None = None
        kopf.on.login(registry=self.registry)(self.login)

    def delivers(self, handler: Handler) -> Handler:
        """Count the events that a handler was called with, and note if it fails.

        kopf would log the failure and go on without the event.
        """

        @wraps(handler)
        async def counted(**arguments: Any) -> None:
            run = self._current()
            try:
                await handler(**arguments)
            except Exception as error:  # noqa: BLE001 - raised where the watch is read
                run.fail(f"an event could not be handled: {error!r}")
            run.delivered += 1

        return counted

    async def handle(self, events: AsyncIterator[WatchEvent]) -> None:
        """Pass events to kopf until the watch ends; raise its error at once.

        Raises
        ------
        Unreadable
            kopf failed, or stalled: events may be lost.
        """
        if self._run is None:
            self._run = _Run(self.registry, self._on_start)
        run = self._run
        reading = asyncio.create_task(run.read(events))
        either: list[asyncio.Future[Any]] = [reading, run.failed]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        if run.failed.done():
            raise Unreadable(run.failed.result())
        reading.result()

    async def stop(self) -> None:
        """Stop kopf, after it has delivered the events that it was given.

        Raises
        ------
        RuntimeError
            kopf does not stop: only the end of the process ends it.
        """
        if self._run is not None:
            await self._run.stop()
            self._run = None

    def _current(self) -> "_Run":
        if self._run is None:
            raise RuntimeError("kopf is not running")
        return self._run

    async def login(self, **_: Any) -> kopf.AiohttpSession:
        """Return a session that kopf uses like a connection to the API server."""
        run = self._current()
        session = _Session(self._resource, run.events, run.fail)
        return kopf.AiohttpSession(
            server="http://embedded", aiohttp_session=cast("aiohttp.ClientSession", session)
        )


class _Run:
    """One run of kopf, from its start to its end."""

    def __init__(self, registry: kopf.OperatorRegistry, on_start: Callable[[], object]) -> None:
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        """The events for kopf, as lines of JSON."""
        self.given = 0
        self.delivered = 0
        self.failed: asyncio.Future[str] = asyncio.Future()
        """The reason for which kopf delivers nothing any more."""
        self._registry = registry
        self._on_start = on_start
        self._stopping = asyncio.Event()
        # It is never cancelled: kopf would leave tasks running that it does not track.
        self._task = asyncio.create_task(self._operate())

    def fail(self, why: str) -> None:
        """Note that events may be lost."""
        if not self.failed.done():
            self.failed.set_result(why)

    async def read(self, events: AsyncIterator[WatchEvent]) -> None:
        """Pass events to kopf."""
        async for event in events:
            shown = _without_managed_fields(event.object)
            line = b'{"type":"%b","object":%b}\n' % (event.type.encode(), shown)
            self.events.put_nowait(line)
            self.given += 1

    async def stop(self) -> None:
        """Return when kopf has ended; raises if it does not."""
        self._stopping.set()
        _, running = await asyncio.wait([self._task], timeout=STOPPING)
        if running:
            raise RuntimeError("kopf does not stop")

    async def _operate(self) -> None:
        try:
            # `kopf.operator` would cancel every task of this process that was created after it.
            tasks = await kopf.spawn_tasks(
                registry=self._registry, settings=_settings(), clusterwide=True
            )
        except Exception as error:  # noqa: BLE001 - raised where the watch is read
            self.fail(f"kopf does not start: {error!r}")
            return
        self._on_start()
        stopping = asyncio.create_task(self._stopping.wait())
        self.fail(await self._supervise({*tasks, stopping}))
        await _end({*tasks, stopping})

    async def _supervise(self, tasks: Collection[asyncio.Task[Any]]) -> str:
        """Wait until kopf delivers nothing any more; return the reason."""
        while True:
            due = self.given
            ended, _ = await asyncio.wait(
                tasks, timeout=STALLED, return_when=asyncio.FIRST_COMPLETED
            )
            for task in ended:
                return f"kopf ended: {task.get_name()}: {_reason(task)}"
            if self.delivered < due:
                return f"kopf has not handed on {due - self.delivered} events"


class _Session:
    """A session that kopf uses like a connection to the API server."""

    closed = False

    def __init__(
        self, resource: Resource, events: asyncio.Queue[bytes], fail: Callable[[str], None]
    ) -> None:
        self.headers = {"User-Agent": "kopf"}
        self._watch = resource.path()
        self._discovery = _discovery(NAMESPACE, CUSTOM_RESOURCE_DEFINITION, resource)
        self._events = events
        self._fail = fail

    async def request(self, method: str, url: str, **_: object) -> "_Response":
        """Answer a discovery or a watch; refuse anything else."""
        split = urlsplit(url)
        if method.upper() == "GET":
            watched = split.path == self._watch and "watch=true" in split.query
            if watched or split.path in self._discovery:
                return _Response(self._discovery.get(split.path), self._events)
        # kopf would log it, and ignore the next events of the object for a while.
        self._fail(f"kopf is not to {method} {url}")
        raise PermissionError(f"{method} {url}")

    async def close(self) -> None:
        """Close nothing."""


class _Response:
    """An answer to kopf."""

    status = 200

    def __init__(self, document: object, events: asyncio.Queue[bytes]) -> None:
        self._document = document
        self._events = events
        self.content = self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""

    def close(self) -> None:
        """Close nothing."""

    async def json(self) -> object:
        """Return the document that was asked for."""
        return self._document

    async def iter_chunked(self, _: int) -> AsyncIterator[bytes]:
        """Yield the events of the watch; it has no end."""
        # kopf takes the type from events that come before the first bookmark of a watch.
        yield b'{"type":"BOOKMARK","object":{"metadata":{}}}\n'
        while True:
            yield await self._events.get()


def _without_managed_fields(raw: msgspec.Raw) -> bytes:
    """Return an object without its managed fields.

    They are the largest part, and a writer of the object may nest them deeper than kopf reads JSON:
    one such event ended kopf, and with it the watch.
    """
    members = decode(_members, raw)
    metadata = decode(_members, members.get("metadata", _NOTHING))
    metadata.pop("managedFields", None)
    return msgspec.json.encode(members | {"metadata": metadata})


def _discovery(*resources: Resource) -> dict[str, object]:
    """Return the discovery documents of an API server with these resources, by path."""
    groups = {r.group: r.version for r in resources if r.group}
    found: dict[str, object] = {
        "/api": {"versions": ["v1"]},
        "/apis": {
            "groups": [
                {
                    "name": group,
                    "versions": [{"version": version}],
                    "preferredVersion": {"version": version},
                }
                for group, version in groups.items()
            ]
        },
    }
    for r in resources:
        described = {
            "name": r.plural,
            "singularName": r.kind.lower(),
            "kind": r.kind,
            "namespaced": r.namespaced,
            "verbs": _VERBS,
        }
        found[r.path().rpartition("/")[0]] = {"resources": [described]}
    return found


def _reason(task: asyncio.Task[Any]) -> str:
    return "cancelled" if task.cancelled() else repr(task.exception())


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=_CANCEL_AGAIN)


class _NoDiffs(kopf.DiffBaseStorage):
    """A store of last states that keeps none: event handlers are not given the differences.

    Otherwise kopf copies each object twice, which took longer than everything else.
    """

    def build(self, **_: Any) -> Any:
        """Return a state that is the same for all objects."""
        return {}

    def fetch(self, **_: Any) -> None:
        """Return None: no last state is kept."""

    def store(self, **_: Any) -> None:
        """Write nothing."""


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.persistence.diffbase_storage = _NoDiffs()
    # kopf removes its finalizer from objects; a random name matches none.
    settings.persistence.finalizer = f"unused.invalid/{uuid.uuid4()}"
    # kopf must not list: the reflector does, and sends kopf all objects by the watch.
    settings.watching.initial_streaming = True
    # The reflector ends a watch that is silent for too long.
    settings.watching.inactivity_timeout = 3600
    settings.queueing.idle_timeout = 1
    # Otherwise kopf kills the process some time after it was stopped; only kopf is to stop.
    settings.process.ultimate_exiting_timeout = None
    return settings
