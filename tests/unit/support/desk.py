"""Both reconcilers with a cluster, at a time that the test sets."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from lnamespace.access.conventions import Conventions, lnamespace_resource
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.access.limit import RequesterLimits
from lnamespace.controller.cache import NO_LIMITS, Cache, WorkKey
from lnamespace.controller.deleted import DeletedLNamespaceKey
from lnamespace.controller.deletion import DeletionReconciler
from lnamespace.controller.impersonator import Accounts, ImpersonatorReconciler
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import RequeueResult, WorkQueue
from lnamespace.controller.reconciler import LNamespaceReconciler
from lnamespace.controller.resource import read_lnamespace
from lnamespace.kube.apply import Applier
from lnamespace.kube.resources import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, NAMESPACE, ROLE_BINDING
from lnamespace.kube.state import read_observed
from lnamespace.ledger.outbox.record import billingrecords
from lnamespace.model.subject import Subject, SubjectKind

from tests.unit.support.cluster import Cluster, cluster
from tests.unit.support.server import client_of
from tests.unit.support.strategies import NOW

LAYOUT = Conventions()
NAMES = LAYOUT.names
LNS = lnamespace_resource(LAYOUT.names).path("team-a")
SPACE = NAMESPACE.path("team-a")
USERS = ROLE_BINDING.path("lnamespace-users", "team-a")
SUDOERS = ROLE_BINDING.path("lnamespace-sudoers", "team-a")
ROLES = CLUSTER_ROLE.path().removesuffix("/")
BINDINGS = CLUSTER_ROLE_BINDING.path()
EDITOR, SUDOER = NAMES.editor("team-a"), NAMES.sudoer("team-a")
RECORDS = billingrecords(NAMES).path()
ALICE = ImpersonatorKey.from_subject(Subject(SubjectKind.USER, "alice"))
SELF = NAMES.self_impersonator(ALICE.digest)


@dataclass
class Desk:
    """Both reconcilers, at a time that the test sets."""

    cluster: Cluster
    cache: Cache
    queue: WorkQueue[WorkKey]
    tenants: LNamespaceReconciler
    impersonators: ImpersonatorReconciler
    woken: list[str]
    now: list[datetime]

    def lnamespace(self, uid: str = "uid-a", **spec: Any) -> None:
        """Somebody writes the LNamespace; the watch tells."""
        known = self.cluster.objects.get(LNS, {"metadata": {"name": "team-a", "uid": uid}})
        generation = known["metadata"].get("generation", 0) + 1
        meta = known["metadata"] | {"generation": generation}
        shown = self.cluster.make(LNS, known | {"metadata": meta, "spec": spec})
        self.cache.lnamespaces.apply_event(read_lnamespace(msgspec.json.encode(shown)))

    def told(self, resource: Any, path: str) -> None:
        """Take in an event of the watch."""
        raw = msgspec.json.encode(self.cluster.objects[path])
        self.cache.objects[resource].apply_event(read_observed(raw, LAYOUT.managed_metadata))

    def deleted(self, path: str) -> None:
        """Somebody deletes an object; the watch tells."""
        key = self.cluster.objects.pop(path)["metadata"]
        self.cluster.version += 1
        where = (key.get("namespace", ""), key["name"])
        if path == LNS:
            self.cache.lnamespaces.remove(where, self.cluster.version)
        else:
            kind = NAMESPACE if path == SPACE else ROLE_BINDING
            self.cache.objects[kind].remove(where, self.cluster.version)

    def gone(self) -> None:
        """Have the LNamespace gone, and its Namespace after it, as the garbage collector does."""
        self.deleted(LNS)
        if SPACE in self.cluster.objects:
            self.deleted(SPACE)

    async def reconcile(self, failed_before: int = 0) -> RequeueResult:
        """Work on the LNamespace."""
        return await self.tenants.reconcile("team-a", failed_before)

    async def close(self, uid: str = "uid-a") -> RequeueResult:
        """Work on an LNamespace that is gone."""
        ours = self.tenants
        deletions = DeletionReconciler(ours.cache, ours.outbox, ours.conventions, ours.reserved)
        return await deletions.reconcile(DeletedLNamespaceKey(uid))

    def restart(self) -> None:
        """Another process takes over: it knows what the cluster says, and no more."""
        client = self.tenants.client
        cache = Cache(LAYOUT, self.queue)
        for resource, store in self.cache.objects.items():
            for seen in store:
                cache.objects[resource].apply_event(seen)
        if LNS in self.cluster.objects:
            raw = msgspec.json.encode(self.cluster.objects[LNS])
            cache.lnamespaces.apply_event(read_lnamespace(raw))
        self.cache = cache
        applier = Applier(client, cache.objects, LAYOUT.managed_metadata, 8)
        accounts = Accounts(client, cache, LAYOUT)
        self.impersonators = dataclasses.replace(
            self.impersonators, cache=cache, accounts=accounts, applier=applier
        )
        self.tenants = dataclasses.replace(
            self.tenants,
            cache=cache,
            applier=applier,
            outbox=BillingRecorder(client, NAMES),
        )

    def subjects(self, path: str) -> list[str]:
        """Return who is bound."""
        return [subject["name"] for subject in self.cluster.objects[path].get("subjects", [])]

    @property
    def records(self) -> list[str]:
        """Return the outbox: which records there are, the oldest first."""
        made = {p: o for p, o in self.cluster.objects.items() if p.startswith(f"{RECORDS}/")}
        found = sorted(made, key=lambda p: int(made[p]["metadata"]["resourceVersion"]))
        return [path.rpartition("/")[2] for path in found]

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """Return what is told: status and reason of each."""
        told = self.cluster.objects[LNS].get("status", {}).get("conditions", [])
        return {c["type"]: (c["status"], c["reason"]) for c in told}


@asynccontextmanager
async def working(limits: RequesterLimits = NO_LIMITS) -> AsyncIterator[Desk]:
    """Yield a desk for as long as the block lasts."""
    async with cluster() as made, client_of(made.url) as client:
        queue: WorkQueue[WorkKey] = WorkQueue()
        cache, now, woken = Cache(LAYOUT, queue, limits=limits), [NOW], list[str]()
        applier = Applier(client, cache.objects, LAYOUT.managed_metadata, 8)
        outbox = BillingRecorder(client, NAMES)
        tenants = LNamespaceReconciler(client, cache, applier, outbox, LAYOUT, clock=lambda: now[0])
        accounts = Accounts(client, cache, LAYOUT)
        people = ImpersonatorReconciler(
            cache, accounts, applier, LAYOUT, woken.append, clock=lambda: now[0]
        )
        yield Desk(made, cache, queue, tenants, people, woken, now)
