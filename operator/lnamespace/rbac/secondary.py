"""The further rights that the API server requires for some requests.

The tenant's account may do everything in the tenant's namespaces upstream, so the platform's API
server refuses none of this. The gateway checks it by the tenant's own rules:

- An update or a server-side apply that creates an object needs ``create`` too.
- ``exec``, ``attach`` and ``portforward`` by websocket are GET requests, and need ``create``.
- Who approves or signs a CertificateSigningRequest needs that verb on its signer.
"""

import msgspec
from msgspec.structs import replace

from lnamespace.kube.media_types import APPLY_PATCH
from lnamespace.kube.resources import RBAC
from lnamespace.rbac.attributes import Attributes, User, access_denied
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.translate.protocol.quoting import go_quote
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import bad_request, forbidden

_CERTIFICATES = "certificates.k8s.io"
_CONNECTIONS = frozenset({"exec", "attach", "portforward"})
_APPLY = frozenset({APPLY_PATCH, "application/apply-patch+cbor"})
_CREATED_BY_UPDATE = frozenset(
    {
        ("", "endpoints"),
        ("", "events"),
        ("", "limitranges"),
        ("", "services"),
        ("coordination.k8s.io", "leasecandidates"),
        ("coordination.k8s.io", "leases"),
        ("events.k8s.io", "events"),
        ("node.k8s.io", "runtimeclasses"),
        *(
            (RBAC, plural)
            for plural in ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
        ),
    }
)
"""The resources of which an update creates the object that is not there."""
_SIGNER_VERBS = {"approval": "approve", "status": "sign"}


class _CsrSpec(msgspec.Struct, frozen=True, rename="camel"):
    signer_name: str = ""


class _Csr(msgspec.Struct, frozen=True):
    spec: _CsrSpec = _CsrSpec()


def confirm_connection(authorizer: Authorizer, user: User, attributes: Attributes) -> None:
    """Refuse a GET that connects to a pod, if its user may not ``create`` that subresource.

    Raises
    ------
    Refused
        Forbidden, as the API server words it: it gives no reason.
    """
    is_pod = (attributes.group, attributes.resource) == ("", "pods")
    if not is_pod or attributes.subresource not in _CONNECTIONS or attributes.verb == "create":
        return
    decision = authorizer.allows(user, replace(attributes, verb="create"))
    if not decision.allowed:
        raise forbidden(GroupResource("", "pods"), attributes.name, decision.reason)


def may_create(authorizer: Authorizer, user: User, attributes: Attributes, media_type: str) -> bool:
    """Return whether a request is allowed also if the object that it changes does not exist.

    If it is not, the caller finds out whether the object exists, and refuses by
    :func:`confirm_existing`.

    Parameters
    ----------
    media_type
        Of the body, without parameters.
    """
    if attributes.subresource or not _creates(attributes, media_type):
        return True
    return authorizer.allows(user, replace(attributes, verb="create")).allowed


def confirm_existing(
    authorizer: Authorizer, user: User, attributes: Attributes, *, exists: bool
) -> None:
    """Refuse a change of an object that does not exist, by somebody who may not create it.

    Raises
    ------
    Refused
        Forbidden, in the words of the API server.
    """
    if not exists:
        asked = replace(attributes, verb="create")
        raise access_denied(user, asked, authorizer.allows(user, asked).reason)


def needs_signer(attributes: Attributes) -> bool:
    """Return whether a request approves or signs a CertificateSigningRequest."""
    return (
        (attributes.group, attributes.resource) == (_CERTIFICATES, "certificatesigningrequests")
        and attributes.subresource in _SIGNER_VERBS
        and attributes.verb in {"update", "patch"}
    )


def confirm_signer(
    authorizer: Authorizer, user: User, attributes: Attributes, stored: bytes
) -> None:
    """Refuse to approve or to sign a request to somebody who has no right on its signer.

    Parameters
    ----------
    stored
        The CertificateSigningRequest as it is before, as JSON: a change of the signer's name in
        the same write does not count.

    Raises
    ------
    Refused
        Forbidden, in the words of the admission plugins of Kubernetes.
    """
    try:
        signer = msgspec.json.decode(stored, type=_Csr).spec.signer_name
    except msgspec.MsgspecError as error:
        raise bad_request(str(error)) from error
    verb = _SIGNER_VERBS[attributes.subresource]
    names = (signer, f"{signer.partition('/')[0]}/*")
    asked = Attributes(verb, _CERTIFICATES, "*", "signers")
    if not any(authorizer.allows(user, replace(asked, name=name)).allowed for name in names):
        why = f"user not permitted to {verb} requests with signerName {go_quote(signer)}"
        raise forbidden(GroupResource(_CERTIFICATES, attributes.resource), attributes.name, why)


def _creates(attributes: Attributes, media_type: str) -> bool:
    if attributes.verb == "patch":
        return media_type in _APPLY
    return (
        attributes.verb == "update"
        and (attributes.group, attributes.resource) in _CREATED_BY_UPDATE
    )
