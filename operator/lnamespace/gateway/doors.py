"""Which tenant's cluster a request is for: by the host that the client names, or by the path."""

from dataclasses import dataclass

_PATH = "/clusters/"


@dataclass(frozen=True)
class Destination:
    """A tenant, and what is asked of its cluster.

    Parameters
    ----------
    tenant
        Empty where neither host nor path name one, as of a client in a pod: its token says it.
    base
        What the paths of this cluster begin with at this address; empty by host.
    """

    tenant: str
    target: str
    base: str = ""


def find_destination(server_name: str, target: str, host: str) -> Destination:
    """Return where a request goes.

    Parameters
    ----------
    server_name
        The host of the TLS handshake (RFC 6066); the header Host is the client's to forge.
    host
        The gateway's own host: ``acme.HOST`` is tenant ``acme``.
    """
    name, dot, parent = server_name.lower().rstrip(".").partition(".")
    if host and dot and parent == host.lower():
        return Destination(name, target)
    if target.startswith(_PATH):
        tenant, slash, rest = target[len(_PATH) :].partition("/")
        before, mark, query = tenant.partition("?")
        if mark and not slash:
            return Destination(before, f"/?{query}", _PATH + before)
        return Destination(tenant, f"/{rest}", _PATH + tenant)
    return Destination("", target)
