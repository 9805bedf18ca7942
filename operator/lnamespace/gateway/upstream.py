"""Requests to the platform's API server: as a tenant, or as the gateway itself."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from lnamespace.gateway.http.messages import Headers
from lnamespace.gateway.http.upstream import UpstreamPool, UpstreamResponse
from lnamespace.kube.answers import error_of
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.rbac.attributes import User
from lnamespace.translate.acting_users import ACTING_EXTRA, PERSON_EXTRA, extra_value

_WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

ACCOUNTS_NAMESPACE = "lnamespace-clusters"
"""The namespace of the accounts that tenants act as. No such account exists."""

ACCOUNT_PREFIX = f"system:serviceaccount:{ACCOUNTS_NAMESPACE}:"


@dataclass(frozen=True)
class Acting:
    """Who acts upstream: a tenant in its namespaces, or the gateway.

    Parameters
    ----------
    tenant
        Empty: the gateway's own account, for cluster-scoped objects.
    person
        The name of whoever made the request, for the audit log.
    user
        Whom they act as inside the tenant's cluster, for its webhooks; None for a read, about
        which no webhook is asked.
    """

    tenant: str = ""
    person: str = ""
    user: User | None = None

    def headers(self, account: str) -> Headers:
        """Return the headers that tell the API server who acts.

        Parameters
        ----------
        account
            The gateway's own ServiceAccount. Only who impersonates can send an extra, so the
            gateway impersonates itself; empty: it is none, and has no right to that.
        """
        name = ACCOUNT_PREFIX + self.tenant if self.tenant else account
        if not name or not (self.tenant or self.user):
            return ()
        extras = [(PERSON_EXTRA, self.person)]
        if self.user:
            extras.append((ACTING_EXTRA, acting_value(self.user)))
        sent = ((f"impersonate-extra-{key}", extra_value(value)) for key, value in extras)
        return (("impersonate-user", name), *sent)


def acting_value(user: User) -> str:
    """Return who acts inside a tenant's cluster, for its webhooks."""
    info = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    return msgspec.json.encode({key: each for key, each in info.items() if each}).decode()


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""


class _SelfReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _UserInfo = _UserInfo()


class _SelfReview(msgspec.Struct, frozen=True):
    status: _SelfReviewStatus = _SelfReviewStatus()


class Upstream:
    """The platform's API server, with the gateway's own credentials.

    ``token`` returns the value of the header Authorization; empty where a client certificate says
    who the gateway is.
    """

    def __init__(self, pool: UpstreamPool, token: Callable[[], Awaitable[str]]) -> None:
        self._pool = pool
        self._token = token
        self._account = ""

    async def find_account(self) -> None:
        """Find out as whom the gateway is logged in.

        Raises
        ------
        ClusterError
            The API server does not say.
        """
        question = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
        headers = (("content-type", "application/json"), ("accept", "application/json"))
        response = await self.send("POST", _WHO_AM_I, Acting(), headers, question)
        body = await response.read()
        if response.status != 201:
            raise error_of(response.status, body, response.value("retry-after"))
        name = msgspec.json.decode(body, type=_SelfReview).status.user_info.username
        self._account = name if name.startswith(SERVICE_ACCOUNT_PREFIX) else ""

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
            method, target, (*headers, *acting.headers(self._account), *credentials), body
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
