"""Find the cluster that a request is for, by the host that the client names or by the path.

It is a tenant's cluster, or at the endpoint ``mine`` the platform's own, for people who have
LNamespaces.
"""

from dataclasses import dataclass

_PATH = "/clusters/"
MINE = "mine"
"""The endpoint for the platform's own cluster; no LCluster can have this name."""
_MINE_PATH = f"/{MINE}"


@dataclass(frozen=True)
class Destination:
    """The tenant that a request is for, and the request's target inside its cluster.

    Parameters
    ----------
    tenant
        Empty where neither host nor path names one, as for a client in a pod, whose token does.
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
