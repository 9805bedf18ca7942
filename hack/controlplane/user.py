"""The half of hack/new-user.sh that needs Python: the key, the request and the kubeconfig.

The shell script talks to the cluster; the two meet in a folder that the script makes and deletes.
Names go from the argument list into the certificate as they are, through no template.
"""

import base64
import hashlib
import json
import re
import sys
import warnings
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from .console import ClusterError, say
from .pki import write_private


def main() -> int:
    """Run `request FOLDER NAME [GROUP ...]`, or, once that is granted, `kubeconfig FOLDER`."""
    command, folder, *names = sys.argv[1:]
    try:
        if command == "request":
            request(Path(folder), *names)
        else:
            kubeconfig(Path(folder))
    except ClusterError as error:
        say(f"hack/new-user.sh: {error}")
        return 1
    return 0


def request(folder: Path, name: str, *groups: str) -> None:
    """Write the files `key`, `request.json` and `stem`, a name that suits files and objects."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject(name, *groups))
    signed = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private(folder / "key", pem)
    (folder / "request.json").write_text(json.dumps(signing_request(stem(name, *groups), signed)))
    (folder / "stem").write_text(stem(name, *groups))


def subject(name: str, *groups: str) -> x509.Name:
    """Return the certificate's subject: X.509 allows 64 characters, Kubernetes more."""
    values = [(NameOID.ORGANIZATION_NAME, group) for group in groups]
    values.append((NameOID.COMMON_NAME, name))
    for _, value in values:
        _check(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of what is meant here
        return x509.Name([x509.NameAttribute(oid, v, _validate=False) for oid, v in values])


def _check(value: str) -> None:
    if not value:
        raise ClusterError("a name is empty: give one that is not")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ClusterError(f"{value!r} is not valid UTF-8: give another name") from None


def stem(name: str, *groups: str) -> str:
    """Return a readable name that differs for different users: the hash has what the slug lost."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:40].strip("-") or "user"
    digest = hashlib.sha256(json.dumps([name, *groups]).encode()).hexdigest()
    return f"{slug}-{digest[:10]}"


def signing_request(name: str, signed: bytes) -> dict[str, object]:
    """Return the object that asks the cluster for a client certificate."""
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": f"{name}-"},
        "spec": {
            "request": base64.b64encode(signed).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }


def kubeconfig(folder: Path) -> None:
    """Write `kubeconfig`: the cluster of the current context, the user of the certificate."""
    view = json.loads((folder / "view.json").read_text())
    cluster = view["clusters"][0]
    name = (folder / "stem").read_text()
    user = {
        "client-certificate-data": (folder / "certificate").read_text(),
        "client-key-data": base64.b64encode((folder / "key").read_bytes()).decode(),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": cluster["name"], "user": name}}],
        "current-context": name,
    }
    write_private(folder / "kubeconfig", json.dumps(document, indent=2).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
