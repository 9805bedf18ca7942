"""Continue tokens for lists, sealed by a key that all replicas have."""

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.requests.continuation import (
    NONCE_SIZE,
    ListPosition,
    list_binding,
    seal,
    unseal,
)

_PURPOSE = b"continue tokens of lists\0"


def derive_key(private_key: bytes) -> bytes:
    """Return the key of continue tokens: all replicas serve by the same private key."""
    return hashlib.sha256(_PURPOSE + private_key).digest()


@dataclass(frozen=True)
class TokenSealer:
    """The keys of continue tokens: all of ``keys`` are accepted, the first one seals."""

    keys: Sequence[bytes]

    def seal(self, request: ResourceRequest, owner: str, position: ListPosition) -> str:
        """Return a token for a position in a list, good for that list of its owner alone."""
        binding = list_binding(request, owner)
        nonce = secrets.token_bytes(NONCE_SIZE)
        return seal(position, binding, self.keys[0], nonce, time.time())

    def resealed(
        self, request: ResourceRequest, owner: str, namespace: str, refusal: bytes
    ) -> bytes:
        """Return a refusal with its continue token, if it has one, replaced by a sealed one."""
        status = msgspec.json.decode(refusal) if refusal.startswith(b"{") else {}
        token = status.get("metadata", {}).get("continue", "")
        if not token:
            return refusal
        position = ListPosition(namespace, token, "")
        status["metadata"]["continue"] = self.seal(request, owner, position)
        return msgspec.json.encode(status)

    def unseal(self, request: ResourceRequest, owner: str, token: str) -> ListPosition:
        """Return the position of a token.

        Raises
        ------
        Refused
            The token is not one of this list, or is too old.
        """
        binding = list_binding(request, owner)
        return unseal(token, binding, self.keys, time.time())
