"""Continue tokens for lists, sealed by a key that all replicas have."""

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from lnamespace.gateway.calls import TenantCall
from lnamespace.translate.continuation import NONCE_SIZE, ListPosition, list_binding, seal, unseal

_PURPOSE = b"continue tokens of lists\0"


def derive_key(private_key: bytes) -> bytes:
    """Return the key of continue tokens: all replicas serve by the same private key."""
    return hashlib.sha256(_PURPOSE + private_key).digest()


@dataclass(frozen=True)
class TokenSealer:
    """Seal and unseal continue tokens; ``keys`` are accepted, the first of them seals."""

    keys: Sequence[bytes]

    def seal(self, call: TenantCall, position: ListPosition) -> str:
        """Return a token for a position in the list that was asked for."""
        binding = list_binding(call.request, call.view.tenant)
        nonce = secrets.token_bytes(NONCE_SIZE)
        return seal(position, binding, self.keys[0], nonce, time.time())

    def unseal(self, call: TenantCall, token: str) -> ListPosition:
        """Return the position of a token.

        Raises
        ------
        Refused
            It is no token of this list, or too old.
        """
        binding = list_binding(call.request, call.view.tenant)
        return unseal(token, binding, self.keys, time.time())
