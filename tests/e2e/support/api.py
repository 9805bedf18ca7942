"""A small client of the API server: JSON in and out, over one connection for each thread."""

import base64
import http.client
import json
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

Object = dict[str, Any]

JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"

GROUP = "tenancy.loblaw.digital"
LNAMESPACES = f"/apis/{GROUP}/v1beta1/lnamespaces"
NAMESPACES = "/api/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lnamespaces.{GROUP}"
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = (
    f"{_REGISTRATION}/mutatingwebhookconfigurations/lnamespace-webhook",
    f"{_REGISTRATION}/validatingwebhookconfigurations/lnamespace-webhook",
)

_PATIENCE = 10
"""So many times a server may ask for patience."""

_ANSWER = 60.0
"""Seconds; after these the API server itself says that it took too long."""

_CUT = (ConnectionError, http.client.BadStatusLine, http.client.IncompleteRead, ssl.SSLError)
_LOST = (http.client.HTTPException, OSError)
"""All that can come of a connection besides an answer, time-outs too."""


class ApiError(Exception):
    """The API server refused a request; the message is its own."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 1) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.retry_after = retry_after
        self.status = status
        self.reason = reason
        self.message = message


class Unreachable(Exception):
    """The API server did not answer."""


class _Connection(http.client.HTTPSConnection):
    """A connection that is closed with the thread or the client that it belongs to."""

    server_name = ""
    """The name that the server's certificate must have, where that is not its host."""
    tls: ssl.SSLContext

    def connect(self) -> None:
        if not self.server_name:
            super().connect()
            return
        plain = socket.create_connection((self.host, self.port), self.timeout)
        # As the module does: else the body waits 40 ms until what is before it is acknowledged.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self.tls.wrap_socket(plain, server_hostname=self.server_name)

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True)
class Answer:
    """All that a server answered."""

    status: int
    headers: str
    body: bytes

    @property
    def text(self) -> str:
        """Return headers and body as text, whatever their encoding."""
        return self.headers + "\n\n" + self.body.decode("latin-1")


@dataclass(frozen=True)
class OpenAnswer:
    """An answer that goes on; its connection is closed when nobody has it any more."""

    _connection: _Connection
    _response: http.client.HTTPResponse

    def readline(self) -> bytes:
        """Return the next line; empty at the end."""
        return self._response.readline()

    def close(self) -> None:
        """Read no more of it."""
        self._connection.close()


class Api:
    """A client with the credentials of one kubeconfig, as that person or impersonating."""

    def __init__(self, kubeconfig: Path, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._kubeconfig = kubeconfig
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        self.address = urlsplit(cluster["server"])
        self.server_name = cluster.get("tls-server-name", "")
        self.tls = ssl.create_default_context(cadata=_decoded(cluster))
        self._headers = headers
        if "token" in user:
            self._headers = (("Authorization", f"Bearer {user['token']}"), *headers)
        else:
            _load_certificate(self.tls, user)
        self._local = threading.local()

    def acting(self, user: str, *groups: str, **more: str) -> "Api":
        """Return a client of the same person that impersonates; further headers by name."""
        headers = [("Impersonate-User", user)] if user else []
        headers += [("Impersonate-Group", group) for group in groups]
        headers += [(name.replace("_", "-"), value) for name, value in more.items()]
        return Api(self._kubeconfig, tuple(headers))

    def with_headers(self, *headers: tuple[str, str]) -> "Api":
        """Return a client of the same person with further headers, also several of one name."""
        return Api(self._kubeconfig, (*self._headers, *headers))

    def with_token(self, token: str, file: Path) -> "Api":
        """Return a client of the token's user; the file becomes their kubeconfig."""
        document = yaml.safe_load(self._kubeconfig.read_text())
        document["users"][0]["user"] = {"token": token}
        file.write_text(yaml.safe_dump(document))
        return Api(file)

    @property
    def kubeconfig(self) -> Path:
        """Return the file with the address and the credentials."""
        return self._kubeconfig

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers that name the sender."""
        return self._headers

    def get(self, path: str, **query: str) -> Object:
        """Read an object or a list."""
        return self._json("GET", path, query)

    def items(self, path: str, **query: str) -> list[Object]:
        """Read the items of a list."""
        found: list[Object] = self.get(path, **query)["items"]
        return found

    def find(self, path: str) -> Object | None:
        """Read an object; None if there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def create(self, path: str, body: Object, **query: str) -> Object:
        """Create an object in a collection."""
        return self._json("POST", path, query, body)

    def replace(self, path: str, body: Object, **query: str) -> Object:
        """Replace an object."""
        return self._json("PUT", path, query, body)

    def patch(self, path: str, body: Any, kind: str = MERGE, **query: str) -> Object:
        """Change an object."""
        return self._json("PATCH", path, query, body, kind)

    def delete(self, path: str, **query: str) -> Object:
        """Delete an object."""
        return self._json("DELETE", path, query)

    def remove(self, path: str) -> None:
        """Delete an object if there is one."""
        try:
            self.delete(path)
        except ApiError as error:
            if error.status != 404:
                raise

    def text(self, path: str) -> str:
        """Read what is not JSON."""
        return self._request("GET", path, None, JSON).decode()

    def send(self, method: str, path: str, body: bytes) -> bytes:
        """Send JSON as it is written, and return the answer."""
        return self._request(method, path, body, JSON)

    def status(self, path: str) -> int:
        """Read something on a kept connection, once; the status, or 0 without an answer."""
        try:
            self._attempt("GET", path, None, JSON)
        except ApiError as error:
            return error.status
        except Unreachable:
            return 0
        return 200

    def answer(
        self, method: str, path: str, body: bytes = b"", headers: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        """Send a request on a connection of its own; return the answer, whatever it is."""
        connection = self._connected()
        answer = self._ask(connection, method, path, (*self._headers, *headers), body)
        lines = "\n".join(f"{name}: {value}" for name, value in answer.getheaders())
        return Answer(answer.status, lines, answer.read())

    def stream(self, path: str) -> Iterator[Object]:
        """Read the events of a watch, until it ends or breaks."""
        connection = self._connected()
        try:
            answer = self._ask(connection, "GET", path, self._headers, b"")
            if answer.status >= 300:
                raise _error(answer.status, answer.read(), answer.getheader("Retry-After") or "1")
            while line := answer.readline():
                yield json.loads(line)
        except _LOST as error:
            raise Unreachable(f"GET {path}: {error!r}") from error
        finally:
            connection.close()

    def _json(
        self, method: str, path: str, query: dict[str, str], body: Any = None, kind: str = JSON
    ) -> Object:
        data = None if body is None else json.dumps(body).encode()
        where = f"{path}?{urlencode(query)}" if query else path
        answer: Object = json.loads(self._request(method, where, data, kind))
        return answer

    def _request(self, method: str, path: str, body: bytes | None, kind: str) -> bytes:
        """Send a request; try again where the server asks for patience, as any client does."""
        for _ in range(_PATIENCE):
            try:
                return self._attempt(method, path, body, kind)
            except ApiError as error:
                if error.status != 429:
                    raise
                time.sleep(error.retry_after)
        return self._attempt(method, path, body, kind)

    def _attempt(self, method: str, path: str, body: bytes | None, kind: str) -> bytes:
        kept: _Connection | None = getattr(self._local, "connection", None)
        try:
            if kept is not None:
                with suppress(*_CUT):  # the server closed it while it was idle
                    return self._exchange(kept, method, path, body, kind)
                kept.close()
            kept = self._local.connection = self._connected()
            return self._exchange(kept, method, path, body, kind)
        except _LOST as error:
            if kept is not None:
                kept.close()
            self._local.connection = None
            raise Unreachable(f"{method} {path}: {error!r}") from error

    def opened(self, path: str) -> OpenAnswer:
        """Open an answer that goes on, on a connection of its own."""
        connection = self._connected()
        response = self._ask(connection, "GET", path, self._headers, b"")
        if response.status >= 300:
            raise _error(response.status, response.read(), "1")
        return OpenAnswer(connection, response)

    def _connected(self) -> _Connection:
        host, port = str(self.address.hostname), self.address.port
        connection = _Connection(host, port, timeout=_ANSWER, context=self.tls)
        connection.server_name, connection.tls = self.server_name, self.tls
        return connection

    def _exchange(
        self,
        connection: _Connection,
        method: str,
        path: str,
        body: bytes | None,
        kind: str,
    ) -> bytes:
        headers = (("Accept", JSON), ("Content-Type", kind), *self._headers)
        response = self._ask(connection, method, path, headers, body or b"")
        answer = response.read()
        if response.status >= 300:
            raise _error(response.status, answer, response.getheader("Retry-After") or "1")
        return answer

    def _ask(
        self,
        connection: _Connection,
        method: str,
        path: str,
        headers: tuple[tuple[str, str], ...],
        body: bytes,
    ) -> http.client.HTTPResponse:
        """Send a request; who refuses it may answer, and close, before all of it is sent."""
        if connection.sock is None:
            connection.connect()
        # Else the library asks for no compression first.
        compressed = any(name == "Accept-Encoding" for name, _ in headers)
        path = self.address.path + path
        connection.putrequest(method, path, skip_accept_encoding=compressed)
        for name, value in headers:
            connection.putheader(name, value.encode())
        connection.putheader("Content-Length", str(len(body)))
        with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            connection.endheaders(body)
        return connection.getresponse()


def lns_path(name: str) -> str:
    """Return the path of an LNamespace."""
    return f"{LNAMESPACES}/{name}"


def ns_path(name: str, kind: str = "", item: str = "") -> str:
    """Return the path of a Namespace, of the objects of a core kind in it, or of one of them."""
    return "/".join(filter(None, (NAMESPACES, name, kind, item)))


def rbac_path(kind: str, name: str = "", namespace: str = "") -> str:
    """Return the path of roles or bindings."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{RBAC}{scope}/{kind}" + (f"/{name}" if name else "")


def _decoded(cluster: dict[str, str]) -> str:
    return base64.b64decode(cluster["certificate-authority-data"]).decode()


def _load_certificate(tls: ssl.SSLContext, user: dict[str, str]) -> None:
    """Load a certificate; TLS needs files for as long as it reads them."""
    with tempfile.NamedTemporaryFile() as file:
        for part in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[part]))
        file.flush()
        tls.load_cert_chain(file.name)


def _error(status: int, body: bytes, retry_after: str) -> ApiError:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = {"message": body.decode(errors="replace")}
    reason, message = answer.get("reason", ""), answer.get("message", "")
    return ApiError(status, reason, message, float(retry_after))


def refusal(
    request: Callable[..., object], *arguments: Any, status: int = 403, **query: str
) -> str:
    """Return the message of a refusal, which a request must meet at once or within `eventually`."""
    refused: ApiError | None = None
    try:
        request(*arguments, **query)
    except ApiError as error:
        refused = error
    assert refused is not None, "it was not refused"
    assert refused.status == status, str(refused)
    return refused.message


def unless(reason: str, request: Callable[..., object], *arguments: Any, **query: str) -> bool:
    """Return whether a request succeeded; only one reason for a refusal is accepted."""
    try:
        request(*arguments, **query)
    except ApiError as error:
        if error.reason != reason:
            raise
        return False
    return True
