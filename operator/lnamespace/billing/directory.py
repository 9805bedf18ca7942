"""Groups that a login does not tell, looked up in a directory outside of any request.

A lookup never waits. Who was not looked up yet is *pending*: what depends on their groups is
refused with the advice to try again, rather than charged to the wrong cost centre for ever.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Protocol

from lnamespace.billing.payers import Lookup
from lnamespace.errors import PayersError

logger = logging.getLogger(__name__)

USERS_MAX = 10_000
"""So many people's groups are kept; those who were asked for longest ago are forgotten first."""

WAITING_MAX = 1_000
"""So many lookups may wait; further ones are scheduled when their person asks again."""

RETRY_SECONDS = 60.0
"""After a failed lookup, until the next one for that person."""


class Directory(Protocol):
    """Knows who is in which group."""

    def groups_of(self, username: str) -> frozenset[str]:
        """All groups of a user, nested ones too, as the API server would name them.

        May wait, but not for ever. Called in threads.

        Raises
        ------
        PayersError
            The directory refused, failed or did not answer; the message says what to do.
        """


@dataclass(frozen=True)
class _Known:
    """What was found, and until when it counts as fresh, by the monotonic clock."""

    groups: frozenset[str]
    until: float


class CachedDirectory:
    """A directory whose answers are at hand, or not there yet.

    An answer that has grown old still counts while a new one is looked up. A lookup that fails
    leaves what was known; of somebody unknown, it leaves that they have no further groups.
    """

    def __init__(
        self, directory: Directory, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._seconds = seconds
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._waiting: set[str] = set()
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="directory")

    def groups_of(self, username: str) -> frozenset[str] | None:
        """What is known now; None for who is being looked up for the first time."""
        with self._lock:
            known = self._known.get(username)
            if known is None or known.until <= self._clock():
                self._schedule(username)
            if known is None:
                return None
            self._known.move_to_end(username)
            return known.groups

    def close(self) -> None:
        """Forget the lookups that wait; those under way end within their own bounds."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _schedule(self, username: str) -> None:
        if username not in self._waiting and len(self._waiting) < WAITING_MAX:
            self._waiting.add(username)
            self._threads.submit(self._look_up, username)

    def _look_up(self, username: str) -> None:
        try:
            found = _Known(self._directory.groups_of(username), self._clock() + self._seconds)
        except PayersError as error:
            logger.warning(
                "groups cannot be looked up", extra={"user": username, "problem": str(error)}
            )
            found = None
        except Exception:
            logger.exception("groups cannot be looked up", extra={"user": username})
            found = None
        with self._lock:
            self._remember(username, found)

    def _remember(self, username: str, found: _Known | None) -> None:
        before = self._known.get(username, _Known(frozenset(), 0.0))
        self._known[username] = found or _Known(before.groups, self._clock() + RETRY_SECONDS)
        self._waiting.discard(username)
        while len(self._known) > USERS_MAX:
            self._known.popitem(last=False)


class Directories:
    """The directory that the payers name at the moment; another one when they change."""

    def __init__(self) -> None:
        self._lookup: Lookup | None = None
        self._cached: CachedDirectory | None = None

    def groups_of(self, lookup: Lookup | None, username: str) -> frozenset[str] | None:
        """As :meth:`CachedDirectory.groups_of`; without a directory, there are none."""
        if lookup != self._lookup:
            self.close()
            self._lookup = lookup
            self._cached = _cached(lookup) if lookup else None
        return self._cached.groups_of(username) if self._cached else frozenset()

    def close(self) -> None:
        """Stop looking up."""
        if self._cached:
            self._cached.close()
        self._lookup, self._cached = None, None


def _cached(lookup: Lookup) -> CachedDirectory:
    return CachedDirectory(_Google(), 60.0 * lookup.refresh_minutes)


class _Google:
    """Cloud Identity, whose libraries and credentials are looked for in a lookup's thread."""

    @cached_property
    def _directory(self) -> Directory:
        from lnamespace.billing.cloud_identity import CloudIdentity  # noqa: PLC0415 - see above

        return CloudIdentity()

    def groups_of(self, username: str) -> frozenset[str]:
        return self._directory.groups_of(username)
