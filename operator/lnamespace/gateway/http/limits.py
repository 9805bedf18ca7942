"""What clients may cost the listener."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerLimits:
    """Bound what a client may cost; times in seconds, sizes in bytes.

    Parameters
    ----------
    head
        The request line and the headers together.
    body
        The API server takes 3 MiB; what is sent to a pod by way of the proxy may be longer.
    arrive
        From the first byte of a request to its last.
    idle
        Between two requests.
    stalled
        How long a client may take no byte of an answer.
    bodies
        All bodies together that have arrived and are not yet answered, before anybody knows whose
        they are.
    """

    head: int = 64 * 1024
    body: int = 8 * 1024 * 1024
    arrive: float = 60
    handshake: float = 10
    idle: float = 180
    stalled: float = 60
    connections: int = 20_000
    bodies: int = 256 * 1024 * 1024
    finish: float = 10
