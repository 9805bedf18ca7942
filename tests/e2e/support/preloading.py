"""A process that has the libraries, and becomes `lnamespace` or `hack/cluster` by forking.

Each of their starts takes up to a second of a processor for what it imports, and a run of the tests
has hundreds. This process imports the libraries once; of the product it imports nothing, so what a
command imports of that, and when, is as in any other process.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

LIBRARIES = (
    "aiohttp.web",
    "cryptography.x509",
    "kopf",
    "kubernetes.aio",
    "msgspec",
    "prometheus_client",
    "re2",
    "rich.table",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "yaml",
)

MODULES = {"lnamespace": "lnamespace.console", "cluster": "controlplane.cli"}
"""What the programs run."""


def serve(listener: socket.socket, life: int) -> dict[str, Any]:
    """Fork for each connection, and tell it the number and, at its end, the exit status.

    Returns, in the forked process only, what it is to be. Ends when nobody has the other end of
    ``life`` any more.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(life, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == life:
                    sys.exit()
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    asked, files = _received(connection)
                    pid = os.fork()
                    if not pid:
                        _forget(selector, listener, connection)
                        _become(asked, files)
                        return asked
                    for file in files:
                        os.close(file)
                    connection.sendall(f"{pid}\n".encode())
                    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _tell(*key.data)


def _received(connection: socket.socket) -> tuple[dict[str, Any], Sequence[int]]:
    message, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    while not message.endswith(b"\n"):
        message += connection.recv(1 << 20)
    asked: dict[str, Any] = json.loads(message)
    return asked, files


def _tell(pid: int, connection: socket.socket) -> None:
    """Tell the exit status; nobody may be there to hear it."""
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    connection.close()


def _forget(selector: selectors.BaseSelector, *sockets: socket.socket) -> None:
    """Have no object close, when it is collected, a number that is another file's by then."""
    others = [key.data[1] for key in selector.get_map().values() if key.data]
    for each in (*sockets, *others):
        each.detach()
    selector.close()


def _become(asked: dict[str, Any], files: Sequence[int]) -> None:
    """Have the files, the folder, the environment and the session that were asked for."""
    if asked["session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])


def main() -> int:
    """Serve at the socket of the first argument; in a forked process, run the command."""
    # Ctrl-C is for the tests and for what they have started, whose ends are still to be told.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = socket.socket(fileno=int(sys.argv[1]))
    for library in LIBRARIES:
        import_module(library)
    # What is looked at for garbage, and counted anew, is a page of memory that has to be copied.
    gc.collect()
    gc.freeze()
    sys.argv = serve(listener, 0)["argv"]
    name = sys.argv[0].rpartition("/")[2]
    command: int = import_module(MODULES[name]).main()
    return command


if __name__ == "__main__":
    sys.exit(main())
