"""The same request to two clusters, and in what the answers differ."""

import json
import time
from collections.abc import Iterator
from typing import Any

from tests.e2e.support.api import JSON, Answer, Api, Object

_OF_ITS_OWN = frozenset(
    {
        "ca.crt",
        "continue",
        "creationTimestamp",
        "deletionTimestamp",
        "remainingItemCount",
        "resourceVersion",
        "time",
        "uid",
    }
)
_HEADERS = frozenset({"cache-control", "content-type", "warning"})
_OF_CONTROLLERS = frozenset({"status", "deployment.kubernetes.io/revision"})


class Comparison:
    """Two clusters that are asked the same."""

    def __init__(self, plain: Api, other: Api) -> None:
        self._both = plain, other
        self.differences: list[str] = []

    def ask(
        self, method: str, path: str, body: Any = None, kind: str = JSON, *, accept: str = JSON
    ) -> None:
        """Ask both clusters, and note the differences of the answers: status, headers and body."""
        asked = f"{method} {path} {body or ''}"[:160]
        headers = (("Accept", accept), ("Content-Type", kind))
        sent = b"" if body is None else json.dumps(body).encode()
        plain, other = (_answer(each, method, path, sent, headers) for each in self._both)
        self.differences += [f"{asked}: {each}" for each in _differences(plain, other)]

    def ask_for_headers(self, path: str, accept: str = JSON) -> None:
        """Ask both clusters, and note differences of status and headers; bodies are their own."""
        headers = (("Accept", accept),)
        plain, other = (_answer(each, "GET", path, b"", headers) for each in self._both)
        found = _differences(plain | {"body": ""}, other | {"body": ""})
        self.differences += [f"GET {path}: {each}" for each in found]


def _answer(
    api: Api, method: str, path: str, body: bytes, headers: tuple[tuple[str, str], ...]
) -> Any:
    answer = api.answer(method, path, body, headers)
    while answer.status == 429:
        time.sleep(1)  # As any client does where the server asks for patience.
        answer = api.answer(method, path, body, headers)
    try:
        told = _comparable(json.loads(answer.body))
    except ValueError:
        told = answer.body.decode(errors="replace")
    return {"status": answer.status, "headers": _headers(answer), "body": told}


def _headers(answer: Answer) -> dict[str, list[str]]:
    """Return those headers of an answer that clients act on, each with all its values."""
    found: dict[str, list[str]] = {}
    for line in answer.headers.splitlines():
        name, _, value = line.partition(": ")
        if name.lower() in _HEADERS:
            found.setdefault(name.lower(), []).append(value)
    return found


def _comparable(value: Any) -> Any:
    """Return an answer without what no two clusters have in common."""
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    shown = {
        key: "..." if key in _OF_ITS_OWN and isinstance(each, str | int) else _comparable(each)
        for key, each in value.items()
        if key not in _OF_CONTROLLERS or value.get("kind") == "Status"
    }
    managed = shown.get("managedFields")
    return shown | {"managedFields": _managers(managed)} if isinstance(managed, list) else shown


def _managers(entries: list[Object]) -> list[Object]:
    people = [each for each in entries if each.get("manager") != "kube-controller-manager"]
    return sorted(people, key=str)


def _differences(plain: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(plain, dict) and isinstance(other, dict):
        for key in sorted({*plain, *other}):
            yield from _differences(plain.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(plain, list) and isinstance(other, list) and len(plain) == len(other):
        for index, pair in enumerate(zip(plain, other, strict=True)):
            yield from _differences(*pair, f"{path}[{index}]")
    elif plain != other:
        yield f"{path} is {plain!r:.300}, through the gateway {other!r:.300}"
