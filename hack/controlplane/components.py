"""The three processes of a control plane and their flags."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from .binaries import Executables
from .pki import Pair, Pki
from .processes import Daemon, Probe
from .versions import Release

LOOPBACK = "127.0.0.1"
ETCD, API_SERVER, CONTROLLER_MANAGER = "etcd", "kube-apiserver", "kube-controller-manager"

# The controllers that work without nodes. The others would wait for kubelets that never come.
CONTROLLERS = (
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "validatingadmissionpolicy-status-controller",
)
AUDIT_POLICY, CHOSEN_CONTROLLERS = "audit-policy.yaml", "controllers"
"""Files that people put into the folder of a cluster before it is made."""


@dataclass(frozen=True)
class Ports:
    """The ports of one cluster; they stay the same as long as the cluster."""

    etcd: int
    etcd_peer: int
    api_server: int
    controller_manager: int


@dataclass(frozen=True)
class Layout:
    """The files of one cluster."""

    directory: Path

    @property
    def kubeconfig(self) -> Path:
        """Return the administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def controller_manager_kubeconfig(self) -> Path:
        """Return the controller manager's own kubeconfig."""
        return self.directory / "kube-controller-manager.kubeconfig"

    @property
    def audit_policy(self) -> Path:
        """Return the audit policy of the API server, if there is such a file."""
        return self.directory / AUDIT_POLICY

    @property
    def controllers(self) -> str:
        """Return the controllers that run: those of the file ``controllers``, if there is one."""
        file = self.directory / CHOSEN_CONTROLLERS
        return file.read_text().strip() if file.exists() else ",".join(CONTROLLERS)

    def identities(self) -> dict[str, str]:
        """Return by name the argument that only this cluster's process has, whatever its ports."""
        return {
            ETCD: f"--data-dir={self.directory / 'etcd'}",
            API_SERVER: f"--client-ca-file={self.directory / 'pki' / 'ca.crt'}",
            CONTROLLER_MANAGER: f"--kubeconfig={self.controller_manager_kubeconfig}",
        }


def daemons(
    layout: Layout, executables: Executables, release: Release, ports: Ports, pki: Pki
) -> list[Daemon]:
    """Return the three daemons, in the order in which they start."""
    flags = {
        ETCD: _etcd(ports, pki),
        API_SERVER: (*_api_server(ports, pki), *_audit(layout), *release.flags),
        CONTROLLER_MANAGER: (
            *_controller_manager(ports, pki, layout.controllers),
            *release.flags,
        ),
    }
    listening, probes = _listening(ports), _probes(ports, pki)
    return [
        Daemon(
            name=name,
            executable=(executables.tools if name == ETCD else executables.servers) / name,
            identity=identity,
            flags=flags[name],
            ports=listening[name],
            probes=probes[name],
            directory=layout.directory,
        )
        for name, identity in layout.identities().items()
    ]


def _listening(ports: Ports) -> dict[str, tuple[int, ...]]:
    return {
        ETCD: (ports.etcd, ports.etcd_peer),
        API_SERVER: (ports.api_server,),
        CONTROLLER_MANAGER: (ports.controller_manager,),
    }


def _probes(ports: Ports, pki: Pki) -> dict[str, tuple[Probe, ...]]:
    """Return the probes; a service account shows that the controllers are at work."""
    admin, etcd_client = pki.pair("admin"), pki.pair("etcd-client")
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    return {
        ETCD: (Probe(ports.etcd, "/readyz", pki.etcd_authority, etcd_client),),
        API_SERVER: (Probe(ports.api_server, "/readyz", pki.authority, admin),),
        CONTROLLER_MANAGER: (
            Probe(ports.controller_manager, "/healthz", pki.authority, admin),
            Probe(ports.api_server, account, pki.authority, admin),
        ),
    }


def _etcd(ports: Ports, pki: Pki) -> tuple[str, ...]:
    client, peer = f"https://{LOOPBACK}:{ports.etcd}", f"https://{LOOPBACK}:{ports.etcd_peer}"
    own = pki.pair("etcd")
    return (
        "--unsafe-no-fsync",  # the data need not survive a power cut
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        "--name=local",
        f"--initial-cluster=local={peer}",
        "--client-cert-auth",
        f"--trusted-ca-file={pki.etcd_authority}",
        f"--cert-file={own.certificate}",
        f"--key-file={own.key}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={pki.etcd_authority}",
        f"--peer-cert-file={own.certificate}",
        f"--peer-key-file={own.key}",
        "--logger=zap",
        "--log-level=warn",
    )


def _api_server(ports: Ports, pki: Pki) -> tuple[str, ...]:
    server, etcd_client = pki.pair("server"), pki.pair("etcd-client")
    return (
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",  # would refuse to publish a loopback address
        f"--secure-port={ports.api_server}",
        f"--tls-cert-file={server.certificate}",
        f"--tls-private-key-file={server.key}",
        f"--etcd-servers=https://{LOOPBACK}:{ports.etcd}",
        f"--etcd-cafile={pki.etcd_authority}",
        f"--etcd-certfile={etcd_client.certificate}",
        f"--etcd-keyfile={etcd_client.key}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki.service_account_key}",
        f"--service-account-signing-key-file={pki.service_account_key}",
        "--enable-aggregator-routing=true",  # no kube-proxy leads from a Service to its endpoints
        "--profiling=false",
    )


def _audit(layout: Layout) -> tuple[str, ...]:
    """Return the flags of an audit log, if the cluster's folder has a policy for one."""
    if not layout.audit_policy.exists():
        return ()
    log = layout.directory / "logs" / "audit.log"
    return (f"--audit-policy-file={layout.audit_policy}", f"--audit-log-path={log}")


def _controller_manager(ports: Ports, pki: Pki, controllers: str) -> tuple[str, ...]:
    server, authority = pki.pair("server"), pki.pair("ca")
    return (
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.controller_manager}",
        f"--tls-cert-file={server.certificate}",
        f"--tls-private-key-file={server.key}",
        f"--controllers={controllers}",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={pki.service_account_key}",
        f"--root-ca-file={pki.authority}",
        f"--cluster-signing-cert-file={authority.certificate}",
        f"--cluster-signing-key-file={authority.key}",
        "--leader-elect=false",
        "--profiling=false",
    )


def kubeconfig(port: int, authority: Path, client: Pair) -> bytes:
    """Return a kubeconfig with everything in it, as JSON, which is YAML too."""
    name = "lnamespace-local"
    server = {
        "server": f"https://{LOOPBACK}:{port}",
        "certificate-authority-data": _base64(authority),
    }
    user = {
        "client-certificate-data": _base64(client.certificate),
        "client-key-data": _base64(client.key),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
