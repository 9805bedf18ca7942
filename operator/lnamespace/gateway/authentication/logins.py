"""Authenticate a login of the platform, a tenant's own certificate, or its ServiceAccount."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Container
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from cryptography import x509

from lnamespace.errors import ClusterError
from lnamespace.gateway.certificates.tls import ClientCertificates, certificate_name
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.http.messages import HttpRequest
from lnamespace.rbac.token_reviews import CREDENTIAL_ID
from lnamespace.translate.protocol.status import unauthorized

_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
_TOKEN_SECONDS = 10.0
"""Seconds for which a TokenReview is cached: a revoked token works for as long."""
_TOKENS = 10_000


@dataclass(frozen=True)
class Login:
    """An authenticated sender.

    Parameters
    ----------
    tenant
        The tenant whose own CA issued the certificate; empty for a login of the platform, whose
        ``user`` may be a ServiceAccount of a tenant's namespace in upstream spelling.
    lcluster_uid
        The UID of that tenant's LCluster, which differs after it is recreated.
    ends
        When the certificate ends; None without one.
    credential
        The id of the certificate or token, as the API server gives it; empty if it gives none.
    """

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tenant: str = ""
    lcluster_uid: str = ""
    ends: datetime | None = None
    credential: str = ""

    @property
    def left(self) -> float | None:
        """Return the seconds until the login ends; None if no end is known."""
        return (self.ends - datetime.now(UTC)).total_seconds() if self.ends else None

    def confirm_lasts(self) -> None:
        """Refuse a certificate that has ended.

        TLS checks the time only when a connection or its session begins, and either may last for
        days. The API server checks it at each request.

        Raises
        ------
        Refused
            Unauthorized, with the time at which the certificate ended.
        """
        if self.left is not None and self.left <= 0:
            raise unauthorized(f"the client certificate ended at {self.ends:%Y-%m-%dT%H:%M:%SZ}")

    def confirm_not_revoked(self, revoked: Container[str]) -> None:
        """Refuse a credential that an LCluster has revoked.

        Raises
        ------
        Refused
            The credential is revoked: Unauthorized.
        """
        if self.credential in revoked:
            raise unauthorized(f"the credential {self.credential} is revoked")


class _ReviewedUser(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _ReviewStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _ReviewedUser = _ReviewedUser()


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


class Authenticator:
    """An authenticator of requests. A wrong credential is refused, even beside a valid one."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._certificates: OrderedDict[bytes, Login] = OrderedDict()
        self._tokens: OrderedDict[bytes, tuple[float, Login | None]] = OrderedDict()
        self._clients = ClientCertificates("")

    def use(self, clients: ClientCertificates) -> None:
        """Accept the client certificates of these CAs from now on."""
        self._clients = clients
        self._certificates.clear()

    async def login(self, request: HttpRequest, certificate: bytes, token: str = "") -> Login:
        """Return the login of a request.

        Parameters
        ----------
        certificate
            The DER of the connection's client certificate, checked by TLS; empty without one.
        token
            A bearer token that came by another way than the header Authorization.

        Raises
        ------
        Refused
            Unauthorized: no valid credential, or credentials of two different users.
        """
        tokens = [_bearer(value) for value in request.values("authorization")]
        tokens += [token] if token else []
        by_certificate = self._by_certificate(certificate) if certificate else None
        if by_certificate:
            by_certificate.confirm_lasts()
        if not tokens:
            if by_certificate is None:
                raise unauthorized()
            return by_certificate
        if len(tokens) > 1:
            raise unauthorized()
        by_token = await self._by_token(tokens[0])
        if by_token is None or (by_certificate and by_certificate.user != by_token.user):
            raise unauthorized()
        return by_token

    def _by_certificate(self, der: bytes) -> Login:
        known = self._certificates.get(der)
        if known:
            return known
        certificate = x509.load_der_x509_certificate(der)
        name = certificate_name(certificate)
        if not name.user:
            raise unauthorized()
        found = Login(
            name.user,
            name.groups,
            ends=certificate.not_valid_after_utc,
            credential=f"X509SHA256={hashlib.sha256(der).hexdigest()}",
        )
        if issuer := self._clients.issuer_of(certificate):
            found = replace(found, tenant=issuer.name, lcluster_uid=issuer.uid)
        self._certificates[der] = found
        if len(self._certificates) > _TOKENS:
            self._certificates.popitem(last=False)
        return found

    async def _by_token(self, token: str) -> Login | None:
        key = hashlib.sha256(token.encode()).digest()
        known = self._tokens.get(key)
        if known and known[0] > time.monotonic():
            return known[1]
        found = await self._review(token) if token else None
        self._tokens[key] = (time.monotonic() + _TOKEN_SECONDS, found)
        self._tokens.move_to_end(key)
        if len(self._tokens) > _TOKENS:
            self._tokens.popitem(last=False)
        return found

    async def _review(self, token: str) -> Login | None:
        question: dict[str, Any] = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        response = await self._upstream.review(_REVIEWS, question)
        answer = await response.read()
        if response.status != 201:
            raise ClusterError("a token cannot be reviewed", status=response.status)
        status = msgspec.json.decode(answer, type=_Review).status
        if not status.authenticated:
            return None
        user = status.user
        credential = next(iter(user.extra.get(CREDENTIAL_ID, ())), "")
        extra = tuple(user.extra.items())
        return Login(user.username, user.groups, user.uid, extra, credential=credential)


def _bearer(value: str) -> str:
    """Return the bearer token of a header Authorization; empty, which is invalid, for others."""
    scheme, _, token = value.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
