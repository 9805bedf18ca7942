"""Serving certificates with their keys and their CA: how they are made, and what they say.

Each renewal makes a CA of its own, signs one serving certificate with it and forgets the CA's key,
so that there is no such key to steal.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID

from lnamespace.runtime.certificates import (
    CLOCKS_DIFFER,
    alternative_names,
    certificate_builder,
    certificate_pem,
    certifying,
    common_name,
    issued_by,
    key_identifier,
    key_pem,
    key_usage,
)


@dataclass(frozen=True)
class KeyPair:
    """A serving certificate (and its chain), its key, and the CA to trust; each as PEM."""

    certificate: bytes
    key: bytes
    ca: bytes


@dataclass(frozen=True)
class CertificateSpec:
    """The properties of the certificates that are made, and when the next one takes over.

    Parameters
    ----------
    names
        The host names and addresses for which a certificate must be valid.
    life
        How long it is valid; it is renewed after two thirds of that.
    settle
        How long a new CA must have been trusted everywhere before its certificate is served.
    """

    names: tuple[str, ...]
    life: timedelta
    settle: timedelta

    @classmethod
    def of_options(cls, names: tuple[str, ...], hours: int, settle_seconds: int) -> Self:
        """Return the specification of the options; localhost is always among its names."""
        every = tuple(dict.fromkeys((*names, "localhost", "127.0.0.1", "::1")))
        return cls(every, timedelta(hours=hours), timedelta(seconds=settle_seconds))


def make_pair(spec: CertificateSpec, now: datetime) -> KeyPair:
    """Make a CA, and a certificate for all names that it signs."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    validity = now - CLOCKS_DIFFER, now + spec.life
    issuer = common_name(f"lnamespace-webhook-ca {now:%Y-%m-%dT%H:%M:%SZ}")
    builder = certificate_builder(issuer, issuer, ca_key.public_key(), validity)
    ca = certifying(builder, ca_key, path_length=0).sign(ca_key, hashes.SHA256())
    certificate = (
        certificate_builder(common_name("lnamespace-webhook"), issuer, key.public_key(), validity)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternative_names(spec.names), critical=False)
        .add_extension(key_identifier(key), critical=False)
        .add_extension(issued_by(ca_key), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return KeyPair(certificate_pem(certificate), key_pem(key), certificate_pem(ca))


def trusts(bundle: bytes, pair: KeyPair) -> bool:
    """Return whether a bundle has the pair's CA."""
    cas = certificates_of(pair.ca)
    return bool(cas) and set(cas) <= set(certificates_of(bundle))


def problem(pair: KeyPair, now: datetime) -> str | None:
    """Return why the pair cannot be served now, or None."""
    try:
        certificate, key = _leaf(pair.certificate), _private_key(pair.key)
    except (ValueError, TypeError, IndexError):
        return "it cannot be read"
    if certificate.public_key() != key.public_key():
        return "the key is not the certificate's"
    if now >= certificate.not_valid_after_utc:
        return "it has expired"
    if now < certificate.not_valid_before_utc:
        return "it is not valid yet"
    return None


def not_after(pair: KeyPair) -> datetime:
    """Return when the serving certificate expires."""
    return _leaf(pair.certificate).not_valid_after_utc


def not_before(pair: KeyPair) -> datetime:
    """Return from when on the serving certificate is valid."""
    return _leaf(pair.certificate).not_valid_before_utc


def covers(pair: KeyPair, names: Iterable[str]) -> bool:
    """Return whether the serving certificate is valid for all of the names."""
    found = _leaf(pair.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return set(alternative_names(names)) <= set(found.value)


@lru_cache(maxsize=64)
def is_signed(pair: KeyPair) -> bool:
    """Return whether one of the pair's CAs signed its certificate."""
    certificate = _leaf(pair.certificate)
    return any(_issued(certificate, ca) for ca in certificates_of(pair.ca))


def _issued(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


@lru_cache(maxsize=256)
def certificates_of(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Return all certificates of a PEM bundle; empty if it cannot be read as one."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return ()


@lru_cache(maxsize=64)
def _leaf(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificates(pem)[0]


@lru_cache(maxsize=64)
def _private_key(pem: bytes) -> PrivateKeyTypes:
    return serialization.load_pem_private_key(pem, None)
