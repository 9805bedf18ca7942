"""The stand-in as a server on loopback."""

import gzip
import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from tests.bigquery.errors import ApiError
from tests.bigquery.faults import Fault, Faults, Kind
from tests.bigquery.limits import Limits
from tests.bigquery.routes import Answer, Service

_logger = logging.getLogger(__name__)

CONTROL = "/standin"
"""Where a stand-in that runs as a process is told to fail, and asked what came."""


class StandIn:
    """A server that runs in threads of this process."""

    def __init__(self, port: int = 0, limits: Limits | None = None) -> None:
        self.faults = Faults()
        self._service = Service(limits or Limits())
        self._stopping = threading.Event()
        self._idle = threading.Condition()
        self._active = 0
        self._connections: set[socket.socket] = set()
        handler = type("Handler", (_Handler,), {"standin": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = False  # They are waited for when it stops.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def endpoint(self) -> str:
        """Return its URL."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def stopping(self) -> bool:
        """It serves no more, also on connections that are still open."""
        return self._stopping.is_set()

    @contextmanager
    def client(self, project: str) -> Iterator[bigquery.Client]:
        """Yield the real client, which talks to this instead of Google."""
        client = bigquery.Client(
            project=project,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options=ClientOptions(api_endpoint=self.endpoint),
        )
        try:
            yield client
        finally:
            client.close()  # type: ignore[no-untyped-call]

    def start(self) -> None:
        """Serve."""
        self._thread.start()

    def stop(self) -> None:
        """Serve no more; requests that hang end."""
        if self.stopping:
            return
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        with self._idle:
            for connection in self._connections:
                hang_up(connection)
        self._server.server_close()
        self._service.close()

    @contextmanager
    def connected(self, connection: socket.socket) -> Iterator[None]:
        """Count a connection of a client; most keep it longer than they need it."""
        with self._idle:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._idle:
                self._connections.discard(connection)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count a request that is under way."""
        with self._idle:
            self._active += 1
        try:
            yield
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def settle(self, seconds: float = 30.0) -> None:
        """Wait until all that was asked is done, though nobody may wait for an answer."""
        with self._idle:
            if not self._idle.wait_for(lambda: not self._active, seconds):
                raise TimeoutError("requests are still under way")

    def wait(self, seconds: float) -> None:
        """Let time pass, but not when stopping."""
        self._stopping.wait(seconds)

    def answer(self, method: str, url: str, body: bytes) -> tuple[int, Answer]:
        """Return the status and the body of the answer to a request."""
        split = urlsplit(url)
        try:
            self._service.limits.check_request(len(body))
            sent = json.loads(body) if body else {}
            query = dict(parse_qsl(split.query))
            return 200, self._service.answer(method, split.path, query, sent)
        except ApiError as error:
            return error.status, error.body
        except Exception as error:
            _logger.exception("the stand-in cannot do this")
            message = f"the stand-in cannot do this: {type(error).__name__}: {error}"
            return 501, ApiError(501, "notImplemented", message).body

    def control(self, method: str, what: str, body: bytes) -> Any:
        """Plan faults, forget them, or tell what came."""
        if what == "faults" and method == "POST":
            self.faults.add(*msgspec.json.decode(body, type=list[Fault]))
        if what == "faults" and method == "DELETE":
            self.faults.clear()
        return self.faults.requests() if what == "requests" else self.faults.planned()


@contextmanager
def standin(port: int = 0, limits: Limits | None = None) -> Iterator[StandIn]:
    """Run a stand-in for as long as the block takes."""
    server = StandIn(port, limits)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def hang_up(connection: socket.socket) -> None:
    """End a connection, whatever is under way on it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # The headers and the body are two packets.
    standin: StandIn

    def handle(self) -> None:
        with suppress(ConnectionError), self.standin.connected(self.connection):
            super().handle()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, *_: Any) -> None:
        """Tests read the request log instead."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        path = urlsplit(self.path).path
        if self.standin.stopping:
            self._hang_up()
            return
        if path.startswith(f"{CONTROL}/"):
            what = path.removeprefix(f"{CONTROL}/")
            self._send(200, msgspec.json.encode(self.standin.control(self.command, what, body)))
            return
        text = body.decode()
        fault = self.standin.faults.take(
            self.command, path, text, json.loads(text) if text else None
        )
        with self.standin.busy():
            if fault:
                self._fail(fault, body)
            else:
                self._answer(body)

    def _answer(self, body: bytes) -> None:
        status, answer = self.standin.answer(self.command, self.path, body)
        self._send(status, json.dumps(answer).encode())

    def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _fail(self, fault: Fault, body: bytes) -> None:
        match fault.kind:
            case Kind.ERROR:
                error = ApiError(fault.status, fault.reason, fault.message)
                self._send(fault.status, json.dumps(error.body).encode())
            case Kind.SLOW:
                self.standin.wait(fault.seconds)
                self._answer(body)
            case Kind.HANG | Kind.LATE:
                self.standin.wait(fault.seconds)
                if fault.kind is Kind.LATE:
                    self.standin.answer(self.command, self.path, body)
                self._hang_up()
            case Kind.LOST_BEFORE:
                self._hang_up()
            case _:
                self._spoil(fault.kind, body)

    def _spoil(self, kind: Kind, body: bytes) -> None:
        status, answer = self.standin.answer(self.command, self.path, body)
        content = json.dumps(answer).encode()
        if kind is Kind.GARBAGE:
            self._send(200, b"<html>a proxy on the way</html>", "text/html")
            return
        if kind is Kind.CUT:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
        self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        hang_up(self.connection)
