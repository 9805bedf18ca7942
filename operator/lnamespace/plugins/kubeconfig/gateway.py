"""The address of an LCluster: a path at the gateway's address, or a host name of its own.

The same holds for `mine`, the endpoint for the platform's cluster, which is no LCluster's name.
"""

from __future__ import annotations

from lnamespace.plugins.model.lnamespaces import LCLUSTER, name_fault
from lnamespace.plugins.runtime.errors import KubectlError, PluginError
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from urllib.parse import SplitResult

PATH = "/clusters/"  # and the name of an LCluster
MINE = "mine"
PEM = "-----BEGIN "


class GatewayAddress(NamedTuple):
    """The address of one LCluster for clients.

    The certificates of the CA are PEM, or that in base64 as in an object's ``caBundle``; empty
    if the clients' own trusted CAs suffice.
    """

    server: str
    tls_server_name: str = ""
    ca: str = ""

    @property
    def shown(self) -> str:
        """Return the address as a person reads it."""
        return f"{self.server} as {self.tls_server_name}" if self.tls_server_name else self.server

    @property
    def certificates(self) -> bytes:
        """Return the CA's certificates in PEM."""
        if self.ca.startswith(PEM):
            return self.ca.encode()
        from base64 import b64decode

        try:
            decoded = b64decode(self.ca, validate=True)
        except ValueError:
            decoded = b""
        if not decoded.startswith(PEM.encode()):
            raise PluginError("the CA of the gateway is no certificate in PEM")
        return decoded


def by_path(server: str, name: str, given: bool = False) -> GatewayAddress:
    """Return the address by its path; an address that was ``given`` is the gateway's alone."""
    found = _checked(server)
    if given and not found.path.rstrip("/").endswith(_path(name)):
        return GatewayAddress(server.rstrip("/") + _path(name))
    return GatewayAddress(server.rstrip("/"))


def by_name(server: str, name: str, given: bool = False) -> GatewayAddress:
    """Return the address by the name that the TLS handshake asks for (SNI), without a path.

    It needs no DNS entry of the LCluster: the connection goes to the gateway's own host.
    """
    found = _checked(server)
    host = str(found.hostname)
    if not given:
        host = host.removeprefix(f"{name}.")
    if ":" in host or host.rpartition(".")[2].isdecimal():
        raise PluginError(f"--sni needs a gateway with a name, and {host} is a number")
    port = f":{found.port}" if found.port else ""
    front = found.path.rstrip("/").removesuffix(_path(name))
    return GatewayAddress(f"https://{host}{port}{front}", f"{name}.{host}")


def _path(name: str) -> str:
    return f"/{MINE}" if name == MINE else PATH + name


def lcluster_of(server: str, tls_server_name: str = "") -> str:
    """Return the name of the LCluster that an address leads to; empty where it does not show."""
    from urllib.parse import urlsplit

    try:
        found = urlsplit(server)
        _, named, rest = found.path.partition(PATH)
        name = rest.partition("/")[0] if named else (tls_server_name or str(found.hostname))
    except ValueError:
        return ""
    name = name.partition(".")[0]
    return "" if name_fault(name, LCLUSTER) else name


def _checked(server: str) -> SplitResult:
    """Return the parts of an address to which a login may be sent."""
    from urllib.parse import urlsplit

    try:
        found = urlsplit(server)
        known = bool(found.hostname) and (found.port is None or found.port > 0)
    except ValueError:
        known = False
    plain = server.isascii() and server.isprintable() and not set(server) & set(' "\\@?#')
    if not (known and plain and found.scheme == "https"):
        raise PluginError(f'the address of the gateway is not https://HOST: "{server}"')
    return found


def read_certificates(file: str) -> str:
    """Read a file of certificates; refuse one that visibly holds something else."""
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123 - pathlib is slow
            text = opened.read()
    except OSError as error:
        raise KubectlError(f"error: open {file}: {(error.strerror or '').lower()}") from None
    start = text.find(PEM)
    if start < 0:
        raise PluginError(f"{file} has no certificate in PEM")
    return text[start:]
