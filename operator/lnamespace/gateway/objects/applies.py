"""Server-side applies of kinds to which the gateway adds fields: namespaces, for one.

The gateway first reads which of these fields other managers own. If they are removed before the
write, the platform's admission policies refuse the object that lacks them.
"""

from dataclasses import dataclass, replace

from lnamespace.gateway.objects.definition_status import KeptStatus
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import stored_upstream
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.answers import read_status
from lnamespace.kube.media_types import APPLY_PATCH
from lnamespace.translate.objects.confinement.ownership import (
    FieldApplier,
    adds_fields,
    fields_added_by_gateway,
    fields_of_others,
)
from lnamespace.translate.objects.confinement.rules import Path
from lnamespace.translate.objects.last_applied import LAST_APPLIED

_LAST_APPLIED_FIELD = f".metadata.annotations.{LAST_APPLIED}"


@dataclass(frozen=True)
class ApplyBasis:
    """The stored state on which a write depends.

    Parameters
    ----------
    owned_by_others
        Fields that the gateway would add, and that another manager owns.
    added_by_gateway
        Fields that the gateway added and no manager of the tenant's wrote, as conflicts name
        them. A conflict about these alone is resolved by applying with force.
    requester
        The requester of a certificate; empty for other kinds.
    status
        What stays in the status of a definition; None for other kinds.
    """

    owned_by_others: frozenset[Path] = frozenset()
    added_by_gateway: frozenset[str] = frozenset()
    requester: str = ""
    status: KeptStatus | None = None

    def conflicts_with_gateway_only(self, status: int, answer: bytes) -> bool:
        """Return whether a refusal is a conflict about fields that the gateway added alone."""
        if status != 409 or not self.added_by_gateway:
            return False
        causes = read_status(answer).details.causes
        return bool(causes) and all(each.field in self.added_by_gateway for each in causes)


async def apply_basis(upstream: Upstream, call: TenantCall) -> ApplyBasis:
    """Read the stored object for an apply to which the gateway adds fields."""
    request = call.request
    if call.media_type != APPLY_PATCH:
        return ApplyBasis()
    manager = call.parameter("fieldManager")
    kept = frozenset({_LAST_APPLIED_FIELD} if call.writes_last_applied else ())
    if not adds_fields(request.resource):
        return ApplyBasis(added_by_gateway=kept)
    stored = await stored_upstream(upstream, call)
    if stored is None:
        return ApplyBasis(added_by_gateway=kept)  # it is not there, or refused in the same words
    applier = FieldApplier(manager, request.subresource)
    return ApplyBasis(
        fields_of_others(request.resource, stored, applier),
        fields_added_by_gateway(request.resource, stored) | kept,
    )


def by_force(call: TenantCall) -> TenantCall:
    """Return an apply that wins all conflicts."""
    return replace(call, request=call.request.with_parameters(("force", "true")))
