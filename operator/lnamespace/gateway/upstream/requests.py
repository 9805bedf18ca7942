"""Requests to the platform's API server: as a tenant, or as the gateway itself."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.http.messages import Headers
from lnamespace.http.upstream import UpstreamPool
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.answers import error_of
from lnamespace.kube.media_types import JSON
from lnamespace.model.names import Names
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.rbac.attributes import User
from lnamespace.rbac.reviews import user_info
from lnamespace.translate.names.acting_users import (
    ACTING_EXTRA,
    PERSON_EXTRA,
    STORED_EXTRA,
    extra_value,
)

_SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_SELF_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@dataclass(frozen=True)
class UpstreamIdentity:
    """The account that a request is sent as: a tenant's in its namespaces, or the gateway's.

    Parameters
    ----------
    tenant
        The tenant; empty for the gateway's own account, for cluster-scoped objects.
    person
        The name of the sender, for the audit log.
    user
        The user inside the tenant's cluster, for its webhooks; None for a read, which calls no
        webhook.
    rewritten
        The state of a definition all of whose objects were written; empty for most requests.
    """

    tenant: str = ""
    person: str = ""
    user: User | None = None
    rewritten: str = ""

    def headers(self, names: Names, account: str) -> Headers:
        """Return the impersonation headers.

        Parameters
        ----------
        names
            The instance's, with the account that stands for the tenant. No such account exists.
        account
            The gateway's own ServiceAccount. An extra can only be sent with an impersonation, so
            the gateway impersonates itself. Empty if it logs in by a client certificate: then it
            has no right to that, and requests for cluster-scoped objects carry no extra.
        """
        name = names.cluster_account(self.tenant).username if self.tenant else account
        if not name or not (self.tenant or self.user):
            return ()
        extras = [(PERSON_EXTRA, self.person)]
        if self.user:
            extras.append((ACTING_EXTRA, acting_value(self.user)))
        if self.rewritten:
            extras.append((STORED_EXTRA, self.rewritten))
        sent = ((f"impersonate-extra-{key}", extra_value(value)) for key, value in extras)
        return (("impersonate-user", name), *sent)


def accepting_json(headers: Headers) -> Headers:
    """Return headers by which the answer is JSON: a client may have asked for a table or stream."""
    return (*(each for each in headers if each[0] != "accept"), ("accept", JSON))


def acting_value(user: User) -> str:
    """Return the user inside the tenant's cluster as JSON, for its webhooks."""
    return msgspec.json.encode(user_info(user)).decode()


class ReviewedSelf(msgspec.Struct, frozen=True):
    """The user as whom the API server has authenticated the sender of a request."""

    username: str = ""
    groups: tuple[str, ...] = ()


class _SelfReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    user_info: ReviewedSelf = ReviewedSelf()


class _SelfReview(msgspec.Struct, frozen=True):
    status: _SelfReviewStatus = _SelfReviewStatus()


def read_self_review(answer: bytes) -> ReviewedSelf:
    """Decode the user of the API server's answer to a SelfSubjectReview."""
    return msgspec.json.decode(answer, type=_SelfReview).status.user_info


class Upstream:
    """The platform's API server, with the gateway's own credentials.

    ``token`` returns the value of the header Authorization; empty where a client certificate says
    who the gateway is.
    """

    def __init__(
        self, pool: UpstreamPool, token: Callable[[], Awaitable[str]], names: Names | None = None
    ) -> None:
        self._pool = pool
        self._names = names or Names()
        self._token = token
        self._account = ""

    async def find_account(self) -> None:
        """Find the account that the gateway is logged in as.

        Raises
        ------
        ClusterError
            The API server does not answer.
        """
        response = await self.review_self()
        body = await response.read()
        if response.status != 201:
            raise error_of(response.status, body, response.value("retry-after"))
        name = read_self_review(body).username
        self._account = name if name.startswith(SERVICE_ACCOUNT_PREFIX) else ""

    async def send(
        self,
        method: str,
        target: str,
        identity: UpstreamIdentity,
        headers: Headers = (),
        body: bytes = b"",
        *,
        lasting: bool = False,
    ) -> UpstreamResponse:
        """Send a request; return when the head of the answer has arrived.

        Parameters
        ----------
        lasting
            See :meth:`~lnamespace.http.upstream.UpstreamPool.send`.

        Raises
        ------
        Unreachable
            The API server did not answer.
        """
        token = await self._token()
        credentials = (("authorization", token),) if token else ()
        sent = (*headers, *identity.headers(self._names, self._account), *credentials)
        return await self._pool.send(method, target, sent, body, lasting=lasting)

    async def review_self(self, credentials: Headers = ()) -> UpstreamResponse:
        """Ask for the user of some credentials, or of the gateway's; the answer has status 201."""
        return await self.review(_SELF_REVIEWS, _SELF_REVIEW, credentials)

    async def review(
        self, path: str, question: Mapping[str, Any], credentials: Headers = ()
    ) -> UpstreamResponse:
        """Create a review, which the API server answers and does not store; with status 201.

        Raises
        ------
        Unreachable
            The API server did not answer.
        """
        headers = (*credentials, ("content-type", JSON), ("accept", JSON))
        return await self.send(
            "POST", path, UpstreamIdentity(), headers, msgspec.json.encode(question)
        )

    async def read(self, target: str, identity: UpstreamIdentity, headers: Headers = ()) -> bytes:
        """Return the body of a GET.

        Raises
        ------
        ClusterError
            The API server did not answer, or not by 200.
        """
        response = await self.send("GET", target, identity, headers)
        body = await response.read()
        if response.status != 200:
            raise error_of(response.status, body, response.value("retry-after"))
        return body

    def close(self) -> None:
        """Close the unused connections."""
        self._pool.close()
