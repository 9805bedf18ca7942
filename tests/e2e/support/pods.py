"""Programs as they run in pods, on a machine that has no kubelet.

What a container has is computed from what is on the API server, as the kubelet does it: variables,
the files of its ServiceAccount, names of hosts. A proxy leads to Services, and reads nothing.
"""

import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from tests.e2e.support.api import Api, Object, ns_path
from tests.e2e.support.commands import Result, run

MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount"
_MOUNT = (
    f'mount -t tmpfs none /var/run && mkdir -p {MOUNTED} && cp "$1"/* {MOUNTED} && '
    'shift && exec "$@"'
)


def in_container(files: Path) -> tuple[str, ...]:
    """Return what to write before a command that is to have these files of a ServiceAccount."""
    return ("unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT, "-", str(files))


@dataclass(frozen=True)
class Program:
    """The program that runs in the first container of a pod."""

    admin: Api
    pod: Object
    folder: Path
    proxy: str

    @property
    def namespace(self) -> str:
        """Return the pod's namespace in upstream spelling."""
        return str(self.pod["metadata"]["namespace"])

    def run(self, *command: str) -> Result:
        """Run a command with what the container has, and nothing of this machine's."""
        files = self.folder / str(self.pod["metadata"]["uid"])
        files.mkdir(exist_ok=True)
        for name, text in self.files().items():
            (files / name).write_text(text)
        variables = [f"{key}={value}" for key, value in self.variables().items()]
        variables += [f"HTTPS_PROXY={self.proxy}", f"PATH={os.environ['PATH']}"]
        return run("env", "-i", *variables, *in_container(files), *command, cwd=self.folder)

    def python(self, script: str) -> Result:
        """Run a script with the Python client."""
        return self.run(sys.executable, "-c", script)

    def variables(self) -> dict[str, str]:
        """Return what ``makeEnvironmentVariables`` does in the kubelet's kubelet_pods.go."""
        made = self._service_variables()
        known = dict(made)
        for each in self.pod["spec"]["containers"][0].get("env", ()):
            known[each["name"]] = made[each["name"]] = re.sub(
                r"\$\((\w+)\)", lambda found: known.get(found[1], found[0]), each["value"]
            )
        return made

    def _service_variables(self) -> dict[str, str]:
        """Return what ``getServiceEnvVarMap`` does, of the Service ``kubernetes`` alone."""
        wanted = [ns_path("default", "services", "kubernetes")]
        if self.pod["spec"].get("enableServiceLinks", True):
            wanted.insert(0, ns_path(self.namespace, "services", "kubernetes"))
        spec = next(found for path in wanted if (found := self.admin.find(path)))["spec"]
        port = str(spec["ports"][0]["port"])
        return {"KUBERNETES_SERVICE_HOST": spec["clusterIP"], "KUBERNETES_SERVICE_PORT": port}

    def files(self) -> dict[str, str]:
        """Return the files of the volume that Kubernetes adds to each pod, or of the pod's own."""
        mounts = self.pod["spec"]["containers"][0]["volumeMounts"]
        volume = next(each["name"] for each in mounts if each["mountPath"] == MOUNTED)
        mounted = next(each for each in self.pod["spec"]["volumes"] if each["name"] == volume)
        made: dict[str, str] = {}
        for source in mounted["projected"]["sources"]:
            if "serviceAccountToken" in source:
                made[source["serviceAccountToken"]["path"]] = self._token()
            elif "configMap" in source:
                path = ns_path(self.namespace, "configmaps", source["configMap"]["name"])
                data = self.admin.get(path)["data"]
                named = source["configMap"].get("items")
                made |= {each["path"]: data[each["key"]] for each in named} if named else data
            else:
                made |= {each["path"]: self.namespace for each in source["downwardAPI"]["items"]}
        return made

    def _token(self) -> str:
        meta, account = self.pod["metadata"], self.pod["spec"]["serviceAccountName"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        path = ns_path(self.namespace, "serviceaccounts", f"{account}/token")
        answer = self.admin.create(path, {"spec": {"boundObjectRef": bound}})
        return str(answer["status"]["token"])


@contextmanager
def programs(admin: Api, folder: Path, services: Mapping[str, int]) -> Iterator["Programs"]:
    """Run programs of pods, which reach port 443 of addresses at ports of this machine."""
    with ThreadingTCPServer(("127.0.0.1", 0), _Tunnel) as server, ExitStack() as stack:
        server.daemon_threads = True
        made = Programs(admin, folder, f"http://127.0.0.1:{server.server_address[1]}", {})
        made.services.update(services)
        _Tunnel.services = made.services
        Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        yield made


@dataclass(frozen=True)
class Programs:
    """The programs of all pods of a cluster, and what they reach at which port of this machine."""

    admin: Api
    folder: Path
    proxy: str
    services: dict[str, int]

    def of(self, namespace: str, name: str) -> Program:
        """Return the program of a pod; its names of hosts are known from now on."""
        pod = self.admin.get(ns_path(namespace, "pods", name))
        for alias in pod["spec"].get("hostAliases", ()):
            if port := self.services.get(alias["ip"]):
                self.services.update(dict.fromkeys(alias["hostnames"], port))
        return Program(self.admin, pod, self.folder, self.proxy)


class _Tunnel(StreamRequestHandler):
    """A connection that carries bytes both ways, as kube-proxy's rules do."""

    services: Mapping[str, int]

    def handle(self) -> None:
        method, target, _ = self.rfile.readline().decode().split(" ", 2)
        while self.rfile.readline().strip():
            pass
        host, _, port = target.rpartition(":")
        if (method, port) != ("CONNECT", "443") or host not in self.services:
            self.wfile.write(b"HTTP/1.1 502 nobody answers there\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.services[host])) as far:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = Thread(target=_carry, args=(far, self.request), daemon=True)
            back.start()
            _carry(self.request, far)
            back.join()


def _carry(near: socket.socket, far: socket.socket) -> None:
    with suppress(OSError):
        while data := near.recv(65536):
            far.sendall(data)
        far.shutdown(socket.SHUT_WR)


def printed(result: Result) -> Object:
    """Return the JSON that a program wrote."""
    answer: Object = json.loads(result.ok())
    return answer
