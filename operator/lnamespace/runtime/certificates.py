"""The common parts of all certificates that we make, as PEM and as OpenSSL reads them."""

import ipaddress
import os
import ssl
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import NameOID

CLOCKS_DIFFER = timedelta(minutes=5)
"""The time for which a certificate is valid before it is made."""

Validity = tuple[datetime, datetime]
"""The times from and to which a certificate is valid."""


def certificate_builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: CertificatePublicKeyTypes,
    validity: Validity,
    serial: int = 0,
) -> x509.CertificateBuilder:
    """Begin a certificate; without a serial number it gets a random one."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(validity[0].astimezone(UTC))
        .not_valid_after(validity[1].astimezone(UTC))
    )


def common_name(text: str) -> x509.Name:
    """Return a name that is a common name alone."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def alternative_names(hosts: Iterable[str]) -> x509.SubjectAlternativeName:
    """Return the extension that says for which addresses and host names a certificate is."""
    return x509.SubjectAlternativeName([_general(host) for host in hosts])


def key_usage(
    *, digital_signature: bool = False, key_encipherment: bool = False, certifies: bool = False
) -> x509.KeyUsage:
    """Return the key usage extension; if it ``certifies``, the key signs certificates."""
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=key_encipherment,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certifies,
        crl_sign=certifies,
        encipher_only=False,
        decipher_only=False,
    )


def issued_by(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    """Return the extension that says which key signed."""
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def certifying(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, *, path_length: int
) -> x509.CertificateBuilder:
    """Add the extensions of a CA; ``path_length`` is the most CAs below it in a chain."""
    return (
        builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=path_length), critical=True
        )
        .add_extension(key_usage(certifies=True), critical=True)
        .add_extension(key_identifier(key), critical=False)
    )


def key_identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    """Return the extension that names the certificate's own key."""
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _general(name: str) -> x509.GeneralName:
    """Return a subject alternative name: an address where the name is one, else a host name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def server_context() -> ssl.SSLContext:
    """Return the TLS context of a listener, without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session would keep the certificates of both sides with which it began.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    return context


def load_key_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a certificate and its key, both in PEM, into a context.

    OpenSSL reads them from files only. They are in memory: neither is written to a disk.
    """
    with ExitStack() as files:
        context.load_cert_chain(_in_memory(files, certificate), _in_memory(files, key))


def _in_memory(files: ExitStack, content: bytes) -> str:
    descriptor = os.memfd_create("certificate")
    files.callback(os.close, descriptor)
    os.write(descriptor, content)
    return f"/proc/self/fd/{descriptor}"
