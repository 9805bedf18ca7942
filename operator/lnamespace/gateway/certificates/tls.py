"""The gateway's TLS: its serving certificate, and the CAs of accepted client certificates."""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID

from lnamespace.errors import ClusterError, SettingsError
from lnamespace.gateway.certificates.authorities import RootAuthority, TenantIdentity
from lnamespace.gateway.certificates.serving_pairs import ServingPair
from lnamespace.kube.client import Client
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.model.lcluster import LCluster
from lnamespace.runtime.certificates import load_key_pair, server_context

CLIENT_CA_PATH = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
"""The ConfigMap in which the API server publishes its ``--client-ca-file``."""
_RENEWED_SECONDS = 10.0
"""Seconds between two checks whether the certificate was renewed."""

_MOST_GONE = 1000
"""The most CAs of deleted LClusters that the context keeps: five MiB. A client that creates and
deletes LClusters in a loop would fill the memory until the serving certificate is renewed."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateName:
    """The user and groups of a client certificate: its common name and organizations."""

    user: str
    groups: tuple[str, ...]


@dataclass(frozen=True)
class ClientCertificates:
    """The CAs whose client certificates are accepted.

    Parameters
    ----------
    platform
        PEM of the CAs of the platform's own logins (``--client-ca-file`` of the API server).
    root
        The root of the CAs of LClusters; None if they have none.
    """

    platform: str
    root: RootAuthority | None = None

    @property
    def pem(self) -> str:
        """Return the PEM of all CAs."""
        return self.platform + ("\n" + self.root.pem if self.root else "")

    def issuer_of(self, certificate: x509.Certificate) -> TenantIdentity | None:
        """Return the LCluster whose CA issued a certificate; None for a login of the platform.

        TLS has verified that one of the CAs issued it. A tenant's CA issues no other CAs.

        Raises
        ------
        Refused
            The certificate names the CA of an LCluster, which did not issue it.
        """
        return self.root.issuer_of(certificate) if self.root else None


def certificate_name(certificate: x509.Certificate) -> CertificateName:
    """Return the user and groups of a certificate, as the API server reads them."""
    names = [str(each.value) for each in _values(certificate, NameOID.COMMON_NAME)]
    groups = [str(each.value) for each in _values(certificate, NameOID.ORGANIZATION_NAME)]
    return CertificateName(names[-1] if names else "", tuple(groups))


def _values(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> Sequence[Any]:
    return certificate.subject.get_attributes_for_oid(oid)


class ServerContext:
    """The TLS context of the listener, whose certificate and CAs may change while it listens.

    A change applies from the next handshake on; open connections are not affected.
    """

    def __init__(self, pair: ServingPair) -> None:
        self._pair = pair
        self._clients = ClientCertificates("")
        self._tenants: set[TenantIdentity] = set()
        self._gone = 0
        self._served = pair.current()
        self._current = self._build()
        self.entry = self._bare()
        self.entry.sni_callback = self._choose

    def use(self, clients: ClientCertificates) -> None:
        """Accept the client certificates of these CAs from now on."""
        self._clients = clients
        self._current = self._build()

    def lcluster_changed(self, old: LCluster | None, new: LCluster | None) -> None:
        """Accept certificates of a new LCluster's CA that are sent without the CA's own.

        The present context cannot remove the CA of a deleted LCluster. Its certificates are refused
        as logins all the same, because no LCluster has their issuer. A new context replaces it
        after as many deletions as there are LClusters, and not for fewer than a thousand.
        """
        if old:
            self._tenants.discard(TenantIdentity(old.name, old.uid))
            self._gone += 1
            if self._gone > max(_MOST_GONE, len(self._tenants)):
                self._current = self._build()
        if new:
            tenant = TenantIdentity(new.name, new.uid)
            self._tenants.add(tenant)
            self._trust(self._current, tenant)

    def reload(self) -> None:
        """Load the certificate if it has changed, and serve it.

        Raises
        ------
        SettingsError
            There is no certificate, or it cannot be read.
        """
        before = self._served
        self._served = self._pair.current()
        if self._served == before:
            return
        try:
            self._current = self._build()
        except SettingsError:
            self._served = before
            raise

    @property
    def certificate(self) -> x509.Certificate:
        """Return the serving certificate, without its chain."""
        return x509.load_pem_x509_certificate(self._served[0])

    @property
    def private_key(self) -> bytes:
        """Return the private key of the serving certificate."""
        return self._served[1]

    def _build(self) -> ssl.SSLContext:
        self._gone = 0
        context = self._bare()
        if self._clients.pem.strip():
            context.load_verify_locations(cadata=self._clients.pem)
        self._trust(context, *self._tenants)
        return context

    def _trust(self, context: ssl.SSLContext, *tenants: TenantIdentity) -> None:
        if self._clients.root and tenants:
            context.load_verify_locations(cadata=self._clients.root.tenant_authorities(tenants))

    def _bare(self) -> ssl.SSLContext:
        # TLS 1.2 resumes sessions by their id all the same, with the client certificate with which
        # they began: so the end of a login is checked at each request.
        context = server_context()
        # OpenSSL takes the mode of the context with which a handshake began, and the CAs of the
        # one that was chosen.
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            load_key_pair(context, *self._served)
        except ssl.SSLError as error:
            problem = "tls.crt and tls.key cannot be used together"
            raise SettingsError(f"--gateway-certificate-directory: {problem}: {error}") from error
        return context

    def _choose(
        self, secured: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext
    ) -> None:
        secured.context = self._current
        secured.lnamespace_server_name = name or ""  # type: ignore[union-attr]


async def keep_certificate(context: ServerContext, metrics: GatewayMetrics) -> None:
    """Check for ever whether the certificate was renewed, and serve the new one."""
    while True:
        certificate = context.certificate
        metrics.certificate_expiry.set(certificate.not_valid_after_utc.timestamp())
        metrics.certificate_not_before.set(certificate.not_valid_before_utc.timestamp())
        await asyncio.sleep(_RENEWED_SECONDS)
        try:
            context.reload()
        except SettingsError as error:
            log.warning("the certificate cannot be read", extra={"error": str(error)})


def own_context(root: RootAuthority, *hosts: str) -> ssl.SSLContext:
    """Return the TLS context of a port with a certificate of the root for these hosts.

    It requests no client certificates.
    """
    context = server_context()
    load_key_pair(context, *root.serving_pair(hosts))
    return context


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


async def platform_authorities(client: Client) -> str:
    """Return the CAs of client certificates, as the platform's API server publishes them.

    Raises
    ------
    SettingsError
        The API server does not let the gateway read them.
    """
    try:
        body = await client.get(CLIENT_CA_PATH)
    except ClusterError as error:
        raise SettingsError(f"the CAs of client certificates: {error}") from error
    return msgspec.json.decode(body, type=_ConfigMap).data.get("client-ca-file", "")
