"""Continue tokens of the gateway: sealed, and good for one list of one tenant.

The API server's own token is the next key in plain text: for a list that the gateway merges it
would name the platform's spelling, and an edited one would begin anywhere. The gateway's is
encrypted and authenticated (AES-256-GCM) together with the list that it belongs to.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lnamespace.translate.protocol.list_options import SELECTORS
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Refused, bad_request, expired

NONCE_SIZE = 12
MAX_AGE = 600.0
"""Seconds; etcd keeps the resource version of a list for about five minutes."""
_MAX_TOKEN = 16_384
_KEY_ID_SIZE = 4
_PADDING = 64
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can"
    " start a new list without the continue parameter."
)


class ListPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position at which a list goes on.

    Parameters
    ----------
    part
        The part of a merged list that goes on, such as a namespace; empty for a list of one part.
    upstream
        The API server's own token; empty at the beginning of the part.
    version
        The resource version that all parts are listed at.
    """

    part: str = ""
    upstream: str = ""
    version: str = ""


class _SealedPosition(msgspec.Struct, frozen=True):
    position: ListPosition
    sealed_at: float


_decoder = msgspec.json.Decoder(_SealedPosition)


def list_binding(request: ResourceRequest, tenant: str) -> bytes:
    """Return the scope of a continue token: tenant, resource, namespace and selectors."""
    resource = request.resource
    selectors = [request.parameter(each) or "" for each in SELECTORS]
    names = [tenant, resource.group, request.version, resource.plural, request.namespace]
    return msgspec.json.encode([*names, *selectors])


def seal(position: ListPosition, binding: bytes, key: bytes, nonce: bytes, now: float) -> str:
    """Return a continue token.

    Parameters
    ----------
    binding
        From :func:`list_binding`.
    key
        32 random bytes, which all replicas share.
    nonce
        12 random bytes, never used before.
    now
        Seconds since the epoch.
    """
    plain = msgspec.json.encode(_SealedPosition(position, now))
    # The length of a token is to say little of the length of a name.
    padded = plain.ljust(-(-len(plain) // _PADDING) * _PADDING)
    sealed = AESGCM(key).encrypt(nonce, padded, binding)
    return urlsafe_b64encode(_key_id(key) + nonce + sealed).rstrip(b"=").decode()


def unseal(token: str, binding: bytes, keys: Sequence[bytes], now: float) -> ListPosition:
    """Return the position of a continue token.

    Parameters
    ----------
    keys
        The keys that are accepted, for as long as one is being replaced by another.

    Raises
    ------
    Refused
        410 if it is too old or its key has been replaced, 400 if it is malformed, edited or of
        another list.
    """
    raw = _decoded(token)
    key_id, nonce = raw[:_KEY_ID_SIZE], raw[_KEY_ID_SIZE : _KEY_ID_SIZE + NONCE_SIZE]
    key = next((each for each in keys if _key_id(each) == key_id), None)
    if key is None:
        raise expired(_TOO_OLD)
    try:
        plain = AESGCM(key).decrypt(nonce, raw[_KEY_ID_SIZE + NONCE_SIZE :], binding)
    except InvalidTag:
        raise _not_valid() from None
    sealed = _decoder.decode(plain)
    if now - sealed.sealed_at > MAX_AGE:
        raise expired(_TOO_OLD)
    return sealed.position


def _decoded(token: str) -> bytes:
    shortest = _KEY_ID_SIZE + NONCE_SIZE + _PADDING
    try:
        raw = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
    except ValueError:
        raise _not_valid() from None
    if len(token) > _MAX_TOKEN or len(raw) < shortest:
        raise _not_valid()
    return raw


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"continue token key id\0" + key).digest()[:_KEY_ID_SIZE]


def _not_valid() -> Refused:
    return bad_request("invalid continue token: continue key is not valid")
