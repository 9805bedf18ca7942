"""A request that arrives in parts, each checked against the limits of the listener."""

from io import BytesIO

from lnamespace.http.limits import ServerLimits
from lnamespace.http.messages import HEADER_SIZE, HttpRequest
from lnamespace.translate.protocol.status import ApiStatus

_PARTS, _PART_BYTES = 4096, 16
"""The parts of a body that may be of any size, and the least bytes of further ones on average. Each
part takes a third of a microsecond of the thread that all share, before the sender is known."""


class UnacceptableRequest(Exception):
    """A request exceeds a limit, or asks for what is not offered."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = ApiStatus(code, reason, message)


class ArrivingRequest:
    """The parts of a request that have arrived.

    Each method raises UnacceptableRequest where the request can only be refused.
    """

    __slots__ = ("_body", "_headers", "_limits", "_parts", "_target", "head_complete", "head_size")

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body = BytesIO()
        """Not a list: a part of 2 bytes would take 60. Its value is no second copy."""
        self._parts = 0
        self.head_complete = False
        self.head_size = 0
        """Bytes of memory that the target and the headers take."""

    def add_target(self, part: bytes) -> None:
        """Append a part of the request target."""
        self._target += part
        self._grow(len(part))

    @property
    def path(self) -> str:
        """Return the target without its query, as far as it has arrived."""
        return self._target.decode("latin-1").partition("?")[0]

    def add_header(self, name: bytes, value: bytes) -> None:
        """Append a header; drop one that follows the body, which says nothing about the request."""
        if not self.head_complete:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))
        self._grow(len(name) + len(value) + HEADER_SIZE)

    def _grow(self, size: int) -> None:
        self.head_size += size
        if self.head_size > self._limits.head:
            raise headers_too_large()

    def expects_continue(self) -> bool:
        """Return whether the client waits for an interim answer before it sends the body."""
        expected = [value.lower() for key, value in self._headers if key == "expect"]
        if expected and expected != ["100-continue"]:
            raise UnacceptableRequest(417, "ExpectationFailed", "Expect is for 100-continue")
        return bool(expected)

    def add_body(self, part: bytes) -> None:
        """Append a part of the body."""
        size = self._body.tell()
        if size + len(part) > self._limits.body:
            why = f"Request entity too large: limit is {self._limits.body}"
            raise UnacceptableRequest(413, "RequestEntityTooLarge", why)
        self._parts += 1
        if self._parts > _PARTS + size // _PART_BYTES:
            raise UnacceptableRequest(400, "BadRequest", "the chunks of the body are too small")
        self._body.write(part)

    def complete(self, method: str, version: str, *, upgrade: bool) -> HttpRequest:
        """Return the request, which has arrived as a whole."""
        target, headers = self._target.decode("latin-1"), tuple(self._headers)
        return HttpRequest(method, target, headers, self._body.getvalue(), upgrade, version)


def headers_too_large() -> UnacceptableRequest:
    """Return the refusal of a request whose headers exceed the limit."""
    return UnacceptableRequest(431, "RequestHeaderFieldsTooLarge", "the headers are too large")
