"""What the API server itself refuses about an LNamespace, with which words; and what it takes."""

from functools import partial
from itertools import product
from typing import Any

import pytest

from tests.e2e.support.api import APPLY, LNAMESPACES, Api, Object, lns_path, refusal
from tests.e2e.support.people import People
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, group, manifest, service_account
from tests.e2e.support.waiting import eventually

DNS = "metadata.name must be a DNS label of at most 63 characters"
RESERVED = "metadata.name is reserved"
SYSTEM = "system: names are the cluster's own"
WHITE = "name must not start or end with white space"
INVISIBLE = "name must have no control or invisible characters"
ACCOUNT = "a ServiceAccount needs a namespace and a name"
LISTS = ("users", "managers", "sudoers")


def user(name: str, **more: str) -> Object:
    return {"kind": "User", "name": name, **more}


BAD_NAMES = {
    "default": RESERVED,
    "kube-system": RESERVED,
    "kube-anything": RESERVED,
    "openshift": RESERVED,
    "openshift-x": RESERVED,
    "lnamespace": RESERVED,
    "lnamespace-system": RESERVED,
    "a" * 64: DNS,
    "a.b": DNS,
    "Upper": "lowercase RFC 1123",
    "under_score": "lowercase RFC 1123",
    "-begins": "lowercase RFC 1123",
    "ends-": "lowercase RFC 1123",
    "a:b": "lowercase RFC 1123",
    "a/b": "lowercase RFC 1123",
    "..": "lowercase RFC 1123",
    "": "name or generateName is required",
    "pokémon": "lowercase RFC 1123",
    "two words": "lowercase RFC 1123",
}
BAD_ENTRIES = {
    "masters": (group("system:masters"), SYSTEM),
    "authenticated": (group("system:authenticated"), SYSTEM),
    "accounts": (group("system:serviceaccounts:default"), SYSTEM),
    "anonymous": (user("system:anonymous"), SYSTEM),
    "a-node": (user("system:node:one"), SYSTEM),
    "the-controllers": (user("system:kube-controller-manager"), SYSTEM),
    "account-without-name": (user("system:serviceaccount:default"), SYSTEM),
    "account-with-too-much": (user("system:serviceaccount:a:b:c"), SYSTEM),
    "account-of-a-long-namespace": (user(f"system:serviceaccount:{'n' * 64}:x"), SYSTEM),
    "account-of-a-long-name": (user(f"system:serviceaccount:x:{'n' * 254}"), SYSTEM),
    "account-as-a-group": (group("system:serviceaccount:a:b"), SYSTEM),
    "star": (user("*"), "name must be one name, not a pattern"),
    "star-group": (group("*"), "name must be one name, not a pattern"),
    "empty": (user(""), "should be at least 1 chars long"),
    "blank": (user(" "), WHITE),
    "space-before": (user(" bob"), WHITE),
    "space-behind": (user("bob "), WHITE),
    "space-that-does-not-break": (user("bob\u00a0"), WHITE),
    "space-of-another-script": (user("\u3000bob"), WHITE),
    "newline": (user("bob\nalice"), INVISIBLE),
    "carriage-return": (user("bob\ralice"), INVISIBLE),
    "tab": (user("bob\talice"), INVISIBLE),
    "nul": (user("bob\x00"), INVISIBLE),
    "escape": (user("bob\x1b[2K"), INVISIBLE),
    "zero-width": (user("b\u200bob"), INVISIBLE),
    "byte-order-mark": (user("\ufeffbob"), INVISIBLE),
    "right-to-left": (user("bob\u202ecod"), INVISIBLE),
    "soft-hyphen": (user("b\u00adob"), INVISIBLE),
    "line-separator": (user("bob\u2028x"), INVISIBLE),
    "private-use": (user("bob\ue000"), INVISIBLE),
    "too-long": (user("n" * 513), "than 512"),
    "kind": ({"kind": "Robot", "name": "bob"}, "Unsupported value"),
    "lower-kind": ({"kind": "user", "name": "bob"}, "Unsupported value"),
    "no-name": ({"kind": "User"}, "Required value"),
    "a-number": ({"name": 7}, "must be of type string"),
    "user-with-a-namespace": (user("bob", namespace="default"), "only a ServiceAccount has"),
    "group-with-a-namespace": (group("g") | {"namespace": "x"}, "only a ServiceAccount has"),
    "account-without-a-namespace": ({"kind": "ServiceAccount", "name": "bot"}, ACCOUNT),
    "account-upper": (service_account("default", "Bot"), ACCOUNT),
    "account-slash": (service_account("default", "a/b"), ACCOUNT),
    "account-dots": (service_account("default", "a..b"), ACCOUNT),
    "account-of-an-upper-namespace": (service_account("Default", "bot"), ACCOUNT),
    "account-of-a-dotted-namespace": (service_account("a.b", "bot"), ACCOUNT),
}
BAD_TIMES = (
    "tomorrow",
    "2030-01-01",
    "2030-01-01T00:00:00",
    "2030-13-01T00:00:00Z",
    "2030-02-30T00:00:00Z",
    "2030-01-01T25:00:00Z",
    "2030-01-01T00:00:00+99:99",
    "2030-01-01T00:00:00+24:00",
    "0000-01-01T00:00:00Z",
    "1999-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999999Z",
    "",
)
BAD_SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "group-of-sudoers": ({"sudoers": [group("g")]}, "a Group cannot be a sudoer"),
    "policy": ({"deletionPolicy": "Orphan"}, "Unsupported value"),
    "protection": ({"deletionProtection": "yes"}, "must be of type boolean"),
    "long-cost-centre": ({"billing": {"costCenter": "x" * 1025}}, "than 1024"),
    "many-labels": (
        {"billing": {"labels": {f"k{n}": "v" for n in range(33)}}},
        "must have at most 32 items",
    ),
    "long-label": ({"billing": {"labels": {"k" * 64: "v"}}}, "at most 63 characters"),
    "label-that-is-no-text": ({"billing": {"labels": {"k": 1}}}, "must be of type string"),
}
GOOD_ENTRIES = (
    "first.last@loblaw.ca",
    "https://issuer.example.com#sub",
    "n" * 256,
    "Ünïcødé 名前 🚀",
    'o\'neil "x" \\ `$(id)` {{ .Values }} %s',
    "a:b/c,d;e",
    "..",
    "-rf",
    "**",
    "System:masters",
    "true",
    "system:serviceaccount:default:a.b",
    service_account("default", "a.b-c"),
    group("team a"),
    group("CN=admins,OU=x,O=y"),
    user("later", expiresAt="2999-12-31T23:59:59Z"),
    user("in another zone", expiresAt="2030-01-01T00:00:00.123456-05:00"),
    user("past", expiresAt="2020-01-01T00:00:00Z"),
)


@pytest.fixture
def refused(people: People) -> partial[str]:
    """Has an ordinary user try to create an LNamespace, which fails; returns the words."""
    create = people.person("alice").api.create
    return partial(refusal, create, LNAMESPACES, dryRun="All")


@pytest.mark.parametrize(("name", "words"), BAD_NAMES.items(), ids=range(len(BAD_NAMES)))
def test_invalid_names_are_refused(name: str, words: str, refused: partial[str]) -> None:
    assert words in refused(manifest(name), status=422)


@pytest.mark.parametrize("field", LISTS)
@pytest.mark.parametrize(("entry", "words"), BAD_ENTRIES.values(), ids=BAD_ENTRIES)
def test_invalid_list_entries_are_refused(
    field: str, entry: Object, words: str, refused: partial[str]
) -> None:
    if field == "sudoers" and entry.get("kind") == "Group":
        words = "a Group cannot be a sudoer"
    assert words in refused(manifest("bad", **{field: ["good", entry]}), status=422)


@pytest.mark.parametrize("time", BAD_TIMES)
def test_invalid_expiry_times_are_refused(time: str, refused: partial[str]) -> None:
    assert "expiresAt" in refused(manifest("bad", users=[user("bob", expiresAt=time)]), status=422)


@pytest.mark.parametrize(("spec", "words"), BAD_SPECS.values(), ids=BAD_SPECS)
def test_invalid_specs_are_refused(spec: dict[str, Any], words: str, refused: partial[str]) -> None:
    assert words in refused(manifest("bad", **spec), status=422)


@pytest.mark.parametrize("field", LISTS)
def test_duplicate_and_too_many_list_entries_are_refused(field: str, refused: partial[str]) -> None:
    twice = manifest("bad", **{field: ["bob", user("bob", expiresAt="2030-01-01T00:00:00Z")]})
    assert "Duplicate value" in refused(twice, status=422)
    most = {"users": 250, "managers": 50, "sudoers": 50}[field]
    many = manifest("bad", **{field: [f"user-{n}" for n in range(most + 1)]})
    assert f"must have at most {most} entries" in refused(many, status=422)


def test_unknown_fields_are_refused_under_strict_field_validation(refused: partial[str]) -> None:
    odd = manifest("bad", users=[user("bob", expires="2030-01-01T00:00:00Z")])
    assert "unknown field" in refused(odd, status=400, fieldValidation="Strict")


@pytest.mark.parametrize("field", LISTS)
def test_unusual_but_valid_list_entries_are_accepted(field: str, people: People) -> None:
    entries = [
        entry
        for entry in GOOD_ENTRIES
        if field != "sudoers" or not isinstance(entry, dict) or entry["kind"] != "Group"
    ]
    made = people.person("alice").api.create(
        LNAMESPACES, manifest("good", **{field: entries}), dryRun="All"
    )
    assert len(made["spec"][field]) == len(entries)


def test_longest_name_and_full_lists_are_accepted(people: People) -> None:
    sizes = {"users": 250, "managers": 50, "sudoers": 50}
    lists = {field: [f"user-{n}" for n in range(most)] for field, most in sizes.items()}
    billing = {"costCenter": "x" * 1024, "labels": {"k" * 63: "v"}}
    body = manifest("a" * 63, **lists, billing=billing, requester="alice")
    assert people.person("alice").api.create(LNAMESPACES, body, dryRun="All")
    assert people.person("alice").api.create(LNAMESPACES, manifest("0"), dryRun="All")


def test_requester_is_set_at_creation_and_is_immutable(
    tenants: Tenants, people: People, rights: Rights
) -> None:
    who, alice = people.person("alice").who, people.person("alice").api
    name, spoofed = tenants.name("requested"), tenants.name("requested")
    alice.create(LNAMESPACES, manifest(name))
    alice.create(LNAMESPACES, manifest(spoofed, managers=["alice"], requester="bob"))
    tenants.all_ready((name, spoofed))
    eventually(lambda: rights.edits(who, name) and rights.edits(who, spoofed))
    words = "requester is set when the LNamespace is created and never changes"
    for api, path in product((alice, tenants.admin), (lns_path(name), lns_path(spoofed))):
        for value in ("bob", ""):
            change = {"spec": {"requester": value}}
            assert words in refusal(api.patch, path, change, status=422)
        # Who replaces it by the file that it was made from means no harm.
        assert api.patch(path, {"spec": {"requester": None}})["spec"]["requester"] == "alice"
        assert refusal(api.patch, path, {"spec": None}, status=422)
    assert tenants.get(name)["spec"]["requester"] == "alice"


def test_an_lnamespace_without_lists_puts_its_creator_on_every_list(
    tenants: Tenants, people: People
) -> None:
    alice, robot = people.person("alice"), people.account("default", "maker")
    itself = service_account("default", "maker")
    for api, entry in ((alice.api, user("alice", namespace="")), (robot.api, itself)):
        made = api.create(LNAMESPACES, manifest(tenants.name("alone")), dryRun="All")["spec"]
        assert [made[field] for field in LISTS] == [[entry]] * 3
    some = manifest(tenants.name("alone"), users=["bob"])
    made = alice.api.create(LNAMESPACES, some, dryRun="All")["spec"]
    # Somebody has to be able to change it.
    named = {field: [entry["name"] for entry in made.get(field, [])] for field in LISTS}
    assert named == {"users": ["bob"], "managers": ["alice"], "sudoers": []}


def test_generate_name_is_accepted_unless_the_name_is_reserved(people: People, admin: Api) -> None:
    body = manifest("ignored")
    body["metadata"] = {"generateName": "generated-"}
    made = people.person("alice").api.create(LNAMESPACES, body)
    assert made["metadata"]["name"].startswith("generated-")
    assert made["spec"]["requester"] == "alice"
    admin.delete(lns_path(made["metadata"]["name"]))
    body["metadata"] = {"generateName": "kube-"}
    words = refusal(people.person("alice").api.create, LNAMESPACES, body, status=422)
    assert RESERVED in words


def test_server_side_apply_merges_the_lists_of_two_field_managers(
    tenants: Tenants, admin: Api
) -> None:
    name = tenants.make("applied", managers=["root"])

    def apply(manager: str, *users: Object) -> list[str]:
        body = manifest(name, users=list(users))
        lns = admin.patch(lns_path(name), body, APPLY, fieldManager=manager)
        return [entry["name"] for entry in lns["spec"].get("users", [])]

    assert apply("one", user("ann"), group("devs")) == ["ann", "devs"]
    assert apply("two", user("ben"), user("devs")) == ["ann", "devs", "ben", "devs"]
    assert apply("one", user("ann")) == ["ann", "ben", "devs"]
    assert apply("one") == ["ben", "devs"]
    assert apply("two") == []
    assert [entry["name"] for entry in tenants.get(name)["spec"]["managers"]] == ["root"]
