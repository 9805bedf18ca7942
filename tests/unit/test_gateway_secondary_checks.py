"""A write that was judged by one object meets no other."""

from typing import Any, cast

import msgspec
import pytest
from lnamespace.gateway.authorization import secondary_checks
from lnamespace.gateway.authorization.secondary_checks import confirm_secondary
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.http.messages import HttpRequest
from lnamespace.rbac.attributes import AccessDecision, Attributes, User, request_attributes
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME

CERTIFICATES = ResourceType(
    "certificates.k8s.io",
    "certificatesigningrequests",
    "CertificateSigningRequest",
    namespaced=False,
)
APPROVAL = ResourceRequest("update", CERTIFICATES, "v1", "", "robot", "approval")
MINE = {
    "metadata": {"name": "robot", "uid": "uid-1", "resourceVersion": "1"},
    "spec": {"signerName": "example.com/mine"},
}


class ForMine:
    """Allow everything, of signers those of example.com alone."""

    def allows(self, _: User, attributes: Attributes) -> AccessDecision:
        """Decide."""
        named = attributes.resource != "signers" or attributes.name.startswith("example.com/")
        return AccessDecision(named)


async def approve(stored: bytes, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    async def find(*_: Any) -> bytes:
        return stored

    class Sent:
        request = HttpRequest("PUT", "/", (("content-type", "application/json"),), b"{}")

    monkeypatch.setattr(secondary_checks, "stored_object", find)
    call = TenantCall(cast(Any, Sent), APPROVAL, ACME, "ann")
    authorizer = cast(Authorizer, ForMine())
    attributes = request_attributes(APPROVAL)
    return dict(await confirm_secondary(cast(Any, None), call, authorizer, User("ann"), attributes))


async def test_an_approval_has_the_uid_of_the_checked_request_as_precondition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await approve(msgspec.json.encode(MINE), monkeypatch) == {"uid": "uid-1"}


async def test_an_approval_of_a_request_that_did_not_exist_is_answered_with_404(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Refused) as refused:
        await approve(b"", monkeypatch)
    assert refused.value.status.code == 404


async def test_an_approval_for_a_signer_of_others_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = MINE | {"spec": {"signerName": "kubernetes.io/kube-apiserver-client"}}
    with pytest.raises(Refused) as refused:
        await approve(msgspec.json.encode(other), monkeypatch)
    assert refused.value.status.code == 403
