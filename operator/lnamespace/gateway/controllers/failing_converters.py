"""Keep Kubernetes from waiting for kinds of tenants that cannot be listed (decision 0066).

Kubernetes lists every namespaced kind before a namespace is gone, and its quota controller before
it starts; the garbage collector of 1.30 and 1.31 waits for every kind. A kind whose conversion
webhook fails cannot be listed. It is marked as one of which nothing can be created; then its
webhook is not asked any more, so that it can be listed, by Kubernetes alone: what nobody has
converted is neither shown to its tenant nor written. From time to time it is tried whether the
webhook converts again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lnamespace.errors import ClusterError
from lnamespace.gateway.controllers.checks import DefinitionChecks
from lnamespace.gateway.controllers.listed_kinds import find_kind, list_failure
from lnamespace.gateway.definitions.conversion_marks import (
    log_fields,
    mark,
    tenant_of_definition,
    unmark,
)
from lnamespace.gateway.definitions.conversion_paths import set_verbatim
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.client import Client
from lnamespace.runtime.lifecycle import wait_at_most
from lnamespace.translate.names.webhook_routes import TenantWebhook
from lnamespace.translate.protocol.resources import ResourceType

EVERY, EVERY_MARKED = 5.0, 30.0
"""Seconds between two looks at a kind that fails, and at one that is marked."""
PATIENCE = 30.0
"""Seconds for which a kind may fail: the pod of a webhook is replaced in less."""
SLOW_PATIENCE = 300.0
"""Seconds for which a webhook may be slow: in this time the API server fills a cache."""
BUSY = 10.0
"""Seconds of work of a webhook within a minute after which it is looked at."""
SHORT_PATIENCE = 5.0
"""Seconds for which it may fail if one of the LCluster was marked lately."""
LONGEST_TRIAL_WAIT = 120.0
"""Seconds after which it is tried again at the latest whether a webhook converts."""
PROVEN = 60.0
"""Seconds for which it is not looked at again whether the API server takes what a webhook answers,
or ten times as long as that took, but no longer than the next."""
LONGEST_PROVEN = 300.0
_EPISODE = 60.0
"""Seconds in which marks count as one: an operator may have twenty definitions and one webhook."""
_PATIENT_EPISODES = 3
"""Where an LCluster had more lately, its definitions are marked as soon as they fail."""
HELD, _LONGEST_HELD = 30.0, 3600.0
"""Seconds for which a definition is marked at least: twice as long each time, up to an hour."""
_REMEMBERED = 6 * 3600.0
"""Seconds for which it counts that a definition was marked."""
_AT_ONCE = 16
_NOT_TAKEN = "the API server does not take what it answers"
log = logging.getLogger(__name__)


@dataclass
class _Suspect:
    """A definition whose webhook has failed.

    Parameters
    ----------
    since
        When it was first noticed.
    slow
        Whether it has converted everything so far, but takes long.
    """

    since: float
    slow: bool = False
    why: str = "it does not answer"


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
    _proven: dict[str, float] = field(default_factory=dict)
    """Until when each is taken to be listed, though its webhook is asked."""
    _marks: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each mark was first seen, by the definition and the time that it bears."""
    _trials: dict[str, int] = field(default_factory=dict)
    """How often it was tried, by any replica, whether the webhook of a definition converts."""
    _generations: dict[str, int] = field(default_factory=dict)
    """The generation in which each definition was last seen unconverted: a trial makes two."""
    _work: dict[tuple[str, TenantWebhook], list[float]] = field(default_factory=dict)
    """The present minute of each webhook, and the seconds that it took to convert in that."""
    _impatient: asyncio.Event = field(default_factory=asyncio.Event)
    _looked: dict[str, float] = field(default_factory=dict)
    _tried: dict[str, float] = field(default_factory=dict)
    """When it was last tried whether the webhook of a definition converts."""
    checks: DefinitionChecks = field(default_factory=lambda: DefinitionChecks(_AT_ONCE))

    def busy(self, tenant: str, webhook: TenantWebhook, seconds: float) -> bool:
        """Count the seconds that a webhook took to convert; return whether they are many.

        The API server has the objects of a kind converted one by one for its cache. Until that is
        full no namespace can be deleted, and with four seconds for each object it never is.
        """
        minute = self.now() // 60
        work = self._work.setdefault((tenant, webhook), [minute, 0.0])
        if work[0] != minute:
            work[:] = minute, 0.0
        work[1] += seconds
        return work[1] > BUSY

    def failed(
        self,
        tenant: ServedTenant,
        resource: ResourceType,
        why: str,
        *,
        slow: bool = False,
    ) -> None:
        """Record that a webhook has failed to convert objects, or is slow."""
        name = tenant.view.crd_name_up(str(resource.group_resource))
        now = self.now()
        if now - self._sound.get(name, float("-inf")) < PATIENCE:
            return
        if not slow and name not in self._suspects and not self._patience(name):
            self._impatient.set()
        suspect = self._suspects.setdefault(name, _Suspect(now, slow))
        suspect.why = why or suspect.why
        if suspect.slow and not slow:
            suspect.since, suspect.slow = now, False

    def answered(self, tenant: ServedTenant, resource: ResourceType) -> None:
        """Record that a webhook says that it has converted an object as Kubernetes lists it.

        The API server may not take the answer, and tells nobody: one with another version, name or
        UID than it asked for, with a label that is none, or a number that is too large. So the kind
        is looked at from time to time while objects of it are converted.
        """
        name = tenant.view.crd_name_up(str(resource.group_resource))
        now = self.now()
        if now >= self._proven.get(name, now):
            self._suspects.setdefault(name, _Suspect(now, why=_NOT_TAKEN))

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
        self._proven = {each: until for each, until in self._proven.items() if now < until}
        self._notice_trials(unconverted)
        self._work = {each: work for each, work in self._work.items() if work[0] == now // 60}
        known = marks.keys() | self._suspects.keys() | unconverted
        self._looked = {each: at for each, at in self._looked.items() if each in known}
        self._tried = {each: at for each, at in self._tried.items() if each in known}
        waits = dict.fromkeys(known, 0.0) | dict.fromkeys(marks, EVERY_MARKED)
        waits |= {each: self._trial_wait(each) for each in unconverted & marks.keys()}
        due = (each for each in sorted(known) if self._is_due(each, waits[each]))
        checks = [
            self.checks.finish(each, self._check(each, marks))
            for each in due
            if self.checks.begin(each)
        ]
        retained = self.tenants.retained_definitions()
        await asyncio.gather(*checks, *(self._leave(each) for each in retained))

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

    async def _check(self, name: str, marks: Mapping[str, str]) -> None:
        self._looked[name] = self.now()
        async with self.checks.list_slot(name):
            found = find_kind(self.tenants, name)
            if found is None or found[0].terminating:  # then nobody is asked to convert
                self._suspects.pop(name, None)
            elif found[1].group_resource in found[0].view.unconverted:
                await self._try(name, marked=name in marks)
            else:
                await self._judge(name, marks, await list_failure(self.upstream, *found))

    async def _try(self, name: str, *, marked: bool) -> None:
        """Have a webhook asked again; the next look shows whether it converts."""
        self._looked.pop(name, None)  # the trial is looked at as soon as possible
        if not marked and await self._mark(name):
            # Somebody has taken the mark off: nothing may be created while nobody converts.
            return
        # The API server has marked one that is deleted: its objects go when they are converted.
        if self.now() - self._tried.get(name, float("-inf")) < self._trial_wait(name):
            return
        self._tried[name] = self.now()
        await set_verbatim(self.client, name, verbatim=False)

    async def _leave(self, name: str) -> None:
        """Have nobody asked to convert what an LCluster has left behind."""
        try:
            await set_verbatim(self.client, name, verbatim=True)
        except ClusterError as error:
            about = {"definition": name, "error": str(error)}
            log.warning("a definition of a former LCluster was not changed", extra=about)

    async def _judge(self, name: str, marks: Mapping[str, str], failure: str | None) -> None:
        if failure:
            await self._failing(name, marked=name in marks)
        elif failure is None:
            self._looked.pop(name, None)
        else:
            await self._listed(name, marks.get(name, ""))

    async def _listed(self, name: str, marked: str) -> None:
        suspect, now = self._suspects.pop(name, None), self.now()
        if suspect is None or suspect.why != _NOT_TAKEN:
            # Otherwise a webhook that begins to fail after a routine look would be overlooked.
            self._sound[name] = now
        took = now - self._looked.get(name, now)
        self._proven[name] = now + min(max(PROVEN, 10 * took), LONGEST_PROVEN)
        if marked and self.now() - self._marks[name, marked] >= self._held(name):
            await unmark(self.client, name)
            log.info("a conversion webhook of an LCluster converts again", extra=log_fields(name))

    async def _failing(self, name: str, *, marked: bool) -> None:
        suspect = self._suspects.setdefault(name, _Suspect(self.now()))
        if marked:
            await set_verbatim(self.client, name, verbatim=True)
            return
        patience = SLOW_PATIENCE if suspect.slow else self._patience(name)
        if self.now() - suspect.since >= patience:
            await self._mark(name)

    async def _mark(self, name: str) -> bool:
        """Let nothing be created any more, and then have its webhook not asked.

        Return whether something could be created before.

        In the other order, something created in between would be stored as nobody has converted it.
        """
        suspect = self._suspects.setdefault(name, _Suspect(self.now()))
        marked = await mark(self.client, name, suspect.why)
        await set_verbatim(self.client, name, verbatim=True)
        if marked:
            log.warning("a conversion webhook of an LCluster fails", extra=log_fields(name))
        return marked

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
