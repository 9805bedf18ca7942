"""Failing on purpose: which requests fail, how, and how many times."""

import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec


class Kind(StrEnum):
    """A way to fail."""

    ERROR = "error"
    """An answer with ``status`` and ``reason``; nothing is done."""
    LOST_BEFORE = "lost-before"
    """The connection ends; nothing is done."""
    LOST_AFTER = "lost-after"
    """It is done, and the connection ends without an answer."""
    CUT = "cut"
    """It is done, and the connection ends in the middle of the answer."""
    GARBAGE = "garbage"
    """It is done, and the answer is no JSON, as from a proxy on the way."""
    HANG = "hang"
    """No answer for ``seconds``; nothing is done."""
    LATE = "late"
    """No answer for ``seconds``, and only then is it done, whoever still waits."""
    SLOW = "slow"
    """It is done and answered, after ``seconds``."""


class Fault(msgspec.Struct, frozen=True):
    """How requests fail whose method and path contain ``where`` and whose body ``containing``.

    ``times`` is how many of them; 0 is all that come. ``skip`` lets as many pass before.
    """

    kind: Kind
    where: str = ""
    containing: str = ""
    times: int = 1
    skip: int = 0
    status: int = 503
    reason: str = "backendError"
    message: str = "as the test asked for"
    seconds: float = 3600.0


QUICK_FAULTS = (
    Fault(Kind.ERROR),
    Fault(Kind.ERROR, times=50),
    Fault(Kind.ERROR, status=403, reason="rateLimitExceeded"),
    Fault(Kind.ERROR, status=403, reason="quotaExceeded"),
    Fault(Kind.ERROR, status=403, reason="accessDenied"),
    Fault(Kind.ERROR, status=404, reason="notFound"),
    Fault(Kind.ERROR, status=400, reason="invalidQuery"),
    Fault(Kind.LOST_BEFORE),
    Fault(Kind.LOST_AFTER),
    Fault(Kind.LOST_AFTER, times=50),
    Fault(Kind.CUT),
    Fault(Kind.GARBAGE),
)
"""A storm of all that fails at once; what takes time is up to the test."""


@dataclass(frozen=True)
class Request:
    """A request that came; ``fault`` is what was done to it."""

    method: str
    path: str
    body: Any
    fault: Kind | None


class Faults:
    """The faults that are to come, and the requests that came. Shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planned: list[Fault] = []
        self._requests: list[Request] = []

    def add(self, *faults: Fault) -> None:
        """Plan faults; of several that fit, the one planned first is done first."""
        with self._lock:
            self._planned.extend(faults)

    def clear(self) -> None:
        """Fail no more."""
        with self._lock:
            self._planned.clear()

    def planned(self) -> list[Fault]:
        """Return what is still to come."""
        with self._lock:
            return list(self._planned)

    def requests(self, where: str = "") -> list[Request]:
        """Return the requests that came, the oldest first; only those of such a method and path."""
        with self._lock:
            return [one for one in self._requests if where in f"{one.method} {one.path}"]

    def forget(self) -> None:
        """Forget the requests that came."""
        with self._lock:
            self._requests.clear()

    def take(self, method: str, path: str, text: str, body: Any) -> Fault | None:
        """Return the fault that this request meets, if any, and note the request."""
        with self._lock:
            fault = self._next(f"{method} {path}", text)
            self._requests.append(Request(method, path, body, fault.kind if fault else None))
            return fault

    def _next(self, called: str, text: str) -> Fault | None:
        for place, fault in enumerate(self._planned):
            if fault.where not in called or fault.containing not in text:
                continue
            if fault.skip:
                self._planned[place] = msgspec.structs.replace(fault, skip=fault.skip - 1)
                continue
            if fault.times == 1:
                del self._planned[place]
            elif fault.times:
                self._planned[place] = msgspec.structs.replace(fault, times=fault.times - 1)
            return fault
        return None
