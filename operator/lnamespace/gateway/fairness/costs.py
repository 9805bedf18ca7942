"""Estimates, from measurements, of the seconds that a request costs outside its own steps.

They count towards the tenant's share, as the time of these steps does.
"""

from lnamespace.translate.names.tenant_view import CRDS, NAMESPACES
from lnamespace.translate.protocol.resources import GroupResource

_SENT, _STORED = 12e-9, 40e-9
"""Seconds that the API server takes for a byte of JSON, to send it and to read and store it: a
Secret of 3 MB takes it 110 ms, a list of the same size 40."""
_READ, _WRITTEN = 0.5e-3, 2e-3
"""Seconds that the API server takes for a request that reads, and one that writes, of whatever
size. A tenant that listed its 200 empty namespaces in a loop took a third of a processor by it."""
_RECEIVED = 1e-9
"""Seconds of the gateway's thread for a byte of a body that arrives, before any step."""
_DEFINITION, _NAMESPACE = 0.1, 0.05
"""Seconds that the API server and controllers work for a definition that is written or deleted, and
for a new Namespace."""
_LONG = 256 * 1024
"""Bytes of a body that take the API server some milliseconds: sixteen bodies of 3 MB at once
blocked all its requests for half a second."""


def is_long(size: int) -> bool:
    """Return whether a body is so long that a tenant may not send many at once."""
    return size > _LONG


def seconds_for_body(size: int) -> float:
    """Return how long a body keeps the gateway's thread busy, to decrypt and to parse it."""
    return size * _RECEIVED


def seconds_for_answer(size: int) -> float:
    """Return how long a request keeps the API server busy, by the size of its answer."""
    return _READ + seconds_for_events(size)


def seconds_for_events(size: int) -> float:
    """Return how long events of a watch keep the API server busy."""
    return size * _SENT


def seconds_for_write(resource: GroupResource, size: int, *, creates: bool) -> float:
    """Return how long a write or a deletion keeps the API server and controllers busy.

    Parameters
    ----------
    size
        The size of the body, in bytes.
    creates
        Whether it may create an object.
    """
    beside = _DEFINITION if resource == CRDS else 0.0
    if resource == NAMESPACES and creates:
        beside = _NAMESPACE
    return _WRITTEN + size * _STORED + beside
