"""Makes the cluster as one LNamespace says, and says so in its status."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lnamespace.access import person, profiles
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.entries import ActiveEntries, active_entries
from lnamespace.access.ownership import Ownership, determine_ownership, is_adopted
from lnamespace.access.person import Person
from lnamespace.access.profiles import ProfileSet, ResolvedProfile
from lnamespace.access.sudo import (
    impersonation_target,
    previous_bindings,
    previous_conventions,
    previous_is_complete,
    previous_is_present,
    sudo_refs,
)
from lnamespace.access.tenant import (
    NamespaceState,
    all_grant_refs,
    editor_objects,
    grant_refs,
    objects_without_namespace,
    tenant_objects,
)
from lnamespace.controller.cache import Cache
from lnamespace.controller.events import Recorder
from lnamespace.controller.measures import Measures
from lnamespace.controller.outbox import Departed, Departure, Outbox
from lnamespace.controller.outcome import Outcome
from lnamespace.controller.resource import CachedLNamespace, lnamespaces, read_lnamespace
from lnamespace.controller.slots import Place
from lnamespace.controller.status import (
    LIMIT_EXCEEDED,
    RESERVED_NAME,
    TERMINATING,
    Findings,
    Refusal,
    counts,
    is_ready,
    status,
    terminating,
    unreadable,
)
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.plan import Action, Create, Delete, plan_actions
from lnamespace.kube.resources import NAMESPACE, PROFILE_RESOURCES, ROLE_BINDING, Resource
from lnamespace.model.lnamespace import LNamespace, Spec, Status
from lnamespace.model.names import ACCOUNT_BINDING, SUDOERS_BINDING, USERS_BINDING
from lnamespace.model.rules import RESERVED_NAMES, name_problem
from lnamespace.model.subject import Subject

PATIENCE = 3
"""So many failures in a row that should pass by themselves are not worth a status."""

SWITCH_DELAY = timedelta(seconds=1)
"""How long both layouts of sudo are there: who has read the status before it changed acts by it."""


def utc_now() -> datetime:
    """The time, aware of its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Made:
    """What failed, and whether somebody was not let in because of it."""

    failures: tuple[ClusterError, ...] = ()
    unrailed: tuple[ClusterError, ...] = ()
    held: bool = False

    @property
    def failed(self) -> bool:
        """Whether anything did."""
        return bool(self.failures or self.unrailed)

    def __add__(self, other: "Made") -> "Made":
        return Made(
            self.failures + other.failures,
            self.unrailed + other.unrailed,
            self.held or other.held,
        )


@dataclass(frozen=True)
class TenantReconciler:
    """Reconciles LNamespaces, one at a time; many may run at once for different names."""

    client: Client
    cache: Cache
    applier: Applier
    recorder: Recorder
    outbox: Outbox
    conventions: Conventions
    reserved: tuple[str, ...] = ()
    measures: Measures = field(default_factory=Measures)
    clock: Callable[[], datetime] = utc_now
    guards: Callable[[], ProfileSet] = ProfileSet

    async def reconcile(self, name: str, failed_before: int = 0) -> Outcome:
        """Make it so, as far as it can be done."""
        if self.cache.doubts(name) and (failed := await self.applier.look(NAMESPACE, ("", name))):
            return Outcome(failed)
        self.cache.settle(name)
        listed = self.cache.tenant(name)
        if listed is not None and self.cache.ours(listed) is None:
            self.measures.forget(name)
            return Outcome()
        if listed is None:
            return Outcome(await self._withdraw(name))
        now = self.clock()
        second = now.replace(microsecond=0)
        if listed.going:
            failures = await self._withdraw(name)
            said = await self._say(listed, terminating(listed.lns, failures, second))
            return Outcome([*failures, *said])
        if listed.problem:
            return Outcome(await self._say(listed, unreadable(listed.lns, listed.problem, second)))
        found = await self._make_so(listed.lns, now)
        failures = [*found.unrailed, *found.failures]
        if self._worth_telling(listed.lns, found, failed_before):
            failures += await self._say(listed, status(listed.lns, found, second))
        moments = (found.entries.changes_at, now + SWITCH_DELAY if found.moving else None)
        return Outcome([*failures, *found.unrecorded], min(filter(None, moments), default=None))

    async def close(self, key: Departed) -> Outcome:
        """Tell the ledger that an LNamespace is gone, if its namespace can have cost anything.

        Not before its Namespace is: until then it costs, and whoever paid for it pays.
        """
        departure = self.cache.departures.get(key.uid)
        if departure is None:
            return Outcome()
        lns, namespace = departure.lns, self.cache.look(NAMESPACE, ("", departure.lns.name))
        if departure.lingers(namespace):
            failures = await self._announce(departure)
            return Outcome(failures) if failures else Outcome()
        # By the Namespace too: a reconcile that is still under way may record it after this.
        had = self._ownership(lns) in (Ownership.OURS, Ownership.TERMINATING)
        was_ours = had or bool(lns.status.namespace_uid) or lns.uid in self.outbox.told
        charged = was_ours or (namespace is None and not self._reserved(lns))
        if charged and (failures := await self.outbox.close(departure)):
            return Outcome(failures)
        self.outbox.forget(key.uid)
        del self.cache.departures[key.uid]
        return Outcome()

    async def _announce(self, departure: Departure) -> list[ClusterError]:
        failures = [] if departure.announced else await self.outbox.announce(departure)
        if not failures:
            self.cache.announced(departure.lns.uid)
        return failures

    async def _make_so(self, lns: LNamespace, now: datetime) -> Findings:
        current = active_entries(lns.spec, now)
        await self._refresh(lns.name)
        refused = self._refusal(lns)
        first = self._plan(lns, current, refused)
        made = await self._carry_out(lns, first)
        # The grants inside the Namespace follow once it is there and known to be ours.
        rest = self._plan(lns, current, refused) if first and not made.failed else ()
        # Looked up once: what is told to be recorded must be what was.
        whose = self._ownership(lns)
        more, unrecorded = await asyncio.gather(
            self._carry_out(lns, rest), self._record(lns, whose, refused, now)
        )
        made += more
        act_as = self.conventions
        if _grants(whose, refused) and self._lingers(lns):
            act_as = self._acting(lns, current, made)
            made += await self._leave_former(lns, current, act_as)
        elif not made.failed:
            self._measure(lns, current, (*first, *rest))
        group, user = impersonation_target(lns.name, act_as)
        return Findings(
            ownership=whose,
            entries=current,
            namespace_uid=self._namespace_uid(lns, whose),
            sudoers_group=group,
            sudo_user=user,
            moving=act_as is self.conventions and self._lingers(lns),
            refused=refused,
            people=self._people_problems(current),
            failures=made.failures,
            unrecorded=tuple(unrecorded),
            guarded=self._guard(lns) not in (None, ResolvedProfile()),
            unknown=self.guards().problem_of(lns, adopted=self._adopted(lns)),
            unrailed=made.unrailed,
            held=made.held,
        )

    def _refusal(self, lns: LNamespace) -> Refusal | None:
        if problem := self._reserved(lns):
            message = f"The name is refused: {problem}. Delete this LNamespace and choose another."
            return Refusal(RESERVED_NAME, message)
        if self._ownership(lns) is not Ownership.ABSENT:
            return None
        if (place := self.cache.place(lns)) is Place.HOLDS:
            return None
        self.measures.refused(lns)
        reason = TERMINATING if place is Place.NEXT else LIMIT_EXCEEDED
        return Refusal(reason, self.cache.exceeded(lns, place), place is not Place.FAR)

    def _reserved(self, lns: LNamespace) -> str:
        return name_problem(lns.name, RESERVED_NAMES + self.reserved) or ""

    async def _carry_out(self, lns: LNamespace, actions: Sequence[Action]) -> Made:
        """Guard rails first: nobody is let into a Namespace before they are there.

        Where people are in already, what they have is kept as it should be whatever fails.
        """
        rails = [action for action in actions if _is_rail(action)]
        others = [action for action in actions if action not in rails]
        unrailed = await self.applier.apply(rails)
        held = []
        if (unrailed or self._guard(lns) is None) and not self._anybody_in(lns):
            held = [action for action in others if _lets_in(action, lns)]
        failures = await self.applier.apply(action for action in others if action not in held)
        return Made(tuple(failures), tuple(unrailed), bool(held))

    def _anybody_in(self, lns: LNamespace) -> bool:
        bindings = (USERS_BINDING, SUDOERS_BINDING, ACCOUNT_BINDING)
        return any(self.cache.look(ROLE_BINDING, (lns.name, name)) for name in bindings)

    async def _record(
        self, lns: LNamespace, whose: Ownership, refused: Refusal | None, now: datetime
    ) -> list[ClusterError]:
        """What is not its own Namespace must never be charged to it."""
        if not refused and whose in (Ownership.PREDECESSOR, Ownership.FOREIGN):
            self.outbox.wait(lns.uid)
        if not _grants(whose, refused):
            return []
        return await self.outbox.record(lns, now)

    def _plan(
        self, lns: LNamespace, current: ActiveEntries, refused: Refusal | None
    ) -> tuple[Action, ...]:
        if refused and refused.reason != RESERVED_NAME:
            wanted = (
                objects_without_namespace(lns, current, self.conventions)
                if refused.editable
                else ()
            )
        elif refused:
            wanted = editor_objects(lns, current, self.conventions)
        else:
            wanted = tenant_objects(lns, current, self._space(lns), self.conventions)
        grants = _grants(self._ownership(lns), refused)
        possible = (grant_refs if grants else all_grant_refs)(lns.name, self.conventions)
        return plan_actions(wanted, self.cache.look, (*possible, *self._rails_places(lns, refused)))

    def _space(self, lns: LNamespace) -> NamespaceState:
        seen = self.cache.look(NAMESPACE, ("", lns.name))
        moving = previous_is_complete(lns.name, self.conventions, self.cache.look)
        return NamespaceState(self._ownership(lns), seen, self._guard(lns), moving)

    def _rails_places(
        self, lns: LNamespace, refused: Refusal | None
    ) -> Iterator[tuple[Resource, Key]]:
        """Where guard rails may be that should not; nowhere, where it is not known what should."""
        space = self._space(lns)
        if not refused and space.ownership is Ownership.OURS and space.profile is not None:
            there = (p for p in profiles.profile_refs(lns.name) if p[0] in self.cache.objects)
            yield from (place for place in there if not self._from_before(lns, *place))

    def _from_before(self, lns: LNamespace, kind: Resource, key: Key) -> bool:
        """Whether it is not ours, but was in an adopted Namespace by the name that ours have."""
        seen = self.cache.look(kind, key)
        return seen is not None and not seen.managed and self._adopted(lns)

    def _lingers(self, lns: LNamespace) -> bool:
        return previous_is_present(lns.name, self.conventions, self.cache.look)

    def _acting(self, lns: LNamespace, current: ActiveEntries, made: Made) -> Conventions:
        """The layout that sudoers go by: the former one until the present works for all."""
        works = not made.failed and self._are_settled(lns, current)
        stays = not works and previous_is_complete(lns.name, self.conventions, self.cache.look)
        return previous_conventions(self.conventions) if stays else self.conventions

    async def _leave_former(
        self, lns: LNamespace, current: ActiveEntries, act_as: Conventions
    ) -> Made:
        """Take what the former layout of sudo gave once the status says to go by the present one.

        Until then it says who is a sudoer just as well: a revocation waits for nothing.
        """
        look, said = self.cache.look, (lns.status.sudoers_group, lns.status.sudo_user)
        present = act_as is self.conventions
        if present and said == impersonation_target(lns.name, act_as):
            only = editor_objects(lns, current, self.conventions)
            actions = plan_actions(
                only, look, sudo_refs(lns.name, previous_conventions(self.conventions))
            )
            return Made(tuple(await self.applier.apply(actions)))
        actions = plan_actions(previous_bindings(lns, current, self.conventions, look), look)
        failures = await self.applier.apply(actions)
        # Where they go by the present one, what cannot be changed is about to go.
        return Made() if present else Made(tuple(failures))

    def _measure(
        self, lns: LNamespace, current: ActiveEntries, actions: tuple[Action, ...]
    ) -> None:
        self.measures.applied(lns.name, actions)
        if is_ready(lns) and lns.status.counts == counts(current):
            self.measures.repaired(actions)

    async def _withdraw(self, name: str) -> list[ClusterError]:
        """Take the grants of an LNamespace that is gone, not waiting for the garbage collector.

        Its Namespace is left to the collector: should we ever be wrong, no data is lost.
        """
        await self._refresh(name)
        actions = plan_actions((), self.cache.look, all_grant_refs(name, self.conventions))
        failures = await self.applier.apply(actions)
        if not failures:
            self.measures.applied(name, actions)
        return failures

    async def _refresh(self, name: str) -> None:
        """Know what others have put in our places now; what cannot be asked is as last known."""
        rails = (p for p in profiles.profile_refs(name) if p[0] in self.cache.objects)
        await self.applier.refresh((*all_grant_refs(name, self.conventions), *rails))

    def _ownership(self, lns: LNamespace) -> Ownership:
        return determine_ownership(
            lns, self.cache.look(NAMESPACE, ("", lns.name)), self.conventions
        )

    def _adopted(self, lns: LNamespace) -> bool:
        return is_adopted(lns, self.cache.look(NAMESPACE, ("", lns.name)), self.conventions)

    def _guard(self, lns: LNamespace) -> ResolvedProfile | None:
        return self.guards().resolve(lns, adopted=self._adopted(lns))

    def _namespace_uid(self, lns: LNamespace, whose: Ownership) -> str:
        seen = self.cache.look(NAMESPACE, ("", lns.name))
        return seen.uid if seen and whose in (Ownership.OURS, Ownership.TERMINATING) else ""

    def _people_problems(self, current: ActiveEntries) -> tuple[str, ...]:
        people = map(Person.of, current.sudoers)
        problems = self.cache.people.problems
        return tuple(problems[one] for one in people if one in problems)

    def _worth_telling(self, lns: LNamespace, found: Findings, failed_before: int) -> bool:
        """Whether there is something to say yet: of what is about to pass or to come, nothing.

        A person's reconcile that is still under way puts us back into the queue when it ends.
        """
        if troubles := (*found.unrailed, *found.failures, *found.unrecorded):
            return failed_before >= PATIENCE or not all(f.retryable for f in troubles)
        return bool(found.refused) or self._are_settled(lns, found.entries)

    def _are_settled(self, lns: LNamespace, current: ActiveEntries) -> bool:
        return all(self._is_settled(lns.uid, sudoer) for sudoer in current.sudoers)

    def _is_settled(self, uid: str, sudoer: Subject) -> bool:
        """Whether the sudoer's own objects are there to stay, or known to be impossible."""
        if self.conventions.sudo is SudoLayout.SERVICE_ACCOUNT:
            return True
        one = Person.of(sudoer)
        there = all(self.cache.look(*place) for place in person.person_refs(one, self.conventions))
        kept = there and self.cache.is_sponsored(one, uid)
        return kept or one in self.cache.people.problems

    async def _say(self, listed: CachedLNamespace, new: Status) -> list[ClusterError]:
        lns = listed.lns
        if new == lns.status:
            return []
        path = lnamespaces(self.conventions).path(lns.name, subresource="status")
        # A UID in a merge patch is ignored on `/status`: one that was deleted and made anew by its
        # name would have had its predecessor's status, and with it the Namespace.
        operations = (
            {"op": "test", "path": "/metadata/uid", "value": lns.uid},
            {"op": "add", "path": "/status", "value": new},
        )
        try:
            answer = read_lnamespace(await self.client.patch_json(path, operations))
        except NotFound:
            return []
        except ClusterError as error:
            return [error]
        if is_ready(answer.lns):
            self.measures.ready(lns)
        # Compared with what is known by now: the watch may have told of a change meanwhile that the
        # answer takes back, and whoever was told of the one must be told of the other.
        known = self.cache.tenant(lns.name)
        news = known is None or _told(known) != _told(answer)
        self.cache.lnamespaces.learn(answer, news=news)
        await self.recorder.record(lns, new)
        return []


def _is_rail(action: Action) -> bool:
    return not isinstance(action, Delete) and action.desired.resource in PROFILE_RESOURCES


def _lets_in(action: Action, lns: LNamespace) -> bool:
    if not isinstance(action, Create) or action.desired.resource is not ROLE_BINDING:
        return False
    return action.desired.key[0] == lns.name


def _told(listed: CachedLNamespace) -> tuple[Spec, dict[str, str], bool]:
    """All of an LNamespace that we go by, besides what we say ourselves."""
    return listed.lns.spec, listed.lns.metadata.labels, listed.going


def _grants(whose: Ownership, refused: Refusal | None) -> bool:
    """Whether it may give anybody anything in the Namespace of its name."""
    return not refused and whose in (Ownership.OURS, Ownership.TERMINATING)
