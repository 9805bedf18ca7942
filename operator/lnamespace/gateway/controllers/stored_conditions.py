"""Give the stored webhooks and admission policies of tenants the present match condition.

The gateway adds its match condition to each webhook and policy when it is written, and adds it to
each condition of the tenant's. Objects that an earlier version of the gateway wrote keep the
condition of that version until they are written again, which is done here.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.errors import ClusterError, Conflict, NoRoom, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.json_pointer import pointer_of
from lnamespace.kube.metadata import ListMeta, PartialMetadata
from lnamespace.kube.pages import list_pages
from lnamespace.kube.prefixed import FIRST_KINDS
from lnamespace.kube.resources import Resource
from lnamespace.kube.served import in_served_version
from lnamespace.model.lcluster import tenant_of_name
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.admission import (
    CONDITION,
    expression,
    mutating_expression,
)
from lnamespace.translate.objects.confinement.conditions import condition_down, condition_up

SECONDS = 3600.0
"""Seconds between two passes: in an upgrade an older replica may write after one."""
NEVER = "false"
"""Each condition of an object that is so long that etcd does not take the present ones."""
_KINDS = tuple(each for each in FIRST_KINDS if not each.plural.endswith("bindings"))

log = logging.getLogger(__name__)


class _MatchCondition(msgspec.Struct, frozen=True):
    name: str = ""
    expression: str = ""


class _Holder(msgspec.Struct, frozen=True, rename="camel"):
    match_conditions: tuple[_MatchCondition, ...] | None = None


class _Stored(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: _Holder = _Holder()
    webhooks: tuple[_Holder, ...] | None = None

    @property
    def holders(self) -> Iterator[tuple[tuple[str, ...], _Holder]]:
        """Yield the parts that have match conditions, each with its path."""
        yield ("spec",), self.spec
        for number, webhook in enumerate(self.webhooks or ()):
            yield ("webhooks", str(number)), webhook


class _StoredPage(msgspec.Struct, frozen=True):
    metadata: ListMeta
    items: tuple[_Stored, ...] | None = None


_pages = msgspec.json.Decoder(_StoredPage)


@dataclass(frozen=True)
class StoredConditions:
    """The renewal of match conditions that an earlier version of the gateway wrote.

    Every replica does so, and the first one wins.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    client: Client
    label: str

    async def run(self) -> None:
        """Renew the conditions now, and then every hour."""
        while True:
            for kind in _KINDS:
                try:
                    await in_served_version(self.client, kind, self._renew_all)
                except ClusterError as error:
                    about = {"kind": kind.kind, "error": str(error)}
                    log.warning("stored match conditions may be old", extra=about)
            await asyncio.sleep(SECONDS)

    async def _renew_all(self, kind: Resource) -> None:
        params = {"labelSelector": self.label}
        async for page in list_pages(self.client.get, kind.path(), _pages, params):
            for each in page.items or ():
                await self._renew(kind, each)

    async def _renew(self, kind: Resource, stored: _Stored) -> None:
        metadata = stored.metadata
        tenant = metadata.labels.get(self.label, "")
        if tenant_of_name(metadata.name) != tenant:
            return
        path, about = kind.path(metadata.name), {"kind": kind.kind, "object": metadata.name}
        for condition in (_present(kind)(TenantView(tenant)), NEVER):
            operations = list(_renewed(stored, condition))
            if not operations or await self._is_patched(path, operations, about):
                return

    async def _is_patched(
        self, path: str, operations: list[dict[str, Any]], about: dict[str, str]
    ) -> bool:
        """Patch an object; return False if the object is too long for the patch."""
        try:
            await self.client.patch_json(path, operations)
        except (Conflict, NotFound):
            return True  # its tenant, or another replica, was first
        except ClusterError as error:
            log.warning("a match condition is not renewed", extra=about | {"error": str(error)})
            # For another failure of the API server, what an honest tenant wrote must not be asked
            # about nothing. The next pass tries it again.
            return not isinstance(error, NoRoom)
        log.info("a match condition is renewed", extra=about)
        return True


def _present(kind: Resource) -> Callable[[TenantView], str]:
    return mutating_expression if kind.plural == "mutatingadmissionpolicies" else expression


def _renewed(stored: _Stored, present: str) -> Iterator[dict[str, Any]]:
    """Yield the operations of a JSON patch that renews the conditions of an object."""
    for path, holder in stored.holders:
        for number, condition in enumerate(holder.match_conditions or ()):
            if condition.expression != (renewed := _renewed_expression(condition, present)):
                at = pointer_of((*path, "matchConditions", str(number), "expression"))
                yield {"op": "test", "path": at, "value": condition.expression}
                yield {"op": "replace", "path": at, "value": renewed}


def _renewed_expression(condition: _MatchCondition, present: str) -> str:
    if condition.name == CONDITION or present == NEVER:
        return present
    return condition_up(condition_down(condition.expression), present) or NEVER
