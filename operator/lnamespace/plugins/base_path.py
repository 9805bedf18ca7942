"""What the path of an API server's address begins with, which some `kubectl --raw` leave out.

An LCluster may be served at a path of the gateway's address. Nothing is asked before an answer
says that no LCluster was named; then it is remembered, as long as the kubeconfig is the same.
"""

from __future__ import annotations

from lnamespace.plugins.discovery import LEADING
from lnamespace.plugins.memory import Memory, place
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lnamespace.plugins.kubectl import Kubectl

BASE_PATHS = Memory("base-paths", 6 * 3600)
UNNAMED = "no LCluster is named by the host or the path"  # the gateway's words
SERVER = "--server="


def known_base_path(connection: Sequence[str]) -> str:
    """Return the remembered base path of the server of the flags, without asking it."""
    known = BASE_PATHS.recall(_place(connection))
    return known[0] if known else ""


def find_base_path(kubectl: Kubectl) -> str:
    """Return the path that all paths of the server begin with; empty if there is none."""
    given = [flag.removeprefix(SERVER) for flag in kubectl.connection if flag.startswith(SERVER)]
    server = given[-1] if given else _configured(kubectl)
    _, slashes, rest = server.partition("://")
    _, slash, path = rest.partition("/")
    base = f"{slash}{path}".rstrip("/") if slashes else ""
    if base:
        BASE_PATHS.remember(_place(kubectl.connection), (base,))
    return base


def forget_base_path(connection: Sequence[str]) -> None:
    """Forget it: this kubectl puts it in front by itself."""
    BASE_PATHS.forget(_place(connection))


def _configured(kubectl: Kubectl) -> str:
    address = "jsonpath={.clusters[0].cluster.server}"
    reply = kubectl.run("config", "view", "--minify", "-o", address)
    return "" if reply.code else reply.out.strip()


def _place(connection: Sequence[str]) -> str:
    return place([flag for flag in connection if flag.startswith(LEADING)])
