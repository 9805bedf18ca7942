"""Requests to the platform's API server: as a tenant, or as the gateway itself."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from lnamespace.gateway.http.messages import Headers
from lnamespace.gateway.http.upstream import UpstreamPool, UpstreamResponse
from lnamespace.kube.answers import error_of

ACCOUNTS_NAMESPACE = "lnamespace-clusters"
"""The namespace of the accounts that tenants act as. No such account exists."""

ACCOUNT_PREFIX = f"system:serviceaccount:{ACCOUNTS_NAMESPACE}:"

PERSON_EXTRA = "lcluster-user"
"""The extra by which the audit log of the platform has the true person."""


@dataclass(frozen=True)
class Acting:
    """Who acts upstream: a tenant in its namespaces, or the gateway.

    Parameters
    ----------
    tenant
        Empty: the gateway's own account, for cluster-scoped objects.
    person
        The name of whoever made the request, for the audit log.
    """

    tenant: str = ""
    person: str = ""

    @property
    def headers(self) -> Headers:
        """Return the headers that say so to the API server."""
        if not self.tenant:
            return ()
        extra = (f"impersonate-extra-{PERSON_EXTRA}", quote(self.person))
        return (("impersonate-user", ACCOUNT_PREFIX + self.tenant), extra)


class Upstream:
    """The platform's API server, with the gateway's own credentials.

    ``token`` returns the value of the header Authorization; empty where a client certificate says
    who the gateway is.
    """

    def __init__(self, pool: UpstreamPool, token: Callable[[], Awaitable[str]]) -> None:
        self._pool = pool
        self._token = token

    async def send(
        self, method: str, target: str, acting: Acting, headers: Headers = (), body: bytes = b""
    ) -> UpstreamResponse:
        """Send a request; return when the head of the answer has arrived.

        Raises
        ------
        Unreachable
            There is no answer.
        """
        token = await self._token()
        credentials = (("authorization", token),) if token else ()
        return await self._pool.send(
            method, target, (*headers, *acting.headers, *credentials), body
        )

    async def read(self, target: str, acting: Acting, headers: Headers = ()) -> bytes:
        """Return the body of a GET.

        Raises
        ------
        ClusterError
            It was not answered, or not by 200.
        """
        response = await self.send("GET", target, acting, headers)
        body = await response.read()
        if response.status != 200:
            raise error_of(response.status, body, response.value("retry-after"))
        return body

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._pool.close()
