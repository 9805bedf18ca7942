"""What a move says is done here, on the real cluster, by the person who does it."""

import base64
import math
import time
from datetime import UTC, datetime
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.lclusters_model.moves import (
    AnyMove,
    Certify,
    Crash,
    CreateLCluster,
    DeleteLCluster,
    Drop,
    Issue,
    Lapse,
    Make,
    Relist,
    Rest,
    Revoke,
    Suspend,
)
from tests.e2e.lclusters_model.stage import LClusterStage, persistently
from tests.e2e.rights_model.books import LONG
from tests.e2e.support.api import Api, Object, ns_path, unless
from tests.e2e.support.gateway import LCLUSTERS
from tests.e2e.support.waiting import eventually

_CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def do(stage: LClusterStage, move: AnyMove, now: float, next_end: float, *, awaited: bool) -> bool:
    """Do it at a moment; whether it was done, and not refused. ``awaited``: whether it should."""
    match move:
        case Crash():
            stage.kill(move.process)
        case Rest():
            stage.start()
        case Lapse():
            eventually(lambda: time.time() >= next_end, LONG, tick=0.05)
        case Revoke() if not stage.has(move.label):
            return False
        case _ if not stage.knows(move.actor):
            return False  # nobody ever had that login
        case _:
            return persistently(lambda: _ask(stage, move, now), awaited=awaited)
    return True


def _ask(stage: LClusterStage, move: AnyMove, now: float) -> None:
    path = f"{LCLUSTERS}/{stage.real(move.lcluster)}"
    match move:
        case Make() | Drop() | Issue() | Certify():
            api = stage.inside(move.lcluster, move.actor, sudo=move.sudo, other=move.other)
            _indoors(stage, api, move)
        case CreateLCluster():
            body = stage.lcluster(move.lcluster, _spec(move, now))
            stage.upstream(move.actor).create(LCLUSTERS, body)
        case Relist():
            stage.upstream(move.actor).patch(path, {"spec": _spec(move, now)})
        case Suspend():
            stage.upstream(move.actor).patch(path, {"spec": {"suspend": move.how}})
        case Revoke():
            api = stage.upstream(move.actor)
            revoked = stage.admin.get(path)["spec"].get("revokedCredentials", [])
            more = sorted({*revoked, stage.credential_id(move.label)})
            api.patch(path, {"spec": {"revokedCredentials": more}})
        case DeleteLCluster():
            stage.upstream(move.actor).delete(path)


def _indoors(stage: LClusterStage, api: Api, move: Make | Drop | Issue | Certify) -> None:
    match move:
        case Make():
            *first, last = [_named(move, *each) for each in move.thing.objects()]
            for path, body in first:  # there already if this is asked again
                unless("AlreadyExists", api.create, path, body)
            api.create(*last)
        case Drop():
            *before, end = [f"{path}/{move.thing.name}" for path, _ in move.thing.objects()]
            for path in before:
                unless("NotFound", api.delete, path)
            api.delete(end)
        case Issue():
            path = ns_path(move.namespace, "serviceaccounts", f"{move.name}/token")
            token = api.create(path, {"spec": {}})["status"]["token"]
            stage.keep(move.label, {"token": token})
        case Certify():
            stage.keep(move.label, _certificate(api, move.user, move.group))


def _named(move: Make, path: str, body: Object) -> tuple[str, Object]:
    return path, {**body, "metadata": {**body.get("metadata", {}), "name": move.thing.name}}


def _certificate(api: Api, user: str, group: str) -> dict[str, str]:
    """Ask for a certificate, approve it and wait until it is signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [(NameOID.COMMON_NAME, user), (NameOID.ORGANIZATION_NAME, group)]
    subject = x509.Name([x509.NameAttribute(*each) for each in parts])
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = asked.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    spec: Object = {"signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    spec |= {"request": base64.b64encode(pem).decode()}
    name = f"csr-{uuid4().hex[:8]}"
    made = api.create(_CSRS, {"metadata": {"name": name}, "spec": spec})
    approval = {"type": "Approved", "status": "True", "reason": "play", "message": "play"}
    api.replace(f"{_CSRS}/{name}/approval", made | {"status": {"conditions": [approval]}})

    def signed() -> str:
        found: Object = api.get(f"{_CSRS}/{name}")
        certificate: str = found.get("status", {}).get("certificate", "")
        return certificate

    certificate = eventually(signed, LONG, "nobody signed")
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private = key.private_bytes(encoding, form, serialization.NoEncryption())
    return {
        "client-certificate-data": certificate,
        "client-key-data": base64.b64encode(private).decode(),
    }


def _spec(move: CreateLCluster | Relist, now: float) -> Object:
    lists = {"users": move.users, "managers": move.managers, "sudoers": move.sudoers}
    return {name: [_entry(each, now) for each in names] for name, names in lists.items()}


def _entry(line: tuple[str, int], now: float) -> Object:
    name, seconds = line
    if not seconds:
        return {"name": name}
    ends = datetime.fromtimestamp(math.ceil(now) + seconds, UTC)
    return {"name": name, "expiresAt": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}
