"""Kubeconfigs of users and of ServiceAccounts, made as `hack/new-user.sh` and its neighbour do.

In this process: the scripts start nine others for each user, a second of a processor, and a run has
hundreds of users. `test_cluster_tool.py` and `make demo` are about the scripts.
"""

import json
import tempfile
from pathlib import Path

import yaml
from controlplane import user

from tests.e2e.support.api import Api, Object, ns_path
from tests.e2e.support.waiting import eventually

_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_DAY = 24 * 3600


def with_certificate(admin: Api, name: str, *groups: str) -> Path:
    """Return the kubeconfig of a user with a client certificate."""
    folder = _folder(admin, "users")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new.") as scratch:
        work = Path(scratch)
        user.request(work, name, *groups)
        (work / "view.json").write_text(json.dumps(_view(admin)))
        made = admin.create(_REQUESTS, json.loads((work / "request.json").read_text()))
        (work / "certificate").write_text(_signed(admin, made))
        user.kubeconfig(work)
        file = folder / f"{user.stem(name, *groups)}.kubeconfig"
        (work / "kubeconfig").rename(file)
    return file


def with_token(admin: Api, namespace: str, account: str) -> Path:
    """Return the kubeconfig of a ServiceAccount with a new token."""
    spec = {"kind": "TokenRequest", "spec": {"expirationSeconds": _DAY}}
    path = f"{ns_path(namespace, 'serviceaccounts', account)}/token"
    token = admin.create(path, {"apiVersion": "authentication.k8s.io/v1", **spec})["status"][
        "token"
    ]
    (cluster,) = _view(admin)["clusters"]
    context = {"cluster": cluster["name"], "user": account, "namespace": namespace}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": account, "user": {"token": token}}],
        "contexts": [{"name": account, "context": context}],
        "current-context": account,
    }
    folder = _folder(admin, "service-accounts")
    file, draft = folder / f"{namespace}.{account}.kubeconfig", folder / f".{account}.new"
    draft.write_text(json.dumps(document))
    draft.chmod(0o600)
    # Processes read it again when they like.
    draft.rename(file)
    return file


def _signed(admin: Api, request: Object) -> str:
    """Approve a request, and return the certificate."""
    path = f"{_REQUESTS}/{request['metadata']['name']}"
    approved = {"type": "Approved", "status": "True", "reason": "Tests", "message": "by a test"}
    change = {"status": {"conditions": [approved]}}
    admin.patch(f"{path}/approval", change)

    def certificate() -> str:
        found: str = admin.get(path).get("status", {}).get("certificate", "")
        return found

    return eventually(certificate, what=f"no certificate came for {path}")


def _view(admin: Api) -> Object:
    found: Object = yaml.safe_load(admin.kubeconfig.read_text())
    return found


def _folder(admin: Api, name: str) -> Path:
    folder = admin.kubeconfig.parent / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
