"""The LClusters, and the Namespaces whose names belong to each."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lnamespace.access.limit import RequesterLimits
from lnamespace.access.quota_refusals import ShareRefusal
from lnamespace.controller.lclusters.definitions import CachedDefinition
from lnamespace.controller.lclusters.division import totals_of
from lnamespace.controller.lclusters.quota import LClusterEntry, refuse_excess
from lnamespace.controller.lclusters.resource import CachedLCluster
from lnamespace.controller.lclusters.share_quotas import (
    CachedShareQuota,
    ShareDemand,
    affects_shares,
)
from lnamespace.kube.objects import Key
from lnamespace.kube.state import ObservedObject
from lnamespace.kube.store import Store
from lnamespace.model.lcluster import SYSTEM_NAMESPACES, LCluster, tenant_of_name
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING, SHARE_QUOTA, Names


@dataclass(frozen=True)
class LClusterKey:
    """The key under which one LCluster is reconciled."""

    name: str


class LClusterCache:
    """The store of LClusters; changes of them and of their objects add keys to the queue."""

    def __init__(
        self,
        names: Names,
        namespaces: Store[ObservedObject],
        enqueue: Callable[[LClusterKey], None],
        limits: RequesterLimits,
    ) -> None:
        self.limits = limits
        self._admitted: set[str] = set()
        """The UIDs of those that are within the limit, also before their Namespaces show it."""
        self._names = names
        self._namespaces = namespaces
        self._enqueue = enqueue
        self._with_prefix: dict[str, set[str]] = {}
        """The names of watched Namespaces that begin with a tenant's prefix, by tenant.

        No listener is called for our own writes, so values are read from the store.
        """
        self.lclusters: Store[CachedLCluster] = Store(self._lcluster_changed)
        self.definitions: Store[CachedDefinition] = Store(self._definition_changed)
        self.share_quotas: Store[CachedShareQuota] = Store(self._share_quota_changed)
        self.demand = ShareDemand()
        self.totals = asyncio.Event()
        """Set while any LCluster has totals."""
        self._groups: dict[str, dict[Key, str]] = {}
        """The API groups of each tenant's CustomResourceDefinitions."""

    def get(self, name: str) -> CachedLCluster | None:
        """Return the LCluster of that name; None where there is none."""
        return self.lclusters.get(("", name))

    def of_our_class(self, cached: CachedLCluster | None) -> LCluster | None:
        """Return the LCluster if it is of our class, or None."""
        return cached.lcluster if cached and cached.of_class(self._names.class_name) else None

    def is_waiting(self, name: str) -> bool:
        """Return whether the LCluster of that name is limited and not admitted yet."""
        cached = self.get(name)
        return bool(
            cached and self.limits.any_limited and not self._entry(cached.lcluster).admitted
        )

    def admit(self, name: str) -> str:
        """Admit an LCluster that is within the limit, for good; return why not, or an empty text.

        Nothing is awaited here, so no other LCluster is admitted between the check and the entry.
        """
        cached = self.get(name)
        if cached is None or not self.limits.any_limited:
            return ""
        entry = self._entry(cached.lcluster)
        if refusal := refuse_excess(entry, self._rivals(entry), self.limits):
            return refusal
        self._admitted.add(cached.lcluster.uid)
        return ""

    def _rivals(self, entry: LClusterEntry) -> Iterator[LClusterEntry]:
        """Yield the other LClusters of an account, of any class."""
        for cached in self.lclusters:
            lcluster = cached.lcluster
            account = self.limits.account(lcluster.spec.account)
            if account == entry.account and lcluster.name != entry.name:
                yield self._entry(lcluster)

    def _entry(self, lcluster: LCluster) -> LClusterEntry:
        uid, key = lcluster.uid, self._names.lcluster_annotation
        namespaces = self.namespaces_of(lcluster.name)
        marked = any(found.annotations.get(key) == uid for found in namespaces)
        account = self.limits.account(lcluster.spec.account)
        since = lcluster.metadata.creation_timestamp or ""
        return LClusterEntry(lcluster.name, account, since, marked or uid in self._admitted)

    def _enqueue_waiting(self, gone: LCluster) -> None:
        """Enqueue the LClusters that may be admitted after the end of another."""
        entry = self._entry(gone)
        self._admitted.discard(gone.uid)
        if self.limits.limit_for(entry.account) is not None:
            for rival in self._rivals(entry):
                if not rival.admitted:
                    self._enqueue(LClusterKey(rival.name))

    def namespaces_of(self, name: str) -> tuple[ObservedObject, ...]:
        """Return the Namespaces whose names begin with an LCluster's prefix, by name."""
        ours = {f"{name}-{namespace}" for namespace in SYSTEM_NAMESPACES}
        known = sorted(ours | self._with_prefix.get(name, set()))
        return tuple(found for each in known if (found := self._namespaces.get(("", each))))

    def has_share(self, namespace: str) -> bool:
        """Return whether a namespace has the ResourceQuota of its share."""
        return self.share_quotas.get((namespace, SHARE_QUOTA)) is not None

    def note_demand(
        self, key: LClusterKey, namespace: str, refusal: ShareRefusal, seconds: float
    ) -> None:
        """Record that a request was refused because the share of a namespace is too small."""
        self.demand.note(namespace, refusal, seconds)
        self._enqueue(key)

    def groups_of(self, name: str) -> frozenset[str]:
        """Return the API groups that an LCluster has CustomResourceDefinitions of."""
        return frozenset(self._groups.get(name, {}).values())

    def owns_name(self, namespace: str) -> bool:
        """Return whether a Namespace's name belongs to an LCluster, so that it is no LNamespace's.

        An LCluster that was refused owns no names.
        """
        found = self._namespaces.get(("", namespace))
        labelled = found is not None and self._names.lcluster_label in found.labels
        return labelled or self.claimant(namespace) is not None

    def claimant(self, namespace: str) -> LCluster | None:
        """Return the LCluster with our finalizer that a Namespace's prefix names, or None."""
        cached = self.get(tenant_of_name(namespace))
        if cached and self._names.lcluster_finalizer in cached.lcluster.metadata.finalizers:
            return cached.lcluster
        return None

    def keys(self) -> Iterator[LClusterKey]:
        """Yield the keys of all LClusters."""
        for cached in self.lclusters:
            yield LClusterKey(cached.lcluster.name)

    def leftovers(self) -> Iterator[LClusterKey]:
        """Yield the keys of the LClusters that labels of Namespaces name."""
        labels = (found.labels.get(self._names.lcluster_label) for found in self._namespaces)
        for name in sorted({label for label in labels if label}):
            yield LClusterKey(name)

    def key_of_rbac_object(self, namespace: str, name: str) -> LClusterKey | None:
        """Return the key of the LCluster that an RBAC object belongs to; None if to none."""
        if name == CLUSTER_ACCOUNT_BINDING and (tenant := tenant_of_name(namespace)):
            return LClusterKey(tenant)
        if not namespace and (tenant := self._names.lcluster_of(name) or ""):
            return LClusterKey(tenant)
        return None

    def namespace_changed(self, old: ObservedObject | None, new: ObservedObject | None) -> None:
        """Update the Namespaces of LClusters after a change of any Namespace."""
        observed = new or old
        tenant = tenant_of_name(observed.key[1]) if observed else ""
        if observed is None or not tenant:
            return
        self._index(tenant, observed.key[1], there=new is not None)
        labelled = any(each and self._names.lcluster_label in each.labels for each in (old, new))
        if labelled or self.get(tenant):
            self._enqueue(LClusterKey(tenant))

    def _index(self, tenant: str, name: str, *, there: bool) -> None:
        known = self._with_prefix.setdefault(tenant, set())
        if there:
            known.add(name)
        else:
            known.discard(name)
        if not known:
            del self._with_prefix[tenant]

    def _definition_changed(
        self, old: CachedDefinition | None, new: CachedDefinition | None
    ) -> None:
        for tenant in {each.tenant for each in (old, new) if each and each.tenant}:
            before = self.groups_of(tenant)
            groups = self._groups.setdefault(tenant, {})
            if old:
                groups.pop(old.key, None)
            if new and new.tenant == tenant:
                groups[new.key] = new.group
            if not groups:
                del self._groups[tenant]
            if self.groups_of(tenant) != before:
                self._enqueue(LClusterKey(tenant))

    def _share_quota_changed(
        self, old: CachedShareQuota | None, new: CachedShareQuota | None
    ) -> None:
        observed = new or old
        tenant = tenant_of_name(observed.key[0]) if observed else ""
        cached = self.get(tenant)
        if observed is None or cached is None:
            return
        demanded = self.demand.any_with(cached.lcluster.prefix)
        if affects_shares(old, new, totals_of(cached.lcluster), demanded=demanded):
            self._enqueue(LClusterKey(tenant))

    def _lcluster_changed(self, old: CachedLCluster | None, new: CachedLCluster | None) -> None:
        if new and new.lcluster.spec.quota:
            self.totals.set()
        elif self.totals.is_set() and not any(c.lcluster.spec.quota for c in self.lclusters):
            self.totals.clear()
        for lcluster in (self.of_our_class(old), self.of_our_class(new)):
            if lcluster is not None:
                self._enqueue(LClusterKey(lcluster.name))
        if old is not None and (new is None or new.lcluster.uid != old.lcluster.uid):
            self._enqueue_waiting(old.lcluster)
