"""The Secret by which the replicas share their key pairs, from and to manifests; pure."""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lnamespace.admission.certificates.keypairs import KeyPair
from lnamespace.admission.certificates.rotation import SharedPair, SharedState

Manifest = dict[str, Any]

_NEXT = "next."
"""The prefix of the keys of the pair that is served next."""


@dataclass(frozen=True)
class SecretReference:
    """The namespace and name of the Secret."""

    namespace: str
    name: str


def state_of(secret: Manifest) -> SharedState:
    """Decode the pairs of a Secret; a pair that cannot be decoded counts as absent."""
    data = secret.get("data")
    if not isinstance(data, dict):
        return SharedState()
    return SharedState(_shared_pair(data, ""), _shared_pair(data, _NEXT))


def manifest_of(reference: SecretReference, state: SharedState, version: str = "") -> Manifest:
    """Return the manifest that creates the Secret, or the merge patch that changes it.

    Parameters
    ----------
    version
        The resource version of the Secret to change, so that the API server refuses the patch if
        another replica was first; empty to create it.
    """
    metadata = {"name": reference.name, "namespace": reference.namespace}
    data = _data(state.current, "") | _data(state.next, _NEXT)
    if version:  # A patch leaves the type out: it is immutable.
        return {"metadata": metadata | {"resourceVersion": version}, "data": data}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "kubernetes.io/tls",
        "data": {key: value for key, value in data.items() if value is not None},
    }


def _shared_pair(data: Manifest, prefix: str) -> SharedPair | None:
    parts = [
        decode_base64(data.get(f"{prefix}{key}"))
        for key in ("tls.crt", "tls.key", "ca.crt", "trusted-since")
    ]
    if not any(parts):
        return None
    return SharedPair(KeyPair(*parts[:3]), _instant(parts[3]))


def _data(held: SharedPair | None, prefix: str) -> dict[str, str | None]:
    """Return a pair's keys in the Secret; in a merge patch None removes a key."""
    since = held.trusted_since if held else None
    content = {
        "tls.crt": held.pair.certificate if held else None,
        "tls.key": held.pair.key if held else None,
        "ca.crt": held.pair.ca if held else None,
        "trusted-since": since.isoformat().encode() if since else None,
    }
    return {
        f"{prefix}{key}": None if value is None else base64.b64encode(value).decode()
        for key, value in content.items()
    }


def _instant(text: bytes) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.decode())
    except ValueError:
        return None
    return found if found.tzinfo else None


def decode_base64(text: Any) -> bytes:
    """Decode a value of a manifest; empty where it is not base64."""
    try:
        return base64.b64decode(text or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        return b""
