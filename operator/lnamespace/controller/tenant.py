"""Makes the cluster as one LNamespace says, and says so in its status."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from lnamespace.access import person
from lnamespace.access.entries import Entries, entries
from lnamespace.access.layout import Layout
from lnamespace.access.ownership import Ownership, ownership
from lnamespace.access.person import Person
from lnamespace.access.tenant import editors, places, tenant_objects
from lnamespace.controller.cache import Cache, Listed, read_listed
from lnamespace.controller.events import Recorder
from lnamespace.controller.outcome import Outcome
from lnamespace.controller.status import Findings, status, unreadable
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.plan import Action, plan
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION, LNamespace, Status
from lnamespace.model.rules import RESERVED_NAMES, name_problem
from lnamespace.model.subject import Subject

PATIENCE = 3
"""So many failures in a row that should pass by themselves are not worth a status."""


def lnamespaces(layout: Layout) -> Resource:
    """Where this instance's LNamespaces are."""
    return Resource(layout.names.group, VERSION, KIND, PLURAL)


def utc_now() -> datetime:
    """The time, aware of its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class TenantReconciler:
    """Reconciles LNamespaces, one at a time; many may run at once for different names."""

    client: Client
    cache: Cache
    applier: Applier
    recorder: Recorder
    layout: Layout
    reserved: tuple[str, ...] = ()
    clock: Callable[[], datetime] = utc_now

    async def reconcile(self, name: str, failed_before: int = 0) -> Outcome:
        """Make it so, as far as it can be done."""
        listed = self.cache.tenant(name)
        if listed is None or listed.going:
            return Outcome(await self.applier.apply(self._withdrawal(name)))
        now = self.clock()
        second = now.replace(microsecond=0)
        if listed.problem:
            return Outcome(await self._say(listed, unreadable(listed.lns, listed.problem, second)))
        found = await self._make_so(listed.lns, now)
        failures = [*found.failures]
        if self._worth_telling(found, failed_before):
            failures += await self._say(listed, status(listed.lns, found, second))
        return Outcome(failures, found.entries.changes_at)

    async def _make_so(self, lns: LNamespace, now: datetime) -> Findings:
        current = entries(lns.spec, now)
        refused = name_problem(lns.name, RESERVED_NAMES + self.reserved) or ""
        failures: list[ClusterError] = []
        # Twice, for the grants inside the Namespace follow once it is there and known to be ours.
        for _ in range(2):
            actions = self._plan(lns, current, refused)
            if not actions or failures:
                break
            failures = await self.applier.apply(actions)
        whose = self._ownership(lns)
        return Findings(
            ownership=whose,
            entries=current,
            namespace_uid=self._namespace_uid(lns, whose),
            sudoers_group=self.layout.names.sudoers_group(lns.name),
            refused=refused,
            people=self._people_problems(current),
            failures=tuple(failures),
        )

    def _plan(self, lns: LNamespace, current: Entries, refused: str) -> tuple[Action, ...]:
        if refused:
            wanted = editors(lns, current, self.layout)
        else:
            wanted = tenant_objects(lns, current, self._ownership(lns), self.layout)
        return plan(wanted, self.cache.look, places(lns.name, self.layout))

    def _withdrawal(self, name: str) -> tuple[Action, ...]:
        """Take the grants of an LNamespace that is gone, not waiting for the garbage collector.

        Its Namespace is left to the collector: should we ever be wrong, no data is lost.
        """
        return plan((), self.cache.look, places(name, self.layout))

    def _ownership(self, lns: LNamespace) -> Ownership:
        return ownership(lns, self.cache.look(NAMESPACE, ("", lns.name)), self.layout)

    def _namespace_uid(self, lns: LNamespace, whose: Ownership) -> str:
        seen = self.cache.look(NAMESPACE, ("", lns.name))
        return seen.uid if seen and whose in (Ownership.OURS, Ownership.LEAVING) else ""

    def _people_problems(self, current: Entries) -> tuple[str, ...]:
        people = map(Person.of, current.sudoers)
        problems = self.cache.people.problems
        return tuple(problems[one] for one in people if one in problems)

    def _worth_telling(self, found: Findings, failed_before: int) -> bool:
        """Whether there is something to say yet: of what is about to pass or to come, nothing.

        A person's reconcile that is still under way puts us back into the queue when it ends.
        """
        if found.failures:
            return failed_before >= PATIENCE or not all(f.retryable for f in found.failures)
        return all(map(self._is_settled, found.entries.sudoers))

    def _is_settled(self, sudoer: Subject) -> bool:
        """Whether the sudoer's own objects are there, or known to be impossible."""
        one = Person.of(sudoer)
        there = all(self.cache.look(*place) for place in person.places(one, self.layout))
        return there or one in self.cache.people.problems

    async def _say(self, listed: Listed, new: Status) -> list[ClusterError]:
        lns = listed.lns
        if new == lns.status:
            return []
        path = lnamespaces(self.layout).path(lns.name, subresource="status")
        body = {"metadata": {"uid": lns.uid}, "status": new}
        try:
            answer = read_listed(await self.client.patch(path, msgspec.json.encode(body)))
        except NotFound:
            return []
        except ClusterError as error:
            return [error]
        if (answer.lns.spec, answer.going) == (lns.spec, listed.going):
            self.cache.lnamespaces.learn(answer)
        else:
            # The answer brought a change that the watch has yet to tell; it is news.
            self.cache.lnamespaces.put(answer)
        await self.recorder.record(lns, new)
        return []
