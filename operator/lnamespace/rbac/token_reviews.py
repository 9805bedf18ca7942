"""Answer a TokenReview inside a tenant: only its own ServiceAccounts' tokens authenticate."""

from collections.abc import Container, Mapping
from typing import Any

import msgspec

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.rbac.attributes import User, service_account
from lnamespace.rbac.reviews import user_info
from lnamespace.translate.names.tenant_view import TenantView

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""The extra by which the API server tells credentials of one user apart."""
KEPT_EXTRA = frozenset(
    {CREDENTIAL_ID, "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"}
)
"""The extras of a token that a tenant may see; nodes are hidden."""


def token_review_down(
    answer: bytes, view: TenantView, namespaces: Container[str], revoked: Container[str] = ()
) -> bytes:
    """Return the platform's answer to a TokenReview as the tenant gets it.

    A token of anybody else is answered like one that nobody ever issued.

    Parameters
    ----------
    answer
        A TokenReview, as JSON.
    namespaces
        The tenant's, in upstream spelling: a namespace of the platform may begin as theirs do.
    revoked
        Ids of tokens that are no login to the tenant's cluster any more.
    """
    review = msgspec.json.decode(answer, type=dict[str, Any])
    status = review.get("status") or {}
    user = _authenticated_account(status, view, namespaces)
    if user is None or any(each in revoked for each in user.extra.get(CREDENTIAL_ID, ())):
        down: dict[str, Any] = {"user": {}, "error": "invalid bearer token"}
    else:
        down = {"authenticated": True, "user": user_info(user)}
        down |= {key: status[key] for key in ("audiences",) if status.get(key)}
    return msgspec.json.encode(
        {
            "kind": "TokenReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {},
            "spec": review.get("spec") or {},
            "status": down,
        }
    )


def _authenticated_account(
    status: Mapping[str, Any], view: TenantView, namespaces: Container[str]
) -> User | None:
    """Return the tenant's ServiceAccount that a TokenReview's status authenticates, or None."""
    user = status.get("user") or {}
    name = user.get("username") or ""
    if status.get("authenticated") is not True or not name.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    upstream, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    namespace = view.namespace_down(upstream)
    if not namespace or upstream not in namespaces:
        return None
    extra = {
        key: tuple(values) for key, values in (user.get("extra") or {}).items() if key in KEPT_EXTRA
    }
    return service_account(namespace, account, user.get("uid") or "", extra)
