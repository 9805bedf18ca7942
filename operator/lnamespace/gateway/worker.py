"""One of several worker processes of the gateway: ``python -m lnamespace.gateway.worker``.

Its standard input is a socket to the supervisor, which sends requests of one line each and gets one
line of JSON for each. When the supervisor ends, the socket is closed, and the worker exits.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import msgspec

from lnamespace.errors import LNamespaceError
from lnamespace.gateway import process
from lnamespace.http.probes import Probes
from lnamespace.runtime import logs
from lnamespace.runtime.lifecycle import running
from lnamespace.settings import Settings

VARIABLE = "LNAMESPACE_GATEWAY_WORKER"
"""The environment variable with a worker's :class:`Assignment`, as JSON."""
METRICS, READINESS = b"metrics\n", b"readiness\n"
_STDIN = 0


@dataclass(frozen=True)
class Assignment:
    """The arguments of a worker process.

    Parameters
    ----------
    number
        Its number, from 0, by which the environment of a process tells which worker it is.
    lock
        A file descriptor, locked for each write to a file that all workers share.
    """

    number: int
    lock: int
    settings: Settings


def main() -> None:
    """Serve tenants beside the other workers, until a signal or the supervisor's end."""
    assignment = msgspec.json.decode(os.environ.pop(VARIABLE), type=Assignment)
    logs.configure(assignment.settings.log_format, assignment.settings.log_level)
    try:
        process.run(assignment.settings, answer_supervisor, assignment.lock)
    except LNamespaceError as error:
        sys.exit(f"error: {error}")


@asynccontextmanager
async def answer_supervisor(probes: Probes) -> AsyncIterator[None]:
    """Answer the supervisor instead of the kubelet, inside the context."""
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=os.dup(_STDIN)))
    try:
        async with running(_answer(probes, reader, writer)):
            yield
    finally:
        writer.close()


async def _answer(
    probes: Probes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    end = partial(os.kill, os.getpid(), signal.SIGTERM)
    try:
        while question := await reader.readline():
            answer = probes.metrics().decode() if question == METRICS else probes.unready()
            writer.write(msgspec.json.encode(answer) + b"\n")
            await writer.drain()
    except ConnectionError:
        pass
    end()


if __name__ == "__main__":
    main()
