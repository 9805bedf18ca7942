"""What a renewal does, at every moment, to replicas and API servers that are behind."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from lnamespace.admission.certificates import keypairs
from lnamespace.admission.certificates.keypairs import (
    CertificateSpec,
    KeyPair,
    make_pair,
    not_after,
    trusts,
)
from lnamespace.admission.certificates.keypairs import problem as keypair_problem
from lnamespace.admission.certificates.rotation import (
    ObservedState,
    SharedPair,
    SharedState,
    desired_bundle,
    next_state,
    pair_to_serve,
)

START = datetime(2030, 1, 1, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
TERMS = CertificateSpec(("door.example", "127.0.0.1", "::1"), 3 * HOUR, MINUTE)


def made(now: datetime = START, terms: CertificateSpec = TERMS) -> KeyPair:
    return make_pair(terms, now)


PAIR, OTHER = made(), made()


def seen(
    state: SharedState, serving: KeyPair | None = None, now: datetime = START, bundle: bytes = b""
) -> ObservedState:
    return ObservedState(state, serving, (bundle, bundle), now)


def advanced(situation: ObservedState, terms: CertificateSpec = TERMS) -> SharedState:
    return next_state(situation, terms, lambda: made(situation.now, terms))


def test_a_generated_pair_is_valid_for_its_names_and_signed_by_its_ca() -> None:
    leaf = x509.load_pem_x509_certificate(PAIR.certificate)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["door.example"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(PAIR.ca))
    assert keypair_problem(PAIR, START) is None
    assert not_after(PAIR) == START + 3 * HOUR


def test_a_generated_pair_is_for_server_authentication_only() -> None:
    leaf, ca = map(x509.load_pem_x509_certificate, (PAIR.certificate, PAIR.ca))
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    limits = ca.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert limits == x509.BasicConstraints(ca=True, path_length=0)


def test_the_private_key_of_the_ca_is_not_stored() -> None:
    ca = x509.load_pem_x509_certificate(PAIR.ca)
    key = keypairs._private_key(PAIR.key)  # noqa: SLF001 - the only way to look at it
    assert key.public_key() != ca.public_key()


@pytest.mark.parametrize(
    ("pair", "now", "said"),
    [
        (PAIR, START, None),
        (PAIR, START + 3 * HOUR, "expired"),
        (PAIR, START - HOUR, "not valid yet"),
        (PAIR, START - 4 * MINUTE, None),
        (replace(PAIR, key=OTHER.key), START, "not the certificate's"),
        (replace(PAIR, key=b"garbage"), START, "cannot be read"),
        (replace(PAIR, certificate=b""), START, "cannot be read"),
        (replace(PAIR, certificate=b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END"), START, "read"),
        (KeyPair(b"\xff", b"\x00", b""), START, "cannot be read"),
    ],
)
def test_the_problem_of_a_pair_that_cannot_be_served_is_reported(
    pair: KeyPair, now: datetime, said: str | None
) -> None:
    problem = keypair_problem(pair, now)
    assert problem is None if said is None else said in (problem or "")


def test_the_first_replica_shares_a_pair_and_serves_it_at_once() -> None:
    state = advanced(seen(SharedState()))
    assert state.current
    assert not state.next
    assert pair_to_serve(seen(state), TERMS) == state.current.pair


def test_a_young_pair_is_not_renewed() -> None:
    state = SharedState(SharedPair(PAIR, START))
    bundle = desired_bundle(b"", state, START)
    assert advanced(seen(state, PAIR, START + HOUR, bundle)) == state


def test_the_next_pair_is_generated_after_two_thirds_of_the_lifetime() -> None:
    state = SharedState(SharedPair(PAIR, START))
    bundle = desired_bundle(b"", state, START)
    state = advanced(seen(state, PAIR, START + 2 * HOUR, bundle))
    assert state.current == SharedPair(PAIR, START)
    assert state.next
    assert state.next.trusted_since is None
    assert pair_to_serve(seen(state, PAIR), TERMS) == PAIR


def test_the_next_pair_replaces_the_current_one_after_the_settle_time() -> None:
    state = SharedState(SharedPair(PAIR, START), SharedPair(OTHER))
    both = desired_bundle(b"", state, START)
    assert advanced(seen(state, PAIR, START, PAIR.ca)).next == SharedPair(OTHER)
    state = advanced(seen(state, PAIR, START, both))
    assert state.next == SharedPair(OTHER, START)
    assert advanced(seen(state, PAIR, START + MINUTE / 2, both)) == state
    assert advanced(seen(state, PAIR, START + MINUTE, both)) == SharedState(
        SharedPair(OTHER, START)
    )


def test_a_pair_is_trusted_only_when_every_bundle_contains_its_ca() -> None:
    state = SharedState(SharedPair(PAIR, START), SharedPair(OTHER))
    both = desired_bundle(b"", state, START)
    assert advanced(ObservedState(state, PAIR, (both, PAIR.ca), START)) == state


def test_a_served_pair_stays_when_a_bundle_is_overwritten() -> None:
    later = START + HOUR
    state = advanced(seen(SharedState(SharedPair(PAIR, START)), PAIR, later, OTHER.ca))
    assert pair_to_serve(seen(state, None, later, OTHER.ca), TERMS) == PAIR


def test_lost_trust_restarts_the_settle_time() -> None:
    state = SharedState(SharedPair(PAIR, START), SharedPair(OTHER, START))
    assert advanced(seen(state, PAIR, START + HOUR, PAIR.ca)).next == SharedPair(OTHER)


def test_a_pair_for_other_names_is_kept_while_the_next_pair_is_prepared() -> None:
    other = made(terms=replace(TERMS, names=("old.example",)))
    state = advanced(seen(SharedState(SharedPair(other, START)), other, bundle=other.ca))
    assert state.current == SharedPair(other, START)
    assert state.next


def test_a_next_pair_that_lacks_a_name_is_dropped() -> None:
    other = made(terms=replace(TERMS, names=("old.example",)))
    state = SharedState(SharedPair(PAIR, START), SharedPair(other, START))
    present = desired_bundle(b"", state, START)
    assert advanced(seen(state, PAIR, START + HOUR, present)) == SharedState(
        SharedPair(PAIR, START)
    )


@pytest.mark.parametrize("bad", [KeyPair(b"x", b"y", b"z"), replace(PAIR, ca=OTHER.ca)])
def test_a_garbled_shared_pair_is_replaced_by_the_served_pair_and_renewed(bad: KeyPair) -> None:
    state = advanced(seen(SharedState(SharedPair(bad, START)), PAIR, bundle=PAIR.ca))
    assert state.current
    assert state.current.pair == PAIR
    assert state.next
    assert pair_to_serve(seen(state, PAIR), TERMS) == PAIR
    assert pair_to_serve(seen(state, bundle=PAIR.ca + OTHER.ca), TERMS) == PAIR


def test_a_garbled_shared_pair_is_replaced_at_once_if_no_pair_is_served() -> None:
    state = advanced(seen(SharedState(SharedPair(KeyPair(b"x", b"y", b"z")))))
    assert state.current
    assert keypair_problem(state.current.pair, START) is None


def test_the_next_pair_replaces_an_expired_pair() -> None:
    late = made(START + 2 * HOUR)
    state = SharedState(SharedPair(PAIR, START), SharedPair(late))
    assert advanced(seen(state, PAIR, START + 3 * HOUR)) == SharedState(SharedPair(late))
    state = SharedState(SharedPair(PAIR, START), SharedPair(late, START + 2 * HOUR))
    assert advanced(seen(state, PAIR, START + 3 * HOUR, PAIR.ca)) == SharedState(SharedPair(late))


def test_a_new_replica_does_not_wait_for_trust_when_the_old_ca_has_expired() -> None:
    now = START + 3 * HOUR
    state = SharedState(SharedPair(made(now)))
    assert pair_to_serve(seen(state, None, now, PAIR.ca), TERMS) == state.pairs[0]
    assert pair_to_serve(seen(state, None, now - MINUTE, PAIR.ca), TERMS) is None


def test_a_pair_without_a_ca_is_not_trusted() -> None:
    assert not trusts(PAIR.ca, replace(PAIR, ca=b""))


def test_a_bundle_keeps_trusted_certificates_until_they_expire() -> None:
    grown = desired_bundle(PAIR.ca, SharedState(SharedPair(OTHER)), START)
    assert trusts(grown, PAIR)
    assert trusts(grown, OTHER)
    late = made(START + 3 * HOUR)
    later = desired_bundle(grown, SharedState(SharedPair(late)), START + 3 * HOUR)
    assert later == late.ca


def test_a_complete_bundle_is_left_unchanged() -> None:
    present = b"# a comment\n" + PAIR.ca + OTHER.ca
    assert desired_bundle(present, SharedState(SharedPair(PAIR)), START) == present


def test_a_bundle_of_garbage_is_replaced() -> None:
    assert desired_bundle(b"garbage", SharedState(SharedPair(PAIR)), START) == PAIR.ca


def test_a_bundle_keeps_only_the_newest_32_certificates() -> None:
    bundle, pairs = b"", [made(START + minute * MINUTE) for minute in range(50)]
    for pair in pairs:
        bundle = desired_bundle(bundle, SharedState(SharedPair(pair)), START)
    assert [pair for pair in pairs if trusts(bundle, pair)] == pairs[-32:]


SHORT = replace(TERMS, life=30 * MINUTE)

# What follows is a world of replicas and API servers, each of which sees late.


@dataclass
class World:
    """One Secret, three caBundles with their history, and who is behind.

    Replicas read and write in separate moments; an API server uses a bundle as it was up to
    half of the time that trust is given to settle.
    """

    now: datetime = START
    version: int = 0
    state: SharedState = field(default_factory=SharedState)
    bundles: list[tuple[int, bytes]] = field(default_factory=lambda: [(0, b"")] * 3)
    history: list[list[tuple[datetime, bytes]]] = field(
        default_factory=lambda: [[(START - HOUR, b"")] for _ in range(3)]
    )
    serving: list[KeyPair | None] = field(default_factory=lambda: [None, None, None])
    looks: list[tuple[int, SharedState, list[tuple[int, bytes]]] | None] = field(
        default_factory=lambda: [None, None, None]
    )

    def read(self, replica: int) -> None:
        self.looks[replica] = self.version, self.state, list(self.bundles)

    def act(self, replica: int) -> None:
        look, self.looks[replica] = self.looks[replica], None
        if look is None:
            return
        version, state, bundles = look
        contents = tuple(content for _, content in bundles)
        situation = ObservedState(state, self.serving[replica], contents, self.now)
        wanted = advanced(situation, SHORT)
        if wanted != state:
            if version != self.version:
                return
            self.version, self.state = self.version + 1, wanted
        self.serving[replica] = pair_to_serve(replace(situation, state=wanted), SHORT)
        for target, (seen_version, content) in enumerate(bundles):
            grown = desired_bundle(content, wanted, self.now)
            if grown != content and seen_version == self.bundles[target][0]:
                self.bundles[target] = seen_version + 1, grown
                self.history[target].append((self.now, grown))

    def spoil(self, state: SharedState) -> None:
        self.version, self.state = self.version + 1, state

    def used(self, target: int) -> list[bytes]:
        """Return every version of a bundle that some API server may still use."""
        late = self.now - TERMS.settle / 2
        old = [content for at, content in self.history[target] if at <= late]
        return [old[-1], *(content for at, content in self.history[target] if at > late)]

    def distrusted(self) -> list[str]:
        return [
            f"replica {replica}, bundle {target}"
            for replica, pair in enumerate(self.serving)
            for target in range(3)
            for bundle in self.used(target)
            if pair and not trusts(bundle, pair)
        ]


REPLICAS = st.integers(0, 2)
SPOILT = st.sampled_from(
    [
        SharedState(),
        SharedState(SharedPair(KeyPair(b"x", b"y", b"z"), START)),
        SharedState(SharedPair(made(terms=replace(TERMS, names=("old.example",))))),
        SharedState(None, SharedPair(KeyPair(b"x", b"y", b"z"))),
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("read"), REPLICAS),
    st.tuples(st.just("act"), REPLICAS),
    st.tuples(st.just("look"), REPLICAS),
    st.tuples(st.just("look"), REPLICAS),
    st.tuples(st.just("wait"), st.sampled_from([1, 20, 40, 70, 600, 1500])),
    st.tuples(st.just("restart"), REPLICAS),
    st.tuples(st.just("spoil"), SPOILT),
)


@given(st.lists(STEPS, max_size=40))
@profile(max_examples=60)
def test_every_served_pair_is_trusted_whichever_replica_is_slow(
    steps: list[tuple[str, object]],
) -> None:
    world = World()
    for replica in (0, 1, 2, 0, 1, 2):
        world.read(replica)
        world.act(replica)
    world.now += TERMS.settle
    for what, argument in steps:
        play(world, what, argument)
        alive = [pair for pair in world.serving if pair]
        assert all(keypair_problem(pair, world.now) is None for pair in alive)
        assert world.distrusted() == [], (what, argument)


def play(world: World, what: str, argument: object) -> None:
    match what, argument:
        case "read", int(replica):
            world.read(replica)
        case "act", int(replica):
            world.act(replica)
        case "look", int(replica):
            world.read(replica)
            world.act(replica)
        case "wait", int(seconds):
            wait(world, timedelta(seconds=seconds))
        case "restart", int(replica):
            restart(world, replica)
        case "spoil", SharedState() as state:
            world.spoil(state)


def wait(world: World, long: timedelta) -> None:
    """Let time pass; two replicas look about every half minute, the third may be stuck."""
    end = world.now + long
    while world.now < end:
        world.now = min(end, world.now + MINUTE / 2)
        for replica in (0, 1):
            world.read(replica)
            world.act(replica)
        pair = world.serving[2]
        if pair and keypair_problem(pair, world.now):
            world.serving[2] = None


def restart(world: World, replica: int) -> None:
    """Start a process that knows nothing; as long as it serves nothing, it is not ready."""
    if sum(pair is not None for pair in world.serving) > 1:
        world.serving[replica] = None
        world.looks[replica] = None
