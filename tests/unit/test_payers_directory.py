"""Groups from a directory: at hand or not there yet, and never waited for.

Cloud Identity is a loopback server that speaks its protocol; nothing here ran against Google.
"""

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from google.auth.credentials import AnonymousCredentials
from lnamespace.errors import PayersError
from lnamespace.payers import directory
from lnamespace.payers.cloud_identity import CloudIdentity
from lnamespace.payers.directory import CachedDirectory, Directories
from lnamespace.payers.entries import DirectoryConfig

HOUR = 3600.0
RED = frozenset({"red"})
BLUE = frozenset({"blue"})


@dataclass
class Phonebook:
    """A directory whose answers wait until they are let go."""

    groups: dict[str, frozenset[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)

    def groups_of(self, username: str) -> frozenset[str]:
        self.asked.append(username)
        assert self.open.wait(10)
        if username not in self.groups:
            raise PayersError("no such person")
        return self.groups[username]


@dataclass
class Clock:
    """Monotonic seconds, as the test says."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book() -> Phonebook:
    return Phonebook({"alice": RED})


@pytest.fixture
def cached(book: Phonebook, clock: Clock) -> Iterator[CachedDirectory]:
    made = CachedDirectory(book, HOUR, clock)
    yield made
    book.open.set()
    made.close()


def test_the_groups_of_an_uncached_user_are_pending(
    book: Phonebook, cached: CachedDirectory
) -> None:
    assert cached.groups_of("alice") is None
    assert cached.groups_of("alice") is None
    book.open.set()
    until(lambda: cached.groups_of("alice") == RED)
    assert book.asked == ["alice"]


def test_stale_cached_groups_are_used_until_they_are_refreshed(
    book: Phonebook, cached: CachedDirectory, clock: Clock
) -> None:
    book.open.set()
    until(lambda: cached.groups_of("alice") == RED)
    book.open.clear()
    book.groups["alice"] = BLUE
    clock.now += HOUR
    assert cached.groups_of("alice") == RED
    book.open.set()
    until(lambda: cached.groups_of("alice") == BLUE)
    assert book.asked == ["alice", "alice"]


def test_a_failed_lookup_keeps_the_cache_and_is_tried_again(
    book: Phonebook, cached: CachedDirectory, clock: Clock
) -> None:
    book.open.set()
    until(lambda: cached.groups_of("alice") == RED)
    del book.groups["alice"]
    clock.now += HOUR
    cached.groups_of("alice")
    until(lambda: len(book.asked) == 2 and not cached._waiting)  # noqa: SLF001 - nothing else shows
    assert cached.groups_of("alice") == RED
    assert len(book.asked) == 2
    clock.now += directory.RETRY_SECONDS
    cached.groups_of("alice")
    until(lambda: len(book.asked) == 3)


def test_a_failed_first_lookup_leaves_the_groups_pending(
    book: Phonebook, cached: CachedDirectory, clock: Clock
) -> None:
    """One 503 at somebody's first creation charged them to the default, for ever."""
    book.open.set()
    assert cached.groups_of("bob") is None
    until(lambda: not cached._waiting)  # noqa: SLF001 - nothing else shows
    assert cached.groups_of("bob") is None
    assert book.asked == ["bob"]
    book.groups["bob"] = BLUE
    clock.now += directory.RETRY_SECONDS
    until(lambda: cached.groups_of("bob") == BLUE)


def test_lookups_of_many_invented_users_do_not_delay_other_callers(
    book: Phonebook, cached: CachedDirectory
) -> None:
    """1,000 invented addresses filled the line, and people stayed pending."""
    for number in range(2000):
        cached.groups_of(f"invented-{number}", "10.0.0.66")
    until(lambda: len(book.asked) == 4)
    assert cached.groups_of("alice", "10.0.0.1") is None
    book.open.set()
    until(lambda: cached.groups_of("alice", "10.0.0.1") == RED)
    assert book.asked.index("alice") < 12
    until(lambda: not cached._waiting)  # noqa: SLF001 - nothing else shows
    assert len(book.asked) <= directory.QUEUE_MAX + 5


def test_a_full_queue_has_room_for_the_caller_with_fewest_lookups(
    monkeypatch: pytest.MonkeyPatch, book: Phonebook, cached: CachedDirectory
) -> None:
    monkeypatch.setattr(directory, "WAITING_MAX", 10)
    for number in range(20):
        cached.groups_of(f"invented-{number}", "10.0.0.66")
    cached.groups_of("alice", "10.0.0.1")
    book.open.set()
    until(lambda: cached.groups_of("alice", "10.0.0.1") == RED)


def test_users_with_groups_are_kept_in_a_full_cache(
    monkeypatch: pytest.MonkeyPatch, book: Phonebook, cached: CachedDirectory
) -> None:
    monkeypatch.setattr(directory, "USERS_MAX", 3)
    book.open.set()
    until(lambda: cached.groups_of("alice") == RED)
    for number in range(20):
        book.groups[f"invented-{number}"] = frozenset()
        cached.groups_of(f"invented-{number}")
    until(lambda: not cached._waiting)  # noqa: SLF001 - nothing else shows
    asked = len(book.asked)
    assert cached.groups_of("alice") == RED
    assert len(book.asked) == asked


def test_an_exception_in_a_directory_counts_as_a_failed_lookup(clock: Clock) -> None:
    class Broken:
        def groups_of(self, username: str) -> frozenset[str]:
            raise ZeroDivisionError(username)

    cached = CachedDirectory(Broken(), HOUR, clock)
    assert cached.groups_of("alice") is None
    until(lambda: not cached._waiting)  # noqa: SLF001 - nothing else shows
    assert cached.groups_of("alice") is None
    cached.close()


def test_cache_and_queues_are_limited_in_size(
    monkeypatch: pytest.MonkeyPatch, book: Phonebook, cached: CachedDirectory
) -> None:
    monkeypatch.setattr(directory, "USERS_MAX", 3)
    monkeypatch.setattr(directory, "WAITING_MAX", 5)
    for number in range(100):
        assert cached.groups_of(f"user-{number}") is None
    book.open.set()
    until(lambda: not cached._waiting)  # noqa: SLF001 - nothing else shows
    assert 5 <= len(book.asked) <= 9
    assert len(cached._failed) == 3  # noqa: SLF001 - as above


def test_no_directory_gives_no_additional_groups() -> None:
    assert Directories().groups_of(None, "alice") == frozenset()


def test_a_directory_is_queried_only_while_it_is_configured() -> None:
    directories = Directories()
    assert directories.groups_of(DirectoryConfig(), "not an address") is None
    until(lambda: directories.groups_of(DirectoryConfig(), "not an address") == frozenset())
    assert directories.groups_of(None, "not an address") == frozenset()
    assert directories.groups_of(DirectoryConfig(), "system:node:a") == frozenset()
    directories.close()


class Google(http.server.ThreadingHTTPServer):
    """Answers as Cloud Identity does: two groups a page."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.groups = ["red@example.com", "blue@example.com", "green@example.com"]
        self.status = 200
        self.body: bytes | None = None
        self.queries: list[dict[str, list[str]]] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    server: Google

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        assert path == "/v1/groups/-/memberships:searchTransitiveGroups"
        self.server.queries.append(query)
        first = int(query.get("pageToken", ["0"])[0])
        page: dict[str, Any] = {
            "memberships": [
                {"group": "groups/x", "groupKey": {"id": group}, "relationType": "DIRECT"}
                for group in self.server.groups[first : first + 2]
            ]
        }
        if first + 2 < len(self.server.groups):
            page["nextPageToken"] = str(first + 2)
        body = json.dumps(page).encode() if self.server.body is None else self.server.body
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
        pass


@pytest.fixture
def google() -> Iterator[Google]:
    with Google() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asking(google: Google) -> CloudIdentity:
    return CloudIdentity(AnonymousCredentials(), google.endpoint)  # type: ignore[no-untyped-call]


def test_all_pages_of_groups_are_read(google: Google) -> None:
    found = asking(google).groups_of("alice@example.com")
    assert found == {"red@example.com", "blue@example.com", "green@example.com"}
    member, labels = google.queries[0]["query"][0].split(" && ")
    assert member == "member_key_id == 'alice@example.com'"
    assert labels == "'cloudidentity.googleapis.com/groups.discussion_forum' in labels"
    assert len(google.queries) == 2


def test_a_user_without_groups_has_no_groups(google: Google) -> None:
    google.body = b"{}"
    assert asking(google).groups_of("alice@example.com") == frozenset()


@pytest.mark.parametrize(
    "username",
    ["alice", "a' || '1'=='1@example.com", "a@b'c", "system:serviceaccount:a:b", "a@b\n", ""],
)
def test_google_is_queried_only_for_email_addresses(google: Google, username: str) -> None:
    assert asking(google).groups_of(username) == frozenset()
    assert google.queries == []


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (403, b"{}", "Cloud Identity Premium"),
        (404, b"{}", "404"),
        (200, b"<html>", "cannot be read"),
        (200, b'{"memberships": 3}', "cannot be read"),
    ],
)
def test_an_error_of_google_is_raised_with_its_reason(
    google: Google, status: int, body: bytes, said: str
) -> None:
    google.status, google.body = status, body
    with pytest.raises(PayersError, match=said):
        asking(google).groups_of("alice@example.com")


def test_the_number_of_pages_is_limited(google: Google) -> None:
    google.body = b'{"nextPageToken": "1"}'
    with pytest.raises(PayersError, match="pages"):
        asking(google).groups_of("alice@example.com")


def test_a_directory_that_does_not_answer_is_an_error() -> None:
    with Google() as server:
        endpoint = server.endpoint
    with pytest.raises(PayersError, match="did not answer"):
        CloudIdentity(
            AnonymousCredentials(),  # type: ignore[no-untyped-call]
            endpoint,
        ).groups_of("alice@example.com")
