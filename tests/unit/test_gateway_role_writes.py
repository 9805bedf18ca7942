"""A write of a Role is judged by what the API server would store."""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from lnamespace.gateway.authorization.role_writes import EscalationCheck
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.http.messages import HttpRequest
from lnamespace.kube.media_types import MERGE_PATCH
from lnamespace.rbac.attributes import AccessDecision, User, request_attributes
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType

from tests.unit.support.translation import ACME

LABEL = ACME.tenant_label
ROLES = ResourceType("rbac.authorization.k8s.io", "clusterroles", "ClusterRole", namespaced=False)
PATCH = ResourceRequest("patch", ROLES, "v1", "", "r")
STORED = {
    "kind": "ClusterRole",
    "metadata": {"name": "acme-r", "labels": {LABEL: "acme", "b": "2"}, "resourceVersion": "7"},
    "rules": [],
}


class ForAll:
    """Allow everything."""

    def allows(self, *_: Any) -> AccessDecision:
        """Decide."""
        return AccessDecision(True)


@dataclass
class StoredRole:
    """An API server that has one ClusterRole, and answers each request with it."""

    status = 200
    headers = ()
    written: list[Any] = field(default_factory=list)

    async def send(self, method: str, *rest: Any) -> "StoredRole":
        """Keep what is written."""
        if method == "PATCH":
            self.written.append(json.loads(rest[-1]))
        return self

    async def read(self) -> bytes:
        """Return the ClusterRole."""
        return json.dumps(STORED).encode()


async def test_somebody_without_masters_can_remove_the_last_label_of_a_clusterrole() -> None:
    """The dry run by which the write is judged was refused."""

    class Sent:
        body = json.dumps({"metadata": {"labels": None}}).encode()
        request = HttpRequest("PATCH", "/", (("content-type", MERGE_PATCH),), body)

    upstream = StoredRole()
    check = EscalationCheck(cast(Upstream, upstream))
    call = TenantCall(cast(Any, Sent), PATCH, ACME, "ann")
    authorizer = cast(Authorizer, ForAll())
    judged = await check.confirm(call, authorizer, User("ann"), request_attributes(PATCH))
    assert json.loads(judged.body) == {"metadata": {"labels": {"b": None}}}, "it is written so too"
    assert judged.preconditions == {"resourceVersion": "7"}
    assert upstream.written == [{"metadata": {"labels": {LABEL: "acme", "b": None}}}]
