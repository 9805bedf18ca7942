"""The gateway's serving certificate and key: from a directory, or issued by its own root.

An issued one is renewed after two thirds of its life. Each process has its own: clients verify the
root behind it, which all processes share.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

from lnamespace.errors import OptionError, SettingsError
from lnamespace.gateway.certificates.authorities import RootAuthority
from lnamespace.runtime.certificates import CLOCKS_DIFFER
from lnamespace.settings import Settings

PEMPair = tuple[bytes, bytes]
"""A certificate, with its chain, and its key."""
_FILES = ("tls.crt", "tls.key")


class ServingPair(Protocol):
    """A source of the serving certificate and key."""

    def current(self) -> PEMPair:
        """Return the pair to serve now; the same one until another is to be served.

        Raises
        ------
        SettingsError
            There is no pair, or it cannot be read.
        """


@dataclass(frozen=True)
class MountedPair:
    """A pair in mounted files, which another program renews, such as cert-manager."""

    directory: Path

    def current(self) -> PEMPair:
        """Read the certificate and key from the files."""
        try:
            certificate, key = ((self.directory / name).read_bytes() for name in _FILES)
        except OSError as error:
            raise SettingsError(
                f"--gateway-certificate-directory: {error}; leave it empty, and the gateway makes "
                "its own certificate by the CA of --gateway-signer-secret"
            ) from error
        return certificate, key


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class IssuedPair:
    """A pair that the root issues, with a limited life.

    Parameters
    ----------
    hosts
        The names and addresses by which clients call the gateway.
    """

    root: RootAuthority
    hosts: tuple[str, ...]
    life: timedelta
    clock: Callable[[], datetime] = _now
    _pair: PEMPair | None = None
    _renewed_at: datetime = field(default_factory=_now)

    def current(self) -> PEMPair:
        """Return the pair; a new one after two thirds of the life of the last one."""
        now = self.clock()
        if self._pair is None or now >= self._renewed_at:
            validity = now - CLOCKS_DIFFER, min(now + self.life, self.root.validity[1])
            self._pair = self.root.serving_pair(self.hosts, validity)
            self._renewed_at = now + self.life * 2 / 3
        return self._pair


def serving_pair(settings: Settings, root: RootAuthority | None) -> ServingPair:
    """Return the provider of the certificate and key that the settings ask for.

    Raises
    ------
    OptionError
        The gateway is to make the pair itself, and has no root.
    """
    if settings.gateway_certificate_directory:
        return MountedPair(Path(settings.gateway_certificate_directory))
    if root is None:
        raise OptionError(
            "--gateway-certificate-directory is empty: the gateway makes its certificate then, "
            "which needs --gateway-signer-secret"
        )
    hosts = gateway_hosts(settings.gateway_host, settings.gateway_service)
    return IssuedPair(root, hosts, timedelta(hours=settings.certificate_hours))


def gateway_hosts(host: str, service: str) -> tuple[str, ...]:
    """Return the names of a gateway: its host, all names below it, and those of a Service.

    Parameters
    ----------
    service
        NAMESPACE/NAME; empty if it has none.
    """
    namespace, _, name = service.partition("/")
    inside = (f"{name}.{namespace}.svc",) if service else ()
    if not host:
        return inside
    try:
        ip_address(host)
    except ValueError:
        return (host, f"*.{host}", *inside)
    return (host, *inside)
