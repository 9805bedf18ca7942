"""Requests, answers and their headers."""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

Headers = tuple[tuple[str, str], ...]
"""Names in lower case, and values, in the order in which they came."""

HEADER_SIZE = 192
"""Bytes that a header takes besides its text: a pair of strings in a list."""

_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True)
class HttpRequest:
    """One request of a client, with its whole body."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""
    upgrade: bool = False
    version: str = "1.1"

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]

    @property
    def chunks(self) -> bool:
        """Return whether the client reads an answer in chunks: before HTTP/1.1 none did."""
        return self.version == "1.1"

    def values(self, name: str) -> list[str]:
        """Return all values of a header."""
        return [value for key, value in self.headers if key == name]

    def value(self, name: str) -> str:
        """Return the first value of a header; empty without one."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""


def encode_response_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the status line and the headers of an answer."""
    return _encode(f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}", headers)


def encode_request_head(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the request line and the headers of a request."""
    return _encode(f"{method} {target} HTTP/1.1", headers)


def _encode(first: str, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [first, *[f"{name}: {value}" for name, value in headers], "", ""]
    head = "\r\n".join(lines)
    # A value with a line break would be a header, or a request, of its author's choice.
    if head.count("\n") != len(lines) - 1 or "\r" in head.replace("\r\n", ""):
        raise ValueError("a header contains a line break")
    return head.encode("latin-1")
