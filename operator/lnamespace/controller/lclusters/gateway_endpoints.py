"""The addresses at which pods reach the gateway. Pure."""

import ipaddress
from dataclasses import dataclass

from lnamespace.errors import OptionError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class GatewayEndpoints:
    """The addresses of one family with a common port; empty if they are not known."""

    addresses: tuple[IpAddress, ...] = ()
    port: int = 443


def parse_endpoints(option: str) -> GatewayEndpoints:
    """Read the value of ``--gateway-endpoints``, such as ``10.0.0.7:6443,10.0.0.8:6443``.

    Raises
    ------
    OptionError
        The option is not a list of addresses of one family with one port.
    """
    if not option:
        return GatewayEndpoints()
    try:
        pairs = [_pair(text.strip()) for text in option.split(",")]
    except ValueError as error:
        raise OptionError(f"--gateway-endpoints must be IP:PORT, by commas: {error}") from error
    addresses = sorted({address for address, _ in pairs}, key=lambda each: each.packed)
    ports, families = {port for _, port in pairs}, {address.version for address in addresses}
    if len(ports) != 1 or len(families) != 1:
        raise OptionError("--gateway-endpoints must have one port, and addresses of one family")
    return GatewayEndpoints(tuple(addresses), ports.pop())


def _pair(text: str) -> tuple[IpAddress, int]:
    host, _, port = text.rpartition(":")
    return ipaddress.ip_address(host.strip("[]")), int(port)
