"""What clients may cost the listener."""

from dataclasses import dataclass, replace


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
    shutdown
        How long a connection that was closed waits for the end of TLS at the other side.
    idle
        Between two requests.
    stalled
        How long a client may take none of what waits for it.
    handshakes
        Connections whose TLS handshake is not done; one more ends the oldest.
    backlog
        Connections that the system keeps until they are accepted.
    bodies
        All bodies together that have arrived and are not yet answered, before anybody knows whose
        they are.
    """

    head: int = 64 * 1024
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
    finish: float = 10

    def within(self, files: int) -> "ServerLimits":
        """Return limits that leave files for connections to the API server.

        Parameters
        ----------
        files
            How many the process may have open. Each connection is one, at either side.
        """
        return replace(
            self,
            connections=min(self.connections, files // 2),
            handshakes=min(self.handshakes, files // 8),
        )
