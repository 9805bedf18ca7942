"""Authenticate the callers of the endpoint ``mine``; keep their credentials for the API server."""

from dataclasses import dataclass, replace

import msgspec

from lnamespace.gateway.authentication.logins import Authenticator, Login
from lnamespace.gateway.authentication.people import login_subjects, tenant_of_account
from lnamespace.gateway.http.exchange import Exchange
from lnamespace.gateway.http.messages import Headers
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.upstream.requests import Upstream, read_self_review
from lnamespace.model.subject import Subject
from lnamespace.translate.protocol.status import ApiStatus, Refused
from lnamespace.translate.protocol.websocket import websocket_token

_IMPERSONATION = "impersonate-"


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
    """

    user: str
    subjects: frozenset[Subject]
    credentials: Headers = ()

    @property
    def owner(self) -> str:
        """Return a key that differs between callers who may see different things."""
        subjects = sorted((each.kind.value, each.namespace, each.name) for each in self.subjects)
        return msgspec.json.encode(["mine", self.user, subjects]).decode()

    def refuse_certificate(self) -> None:
        """Refuse what only the API server can answer to somebody with a client certificate.

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


@dataclass(frozen=True)
class CallerAuthenticator:
    """Authenticate callers.

    Parameters
    ----------
    theirs
        The API server, without credentials of the gateway.
    """

    authenticator: Authenticator
    tenants: Tenants
    as_caller: Upstream

    async def authenticate(self, exchange: Exchange) -> MineCaller:
        """Return the caller of a request.

        Raises
        ------
        Refused
            Unauthorized; or Forbidden, for a login that is not the platform's.
        UpstreamRefused
            The API server does not let them impersonate that user.
        """
        sent, connection = exchange.request, exchange.connection
        token = websocket_token(sent.headers) or ""
        login = await self.authenticator.login(sent, connection.certificate, token)
        self._refuse_tenants_own(login)
        bearer = sent.value("authorization") or (f"Bearer {token}" if token else "")
        credentials: Headers = (("authorization", bearer),) if bearer else ()
        caller = MineCaller(login.user, frozenset(login_subjects(login)), credentials)
        acting = tuple(each for each in sent.headers if each[0].startswith(_IMPERSONATION))
        if not acting:
            return caller
        caller.refuse_certificate()
        return await self._acting(replace(caller, credentials=(*credentials, *acting)))

    async def _acting(self, caller: MineCaller) -> MineCaller:
        """Return the impersonated user, whom the API server names if the caller may impersonate."""
        response = await self.as_caller.review_self(caller.credentials)
        answer = await response.read()
        if response.status != 201:
            raise UpstreamRefused(response.status, response.headers, answer)
        user = read_self_review(answer)
        login = Login(user.username, user.groups)
        return replace(caller, user=user.username, subjects=frozenset(login_subjects(login)))

    def _refuse_tenants_own(self, login: Login) -> None:
        """Refuse certificates and ServiceAccounts of LClusters, which have no access here."""
        tenant = login.tenant or tenant_of_account(login)
        if login.tenant or (tenant and self.tenants.get(tenant)):
            who = f'User "{login.user}" is of LCluster "{tenant}"'
            message = f"forbidden: {who} and has no access to the platform's cluster here"
            raise Refused(ApiStatus(403, "Forbidden", message, {}))
