"""Client certificates that people ask for, and approve, inside an LCluster."""

import base64
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.support.api import JSON_PATCH, MERGE, NAMESPACES, refusal
from tests.e2e.support.cluster import RELEASE_NAMESPACE
from tests.e2e.support.gateway import (
    GATEWAY_ACCOUNT,
    HOST,
    LCLUSTERS,
    GatewayCluster,
    LClusters,
    Resident,
)
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

SIGNER = "kubernetes.io/kube-apiserver-client"
SUDO = ("--as=alice", "--as-group=system:masters")
CERTIFICATE = "jsonpath={.status.certificate}"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
STRATEGIC = "application/strategic-merge-patch+json"
CONDITIONS = "jsonpath={.status.conditions[*].type}"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Make two LClusters with the same sudoer."""
    made = LClusters(cluster, people)
    for name in ("notary", "neighbour"):
        made.make(name, "alice", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Resident:
    """Return the sudoer in notary."""
    return lclusters.resident("notary", "alice")


@dataclass(frozen=True)
class Applicant:
    """Somebody who asks for a certificate inside an LCluster, with a key of their own."""

    resident: Resident
    user: str
    groups: tuple[str, ...] = ()
    signer: str = SIGNER
    usages: tuple[str, ...] = ("client auth",)

    def asks(self) -> "Asked":
        """Ask for a certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.COMMON_NAME, self.user)]
        parts += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in self.groups]
        asked = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
        pem = asked.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        name = f"csr-{uuid4().hex[:8]}"
        body = {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "request": base64.b64encode(pem).decode(),
                "signerName": self.signer,
                "usages": list(self.usages),
                "expirationSeconds": 3600,
            },
        }
        self.resident.kubectl(*SUDO, "create", "-f", "-", stdin=json.dumps(body)).ok()
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return Asked(
            self.resident,
            name,
            key.private_bytes(encoding, form, serialization.NoEncryption()),
        )


@dataclass(frozen=True)
class Asked:
    """A request for a certificate inside an LCluster."""

    resident: Resident
    name: str
    key: bytes

    def approve(self) -> None:
        """Approve it, by kubectl."""
        self.resident.kubectl(*SUDO, "certificate", "approve", self.name).ok()

    def has(self, condition: str) -> bool:
        """Return whether it has a condition."""
        return condition in self.shown(CONDITIONS)

    def shown(self, what: str) -> str:
        """Return a part of it."""
        return self.resident.kubectl(*SUDO, "get", "csr", self.name, "-o", what).ok()

    def login(self, folder: Path) -> Resident:
        """Return the holder of the certificate, as soon as it is signed."""
        eventually(lambda: self.shown(CERTIFICATE), what="nobody signed")
        document = yaml.safe_load(self.resident.kubeconfig.read_text())
        document["users"][0]["user"] = {
            "client-certificate-data": self.shown(CERTIFICATE),
            "client-key-data": base64.b64encode(self.key).decode(),
        }
        file = folder / f"{self.name}.kubeconfig"
        file.write_text(yaml.safe_dump(document))
        return Resident(self.resident.person, file)


def certified(resident: Resident, folder: Path, user: str, *groups: str) -> Resident:
    asked = Applicant(resident, user, groups).asks()
    asked.approve()
    return asked.login(folder)


def moved(resident: Resident, name: str, server: dict[str, str]) -> Resident:
    """Return somebody with the same login at another server."""
    document = yaml.safe_load(resident.kubeconfig.read_text())
    document["clusters"][0]["cluster"] = server
    file = resident.kubeconfig.with_suffix(f".{name}")
    file.write_text(yaml.safe_dump(document))
    return Resident(resident.person, file)


def server_of(resident: Resident) -> dict[str, str]:
    document = yaml.safe_load(resident.kubeconfig.read_text())
    server: dict[str, str] = document["clusters"][0]["cluster"]
    return server


def test_an_approved_csr_gives_a_login_with_the_rights_of_the_lcluster(
    alice: Resident, tmp_path: Path
) -> None:
    asked = Applicant(alice, "robot", ("devs",)).asks()
    shown = alice.kubectl(*SUDO, "get", "csr", asked.name, "--no-headers").ok()
    assert shown.split()[3] == "alice", "and not who asks upstream"
    assert asked.shown(CERTIFICATE) == ""
    asked.approve()
    robot = asked.login(tmp_path)
    who = json.loads(robot.kubectl("auth", "whoami", "-o", "json").ok())["status"]["userInfo"]
    assert asked.shown("jsonpath={.spec.username}") == "alice", "also after the approval"
    assert (who["username"], who["groups"]) == ("robot", ["devs", "system:authenticated"])
    assert 'User "robot" cannot list' in robot.kubectl("get", "pods").err
    binding = ("create", "rolebinding", "devs", "--clusterrole=view", "--group=devs")
    alice.kubectl(*SUDO, *binding).ok()
    eventually(lambda: robot.kubectl("get", "pods").code == 0)
    assert 'User "robot" cannot' in robot.kubectl("create", "configmap", "c").err


def test_a_certificate_of_an_lcluster_is_refused_everywhere_else(
    alice: Resident, cluster: GatewayCluster, tmp_path: Path
) -> None:
    robot = certified(alice, tmp_path, "alice")
    there = moved(robot, "neighbour", server_of(robot) | {"tls-server-name": f"neighbour.{HOST}"})
    refused = there.kubectl("get", "namespaces")
    assert "not listed" in refused.err, refused
    upstream = yaml.safe_load(Path(cluster.environment["KUBECONFIG"]).read_text())["clusters"][0][
        "cluster"
    ]
    platform = moved(robot, "platform", upstream)
    assert "logged in" in platform.kubectl("get", "namespaces").err


def test_a_csr_for_system_masters_or_server_auth_fails_unsigned(
    alice: Resident,
) -> None:
    for applicant in (
        Applicant(alice, "eve", ("system:masters",)),
        Applicant(alice, "eve", usages=("client auth", "server auth")),
    ):
        asked = applicant.asks()
        asked.approve()
        eventually(partial(asked.has, "Failed"), what="not refused")
        assert asked.shown(CERTIFICATE) == ""


def test_a_csr_denied_or_for_another_signer_is_not_signed(alice: Resident, tmp_path: Path) -> None:
    denied = Applicant(alice, "eve").asks()
    alice.kubectl(*SUDO, "certificate", "deny", denied.name).ok()
    other = Applicant(alice, "eve", signer="example.com/mine").asks()
    other.approve()
    # Signed after them, so they have been looked at.
    certified(alice, tmp_path, "later")
    assert denied.shown(CERTIFICATE) == other.shown(CERTIFICATE) == ""


def test_a_revoked_certificate_is_refused_and_other_certificates_stay_valid(
    alice: Resident, cluster: GatewayCluster, tmp_path: Path
) -> None:
    lost, kept = (certified(alice, tmp_path, "twin") for _ in range(2))
    who = json.loads(lost.kubectl("auth", "whoami", "-o", "json").ok())["status"]["userInfo"]
    (credential,) = who["extra"]["authentication.kubernetes.io/credential-id"]
    assert lost.api.get("/version")
    path = f"{LCLUSTERS}/notary"
    cluster.admin.patch(path, {"spec": {"revokedCredentials": [credential]}})
    # Also on a connection that is open already.
    eventually(lambda: "is revoked" in refusal(lost.api.get, "/version", status=401))
    assert kept.kubectl("auth", "whoami").ok()
    cluster.admin.patch(path, {"spec": {"revokedCredentials": []}})
    eventually(lambda: lost.kubectl("auth", "whoami").code == 0)


def test_a_recreated_lcluster_refuses_certificates_of_its_predecessor(
    lclusters: LClusters, cluster: GatewayCluster, tmp_path: Path
) -> None:
    lclusters.make("anew", "alice", sudoers=("alice",))
    robot = certified(lclusters.resident("anew", "alice"), tmp_path, "robot")
    assert robot.kubectl("auth", "whoami").ok()
    cluster.admin.delete(f"{LCLUSTERS}/anew")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/anew") is None, what="not deleted")
    lclusters.make("anew", "alice", sudoers=("alice",))
    assert lclusters.resident("anew", "alice").api.items(NAMESPACES)
    eventually(lambda: "not listed" in robot.kubectl("get", "namespaces").err)


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC, JSON_PATCH, "an update"])
def test_an_approval_with_another_uid_is_refused_upstream(
    kind: str, alice: Resident, cluster: GatewayCluster
) -> None:
    """Show that the uid, by which the gateway pins an approval, is a condition upstream."""
    asked = Applicant(alice, "eve").asks()
    path = f"{CSRS}/notary-{asked.name}"
    conditions = [{"type": "Approved", "status": "True", "reason": "a", "message": "b"}]
    another = str(uuid4())
    if kind == JSON_PATCH:
        patch: object = [
            {"op": "add", "path": "/status/conditions", "value": conditions},
            {"op": "add", "path": "/metadata/uid", "value": another},
        ]
    else:
        patch = {"metadata": {"uid": another}, "status": {"conditions": conditions}}
    if kind == "an update":
        there = cluster.admin.get(path)
        there["metadata"] |= {"uid": another, "resourceVersion": ""}
        there["status"] = {"conditions": conditions}
        refusal(cluster.admin.replace, f"{path}/approval", there, status=409)
    else:
        refusal(cluster.admin.patch, f"{path}/approval", patch, kind, status=422)
    assert not asked.has("Approved")


def test_a_certificate_signed_by_one_gateway_is_accepted_by_all_gateways(
    alice: Resident, cluster: GatewayCluster, tmp_path: Path
) -> None:
    robot = certified(alice, tmp_path, "robot")
    cluster.gateway.stop()
    cluster.gateway.start()
    assert "robot" in robot.kubectl("auth", "whoami").ok()


@pytest.mark.thorough
def test_a_deleted_root_certificate_is_recreated_and_voids_old_certificates(
    alice: Resident, cluster: GatewayCluster, tmp_path: Path
) -> None:
    robot = certified(alice, tmp_path, "robot")
    name = f"{GATEWAY_ACCOUNT}-signer"
    cluster.run("kubectl", "-n", RELEASE_NAMESPACE, "delete", "secret", name).ok()
    cluster.helm("upgrade")
    assert robot.kubectl("auth", "whoami").ok()
    cluster.gateway.stop()
    cluster.gateway.start()
    # The listener breaks the handshake off: what kubectl reads of that depends on who is faster.
    assert robot.kubectl("auth", "whoami").code == 1
    again = certified(alice, tmp_path, "robot")
    assert "robot" in again.kubectl("auth", "whoami").ok()
