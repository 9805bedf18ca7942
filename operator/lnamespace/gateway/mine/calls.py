"""One list or watch at the endpoint ``mine`` that spans the caller's namespaces."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.lists.empty_answers import current_version
from lnamespace.gateway.mine.callers import MineCaller
from lnamespace.gateway.mine.rights import NamespaceRights
from lnamespace.gateway.mine.spans import part_target
from lnamespace.gateway.requests.answer_encoders import AnswerEncoder, answer_encoder
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.protocol.encodings import encoding_of
from lnamespace.translate.protocol.negotiation import wants_indentation
from lnamespace.translate.protocol.request import Query, ResourceRequest
from lnamespace.translate.requests.headers import USER_AGENT

WITHOUT_ANY = (
    ("Warning", '299 - "no LNamespace gives you rights: ask a manager for `kubectl lns grant`"'),
)
"""The answer to users who have no rights in any namespace."""

_FRESH_SECONDS = 3.0


@dataclass(frozen=True)
class Platform:
    """The platform's API server.

    Parameters
    ----------
    as_gateway
        With the credentials of the gateway's own account, which reads Namespaces.
    as_caller
        With the credentials that a request brings, and no others.
    """

    as_gateway: Upstream
    as_caller: Upstream

    async def version(self) -> str:
        """Return the present resource version."""
        return await current_version(self.as_gateway)


@dataclass(frozen=True)
class MineCall:
    """A request that spans namespaces, and its caller.

    Parameters
    ----------
    accept
        The header Accept of the requests upstream, from that of the client.
    heads
        The headers of the answers that a list is made of.
    """

    exchange: Exchange
    request: ResourceRequest
    caller: MineCaller
    platform: Platform
    rights: NamespaceRights
    accept: str
    encoder: AnswerEncoder
    usage: RequestUsage
    heads: list[Headers] = field(default_factory=list)

    @classmethod
    def from_request(
        cls,
        exchange: Exchange,
        request: ResourceRequest,
        caller: MineCaller,
        platform: Platform,
        rights: NamespaceRights,
        usage: RequestUsage,
    ) -> "MineCall":
        """Return the call of a request.

        Raises
        ------
        Refused
            The client accepts nothing that can be given.
        """
        sent = exchange.request
        encoding = encoding_of(request, ",".join(sent.values("accept")))
        indented = wants_indentation(request.parameter("pretty"), sent.value("user-agent"))
        answer = answer_encoder(encoding.media_type, indented=indented)
        return cls(exchange, request, caller, platform, rights, encoding.accept, answer, usage)

    @property
    def of_namespaces(self) -> bool:
        """Return whether the request is for the Namespaces themselves."""
        return not self.request.resource.namespaced

    def namespaces(self) -> list[str]:
        """Return the caller's namespaces, in the order in which the API server lists."""
        return sorted(self.rights.held(self.caller.subjects))

    def recently_granted(self, namespace: str) -> bool:
        """Return whether the API server may not know yet of the caller's rights in a namespace."""
        return self.rights.recently_granted(self.caller.subjects, namespace, _FRESH_SECONDS)

    async def wait_changed(self, known: Sequence[str], seconds: float) -> bool:
        """Wait until the caller's namespaces differ from ``known``; return whether they do."""
        changed = asyncio.Event()
        stop = self.rights.listen(self.caller.subjects, changed.set)
        try:
            async with asyncio.timeout(seconds):
                while self.namespaces() == known:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            return False
        finally:
            stop()
        return True

    async def send(
        self, namespace: str, parameters: Query, *, lasting: bool = False
    ) -> UpstreamResponse:
        """Send the request for one namespace: as the caller, or as the gateway for Namespaces."""
        target = part_target(self.request, namespace, parameters)
        headers: Headers = (("user-agent", USER_AGENT), ("accept", self.accept))
        sender = self.platform.as_gateway
        if not self.of_namespaces:
            sender, headers = self.platform.as_caller, (*headers, *self.caller.credentials)
        return await sender.send("GET", target, UpstreamIdentity(), headers, lasting=lasting)
