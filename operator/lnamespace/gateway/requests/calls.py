"""One request of a tenant on its way through the gateway."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.requests.answer_encoders import AnswerEncoder, JsonEncoder
from lnamespace.gateway.upstream.requests import UpstreamIdentity
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.rbac.attributes import User
from lnamespace.translate.bodies.encoded import media_type_of
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.numbers import parse_number
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.verbs import CONNECTIONS, READ_VERBS
from lnamespace.translate.requests.targets import manager_of


async def _never() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True)
class TenantCall:
    """An authorized request, in tenant spelling.

    Parameters
    ----------
    person
        The sender of the request, for the platform's audit log; not the impersonated user.
    headers
        The headers for the request upstream.
    base
        What the paths of this cluster begin with at the address that the client uses.
    preconditions
        The ``uid`` or ``resourceVersion`` of the only object that a write may change; empty: any.
    user
        The user inside the tenant's cluster, after impersonation.
    usage
        The request's use of memory and thread time.
    other_resources
        Returns when the tenant is served other resources than in this view.
    changed_body
        The body that is sent in place of the client's; empty: the client's.
    rewritten
        The state of the definition that the call is about, if all of its objects were written in
        it; else empty.
    """

    exchange: Exchange
    request: ResourceRequest
    view: TenantView
    person: str
    headers: Headers = ()
    encoder: AnswerEncoder = field(default_factory=JsonEncoder)
    base: str = ""
    preconditions: Mapping[str, str] = field(default_factory=dict)
    user: User | None = None
    usage: RequestUsage = field(default_factory=RequestUsage)
    other_resources: Callable[[], Awaitable[object]] = _never
    changed_body: bytes = b""
    rewritten: str = ""

    @property
    def body(self) -> bytes:
        """Return the body in tenant spelling; it is kept by the exchange, which may forget it."""
        return self.changed_body or self.exchange.request.body

    @property
    def media_type(self) -> str:
        """Return the media type of the body, without parameters."""
        return media_type_of(self.exchange.request.value("content-type"))

    @property
    def default_manager(self) -> str:
        """Return the field manager of a write that names none."""
        sent = self.exchange.request
        return manager_of(sent.value("user-agent"), sent.value("content-type"))

    @property
    def reads(self) -> bool:
        """Return whether the request only reads: it writes nothing, and opens no connection."""
        request = self.request
        return request.verb in READ_VERBS and request.subresource not in CONNECTIONS

    @property
    def identity(self) -> UpstreamIdentity:
        """Return the identity upstream: the tenant's account in its namespaces and API groups.

        For everything else it is the gateway's own. No webhook is asked about a read.
        """
        request = self.request
        if request.resource.namespaced or request.resource.custom:
            return self.identity_in_tenant
        user = None if self.reads else self.user
        return UpstreamIdentity("", self.person, user, self.rewritten)

    @property
    def identity_in_tenant(self) -> UpstreamIdentity:
        """Return the identity upstream for objects of the tenant's namespaces and API groups."""
        return UpstreamIdentity(self.view.tenant, self.person, None if self.reads else self.user)

    @property
    def over_namespaces(self) -> bool:
        """Return whether the request is for objects of all the tenant's namespaces."""
        return self.request.resource.namespaced and not self.request.namespace

    @property
    def accept(self) -> str:
        """Return the header Accept of the request upstream."""
        return next((value for name, value in self.headers if name == "accept"), "")

    def parameter(self, name: str) -> str:
        """Return a parameter of the query; empty without it."""
        return next((value for key, value in self.request.query if key == name), "")

    @property
    def writes_last_applied(self) -> bool:
        """Return whether kubectl writes the last-applied annotation, after an apply.

        The API server writes the annotation too, in upstream spelling. kubectl read it in tenant
        spelling, and conflicted with its own write.
        """
        return self.parameter("fieldManager") == "kubectl-last-applied"

    def number(self, name: str) -> int:
        """Return a parameter of the query that is a number; 0 without it.

        Raises
        ------
        Refused
            BadRequest in the words of the API server: the parameter is not a number.
        """
        return parse_number(self.parameter(name) or "0")
