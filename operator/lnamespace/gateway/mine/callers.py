"""Authenticate the callers of the endpoint ``mine``; keep their credentials for the API server."""

import asyncio
import hashlib
from dataclasses import dataclass

import msgspec

from lnamespace.errors import ClusterError
from lnamespace.gateway.authentication.logins import Authenticator, Login
from lnamespace.gateway.authentication.people import login_subjects, tenant_of_account
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.upstream.requests import Upstream, read_self_review
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.model.subject import Subject
from lnamespace.translate.protocol.status import ApiStatus, Refused
from lnamespace.translate.protocol.websocket import websocket_token

_IMPERSONATION = "impersonate-"
_REVIEW_SECONDS = 10.0


@dataclass(frozen=True)
class MineCaller:
    """An authenticated caller.

    Parameters
    ----------
    user
        Their user name at the API server; with ``--as``, that of the user whom they impersonate.
    credentials
        The headers that authenticate them to the API server; empty with a client certificate,
        which ends at the gateway.
    impersonator
        The key of the login that impersonates them; empty for themselves.
    """

    user: str
    subjects: frozenset[Subject]
    credentials: Headers = ()
    impersonator: str = ""

    @property
    def owner(self) -> str:
        """Return a key that differs between callers who may see different things.

        It is a digest: each watch and list keeps it, and a caller may have 200 groups.
        """
        subjects = sorted((each.kind.value, each.namespace, each.name) for each in self.subjects)
        identity = msgspec.json.encode([self.user, subjects])
        return f"mine:{hashlib.blake2b(identity, digest_size=16).hexdigest()}"

    @property
    def account(self) -> str:
        """Return the key of the login, whose requests count together.

        When impersonated users counted, a sudoer of eight LNamespaces had 256 times the limits.
        """
        return self.impersonator or self.owner

    def refuse_certificate(self) -> None:
        """Refuse a request that has to be sent with credentials, if the caller has a certificate.

        Raises
        ------
        Refused
            Forbidden, with what to use instead.
        """
        if not self.credentials:
            raise Refused(ApiStatus(403, "Forbidden", _CERTIFICATE, {}))


_CERTIFICATE = (
    "forbidden: you are logged in by a client certificate, which the gateway cannot pass on to "
    "the API server: here you can read discovery, and get, list and watch your Namespaces. Log in "
    "with a token, or use the context that leads to the platform's cluster itself"
)


def impersonation_of(headers: Headers) -> Headers:
    """Return the headers of a request that name the impersonated user."""
    return tuple(each for each in headers if each[0].startswith(_IMPERSONATION))


@dataclass(frozen=True)
class CallerAuthenticator:
    """An authenticator of callers.

    Parameters
    ----------
    as_caller
        The API server, without credentials of the gateway.
    """

    authenticator: Authenticator
    tenants: Tenants
    as_caller: Upstream

    async def authenticate(self, exchange: Exchange) -> MineCaller:
        """Return the login of a request, before impersonation.

        Raises
        ------
        Refused
            Unauthorized; or Forbidden, for a login that is not the platform's.
        """
        sent, connection = exchange.request, exchange.connection
        token = websocket_token(sent.headers) or ""
        login = await self.authenticator.login(sent, connection.certificate, token)
        self._refuse_tenants_own(login)
        bearer = sent.value("authorization") or (f"Bearer {token}" if token else "")
        credentials: Headers = (("authorization", bearer),) if bearer else ()
        return MineCaller(login.user, frozenset(login_subjects(login)), credentials)

    async def impersonated(self, caller: MineCaller, acting: Headers) -> MineCaller:
        """Return the user whom a caller impersonates, as the API server names them.

        Parameters
        ----------
        acting
            The result of :func:`impersonation_of`.

        Raises
        ------
        Refused
            The caller has a client certificate.
        UpstreamRefused
            The API server does not let them impersonate that user.
        """
        caller.refuse_certificate()
        credentials = (*caller.credentials, *acting)
        response = await self.as_caller.review_self(credentials)
        answer = await response.read()
        if response.status != 201:
            raise UpstreamRefused(response.status, response.headers, answer)
        user = read_self_review(answer)
        subjects = frozenset(login_subjects(Login(user.username, user.groups)))
        return MineCaller(user.username, subjects, credentials, impersonator=caller.owner)

    async def may_impersonate(self, caller: MineCaller) -> bool:
        """Return whether a caller may still impersonate their user, as far as is known."""
        try:
            async with asyncio.timeout(_REVIEW_SECONDS):
                response = await self.as_caller.review_self(caller.credentials)
                await response.read()
        except (ClusterError, TimeoutError):
            return True
        return response.status not in (401, 403)

    def _refuse_tenants_own(self, login: Login) -> None:
        """Refuse certificates and ServiceAccounts of LClusters, which have no access here."""
        tenant = login.tenant or tenant_of_account(login)
        if login.tenant or (tenant and self.tenants.get(tenant)):
            who = f'User "{login.user}" is of LCluster "{tenant}"'
            message = f"forbidden: {who} and has no access to the platform's cluster here"
            raise Refused(ApiStatus(403, "Forbidden", message, {}))
