"""Sign the CertificateSigningRequests of people inside an LCluster; pure.

The rules are those of Kubernetes' signer ``kubernetes.io/kube-apiserver-client``
(https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/).
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lnamespace.gateway.certificates.authorities import TenantAuthority
from lnamespace.rbac.attributes import MASTERS
from lnamespace.runtime.certificates import (
    CLOCKS_DIFFER,
    certificate_builder,
    certificate_pem,
    issued_by,
    key_usage,
)
from lnamespace.translate.objects.confinement.certificates import OWN_CLIENT_SIGNER

_CLIENT_AUTH = "client auth"
_USAGES = frozenset({"digital signature", "key encipherment", _CLIENT_AUTH})
_LONGEST = timedelta(days=365)


class _RequestSpec(msgspec.Struct, frozen=True, rename="camel"):
    request: bytes
    signer_name: str
    usages: tuple[str, ...] = ()
    expiration_seconds: int | None = None


class _RequestStatus(msgspec.Struct, frozen=True):
    conditions: tuple[dict[str, Any], ...] = ()
    certificate: str = ""


class SigningRequest(msgspec.Struct, frozen=True):
    """A CertificateSigningRequest."""

    spec: _RequestSpec
    status: _RequestStatus = _RequestStatus()

    @property
    def is_due(self) -> bool:
        """Return whether it is approved, and waits for our signature."""
        types = {each.get("type") for each in self.status.conditions}
        ours = self.spec.signer_name == OWN_CLIENT_SIGNER
        waits = "Approved" in types and not types & {"Denied", "Failed"}
        return ours and waits and not self.status.certificate


decode_request = msgspec.json.Decoder(SigningRequest).decode


def signed_status(
    request: SigningRequest, authority: TenantAuthority, now: datetime
) -> dict[str, Any]:
    """Return the status of a request, with its certificate or the condition ``Failed``."""
    try:
        asked = x509.load_pem_x509_csr(request.spec.request)
        problem = _problem(request.spec, asked)
        issued = None if problem else _issue(asked, authority, now, _life(request.spec))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        # Also for an unsupported kind of key, of which the requester must be informed.
        problem, issued = f"spec.request: {error}", None
    if issued is None:
        failed = {
            "type": "Failed",
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": problem,
            "lastUpdateTime": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        }
        return {"conditions": [*request.status.conditions, failed]}
    return {"certificate": certificate_pem(issued)}


def _problem(spec: _RequestSpec, asked: x509.CertificateSigningRequest) -> str:
    usages = set(spec.usages)
    organizations = asked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    if not asked.is_signature_valid:
        return "spec.request: its signature is wrong"
    if _CLIENT_AUTH not in usages or usages - _USAGES:
        allowed = ", ".join(sorted(_USAGES))
        return f'spec.usages: "{_CLIENT_AUTH}" is required, and only these are allowed: {allowed}'
    if not asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        return "spec.request: the subject has no common name, which is the name of the user"
    if any(each.value == MASTERS for each in organizations):
        return f"spec.request: nobody gets a certificate for the group {MASTERS}"
    return ""


def _life(spec: _RequestSpec) -> timedelta:
    if spec.expiration_seconds is None:
        return _LONGEST
    return min(timedelta(seconds=spec.expiration_seconds), _LONGEST)


def _issue(
    asked: x509.CertificateSigningRequest,
    authority: TenantAuthority,
    now: datetime,
    life: timedelta,
) -> x509.Certificate:
    issuer = authority.certificate
    validity = now - CLOCKS_DIFFER, min(now + life, issuer.not_valid_after_utc)
    usage = key_usage(digital_signature=True, key_encipherment=True)
    builder = (
        certificate_builder(asked.subject, issuer.subject, asked.public_key(), validity)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(issued_by(authority.key), critical=False)
    )
    return builder.sign(authority.key, hashes.SHA256())
