"""Observe one LNamespace: read from the caches what a decision about it needs."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lnamespace.access import impersonator, profiles
from lnamespace.access.conventions import Conventions, SudoLayout, lnamespace_resource
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.access.lnamespace import all_grant_refs
from lnamespace.access.ownership import Ownership
from lnamespace.access.profiles import ProfileSet
from lnamespace.controller.cache import Cache
from lnamespace.controller.observation import Lifecycle, Observation, SudoerState, lifecycle_of
from lnamespace.controller.quota import LimitState
from lnamespace.controller.resource import CachedLNamespace, read_lnamespace
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.objects import ObjectRef
from lnamespace.kube.resources import NAMESPACE
from lnamespace.model.lnamespace import DeletionPolicy, LNamespace
from lnamespace.model.rules import name_problem
from lnamespace.model.subject import Subject


@dataclass(frozen=True)
class Observer:
    """An observer of LNamespaces, one at a time for each name: it may reserve within a limit."""

    client: Client
    cache: Cache
    applier: Applier
    conventions: Conventions
    reserved: tuple[str, ...]
    profiles: Callable[[], ProfileSet]

    async def refresh_unknown_namespace(self, name: str) -> list[ClusterError]:
        """Read a Namespace that the caches may not know yet; return the failure."""
        if not self.cache.namespace_may_be_unknown(name):
            return []
        return await self.applier.reread(NAMESPACE, ("", name))

    async def observe(self, name: str) -> Observation:
        """Read the caches, and GET those objects of the LNamespace that the watches do not select.

        Release an unused slot first; reserve one again if the LNamespace needs it and one is free.
        """
        self.cache.release_unused(name)
        cached = self.cache.lnamespace(name)
        lifecycle = self._lifecycle(name, cached)
        if lifecycle in (Lifecycle.OTHER_CLASS, Lifecycle.UNREADABLE):
            return Observation(name, self.conventions, lifecycle, cached)
        await self.applier.refresh(self._object_refs(name))
        seen = self.renew(Observation(name, self.conventions, lifecycle, cached))
        if lifecycle is not Lifecycle.ACTIVE:
            return seen
        return await self._with_owner(await self._with_limit(seen))

    def renew(self, before: Observation) -> Observation:
        """Read the caches again for the same LNamespace, as it was then."""
        lns = before.cached.lns if before.cached else None
        return dataclasses.replace(
            before,
            objects={ref: self.cache.get(*ref) for ref in self._object_refs(before.name)},
            sudoers=self._sudoers(lns) if lns else {},
            profiles=self.profiles(),
        )

    def _lifecycle(self, name: str, cached: CachedLNamespace | None) -> Lifecycle:
        if cached is None:
            # A tenant may run an operator like this one in its cluster, which gives its objects
            # the names and labels that ours have.
            of_lcluster = self.cache.lclusters.owns_name(name)
            return Lifecycle.OTHER_CLASS if of_lcluster else Lifecycle.GONE
        return lifecycle_of(cached, self.conventions.names.class_name)

    def _object_refs(self, name: str) -> Iterator[ObjectRef]:
        """Yield the references of all objects that the LNamespace may have."""
        yield from all_grant_refs(name, self.conventions)
        yield from (ref for ref in profiles.profile_refs(name) if ref[0] in self.cache.objects)
        yield NAMESPACE, ("", name)

    async def _with_owner(self, seen: Observation) -> Observation:
        """Ask the API server for the LNamespace if its Namespace has lost its owner reference."""
        if not seen.orphaned or seen.lns.spec.deletion_policy is DeletionPolicy.RETAIN:
            return seen
        path = lnamespace_resource(self.conventions.names).path(seen.name)
        try:
            found = read_lnamespace(await self.client.get(path))
        except NotFound:
            return seen
        except ClusterError as error:
            return dataclasses.replace(seen, owner_failures=(error,))
        stays = found.lns.uid == seen.lns.uid and not found.terminating
        return dataclasses.replace(seen, owner_confirmed=stays)

    async def _with_limit(self, seen: Observation) -> Observation:
        lns = seen.lns
        problem = name_problem(lns.name, self.reserved)
        problem = problem or self._reserved_for_lcluster(lns.name)
        if problem or seen.ownership is not Ownership.ABSENT:
            return dataclasses.replace(seen, name_problem=problem)
        if self.cache.is_waiting(lns.name):
            await self.cache.counts_complete.wait()
        state = self.cache.reserve_slot(lns)
        message = "" if state is LimitState.WITHIN else self.cache.limit_message(lns, state)
        return dataclasses.replace(seen, limit_state=state, limit_message=message)

    def _reserved_for_lcluster(self, name: str) -> str:
        """Return why an LCluster reserves the name; empty if no LCluster does."""
        lcluster = self.cache.lclusters.claimant(name)
        if lcluster is None:
            return ""
        return f'"{lcluster.prefix}" is the beginning of the names of LCluster {lcluster.name}'

    def _sudoers(self, lns: LNamespace) -> dict[Subject, SudoerState]:
        problems, states = self.cache.impersonators.problems, {}
        for subject in {member.subject for member in lns.spec.sudoers}:
            one = ImpersonatorKey.from_subject(subject)
            states[subject] = SudoerState(self._in_place(one, lns.uid), problems.get(one, ""))
        return states

    def _in_place(self, one: ImpersonatorKey, uid: str) -> bool:
        if self.conventions.sudo is SudoLayout.SERVICE_ACCOUNT:
            return True
        there = all(
            self.cache.get(*ref) for ref in impersonator.impersonator_refs(one, self.conventions)
        )
        return there and self.cache.stays_with(one, uid)
