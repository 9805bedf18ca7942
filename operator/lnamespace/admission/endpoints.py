"""The endpoints: bytes in, bytes out, with all that decides in between."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, Self, TypeVar

from lnamespace.admission import caller
from lnamespace.admission.accounts import Accounts, themselves
from lnamespace.admission.decisions.conversion import convert
from lnamespace.admission.decisions.decision import Decision
from lnamespace.admission.decisions.fields import invalid_status
from lnamespace.admission.decisions.mutation import mutate
from lnamespace.admission.decisions.policy import Clock, Policy, ReviewContext
from lnamespace.admission.decisions.review import AdmissionRequest, allow, decode_review, deny
from lnamespace.admission.decisions.validation import validate
from lnamespace.admission.departures import Departures, IntoOutbox, NoDepartures
from lnamespace.admission.inheritance import FromCluster, Inheritance, NoInheritance
from lnamespace.admission.server import Endpoint
from lnamespace.admission.threads import in_thread
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION
from lnamespace.model.names import Names
from lnamespace.payers.directory import Directories
from lnamespace.payers.entries import Payers
from lnamespace.payers.file import PayersFile
from lnamespace.settings import Settings, items

ADMISSION_MAX = 4 * 1024**2
"""Bytes; etcd takes objects of 1.5 MiB, and an update shows it twice."""

ASIDE = 2**15
GROUPS_ASIDE = 100
"""Bytes of a review, and groups of who asks, from which on a thread decides: an ordinary review has
a few thousand bytes and takes a millisecond."""

CONVERSION_MAX = 128 * 1024**2
"""Bytes; a list is converted in one review."""

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

Directory = Callable[[Payers, str], frozenset[str] | None]
"""The groups that a directory knows of a user; None while it is still being asked. Never waits."""

Decide = Callable[[AdmissionRequest, Policy, ReviewContext], Decision]


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Door:
    """What stands between a decision and the world."""

    policy: Policy
    payers: Callable[[], Payers]
    inheritance: Inheritance
    directory: Directory
    departures: Departures
    clock: Clock = _utc_now
    decided: Callable[[str, Decision], None] = lambda _, __: None
    accounts: Accounts = themselves
    exceeded: Callable[[str], str] = lambda _: ""

    @classmethod
    def of(
        cls,
        settings: Settings,
        client: Client | None,
        file: PayersFile,
        decided: Callable[[str, Decision], None],
        missed: Callable[[], None],
    ) -> Self:
        """The door that the settings ask for; without a client, it neither looks nor writes.

        ``decided`` is told each decision, and the path where it was asked for; ``missed`` is
        called for each deletion that was let through without a record of it.
        """
        names = Names(settings.api_group_suffix, settings.sudoers_group_format)
        resource = Resource(names.group, VERSION, KIND, PLURAL)
        directories = Directories()
        return cls(
            Policy(
                names,
                default_lists=items(settings.default_lists),
                never_impersonate=frozenset(items(settings.never_impersonate)),
            ),
            payers=lambda: file.current,
            inheritance=FromCluster(client, resource, _utc_now) if client else NoInheritance(),
            directory=lambda payers, user: directories.groups_of(
                payers.directory, user, caller.address.get()
            ),
            departures=(
                IntoOutbox(client, resource, OutboxClient(client, names), _utc_now, missed)
                if client
                else NoDepartures()
            ),
            decided=decided,
        )

    def endpoints(self) -> tuple[Endpoint, ...]:
        """All that the API server may ask."""
        return (
            self._endpoint("/mutate", mutate, administrator=False),
            self._endpoint("/mutate-administrator", mutate, administrator=True),
            self._endpoint("/validate", validate, administrator=False),
            self._endpoint("/validate-administrator", validate, administrator=True),
            Endpoint("/depart", self._depart, ADMISSION_MAX),
            Endpoint("/convert", partial(_converted, self.policy), CONVERSION_MAX),
        )

    def _endpoint(self, path: str, decide: Decide, *, administrator: bool) -> Endpoint:
        async def answer(body: bytes) -> bytes:
            long = len(body) > ASIDE
            request = await _run(long, decode_review, body, self.policy.names)
            context = await self._circumstances(request, administrator)
            long = long or len(request.user_info.groups) > GROUPS_ASIDE
            decision, reply = await _run(long, self._judge, decide, request, context)
            self.decided(path, decision)
            return reply

        return Endpoint(path, answer, ADMISSION_MAX)

    def _judge(
        self, decide: Decide, request: AdmissionRequest, context: ReviewContext
    ) -> tuple[Decision, bytes]:
        decision = decide(request, self.policy, context)
        return decision, _answer(request, self.policy.names, decision)

    async def _depart(self, body: bytes) -> bytes:
        request = decode_review(body, self.policy.names)
        await self.departures.tell(request)
        return allow(request)

    async def _circumstances(self, request: AdmissionRequest, administrator: bool) -> ReviewContext:
        payers, user = self.payers(), request.user_info.username
        account = await self.accounts(user) if request.operation == "CREATE" else ""
        home = await self.inheritance.of(user)
        return ReviewContext(
            now=self.clock(),
            payers=payers,
            administrator=administrator,
            directory_groups=self.directory(payers, user),
            inherited=home.inherited,
            unlisted=home.unlisted,
            counted_to=account,
            limit_exceeded=self.exceeded(account or user),
        )


def _answer(request: AdmissionRequest, names: Names, decision: Decision) -> bytes:
    if not decision.errors:
        return allow(request, decision.warnings, decision.patch)
    fields = [error.path for error in decision.errors]
    log.info("refused", extra={"uid": request.uid, "fields": fields})
    refusal = invalid_status(names, _name_of(request), decision.errors)
    return deny(request, refusal, decision.warnings)


def _name_of(request: AdmissionRequest) -> str:
    metadata = request.new.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else request.name


async def _converted(policy: Policy, body: bytes) -> bytes:
    # A list of thousands takes a second; other requests must not wait for it.
    return await in_thread(convert, body, policy.names)


async def _run(long: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function, in a thread if it may take long: other requests must not wait for it."""
    return await in_thread(work, *args, **kwargs) if long else work(*args, **kwargs)
