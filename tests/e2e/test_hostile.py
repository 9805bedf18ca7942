"""What a tenant who means harm tries at the webhook, and a thief of the ledger's token."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from urllib.parse import urlsplit

import pytest

from tests.e2e.support.api import (
    APPLY,
    CONFIGURATIONS,
    GROUP,
    JSON_PATCH,
    LNAMESPACES,
    Api,
    ApiError,
    Object,
    lns_path,
    ns_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import LEDGER_ACCOUNT, RELEASE_NAMESPACE, Cluster
from tests.e2e.support.people import People, Person
from tests.e2e.support.rights import Rights, edit
from tests.e2e.support.tenants import Tenants, ending, group, manifest, member, soon
from tests.e2e.support.waiting import eventually

CARRIED = f"{GROUP}/v1beta1"
OLDER_LNAMESPACES = LNAMESPACES.replace("v1beta1", "v1alpha1")
RECORDS = LNAMESPACES.replace("lnamespaces", "billingrecords")
END = "2999-12-31T23:59:59Z"
METADATA_MAX = 96 * 1024
NOBODY = "somebody must be able to edit it"


@pytest.fixture(scope="module")
def mallory(people: People) -> Person:
    """Return Mallory, who means harm."""
    return people.person("mallory")


@pytest.fixture(scope="module")
def bob(people: People) -> Person:
    """Return Bob, who has nothing to do with it."""
    return people.person("bob")


@pytest.fixture(scope="module")
def name(tenants: Tenants, mallory: Person, rights: Rights) -> str:
    """Return an LNamespace of which Mallory is the only manager."""
    made = tenants.make("hostile", users=["mallory"], managers=["mallory"])
    eventually(lambda: rights.may(mallory.who, edit(made)))
    return made


def older(path: str) -> str:
    return path.replace("v1beta1", "v1alpha1")


# --- one object that spoils the lists of all


def full(name: str, room: int) -> Object:
    """Annotations that leave so many bytes, on what needs one more in v1alpha1."""
    body = manifest(name, managers=["mallory"], users=[{"name": "bob", "expiresAt": END}])
    body["metadata"]["annotations"] = {"a": "x" * (METADATA_MAX - room)}
    return body


@pytest.mark.parametrize("room", [0, 40, -(2**17)])
def test_annotations_that_would_exceed_the_size_limit_are_refused(
    room: int, tenants: Tenants, mallory: Person, bob: Person
) -> None:
    """Taken, they would fail every list in v1alpha1, or lose an end there: bob would stay."""
    name = tenants.name("full")
    assert "Too long" in refusal(mallory.api.create, LNAMESPACES, full(name, room), status=422)
    assert bob.api.items(OLDER_LNAMESPACES) is not None


def test_annotations_just_within_the_size_limit_are_kept_and_cannot_grow(
    tenants: Tenants, mallory: Person, bob: Person, rights: Rights
) -> None:
    name = tenants.name("full")
    mallory.api.create(LNAMESPACES, full(name, 600))
    assert name in [item["metadata"]["name"] for item in bob.api.items(OLDER_LNAMESPACES)]
    eventually(lambda: rights.may(mallory.who, edit(name)))
    mallory.api.patch(older(lns_path(name)), {"spec": {"deletionPolicy": "Retain"}})
    spec = tenants.get(name)["spec"]
    assert (spec["deletionPolicy"], spec["users"][0]["expiresAt"]) == ("Retain", END)
    change = {"metadata": {"annotations": {"b": "x" * 600}}}
    assert "Too long" in refusal(mallory.api.patch, lns_path(name), change, status=422)
    tenants.delete(name)


def test_a_null_or_invalid_expiry_time_is_refused_with_a_readable_message(mallory: Person) -> None:
    """Null was dropped without a word, and the entry was for ever."""
    for end, words in ((None, "may not be null"), ("tomorrow", "such as 2030-01-31T17:00:00Z")):
        body = manifest("never", users=[{"name": "bob", "expiresAt": end}])
        assert words in refusal(mallory.api.create, LNAMESPACES, body, status=422)


# --- lists that end up empty

EMPTIED: dict[str, tuple[str, object]] = {
    "a merge of an empty list": ("", {"spec": {"managers": []}}),
    "a merge of nothing": ("", {"spec": {"managers": None}}),
    "the older version": ("v1alpha1", {"spec": {"managers": []}}),
    "an end in the past": ("", {"spec": {"managers": [ending("mallory", soon(-5))]}}),
    "a JSON patch": ("", [{"op": "remove", "path": "/spec/managers"}]),
    "a move to another list": (
        "",
        [
            {"op": "remove", "path": "/spec/users"},
            {"op": "move", "from": "/spec/managers", "path": "/spec/users"},
        ],
    ),
}


@pytest.mark.parametrize("way", EMPTIED.values(), ids=EMPTIED)
def test_an_edit_cannot_leave_an_lnamespace_without_an_editor(
    way: tuple[str, object], name: str, mallory: Person, admin: Api
) -> None:
    version, change = way
    before = admin.get(lns_path(name))["spec"]
    path = older(lns_path(name)) if version else lns_path(name)
    kind = (JSON_PATCH,) if isinstance(change, list) else ()
    words = refusal(mallory.api.patch, path, change, *kind, status=422)
    assert NOBODY in words
    assert admin.get(lns_path(name))["spec"] == before


def test_an_expiry_time_in_an_annotation_of_the_older_version_is_ignored(
    name: str, mallory: Person, admin: Api
) -> None:
    """Who is listed keeps the end that they have, or none, whatever an old file carries."""
    before = admin.get(lns_path(name))["spec"]
    ends = {"managers": {"User//mallory": "2020-01-01T00:00:00Z"}}
    change = {"metadata": {"annotations": {CARRIED: json.dumps(ends)}}}
    mallory.api.patch(older(lns_path(name)), change)
    assert admin.get(lns_path(name))["spec"] == before


def test_an_lnamespaces_own_sudoers_group_cannot_be_the_only_manager(
    name: str, mallory: Person
) -> None:
    change = {"spec": {"managers": [group(f"{name}-sudoers")]}}
    assert NOBODY in refusal(mallory.api.patch, lns_path(name), change, status=422)


def test_server_side_apply_cannot_remove_the_last_manager(
    tenants: Tenants, mallory: Person, rights: Rights
) -> None:
    name = tenants.make("hostile", managers=["mallory"])
    eventually(lambda: rights.may(mallory.who, edit(name)))
    applied = {"fieldManager": "mine", "force": "true"}
    path = lns_path(name)
    mallory.api.patch(path, manifest(name, managers=["mallory"]), APPLY, **applied)

    def alone() -> bool:
        whole = mallory.api.get(path)
        fields = whole["metadata"]["managedFields"]
        whole["metadata"]["managedFields"] = [f for f in fields if f["manager"] == "mine"]
        return unless("Conflict", mallory.api.replace, path, whole)

    eventually(alone)
    for version in (path, older(path)):
        empty = manifest(name) | {"apiVersion": f"{GROUP}/{version.split('/')[3]}"}
        words = refusal(mallory.api.patch, version, empty, APPLY, status=422, **applied)
        assert NOBODY in words


def test_two_concurrent_edits_cannot_remove_the_last_manager(
    tenants: Tenants, mallory: Person, bob: Person, rights: Rights
) -> None:
    name = tenants.make("hostile", managers=["mallory", "bob"])
    for _ in range(5):
        tenants.edit(name, managers=["mallory", "bob"])
        tenants.ready(name)
        eventually(lambda: all(rights.may(who, edit(name)) for who in (mallory.who, bob.who)))
        taken = _at_once(_removal(mallory.api, name), _removal(bob.api, name))
        assert len(tenants.get(name)["spec"]["managers"]) == 1
        assert taken == 1


def _removal(api: Api, name: str) -> Callable[[], object]:
    """Takes the first manager off, whoever that is by then."""
    step = {"op": "remove", "path": "/spec/managers/0"}
    return partial(api.patch, lns_path(name), [step], JSON_PATCH)


def _at_once(*requests: Callable[[], object]) -> int:
    """Return how many of the requests were taken."""
    together = threading.Barrier(len(requests))

    def taken(request: Callable[[], object]) -> int:
        together.wait()
        with suppress(ApiError):
            request()
            return 1
        return 0

    with ThreadPoolExecutor(len(requests)) as pool:
        return sum(pool.map(taken, requests))


# --- the port itself, at which nobody is asked who they are


def port(admin: Api) -> tuple[str, int]:
    address = urlsplit(admin.get(CONFIGURATIONS[0])["webhooks"][0]["clientConfig"]["url"])
    assert address.hostname
    assert address.port
    return address.hostname, address.port


@pytest.fixture(scope="module")
def trusting() -> ssl.SSLContext:
    """TLS by whoever does not care with whom."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def connected(admin: Api, tls: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    with (
        socket.create_connection(port(admin), timeout=60) as plain,
        tls.wrap_socket(plain) as secure,
    ):
        yield secure


def answer(admin: Api, tls: ssl.SSLContext, request: bytes) -> bytes:
    """Return all that comes back until the connection is closed."""
    with connected(admin, tls) as connection:
        connection.sendall(request)
        pieces = iter(lambda: connection.recv(65536), b"")
        return b"".join(pieces)


# Each of these fits into one record of TLS (16 KiB): the webhook closes at the first that is too
# much, and what a client sends after that breaks the connection before the answer is read.
HEAD = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SMUGGLED = b"GET /livez HTTP/1.1\r\nHost: y\r\n\r\n"
NO_HTTP = {
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x" + SMUGGLED,
    "a length and chunks": HEAD
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    "an unknown encoding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "a negative length": HEAD + b"Content-Length: -2\r\n\r\n{}" + SMUGGLED,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a long header": HEAD + b"A: " + b"b" * 10_000 + b"\r\n\r\n" + SMUGGLED,
    "many headers": HEAD + b"A: b\r\n" * 1_000 + b"\r\n" + SMUGGLED,
}


@pytest.mark.parametrize("request_", NO_HTTP.values(), ids=NO_HTTP)
def test_ambiguous_http_requests_are_refused(
    request_: bytes, admin: Api, trusting: ssl.SSLContext
) -> None:
    told = answer(admin, trusting, request_)
    assert told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), told
    assert told.count(b"HTTP/1.1 4") == 1, told


GARBAGE = {
    "nothing": b"",
    "deep": b"[" * 100_000,
    "cut off": b'{"a":' * 5_000,
    "no text": b"\xff\xfe",
    "null": b"null",
}


@pytest.mark.parametrize("path", ["/mutate", "/validate", "/mutate-administrator", "/convert"])
@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE)
def test_an_invalid_admission_review_is_refused_with_status_400(
    path: str, body: bytes, admin: Api, trusting: ssl.SSLContext
) -> None:
    head = HEAD.replace(b"/mutate", path.encode()) + b"Content-Length: %d\r\n\r\n" % len(body)
    told = answer(admin, trusting, head + body)
    assert told.startswith(b"HTTP/1.1 400 "), told
    assert b"Traceback" not in told


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_tls_versions_are_refused(version: ssl.TLSVersion, admin: Api) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = version
    with (
        pytest.raises((ssl.SSLError, ConnectionError), match=r"(?i)version|protocol|reset"),
        connected(admin, old),
    ):
        pass


UNFINISHED = (b"", b"POST /mu", HEAD + b"Content-Length: 1000\r\n\r\n{")


def test_unfinished_requests_do_not_block_other_clients(
    admin: Api, tenants: Tenants, trusting: ssl.SSLContext
) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            for first in UNFINISHED:
                connection = stack.enter_context(connected(admin, trusting))
                connection.sendall(first)
        # Several at once, for which the API server needs connections that it has not yet.
        bodies = [manifest(tenants.name("hostile"), managers=["bob"]) for _ in range(24)]
        create = partial(partial, admin.create, LNAMESPACES, dryRun="All")
        assert _at_once(*(create(body) for body in bodies)) == len(bodies)


# --- a stolen token of the ledger's


@pytest.fixture(scope="module")
def thief(cluster: Cluster) -> Api:
    """Return the token of the process that talks to the database."""
    return Api(cluster.token(RELEASE_NAMESPACE, LEDGER_ACCOUNT))


def test_a_stolen_ledger_token_gives_no_rights_beyond_the_ledger(
    thief: Api, name: str, admin: Api
) -> None:
    before = admin.get(lns_path(name))
    assert refusal(thief.patch, lns_path(name), {"spec": {"users": [member("eve")]}})
    recorded = {"status": {"recorded": {"generation": 99}}}
    assert refusal(thief.patch, f"{lns_path(name)}/status", recorded)
    assert refusal(thief.delete, lns_path(name))
    assert refusal(thief.get, "/api/v1/secrets")
    assert refusal(thief.get, ns_path(RELEASE_NAMESPACE, "secrets"))
    assert refusal(thief.create, f"{ns_path(RELEASE_NAMESPACE)}/pods", {"metadata": {"name": "p"}})
    token = f"{ns_path(RELEASE_NAMESPACE, 'serviceaccounts', 'lnamespace-controller')}/token"
    assert refusal(thief.create, token, {"spec": {}})
    assert refusal(thief.acting("lnamespace-admin").get, "/api/v1/namespaces")
    assert refusal(thief.delete, RECORDS)
    assert admin.get(lns_path(name)) == before
