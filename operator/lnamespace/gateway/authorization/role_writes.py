"""Guard writes of a tenant's Roles and bindings against escalation of rights."""

from dataclasses import dataclass, replace

from lnamespace.gateway.authorization.secondary_checks import (
    confirm_secondary,
    metadata_of,
    stored_object,
)
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.emptied import name_removals
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.media_types import APPLY_PATCH
from lnamespace.rbac.attributes import MASTERS, Attributes, User
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.escalation import confirm_no_escalation, is_rbac_write
from lnamespace.translate.bodies.encoded import answer_down, request_up
from lnamespace.translate.requests.targets import upstream_target


@dataclass(frozen=True)
class EscalationCheck:
    """A check that refuses a write whose result, by a dry run, grants more than its writer has.

    The platform's API server cannot refuse it: there, the tenant's account may grant everything in
    the tenant's namespaces.
    """

    upstream: Upstream

    async def confirm(
        self, call: TenantCall, authorizer: Authorizer, user: User, attributes: Attributes
    ) -> TenantCall:
        """Return a call that may be sent; preconditions bind a write to the object it depends on.

        Raises
        ------
        Refused
            The write would grant what the user does not have.
        UpstreamRefused
            The API server would refuse it.
        """
        preconditions = await confirm_secondary(self.upstream, call, authorizer, user, attributes)
        if is_rbac_write(attributes) and MASTERS not in user.groups:
            old = b"" if attributes.verb == "create" else await stored_object(self.upstream, call)
            call = name_removals(call, old)
            new = await self._dry_run(call)
            confirm_no_escalation(authorizer, user, attributes, new, old or None)
            preconditions = {"resourceVersion": metadata_of(old).resource_version} if old else {}
        return replace(call, preconditions=preconditions) if preconditions else call

    async def _dry_run(self, call: TenantCall) -> bytes:
        sent = call.exchange.request
        if call.writes_last_applied and call.media_type == APPLY_PATCH:
            # Such an apply conflicts with itself. The write refuses conflicts with others.
            call = replace(call, request=call.request.with_parameters(("force", "true")))
        request = call.request.with_parameters(("dryRun", "All"))
        content_type, body = request_up(request, sent.value("content-type"), call.body, call.view)
        target = upstream_target(request, call.view, default_manager=call.default_manager)
        headers = (*call.headers, ("content-type", content_type))
        response = await self.upstream.send(sent.method, target, call.identity, headers, body)
        answer = await response.read()
        if response.status not in (200, 201):
            raise UpstreamRefused(response.status, response.headers, answer)
        return answer_down(request, answer, call.view)
