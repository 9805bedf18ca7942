"""The caches of the cluster, and which keys a change adds to the queue."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from lnamespace.access.conventions import Conventions
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.access.limit import RequesterLimits, describe_orphans
from lnamespace.controller.deleted import DeletedLNamespaceKey, DeletedLNamespaces
from lnamespace.controller.indexes import ImpersonatorIndex, LNamespaceIndex
from lnamespace.controller.lclusters.cache import LClusterCache, LClusterKey
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.quota import LimitState, Quota
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    PROFILE_RESOURCES,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import ObservedObject
from lnamespace.kube.store import Store
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import (
    CLUSTER_ACCOUNT_BINDING,
    NAMESPACE_BINDINGS,
    PROFILE_OBJECT_NAME,
)

NO_LIMITS = RequesterLimits()

_ONLY_BINDINGS = (*NAMESPACE_BINDINGS, CLUSTER_ACCOUNT_BINDING)
"""Names that RoleBindings of ours have, and Roles of ours have not."""

SPONSOR_DELAY = 0.5
"""Seconds to wait before a person's owner references follow a change of the lists.

Only the garbage collector reads them. Without the pause, a person listed by a thousand new
LNamespaces would have one list of references written a thousand times.
"""


@dataclass(frozen=True)
class LNamespaceKey:
    """The key under which one LNamespace is reconciled."""

    name: str


WorkKey = LNamespaceKey | ImpersonatorKey | DeletedLNamespaceKey | LClusterKey


QuotaUpdate = Callable[[str, LNamespace | None, ObservedObject | None], None]
"""A method of the quota that takes in an LNamespace and its Namespace, by their name."""
OnChange = Callable[[CachedLNamespace | None, CachedLNamespace | None], None]
"""Called with an LNamespace before and after a change, before the caches act on it."""


class Cache:
    """The stores of all resources that are watched; their changes add keys to the queue."""

    def __init__(
        self,
        conventions: Conventions,
        queue: WorkQueue[WorkKey],
        on_change: OnChange = lambda _, __: None,
        limits: RequesterLimits = NO_LIMITS,
        reserved: tuple[str, ...] = (),
        profile_kinds: Iterable[Resource] = (),
        lcluster_limits: RequesterLimits = NO_LIMITS,
    ) -> None:
        self._names = conventions.names
        self._queue = queue
        self._on_change = on_change
        self.impersonators = ImpersonatorIndex()
        self.by_uid = LNamespaceIndex(self.of_our_class, self._became_readable)
        self._quota = Quota(
            conventions, limits, reserved, lambda name: queue.add(LNamespaceKey(name))
        )
        self.counts_complete = asyncio.Event()
        """Cleared while the writes of a previous leader are listed: no reservation is made then."""
        self.counts_complete.set()
        self.deleted = DeletedLNamespaces()
        self.lnamespaces: Store[CachedLNamespace] = Store(self._lnamespace_changed)
        self.objects: dict[Resource, Store[ObservedObject]] = {
            NAMESPACE: Store(self._namespace_changed),
            ROLE: Store(self._grant_changed),
            ROLE_BINDING: Store(self._grant_changed),
            CLUSTER_ROLE: Store(self._grant_changed),
            CLUSTER_ROLE_BINDING: Store(self._grant_changed),
        }
        self.objects |= {
            kind: Store[ObservedObject](self._profile_object_changed) for kind in profile_kinds
        }
        self.lclusters = LClusterCache(
            self._names, self.objects[NAMESPACE], queue.add, lcluster_limits
        )

    def get(self, resource: Resource, key: Key) -> ObservedObject | None:
        """Return an object as last observed; None if it does not exist."""
        return self.objects[resource].get(key)

    def is_needed(self, resource: Resource, key: Key) -> bool:
        """Return whether an object of a key is ours, or one that takes the place of ours.

        Users of a namespace may give our labels to any number of objects of other names: 80 of a
        megabyte each took all memory, again after each restart.
        """
        namespace, name = key
        if resource is NAMESPACE:
            return True
        if resource in PROFILE_RESOURCES:
            return name == PROFILE_OBJECT_NAME
        if resource is ROLE and name in _ONLY_BINDINGS:
            return False
        return self._key_of(namespace, name) is not None

    def lnamespace(self, name: str) -> CachedLNamespace | None:
        """Return the LNamespace of that name; None if it does not exist."""
        return self.lnamespaces.get(("", name))

    @property
    def limited(self) -> bool:
        """Return whether anybody has a limit of LNamespaces."""
        return self._quota.limits.any_limited

    def is_waiting(self, name: str) -> bool:
        """Return whether the LNamespace of that name has no slot and counts for one."""
        return self._quota.is_waiting(name)

    def reserve_slot(self, lns: LNamespace) -> LimitState:
        """Reserve a slot for an LNamespace if one is free; return its state then."""
        waited = self._quota.is_waiting(lns.name)
        state = self._quota.reserve(lns.name)
        if waited and state is LimitState.WITHIN:
            self._impersonators_changed(None, lns)
        return state

    def limit_message(self, lns: LNamespace, state: LimitState) -> str:
        """Return why an LNamespace in that state gets no Namespace."""
        if state is LimitState.TERMINATING:
            return "It is made as soon as another namespace that is being deleted is gone."
        refusal = self._quota.limits.refusal(lns.spec.account, self._quota.used(lns.name))
        return refusal + describe_orphans(
            [n for n in self._quota.orphaned_namespaces(lns.name) if not self._may_have_owner(n)]
        )

    def _may_have_owner(self, name: str) -> bool:
        """Return whether an orphaned Namespace may belong to an LNamespace that exists.

        The answer is yes for an LNamespace of another class, or one that cannot be read.
        """
        cached = self.lnamespace(name)
        return cached is not None and (bool(cached.problem) or self.of_our_class(cached) is None)

    def namespace_may_be_unknown(self, name: str) -> bool:
        """Return whether a Namespace that we do not know may exist, for an LNamespace that is gone.

        The request that created it may have had no answer. Its slot is released only after a
        request to the API server.
        """
        cached, given = self.lnamespace(name), self._quota.holder_uid(name)
        there = cached is not None and not cached.terminating and cached.lns.uid == given
        return bool(given) and not there and self.get(NAMESPACE, ("", name)) is None

    def release_unused(self, name: str) -> None:
        """Release a slot that the name does not need; only the caller works on the name."""
        if self.limited:
            lns = self.of_our_class(self.lnamespace(name))
            self._recount(name, lns, lns, self._quota.release_unused)

    def resync_keys(self) -> Iterator[WorkKey]:
        """Yield the keys to reconcile at each resync, people first."""
        yield from self.impersonators
        yield from map(DeletedLNamespaceKey, list(self.deleted))
        yield from self.lclusters.keys()
        for cached in self.lnamespaces:
            yield LNamespaceKey(cached.lns.name)

    def all_keys(self) -> Iterator[WorkKey]:
        """Yield the keys of everything in the caches, leftovers included: for a new leader."""
        yield from self.resync_keys()
        yield from self.lclusters.leftovers()
        for kind, store in self.objects.items():
            for observed in store:
                if kind is NAMESPACE and observed.managed:
                    yield LNamespaceKey(observed.key[1])
                elif kind is not NAMESPACE and (key := self._key_of(*observed.key)):
                    yield key

    def of_our_class(self, cached: CachedLNamespace | None) -> LNamespace | None:
        """Return the LNamespace if it is of our class, or None."""
        return cached.lns if cached and cached.of_class(self._names.class_name) else None

    def stays_with(self, impersonator: ImpersonatorKey, uid: str) -> bool:
        """Return whether the person's objects stay while that LNamespace needs them.

        They stay if it is one of their owners, or if two others are, of which one may be deleted.
        """
        observed = self._own_binding(impersonator)
        if observed is None:
            return False
        return uid in observed.owners or self._staying(impersonator, observed) > 1

    def _lnamespace_changed(
        self, old: CachedLNamespace | None, new: CachedLNamespace | None
    ) -> None:
        old_lns, new_lns = self.of_our_class(old), self.of_our_class(new)
        self._on_change(old if old_lns else None, new if new_lns else None)
        waited = old_lns is not None and self._quota.is_waiting(old_lns.name)
        before = self.by_uid.as_read(old_lns)
        self.by_uid.note(old, new)
        # Impersonators first, so that the LNamespace finds them ready and need not wait for them.
        if known := old_lns or new_lns:
            self._recount(known.name, before, self.by_uid.as_read(new_lns), self._quota.update)
        for lns in (old_lns, new_lns):
            if lns is not None:
                self._queue.add(LNamespaceKey(lns.name))
        # A change of the class is not a deletion; an LNamespace that waited never cost anything.
        if old_lns and not waited and (new is None or new.lns.uid != old_lns.uid):
            if self._queue.closed:
                self.deleted.forget_recorded()
            self.deleted.note(old, before or old_lns)
            self._queue.add(DeletedLNamespaceKey(old_lns.uid))

    def _became_readable(self, uid: str) -> None:
        """Enqueue the people whose objects were kept because the LNamespace was unreadable."""
        for binding in (CLUSTER_ROLE_BINDING, ROLE_BINDING):
            for observed in self.objects[binding]:
                if uid in observed.owners and (digest := self._names.person_of(observed.key[1])):
                    self._queue.add(ImpersonatorKey(digest, observed.key[0]))

    def _recount(
        self,
        name: str,
        old: LNamespace | None,
        new: LNamespace | None,
        update_quota: QuotaUpdate,
    ) -> None:
        """Update the quota and the people; the sudoers of an LNamespace that waits get nothing."""
        before = None if self._quota.is_waiting(name) else old
        cached = self.lnamespace(name)
        lns = (
            None
            if cached is None or cached.problem or cached.terminating
            else self.of_our_class(cached)
        )
        update_quota(name, lns, self.get(NAMESPACE, ("", name)))
        self._impersonators_changed(before, None if self._quota.is_waiting(name) else new)

    def _impersonators_changed(self, old: LNamespace | None, new: LNamespace | None) -> None:
        for impersonator in self.impersonators.update(old, new):
            self._impersonator_changed(impersonator)

    def _impersonator_changed(self, impersonator: ImpersonatorKey) -> None:
        observed = self._own_binding(impersonator)
        # The garbage collector deletes the objects at once with the last of their owners.
        if observed is None or self._staying(impersonator, observed) < 2:
            self._queue.add(impersonator)
        else:
            self._queue.add_after(impersonator, SPONSOR_DELAY)

    def _own_binding(self, impersonator: ImpersonatorKey) -> ObservedObject | None:
        key = (impersonator.namespace, self._names.self_impersonator(impersonator.digest))
        return self.get(ROLE_BINDING if impersonator.namespace else CLUSTER_ROLE_BINDING, key)

    def _staying(self, impersonator: ImpersonatorKey, observed: ObservedObject) -> int:
        """Return the number of LNamespaces that own the person's objects and stay, up to two."""
        needed = (uid for uid in observed.owners if self._needs(uid, impersonator))
        return sum(1 for _ in islice(needed, 2))

    def _needs(self, uid: str, impersonator: ImpersonatorKey) -> bool:
        cached = self.by_uid.get(uid)
        if cached is None or cached.terminating:
            return False
        return self.impersonators.is_sponsor(impersonator, cached.lns.name, uid)

    def _namespace_changed(self, old: ObservedObject | None, new: ObservedObject | None) -> None:
        self.lclusters.namespace_changed(old, new)
        if self.limited and (known := new or old):
            lns = self.of_our_class(self.lnamespace(known.key[1]))
            self._recount(known.key[1], lns, lns, self._quota.update)
        for observed in (old, new):
            if observed is not None and (observed.managed or self.lnamespace(observed.key[1])):
                self._queue.add(LNamespaceKey(observed.key[1]))
        if old is None and new is not None:
            self._namespace_appeared(new.key[1])
        if old is not None:
            for uid in self.deleted.note_namespace(old, new):
                self._queue.add(DeletedLNamespaceKey(uid))

    def _namespace_appeared(self, name: str) -> None:
        """Enqueue those whose objects could not be made without this namespace."""
        if name == self._names.sudo_namespace:
            for cached in self.lnamespaces:
                self._queue.add(LNamespaceKey(cached.lns.name))
        for impersonator in self.impersonators.problems:
            if impersonator.namespace == name:
                # Its ServiceAccounts exist in a moment: the delay after failures is too long.
                self._queue.forget(impersonator)
                self._queue.add(impersonator)

    def _grant_changed(self, old: ObservedObject | None, new: ObservedObject | None) -> None:
        observed = new or old
        if observed is not None and (key := self._key_of(*observed.key)):
            self._queue.add(key)

    def _profile_object_changed(
        self, old: ObservedObject | None, new: ObservedObject | None
    ) -> None:
        """Enqueue the LNamespace unless only a status changed, as that of a quota for each pod."""
        observed = new or old
        if observed is None or (old and new and old.fingerprint == new.fingerprint):
            return
        if observed.key[1] == PROFILE_OBJECT_NAME:
            self._queue.add(LNamespaceKey(observed.key[0]))

    def _key_of(self, namespace: str, name: str) -> WorkKey | None:
        """Return the key of the owner of a Role or a binding, by its name; None if it has none."""
        if namespace and name in NAMESPACE_BINDINGS:
            return LNamespaceKey(namespace)
        if lcluster := self.lclusters.key_of_rbac_object(namespace, name):
            return lcluster
        shared = namespace in ("", self._names.sudo_namespace)
        if shared and (owner := self._names.lnamespace_of(name)):
            return LNamespaceKey(owner)
        if digest := self._names.person_of(name):
            return ImpersonatorKey(digest, namespace)
        return None
