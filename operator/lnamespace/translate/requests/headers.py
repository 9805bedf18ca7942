"""Headers of requests and answers: what goes upstream, and what comes back.

Headers are pairs of a name in lower case and a value. A short list of headers goes upstream: those
that identify somebody, or that a proxy acts on, are never among them. Requests to a server behind
the subresource ``proxy`` keep their other headers, but none of those.
"""

import re
from collections.abc import Sequence

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.texts import text_down
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.verbs import CONNECTIONS
from lnamespace.translate.protocol.websocket import PROTOCOL_HEADER, protocols_without_credential

Headers = tuple[tuple[str, str], ...]

NOT_CACHED = ("Cache-Control", "no-cache, private")
"""The API server's header of every answer: no cache before the client may keep it."""
USER_AGENT = "lnamespace-gateway"
"""A User-Agent for which the API server does not indent its answers, as it does for curl."""
STREAM_ACCEPT = "application/json, */*"
"""Streams have their own media types; a refusal is to be JSON, which can be translated."""
_STREAM_HEADERS = frozenset(
    {
        "sec-websocket-extensions",
        "sec-websocket-key",
        "sec-websocket-version",
        "x-stream-protocol-version",
    }
)
HOP_BY_HOP = frozenset(
    {
        "connection",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of one connection, which a proxy does not forward (RFC 9110, 7.6.1)."""
_FRAMING = frozenset({"content-length", "content-type", "expect", "host"})
"""Headers that each hop writes anew."""
_CREDENTIALS = frozenset({"authorization", "cookie", "set-cookie", "www-authenticate"})
_IDENTITY = ("impersonate", "x-remote-", "x-forwarded-", "forwarded", "x-real-ip", "audit-id")
"""The beginnings of headers that name the person for whom a request is made."""
_DOWN = frozenset({"audit-id", "cache-control", "date", "last-modified", "retry-after", "warning"})
_OBJECT_PATH = re.compile(r"/(?:api|apis/[^/]+)/[^/]+/namespaces/([^/?#]+)(/[^?#]*/proxy(?:/|$).*)")


def headers_up(request: ResourceRequest, headers: Headers, accept: str) -> Headers:
    """Return the headers of a request to the API server, without those of its body.

    Parameters
    ----------
    accept
        The header Accept of a request for objects; streams have their own.
    """
    if request.subresource == "proxy":
        return _proxied(headers)
    ours = (("user-agent", USER_AGENT),)
    if request.subresource not in CONNECTIONS:
        return (*ours, ("accept", accept))
    kept = tuple(each for each in headers if each[0] in _STREAM_HEADERS)
    return (*ours, ("accept", STREAM_ACCEPT), *kept, *_protocols(headers))


def headers_down(headers: Headers, view: TenantView, base: str = "") -> Headers:
    """Return the headers of an answer to the client, without those of its body.

    Parameters
    ----------
    base
        What the path of the tenant's cluster begins with: empty, or ``/clusters/acme``.
    """
    down: list[tuple[str, str]] = []
    for name, value in headers:
        if name == "warning":
            down.append((name, text_down(view, value)))
        elif name in _DOWN:
            down.append((name, value))
        elif name == "location" and (location := location_down(value, view, base)):
            down.append((name, location))
    return tuple(down)


def merged_headers(answers: Sequence[Headers]) -> Headers:
    """Merge the headers of several answers: those of the first, and each warning once."""
    warnings = (each for headers in answers for each in headers if each[0] == "warning")
    first = tuple(each for each in answers[0] if each[0] != "warning") if answers else ()
    return (*first, *dict.fromkeys(warnings))


def proxied_headers_down(headers: Headers, view: TenantView, base: str = "") -> Headers:
    """Return the headers that a server behind a proxy answered, without those of its body.

    Cookies are dropped: a browser would send them to every tenant on the same host.
    """
    located = (
        (name, location_down(value, view, base) if name == "location" else value)
        for name, value in _proxied(headers)
        if not name.startswith("x-kubernetes-pf-")
    )
    return tuple(each for each in located if each[1] or each[0] != "location")


def location_down(location: str, view: TenantView, base: str = "") -> str:
    """Return a Location in tenant spelling; empty if it leads out of the tenant's cluster."""
    found = _OBJECT_PATH.fullmatch(location)
    if found is None:
        return ""
    namespace = view.namespace_down(found[1])
    if not namespace:
        return ""
    return f"{base}{location[: found.start(1)]}{namespace}{found[2]}"


def headers_of_connection(headers: Headers) -> frozenset[str]:
    """Return the names of headers that a proxy does not forward, with those that Connection has."""
    named = (value.split(",") for name, value in headers if name == "connection")
    return HOP_BY_HOP.union(option.strip().lower() for options in named for option in options)


def _proxied(headers: Headers) -> Headers:
    """Return headers without those of one connection, and those of an identity."""
    dropped = headers_of_connection(headers) | _FRAMING | _CREDENTIALS
    return tuple(
        (name, value)
        for name, value in headers
        # Servers behind us may take an underscore for a hyphen.
        if (plain := name.replace("_", "-")) not in dropped
        and not plain.startswith(_IDENTITY)
        and name != PROTOCOL_HEADER
    ) + _protocols(headers)


def _protocols(headers: Headers) -> Headers:
    protocols = protocols_without_credential(headers)
    return ((PROTOCOL_HEADER, ", ".join(protocols)),) if protocols else ()
