"""The bearer token that a browser sends as a subprotocol of a WebSocket.

The rules are those of k8s.io/apiserver/pkg/authentication/request/websocket.
"""

import binascii
from base64 import urlsafe_b64decode

from lnamespace.translate.protocol.status import unauthorized

PROTOCOL_HEADER = "sec-websocket-protocol"
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."


def websocket_token(headers: tuple[tuple[str, str], ...]) -> str | None:
    """Return the bearer token of a WebSocket, or None.

    Raises
    ------
    Refused
        401 if there are several tokens, a malformed one, or no other protocol besides.
    """
    bearers = [each for each in _protocols(headers) if each.startswith(BEARER_PROTOCOL)]
    if not bearers:
        return None
    if len(bearers) > 1 or not protocols_without_credential(headers):
        raise unauthorized()
    encoded = bearers[0].removeprefix(BEARER_PROTOCOL)
    try:
        raw = urlsafe_b64decode(encoded.encode("ascii") + b"=" * (-len(encoded) % 4))
        token = raw.decode()
    except (binascii.Error, ValueError):
        raise unauthorized() from None
    if not token:
        raise unauthorized()
    return token


def protocols_without_credential(headers: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the subprotocols that a client offers besides its token."""
    return tuple(each for each in _protocols(headers) if not each.startswith(BEARER_PROTOCOL))


def _protocols(headers: tuple[tuple[str, str], ...]) -> list[str]:
    values = [value for name, value in headers if name == PROTOCOL_HEADER]
    return [each for value in values for part in value.split(",") if (each := part.strip())]
