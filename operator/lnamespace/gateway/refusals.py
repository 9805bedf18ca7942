"""Refusals of whole requests: the LCluster does not exist, refuses the user, or is suspended."""

import re

from lnamespace.gateway.authentication.logins import Login
from lnamespace.gateway.authorization.reviewing import REVIEW_GROUPS
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.model.lcluster import Suspension
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest
from lnamespace.translate.protocol.status import ApiStatus, Refused
from lnamespace.translate.protocol.verbs import CONNECTIONS, READ_VERBS

_PASTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]*")
"""A user name that a shell takes as it is: managers paste the command."""


def no_tenant(host: str) -> Refused:
    """Return the refusal of a request that names no LCluster."""
    message = (
        "the server could not find the requested resource: no LCluster is named by the host or the "
        f"path; use https://NAME.{host or 'HOST'} or https://{host or 'HOST'}/clusters/NAME"
    )
    return Refused(ApiStatus(404, "NotFound", message, {}))


def not_listed(login: Login, tenant: str) -> Refused:
    """Return the refusal of a user without access, with the command that gives it."""
    user = login.user if _PASTED.fullmatch(login.user) else "USER"
    advice = (
        f"ask one of its managers to run, in the platform's cluster: kubectl lns grant lc/{tenant} "
        f"--user {user}"
    )
    if login.tenant:
        # The lists cannot name the holder of a certificate that another LCluster issued.
        advice = (
            "the client certificate was issued in another LCluster, or in an earlier one of this "
            "name: ask for one of this LCluster"
        )
    who = f'User "{login.user}" is not listed in the users of LCluster "{tenant}"'
    message = f"forbidden: {who}: {advice}"
    return Refused(ApiStatus(403, "Forbidden", message, {}))


def refuse_suspended(tenant: ServedTenant, request: ResourceRequest | PathRequest) -> None:
    """Refuse a request that a suspended LCluster does not answer.

    Raises
    ------
    Refused
        The LCluster is closed; or it is read-only, and the request is no read.
    """
    suspended = tenant.cluster.spec.suspend
    reads = request.verb in READ_VERBS
    if isinstance(request, ResourceRequest):
        # A WebSocket opens ``exec`` by GET, which changes a container.
        reads = reads and request.subresource not in CONNECTIONS - {"log"}
        reads = reads or request.resource.group in REVIEW_GROUPS
    if suspended is Suspension.CLOSED:
        message = f'LCluster "{tenant.name}" is closed: ask the platform team to open it'
        raise Refused(ApiStatus(403, "Forbidden", message, {}))
    if suspended is Suspension.READ_ONLY and not reads:
        message = f'LCluster "{tenant.name}" is suspended: it can be read, and not written'
        raise Refused(ApiStatus(403, "Forbidden", message, {}))


def unavailable() -> Refused:
    """Return the refusal of a request while the API server does not answer."""
    message = "the platform's API server does not answer; try again"
    details = {"retryAfterSeconds": 1}
    return Refused(ApiStatus(503, "ServiceUnavailable", message, details))
