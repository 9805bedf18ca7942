"""Lists as the gateway answers them."""

from typing import Any, cast

import msgspec
from lnamespace.gateway.calls import TenantCall
from lnamespace.gateway.listing import Lister
from lnamespace.gateway.parts import Part
from lnamespace.gateway.sealing import TokenSealer
from lnamespace.translate.request import ResourceRequest
from lnamespace.translate.resources import ResourceType
from lnamespace.translate.view import View


def test_a_list_that_became_too_old_goes_on_by_a_token_of_ours() -> None:
    request = ResourceRequest("list", ResourceType("", "pods", "Pod", namespaced=True), "v1", "a")
    call = TenantCall(cast(Any, None), request, View("acme", cast(Any, None)), "alice")
    lister = Lister(cast(Any, None), TokenSealer([b"k" * 32]))
    refusal = msgspec.json.encode({"code": 410, "metadata": {"continue": "upstream's"}})
    status = msgspec.json.decode(lister.resealed(call, Part("acme-a", request), refusal))
    position = lister.sealer.unseal(call.request, call.view.tenant, status["metadata"]["continue"])
    assert (position.part, position.upstream, position.version) == ("acme-a", "upstream's", "")
    plain = b'{"code":410,"metadata":{}}'
    assert lister.resealed(call, Part("acme-a", request), plain) == plain
