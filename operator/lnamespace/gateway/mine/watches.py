"""Watches that span the caller's namespaces, for as long as they have rights there."""

import asyncio
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from lnamespace.gateway.fairness.in_flight import WatchCount, WatchCounts
from lnamespace.gateway.lists.empty_answers import empty_replay
from lnamespace.gateway.lists.merged_lists import first_failure
from lnamespace.gateway.lists.pages import read_page
from lnamespace.gateway.mine.calls import WITHOUT_ANY, MineCall
from lnamespace.gateway.mine.rights import Resumption
from lnamespace.gateway.mine.spans import deleted_event, gone_namespace
from lnamespace.gateway.requests.answers import UpstreamRefused, send_events, use_websocket
from lnamespace.gateway.watches.merged_watches import MergedWatch
from lnamespace.gateway.watches.resuming import NOWHERE, ResumeLog
from lnamespace.gateway.watches.watch_requests import MemberRequest, WatchRequest
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.media_types import JSON
from lnamespace.translate.protocol.list_options import SELECTORS
from lnamespace.translate.protocol.request import Query
from lnamespace.translate.protocol.status import ApiStatus, Refused, expired

_AT_A_TIME = 8
_LONGEST = 3600
"""Seconds that a watch lasts at most."""
_AS_LIST: Query = (
    ("watch", ""),
    ("resourceVersion", ""),
    ("resourceVersionMatch", ""),
    ("timeoutSeconds", ""),
    ("allowWatchBookmarks", ""),
    ("sendInitialEvents", ""),
)
"""Parameters of a watch that are left out of the list before it."""
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ENDED = "too old resource version: your rights in a namespace have ended"
_UNKNOWN = "too old resource version: your rights in a namespace may have ended since"


class _OwnAccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _OwnAccess(msgspec.Struct, frozen=True):
    status: _OwnAccessStatus = _OwnAccessStatus()


@dataclass(frozen=True)
class MineWatcher:
    """A handler of watches, each from one watch for each namespace."""

    log: ResumeLog
    counts: WatchCounts = field(default_factory=partial(WatchCounts, "you have"))

    async def watch(self, call: MineCall) -> None:
        """Answer a watch until its time is over or the client is gone.

        Raises
        ------
        Refused
            The watch cannot be had; nothing has been answered.
        ClusterError
            The API server does not answer; nothing has been answered.
        """
        namespaces = frozenset(call.namespaces())
        with self.counts.counted(call.caller.account, max(len(namespaces), 1)) as count:
            use_websocket(call.exchange, call.encoder, call.usage)
            permitted = await permitted_namespaces(call, namespaces)
            await _SpanningWatch(call, self.log, count, namespaces, permitted).answer()


async def permitted_namespaces(call: MineCall, namespaces: frozenset[str]) -> frozenset[str]:
    """Return the namespaces in which the caller may watch the resource.

    Raises
    ------
    Refused
        The caller may watch in no namespace.
    UpstreamRefused
        The API server refuses to answer.
    """
    if call.of_namespaces:
        return namespaces
    turns = asyncio.Semaphore(_AT_A_TIME)

    async def asked(namespace: str) -> bool:
        async with turns:
            return call.recently_granted(namespace) or await _may_watch(call, namespace)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = {
                each: group.create_task(call.usage.metered(asked(each))) for each in namespaces
            }
    except BaseExceptionGroup as failed:
        # A group of failures was an internal error.
        raise first_failure(failed) from None
    found = frozenset(each for each, task in tasks.items() if task.result())
    if namespaces and not found:
        what, user = call.request.resource.group_resource, call.caller.user
        message = (
            f'{what} is forbidden: User "{user}" cannot watch resource "{what.plural}" in API '
            f'group "{what.group}" in any namespace of their LNamespaces'
        )
        raise Refused(ApiStatus(403, "Forbidden", message, {}))
    return found


async def _may_watch(call: MineCall, namespace: str) -> bool:
    resource = call.request.resource
    attributes = {
        "namespace": namespace,
        "verb": "watch",
        "group": resource.group,
        "resource": resource.plural,
    }
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    response = await call.platform.as_caller.review(_REVIEWS, question, call.caller.credentials)
    answer = await response.read()
    if response.status != 201:
        raise UpstreamRefused(response.status, response.headers, answer)
    return msgspec.json.decode(answer, type=_OwnAccess).status.allowed


class _SpanningWatch:
    """One watch of a client, to which namespaces are added and removed as rights change."""

    def __init__(
        self,
        call: MineCall,
        log: ResumeLog,
        count: WatchCount,
        held: frozenset[str],
        permitted: frozenset[str],
    ) -> None:
        self._call = call
        self._count = count
        self._known = set(held)
        """The namespaces with rights of the caller, as far as this watch has followed."""
        self._watched = set(permitted)
        self._opened: set[str] = set()
        self._changed = asyncio.Event()
        asked = WatchRequest.from_request(call.request, call.caller.owner)
        self._replays_nothing = asked.initial_events and asked.bookmarks and not permitted
        self._replays = asked.initial_events and bool(permitted)
        request = replace(
            asked,
            initial_events=self._replays,
            # The API server is not asked again whether the login has ended.
            seconds=min(asked.seconds, _LONGEST),
        )
        self._merged = MergedWatch(request, self._open, log, call.usage, count.opening)
        resumes = request.version not in ("", "0") and not request.initial_events
        self._resumption = self._resumed(request, log) if resumes else Resumption()

    def _resumed(self, request: WatchRequest, log: ResumeLog) -> Resumption:
        """Return the namespaces whose events must be sent to the client again.

        The log of sent events shows them; after a restart, resource versions do.
        """
        rights, subjects = self._call.rights, self._call.caller.subjects
        reached = log.positions_at(request.key, request.version)
        if reached is None:
            return rights.resumption(subjects, request.version)
        joined = frozenset(each for each in self._watched if not reached.get(each))
        # Held rights do not show it: the right to watch this may have been bound by hand.
        lost = NOWHERE in reached.values() or not reached.keys() <= self._watched
        return Resumption(joined, lost)

    async def answer(self) -> None:
        """Answer until the time is over or the client is gone.

        Raises
        ------
        Refused
            The client knows of namespaces in which the rights have ended: it has to list again.
        UpstreamRefused
            The API server refuses the watch.
        """
        call, joined = self._call, self._resumption.joined & self._watched
        if self._resumption.lost:
            raise expired(_UNKNOWN)
        first = b""
        if self._replays_nothing:
            version = await call.platform.version()
            first = empty_replay(call.request, call.accept, version)
        stop = call.rights.listen(call.caller.subjects, self._changed.set)
        self._changed.set()  # Rights may have changed while they were asked about.
        self._merged.begin(sorted(self._watched - joined))
        for namespace in sorted(joined):
            self._merged.join(namespace)
        keeper = asyncio.create_task(self._keep())
        try:
            # A refusal of the API server must be one here, and not a stream that ends at once.
            await self._merged.wait_begun()
            await self._send(first)
        finally:
            stop()
            keeper.cancel()
            self._merged.close()

    async def _keep(self) -> None:
        """Add and remove namespaces as rights change."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                held = frozenset(self._call.namespaces())
                joined, left = held - self._known, self._known - held
                self._known = set(held)
                # All of them were counted, also those that could not be watched.
                self._count.add(-len(left))
                gone = left & self._watched
                # This waits for no turn: rights end at once also for a caller that uses much.
                self._revoke(gone)
                await self._call.usage.metered(self._send_membership_changes(gone, joined))
        except Exception as error:  # noqa: BLE001 - who reads the events raises it
            self._merged.fail(error)

    def _revoke(self, namespaces: AbstractSet[str]) -> None:
        self._watched -= namespaces
        for namespace in namespaces:
            self._merged.revoke(namespace)
        # We do not know which objects were sent to the client. And no watch would be left to end
        # the initial events of Namespaces.
        waits = self._replays and not self._watched
        if namespaces and (waits or not self._call.of_namespaces):
            raise expired(_ENDED)

    async def _send_membership_changes(
        self, gone: AbstractSet[str], joined: AbstractSet[str]
    ) -> None:
        """Send events of the Namespaces that are gone, and of those that joined."""
        for namespace in sorted(gone):
            if line := await self._deletion(namespace):
                self._merged.send_last(namespace, line)
        for namespace in sorted(joined):
            self._join(namespace)

    def _join(self, namespace: str) -> None:
        if not self._count.has_room():
            self._merged.end()
            return
        self._watched.add(namespace)
        if self._merged.join(namespace):
            self._count.add()

    async def _deletion(self, namespace: str) -> bytes:
        """Return the DELETED event of a Namespace; empty if the client does not know of it."""
        call = self._call
        if namespace not in self._merged.shown and not await self._selects(namespace):
            return b""
        version = call.rights.ended(call.caller.subjects, namespace)
        # The name alone: after the end of the rights the caller may not see the Namespace.
        return deleted_event(gone_namespace(namespace, call.accept), str(version))

    async def _selects(self, namespace: str) -> bool:
        """Return whether a client that resumes may know of a Namespace, by its selectors."""
        if not any(self._call.request.parameter(each) for each in SELECTORS):
            return True
        plain = replace(self._call, accept=JSON)
        selected = await (await plain.send(namespace, _AS_LIST)).read()
        return read_page(selected).count > 0

    async def _open(self, member: MemberRequest) -> UpstreamResponse:
        call, namespace = self._call, member.namespace
        response = await call.send(namespace, member.parameters, lasting=True)
        if response.status == 404:
            response.close()
            raise expired("too old resource version: the resource is not served any more")
        if response.status == 403 and not call.recently_granted(namespace):
            if namespace in self._opened:
                self._merged.fail(expired(_ENDED))
            # A namespace in which the caller may watch other things, but not this.
            self._merged.leave(namespace)
        elif response.status == 200:
            self._opened.add(namespace)
        return response

    async def _send(self, first: bytes) -> None:
        exchange, encoding = self._call.exchange, self._call.encoder
        content_type = ("Content-Type", encoding.stream_content_type)
        await exchange.start(200, (content_type, *(() if self._known else WITHOUT_ANY)))
        if first:
            await exchange.send(encoding.encode_event(first))
        await send_events(exchange, encoding, self._merged.lines(), lambda line: line)
