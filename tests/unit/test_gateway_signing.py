"""What is signed for people inside an LCluster, by which CA, and whose that is."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from lnamespace.gateway.certificates import signing_requests
from lnamespace.gateway.certificates.authorities import (
    RootAuthority,
    TenantIdentity,
    make_root,
    read_root,
)
from lnamespace.gateway.certificates.signing_requests import (
    SigningRequest,
    decode_request,
    signed_status,
)
from lnamespace.runtime.certificates import key_pem
from lnamespace.translate.objects.confinement.certificates import OWN_CLIENT_SIGNER
from lnamespace.translate.protocol.status import Refused

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ROOT = make_root(NOW)
ACME = TenantIdentity("acme", "uid-1")


def asked_for(*attributes: tuple[x509.ObjectIdentifier, str]) -> str:
    parts = [x509.NameAttribute(oid, value) for oid, value in attributes]
    name = x509.Name(parts)
    request = x509.CertificateSigningRequestBuilder().subject_name(name)
    signed = request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


ANN = asked_for((NameOID.COMMON_NAME, "ann"), (NameOID.ORGANIZATION_NAME, "devs"))


def request(*conditions: str, certificate: str = "", **spec: Any) -> SigningRequest:
    body = {
        "spec": {
            "request": ANN,
            "signerName": OWN_CLIENT_SIGNER,
            "usages": ["client auth", "digital signature"],
        }
        | spec,
        "status": {
            "conditions": [{"type": each, "status": "True"} for each in conditions],
            "certificate": certificate,
        },
    }
    return decode_request(json.dumps(body))


def issued(root: RootAuthority = ROOT, of: TenantIdentity = ACME, **spec: Any) -> x509.Certificate:
    status = signed_status(request("Approved", **spec), root.tenant_authority(of), NOW)
    return x509.load_pem_x509_certificates(status["certificate"])[0]


@pytest.mark.parametrize(
    ("asked", "due"),
    [
        (request("Approved"), True),
        (request(), False),
        (request("Approved", "Denied"), False),
        (request("Approved", "Failed"), False),
        (request("Approved", certificate="x"), False),
        (request("Approved", signerName="kubernetes.io/kube-apiserver-client"), False),
        (request("Approved", signerName=OWN_CLIENT_SIGNER + "x"), False),
    ],
)
def test_only_an_approved_unsigned_request_for_our_signer_is_due(
    asked: SigningRequest, due: bool
) -> None:
    assert asked.is_due is due


def test_a_certificate_has_the_requested_subject_and_only_the_client_auth_usage() -> None:
    certificate = issued()
    assert certificate.subject.rfc4514_string() == "O=devs,CN=ann"
    extensions = certificate.extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usages = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH]


@pytest.mark.parametrize(
    ("seconds", "life"),
    [
        (None, timedelta(days=365)),
        (3600, timedelta(hours=1)),
        (2**31 - 1, timedelta(days=365)),
    ],
)
def test_a_certificate_is_valid_for_the_requested_duration_up_to_a_year(
    seconds: int | None, life: timedelta
) -> None:
    assert issued(expirationSeconds=seconds).not_valid_after_utc == NOW + life


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"usages": ["client auth", "server auth"]}, "only these are allowed"),
        ({"usages": ["digital signature"]}, '"client auth" is required'),
        ({"request": asked_for((NameOID.ORGANIZATION_NAME, "devs"))}, "no common name"),
        ({"request": base64.b64encode(b"nonsense").decode()}, "spec.request: "),
        (
            {
                "request": asked_for(
                    (NameOID.COMMON_NAME, "eve"), (NameOID.ORGANIZATION_NAME, "system:masters")
                )
            },
            "nobody gets a certificate for the group system:masters",
        ),
    ],
)
def test_an_unsignable_request_keeps_its_approval_and_gets_a_failed_condition(
    spec: dict[str, Any], words: str
) -> None:
    status = signed_status(request("Approved", **spec), ROOT.tenant_authority(ACME), NOW)
    approved, failed = status["conditions"]
    assert (approved["type"], failed["type"]) == ("Approved", "Failed")
    assert words in failed["message"]
    assert "certificate" not in status


@pytest.mark.parametrize("error", [TypeError, UnsupportedAlgorithm])
def test_an_unsupported_key_is_reported_in_the_failed_condition(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise error("a key of a kind that nobody has thought of")

    monkeypatch.setattr(signing_requests, "_issue", refuse)
    status = signed_status(request("Approved"), ROOT.tenant_authority(ACME), NOW)
    assert "a key of a kind" in status["conditions"][-1]["message"]


def test_the_issuer_of_a_certificate_is_identified_by_name_uid_and_key() -> None:
    assert ROOT.issuer_of(issued()) == ACME
    anew = TenantIdentity("acme", "uid-2")
    assert ROOT.issuer_of(issued(of=anew)) == anew
    assert ROOT.issuer_of(ROOT.certificate) is None


def test_a_certificate_naming_an_lcluster_ca_without_its_signature_is_refused() -> None:
    other_root = make_root(NOW)
    with pytest.raises(Refused) as refused:
        ROOT.issuer_of(issued(other_root))
    assert refused.value.status.code == 401


def test_every_replica_derives_the_same_ca_key_for_an_lcluster() -> None:
    again = read_root(ROOT.pem.encode(), key_pem(ROOT.key))
    mine, theirs = ROOT.tenant_authority(ACME).key, again.tenant_authority(ACME).key
    assert mine.private_numbers() == theirs.private_numbers()
    other = ROOT.tenant_authority(TenantIdentity("acme", "uid-2")).key
    assert mine.private_numbers() != other.private_numbers()
    assert ROOT.issuer_of(issued(again)) == ACME


def test_a_root_whose_key_does_not_match_its_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="not the certificate's"):
        read_root(ROOT.pem.encode(), key_pem(make_root(NOW).key))


def test_the_repr_of_an_authority_contains_no_private_key() -> None:
    assert "key" not in repr(ROOT) + repr(ROOT.tenant_authority(ACME))
