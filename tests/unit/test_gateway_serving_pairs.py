"""The certificate by which clients know the gateway: mounted, or issued by its root."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store
from lnamespace.errors import SettingsError
from lnamespace.gateway.certificates.authorities import make_root
from lnamespace.gateway.certificates.serving_pairs import (
    IssuedPair,
    MountedPair,
    gateway_hosts,
    serving_pair,
)
from lnamespace.gateway.certificates.tls import ServerContext
from lnamespace.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROOT = make_root(NOW)
LIFE = timedelta(hours=2160)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


def issued(clock: Clock, host: str = "lclusters.example.com") -> IssuedPair:
    return IssuedPair(ROOT, gateway_hosts(host, "system/gateway"), LIFE, clock)


def verified(certificate: bytes, host: str, when: datetime) -> None:
    """Verify a certificate as strictly as a client may (RFC 5280)."""
    policy = PolicyBuilder().store(Store([ROOT.certificate])).time(when)
    policy.build_server_verifier(x509.DNSName(host)).verify(
        x509.load_pem_x509_certificate(certificate), []
    )


def test_clients_that_know_the_root_verify_the_gateway_by_each_of_its_names() -> None:
    certificate, _ = issued(Clock()).current()
    for host in ("lclusters.example.com", "acme.lclusters.example.com", "gateway.system.svc"):
        verified(certificate, host, NOW + LIFE - timedelta(seconds=1))
    with pytest.raises(x509.verification.VerificationError):
        verified(certificate, "a.b.lclusters.example.com", NOW)


def test_a_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    clock = Clock()
    pair = issued(clock)
    first = pair.current()
    clock.now += LIFE * 2 / 3 - timedelta(seconds=1)
    assert pair.current() == first
    clock.now += timedelta(seconds=1)
    renewed = pair.current()
    assert renewed != first
    assert pair.current() == renewed
    verified(renewed[0], "lclusters.example.com", clock.now + LIFE - timedelta(seconds=1))


def test_no_certificate_is_valid_longer_than_the_root() -> None:
    clock = Clock()
    clock.now = ROOT.validity[1] - timedelta(days=1)
    certificate = x509.load_pem_x509_certificate(issued(clock).current()[0])
    assert certificate.not_valid_after_utc == ROOT.validity[1]


def test_a_gateway_reached_by_ip_address_has_no_subdomain_names() -> None:
    assert gateway_hosts("10.0.0.1", "") == ("10.0.0.1",)
    assert gateway_hosts("", "system/gateway") == ("gateway.system.svc",)


def test_a_missing_certificate_directory_and_root_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="--gateway-signer-secret"):
        serving_pair(Settings(gateway_certificate_directory=""), None)


def test_a_directory_without_a_certificate_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--gateway-certificate-directory: .*leave it empty"):
        MountedPair(tmp_path).current()


async def test_a_renewed_certificate_is_served_to_new_connections() -> None:
    clock = Clock()
    context = ServerContext(issued(clock, "localhost"))
    secured = await asyncio.start_server(
        lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context.entry
    )
    async with secured:
        port = secured.sockets[0].getsockname()[1]
        first = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
        context.reload()
        assert await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port)) == first
        clock.now += LIFE
        context.reload()
        assert await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port)) != first


def test_a_certificate_that_does_not_match_its_key_is_not_loaded(tmp_path: Path) -> None:
    clock = Clock()
    for name, content in zip(("tls.crt", "tls.key"), issued(clock).current(), strict=True):
        (tmp_path / name).write_bytes(content)
    context = ServerContext(MountedPair(tmp_path))
    (tmp_path / "tls.crt").write_bytes(issued(clock).current()[0])
    for _ in range(2):
        with pytest.raises(SettingsError, match="cannot be used together"):
            context.reload()


def test_the_sealing_key_is_derived_from_the_root_and_shared_by_all_replicas() -> None:
    """A replica that had started since a renewal took no continue token of the others."""
    assert ROOT.sealing_key == ROOT.sealing_key
    assert len(ROOT.sealing_key) == 32
    assert make_root(NOW).sealing_key != ROOT.sealing_key
