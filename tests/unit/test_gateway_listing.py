"""Lists as the gateway answers them."""

import msgspec
from lnamespace.gateway.lists.sealing import TokenSealer
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType


def test_the_continue_token_of_an_expired_list_is_sealed_again() -> None:
    request = ResourceRequest("list", ResourceType("", "pods", "Pod", namespaced=True), "v1", "a")
    sealer = TokenSealer([b"k" * 32])
    refusal = msgspec.json.encode({"code": 410, "metadata": {"continue": "upstream's"}})
    status = msgspec.json.decode(sealer.resealed(request, "acme", "acme-a", refusal))
    position = sealer.unseal(request, "acme", status["metadata"]["continue"])
    assert (position.part, position.upstream, position.version) == ("acme-a", "upstream's", "")
    plain = b'{"code":410,"metadata":{}}'
    assert sealer.resealed(request, "acme", "acme-a", plain) == plain
