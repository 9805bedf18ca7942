"""The webhook's endpoints, from the bytes of a review to the bytes of its answer."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, Self, TypeVar

from lnamespace.access.conventions import lnamespace_resource
from lnamespace.admission import caller
from lnamespace.admission.accounts import AccountOf, own_account
from lnamespace.admission.decisions.conversion import convert
from lnamespace.admission.decisions.decision import Clock, Decision, Policy, ReviewContext
from lnamespace.admission.decisions.fields import invalid_status
from lnamespace.admission.decisions.mutation import mutate
from lnamespace.admission.decisions.review import (
    AdmissionRequest,
    allow,
    decode_review,
    deny,
    name_of,
)
from lnamespace.admission.decisions.validation import validate
from lnamespace.admission.deletions import OutboxDeletions, RecordDeletion, record_nothing
from lnamespace.admission.inheritance import ClusterInheritance, HomeOf, no_home
from lnamespace.admission.prefixes import ClusterPrefixes, NameConflict, no_conflict
from lnamespace.admission.server import Endpoint
from lnamespace.admission.threads import in_thread
from lnamespace.errors import ReviewError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.model.names import Names
from lnamespace.nesting import at_any_depth
from lnamespace.payers.directory import Directories
from lnamespace.payers.entries import Payers
from lnamespace.payers.file import PayersFile
from lnamespace.settings import Settings, items

ADMISSION_MAX = 4 * 1024**2
"""Bytes; etcd takes objects of 1.5 MiB, and an update shows it twice."""

THREAD_BYTES = 2**15
THREAD_GROUPS = 100
"""Bytes of a review, and groups of the caller, above which a thread decides. An ordinary review has
a few thousand bytes and takes a millisecond; one with 300,000 groups took 13 seconds, in which the
event loop answered no request."""

CONVERSION_MAX = 128 * 1024**2
"""Bytes; a list is converted in one review."""

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

Directory = Callable[[Payers, str], frozenset[str] | None]
"""The groups that a directory knows of a user; None while it is being asked. It never waits."""

Decide = Callable[[AdmissionRequest, Policy, ReviewContext], Decision]


@dataclass(frozen=True)
class CreationLimit:
    """The limit of creations of one kind; by default there is none.

    Parameters
    ----------
    account_of
        The account to which creations of a user count, by
        :data:`~lnamespace.admission.accounts.AccountOf`.
    exceeded
        Returns why an account may have no further object; empty if it may.
    """

    account_of: AccountOf = own_account
    exceeded: Callable[[str], str] = lambda _: ""


UNLIMITED = CreationLimit()


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class AdmissionEndpoints:
    """The endpoints of the webhook, with what their decisions need read from the cluster.

    Parameters
    ----------
    directory
        The groups that a login does not name.
    on_decision
        Called with the endpoint's path and each decision; for metrics.
    limits
        The limits of creations, by kind.
    name_conflict
        Returns which prefix of an LCluster a new name conflicts with.
    """

    policy: Policy
    payers: Callable[[], Payers]
    home_of: HomeOf
    directory: Directory
    record_deletion: RecordDeletion
    clock: Clock = _utc_now
    on_decision: Callable[[str, Decision], None] = lambda _, __: None
    limits: Mapping[str, CreationLimit] = field(default_factory=dict)
    name_conflict: NameConflict = no_conflict

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        client: Client | None,
        file: PayersFile,
        on_decision: Callable[[str, Decision], None],
        on_unrecorded: Callable[[], None],
    ) -> Self:
        """Build the endpoints that the settings ask for.

        Parameters
        ----------
        client
            None for a webhook without a connection to the API server: nothing is inherited then,
            and no deletion is recorded.
        on_unrecorded
            Called for each deletion that was allowed without a record of it.
        """
        names = Names(settings.api_group_suffix, settings.sudoers_group_format)
        resource = lnamespace_resource(names)
        directories = Directories()
        return cls(
            Policy(
                names,
                default_lists=items(settings.default_lists),
                never_impersonate=frozenset(items(settings.never_impersonate)),
            ),
            payers=lambda: file.current,
            home_of=(ClusterInheritance(client, resource, _utc_now).home_of if client else no_home),
            directory=lambda payers, user: directories.groups_of(
                payers.directory, user, caller.address.get()
            ),
            record_deletion=_deletion_recorder(client, resource, names, on_unrecorded),
            name_conflict=(
                ClusterPrefixes(client, names).conflict
                if client and settings.lclusters == "yes"
                else no_conflict
            ),
            on_decision=on_decision,
        )

    def all(self) -> tuple[Endpoint, ...]:
        """Return every endpoint that the chart's webhook configurations name."""
        return (
            self._endpoint("/mutate", mutate, administrator=False),
            self._endpoint("/mutate-administrator", mutate, administrator=True),
            self._endpoint("/validate", validate, administrator=False),
            self._endpoint("/validate-administrator", validate, administrator=True),
            Endpoint("/depart", self._record_deletion, ADMISSION_MAX),
            Endpoint("/convert", partial(_converted, self.policy), CONVERSION_MAX),
        )

    def _endpoint(self, path: str, decide: Decide, *, administrator: bool) -> Endpoint:
        async def answer(body: bytes) -> bytes:
            long = len(body) > THREAD_BYTES
            request = await _run(long, decode_review, body, self.policy.names)
            validates = decide is validate
            context = await self._context(request, administrator, validates=validates)
            long = long or len(request.user_info.groups) > THREAD_GROUPS
            decision, reply = await _run(long, self._decide, decide, request, context)
            self.on_decision(path, decision)
            return reply

        return Endpoint(path, answer, ADMISSION_MAX)

    def _decide(
        self, decide: Decide, request: AdmissionRequest, context: ReviewContext
    ) -> tuple[Decision, bytes]:
        try:
            decision = at_any_depth(decide, request, self.policy, context)
        except RecursionError as error:
            raise ReviewError("an object is nested too deeply") from error
        return decision, _answer(request, self.policy.names, decision)

    async def _record_deletion(self, body: bytes) -> bytes:
        request = decode_review(body, self.policy.names)
        await self.record_deletion(request)
        return allow(request)

    async def _context(
        self, request: AdmissionRequest, administrator: bool, *, validates: bool
    ) -> ReviewContext:
        payers, user = self.payers(), request.user_info.username
        kind, name = request.kind.kind, name_of(request.new) or ""
        creates = request.operation == "CREATE"
        limit = self.limits.get(kind, UNLIMITED)
        account = await limit.account_of(user) if creates else ""
        home = await self.home_of(user)
        return ReviewContext(
            now=self.clock(),
            payers=payers,
            administrator=administrator,
            directory_groups=self.directory(payers, user),
            inherited=home.inherited,
            unlisted=home.unlisted,
            counted_to=account,
            limit_exceeded=limit.exceeded(account or user),
            # Only a validation refuses a name, and to look for others with its prefix is costly.
            name_conflict=await self.name_conflict(kind, name) if creates and validates else "",
        )


def _deletion_recorder(
    client: Client | None, resource: Resource, names: Names, on_unrecorded: Callable[[], None]
) -> RecordDeletion:
    if client is None:
        return record_nothing
    outbox = OutboxClient(client, names)
    return OutboxDeletions(client, resource, outbox, _utc_now, on_unrecorded).record


def _answer(request: AdmissionRequest, names: Names, decision: Decision) -> bytes:
    if not decision.errors:
        return allow(request, decision.warnings, decision.patch)
    fields = [error.path for error in decision.errors]
    log.info("refused", extra={"uid": request.uid, "fields": fields})
    name = name_of(request.new)
    name = request.name if name is None else name
    refusal = invalid_status(names, request.kind.kind, name, decision.errors)
    return deny(request, refusal, decision.warnings)


async def _converted(policy: Policy, body: bytes) -> bytes:
    # A list of thousands of objects takes a second, which must not block the event loop.
    return await in_thread(convert, body, policy.names)


async def _run(long: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function; in a thread if it may take long, so that other requests need not wait."""
    return await in_thread(work, *args, **kwargs) if long else work(*args, **kwargs)
