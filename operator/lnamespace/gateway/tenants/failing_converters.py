"""Keep Kubernetes from waiting for kinds of tenants that cannot be listed (decision 0066).

Kubernetes lists every kind before a namespace is gone, and its quota controller before it starts.
A kind whose conversion webhook fails cannot be listed. It is marked as one of which nothing can be
created; then its webhook is not asked any more, so that it can be listed, by Kubernetes alone: what
nobody has converted is neither shown to its tenant nor written. From time to time it is tried
whether the webhook converts again.
"""

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lnamespace.errors import ClusterError, ServerFault, Throttled, Unreachable
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.conversion_marks import mark, tenant_of_definition, unmark
from lnamespace.gateway.tenants.conversion_paths import set_verbatim
from lnamespace.gateway.tenants.object_counts import listed_path
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.answers import error_of
from lnamespace.kube.client import Client
from lnamespace.kube.media_types import METADATA_LIST
from lnamespace.runtime.lifecycle import wait_at_most
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.labels import UNCONVERTED
from lnamespace.translate.protocol.percent import encode_query
from lnamespace.translate.protocol.resources import ResourceType

EVERY, EVERY_MARKED = 5.0, 30.0
"""Seconds between two looks at a kind that fails, and at one that is marked."""
PATIENCE = 30.0
"""Seconds for which a kind may fail: the pod of a webhook is replaced in less."""
SHORT_PATIENCE = 5.0
"""Seconds for which it may fail if one of the LCluster was marked lately."""
LONGEST_TRIAL_WAIT = 120.0
"""Seconds after which it is tried again at the latest whether a webhook converts."""
_EPISODE = 60.0
"""Seconds in which marks count as one: an operator may have twenty definitions and one webhook."""
_PATIENT_EPISODES = 3
"""Where an LCluster had more lately, its definitions are marked as soon as they fail."""
HELD, _LONGEST_HELD = 30.0, 3600.0
"""Seconds for which a definition is marked at least: twice as long each time, up to an hour."""
_REMEMBERED = 6 * 3600.0
"""Seconds for which it counts that a definition was marked."""
_UNREACHED = 90.0
"""Seconds for which a failure counts in a namespace in which the gateway cannot look again."""
_ANSWER_SECONDS = 10.0
_AT_ONCE = 16
_PERSON = "lnamespace-gateway"
_HEADERS = (("accept", METADATA_LIST),)
_HEAD_BYTES = 16 * 1024
_CONTINUE = re.compile(rb'"metadata":\{[^{}]*"continue":"([^"]+)"')
"""The token for the next page, which stands before the objects of a list."""

_LABEL = f'"{UNCONVERTED}":'.encode()

log = logging.getLogger(__name__)


@dataclass
class _Suspect:
    """A definition whose webhook has failed.

    Parameters
    ----------
    since
        When it was first noticed.
    unreached
        When it last failed in a namespace in which the gateway cannot look.
    """

    since: float
    why: str = "it does not answer"
    unreached: float = float("-inf")


@dataclass
class FailingConverters:
    """The definitions of tenants whose conversion webhooks fail.

    Every replica does so for the failures that it sees, and looks at those that are marked.
    """

    tenants: Tenants
    upstream: Upstream
    client: Client
    now: Callable[[], float] = time.monotonic
    _suspects: dict[str, _Suspect] = field(default_factory=dict)
    _sound: dict[str, float] = field(default_factory=dict)
    """When each definition was last seen to be listed."""
    _marks: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each mark was first seen, by the definition and the time that it bears."""
    _trials: dict[str, int] = field(default_factory=dict)
    """How often it was tried, by any replica, whether the webhook of a definition converts."""
    _generations: dict[str, int] = field(default_factory=dict)
    """The generation in which each definition was last seen unconverted: a trial makes two."""
    _impatient: asyncio.Event = field(default_factory=asyncio.Event)
    _looked: dict[str, float] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _slots: dict[str, asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(_AT_ONCE))
    )
    """Of each tenant: one whose kinds take long to list holds up its own alone."""

    def failed(
        self, tenant: ServedTenant, resource: ResourceType, namespaces: Iterable[str], why: str
    ) -> None:
        """Record that a webhook has failed to convert objects in some namespaces."""
        name = tenant.view.crd_name_up(str(resource.group_resource))
        now = self.now()
        if not resource.namespaced or now - self._sound.get(name, float("-inf")) < PATIENCE:
            return
        if name not in self._suspects and not self._patience(name):
            self._impatient.set()
        suspect = self._suspects.setdefault(name, _Suspect(now))
        suspect.why = why or suspect.why
        if any(tenant.namespaces.closed(each) for each in namespaces):
            suspect.unreached = now

    async def run(self) -> None:
        """Look at the definitions that have failed and at those that are marked, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._impatient.clear()
                group.create_task(self.look())
                await wait_at_most(self._impatient, EVERY)

    async def look(self) -> None:
        """Mark the definitions that cannot be listed; remove the mark of those that can."""
        unconverted = self._unconverted()
        marks, now = self.tenants.marked_definitions(), self.now()
        self._marks |= {each: now for each in marks.items() if each not in self._marks}
        self._marks = {
            each: at
            for each, at in self._marks.items()
            if now - at < _REMEMBERED or each in marks.items()
        }
        self._sound = {each: at for each, at in self._sound.items() if now - at < PATIENCE}
        self._notice_trials(unconverted)
        known = marks.keys() | self._suspects.keys() | unconverted
        self._looked = {each: at for each, at in self._looked.items() if each in known}
        waits = dict.fromkeys(known, 0.0) | dict.fromkeys(marks, EVERY_MARKED)
        waits |= {each: self._trial_wait(each) for each in unconverted & marks.keys()}
        due = [each for each in sorted(known - self._busy) if self._is_due(each, waits[each])]
        self._busy.update(due)
        retained = self.tenants.retained_definitions()
        looks = (self._look_at(each, marks) for each in due)
        await asyncio.gather(*looks, *(self._leave(each) for each in retained))

    def _notice_trials(self, unconverted: frozenset[str]) -> None:
        """Begin to wait anew where another replica has tried: twelve would try all the time."""
        lately = {name for name, _ in self._marks} | unconverted
        self._trials = {each: n for each, n in self._trials.items() if each in lately}
        self._generations = {each: n for each, n in self._generations.items() if each in lately}
        for name in unconverted:
            generation = self.tenants.generation_of(name)
            if self._generations.get(name) != generation:
                self._generations[name] = generation
                self._trials[name] = self._trials.get(name, 0) + 1
                self._looked[name] = self.now()

    def _unconverted(self) -> frozenset[str]:
        """Return the names upstream of the definitions whose webhooks are not asked to convert."""
        return frozenset(
            tenant.view.crd_name_up(str(kind))
            for tenant in self.tenants
            for kind in tenant.view.unconverted
        )

    def _is_due(self, name: str, wait: float) -> bool:
        return self.now() - self._looked.get(name, float("-inf")) >= wait

    def _trial_wait(self, name: str) -> float:
        return min(EVERY_MARKED * self._trials.get(name, 1), LONGEST_TRIAL_WAIT)

    async def _look_at(self, name: str, marks: Mapping[str, str]) -> None:
        self._looked[name] = self.now()
        try:
            async with self._slots[tenant_of_definition(name)]:
                await self._check(name, marks)
        finally:
            self._busy.discard(name)

    async def _check(self, name: str, marks: Mapping[str, str]) -> None:
        found = self._find(name)
        try:
            if found is None:
                self._suspects.pop(name, None)
            elif found[1].group_resource in found[0].view.unconverted:
                await self._try(name, marked=name in marks)
            else:
                await self._judge(name, marks, await self._is_listed(name, *found))
        except ClusterError as error:
            about = {"definition": name, "error": str(error)}
            log.warning("a definition whose conversion fails was not looked at", extra=about)

    async def _try(self, name: str, *, marked: bool) -> None:
        """Have a webhook asked again; the next look shows whether it converts."""
        self._looked.pop(name, None)  # the trial is looked at as soon as possible
        if not marked:
            # Its tenant has taken the mark off: nothing may be created while nobody converts.
            await self._mark(name)
            return
        await set_verbatim(self.client, name, verbatim=False)

    async def _leave(self, name: str) -> None:
        """Have nobody asked to convert what an LCluster has left behind."""
        try:
            await set_verbatim(self.client, name, verbatim=True)
        except ClusterError as error:
            about = {"definition": name, "error": str(error)}
            log.warning("a definition of a former LCluster was not changed", extra=about)

    async def _judge(self, name: str, marks: Mapping[str, str], listed: bool | None) -> None:
        if listed:
            await self._listed(name, marks.get(name, ""))
        elif listed is False:
            await self._failing(name, marked=name in marks)
        else:
            self._looked.pop(name, None)

    async def _listed(self, name: str, marked: str) -> None:
        self._suspects.pop(name, None)
        self._sound[name] = self.now()
        if marked and self.now() - self._marks[name, marked] >= self._held(name):
            await unmark(self.client, name)
            log.info("a conversion webhook of an LCluster converts again", extra=_about(name))

    async def _failing(self, name: str, *, marked: bool) -> None:
        suspect = self._suspects.setdefault(name, _Suspect(self.now()))
        if marked:
            await set_verbatim(self.client, name, verbatim=True)
        elif self.now() - suspect.since >= self._patience(name):
            await self._mark(name)

    async def _mark(self, name: str) -> None:
        """Let nothing be created any more, and then have its webhook not asked.

        In the other order, something created in between would be stored as nobody has converted it.
        """
        suspect = self._suspects.setdefault(name, _Suspect(self.now()))
        await mark(self.client, name, suspect.why)
        await set_verbatim(self.client, name, verbatim=True)
        log.warning("a conversion webhook of an LCluster fails", extra=_about(name))

    def _find(self, name: str) -> tuple[ServedTenant, ResourceType] | None:
        tenant = self.tenants.get(tenant_of_definition(name))
        below = tenant and tenant.view.crd_name_down(name)
        if not tenant or not below or tenant.terminating:
            return None
        plural, _, group = below.partition(".")
        resource = tenant.view.resources.by_plural(group, plural)
        return (tenant, resource) if resource and resource.versions else None

    async def _is_listed(
        self, name: str, tenant: ServedTenant, resource: ResourceType
    ) -> bool | None:
        """Return whether Kubernetes can list a kind; None if that cannot be said now."""
        suspect = self._suspects.get(name)
        if suspect and self.now() - suspect.unreached < _UNREACHED:
            return False
        try:
            for namespace in tenant.namespaces.all():
                await self._list(tenant.view, resource, namespace)
        except (ServerFault, TimeoutError):
            return False
        except (Unreachable, Throttled):
            return None
        except ClusterError as error:
            # The namespace or the kind has just gone.
            return None if error.status in (403, 404, 410) else False
        return True

    async def _list(self, view: TenantView, resource: ResourceType, namespace: str) -> None:
        """List the objects of a namespace, page by page; raise the error of the first that fails.

        Where an object is one that nobody has converted, the API server has not noticed yet that
        the webhook is to be asked again: that says nothing.

        Only the beginning of a page is kept, with the token for the next one: ``list_pages`` would
        hold pages of 8 MiB, of sixteen kinds of each tenant at once.
        """
        path = listed_path(view, resource, namespace)
        identity = UpstreamIdentity(view.tenant, _PERSON)
        query: tuple[tuple[str, str], ...] = (("limit", "500"),)
        while query:
            async with asyncio.timeout(_ANSWER_SECONDS):
                target = f"{path}?{encode_query(query)}"
                response = await self.upstream.send("GET", target, identity, _HEADERS)
                head, unconverted = await _read_page(response)
            if response.status != 200:
                raise error_of(response.status, head)
            if unconverted:
                raise Throttled("not converted yet", status=429)
            more = _CONTINUE.search(head)
            query = (("limit", "500"), ("continue", more[1].decode())) if more else ()

    def _episodes(self, name: str) -> int:
        """Return how often definitions of the same LCluster were marked in the last hours."""
        tenant = tenant_of_definition(name)
        own = (at for (each, _), at in self._marks.items() if tenant_of_definition(each) == tenant)
        return len({at // _EPISODE for at in own})

    def _patience(self, name: str) -> float:
        episodes = self._episodes(name)
        if episodes > _PATIENT_EPISODES:
            return 0.0
        return SHORT_PATIENCE if episodes else PATIENCE

    def _held(self, name: str) -> float:
        doublings = min(self._episodes(name) - 1, 10)
        return min(HELD * 2.0**doublings, _LONGEST_HELD)


async def _read_page(response: UpstreamResponse) -> tuple[bytes, bool]:
    """Read an answer; return its beginning, and whether it has an object that nobody converted.

    A tenant's objects may have any size.
    """
    head, end, unconverted = bytearray(), b"", False
    try:
        while data := await response.take():
            head += data[: _HEAD_BYTES - len(head)]
            unconverted = unconverted or _LABEL in end + data
            end = bytes(data[-len(_LABEL) :])
    finally:
        response.close()
    return bytes(head), unconverted


def _about(definition: str) -> dict[str, str]:
    return {"lcluster": tenant_of_definition(definition), "definition": definition}
