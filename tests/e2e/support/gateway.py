"""A cluster with the gateway on it, and people who log in to LClusters through it."""

import base64
import datetime as dt
import ipaddress
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.e2e.support.api import GROUP, Api, ApiError, Object, ns_path
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.commands import Result, environment, run
from tests.e2e.support.people import People, Person
from tests.e2e.support.processes import Controller, Process, Webhook, free_port
from tests.e2e.support.versions import is_since
from tests.e2e.support.waiting import eventually

GATEWAY_ACCOUNT = "lnamespace-gateway"
WEBHOOKS = f"{GATEWAY_ACCOUNT}-webhooks"
PODS = f"{GATEWAY_ACCOUNT}-for-pods"
HOST = "gateway.test"
LCLUSTERS = f"/apis/{GROUP}/v1beta1/lclusters"
_LONGEST_READING = 120
"""Seconds after which a kubectl that is read line by line ends."""


class GatewayProcess(Process):
    """The process `lnamespace gateway` on a port of this machine."""

    words = ("gateway",)
    defect = "Traceback"

    def __init__(
        self, kubeconfig: Path, log: Path, port: int, certificates: Path, **more: str
    ) -> None:
        self.port = port
        self.kubeconfig = kubeconfig
        self.health = free_port()
        self.webhooks = free_port()
        self.pods = free_port()
        self.audit_log = log.with_suffix(".audit")
        fixed = {
            "LNAMESPACE_GATEWAY_AUDIT_LOG": str(self.audit_log),
            "LNAMESPACE_GATEWAY_LISTEN": f"127.0.0.1:{port}",
            "LNAMESPACE_GATEWAY_HOST": HOST,
            "LNAMESPACE_GATEWAY_MINE": "yes",
            "LNAMESPACE_GATEWAY_CERTIFICATE_DIRECTORY": str(certificates),
            "LNAMESPACE_GATEWAY_SIGNER_SECRET": f"{RELEASE_NAMESPACE}/{GATEWAY_ACCOUNT}-signer",
            "LNAMESPACE_GATEWAY_WEBHOOK_SERVICE": f"{RELEASE_NAMESPACE}/{WEBHOOKS}:443",
            "LNAMESPACE_GATEWAY_WEBHOOK_LISTEN": f"0.0.0.0:{self.webhooks}",
            "LNAMESPACE_GATEWAY_POD_SERVICE": f"{RELEASE_NAMESPACE}/{PODS}",
            "LNAMESPACE_GATEWAY_POD_LISTEN": f"127.0.0.1:{self.pods}",
            "LNAMESPACE_GATEWAY_VOLUME_MARKS": "yes",
            "LNAMESPACE_GATEWAY_ALLOW": json.dumps({"definitionGroups": [GROUP]}),
            "LNAMESPACE_HEALTH_LISTEN": f"127.0.0.1:{self.health}",
            "LNAMESPACE_DRAIN_SECONDS": "1",
        }
        super().__init__(kubeconfig, log, **(fixed | more))

    def ready(self, log: str) -> bool:
        """Return whether the gateway listens and answers probes, which it begins last."""
        return "listening" in log and "answering probes" in log


class GatewayCluster(Cluster):
    """A control plane with the chart and its gateway, which runs outside of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.certificates = folder / "certificates"
        self.costs = folder / "costs"
        make_certificates(self.certificates)

    @property
    def url(self) -> str:
        """Return the URL by which people reach the gateway."""
        return f"https://127.0.0.1:{self.port}"

    def helm(self, verb: str, *flags: str) -> None:
        """Install or upgrade the chart with the gateway."""
        groups = f"allow.definitionGroups={{{GROUP}}}"
        values = ("enabled=true", "deploy=false", "mine=true", f"host={HOST}", groups)
        super().helm(verb, *(f"--set=gateway.{each}" for each in values), *flags)

    def install(self) -> None:
        """Install the chart, and lead the Service for webhooks to where the gateway is."""
        super().install()
        publish(self.admin, RELEASE_NAMESPACE, WEBHOOKS, "webhooks", self.gateway.webhooks)

    def behind(
        self, endpoint: str, person: Person, *, by_path: bool = False, port: int = 0
    ) -> "Resident":
        """Return a person with a kubeconfig for an endpoint: that of an LCluster, or ``mine``.

        ``port`` is that of another gateway.
        """
        document: dict[str, Any] = yaml.safe_load(person.kubeconfig.read_text())
        authority = (self.certificates / "ca.crt").read_bytes()
        server: dict[str, str] = {
            "certificate-authority-data": base64.b64encode(authority).decode(),
            "server": f"https://127.0.0.1:{port or self.port}",
        }
        if by_path:
            server["server"] += "/mine" if endpoint == "mine" else f"/clusters/{endpoint}"
        else:
            server["tls-server-name"] = f"{endpoint}.{HOST}"
        document["clusters"][0]["cluster"] = server
        way = "path" if by_path else "host"
        stem = f"{endpoint}-{person.name.replace(':', '.')}-{way}{port or ''}"
        file = self.certificates / f"{stem}.kubeconfig"
        file.write_text(yaml.safe_dump(document))
        return Resident(person, file)

    @cached_property
    def controller(self) -> Controller:
        """Return the controller, which knows the gateway's address; it is not started."""
        token = self.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
        variables = {
            "LNAMESPACE_LCLUSTERS": "yes",
            "LNAMESPACE_GATEWAY_URL": self.url,
            "LNAMESPACE_LCLUSTER_COSTS": str(self.costs),
            "LNAMESPACE_GATEWAY_AUTHORITIES": (self.certificates / "ca.crt").read_text(),
        }
        return Controller(token, self._logs / "controller.log", **variables)

    @cached_property
    def webhook(self) -> Webhook:
        """Return the webhook, with the chart's options for LClusters; it is not started."""
        return self.another_webhook("webhook", self._port, LNAMESPACE_LCLUSTERS="yes")

    @cached_property
    def gateway(self) -> GatewayProcess:
        """Return the gateway; it is not started."""
        return self.another_gateway("gateway", self.port)

    def another_gateway(self, name: str, port: int, **more: str) -> GatewayProcess:
        """Return a further gateway, which is not started. ``more`` are variables."""
        token = self.token(RELEASE_NAMESPACE, GATEWAY_ACCOUNT)
        return GatewayProcess(token, self._logs / f"{name}.log", port, self.certificates, **more)

    @property
    def ours(self) -> tuple[Process, ...]:
        """Return our processes, in the order in which they are started."""
        return (self.webhook, self.controller, self.gateway)


@dataclass(frozen=True)
class Resident:
    """A user inside an LCluster, with their login on the platform's cluster."""

    person: Person
    kubeconfig: Path

    @cached_property
    def api(self) -> Api:
        """Return a client of theirs, by the LCluster's own host name."""
        return Api(self.kubeconfig)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of their shell."""
        return self.person.environment | {"KUBECONFIG": str(self.kubeconfig)}

    def run(self, *command: str, stdin: str | None = None) -> Result:
        """Run a command inside the LCluster."""
        return run(*command, env=self.environment, stdin=stdin)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> Result:
        """Run kubectl inside the LCluster."""
        return self.run("kubectl", *arguments, stdin=stdin)

    @contextmanager
    def reading(self, *arguments: str) -> Iterator[Iterator[str]]:
        """Read the lines of a kubectl that goes on until nobody reads them any more.

        They end after two minutes: a test waited ten for a line that never came.
        """
        command = ("kubectl", *arguments)
        env = environment(self.environment)
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            deadline = threading.Timer(_LONGEST_READING, process.kill)
            deadline.start()
            try:
                yield iter(process.stdout)
            finally:
                deadline.cancel()
                process.kill()


class LClusters:
    """The LClusters of a cluster with a gateway."""

    def __init__(self, cluster: GatewayCluster, people: People) -> None:
        self.cluster = cluster
        self._people = people

    def make(self, name: str, *users: str, sudoers: tuple[str, ...] = ()) -> None:
        """Create an LCluster, and wait until it is ready."""
        spec = {
            "users": [{"name": each} for each in users],
            "sudoers": [{"name": each} for each in sudoers],
            "managers": [{"name": "manager"}],
        }
        body = {
            "apiVersion": f"{GROUP}/v1beta1",
            "kind": "LCluster",
            "metadata": {"name": name},
            "spec": spec,
        }
        self.cluster.admin.create(LCLUSTERS, body)
        eventually(lambda: self.is_ready(name), what=f"LCluster {name} is not ready")

    def is_ready(self, name: str) -> bool:
        """Return whether the LCluster is Ready by its status."""
        found = self.cluster.admin.get(f"{LCLUSTERS}/{name}")
        conditions: list[Object] = found.get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def resident(self, name: str, user: str, *, by_path: bool = False) -> Resident:
        """Return somebody who is let in to the LCluster."""
        resident = self.person_without_access(name, user, by_path=by_path)
        eventually(lambda: _admitted(resident), what=f"{user} is not let in to {name}")
        return resident

    def make_administered(self, name: str) -> Api:
        """Create an LCluster, and return a client of its sudoer with every right in it."""
        self.make(name, "alice", sudoers=("alice",))
        return self.administrator(name)

    def administrator(self, name: str, user: str = "alice") -> Api:
        """Return a client with every right in the LCluster, of a sudoer who is let in to it."""
        return self.resident(name, user).api.acting(user, "system:masters")

    def person_without_access(self, name: str, user: str, *, by_path: bool = False) -> Resident:
        """Return somebody with a kubeconfig for the LCluster, who may not be let in."""
        return self.cluster.behind(name, self._people.person(user), by_path=by_path)


def _admitted(resident: Resident) -> bool:
    result = resident.kubectl("get", "namespaces")
    return result.code == 0


def make_certificates(folder: Path) -> None:
    """Make a CA, and a certificate for the gateway's host and all names below it."""
    folder.mkdir()
    authority, name = ec.generate_private_key(ec.SECP256R1()), _name("gateway tests")
    basic = x509.BasicConstraints(ca=True, path_length=None)
    root = _builder(name, name, authority).add_extension(basic, critical=True)
    root_certificate = root.sign(authority, hashes.SHA256())
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives = x509.SubjectAlternativeName(
        [
            x509.DNSName(HOST),
            x509.DNSName(f"*.{HOST}"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
    )
    leaf = _builder(_name(HOST), name, key).add_extension(alternatives, critical=False)
    leaf_certificate = leaf.sign(authority, hashes.SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "ca.crt").write_bytes(root_certificate.public_bytes(Encoding.PEM))
    (folder / "tls.crt").write_bytes(leaf_certificate.public_bytes(Encoding.PEM))
    (folder / "tls.key").write_bytes(pem)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
    )


def publish(api: Api, namespace: str, service: str, name: str, port: int) -> None:
    """Forward a port of a Service to a port of this machine."""
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    labels = {"kubernetes.io/service-name": service}
    body = {
        "metadata": {"name": service, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [machine_address()], "conditions": {"ready": True}}],
        "ports": [{"name": name, "port": port, "protocol": "TCP"}],
    }
    api.create(slices, body)
    if not is_since("1.33"):
        # Before 1.33 the API server itself uses Endpoints.
        _create_endpoints(api, namespace, service, {"name": name, "port": port})


def publish_pod(admin: Api, namespace: str, service: str, name: str, port: int) -> None:
    """Forward a port of a Service to a port of this machine, as if a pod answered there.

    The API server's proxy connects only to addresses of pods, which only nodes write.
    """
    address, pods = machine_address(), ns_path(namespace, "pods")
    spec = {"containers": [{"name": "main", "image": "none"}]}
    admin.create(pods, {"metadata": {"name": service}, "spec": spec})
    node = admin.acting("system:node:here", "system:masters")
    where = {"podIP": address, "podIPs": [{"ip": address}]}
    node.patch(f"{pods}/{service}/status", {"status": where})
    target = {"kind": "Pod", "namespace": namespace, "name": service}
    served = {"name": name, "port": port}
    _create_endpoints(admin, namespace, service, served, targetRef=target)


def publish_hook(admin: Api, api: Api, tenant: str, namespace: str, port: int) -> None:
    """Make Service `hook` in a tenant's namespace, at whose port 443 this machine answers."""
    spec = {"ports": [{"name": "https", "port": 443, "targetPort": port}]}
    api.create(ns_path(namespace, "services"), {"metadata": {"name": "hook"}, "spec": spec})
    publish_pod(admin, f"{tenant}-{namespace}", "hook", "https", port)


def _create_endpoints(api: Api, namespace: str, service: str, port: Object, **more: Object) -> None:
    subset = {"addresses": [{"ip": machine_address(), **more}], "ports": [port]}
    body = {"metadata": {"name": service}, "subsets": [subset]}
    api.create(ns_path(namespace, "endpoints"), body)


def machine_address() -> str:
    """Return an address of this machine that Kubernetes takes for an endpoint: not of loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return str(probe.getsockname()[0])


def gone(api: Api, path: str) -> bool:
    """Return whether the object does not exist."""
    with suppress(ApiError):
        api.get(path)
        return False
    return True
