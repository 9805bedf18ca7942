"""Certificates as values: what they say, how they are made, and when the next one takes over.

Each renewal makes a CA of its own, signs one serving certificate with it and forgets the CA's
key: there is none to steal. What makes that safe is the order. A new pair is shared first,
then trusted everywhere, then, after a while in which every API server has read that, served.
"""

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CLOCKS_DIFFER = timedelta(minutes=5)
_BUNDLE_MAX = 32
"""Certificates in a bundle; more are there only if something renews without end."""


@dataclass(frozen=True)
class Pair:
    """A serving certificate (its chain behind it), its key, and the CA to trust; each as PEM."""

    certificate: bytes
    key: bytes
    ca: bytes


@dataclass(frozen=True)
class Held:
    """A pair, and since when every bundle has been seen to trust it; None: not yet."""

    pair: Pair
    trusted_since: datetime | None = None


@dataclass(frozen=True)
class State:
    """What all replicas share: the pair to serve, and the one to serve next."""

    current: Held | None = None
    next: Held | None = None

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Those there are."""
        return tuple(held.pair for held in (self.current, self.next) if held)


@dataclass(frozen=True)
class Terms:
    """For which names a certificate must be good, how long it lives, how long trust settles."""

    names: tuple[str, ...]
    life: timedelta
    settle: timedelta


@dataclass(frozen=True)
class Situation:
    """What one replica sees; ``serving`` is what it serves, ``bundles`` are all caBundles."""

    state: State
    serving: Pair | None
    bundles: tuple[bytes, ...]
    now: datetime


def make(terms: Terms, now: datetime) -> Pair:
    """A fresh CA and a certificate signed by it, good for all names."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    span = now - _CLOCKS_DIFFER, now + terms.life
    issuer = _name(f"lnamespace-webhook-ca {now:%Y-%m-%dT%H:%M:%SZ}")
    ca = (
        _builder(issuer, issuer, ca_key.public_key(), span)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(_key_id(ca_key), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    certificate = (
        _builder(_name("lnamespace-webhook"), issuer, key.public_key(), span)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(_general, terms.names)), critical=False)
        .add_extension(_key_id(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
    return Pair(_pem(certificate), _key_pem(key), _pem(ca))


def advance(seen: Situation, terms: Terms, fresh: Callable[[], Pair]) -> State:
    """What the replicas should share now; the same as before where nothing is to be done.

    What cannot be served is dropped. If nothing is left but what this replica serves, that is
    shared again, for it is what the API servers trust; if not even that, a fresh pair is all
    there is. A next pair is made when the current one has lived two thirds of its life or lacks a
    name, and takes over once every bundle has trusted it for as long as trust takes to settle.
    """
    current, upcoming = _usable(seen.state.current, seen), _usable(seen.state.next, seen)
    if upcoming and not _covers(upcoming.pair, terms.names):
        upcoming = None
    if current is None and seen.serving and not problem(seen.serving, seen.now):
        current = Held(seen.serving, seen.now - terms.settle)
        upcoming = upcoming or Held(fresh())
    if current is None:
        return State(_trusting(upcoming or Held(fresh()), seen))
    current = current if current.trusted_since else _trusting(current, seen)
    if upcoming is None:
        return State(current, Held(fresh()) if _due(current.pair, terms, seen.now) else None)
    upcoming = _trusting(upcoming, seen)
    if settled(upcoming, terms, seen.now):
        return State(upcoming)
    return State(current, upcoming)


def serve(seen: Situation, terms: Terms) -> Pair | None:
    """Which pair this replica should serve: the shared one, but not before it is trusted.

    What it serves already is kept until then, as far as it can be served. A replica that has
    nothing yet serves nothing until then, unless nobody else is trusted either.
    """
    current = _usable(seen.state.current, seen)
    kept = seen.serving if seen.serving and not problem(seen.serving, seen.now) else None
    if current is None:
        return kept
    if settled(current, terms, seen.now) or (kept is None and not _others(current, seen)):
        return current.pair
    return kept


def settled(held: Held, terms: Terms, now: datetime) -> bool:
    """Whether every API server has had the time to read that it is trusted."""
    return held.trusted_since is not None and now - held.trusted_since >= terms.settle


def bundle(present: bytes, state: State, now: datetime) -> bytes:
    """The caBundle that should be where ``present`` is.

    It trusts all of the state and goes on trusting what it trusted, until that expires: some
    replica may still serve it. Of too many, the oldest are dropped.
    """
    ours = [ca for pair in state.pairs for ca in _certificates(pair.ca)]
    others = sorted(
        (ca for ca in _certificates(present) if ca not in ours),
        key=lambda ca: ca.not_valid_before_utc,
        reverse=True,
    )
    wanted = [ca for ca in (*ours, *others) if ca.not_valid_after_utc > now][:_BUNDLE_MAX]
    if set(wanted) == set(_certificates(present)):
        return present
    return b"".join(map(_pem, wanted))


def trusts(bundle: bytes, pair: Pair) -> bool:
    """Whether the bundle has the pair's CA."""
    cas = _certificates(pair.ca)
    return bool(cas) and set(cas) <= set(_certificates(bundle))


def problem(pair: Pair, now: datetime) -> str | None:
    """Why the pair cannot be served now, or None."""
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


def expiry(pair: Pair) -> datetime:
    """When the serving certificate expires."""
    return _leaf(pair.certificate).not_valid_after_utc


def beginning(pair: Pair) -> datetime:
    """Return from when on the serving certificate is good."""
    return _leaf(pair.certificate).not_valid_before_utc


def _usable(held: Held | None, seen: Situation) -> Held | None:
    if held is None or problem(held.pair, seen.now) or not _signed(held.pair):
        return None
    return held


def _trusting(held: Held, seen: Situation) -> Held:
    """With the time from which on every bundle trusts it, as far as is known."""
    if not all(trusts(present, held.pair) for present in seen.bundles):
        return replace(held, trusted_since=None)
    return held if held.trusted_since else replace(held, trusted_since=seen.now)


def _others(held: Held, seen: Situation) -> bool:
    """Whether a bundle trusts somebody else, who then is perhaps being served."""
    ours = set(_certificates(held.pair.ca))
    trusted = {ca for present in seen.bundles for ca in _certificates(present)}
    return any(ca.not_valid_after_utc > seen.now for ca in trusted - ours)


def _due(pair: Pair, terms: Terms, now: datetime) -> bool:
    """Whether two thirds of its life are over, or the names have changed."""
    certificate = _leaf(pair.certificate)
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return now >= certificate.not_valid_before_utc + life * 2 / 3 or not _covers(pair, terms.names)


def _covers(pair: Pair, names: Iterable[str]) -> bool:
    found = _leaf(pair.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return set(map(_general, names)) <= set(found.value)


@lru_cache(maxsize=64)
def _signed(pair: Pair) -> bool:
    """Whether one of the pair's CAs signed its certificate."""
    certificate = _leaf(pair.certificate)
    return any(_issued(certificate, ca) for ca in _certificates(pair.ca))


def _issued(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


@lru_cache(maxsize=256)
def _certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """All certificates of a bundle; none if it is not one."""
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


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    span: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(span[0].astimezone(UTC))
        .not_valid_after(span[1].astimezone(UTC))
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general(name: str) -> x509.GeneralName:
    """A subject alternative name: an address where it is one, else a host name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_id(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
