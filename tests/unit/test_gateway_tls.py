"""Whose client certificates the gateway's listener takes."""

import base64
import json
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from lnamespace.gateway.certificates.authorities import TenantIdentity, make_root
from lnamespace.gateway.certificates.serving_pairs import IssuedPair
from lnamespace.gateway.certificates.signing_requests import decode_request, signed_status
from lnamespace.gateway.certificates.tls import ClientCertificates, ServerContext
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import Metadata
from lnamespace.runtime.certificates import certificate_pem, key_pem
from lnamespace.translate.objects.confinement.certificates import OWN_CLIENT_SIGNER

NOW = datetime.now(UTC)
ROOT = make_root(NOW)
LIFE = timedelta(days=90)
ACME = LCluster(Metadata("acme", "uid-1"))
AUTHORITY = ROOT.tenant_authority(TenantIdentity("acme", "uid-1"))


class Clock:
    now = NOW - LIFE * 0.8

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def context(clock: Clock) -> ServerContext:
    served = ServerContext(IssuedPair(ROOT, ("localhost",), LIFE, clock))
    served.use(ClientCertificates("", ROOT))
    return served


def client(folder: Path, *, chain: bool = False) -> ssl.SSLContext:
    """Return a client with a certificate of LCluster acme, with the CA's own behind it or alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = asked.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": OWN_CLIENT_SIGNER,
        "usages": ["client auth"],
    }
    status = signed_status(decode_request(json.dumps({"spec": spec})), AUTHORITY, NOW)
    issued = status["certificate"]
    assert len(x509.load_pem_x509_certificates(issued)) == 1, "as the signer of Kubernetes"
    behind = certificate_pem(AUTHORITY.certificate) if chain else b""
    file = folder / "client.pem"
    file.write_bytes(issued + behind + key_pem(key))
    trusting = ssl.create_default_context(cadata=ROOT.pem)
    trusting.load_cert_chain(file)
    return trusting


def shown(context: ServerContext, client: ssl.SSLContext) -> bytes:
    """Return the client certificate that the listener has after a handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.entry.wrap_bio(to_server, to_client, server_side=True)
    caller = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    for _ in range(4):
        for end in (caller, server):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return server.getpeercert(binary_form=True) or b""


def test_a_client_certificate_without_its_chain_is_accepted(
    context: ServerContext, tmp_path: Path
) -> None:
    """Kubernetes' signers issue one certificate, and its suite takes no other."""
    person = client(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(context, person)
    context.lcluster_changed(None, ACME)
    assert shown(context, person)


def test_a_client_certificate_with_its_chain_is_accepted(
    context: ServerContext, tmp_path: Path
) -> None:
    assert shown(context, client(tmp_path, chain=True))


def test_reloading_the_serving_certificate_drops_only_cas_of_deleted_lclusters(
    context: ServerContext, clock: Clock, tmp_path: Path
) -> None:
    person = client(tmp_path)
    context.lcluster_changed(None, ACME)
    clock.now = NOW
    context.reload()
    assert shown(context, person)
    context.lcluster_changed(ACME, None)
    context.use(ClientCertificates("", ROOT))
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(context, person)


def test_created_and_deleted_lclusters_leave_a_limited_number_of_cas(
    context: ServerContext,
) -> None:
    """Each left its CA in the context until the serving certificate was renewed, in 90 days."""
    context.lcluster_changed(None, ACME)
    most = 0
    for number in range(1100):
        other = LCluster(Metadata(f"a{number}", f"uid-a{number}"))
        context.lcluster_changed(None, other)
        context.lcluster_changed(other, None)
        most = max(most, len(context._current.get_ca_certs(binary_form=True)))  # noqa: SLF001
    assert most < 1010
    assert len(context._current.get_ca_certs(binary_form=True)) < 110  # noqa: SLF001
