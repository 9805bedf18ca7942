"""The CAs that issue the certificates of people inside an LCluster: one for each, below one root.

The listener trusts the root and the CA of each served LCluster, so clients send their certificate
without a chain, as on any cluster. The key of an LCluster's CA is derived from the root's and the
LCluster's UID: nothing is stored for it, and a recreated LCluster accepts no certificates of the
former one with its name.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lnamespace.runtime.certificates import (
    CLOCKS_DIFFER,
    Validity,
    alternative_names,
    certificate_builder,
    certificate_pem,
    certifying,
    common_name,
    issued_by,
    key_pem,
)
from lnamespace.translate.protocol.status import unauthorized

ROOT_LIFE = timedelta(days=3650)

_PURPOSE = b"CA of an LCluster\0"
_WEBHOOK_PURPOSE = b"webhooks of an LCluster\0"
_SEALING_PURPOSE = b"continue tokens\0"
_COMMON_NAME = "LCluster "
_CURVE = ec.SECP256R1()
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The number of points of the curve (FIPS 186-5, P-256)."""


@dataclass(frozen=True)
class TenantIdentity:
    """The LCluster of a CA, by name and by UID, which differs after it is recreated."""

    name: str
    uid: str

    @property
    def distinguished_name(self) -> x509.Name:
        """Return the subject of its CA, by which certificates name their issuer."""
        return x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, _COMMON_NAME + self.name),
                x509.NameAttribute(NameOID.USER_ID, self.uid),
            ]
        )


@dataclass(frozen=True)
class TenantAuthority:
    """The CA of one LCluster."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)


@dataclass(frozen=True)
class RootAuthority:
    """The CA that signs the CAs of all LClusters."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @cached_property
    def pem(self) -> str:
        """Return its certificate."""
        return certificate_pem(self.certificate).decode()

    @property
    def validity(self) -> Validity:
        """Return the validity period, which every CA that it issues has too."""
        return self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc

    def tenant_authority(self, identity: TenantIdentity) -> TenantAuthority:
        """Return the CA of an LCluster."""
        return _derived_authority(self, identity)

    def tenant_authorities(self, identities: Iterable[TenantIdentity]) -> bytes:
        """Return the certificates of the CAs of LClusters, in DER, one behind the other."""
        found = (self.tenant_authority(each).certificate for each in identities)
        return b"".join(each.public_bytes(serialization.Encoding.DER) for each in found)

    def webhook_key(self, identity: TenantIdentity) -> str:
        """Return the key by which the API server may call the webhooks of an LCluster."""
        return _webhook_key(self, identity)

    @property
    def sealing_key(self) -> bytes:
        """Return the key for sealed continue tokens, which all replicas share."""
        return _derived(self, _SEALING_PURPOSE, 32)

    def serving_pair(
        self, hosts: Sequence[str], validity: Validity | None = None
    ) -> tuple[bytes, bytes]:
        """Make a certificate for names and addresses and its key, in PEM.

        Without a validity it lasts as long as the root.
        """
        key = ec.generate_private_key(_CURVE)
        issuer, name = self.certificate.subject, common_name("gateway")
        builder = (
            certificate_builder(name, issuer, key.public_key(), validity or self.validity)
            .add_extension(alternative_names(hosts), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            # Python verifies strictly (RFC 5280), and fails without this extension.
            .add_extension(issued_by(self.key), critical=False)
        )
        certificate = builder.sign(self.key, hashes.SHA256())
        return certificate_pem(certificate), key_pem(key)

    def issuer_of(self, certificate: x509.Certificate) -> TenantIdentity | None:
        """Return the LCluster whose CA issued a certificate; None for a login of the platform.

        Raises
        ------
        Refused
            The certificate names the CA of an LCluster, of this root or another, which did not
            issue it.
        """
        identity = _named_issuer(certificate)
        if identity is None:
            return None
        try:
            certificate.verify_directly_issued_by(self.tenant_authority(identity).certificate)
        except (ValueError, TypeError, InvalidSignature) as error:
            # Tenants choose the names in their certificates: none may count as one of the platform.
            raise unauthorized("the client certificate is of no CA of this gateway") from error
        return identity


def make_root(now: datetime) -> RootAuthority:
    """Make a root with a new key."""
    key = ec.generate_private_key(_CURVE)
    name, validity = common_name("LClusters"), (now - CLOCKS_DIFFER, now + ROOT_LIFE)
    builder = certificate_builder(name, name, key.public_key(), validity)
    return RootAuthority(certifying(builder, key, path_length=1).sign(key, hashes.SHA256()), key)


def read_root(certificate: bytes, key: bytes) -> RootAuthority:
    """Read a root from PEM.

    Raises
    ------
    ValueError
        One of the two is not in PEM, or the key is not the certificate's.
    """
    held = serialization.load_pem_private_key(key, None)
    read = x509.load_pem_x509_certificate(certificate)
    if not isinstance(held, ec.EllipticCurvePrivateKey) or held.public_key() != read.public_key():
        raise ValueError("the key is not the certificate's")
    return RootAuthority(read, held)


@lru_cache(maxsize=4096)
def _webhook_key(root: RootAuthority, identity: TenantIdentity) -> str:
    return _derived(root, _WEBHOOK_PURPOSE + identity.uid.encode(), 16).hex()


@lru_cache(maxsize=4096)
def _derived_authority(root: RootAuthority, identity: TenantIdentity) -> TenantAuthority:
    info = _PURPOSE + identity.uid.encode()
    # Sixteen bytes more than the order of the curve, so that all keys are equally likely.
    derived = _derived(root, info, 48)
    key = ec.derive_private_key(int.from_bytes(derived, "big") % (_ORDER - 1) + 1, _CURVE)
    subject, issuer = identity.distinguished_name, root.certificate.subject
    serial = int.from_bytes(hashlib.sha256(info).digest()[:16], "big") | 1
    builder = certificate_builder(subject, issuer, key.public_key(), root.validity, serial)
    builder = certifying(builder, key, path_length=0)
    builder = builder.add_extension(issued_by(root.key), critical=False)
    return TenantAuthority(builder.sign(root.key, hashes.SHA256()), key)


def _derived(root: RootAuthority, info: bytes, size: int) -> bytes:
    secret = root.key.private_numbers().private_value.to_bytes(32, "big")
    return HKDF(hashes.SHA256(), size, salt=None, info=info).derive(secret)


def _named_issuer(certificate: x509.Certificate) -> TenantIdentity | None:
    """Return the LCluster whose CA a certificate names as its issuer, without verifying that."""
    issuer = certificate.issuer
    common = issuer.get_attributes_for_oid(NameOID.COMMON_NAME)
    uids = issuer.get_attributes_for_oid(NameOID.USER_ID)
    if len(common) != 1 or len(uids) != 1:
        return None
    name = str(common[0].value)
    if not name.startswith(_COMMON_NAME):
        return None
    return TenantIdentity(name.removeprefix(_COMMON_NAME), str(uids[0].value))
