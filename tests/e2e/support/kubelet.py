"""A node without containers, whose kubelet (hack/controlplane/kubelet) serves streams of pods."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane import golang
from controlplane.versions import pinned

from tests.e2e.support.api import Api, ns_path

NODE = "stand-in"
_SCHEDULER = "system:kube-scheduler"


@contextmanager
def node(admin: Api, folder: Path) -> Iterator[None]:
    """Add a node to a cluster, and serve as its kubelet."""
    program = folder / "kubelet"
    versions = pinned()
    command = [str(golang.find_go(versions)), "build", "-trimpath", "-o", str(program), "./kubelet"]
    environment = os.environ | golang.BUILD_SETTINGS
    subprocess.run(command, cwd=versions.folder, env=environment, check=True)
    with subprocess.Popen([program], cwd=folder, stdout=subprocess.PIPE, text=True) as kubelet:
        try:
            assert kubelet.stdout is not None
            _register(admin, int(kubelet.stdout.readline()))
            yield
            admin.remove(f"/api/v1/nodes/{NODE}")
        finally:
            kubelet.kill()


def _register(admin: Api, port: int) -> None:
    admin.create("/api/v1/nodes", {"metadata": {"name": NODE}})
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    status = {
        "capacity": room,
        "allocatable": room,
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    admin.patch(f"/api/v1/nodes/{NODE}/status", {"status": status})


def run_pod(admin: Api, namespace: str, name: str) -> None:
    """Run a pod: write its status, as the scheduler and a kubelet do."""
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}}
    scheduler = admin.acting(_SCHEDULER)
    scheduler.create(ns_path(namespace, "pods", f"{name}/binding"), binding)
    admin.patch(ns_path(namespace, "pods", f"{name}/status"), {"status": {"phase": "Running"}})
