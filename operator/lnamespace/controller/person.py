"""Makes one person's self-impersonator as the LNamespaces that list them say.

Its only writer: were it left to the LNamespaces, a thousand of them would race for one list of
owner references.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.access.layout import Layout, SudoLayout
from lnamespace.access.person import Person, places, self_impersonator
from lnamespace.access.sudo import lingers
from lnamespace.controller.cache import Cache
from lnamespace.controller.outcome import Outcome
from lnamespace.controller.status import is_ready
from lnamespace.controller.tenant import PATIENCE, SWITCH_DELAY, utc_now
from lnamespace.errors import ClusterError
from lnamespace.kube.apply import Applier
from lnamespace.kube.plan import plan


@dataclass(frozen=True)
class PersonReconciler:
    """Reconciles people; ``wake`` has an LNamespace that waited for one looked at again."""

    cache: Cache
    applier: Applier
    layout: Layout
    wake: Callable[[str], None]
    clock: Callable[[], datetime] = utc_now

    async def reconcile(self, person: Person, failed_before: int = 0) -> Outcome:
        """Make it so, as far as it can be done."""
        now = self.clock()
        people = self.cache.people
        sponsors = people.sponsors(person, now)
        if self.layout.sudo is SudoLayout.SERVICE_ACCOUNT:
            if any(map(self._lingers, sponsors)):
                return Outcome(changes_at=now + SWITCH_DELAY)
            sponsors = {}
        subject = people.subject(person)
        wanted = self_impersonator(subject, sponsors, self.layout) if subject else ()
        actions = plan(wanted, self.cache.look, places(person, self.layout))
        failures = await self.applier.apply(actions)
        news = self._note(person, failures, failed_before)
        # Also when nothing was to be done: what was made may be known by the watch alone.
        for name in sponsors:
            if news or self._waits(name):
                self.wake(name)
        return Outcome(failures, people.changes_at(person, now))

    def _note(self, person: Person, failures: list[ClusterError], failed_before: int) -> bool:
        """Remember what is wrong, for the LNamespaces to tell; True if that is new."""
        people = self.cache.people
        known = people.problems.pop(person, None)
        lasting = [f for f in failures if not f.retryable or failed_before >= PATIENCE]
        subject = people.subject(person)
        if lasting and subject:
            people.problems[person] = f"{subject.username}: {lasting[0]}"
        return known != people.problems.get(person)

    def _waits(self, name: str) -> bool:
        listed = self.cache.tenant(name)
        return listed is not None and (not is_ready(listed.lns) or self._lingers(name))

    def _lingers(self, name: str) -> bool:
        return lingers(name, self.layout, self.cache.look)
