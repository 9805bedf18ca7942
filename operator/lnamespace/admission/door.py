"""The endpoints: bytes in, bytes out, with all that decides in between."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Self

from lnamespace.admission.convert import convert
from lnamespace.admission.decision import Decision
from lnamespace.admission.departures import Departures, IntoOutbox, NoDepartures
from lnamespace.admission.fields import status
from lnamespace.admission.inheritance import FromCluster, Inheritance, NoInheritance
from lnamespace.admission.mutate import mutate
from lnamespace.admission.policy import Circumstances, Clock, Policy
from lnamespace.admission.review import Request, allow, deny, read
from lnamespace.admission.server import Endpoint
from lnamespace.admission.validate import validate
from lnamespace.billing.directory import Directories
from lnamespace.billing.outbox import Outbox
from lnamespace.billing.payers import Payers, Requester
from lnamespace.billing.payers_file import PayersFile
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION
from lnamespace.model.names import Names
from lnamespace.settings import Settings, items

ADMISSION_MAX = 8 * 1024**2
"""Bytes; an object may have 3 MiB, and an update shows it twice."""

CONVERSION_MAX = 128 * 1024**2
"""Bytes; a list is converted in one review."""

log = logging.getLogger(__name__)

Directory = Callable[[Payers, str], frozenset[str] | None]
"""The groups that a directory knows of a user; None while it is still being asked. Never waits."""

Decide = Callable[[Request, Policy, Circumstances], Decision]


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
            inheritance=FromCluster(client, resource) if client else NoInheritance(),
            directory=lambda payers, user: directories.groups_of(payers.directory, user),
            departures=(
                IntoOutbox(client, resource, Outbox(client, names), _utc_now, missed)
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
            request = read(body, self.policy.names)
            known = await self._circumstances(request, administrator)
            decision = decide(request, self.policy, known)
            self.decided(path, decision)
            return _answer(request, self.policy.names, decision)

        return Endpoint(path, answer, ADMISSION_MAX)

    async def _depart(self, body: bytes) -> bytes:
        request = read(body, self.policy.names)
        await self.departures.tell(request)
        return allow(request)

    async def _circumstances(self, request: Request, administrator: bool) -> Circumstances:
        payers = self.payers()
        return Circumstances(
            now=self.clock(),
            payers=payers,
            administrator=administrator,
            found=self.directory(payers, request.user_info.username),
            inherited=await self.inheritance.of(Requester(request.user_info.username).home),
            exceeded=self.exceeded(request.user_info.username),
        )


def _answer(request: Request, names: Names, decision: Decision) -> bytes:
    if not decision.errors:
        return allow(request, decision.warnings, decision.patch)
    fields = [error.path for error in decision.errors]
    log.info("refused", extra={"uid": request.uid, "fields": fields})
    refusal = status(names, _name_of(request), decision.errors)
    return deny(request, refusal, decision.warnings)


def _name_of(request: Request) -> str:
    metadata = request.new.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else request.name


async def _converted(policy: Policy, body: bytes) -> bytes:
    # A list of thousands takes a second; other requests must not wait for it.
    return await asyncio.to_thread(convert, body, policy.names)
