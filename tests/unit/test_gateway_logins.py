"""Who a client certificate logs in, and for how long."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from lnamespace.gateway.authentication.logins import Authenticator, Login
from lnamespace.gateway.certificates.authorities import TenantIdentity, make_root
from lnamespace.gateway.certificates.signing_requests import decode_request, signed_status
from lnamespace.gateway.certificates.tls import ClientCertificates
from lnamespace.http.messages import HttpRequest
from lnamespace.translate.objects.confinement.certificates import OWN_CLIENT_SIGNER
from lnamespace.translate.protocol.status import Refused
from msgspec import json

ACME = TenantIdentity("acme", "uid-1")
GET = HttpRequest("GET", "/api", ())
NOW = datetime.now(UTC)
ROOT = make_root(NOW - timedelta(days=2))


def signed_at(now: datetime) -> bytes:
    """Return a certificate of acme for ann in DER, which is good for an hour."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    asked = x509.CertificateSigningRequestBuilder().subject_name(name)
    pem = asked.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    spec = {
        "request": pem.public_bytes(serialization.Encoding.PEM),
        "signerName": OWN_CLIENT_SIGNER,
        "usages": ["client auth"],
        "expirationSeconds": 3600,
    }
    request = decode_request(json.encode({"spec": spec}))
    chain = signed_status(request, ROOT.tenant_authority(ACME), now)["certificate"]
    issued = x509.load_pem_x509_certificates(chain)[0]
    return issued.public_bytes(serialization.Encoding.DER)


async def login_with(certificate: bytes) -> Login:
    authenticator = Authenticator(cast(Any, None))
    authenticator.use(ClientCertificates("", ROOT))
    return await authenticator.login(GET, certificate)


async def test_a_client_certificate_of_an_lcluster_is_a_login_to_the_lcluster() -> None:
    login = await login_with(signed_at(NOW))
    assert (login.user, login.tenant, login.lcluster_uid) == ("ann", "acme", "uid-1")


async def test_an_expired_certificate_is_refused_on_an_open_connection() -> None:
    with pytest.raises(Refused) as refused:
        await login_with(signed_at(NOW - timedelta(days=1)))
    assert refused.value.status.code == 401
    assert "the client certificate ended at " in refused.value.status.message
