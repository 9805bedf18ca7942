"""When the next certificate takes over, and which one a replica serves; pure.

The order makes a renewal safe. A new key pair is first shared by all replicas in a Secret, then
trusted in every caBundle, and only served once every API server has had the time to read those.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from lnamespace.admission.certificates.keypairs import (
    CertificateSpec,
    KeyPair,
    certificates_of,
    covers,
    is_signed,
    not_after,
    not_before,
    problem,
    trusts,
)
from lnamespace.runtime.certificates import certificate_pem

_BUNDLE_MAX = 32
"""Certificates in a caBundle; only a renewal without end would make more."""


@dataclass(frozen=True)
class SharedPair:
    """A pair, and since when every caBundle has been seen to trust it; None: not yet."""

    pair: KeyPair
    trusted_since: datetime | None = None


@dataclass(frozen=True)
class SharedState:
    """The state that all replicas share: the pair to serve, and the one to serve next."""

    current: SharedPair | None = None
    next: SharedPair | None = None

    @property
    def pairs(self) -> tuple[KeyPair, ...]:
        """Return the pairs that there are."""
        return tuple(held.pair for held in (self.current, self.next) if held)


@dataclass(frozen=True)
class ObservedState:
    """The observations of one replica.

    Parameters
    ----------
    state
        What the Secret holds.
    serving
        The pair that this replica serves; None at its start.
    bundles
        All caBundles by which API servers trust the webhook.
    """

    state: SharedState
    serving: KeyPair | None
    bundles: tuple[bytes, ...]
    now: datetime


def next_state(
    seen: ObservedState, spec: CertificateSpec, fresh: Callable[[], KeyPair]
) -> SharedState:
    """Decide the state that the replicas should share now; the same one if nothing is due.

    A pair that cannot be served is dropped. If only the pair that this replica serves is left, it
    is shared again, since the API servers trust it. If there is none at all, a fresh pair is
    current at once. A next pair is made when the current one has lived two thirds of its life or
    lacks a name. It takes over once every caBundle has trusted it for the time to settle.

    Parameters
    ----------
    fresh
        A function that makes a new pair; called only if one is due.
    """
    current, upcoming = _usable(seen.state.current, seen), _usable(seen.state.next, seen)
    if upcoming and not covers(upcoming.pair, spec.names):
        upcoming = None
    if current is None and seen.serving and not problem(seen.serving, seen.now):
        current = SharedPair(seen.serving, seen.now - spec.settle)
        upcoming = upcoming or SharedPair(fresh())
    if current is None:
        return SharedState(_with_trusted_since(upcoming or SharedPair(fresh()), seen))
    current = current if current.trusted_since else _with_trusted_since(current, seen)
    if upcoming is None:
        return SharedState(
            current, SharedPair(fresh()) if _is_due(current.pair, spec, seen.now) else None
        )
    upcoming = _with_trusted_since(upcoming, seen)
    if is_settled(upcoming, spec, seen.now):
        return SharedState(upcoming)
    return SharedState(current, upcoming)


def pair_to_serve(seen: ObservedState, spec: CertificateSpec) -> KeyPair | None:
    """Decide which pair this replica serves: the shared one, but not before it is trusted.

    Until then the replica keeps the pair that it serves, if that is still valid. A replica without
    one serves nothing until then, unless the caBundles trust no other pair either.
    """
    current = _usable(seen.state.current, seen)
    kept = seen.serving if seen.serving and not problem(seen.serving, seen.now) else None
    if current is None:
        return kept
    if is_settled(current, spec, seen.now) or (kept is None and not _trusts_another(current, seen)):
        return current.pair
    return kept


def is_settled(held: SharedPair, spec: CertificateSpec, now: datetime) -> bool:
    """Return whether every API server has had the time to read the caBundles that trust it."""
    return held.trusted_since is not None and now - held.trusted_since >= spec.settle


def desired_bundle(present: bytes, state: SharedState, now: datetime) -> bytes:
    """Decide the caBundle that replaces the present one.

    It trusts the CAs of the state, and goes on trusting all others until they expire, since a
    replica may still serve a pair of theirs. Of too many, the oldest are dropped.
    """
    ours = [ca for pair in state.pairs for ca in certificates_of(pair.ca)]
    others = sorted(
        (ca for ca in certificates_of(present) if ca not in ours),
        key=lambda ca: ca.not_valid_before_utc,
        reverse=True,
    )
    wanted = [ca for ca in (*ours, *others) if ca.not_valid_after_utc > now][:_BUNDLE_MAX]
    if set(wanted) == set(certificates_of(present)):
        return present
    return b"".join(map(certificate_pem, wanted))


def _usable(held: SharedPair | None, seen: ObservedState) -> SharedPair | None:
    if held is None or problem(held.pair, seen.now) or not is_signed(held.pair):
        return None
    return held


def _with_trusted_since(held: SharedPair, seen: ObservedState) -> SharedPair:
    """Note since when every caBundle trusts a pair; None as soon as one does not."""
    if not all(trusts(present, held.pair) for present in seen.bundles):
        return replace(held, trusted_since=None)
    return held if held.trusted_since else replace(held, trusted_since=seen.now)


def _trusts_another(held: SharedPair, seen: ObservedState) -> bool:
    """Return whether a caBundle trusts another pair, which a replica may be serving then."""
    ours = set(certificates_of(held.pair.ca))
    trusted = {ca for present in seen.bundles for ca in certificates_of(present)}
    return any(ca.not_valid_after_utc > seen.now for ca in trusted - ours)


def _is_due(pair: KeyPair, spec: CertificateSpec, now: datetime) -> bool:
    """Return whether two thirds of the pair's life are over, or a name is missing."""
    begin, end = not_before(pair), not_after(pair)
    return now >= begin + (end - begin) * 2 / 3 or not covers(pair, spec.names)
