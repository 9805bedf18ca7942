"""Record deletions of LNamespaces for the ledger, once their Namespaces are gone."""

from dataclasses import dataclass

from lnamespace.access.conventions import Conventions
from lnamespace.access.ownership import Ownership, determine_ownership
from lnamespace.controller.cache import Cache
from lnamespace.controller.deleted import DeletedLNamespace, DeletedLNamespaceKey
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import RequeueResult
from lnamespace.errors import ClusterError
from lnamespace.kube.resources import NAMESPACE
from lnamespace.model.rules import name_problem


@dataclass(frozen=True)
class DeletionReconciler:
    """A reconciler that records deletions of LNamespaces for the ledger."""

    cache: Cache
    outbox: BillingRecorder
    conventions: Conventions
    reserved: tuple[str, ...] = ()

    async def reconcile(self, key: DeletedLNamespaceKey) -> RequeueResult:
        """Record that an LNamespace is gone, if its Namespace can have cost anything.

        The record is written when its Namespace is gone: until then it costs, and its payer pays.
        """
        deleted = self.cache.deleted.get(key.uid)
        if deleted is None:
            return RequeueResult()
        lns, namespace = deleted.lns, self.cache.get(NAMESPACE, ("", deleted.lns.name))
        if deleted.namespace_still_billed(namespace):
            failures = await self._record_pending_deletion(deleted)
            return RequeueResult(failures) if failures else RequeueResult()
        # The Namespace counts too: a reconcile under way may create the record after this.
        ownership = determine_ownership(lns, namespace, self.conventions)
        had = ownership in (Ownership.OURS, Ownership.TERMINATING)
        was_ours = had or bool(lns.status.namespace_uid) or lns.uid in self.outbox.recorded
        reserved = name_problem(lns.name, self.reserved)
        charged = was_ours or (namespace is None and not reserved)
        if charged and (failures := await self.outbox.record_deletion(deleted)):
            return RequeueResult(failures)
        self.outbox.forget(key.uid)
        del self.cache.deleted[key.uid]
        return RequeueResult()

    async def _record_pending_deletion(self, deleted: DeletedLNamespace) -> list[ClusterError]:
        failures = (
            [] if deleted.pending_recorded else await self.outbox.record_pending_deletion(deleted)
        )
        if not failures:
            self.cache.deleted.note_pending_recorded(deleted.lns.uid)
        return failures
