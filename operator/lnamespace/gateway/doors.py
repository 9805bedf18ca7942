"""Which door a request comes to: by the host that the client names, or by the path.

A door is a tenant's cluster, or ``mine``: the platform's own, for people who have LNamespaces.
"""

from dataclasses import dataclass

_PATH = "/clusters/"
MINE = "mine"
"""The door to the platform's own cluster; no LCluster can have this name."""
_MINE_PATH = f"/{MINE}"


@dataclass(frozen=True)
class Destination:
    """A tenant, and what is asked of its cluster.

    Parameters
    ----------
    tenant
        Empty where neither host nor path name one, as of a client in a pod: its token says it.
        It may be ``mine``.
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
        return _by_path(target, _PATH)
    if target.startswith(_MINE_PATH) and target[len(_MINE_PATH) :][:1] in ("", "/", "?"):
        return _by_path(target, "/")
    return Destination("", target)


def _by_path(target: str, front: str) -> Destination:
    tenant, slash, rest = target.removeprefix(front).partition("/")
    before, mark, query = tenant.partition("?")
    # A slash may also stand in the query.
    if mark:
        return Destination(before, f"/?{query}{slash}{rest}", front + before)
    return Destination(tenant, f"/{rest}", front + tenant)
