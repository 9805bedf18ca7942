"""Groups that a login does not name, from a directory such as Google's, cached.

No request waits for a directory: it gets the groups of the cache, and threads fill the cache. A
person who is not in the cache yet is *pending*: what depends on their groups is refused with the
advice to try again. To charge them by the groups that are known would be wrong for ever.
"""

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Protocol, TypeVar

from lnamespace.errors import PayersError
from lnamespace.payers.entries import DirectoryConfig
from lnamespace.runtime.texts import install_advice

logger = logging.getLogger(__name__)

T = TypeVar("T")

USERS_MAX = 10_000
"""People in the cache. Beyond it, the person who asked longest ago is dropped."""

WAITING_MAX = 1_000
QUEUE_MAX = 250
"""The most lookups that wait: in all, and for one caller. Further ones are dropped until the person
asks again."""

RETRY_SECONDS = 60.0
"""Seconds from a failed lookup to the next one for that person."""


class Directory(Protocol):
    """A service that knows who is in which group."""

    def groups_of(self, username: str) -> frozenset[str]:
        """Return all groups of a user, nested ones too, as the API server would name them.

        Called in threads; it may block, for a bounded time.

        Raises
        ------
        PayersError
            The directory refused, failed or did not answer; the message says what to do.
        """


@dataclass(frozen=True)
class _Known:
    """The groups of a person, and until when they are fresh, by the monotonic clock."""

    groups: frozenset[str]
    until: float


class CachedDirectory:
    """A cache of a directory, refreshed by threads.

    A stale answer is returned while a fresh one is looked up. A failed lookup changes nothing: an
    unknown person stays unknown, because a cached "no groups" would charge them wrongly.

    Each caller, by address, has a queue of its own, and the queues take turns. With one queue, a
    caller who sent reviews of 1,000 invented users filled it, and real users stayed pending. For
    the same reason users without groups are dropped from the cache first.
    """

    def __init__(
        self, directory: Directory, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._seconds = seconds
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._without_groups: OrderedDict[str, _Known] = OrderedDict()
        self._failed: OrderedDict[str, float] = OrderedDict()
        self._waiting: set[str] = set()
        self._queues: OrderedDict[str, deque[str]] = OrderedDict()
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="directory")

    def groups_of(self, username: str, caller: str = "") -> frozenset[str] | None:
        """Return the groups in the cache; None for a person who has not been looked up yet."""
        with self._lock:
            known = self._known.get(username) or self._without_groups.get(username)
            if known is None or known.until <= self._clock():
                self._schedule(username, caller)
            if known is None:
                return None
            (self._known if known.groups else self._without_groups).move_to_end(username)
            return known.groups

    def close(self) -> None:
        """Drop the lookups that wait; those under way end within their own bounds."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _schedule(self, username: str, caller: str) -> None:
        if username in self._waiting or self._failed.get(username, 0.0) > self._clock():
            return
        queue = self._queues.get(caller, ())
        if len(queue) >= QUEUE_MAX or (
            len(self._waiting) >= WAITING_MAX and not self._make_room(queue)
        ):
            return
        self._waiting.add(username)
        self._queues.setdefault(caller, deque()).append(username)
        self._threads.submit(self._look_up_next)

    def _make_room(self, queue: Collection[str]) -> bool:
        """Drop the last lookup of the longest queue, if that is longer than ``queue``."""
        longest = max(self._queues.values(), key=len, default=deque[str]())
        if len(longest) <= len(queue) + 1:
            return False
        self._waiting.discard(longest.pop())
        return True

    def _look_up_next(self) -> None:
        """Look up the first person of the queue whose turn it is."""
        with self._lock:
            if not self._queues:
                return  # _make_room dropped a lookup, so there is a thread too many.
            caller, queue = self._queues.popitem(last=False)
            username = queue.popleft()
            if queue:
                self._queues[caller] = queue
        self._look_up(username)

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
        self._waiting.discard(username)
        if found is None:
            self._failed[username] = self._clock() + RETRY_SECONDS
            _forget_oldest(self._failed)
            return
        self._failed.pop(username, None)
        self._known.pop(username, None)
        self._without_groups.pop(username, None)
        (self._known if found.groups else self._without_groups)[username] = found
        _forget_oldest(self._known)
        _forget_oldest(self._without_groups)


def _forget_oldest(people: "OrderedDict[str, T]") -> None:
    while len(people) > USERS_MAX:
        people.popitem(last=False)


class Directories:
    """The directory that the payers' file names at the moment; replaced when the file changes."""

    def __init__(self) -> None:
        self._lookup: DirectoryConfig | None = None
        self._cached: CachedDirectory | None = None

    def groups_of(
        self, lookup: DirectoryConfig | None, username: str, caller: str = ""
    ) -> frozenset[str] | None:
        """Return the groups in the cache of the directory; None for a person who is pending.

        Without a directory, and for users of the system such as ServiceAccounts, there are no
        groups: tenants can create ServiceAccounts.
        """
        if lookup != self._lookup:
            self.close()
            self._lookup = lookup
            self._cached = _cached(lookup) if lookup else None
        if not self._cached or username.startswith("system:"):
            return frozenset()
        return self._cached.groups_of(username, caller)

    def close(self) -> None:
        """Stop the lookups."""
        if self._cached:
            self._cached.close()
        self._lookup, self._cached = None, None


def _cached(lookup: DirectoryConfig) -> CachedDirectory:
    return CachedDirectory(_CloudIdentityDirectory(), 60.0 * lookup.refresh_minutes)


class _CloudIdentityDirectory:
    """Cloud Identity, whose libraries (slow to import) and credentials are loaded in a thread."""

    @cached_property
    def _directory(self) -> Directory:
        try:
            from lnamespace.payers.cloud_identity import CloudIdentity  # noqa: PLC0415 - see above
        except ImportError as error:
            message = f"no library for Cloud Identity ({error}); {install_advice('cloud-identity')}"
            raise PayersError(message) from None

        return CloudIdentity()

    def groups_of(self, username: str) -> frozenset[str]:
        return self._directory.groups_of(username)
