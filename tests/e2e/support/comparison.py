"""The same request to two clusters, and in what the answers differ."""

from collections.abc import Iterator
from typing import Any

from tests.e2e.support.api import JSON, Api, ApiError, Object

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
_OF_CONTROLLERS = frozenset({"status", "deployment.kubernetes.io/revision"})


class Comparison:
    """Two clusters that are asked the same."""

    def __init__(self, plain: Api, other: Api) -> None:
        self._plain, self._other = plain, other
        self.differences: list[str] = []

    def ask(self, method: str, path: str, body: Any = None, kind: str = JSON) -> None:
        """Ask both, and note in what their answers differ."""
        asked = f"{method} {path} {body or ''}"[:160]
        plain = _answer(self._plain, method, path, body, kind)
        other = _answer(self._other, method, path, body, kind)
        self.differences += [f"{asked}: {each}" for each in _differences(plain, other)]


def _answer(api: Api, method: str, path: str, body: Any, kind: str) -> Any:
    requests = {
        "GET": lambda: api.get(path),
        "POST": lambda: api.create(path, body),
        "PUT": lambda: api.replace(path, body),
        "PATCH": lambda: api.patch(path, body, kind),
        "DELETE": lambda: api.delete(path),
    }
    try:
        return _comparable(requests[method]())
    except ApiError as error:
        return {"status": error.status, "reason": error.reason, "message": error.message}


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
