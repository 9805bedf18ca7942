"""The gateway's TLS: its serving certificate, and the CAs whose client certificates it takes."""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID

from lnamespace.errors import ClusterError, SettingsError
from lnamespace.gateway.certificates.authorities import RootAuthority, TenantIdentity
from lnamespace.gateway.certificates.serving_pairs import ServingPair
from lnamespace.kube.client import Client
from lnamespace.model.lcluster import LCluster
from lnamespace.runtime.key_pairs import load_key_pair
from lnamespace.settings import Settings

_CLIENT_CA = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_RENEWED_SECONDS = 10.0
"""How often it is looked whether the certificate was renewed."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateName:
    """The holder that a client certificate names: its common name and its organizations."""

    user: str
    groups: tuple[str, ...]


@dataclass(frozen=True)
class ClientCertificates:
    """The CAs whose client certificates are taken.

    Parameters
    ----------
    platform
        PEM of the CAs of the platform's own logins (``--client-ca-file`` of the API server).
    root
        The root of the CAs of LClusters; None: they have none.
    """

    platform: str
    root: RootAuthority | None = None

    @property
    def pem(self) -> str:
        """Return all of them."""
        return self.platform + ("\n" + self.root.pem if self.root else "")

    def issuer_of(self, certificate: x509.Certificate) -> TenantIdentity | None:
        """Return whose own CA issued a certificate; None if it is a login of the platform.

        That one of all CAs issued it has been checked by TLS. A tenant's CA issues no other CAs.

        Raises
        ------
        Refused
            It names the CA of an LCluster, which did not issue it.
        """
        return self.root.issuer_of(certificate) if self.root else None


def read_certificate(der: bytes) -> x509.Certificate:
    """Read a client certificate."""
    return x509.load_der_x509_certificate(der)


def certificate_name(certificate: x509.Certificate) -> CertificateName:
    """Return who a certificate is for, as the API server reads it."""
    names = [str(each.value) for each in _values(certificate, NameOID.COMMON_NAME)]
    groups = [str(each.value) for each in _values(certificate, NameOID.ORGANIZATION_NAME)]
    return CertificateName(names[-1] if names else "", tuple(groups))


def _values(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> Sequence[Any]:
    return certificate.subject.get_attributes_for_oid(oid)


class ServerContext:
    """The TLS context of the listener; what it serves and takes may change while it listens.

    A changed context holds from the next handshake on: open connections stay as they are.
    """

    def __init__(self, pair: ServingPair) -> None:
        self._pair = pair
        self._clients = ClientCertificates("")
        self._tenants: set[TenantIdentity] = set()
        self._served = pair.current()
        self._current = self._build()
        self.entry = self._bare()
        self.entry.sni_callback = self._choose

    def use(self, clients: ClientCertificates) -> None:
        """Take the client certificates of these CAs from now on."""
        self._clients = clients
        self._current = self._build()

    def lcluster_changed(self, old: LCluster | None, new: LCluster | None) -> None:
        """Take certificates of a new LCluster's CA that are shown without that CA's own.

        The present context cannot forget the CA of one that is gone. Its certificates are no logins
        any more: their issuer is no LCluster that there is.
        """
        if old:
            self._tenants.discard(TenantIdentity(old.name, old.uid))
        if new:
            tenant = TenantIdentity(new.name, new.uid)
            self._tenants.add(tenant)
            self._trust(self._current, tenant)

    def reload(self) -> None:
        """Serve another certificate if there is one.

        Raises
        ------
        SettingsError
            There is none, or it cannot be read.
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
    def private_key(self) -> bytes:
        """Return the private key of the serving certificate."""
        return self._served[1]

    def _build(self) -> ssl.SSLContext:
        context = self._bare()
        if self._clients.pem.strip():
            context.load_verify_locations(cadata=self._clients.pem)
        self._trust(context, *self._tenants)
        return context

    def _trust(self, context: ssl.SSLContext, *tenants: TenantIdentity) -> None:
        if self._clients.root and tenants:
            context.load_verify_locations(cadata=self._clients.root.tenant_authorities(tenants))

    def _bare(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # OpenSSL takes the mode of the context with which a handshake began, and the CAs of the
        # one that was chosen.
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        # A resumed session keeps the client certificate with which it began. In TLS 1.2 one is
        # resumed by its number all the same: so a login is asked each time whether it has ended.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
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


async def keep_certificate(context: ServerContext) -> None:
    """Serve a renewed certificate soon after it is there."""
    while True:
        await asyncio.sleep(_RENEWED_SECONDS)
        try:
            context.reload()
        except SettingsError as error:
            log.warning("the certificate cannot be read", extra={"error": str(error)})


def own_context(root: RootAuthority, *hosts: str) -> ssl.SSLContext:
    """Return the TLS context of a port that has a certificate of the root for these hosts.

    Nobody logs in there by a certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    load_key_pair(context, *root.serving_pair(hosts))
    return context


async def platform_authorities(settings: Settings, client: Client) -> str:
    """Return the CAs by which the platform's API server knows its people."""
    if settings.gateway_client_ca_file:
        return _read(settings.gateway_client_ca_file)
    try:
        body = await client.get(_CLIENT_CA)
    except ClusterError as error:
        raise SettingsError(f"--gateway-client-ca-file is empty, and {error}") from error
    return msgspec.json.decode(body, type=_ConfigMap).data.get("client-ca-file", "")


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise SettingsError(f"--gateway-client-ca-file: {error}") from error


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}
