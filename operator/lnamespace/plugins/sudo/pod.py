"""The account of the pod that this runs in, where there is no kubeconfig."""

from __future__ import annotations

import os

from lnamespace.plugins.runtime.memory import kubeconfigs
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FILES = "/var/run/secrets/kubernetes.io/serviceaccount"
HERE = "pod"  # the name of the context, and of what it leads to


def pod_namespace() -> str:
    """Return the namespace that kubectl itself uses inside a pod without a kubeconfig."""
    try:
        with open(f"{FILES}/namespace", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow
            return file.read().strip()
    except OSError:
        return ""


def lead_to_own_cluster(connection: Sequence[str]) -> None:
    """Let kubectl ask the pod's cluster with ``--as`` too, as it does without.

    kubectl takes the account of its pod only if no flag says anything of the server or the user
    (kubernetes#93474), and with ``--as`` asked localhost:8080. So it gets a kubeconfig that says
    the same: a file without a name, which ends with kubectl, and which names the token's file
    only. Where a flag chooses a server, it must not get this token.
    """
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "")
    is_pod = host and port and os.path.isfile(f"{FILES}/token")  # noqa: PTH113 - as above
    if connection or not is_pod or any(map(os.path.exists, kubeconfigs())):
        return
    from lnamespace.plugins.runtime.documents import dumps

    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    descriptor = os.memfd_create("kubeconfig", 0)  # kubectl inherits it
    os.write(descriptor, dumps(_kubeconfig(server)).encode())
    os.environ["KUBECONFIG"] = f"/proc/self/fd/{descriptor}"


def _kubeconfig(server: str) -> dict[str, object]:
    cluster = {"server": server, "certificate-authority": f"{FILES}/ca.crt"}
    context = {"cluster": HERE, "user": HERE, "namespace": pod_namespace()}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": HERE, "cluster": cluster}],
        "users": [{"name": HERE, "user": {"tokenFile": f"{FILES}/token"}}],
        "contexts": [{"name": HERE, "context": context}],
        "current-context": HERE,
    }
