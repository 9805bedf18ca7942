"""The two layouts of sudo on one running cluster: there and back, and whoever tries to misuse it.

The tests run in order, as one life: sudo by group, a change to accounts that begins badly, all that
people and thieves do then, and the change back.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lnamespace.model.names import Names

from tests.e2e.support.api import (
    GROUP,
    LNAMESPACES,
    Api,
    Object,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.support.commands import REPOSITORY, run
from tests.e2e.support.instances import CHART, Instance, bare
from tests.e2e.support.people import People, Person, Who, account, user
from tests.e2e.support.rights import Deed, Rights, become, edit, rule
from tests.e2e.support.tenants import condition, manifest, member
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

BY_ACCOUNT = "--set=sudoLayout=serviceaccount"
BY_GROUP = "--set=sudoLayout=group"
ACCOUNTS = "lnamespace-sudo"
SYSTEM_NAME = "system:serviceaccount:lnamespace-sudo"
MINE, THEIRS = "team-a", "team-b"
RBAC_GROUP = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """Yield a cluster with the audit log of the documents, where sudo is by group."""
    policy = (REPOSITORY / "docs" / "audit-policy.yaml").read_text()
    with bare(tmp_path_factory.mktemp("layouts"), policy) as release:
        release.install()
        release.cluster.learn_kinds()
        eventually(release.guarded)
        release.start()
        yield release


@pytest.fixture(scope="module")
def admin(release: Instance) -> Api:
    return release.cluster.admin


@pytest.fixture(scope="module")
def people(release: Instance) -> People:
    return People(release.cluster)


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    """Sudoer of team-a, and nothing else."""
    return people.person("alice")


@pytest.fixture(scope="module")
def bob(people: People) -> Person:
    """User of team-a: `admin` in its namespace, all the time."""
    return people.person("bob")


@pytest.fixture(scope="module")
def carol(people: People) -> Person:
    """Everything in team-b."""
    return people.person("carol")


@pytest.fixture(scope="module")
def rights(admin: Api) -> Rights:
    return Rights(admin)


@pytest.fixture(scope="module")
def thief(release: Instance) -> Api:
    """Return who has the controller's token."""
    return Api(release.cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))


def acting(person: Person, name: str = MINE) -> Api:
    """Return their requests as the account of an LNamespace."""
    return person.api.acting(f"{SYSTEM_NAME}:{name}")


def by_group(rights: Rights, who: Who, name: str = MINE) -> bool:
    return rights.sudoes(who, name)


def by_account(rights: Rights, who: Who, name: str = MINE) -> bool:
    """Return whether they can sudo by the account, and both steps of it are there."""
    stands = account(ACCOUNTS, name)
    return rights.may(who, become(stands)) and rights.may(stands, rule(name))


def start(release: Instance, layout: str) -> None:
    """Have the controller start anew with a layout."""
    release.controller.stop()
    release.controller.start({"LNAMESPACE_SUDO_LAYOUT": layout})


def list_sudoers(release: Instance, name: str, *people: str) -> None:
    """Have these be the sudoers, and nobody else."""
    change = {"spec": {"sudoers": [*map(member, people)]}}
    release.cluster.admin.patch(release.path(name), change)


def by_account_only(release: Instance) -> bool:
    """Return whether the policies of that layout act: nobody impersonates a person."""
    thief = Api(release.cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    head = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRole"}
    body = head | role(SELF, may_become("users", "nobody"))
    return not unless("Forbidden", thief.create, rbac_path("clusterroles"), body, dryRun="All")


def left(admin: Api, path: str, word: str) -> list[str]:
    """Return the names of all objects in which there is a word."""
    return [name for i in admin.items(path) if word in (name := i["metadata"]["name"])]


def all_identities(release: Instance) -> set[tuple[str, str]]:
    """Return as whom the sudoers of ready LNamespaces act, by what their statuses say."""
    found = set()
    for name in (MINE, THEIRS):
        lns = release.get(name)
        assert condition(lns).get("status") == "True", lns["status"]
        found.add((lns["status"]["sudoersGroup"], lns["status"]["sudoUser"]))
    return found


# --- a change of the layout


def test_sudo_by_group_is_the_default(
    release: Instance, rights: Rights, alice: Person, bob: Person
) -> None:
    release.make(MINE, users=["bob"], managers=["dave"], sudoers=["alice", "erin"])
    everything: dict[str, Any] = {f: ["carol"] for f in ("users", "managers", "sudoers")}
    release.make(THEIRS, **everything)
    assert all_identities(release) == {("team-a-sudoers", ""), ("team-b-sudoers", "")}
    eventually(lambda: by_group(rights, alice.who) and by_group(rights, user("erin")))
    assert release.cluster.admin.find(ns_path(ACCOUNTS)) is None
    eventually(lambda: rights.works(bob.who, MINE))
    # The name of the binding that will be is not a user's. What an administrator makes by it is in
    # nobody's way.
    mine = binding("lnamespace-sudo-account", "ClusterRole", "view", EVE)
    head = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "RoleBinding"}
    bindings = rbac_path("rolebindings", "", MINE)
    assert "follows the lists" in refusal(bob.api.create, bindings, head | mine)
    release.cluster.admin.create(bindings, head | mine)


def log_of(release: Instance, kept: Path, **wanted: str) -> list[Object]:
    """Return what the audit log has, by parts of the object; ``kept`` is its copy."""
    log = (release.cluster.folder / "logs" / "audit.log").read_text(errors="replace")
    whole, _, _ = log.rpartition("\n")  # the last line may be half
    kept.write_text(whole)
    events = map(json.loads, whole.splitlines())
    return [each for each in events if wanted.items() <= each.get("objectRef", {}).items()]


def rows_by(described: str, mark: str, kept: Path) -> list[list[str]]:
    """Return the rows of the command that `describe` shows for the log; none without jq."""
    asks = next(line.strip() for line in described.splitlines() if "jq -r " in line)
    assert mark in asks
    if not shutil.which("jq"):
        return []
    told = run("/bin/sh", "-c", asks.replace("audit.log", str(kept))).ok().splitlines()
    return [row.split("\t")[1:] for row in told]


def test_the_audit_log_has_both_the_person_and_the_group(
    release: Instance, alice: Person, tmp_path: Path
) -> None:
    kept = tmp_path / "audit.log"
    alice.kubectl("create", "lns", "logged").ok()
    (made, *_) = eventually(lambda: log_of(release, kept, resource="lnamespaces", name="logged"))
    assert made["user"]["username"] == "alice"
    assert made["responseObject"]["spec"]["requester"] == "alice"

    quota = ("create", "quota", "limits", "--hard=pods=10")
    alice.kubectl("-n", "logged", *quota).refused()
    alice.kubectl("sudo", "-n", "logged", *quota).ok()

    def both() -> list[Object]:
        """Return the two creations; Kubernetes' quota controller writes the status beside them."""
        found = log_of(release, kept, resource="resourcequotas", namespace="logged")
        found = [each for each in found if each["verb"] == "create"]
        return found if len(found) == 2 else []

    refused, done = eventually(both)
    assert refused["responseStatus"]["code"] == 403
    assert "impersonatedUser" not in refused
    assert done["user"]["username"] == "alice"
    assert done["impersonatedUser"]["username"] == "alice"
    assert "logged-sudoers" in done["impersonatedUser"]["groups"]
    assert done["responseStatus"]["code"] == 201

    # What `describe` says is how to read it finds the one request that was by sudo.
    described = alice.kubectl("lns", "describe", "logged").ok()
    if rows := rows_by(described, 'index("logged-sudoers")', kept):
        posted = "/api/v1/namespaces/logged/resourcequotas"
        assert [row[:2] for row in rows if row[2].startswith(posted)] == [["alice", "create"]]
    release.cluster.admin.delete(release.path("logged"))


def test_the_previous_layout_stays_revocable_if_the_new_layout_is_refused(
    release: Instance, rights: Rights, alice: Person
) -> None:
    """A controller whose setting the chart does not know: its policies refuse all that is new."""
    start(release, "serviceaccount")
    release.wait(MINE, "False", "NoNamespace")
    assert by_group(rights, alice.who)
    alice.kubectl("sudo", "-n", MINE, "get", "secrets").ok()
    # Stored, and the command says that not all of the LNamespace is in force. Until the controller
    # has looked at it, that is another reason.
    told = alice.kubectl("sudo", "lns", "grant", MINE, "--user", "oscar", "--timeout=10s").refused()
    assert "is stored, but not in force: NoNamespace" in told
    assert rights.sudoes(user("erin"), MINE)
    list_sudoers(release, MINE, "alice")
    eventually(lambda: not rights.sudoes(user("erin"), MINE))
    assert by_group(rights, alice.who)


def test_a_sudoer_removed_before_the_new_controller_starts_loses_sudo(
    release: Instance, rights: Rights
) -> None:
    """The policies know the new layout by then, and the controller does not."""
    start(release, "group")
    list_sudoers(release, MINE, "alice", "erin")
    list_sudoers(release, THEIRS, "carol", "erin")
    eventually(lambda: rights.sudoes(user("erin"), MINE) and rights.sudoes(user("erin"), THEIRS))
    release.upgrade(BY_ACCOUNT)
    eventually(lambda: by_account_only(release))
    list_sudoers(release, MINE, "alice", "nina")
    eventually(lambda: not rights.sudoes(user("erin"), MINE))
    assert rights.sudoes(user("erin"), THEIRS)


def test_the_upgrade_switches_sudo_to_accounts_and_deletes_previous_objects(
    release: Instance, admin: Api, rights: Rights, alice: Person
) -> None:
    start(release, "serviceaccount")
    wanted = {("", f"{SYSTEM_NAME}:team-a"), ("", f"{SYSTEM_NAME}:team-b")}
    eventually(lambda: all_identities(release) == wanted, 240)
    eventually(lambda: by_account(rights, alice.who))
    for kind in ("clusterroles", "clusterrolebindings"):
        eventually(partial(lambda k: not left(admin, rbac_path(k), "impersonator"), kind))
    eventually(lambda: not left(admin, rbac_path("rolebindings", "", MINE), "lnamespace-sudoers"))
    eventually(lambda: not rights.may(alice.who.sudo(MINE), rule(MINE)))
    eventually(lambda: not rights.may(alice.who, become(alice.who)))


# --- what people do


def sudo(person: Person, *command: str) -> str:
    """Run kubectl sudo; what it remembers of the other layout is refused once."""
    first = person.kubectl("sudo", "-n", MINE, *command)
    if first.code == 0:
        return first.out
    assert "sudo changed; run the command again" in first.refused()
    return person.kubectl("sudo", "-n", MINE, *command).ok()


def test_kubectl_sudo_works_with_accounts(alice: Person, bob: Person) -> None:
    quota = ("create", "quota", "limits", "--hard=pods=10")
    alice.kubectl("-n", MINE, *quota).refused()
    sudo(alice, *quota)
    told = bob.kubectl("sudo", "-n", MINE, "delete", "quota", "limits").refused()
    assert 'you (bob) are not a sudoer of "team-a"' in told
    name = f"{SYSTEM_NAME}:team-a"
    assert f"A sudoer acts as {name}, with" in alice.kubectl("lns", "describe", MINE).ok()
    assert name in alice.kubectl("lns", "list", "-o", "wide").ok()
    mine = alice.kubectl("sudo", "-n", MINE, "lns", "whoami").ok()
    assert name in mine
    assert "team-a" in mine.splitlines()[-1]
    assert "sudoer" in mine.splitlines()[-1]
    can = ("auth", "can-i", "create", "resourcequotas", f"--as={name}")
    assert alice.kubectl(*can, "-n", MINE).ok() == "yes\n"
    assert alice.kubectl(*can, "-n", THEIRS).out == "no\n"


def test_kubectl_sudo_works_without_the_right_to_get_lnamespaces(
    release: Instance, admin: Api, people: People
) -> None:
    """Without the right to read LNamespaces it asks about both ways of sudo."""
    frank, seen = people.person("frank"), Rights(admin)
    list_sudoers(release, THEIRS, "carol", "frank")
    everybody = rbac_path("clusterrolebindings", "lnamespace:authenticated")
    subjects = admin.get(everybody)["subjects"]
    look = Deed("get", "lnamespaces", group=GROUP)
    admin.patch(everybody, {"subjects": []})
    try:
        eventually(lambda: not seen.may(frank.who, look))
        eventually(lambda: by_account(seen, frank.who, THEIRS))
        frank.kubectl("sudo", "-n", THEIRS, "create", "quota", "q", "--hard=pods=1").ok()
        told = frank.kubectl("sudo", "-n", MINE, "get", "secrets").refused()
        assert "nor see its LNamespace; ask a cluster administrator" in told
    finally:
        admin.patch(everybody, {"subjects": subjects})
    eventually(lambda: seen.may(frank.who, look))


def test_a_sudoer_can_edit_the_lists(alice: Person, rights: Rights) -> None:
    alice.kubectl("lns", "grant", MINE, "--user", "greta").refused()
    alice.kubectl("sudo", "lns", "grant", MINE, "--user", "greta").ok()
    eventually(lambda: rights.works(user("greta"), MINE))


def test_a_revoked_sudoer_can_no_longer_impersonate_the_account(
    alice: Person, people: People, rights: Rights
) -> None:
    heidi = people.person("heidi")
    alice.kubectl("sudo", "lns", "grant", MINE, "--sudoer", "heidi").ok()
    eventually(lambda: by_account(rights, heidi.who))
    assert acting(heidi).get(ns_path(MINE, "secrets"))
    alice.kubectl("sudo", "lns", "revoke", MINE, "heidi").ok()
    eventually(lambda: not by_account(rights, heidi.who))
    assert "cannot impersonate" in refusal(acting(heidi).get, ns_path(MINE, "secrets"))


def test_creating_an_lnamespace_as_an_account_is_refused(alice: Person, admin: Api) -> None:
    """The API server does not say who is behind it, and somebody has to be the requester."""
    told = alice.kubectl("sudo", "-n", MINE, "create", "lns", "team-c").refused()
    assert "create it as yourself, without sudo" in told
    assert admin.find(f"{LNAMESPACES}/team-c") is None


def test_the_audit_log_has_both_the_person_and_the_account(
    release: Instance, alice: Person, tmp_path: Path
) -> None:
    kept = tmp_path / "audit.log"
    wanted = {"resource": "configmaps", "namespace": MINE, "name": "by-alice"}
    alice.kubectl("sudo", "-n", MINE, "create", "configmap", "by-alice").ok()
    (made, *_) = eventually(lambda: log_of(release, kept, **wanted))
    assert made["user"]["username"] == "alice"
    assert made["impersonatedUser"]["username"] == f"{SYSTEM_NAME}:team-a"

    # What `describe` says is how to read it.
    described = alice.kubectl("lns", "describe", MINE).ok()
    as_account = f'.impersonatedUser.username == "{SYSTEM_NAME}:team-a"'
    if rows := rows_by(described, as_account, kept):
        assert rows[-1][:2] == ["alice", "create"]
        assert "/configmaps" in rows[-1][2]


# --- what others try


def test_only_sudoers_can_impersonate_the_account(bob: Person, carol: Person) -> None:
    """A user is `admin` in the namespace and may impersonate every account there: not this one."""
    for person in (bob, carol):
        assert "cannot impersonate" in refusal(acting(person).get, ns_path(MINE, "secrets"))
    assert acting(carol, THEIRS).get(ns_path(THEIRS, "secrets"))
    namesake = bob.api.acting(f"system:serviceaccount:{MINE}:team-a")
    assert refusal(namesake.create, ns_path(MINE, "resourcequotas"), {})


def test_a_sudoer_cannot_impersonate_further_identities(alice: Person, rights: Rights) -> None:
    name = f"{SYSTEM_NAME}:team-a"
    for more in (
        alice.api.acting(name, "system:masters"),
        alice.api.acting(name, "team-b-sudoers"),
        alice.api.acting(name, Impersonate_Uid="0-0"),
        alice.api.acting(name, Impersonate_Extra_scopes="all"),
        alice.api.acting(SYSTEM_NAME + ":team-b"),
        alice.api.acting(f"system:serviceaccount:{RELEASE_NAMESPACE}:{SERVICE_ACCOUNT}"),
        alice.api.acting("alice", "team-a-sudoers"),
    ):
        assert "cannot impersonate" in refusal(more.get, ns_path(MINE, "secrets"))
    stands = account(ACCOUNTS, MINE)
    for deed in (
        rule(THEIRS),
        rule(ACCOUNTS),
        edit(THEIRS),
        become(account(ACCOUNTS, THEIRS)),
        become(user("alice")),
        Deed("create", "roles", ACCOUNTS, group=RBAC_GROUP),
        Deed("create", "serviceaccounts", ACCOUNTS),
        Deed("create", "serviceaccounts", ACCOUNTS, MINE, subresource="token"),
        Deed("create", "pods", ACCOUNTS),
        Deed("get", "secrets", ACCOUNTS),
        Deed("create", "clusterrolebindings", group=RBAC_GROUP),
    ):
        assert not rights.may(stands, deed), deed
    assert rights.may(stands, edit(MINE))


def test_administrators_cannot_create_sudo_accounts_or_their_tokens(admin: Api) -> None:
    """Nor by an add-on's that may make tokens or pods anywhere."""
    forbidden = "nobody logs in or runs as one"
    path = ns_path(ACCOUNTS, "serviceaccounts")
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": MINE}}
    assert forbidden in refusal(admin.create, path, body)
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    assert forbidden in refusal(admin.create, f"{path}/default/token", token)
    of = {"kubernetes.io/service-account.name": "default"}
    secret: Object = {"apiVersion": "v1", "kind": "Secret"}
    secret |= {"type": "kubernetes.io/service-account-token"}
    secret |= {"metadata": {"name": "token", "annotations": of}}
    assert forbidden in refusal(admin.create, ns_path(ACCOUNTS, "secrets"), secret)
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    everywhere = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    containers = [{"name": "a", "image": "a", "securityContext": safe}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    spec = {"securityContext": everywhere, "containers": containers}
    assert forbidden in refusal(admin.create, ns_path(ACCOUNTS, "pods"), pod | {"spec": spec})
    assert {i["metadata"]["name"] for i in admin.items(path)} == {"default"}
    assert admin.items(ns_path(ACCOUNTS, "secrets")) == []


def test_the_name_of_the_accounts_namespace_is_reserved(admin: Api) -> None:
    body = manifest(ACCOUNTS, managers=["carol"])
    assert "is reserved" in refusal(admin.create, LNAMESPACES, body, status=422)


def role(name: str, *rules: Object) -> Object:
    return {"metadata": {"name": name}, "rules": list(rules)}


def may_become(kind: str, name: str) -> Object:
    return {
        "verbs": ["impersonate"],
        "apiGroups": [""],
        "resources": [kind],
        "resourceNames": [name],
    }


def binding(name: str, kind: str, to: str, *subjects: Object) -> Object:
    ref = {"apiGroup": RBAC_GROUP, "kind": kind, "name": to}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": list(subjects)}


EVE = {"kind": "User", "name": "eve", "apiGroup": RBAC_GROUP}
EVERYBODY = {"kind": "Group", "name": "staff", "apiGroup": RBAC_GROUP}
SELF = "lnamespace:self-impersonator:" + "a" * 52
NEW = "lnamespace:team-z:sudoer-impersonator"
STANDS = {"kind": "ServiceAccount", "namespace": ACCOUNTS}

THEFTS: dict[str, tuple[str, str, Object]] = {
    "another's account": ("roles", ACCOUNTS, role(NEW, may_become("serviceaccounts", MINE))),
    "all accounts": (
        "roles",
        ACCOUNTS,
        role(NEW, may_become("serviceaccounts", "x") | {"resourceNames": []}),
    ),
    "a person": ("clusterroles", "", role(SELF, may_become("users", "root@example.com"))),
    "a group": ("clusterroles", "", role(NEW, may_become("groups", "team-z-sudoers"))),
    "an account of the system's": (
        "roles",
        "kube-system",
        role(NEW, may_become("serviceaccounts", "team-z")),
    ),
    "by one's own": ("roles", ACCOUNTS, role(SELF, may_become("serviceaccounts", MINE))),
    "a role elsewhere": ("roles", MINE, role(NEW, may_become("serviceaccounts", "team-z"))),
    "a reserved one": (
        "roles",
        ACCOUNTS,
        role("lnamespace:kube-system:sudoer-impersonator", may_become("serviceaccounts", "x")),
    ),
    "for a group": ("rolebindings", ACCOUNTS, binding(NEW, "Role", NEW, EVERYBODY)),
    "by another role": (
        "rolebindings",
        ACCOUNTS,
        binding(NEW, "ClusterRole", "cluster-admin", EVE),
    ),
    "power for a person": (
        "rolebindings",
        MINE,
        binding("lnamespace-sudo-account", "ClusterRole", "cluster-admin", EVE),
    ),
    "power for another account": (
        "rolebindings",
        MINE,
        binding(
            "lnamespace-sudo-account", "ClusterRole", "cluster-admin", STANDS | {"name": THEIRS}
        ),
    ),
    "power elsewhere": (
        "rolebindings",
        "kube-system",
        binding(
            "lnamespace-sudo-account",
            "ClusterRole",
            "cluster-admin",
            STANDS | {"name": "kube-system"},
        ),
    ),
    "the group's power": (
        "rolebindings",
        MINE,
        binding(
            "lnamespace-sudoers",
            "ClusterRole",
            "cluster-admin",
            {"kind": "Group", "name": "team-a-sudoers", "apiGroup": RBAC_GROUP},
        ),
    ),
}


@pytest.mark.parametrize("theft", THEFTS.values(), ids=THEFTS)
def test_a_stolen_controller_token_cannot_forge_sudo_roles_or_bindings(
    theft: tuple[str, str, Object], thief: Api
) -> None:
    kind, namespace, body = theft
    if body["metadata"]["name"] == "lnamespace-sudo-account" and namespace == MINE:
        path = rbac_path(kind, body["metadata"]["name"], namespace)
        request: Callable[..., object] = partial(thief.patch, path, {"subjects": body["subjects"]})
    else:
        shown = {"kind": {"roles": "Role", "clusterroles": "ClusterRole"}.get(kind, "RoleBinding")}
        request = partial(
            thief.create,
            rbac_path(kind, "", namespace),
            {"apiVersion": f"{RBAC_GROUP}/v1"} | shown | body,
        )
    assert "ValidatingAdmissionPolicy 'lnamespace-controller-" in refusal(request)


def is_another(admin: Api, path: str, uid: str) -> bool:
    """Return whether there is an object, and not the one of that UID."""
    found = admin.find(path)
    return found is not None and found["metadata"]["uid"] != uid


# --- drift, names that come again, and the way back


def test_deleted_sudo_objects_are_recreated(admin: Api, rights: Rights, alice: Person) -> None:
    name = "lnamespace:team-a:sudoer-impersonator"
    for path in (
        rbac_path("roles", name, ACCOUNTS),
        rbac_path("rolebindings", name, ACCOUNTS),
        rbac_path("rolebindings", "lnamespace-sudo-account", MINE),
    ):
        uid = admin.get(path)["metadata"]["uid"]
        admin.delete(path)
        eventually(partial(is_another, admin, path, uid))
    eventually(lambda: by_account(rights, alice.who))


def test_a_recreated_lnamespace_shares_no_sudo_with_its_predecessor(
    release: Instance, admin: Api, rights: Rights
) -> None:
    release.make("again", sudoers=["ivan"], managers=["ivan"])
    eventually(lambda: by_account(rights, user("ivan"), "again"))
    admin.delete(release.path("again"))
    eventually(lambda: not rights.may(user("ivan"), become(account(ACCOUNTS, "again"))))
    for kind in ("roles", "rolebindings"):
        eventually(partial(lambda k: not left(admin, rbac_path(k, "", ACCOUNTS), ":again:"), kind))
    eventually(lambda: admin.find(ns_path("again")) is None, 240)
    release.make("again", sudoers=["judy"], managers=["judy"])
    eventually(lambda: by_account(rights, user("judy"), "again"))
    assert not by_account(rights, user("ivan"), "again")


def test_sudo_objects_are_recreated_with_a_recreated_accounts_namespace(
    admin: Api, rights: Rights, alice: Person
) -> None:
    before = admin.get(ns_path(ACCOUNTS))
    admin.delete(ns_path(ACCOUNTS))
    eventually(lambda: admin.find(ns_path(ACCOUNTS)) is None, 240)
    kept = {k: before["metadata"][k] for k in ("name", "labels", "annotations")}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": kept}
    admin.create("/api/v1/namespaces", body)
    eventually(lambda: by_account(rights, alice.who), 240)


def test_switching_back_to_groups_deletes_all_account_objects(
    release: Instance, admin: Api, rights: Rights, alice: Person
) -> None:
    release.upgrade(BY_GROUP)
    assert by_account(rights, alice.who)
    start(release, "group")
    wanted = {("team-a-sudoers", ""), ("team-b-sudoers", "")}
    eventually(lambda: all_identities(release) == wanted, 240)
    eventually(lambda: by_group(rights, alice.who))
    for kind in ("roles", "rolebindings"):
        eventually(partial(lambda k: not left(admin, rbac_path(k, "", ACCOUNTS), "sudoer"), kind))
    eventually(lambda: not left(admin, rbac_path("rolebindings"), "lnamespace-sudo-account"))
    eventually(lambda: not rights.may(account(ACCOUNTS, MINE), rule(MINE)))
    sudo(alice, "get", "secrets")


def test_sudo_accounts_cannot_be_created_while_sudo_is_by_group(admin: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": MINE}}
    told = refusal(admin.create, ns_path(ACCOUNTS, "serviceaccounts"), body)
    assert "nobody logs in or runs as one" in told


@pytest.mark.parametrize("suffix", ["loblaw.digital", "team1.example.com", "a.b"])
def test_the_chart_and_the_controller_use_the_same_accounts_namespace(
    suffix: str, release: Instance
) -> None:
    values = ("--set=apiGroupSuffix=" + suffix, BY_ACCOUNT, "--kube-version=1.36.0")
    shown = ("--show-only", "templates/sudo.yaml")
    found = release.cluster.run("helm", "template", "x", str(CHART), *values, *shown).ok()
    assert f"\n  name: {Names(suffix).sudo_namespace}\n" in found
