"""The certificates of one cluster, made once and kept as long as the cluster."""

import datetime as dt
import ipaddress
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=3650)
CLOCK_SKEW = dt.timedelta(hours=1)
API_SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
API_SERVER_ADDRESSES = ("127.0.0.1", "10.0.0.1")


@dataclass(frozen=True)
class Pair:
    """The files of a certificate and of its private key."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Pki:
    """The files in a cluster's folder `pki`.

    etcd has an authority of its own: clients of the API server may not reach its storage.
    """

    folder: Path

    @property
    def authority(self) -> Path:
        """Return the CA of the API server, of its clients, and of the CSR API."""
        return self.folder / "ca.crt"

    @property
    def etcd_authority(self) -> Path:
        """Return the CA of etcd and its one client, whose key is not kept."""
        return self.folder / "etcd-ca.crt"

    @property
    def service_account_key(self) -> Path:
        """Return the key of service account tokens; the API server verifies with the same file."""
        return self.folder / "service-account.key"

    def pair(self, name: str) -> Pair:
        """Return the pair of ca, server, admin, controller-manager, etcd or etcd-client."""
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")


@dataclass(frozen=True)
class _Issuer:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure(folder: Path) -> Pki:
    """Make all certificates, or none: they are written elsewhere and renamed into place."""
    if not folder.exists():
        scratch = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        _make_all(Pki(scratch))
        scratch.rename(folder)
    return Pki(folder)


def _make_all(pki: Pki) -> None:
    issuer = _authority("lnamespace-local")
    _write_certificate(pki.authority, issuer.certificate)
    _write_key(pki.pair("ca").key, issuer.key)
    _server(pki.pair("server"), issuer, "kube-apiserver")
    _client(pki.pair("admin"), issuer, "lnamespace-admin", "system:masters")
    _client(pki.pair("controller-manager"), issuer, "system:kube-controller-manager")
    storage = _authority("lnamespace-local-etcd")
    _write_certificate(pki.etcd_authority, storage.certificate)
    _server(pki.pair("etcd"), storage, "etcd")
    _client(pki.pair("etcd-client"), storage, "kube-apiserver")
    _write_key(pki.service_account_key, _new_key())


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _authority(name: str) -> _Issuer:
    key, subject = _new_key(), _subject(name)
    builder = _builder(subject, subject, key, key)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_usage(authority=True), critical=True)
    return _Issuer(builder.sign(key, hashes.SHA256()), key)


def _server(pair: Pair, issuer: _Issuer, name: str) -> None:
    """Write a server certificate; it suits clients too, because etcd connects to itself with it."""
    alternatives: list[x509.GeneralName] = [x509.DNSName(host) for host in API_SERVER_NAMES]
    alternatives += [x509.IPAddress(ipaddress.ip_address(ip)) for ip in API_SERVER_ADDRESSES]
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    _leaf(pair, issuer, _subject(name), usages, alternatives)


def _client(pair: Pair, issuer: _Issuer, name: str, *groups: str) -> None:
    _leaf(pair, issuer, _subject(name, *groups), [ExtendedKeyUsageOID.CLIENT_AUTH], [])


def _leaf(
    pair: Pair,
    issuer: _Issuer,
    subject: x509.Name,
    usages: list[x509.ObjectIdentifier],
    alternatives: list[x509.GeneralName],
) -> None:
    key = _new_key()
    builder = _builder(subject, issuer.certificate.subject, key, issuer.key)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    builder = builder.add_extension(_usage(authority=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if alternatives:
        names = x509.SubjectAlternativeName(alternatives)
        builder = builder.add_extension(names, critical=False)
    _write_certificate(pair.certificate, builder.sign(issuer.key, hashes.SHA256()))
    _write_key(pair.key, key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.CertificateBuilder:
    """Return a builder with all that certificates share; strict clients want both key ids."""
    now = dt.datetime.now(dt.UTC)
    own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(own_id, critical=False)
        .add_extension(issuer_id, critical=False)
    )


def _subject(name: str, *groups: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_certificate(path: Path, certificate: x509.Certificate) -> None:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # PKCS8 cannot be a service account key
        serialization.NoEncryption(),
    )
    write_private(path, pem)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, at no moment anybody else."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
