"""Confine CertificateSigningRequests, so that no signer of the platform signs those of tenants."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.rules import ConfinedBody, annotations, parents

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
"""The signer of certificates that log in to the tenant's own cluster."""

OWN_CLIENT_SIGNER = LCLUSTER_KEYS + "kube-apiserver-client"
"""The same upstream, for which only the tenant's own CA signs."""

_OF_KUBERNETES = "kubernetes.io/"
REQUESTER = LCLUSTER_KEYS + "requester"
"""The annotation with the requester, who upstream is the gateway. No tenant writes it."""

_REQUESTER_FIELDS = ("username", "uid", "groups", "extra")


def signer_up(signer: str, view: TenantView) -> str:
    """Return a signer in upstream spelling, also for field selectors.

    All are in the gateway's own domain, so RBAC lets it approve these and no others. The number of
    labels of the tenant's domain marks the end of the domain: ``acme.2.example.com.PATH``.
    """
    if signer == CLIENT_SIGNER:
        return OWN_CLIENT_SIGNER
    domain, slash, path = signer.partition("/")
    if not slash:
        return signer
    return f"{LCLUSTER_KEYS}{view.tenant}.{domain.count('.') + 1}.{domain}.{path}"


def signer_down(signer: str, view: TenantView) -> str:
    """Return a signer in tenant spelling."""
    if signer == OWN_CLIENT_SIGNER:
        return CLIENT_SIGNER
    mark = f"{LCLUSTER_KEYS}{view.tenant}."
    number, _, rest = signer.removeprefix(mark).partition(".")
    if not signer.startswith(mark) or not number.isdecimal():
        return signer
    labels = rest.split(".")
    return f"{'.'.join(labels[: int(number)])}/{'.'.join(labels[int(number) :])}"


@dataclass(frozen=True)
class MappedSigner:
    """The signer of a request: upstream the tenant's own, or one that does not exist."""

    paths = (("spec", "signerName"),)

    def confine(self, subject: ConfinedBody) -> None:
        """Write the signer in upstream spelling; refuse Kubernetes' other signers."""
        for spec in parents(subject.body, self.paths[0]):
            signer = spec.get("signerName")
            if not isinstance(signer, str):
                continue
            if signer.startswith(_OF_KUBERNETES) and signer != CLIENT_SIGNER:
                raise subject.refuse("spec.signerName", "this signer is not available")
            spec["signerName"] = signer_up(signer, subject.view)

    def restore(self, subject: ConfinedBody) -> None:
        """Restore the signer and the requester, who upstream is the gateway."""
        for spec in parents(subject.body, self.paths[0]):
            signer = spec.get("signerName")
            if isinstance(signer, str):
                spec["signerName"] = signer_down(signer, subject.view)
            for key in _REQUESTER_FIELDS:
                spec.pop(key, None)
            spec.update(requester_of(annotations(subject.body), subject.view))


def requester_of(found: Mapping[str, Any], view: TenantView) -> dict[str, Any]:
    """Return the requester's fields of a certificate's request, in upstream spelling.

    Parameters
    ----------
    found
        The annotations of the request.
    """
    kept = found.get(REQUESTER)
    if not isinstance(kept, str):
        return {}
    user: dict[str, Any] = msgspec.json.decode(kept)
    if "username" in user:
        user["username"] = view.user_up(user["username"])
    if "groups" in user:
        user["groups"] = [view.user_group_up(each) for each in user["groups"]]
    return user
