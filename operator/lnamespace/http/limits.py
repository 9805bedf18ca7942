"""Limits of the listener for its clients."""

import resource
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ServerLimits:
    """The limits for clients; times in seconds, sizes in bytes.

    Parameters
    ----------
    head
        Bytes of memory that the request line and the headers may take together.
    body
        Bytes of a body. The API server accepts 3 MiB; a request to a pod may be longer.
    arrive
        Seconds from the first byte of a request to its last.
    shutdown
        Seconds that a closed connection waits for the client's TLS close_notify.
    idle
        Seconds between two requests.
    stalled
        Seconds in which a client may read nothing while data waits for it.
    handshakes
        Connections whose TLS handshake is not done; one more ends the oldest.
    backlog
        Connections that the system keeps until they are accepted.
    bodies
        Bytes of all bodies of requests that are not answered, authenticated or not.
    small
        Bytes of a body up to which it is accepted also where ``bodies`` is reached.
    """

    head: int = 128 * 1024
    body: int = 8 * 1024 * 1024
    arrive: float = 60
    handshake: float = 10
    shutdown: float = 3
    idle: float = 180
    stalled: float = 60
    connections: int = 20_000
    handshakes: int = 2_000
    backlog: int = 1024
    bodies: int = 256 * 1024 * 1024
    small: int = 0
    finish: float = 10

    def within(self, files: int) -> "ServerLimits":
        """Return limits that leave file descriptors for connections to the API server.

        Parameters
        ----------
        files
            The process's limit of open files. Each connection on either side is one.
        """
        return replace(
            self,
            connections=min(self.connections, files // 2),
            handshakes=min(self.handshakes, files // 8),
        )


def raise_open_files() -> int:
    """Raise this process's limit of open files as far as it may; return the limit.

    Many systems begin with 1,024, for old programs. A gateway with a thousand idle clients then had
    no file left for a connection to the API server.
    """
    _, hardest = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hardest if hardest != resource.RLIM_INFINITY else _ENDLESS
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hardest))
    return most


_ENDLESS = 1_048_576
"""The limit that is set where the system has none: the most that Linux gives by default."""
