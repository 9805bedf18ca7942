"""Reconcile one person's self-impersonator with the LNamespaces that list the person.

Nothing else writes these objects: a thousand LNamespaces would race for one list of owner
references.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.impersonator import ImpersonatorKey, impersonator_refs, self_impersonator
from lnamespace.access.ownership import Ownership, determine_ownership
from lnamespace.access.sudo import previous_is_present
from lnamespace.controller.cache import Cache
from lnamespace.controller.decision import SWITCH_DELAY
from lnamespace.controller.queue import FAILURES_BEFORE_STATUS, RequeueResult
from lnamespace.controller.reconciler import utc_now
from lnamespace.controller.status import is_ready
from lnamespace.errors import ClusterError, Invalid, NoNamespace, NoServiceAccount, NotFound
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.plan import plan_actions
from lnamespace.kube.resources import NAMESPACE, ROLE_BINDING, SERVICE_ACCOUNT
from lnamespace.model.names import SUDOERS_BINDING, USERS_BINDING
from lnamespace.model.subject import Subject, SubjectKind

NEVER = ("kube-*", "lnamespace", "lnamespace-*")
"""Patterns of the system's namespaces and of ours, whose ServiceAccounts cannot be sudoers.

Programs of the platform can, such as the GitOps controller in openshift-gitops.
"""


@dataclass(frozen=True)
class Accounts:
    """A check of ServiceAccounts by name: the right to list them would show those of everybody."""

    client: Client
    cache: Cache
    conventions: Conventions

    async def check(self, subject: Subject, sponsors: Collection[str]) -> None:
        """Check that a ServiceAccount exists, and that its turn has come.

        An LNamespace may list a ServiceAccount of its own Namespace before that account exists: the
        objects for it are written into the LNamespace's own Namespace.

        Raises
        ------
        ClusterError
            The ServiceAccount is not there, its turn has not come, or it cannot be read;
            :class:`NoServiceAccount` if it may be created later.
        """
        name, namespace = subject.name, subject.namespace
        if any(fnmatchcase(namespace, pattern) for pattern in NEVER):
            raise Invalid(f'the ServiceAccounts of namespace "{namespace}" cannot be sudoers')
        found = self.cache.get(NAMESPACE, ("", namespace))
        if found is None:
            raise NoNamespace(f'there is no namespace "{namespace}"')
        lns = self.cache.of_our_class(self.cache.lnamespace(namespace))
        if lns and determine_ownership(lns, found, self.conventions) is Ownership.OURS:
            if not self._has_bindings(namespace):
                raise NoNamespace(f'namespace "{namespace}" has no access of its own yet')
            if namespace in sponsors:
                return
        try:
            await self.client.get(SERVICE_ACCOUNT.path(name, namespace))
        except NotFound as error:
            words = f'there is no ServiceAccount "{name}" in namespace "{namespace}"'
            raise NoServiceAccount(words, status=404) from error

    def _has_bindings(self, namespace: str) -> bool:
        """Return whether the LNamespace has its own bindings, which are written first."""
        bindings = (USERS_BINDING, SUDOERS_BINDING)
        return all(self.cache.get(ROLE_BINDING, (namespace, one)) for one in bindings)


@dataclass(frozen=True)
class ImpersonatorReconciler:
    """A reconciler of people. ``wake`` enqueues an LNamespace that waits for one of them."""

    cache: Cache
    accounts: Accounts
    applier: Applier
    conventions: Conventions
    wake: Callable[[str], None]
    clock: Callable[[], datetime] = utc_now

    async def reconcile(
        self, impersonator: ImpersonatorKey, failed_before: int = 0
    ) -> RequeueResult:
        """Reconcile the objects of one person; return the failures and the next expiry."""
        now, refs = self.clock(), impersonator_refs(impersonator, self.conventions)
        impersonators, kept = self.cache.impersonators, self._kept(impersonator)
        subject = impersonators.subject(impersonator)
        sponsors = impersonators.sponsors(impersonator, now)
        by_account = self.conventions.sudo is SudoLayout.SERVICE_ACCOUNT
        if kept and (subject is None or by_account):
            return RequeueResult()
        if by_account:
            if any(map(self._lingers, sponsors)):
                return RequeueResult(requeue_at=now + SWITCH_DELAY)
            sponsors = {}
        await self.applier.refresh(refs)
        missing = await self._missing(subject, sponsors) if sponsors else None
        if missing and not isinstance(missing, NoServiceAccount | NoNamespace | Invalid):
            return RequeueResult([missing], impersonators.changes_at(impersonator, now))
        owners = {} if missing else sponsors | kept
        desired = self_impersonator(subject, owners, self.conventions) if subject else ()
        failures = await self.applier.apply(plan_actions(desired, self.cache.get, refs))
        failures += [missing] if missing else []
        changed = self._note(impersonator, failures, failed_before)
        # Also if nothing was written: the watch may have reported the objects before.
        for name in sponsors:
            if changed or self._waits(name):
                self.wake(name)
        return RequeueResult(failures, impersonators.changes_at(impersonator, now))

    async def _missing(
        self, subject: Subject | None, sponsors: Collection[str]
    ) -> ClusterError | None:
        """Return why a ServiceAccount gets nothing, or why that could not be found out."""
        if subject is None or subject.kind is not SubjectKind.SERVICE_ACCOUNT:
            return None
        try:
            await self.accounts.check(subject, sponsors)
        except ClusterError as error:
            return error
        return None

    def _kept(self, impersonator: ImpersonatorKey) -> dict[str, str]:
        """Return the LNamespaces that own the person's objects and cannot be read, name to UID.

        They may still list the person, so the objects stay until they can be read.
        """
        found = (self.cache.get(*ref) for ref in impersonator_refs(impersonator, self.conventions))
        owners = {uid for observed in found if observed for uid in observed.owners}
        return {name: uid for uid in owners if (name := self.cache.by_uid.never_read(uid))}

    def _note(
        self, impersonator: ImpersonatorKey, failures: list[ClusterError], failed_before: int
    ) -> bool:
        """Keep the problem for the status of LNamespaces; return whether it has changed."""
        impersonators = self.cache.impersonators
        known = impersonators.problems.pop(impersonator, None)
        lasting = [f for f in failures if _is_reported(f, failed_before)]
        subject = impersonators.subject(impersonator)
        if lasting and subject:
            impersonators.problems[impersonator] = f"{subject.username}: {lasting[0]}"
        return known != impersonators.problems.get(impersonator)

    def _waits(self, name: str) -> bool:
        cached = self.cache.lnamespace(name)
        return cached is not None and (not is_ready(cached.lns) or self._lingers(name))

    def _lingers(self, name: str) -> bool:
        return previous_is_present(name, self.conventions, self.cache.get)


def _is_reported(failure: ClusterError, failed_before: int) -> bool:
    """Return whether a failure belongs into the status: one that soon passes does not."""
    passes = failure.retryable and not isinstance(failure, NoServiceAccount)
    return not passes or failed_before >= FAILURES_BEFORE_STATUS
