"""Proxy requests to the API server unchanged, with the caller's own credentials."""

from collections.abc import Iterator
from dataclasses import dataclass

from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.objects.streams import pass_on, splice
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.exchange import WITHOUT_BODY, Exchange
from lnamespace.http.messages import Headers
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.requests.headers import HOP_BY_HOP, headers_of_connection

_OF_CONNECTION = HOP_BY_HOP | {"content-length", "expect", "host"}
_OF_PROXIES = ("x-remote-", "x-forwarded-", "forwarded", "x-real-ip")
"""The beginnings of headers that only a proxy which the API server trusts may send."""


def headers_for_platform(headers: Headers, *, upgrade: bool) -> Headers:
    """Return the headers of a request that go on to the API server."""
    dropped = headers_of_connection(headers) | _OF_CONNECTION
    kept = tuple(
        (name, value)
        for name, value in headers
        if name not in dropped and not name.replace("_", "-").startswith(_OF_PROXIES)
    )
    if not upgrade:
        return kept
    asked = next((value for name, value in headers if name == "upgrade"), "")
    return (*kept, ("connection", "Upgrade"), ("upgrade", asked))


@dataclass(frozen=True)
class ProxiedRequest:
    """A request that is sent on unchanged, and its answer sent back."""

    exchange: Exchange
    target: str
    base: str
    usage: RequestUsage

    async def answer(self, upstream: Upstream, headers: Headers) -> None:
        """Answer with the API server's answer.

        Raises
        ------
        ClusterError
            The API server does not answer.
        """
        sent = self.exchange.request
        response = await upstream.send(
            sent.method, self.target, UpstreamIdentity(), headers, sent.body
        )
        if response.status == 101:
            await splice(self.exchange, response, _switching(response.headers), self.usage)
        elif sent.method == "HEAD" or response.status in WITHOUT_BODY:
            response.close()
            await self.exchange.answer(response.status, tuple(self._down(response)), b"")
        else:
            await pass_on(self.exchange, response, tuple(self._down(response)))

    def _down(self, response: UpstreamResponse) -> Iterator[tuple[str, str]]:
        for name, value in response.headers:
            if name == "location" and value.startswith("/"):
                yield name, self.base + value
            elif name not in _OF_CONNECTION:
                yield name, value


def _switching(headers: Headers) -> Headers:
    return tuple(each for each in headers if each[0] not in ("content-length", "keep-alive"))
