"""A webhook of a tenant: an HTTPS server of the test's own, which keeps what it was asked."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.e2e.support.api import Object
from tests.e2e.support.gateway import machine_address, make_certificates

Answer = Callable[[Object], Object]
"""Returns the response to the request of a review."""


@dataclass
class Hook:
    """A webhook: the reviews that it was sent, and its answer to each path."""

    port: int
    authority: bytes
    answers: dict[str, Answer]
    asked: list[Object] = field(default_factory=list)

    def client(self, namespace: str, service: str, path: str) -> Object:
        """Return its `clientConfig`."""
        return {
            "service": {"namespace": namespace, "name": service, "path": path},
            "caBundle": base64.b64encode(self.authority).decode(),
        }

    def about(self, name: str) -> Object:
        """Return the last review of an object, by the object's name."""
        return [each for each in self.asked if each.get("name") == name][-1]


def patched(*operations: Object) -> Object:
    """Return a response that changes the object."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


@contextmanager
def listening(folder: Path, answers: dict[str, Answer]) -> Iterator[Hook]:
    """Yield a webhook on a port of this machine."""
    make_certificates(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = review["request"]
            hook.asked.append(request)
            response = {"uid": request["uid"]} | hook.answers[self.path.partition("?")[0]](request)
            body = json.dumps(review | {"request": None, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with ThreadingHTTPServer((machine_address(), 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        hook = Hook(server.server_port, (folder / "ca.crt").read_bytes(), answers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield hook
        finally:
            server.shutdown()
