"""The port at which programs in pods reach the gateway, as they reach the API server anywhere else.

They dial the address in ``KUBERNETES_SERVICE_HOST`` and verify its certificate by the CA in the
ConfigMap ``kube-root-ca.crt``; the chart's admission policies set both
(docs/decisions/0046-programs-in-pods.md).
"""

import msgspec

from lnamespace.errors import ClusterError, SettingsError
from lnamespace.kube.client import Client
from lnamespace.kube.resources import SERVICE

API_SERVER_NAMES = (
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
"""The names by which programs in pods know their API server, as in kubeadm's certificates."""


class _ServiceSpec(msgspec.Struct, frozen=True, rename={"cluster_ips": "clusterIPs"}):
    cluster_ips: tuple[str, ...]


class _Service(msgspec.Struct, frozen=True):
    spec: _ServiceSpec


async def certified_hosts(client: Client, service: str) -> tuple[str, ...]:
    """Return the hosts of the certificate for pods: a Service's addresses and names.

    Raises
    ------
    SettingsError
        The Service cannot be read, or it has no address.
    """
    namespace, _, name = service.partition("/")
    try:
        found = msgspec.json.decode(await client.get(SERVICE.path(name, namespace)), type=_Service)
    except (ClusterError, msgspec.MsgspecError) as error:
        raise SettingsError(f"--gateway-pod-service: Service {service}: {error}") from error
    return (*found.spec.cluster_ips, *API_SERVER_NAMES)
