"""The kubectl plugins as people use them; each story of a command through the command itself."""

import json
import os
import select
import shlex
import signal
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import GROUP, Api, ns_path
from tests.e2e.support.commands import environment
from tests.e2e.support.people import People, Person, Who, user
from tests.e2e.support.pods import in_container
from tests.e2e.support.processes import Controller, Webhook
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, ending, group, service_account, soon
from tests.e2e.support.waiting import eventually

QUALIFIED = f"lnamespace.{GROUP}"
KUBERC_ON = 34  # kubectl 1.34 is the first that reads a kuberc


@pytest.fixture(scope="module")
def bob(people: People) -> Person:
    return people.person("bob")


@pytest.fixture(scope="module")
def mine(tenants: Tenants, alice: Person, rights: Rights) -> str:
    """Return an LNamespace of which Alice is everything."""
    made = tenants.make("command", users=["alice"], managers=["alice"], sudoers=["alice"])
    eventually(lambda: rights.works(alice.who, made) and rights.sudoes(alice.who, made))
    eventually(lambda: rights.edits(alice.who, made) and rights.edits(alice.who.sudo(made), made))
    return made


# --- kubectl create lns


@pytest.mark.parametrize("how", ["client", "server"])
def test_a_dry_run_creates_nothing(how: str, alice: Person, tenants: Tenants, admin: Api) -> None:
    name = tenants.name("dry")
    told = alice.kubectl("create", "lns", name, f"--dry-run={how}").ok()
    assert told == f"{QUALIFIED}/{name} created ({'server ' if how == 'server' else ''}dry run)\n"
    command = ("create", "lns", name, f"--dry-run={how}", "--user", "group:a b")
    as_json = json.loads(alice.kubectl(*command, "-o", "json").ok())
    as_yaml = yaml.safe_load(alice.kubectl(*command, "-o", "yaml").ok())
    for document in (as_json, as_yaml):  # two requests, so two times of which to say "since"
        document["spec"].get("billing", {}).pop("provenance", None)
    assert as_json["spec"] == as_yaml["spec"]
    assert as_json["spec"]["users"][0]["name"] == "a b"
    filled_in = {key: as_json["spec"].get(key) for key in ("requester", "managers")}
    assert (filled_in["requester"] == "alice") is (how == "server"), "only the cluster fills in"
    assert bool(filled_in["managers"]) is (how == "server")
    assert alice.kubectl(*command, "-o", "name").ok() == f"{QUALIFIED}/{name}\n"
    assert admin.find(f"/apis/{GROUP}/v1beta1/lnamespaces/{name}") is None
    assert admin.find(ns_path(name)) is None


def test_the_output_of_a_dry_run_can_be_created(alice: Person, tenants: Tenants) -> None:
    name = tenants.name("printed")
    flags = ("--user", "bob,for=2w", "--manager=alice", "--cost-center", "R-42", "--team", "t: x")
    labels = ("--billing-label", "a=b=c", "--deletion-policy=Retain", "--environment=test")
    printed = alice.kubectl("create", "lns", name, *flags, *labels, "--dry-run=client", "-o=yaml")
    alice.kubectl("create", "-f", "-", stdin=printed.ok()).ok()
    spec = tenants.ready(name)["spec"]
    provenance = spec["billing"].pop("provenance")
    assert (provenance["changedBy"], provenance["source"]) == ("alice", "Explicit")
    assert spec["billing"] == {
        "costCenter": "R-42",
        "team": "t: x",
        "environment": "test",
        "labels": {"a": "b=c"},
    }
    assert spec["deletionPolicy"] == "Retain"
    assert "expiresAt" in spec["users"][0]


def test_create_refuses_invalid_arguments_and_creates_nothing(
    alice: Person, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("nonsense")
    for flags, code, words in (
        (("--usr", "bob"), 2, "unknown flag: --usr"),
        (("--user",), 2, "flag needs an argument"),
        (("--sudoer", "group:devs"), 2, "a group cannot be a sudoer"),
        (("--user", "bob,for=tomorrow"), 2, ""),
        (("--wait=perhaps",), 2, "write true or false"),
        (("two",), 2, "exactly one NAME is required"),
        (("--user", "system:masters"), 1, "system: names are the cluster's own"),
        (("--user", "a\u200bb"), 1, ""),
        (("--deletion-policy=Orphan",), 2, "must be Delete or Retain"),
    ):
        result = alice.kubectl("create", "lns", name, *flags)
        assert result.code == code, str(result)
        assert words in result.err
    assert admin.find(f"/apis/{GROUP}/v1beta1/lnamespaces/{name}") is None
    for bad in ("kube-mine", "Upper", "a.b", "a/b", "default"):
        assert bad in alice.kubectl("create", "lns", bad).refused()
    alice.kubectl("create", "lns", name).ok()
    assert "already exists" in alice.kubectl("create", "lns", name).refused()


def test_admission_warnings_are_shown_by_create_and_grant(
    alice: Person, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.name("odd")
    odd = f"group:{name}-sudoers"
    made = alice.kubectl("create", "lns", name, "--user", odd)
    assert made.ok() == f"{QUALIFIED}/{name} created\n"
    assert made.err.startswith("Warning: spec.users[0]: ")
    eventually(lambda: rights.edits(alice.who, name))
    alice.kubectl("lns", "revoke", name, odd).ok()
    granted = alice.kubectl("lns", "grant", name, "--user", odd)
    assert granted.ok() == f"{name}: {odd} is now a user\n"
    assert granted.err.startswith("Warning: spec.users[0]: ")


def test_an_unavailable_webhook_is_reported_in_plain_words(
    alice: Person, mine: str, webhook: Webhook, tenants: Tenants
) -> None:
    webhook.kill()
    try:
        for command in (
            ("create", "lns", tenants.name("shut")),
            ("lns", "grant", mine, "--user", "somebody"),
        ):
            refused = alice.kubectl(*command).refused()
            assert "failed calling webhook" in refused
            assert "while their webhook does not answer" in refused
        alice.kubectl("lns", "describe", mine).ok()
        told = alice.kubectl("lns", "whoami").ok()
        assert "May charge: <unknown> (Error from server (InternalError): " in told
        assert "Profiles:   <unknown>\n" in told
    finally:
        webhook.start()


def test_create_reports_a_conflict_without_waiting(
    alice: Person, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("conflict")
    admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
    result = alice.kubectl("create", "lns", name, "--timeout=2m")
    assert result.out == f"{QUALIFIED}/{name} created\n"
    assert "cannot become ready: Conflict" in result.refused()
    assert "choose another name" in result.err
    told = alice.kubectl("sudo", "-n", name, "get", "quota").refused()
    assert f'note: LNamespace "{name}" gives nobody access: Conflict: ' in told
    described = alice.kubectl("lns", "describe", name).ok()
    assert "  You are a sudoer. That gives no access: Conflict: " in described


def test_create_waits_no_longer_than_its_timeout(
    alice: Person, tenants: Tenants, controller: Controller
) -> None:
    controller.hold()
    try:
        name = tenants.name("waits")
        result = alice.kubectl("create", "lns", name, "--timeout=1s")
        assert "is not ready after 1s" in result.refused()
        assert f"kubectl lns describe {name}" in result.err
        other = tenants.name("waits-not")
        assert alice.kubectl("create", "lns", other, "--wait=false").ok()
    finally:
        controller.release()
    tenants.all_ready((name, other))


def test_an_interrupted_create_leaves_the_lnamespace_to_the_operator(
    alice: Person, tenants: Tenants, controller: Controller
) -> None:
    name = tenants.name("interrupted")
    told = _interrupted(alice, controller, "create", "lns", name)
    assert told.startswith(f"\r\x1b[K{name}: ")  # one line that is written over
    tenants.ready(name)


def test_an_interrupted_grant_is_stored_and_says_so(
    alice: Person, tenants: Tenants, controller: Controller, rights: Rights
) -> None:
    name = tenants.make("cut-short", managers=["alice"])
    eventually(lambda: rights.edits(alice.who, name))
    told = _interrupted(alice, controller, "lns", "grant", name, "--user=erin")
    assert "is stored and goes on being put into force" in told
    eventually(lambda: rights.works(user("erin"), name))


def _interrupted(person: Person, controller: Controller, *command: str) -> str:
    """Return what a command shows that is ended by Ctrl-C while it waits for the operator."""
    ours, theirs = os.openpty()
    controller.hold()
    # Tests that a script runs in its background ignore Ctrl-C, and so would what they start.
    ours_before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        ["kubectl", *command],
        env=environment(person.environment) | {"TERM": "xterm"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, ours_before)
    try:
        shown = _read_until(ours, "the operator has not looked at it yet")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130
        shown += _read_until(ours, "see: kubectl lns describe ")
        assert "Traceback" not in shown
        return shown
    finally:
        process.kill()
        process.wait()
        controller.release()
        os.close(ours)
        os.close(theirs)


def _read_until(terminal: int, words: str) -> str:
    text = ""
    while words not in text:
        assert select.select([terminal], [], [], 60)[0], f"only this was shown: {text!r}"
        text += os.read(terminal, 1024).decode()
    return text


# --- kubectl sudo


def test_sudo_passes_every_argument_to_kubectl(alice: Person, mine: str) -> None:
    odd = ["two words", "it's", '"x"', "$HOME", "*", "ünï", "a\nb", ""]
    literals = [f"--from-literal=k{n}={text}" for n, text in enumerate(odd)]
    alice.kubectl("sudo", "-n", mine, "create", "configmap", "odd", *literals).ok()
    found = alice.kubectl("sudo", "get", "configmap", "odd", "-o", "json", "--namespace", mine)
    assert list(json.loads(found.ok())["data"].values()) == odd
    query = 'jsonpath={range .items[?(@.metadata.name=="odd")]}{.data.k0}{end}'
    assert alice.kubectl("sudo", f"-n={mine}", "get", "cm", "-o", query).ok() == "two words"


def test_sudo_reads_standard_input(alice: Person, mine: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",  # Unlike a quota nobody writes its status, which is a conflict.
        "metadata": {"name": "piped"},
        "spec": {"limits": []},
    }
    told = alice.kubectl("sudo", "-n", mine, "apply", "-f", "-", stdin=json.dumps(body)).ok()
    assert told == "limitrange/piped created\n"
    script = f"echo '{json.dumps(body)}' | kubectl sudo -n {mine} replace -f - | cat"
    assert alice.run("/bin/sh", "-c", script).ok() == "limitrange/piped replaced\n"


def test_sudo_returns_the_exit_status_and_output_of_the_command(alice: Person, mine: str) -> None:
    missing = alice.kubectl("sudo", "-n", mine, "get", "quota", "missing")
    assert missing.refused() == 'Error from server (NotFound): resourcequotas "missing" not found\n'
    get = ("get", "quota", "missing", "--ignore-not-found")
    assert alice.kubectl("sudo", "-n", mine, *get).ok() == ""
    diff = ("diff", "-f", "-")
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"diff"}}'
    assert alice.kubectl("sudo", "-n", mine, *diff, stdin=body).code == 1
    assert alice.kubectl("sudo", "-n", mine, "get", "--nonsense").code != 0
    assert alice.kubectl("sudo").code == 2
    assert "Usage:" in alice.kubectl("sudo", "--help").ok()
    assert "Display one or many resources" in alice.kubectl("sudo", "get", "--help").ok()


def test_sudo_does_not_interpret_arguments_after_two_dashes(
    alice: Person, mine: str, admin: Api
) -> None:
    pod = {"name": "pod", "namespace": mine}
    container = {"name": "one", "image": "none"}
    eventually(lambda: admin.find(ns_path(mine, "serviceaccounts", "default")))
    admin.create(ns_path(mine, "pods"), {"metadata": pod, "spec": {"containers": [container]}})
    # There is no kubelet: what matters is that kubectl got as far as asking for one.
    result = alice.kubectl("sudo", "-n", mine, "exec", "pod", "--", "ls", "-n", "other", "--as=x")
    assert "pod pod does not have a host assigned" in result.err
    assert alice.kubectl("sudo", "-n", mine, "--", "get", "quota", "-o", "name").code == 0


@pytest.mark.parametrize(
    "command",
    [
        "sudo get rolebindings -n {}",
        "sudo -n {} get rolebindings",
        "sudo get rolebindings --namespace={}",
        "sudo kubectl get rolebindings -n {}",
        "sudo kubectl sudo get rolebindings -n{}",
        "sudo get lns {}",
        "sudo get ns {} -o name",
        "sudo get namespace/{}",
        "sudo describe lnamespaces.tenancy.loblaw.digital {}",
        "sudo lns describe {}",
        "sudo lns grant {} --user bob --dry-run=server",
        "sudo annotate lns/{} a=b --dry-run=server",
    ],
)
def test_sudo_finds_the_namespace_in_the_command(command: str, alice: Person, mine: str) -> None:
    alice.kubectl(*shlex.split(command.format(mine))).ok()


def test_sudo_finds_the_namespace_in_the_context(alice: Person, mine: str, tmp_path: Path) -> None:
    own = tmp_path / "kubeconfig"
    own.write_text(alice.kubeconfig.read_text())
    nowhere = alice.run("kubectl", "sudo", "get", "quota", KUBECONFIG=str(own))
    assert "which namespace?" in nowhere.refused()
    choose = ("kubectl", "config", "set-context", "--current", "--namespace", mine)
    alice.run(*choose, KUBECONFIG=str(own)).ok()
    alice.run("kubectl", "sudo", "get", "quota", KUBECONFIG=str(own)).ok()
    # What the command says goes before what the context says.
    other = alice.run("kubectl", "sudo", "-n", "default", "get", "quota", KUBECONFIG=str(own))
    assert 'no LNamespace "default"' in other.refused()


def test_sudo_finds_the_namespace_in_a_file(alice: Person, mine: str, tmp_path: Path) -> None:
    binding = ["create", "rolebinding", "by-file", "--clusterrole=view", "--user=carol"]
    sudo = ["-n", mine, "--dry-run=client", "-o", "yaml"]
    text = alice.kubectl("sudo", *binding, *sudo).ok()
    file = tmp_path / "binding.yaml"
    file.write_text(text)
    assert yaml.safe_load(text)["metadata"]["namespace"] == mine
    alice.kubectl("sudo", "apply", "-f", str(file)).ok()
    alice.kubectl("sudo", "delete", "-f", "-", stdin=text).ok()
    both = file.read_text() + "---\n" + file.read_text().replace(mine, "another")
    file.write_text(both)
    assert "several namespaces" in alice.kubectl("sudo", "apply", "-f", str(file)).refused()


def test_sudo_passes_the_user_flag_of_create_rolebinding_and_set_subject(
    alice: Person, mine: str, admin: Api
) -> None:
    """`--user=carol` was once looked up in the kubeconfig."""
    bind = ("create", "rolebinding", "for-carol", "--clusterrole=view", "--user=carol")
    alice.kubectl("sudo", "-n", mine, *bind).ok()
    more = ("set", "subject", "rolebinding", "for-carol", "--user=dave")
    alice.kubectl("sudo", "-n", mine, *more).ok()
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{mine}/rolebindings/for-carol"
    assert [one["name"] for one in admin.get(path)["subjects"]] == ["carol", "dave"]
    alice.kubectl("sudo", "-n", mine, "delete", "rolebinding", "for-carol").ok()


def test_a_mistyped_command_is_reported_by_kubectl_itself(alice: Person, mine: str) -> None:
    told = alice.kubectl("sudo", "-n", mine, "gett", "pods").refused()
    assert 'unknown command "gett"' in told
    assert "--as" not in told


def test_sudo_in_a_pod_uses_the_account_of_the_pod(
    people: People, tenants: Tenants, tmp_path: Path, rights: Rights
) -> None:
    """The refusal was `The connection to the server localhost:8080 was refused`."""
    name = tenants.make("in-a-pod", users=["alice"])
    bot = people.account(name, "bot")
    tenants.edit(name, sudoers=[service_account(name, "bot")])
    eventually(lambda: rights.sudoes(bot.who, name))
    config = yaml.safe_load(bot.kubeconfig.read_text())
    cluster, login = config["clusters"][0]["cluster"], config["users"][0]["user"]
    files = tmp_path / "files"
    files.mkdir()
    (files / "token").write_text(login["token"])
    (files / "ca.crt").write_bytes(b64decode(cluster["certificate-authority-data"]))
    (files / "namespace").write_text(name)
    host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
    pod = {"KUBECONFIG": "", "HOME": str(tmp_path)}
    pod |= {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    def kubectl(*words: str) -> str:
        return bot.run(*in_container(files), "kubectl", *words, **pod).ok()

    assert kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == bot.name
    quota = ("create", "quota", "small", "--hard=pods=3")
    assert kubectl("sudo", *quota) == "resourcequota/small created\n"
    assert "small" in kubectl("sudo", "-n", name, "get", "quota")
    granted = kubectl("sudo", "lns", "grant", name, "--user=erin")
    assert granted == f"{name}: erin is now a user\n"
    assert not (tmp_path / ".cache/lnamespace/sudo").exists(), "it would be of any account"


def test_a_refused_sudo_names_the_reason_and_the_remedy(
    bob: Person, mine: str, tenants: Tenants
) -> None:
    refused = bob.kubectl("sudo", "-n", mine, "get", "quota").refused()
    assert refused == (
        f'error: you (bob) are not a sudoer of "{mine}"; ask a manager (alice) to run: '
        f"kubectl lns grant {mine} --sudoer bob\n"
    )
    assert 'no LNamespace "nope"' in bob.kubectl("sudo", "-n", "nope", "get", "pods").refused()
    ended = tenants.make("over", managers=["alice"], sudoers=[ending("bob", soon(-3600))])
    assert (
        f'your (bob) sudo in "{ended}" ended'
        in bob.kubectl("sudo", "-n", ended, "get", "pods").refused()
    )
    for flag in ("--as=alice", "--as-group=x"):
        assert bob.kubectl("sudo", flag, "-n", mine, "get", "pods").code == 2


def test_a_sudoer_leaves_by_sudo(alice: Person, tenants: Tenants, rights: Rights) -> None:
    """It was done, and then called not in force, for sudo could not look at it any more."""
    name = tenants.make("left", managers=["bob"], sudoers=["alice"])
    eventually(lambda: rights.sudoes(alice.who, name) and rights.edits(alice.who.sudo(name), name))
    left = alice.kubectl("sudo", "lns", "leave", name).ok()
    assert left == f"{name}: alice is no longer a sudoer\n"
    assert not rights.sudoes(alice.who, name)


def test_sudo_runs_this_projects_own_plugins(
    alice: Person, bob: Person, tenants: Tenants, rights: Rights
) -> None:
    only = tenants.make("only-sudoer", managers=["somebody"], sudoers=["alice"])
    eventually(lambda: rights.sudoes(alice.who, only) and rights.edits(alice.who.sudo(only), only))
    refused = alice.kubectl("lns", "grant", only, "--user", "bob").refused()
    assert f"You are a sudoer of it; try: kubectl sudo lns grant {only} --user bob" in refused
    told = alice.kubectl("sudo", "lns", "grant", only, "--user", "bob").ok()
    assert told == f"{only}: bob is now a user\n"
    assert (
        "run: kubectl lns revoke " + only + " bob\n" in bob.kubectl("lns", "leave", only).refused()
    )
    alice.kubectl("sudo", "delete", "lns", only).ok()


# --- kubectl lns


def test_list_describe_and_whoami_show_the_access_of_a_person(
    people: People, tenants: Tenants
) -> None:
    dave = people.person("dave", "a team")
    none = dave.kubectl("lns", "list")
    assert none.ok() == ""
    assert "No lnamespaces found." in none.err
    first = tenants.make("list-a", users=[group("a team")], sudoers=[ending("dave", soon(7200))])
    second = tenants.make("list-b", managers=["dave"], billing={"costCenter": "R-7"})
    tenants.make("list", managers=["somebody"])
    assert dave.kubectl("lns", "list", "-o", "name").ok() == (
        f"{QUALIFIED}/{first}\n{QUALIFIED}/{second}\n"
    )
    table = dave.kubectl("lns", "list").ok().splitlines()
    assert table[0].split()[:2] == ["NAME", "READY"]
    assert "user,sudoer" in table[1]
    assert "sudoer=11" in table[1]  # minutes, one or ten of which may be over
    assert table[2].split()[1:3] == ["True", "manager"]
    assert "R-7" in table[2]
    everybody = dave.kubectl("lns", "list", "--all", "-o", "json").ok()
    names = {item["metadata"]["name"] for item in json.loads(everybody)["items"]}
    assert len(names) > 2
    whoami = dave.kubectl("lns", "whoami").ok()
    assert "Username:   dave" in whoami
    assert "Groups:     a team, system:authenticated" in whoami
    assert "May charge: unallocated (if you name none), any other" in whoami
    assert "Profiles:   <none>" in whoami
    assert first in whoami
    told = json.loads(dave.kubectl("lns", "whoami", "-o", "json").ok())
    assert told["username"] == "dave"
    assert {item["metadata"]["name"] for item in told["lnamespaces"]} == {first, second}
    described = dave.kubectl("lns", "describe", first).ok()
    assert f"{first}-sudoers" in described
    assert "You are a sudoer." in described
    assert "a team" in described
    assert json.loads(dave.kubectl("lns", "describe", first, "-o", "json").ok())["status"]


def test_grant_and_revoke_change_access(
    alice: Person, bob: Person, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.make("grant", managers=["alice"])
    eventually(lambda: rights.edits(alice.who, name))
    granted = alice.kubectl("lns", "grant", name, "--user", "bob", "--sudoer=bob", "--for", "8h")
    assert "bob is now a user until" in granted.ok()
    eventually(lambda: rights.works(bob.who, name) and rights.sudoes(bob.who, name))
    again = alice.kubectl("lns", "grant", name, "--user", "bob").ok()
    assert again == f"{QUALIFIED}/{name} unchanged\n", "an end goes only when it is said"
    lasting = alice.kubectl("lns", "grant", name, "--user", "bob,until=never").ok()
    assert lasting == f"{name}: bob stays a user, now without end\n"
    assert alice.kubectl("lns", "revoke", name, "--sudoer", "bob").ok() == (
        f"{name}: bob is no longer a sudoer\n"
    )
    eventually(lambda: not rights.sudoes(bob.who, name))
    assert rights.works(bob.who, name)
    refused = bob.kubectl("lns", "grant", name, "--sudoer", "bob").refused()
    assert 'User "bob" cannot update resource "lnamespaces"' in refused
    assert "Ask a manager (alice) to run:" in refused
    last = alice.kubectl("lns", "revoke", name, "--manager", "alice").refused()
    assert "nobody could change this LNamespace any more" in last
    dry = alice.kubectl("lns", "revoke", name, "bob", "--dry-run=server").ok()
    assert dry == f"{name}: bob is no longer a user (server dry run)\n"
    assert rights.works(bob.who, name)
    everybody = ("lns", "revoke", name, "bob", "alice", "--force")
    assert "somebody must be able to edit it" in alice.kubectl(*everybody).refused()
    alice.cluster.run("kubectl", *everybody).ok()
    eventually(lambda: not rights.works(bob.who, name) and not rights.edits(alice.who, name))


def test_a_mistyped_entry_is_reported_and_changes_nothing(alice: Person, tenants: Tenants) -> None:
    name = tenants.make("slip", managers=["alice"], users=["tina"])
    told = alice.kubectl("lns", "revoke", name, "tinaa").refused()
    assert 'nothing was changed: "tinaa" is not on any list; did you mean "tina"?' in told
    alice.kubectl("lns", "revoke", name, "tinaa", "--ignore-not-found").ok()
    for slip in ("mark,nina", "mark,fro=8h", "Group:devs", "sa:default:default"):
        assert alice.kubectl("lns", "grant", name, "--user", slip).code == 2
    assert [entry["name"] for entry in tenants.get(name)["spec"]["users"]] == ["tina"]


def test_a_change_not_yet_in_force_is_reported_as_a_failure(
    alice: Person, tenants: Tenants, controller: Controller, rights: Rights
) -> None:
    """With the controller away, revoke once returned 0 at once, and the person worked on."""
    name = tenants.make("held", managers=["alice"], users=["bob"])
    eventually(lambda: rights.edits(alice.who, name))
    controller.hold()
    try:
        for command in (("revoke", name, "bob"), ("grant", name, "--user", "carol")):
            told = alice.kubectl("lns", *command, "--timeout=1s").refused()
            assert f'the change of LNamespace "{name}" is stored, but not in force' in told
            assert "the operator has not looked at it yet" in told
        alice.kubectl("lns", "grant", name, "--user", "dave", "--wait=false").ok()
    finally:
        controller.release()
    eventually(lambda: not rights.works(Who("bob"), name) and rights.works(Who("carol"), name))


def test_grant_and_revoke_return_after_the_bindings_are_changed(
    alice: Person, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    """The API server's authorizer follows its bindings by itself, in milliseconds."""
    name = tenants.make("now", managers=["alice"])
    eventually(lambda: rights.edits(alice.who, name))
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}/rolebindings/lnamespace-users"
    for _ in range(5):
        alice.kubectl("lns", "grant", name, "--user", "bob").ok()
        assert [one["name"] for one in admin.get(path)["subjects"]] == ["bob"]
        alice.kubectl("lns", "revoke", name, "bob").ok()
        assert not admin.get(path).get("subjects")


def test_extend_leave_prune_and_set_change_the_lnamespace(
    alice: Person, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.make(
        "edits", managers=["alice", "bob"], users=[ending("carol", soon(3600)), "alice"]
    )
    eventually(lambda: rights.edits(alice.who, name))
    extended = alice.kubectl("lns", "extend", name, "carol", "--for", "2w").ok()
    assert f"{name}: carol stays a user, now until" in extended
    alice.kubectl("lns", "set", name, "--team", "shop", "--billing-label", "app=web").ok()
    assert tenants.get(name)["spec"]["billing"]["labels"] == {"app": "web"}
    assert alice.kubectl("lns", "set", name, "--team", "shop").ok() == (
        f"{QUALIFIED}/{name} unchanged\n"
    )
    assert "no longer shop" in alice.kubectl("lns", "set", name, "--team", "").ok()
    assert alice.kubectl("lns", "prune", name).ok() == f"{QUALIFIED}/{name} unchanged\n"
    assert alice.kubectl("lns", "leave", name).ok() == (
        f"{name}: alice is no longer a user\n{name}: alice is no longer a manager\n"
    )
    assert [entry["name"] for entry in tenants.get(name)["spec"]["managers"]] == ["bob"]


def test_the_plugin_reads_and_writes_qualified_names_as_kubectl_does(
    alice: Person, mine: str
) -> None:
    listed = alice.kubectl("lns", "list", "-o", "name").ok().split()
    assert f"{QUALIFIED}/{mine}" in listed
    assert f"Name:        {mine}" in alice.kubectl("lns", "describe", f"{QUALIFIED}/{mine}").ok()
    assert alice.kubectl("lns", "describe", f"deployment/{mine}").code == 2
    described = yaml.safe_load(alice.kubectl("lns", "describe", mine, "-o", "yaml").ok())
    found = yaml.safe_load(alice.kubectl("lns", "list", "-o", "yaml").ok())
    assert described in found["items"]
    assert mine not in alice.kubectl("lns", "list", "-l", "no=where").ok()


KUBERC = {
    "get": {"output": "wide", "watch": "true", "selector": "no=where"},
    "create": {"output": "yaml", "selector": "no=where", "recursive": "true"},
    "replace": {"output": "yaml", "recursive": "true"},
    "config view": {"minify": "true", "output": "yaml"},
    "auth whoami": {"output": "yaml"},
}


def test_all_plugins_work_with_defaults_in_a_kuberc(
    alice: Person, mine: str, tenants: Tenants, tmp_path: Path
) -> None:
    """Each of them ended with `--raw and --output are mutually exclusive`."""
    kuberc = tmp_path / "kuberc"
    defaults = [
        {"command": command, "options": [{"name": n, "default": d} for n, d in options.items()]}
        for command, options in KUBERC.items()
    ]
    head = {"apiVersion": "kubectl.config.k8s.io/v1beta1", "kind": "Preference"}
    kuberc.write_text(json.dumps({**head, "defaults": defaults, "aliases": []}))

    def kubectl(*words: str) -> str:
        return alice.run("kubectl", *words, KUBERC=str(kuberc)).ok()

    name = tenants.name("defaults")
    assert kubectl("create", "lns", name) == f"{QUALIFIED}/{name} created\n"
    assert mine in kubectl("lns", "list")
    assert f"Name:        {mine}" in kubectl("lns", "describe", mine)
    assert "May charge: unallocated" in kubectl("lns", "whoami")
    assert kubectl("lns", "grant", mine, "--user=erin") == f"{mine}: erin is now a user\n"
    assert kubectl("lns", "revoke", mine, "erin") == f"{mine}: erin is no longer a user\n"
    # What the user runs under sudo has their defaults, as without it.
    version = json.loads(kubectl("version", "--client", "-o", "json"))["clientVersion"]
    told = alice.run("kubectl", "sudo", "-n", mine, "get", "--raw", "/version", KUBERC=str(kuberc))
    assert (told.code == 1) is (int(version["minor"]) >= KUBERC_ON)


def test_create_works_under_all_of_its_names(alice: Person, tenants: Tenants) -> None:
    for words in (("create", "lnamespace"), ("lns", "create")):
        name = tenants.name("other")
        told = alice.kubectl(*words, name, "--dry-run=server").ok()
        assert told == f"{QUALIFIED}/{name} created (server dry run)\n"
    refused = alice.kubectl("create", "lns", "Bad_Name").refused()
    taken = alice.kubectl("create", "lns", "kube-system").refused()
    assert "STDIN" not in refused + taken


def test_concurrent_grants_are_all_applied(alice: Person, tenants: Tenants, rights: Rights) -> None:
    name = tenants.make("race", managers=["alice"])
    eventually(lambda: rights.edits(alice.who, name))
    script = " & ".join(f"kubectl lns grant {name} --user user-{n}" for n in range(6))
    alice.run("/bin/sh", "-c", f"{script} & wait").ok()
    granted = {entry["name"] for entry in tenants.get(name)["spec"]["users"]}
    assert granted == {f"user-{n}" for n in range(6)}


def test_wrong_command_lines_are_refused_with_usage_errors(alice: Person, mine: str) -> None:
    for command, words in (
        ("lns nonsense", 'unknown command "nonsense"'),
        ("lns lst", "Did you mean this?"),
        ("lns describe", "exactly one NAME is required"),
        (f"lns grant {mine}", "and whom"),
        (f"lns grant {mine} --sudoer group:x", "a group cannot be a sudoer"),
        (f"lns grant {mine} --user bob --for=1h --until=2030-01-01T00:00:00Z", "exclude"),
        ("lns list --nonsense", "unknown flag"),
    ):
        result = alice.kubectl(*command.split())
        assert result.code == 2, str(result)
        assert words in result.err
    assert 'no LNamespace "nope"' in alice.kubectl("lns", "describe", "nope").refused()


def test_kubectl_get_wait_and_explain_show_lnamespaces(alice: Person, mine: str) -> None:
    header, row = alice.kubectl("get", "lns", mine).ok().splitlines()
    assert header.split() == ["NAME", "READY", "REQUESTER", "COST", "CENTER", "AGE"]
    assert row.split()[:2] == [mine, "True"]
    alice.kubectl("wait", "lns", mine, "--for=condition=Ready", "--timeout=60s").ok()
    assert "kubectl sudo" in alice.kubectl("explain", "lns.spec.sudoers").ok()


# --- completion


def test_completion_suggests_commands_names_flags_and_resources(alice: Person, mine: str) -> None:
    def choices(*words: str) -> list[str]:
        return alice.kubectl("__complete", *words).ok().splitlines()

    assert any(line.startswith("describe\t") for line in choices("lns", "des"))
    assert mine in choices("lns", "describe", mine[:4])
    assert "alice" in choices("lns", "revoke", mine, "")
    assert "--sudoer=" in choices("lns", "grant", mine, "--su")
    assert any(line.startswith("resourcequotas") for line in choices("sudo", "get", "resourceq"))
