"""What the API server asks its authorizer besides the request itself."""

import json

import pytest
from lnamespace.rbac.attributes import Attributes
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.secondary import (
    confirm_connection,
    confirm_existing,
    confirm_signer,
    may_create,
    needs_signer,
)
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.rbac import JANE, asks, binding, role, rule

APPLY = "application/apply-patch+yaml"
CERTIFICATES = "certificates.k8s.io"
SIGNER = "example.com/signer"
STORED = json.dumps({"spec": {"signerName": SIGNER}}).encode()


def may(*rules: dict[str, list[str]]) -> Authorizer:
    return Authorizer(RoleStore.from_objects([role("r", *rules)], [binding("b", "r", "User|jane")]))


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
def test_connecting_to_a_pod_by_get_requires_create_permission(subresource: str) -> None:
    asked = asks("get", f"pods/{subresource}", "n", "p")
    confirm_connection(may(rule("create", f"pods/{subresource}")), JANE, asked)
    with pytest.raises(Refused) as refused:
        confirm_connection(may(rule("get", f"pods/{subresource}")), JANE, asked)
    assert refused.value.status.message == 'pods "p" is forbidden: '


def test_reading_a_pod_needs_no_create() -> None:
    for asked in (
        asks("get", "pods/log", "n", "p"),
        asks("get", "pods", "n", "p"),
        asks("get", "widgets/exec", "n", "p", "example.com"),
    ):
        confirm_connection(may(), JANE, asked)


@pytest.mark.parametrize(
    ("attributes", "media_type", "allowed"),
    [
        (asks("patch", "pods", "n", "p"), APPLY, False),
        (asks("patch", "pods", "n", "p"), "application/apply-patch+cbor", False),
        (asks("patch", "pods", "n", "p"), "application/merge-patch+json", True),
        (asks("patch", "pods/status", "n", "p"), APPLY, True),
        (asks("patch", "services", "n", "p"), APPLY, True),
        (asks("update", "limitranges", "n", "p"), "application/json", False),
        (asks("update", "services", "n", "p"), "application/json", True),
        (asks("update", "pods", "n", "p"), "application/json", True),
        (asks("delete", "pods", "n", "p"), "", True),
    ],
)
def test_requests_that_may_create_an_object_require_create_permission(
    attributes: Attributes, media_type: str, allowed: bool
) -> None:
    assert may_create(may(rule("create", "services")), JANE, attributes, media_type) is allowed


def test_a_patch_without_create_permission_is_refused_only_for_a_missing_object() -> None:
    asked = asks("patch", "pods", "n", "p")
    confirm_existing(may(), JANE, asked, exists=True)
    with pytest.raises(Refused) as refused:
        confirm_existing(may(), JANE, asked, exists=False)
    assert refused.value.status.message == (
        'pods "p" is forbidden: User "jane" cannot create resource "pods" in API group ""'
        ' in the namespace "n"'
    )


def csr(verb: str, subresource: str) -> Attributes:
    return Attributes(verb, CERTIFICATES, "v1", "certificatesigningrequests", subresource, "", "c")


@pytest.mark.parametrize(
    ("attributes", "needed"),
    [
        (csr("update", "approval"), True),
        (csr("patch", "status"), True),
        (csr("get", "approval"), False),
        (csr("update", ""), False),
        (asks("update", "pods/status", "n", "p"), False),
    ],
)
def test_approving_and_signing_require_permission_for_the_signer(
    attributes: Attributes, needed: bool
) -> None:
    assert needs_signer(attributes) is needed


@pytest.mark.parametrize(
    ("subresource", "verb", "name", "allowed"),
    [
        ("approval", "approve", SIGNER, True),
        ("approval", "approve", "example.com/*", True),
        ("approval", "sign", SIGNER, False),
        ("status", "sign", SIGNER, True),
        ("status", "approve", SIGNER, False),
        ("approval", "approve", "other.com/*", False),
    ],
)
def test_permission_for_a_signer_names_the_signer_or_its_domain(
    subresource: str, verb: str, name: str, allowed: bool
) -> None:
    authorizer = may(rule(verb, "signers", CERTIFICATES, name))
    if allowed:
        confirm_signer(authorizer, JANE, csr("update", subresource), STORED)
        return
    with pytest.raises(Refused) as refused:
        confirm_signer(authorizer, JANE, csr("update", subresource), STORED)
    asked = {"approval": "approve", "status": "sign"}[subresource]
    assert refused.value.status.message == (
        'certificatesigningrequests.certificates.k8s.io "c" is forbidden:'
        f' user not permitted to {asked} requests with signerName "{SIGNER}"'
    )
