"""The endpoint `mine`: people see the platform's cluster with their own namespaces instead of all.

Logins by token are those of service accounts; alice and bob have client certificates.
"""

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.support.api import (
    NAMESPACES,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.commands import environment
from tests.e2e.support.gateway import GatewayCluster, GatewayProcess, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.processes import free_port
from tests.e2e.support.tenants import Entry, Tenants, service_account
from tests.e2e.support.waiting import eventually

CONFIG_MAPS = "/api/v1/configmaps"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


class MineUsers:
    """People at the endpoint `mine`, and the LNamespaces that they are given."""

    def __init__(self, cluster: GatewayCluster, people: People) -> None:
        self.cluster = cluster
        self.people = people
        self.tenants = Tenants(cluster.admin)

    def caller(self, name: str, *, by_path: bool = False) -> Resident:
        """Return somebody with a token."""
        person = self.people.account("people", name)
        return self.cluster.behind("mine", person, by_path=by_path)

    def certified(self, name: str) -> Resident:
        """Return somebody with a client certificate."""
        return self.cluster.behind("mine", self.people.person(name))

    def team(self, stem: str, *users: Entry, **spec: Any) -> str:
        """Make an LNamespace of these users."""
        return self.tenants.make(stem, users=list(users), managers=["manager"], **spec)

    def give(self, team: str, *users: Entry) -> None:
        """Let these be the users of an LNamespace, and no others."""
        self.tenants.edit(team, users=[*users, "somebody"])
        self.tenants.ready(team)

    def put(self, namespace: str, name: str) -> Object:
        """Make a ConfigMap."""
        path = ns_path(namespace, "configmaps")
        return self.cluster.admin.create(path, {"metadata": {"name": name}})


@pytest.fixture(scope="module")
def mine(cluster: GatewayCluster, people: People) -> MineUsers:
    """Return the people of the endpoint, and make the namespace of those with tokens."""
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "people"}})
    return MineUsers(cluster, people)


@pytest.fixture(scope="module")
def teams(mine: MineUsers) -> tuple[str, str]:
    """Return an LNamespace of eve and one of somebody else, with an object in each."""
    both = mine.team("eve", account("eve")), mine.team("other", account("olga"))
    for each in both:
        mine.put(each, f"of-{each}")
    eventually(partial(sees, mine.caller("eve"), both[0]))
    return both


def account(name: str) -> Object:
    return service_account("people", name)


def names(result: str) -> list[str]:
    return [line.partition("/")[2] for line in result.split()]


def shown_namespaces(caller: Resident) -> list[str]:
    return names(caller.kubectl("get", "ns", "-o", "name").ok())


def sees(caller: Resident, *expected: str) -> bool:
    return shown_namespaces(caller) == sorted(expected)


class Watch:
    """A watch as a client has it, by `kubectl get --raw`."""

    def __init__(self, caller: Resident, path: str, **query: str) -> None:
        self.events: list[Object] = []
        target = f"{path}?{urlencode({'watch': 'true', **query})}"
        # kubectl reads in blocks of its own: it tells each event as it comes.
        command = ("kubectl", "get", "--raw", target)
        env = environment(caller.environment)
        self._process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                self.events.append(json.loads(line))

    @property
    def ended(self) -> bool:
        """Return whether it is over."""
        return not self._reader.is_alive()

    @property
    def told(self) -> list[str]:
        """Types and names, without bookmarks."""
        found = [each for each in self.events if each["type"] != "BOOKMARK"]
        return [f"{each['type']} {self._name(each)}" for each in found]

    @staticmethod
    def _name(event: Object) -> str:
        if event["type"] == "ERROR":
            return str(event["object"]["code"])
        return str(event["object"]["metadata"]["name"])

    @property
    def version(self) -> str:
        """Return the resource version at which to go on."""
        return str(self.events[-1]["object"]["metadata"]["resourceVersion"])

    def tells(self, *events: str) -> None:
        """Wait until the last events are these."""
        eventually(lambda: self.told[-len(events) :] == list(events), what=f"not {events}")

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def watching(caller: Resident, path: str = NAMESPACES, **query: str) -> Iterator[Watch]:
    watch = Watch(caller, path, **query)
    try:
        yield watch
    finally:
        watch.stop()


def version_of(caller: Resident, path: str = NAMESPACES) -> str:
    return str(caller.api.get(path)["metadata"]["resourceVersion"])


def test_people_list_only_the_namespaces_of_their_own_lnamespaces(mine: MineUsers) -> None:
    first = mine.team("see", account("ann"), "alice")
    second = mine.team("see", account("ann"), "alice")
    other = mine.team("see", account("ben"))
    ann, alice = mine.caller("ann"), mine.certified("alice")
    for caller in (ann, alice, mine.caller("ann", by_path=True)):
        eventually(partial(sees, caller, first, second))
        table = caller.kubectl("get", "ns").ok().splitlines()
        assert table[0].split() == ["NAME", "STATUS", "AGE"]
        assert [line.split()[0] for line in table[1:]] == sorted((first, second))
    assert sees(mine.caller("ben"), other)
    for namespace in (first, second, other):
        mine.put(namespace, f"in-{namespace}")
    out = ann.kubectl("get", "configmaps", "-A", "-o", "name", "--chunk-size=1").ok()
    found = [name for name in names(out) if name.startswith("in-")]
    assert found == sorted((f"in-{first}", f"in-{second}"))
    shown = ann.kubectl("get", "configmaps", "-A").ok()
    assert f"in-{first}" in shown
    assert f"in-{other}" not in shown
    label = "kubernetes.io/metadata.name"
    out = ann.kubectl("get", "ns", "-l", f"{label} in ({first},{other})", "-o", "name").ok()
    assert names(out) == [first]


def test_other_requests_get_the_api_servers_response_for_the_caller(mine: MineUsers) -> None:
    team = mine.team("else", account("eli"))
    eli = mine.caller("eli")
    eventually(partial(sees, eli, team))
    eli.kubectl("-n", team, "create", "configmap", "made", "--from-literal=a=b").ok()
    eli.kubectl("-n", team, "label", "configmap", "made", "a=b").ok()
    manifest = json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "c"}}
    )
    apply = ("-n", team, "apply", "--server-side", "--force-conflicts", "-f", "-")
    eli.kubectl(*apply, stdin=manifest).ok()
    found = mine.cluster.admin.get(ns_path(team, "configmaps", "made"))
    assert found["data"] == {"a": "c"}
    assert found["metadata"]["managedFields"][0]["manager"] == "kubectl"
    assert "people:eli" in eli.kubectl("auth", "whoami").ok()
    assert "cannot list resource" in eli.kubectl("get", "nodes").refused()
    assert "people:eli" in eli.kubectl("-n", "default", "get", "pods").refused()
    assert eli.kubectl("get", "lns", team).ok()
    head = eli.api.answer("HEAD", ns_path(team))
    assert (head.status, head.body) == (405, b"")
    etag = re.search(
        r"(?i)^etag: (.*)$", eli.api.answer("GET", "/openapi/v2").headers, re.MULTILINE
    )
    assert etag is not None
    again = eli.api.answer("GET", "/openapi/v2", headers=(("If-None-Match", etag[1]),))
    assert again.status == 304


def test_a_person_without_lnamespaces_gets_an_empty_list_with_a_warning(mine: MineUsers) -> None:
    nora = mine.caller("nora")
    for what in ("ns", "pods"):
        shown = nora.kubectl("get", what, "-A")
        assert shown.code == 0
        assert "No resources found" in shown.err
        assert "no LNamespace gives you rights" in shown.err
    assert nora.api.get(NAMESPACES)["kind"] == "NamespaceList"
    whole = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    with watching(nora, allowWatchBookmarks="true", **whole) as watch:
        eventually(lambda: watch.events, what="an informer would wait for ever")
        assert watch.events[0]["type"] == "BOOKMARK"
        assert "k8s.io/initial-events-end" in watch.events[0]["object"]["metadata"]["annotations"]
        team = mine.team("nora", account("nora"))
        watch.tells(f"ADDED {team}")


def test_a_watch_adds_and_deletes_namespaces_as_rights_change(mine: MineUsers) -> None:
    team = mine.team("comes", "somebody")
    with (
        mine.caller("may").reading("get", "ns", "-w", "--output-watch-events") as of_may,
        mine.certified("bob").reading("get", "ns", "-w", "--output-watch-events") as of_bob,
    ):
        for turn in range(2):
            mine.give(team, account("may"), "bob")
            for lines in (of_may, of_bob):
                if not turn:
                    assert next(lines).split()[0] == "EVENT"
                assert next(lines).split()[:2] == ["ADDED", team]
            mine.give(team)
            for lines in (of_may, of_bob):
                assert next(lines).split()[:2] == ["DELETED", team]
        mine.give(team, account("may"), "bob")
        assert next(of_may).split()[:2] == ["ADDED", team]
        mine.tenants.delete(team)
        assert next(of_may).split()[:2] in (["MODIFIED", team], ["DELETED", team])


def test_granted_rights_add_objects_to_a_watch_and_revocation_ends_the_watch(
    mine: MineUsers,
) -> None:
    stays, comes = mine.team("stays", account("pat")), mine.team("comes", "somebody")
    mine.put(comes, "there-before")
    pat = mine.caller("pat")
    eventually(partial(sees, pat, stays))
    with watching(pat, CONFIG_MAPS, labelSelector="") as watch:
        eventually(lambda: watch.told)
        mine.give(comes, account("pat"))
        eventually(lambda: "ADDED there-before" in watch.told)
        mine.put(comes, "later")
        mine.put(stays, "too")
        eventually(lambda: {"ADDED later", "ADDED too"} <= set(watch.told))
        mine.give(comes)
        eventually(lambda: watch.ended, what="a watch outlives the rights that it rests on")
        assert watch.told[-1] == "ERROR 410"
    with watching(pat, ns_path(stays, "configmaps")) as single:
        eventually(lambda: single.told)
        mine.give(stays)
        eventually(lambda: single.ended, what="a watch of one namespace outlives the rights")


def test_a_watch_resumes_from_its_resource_version(mine: MineUsers) -> None:
    stays, comes = mine.team("resume", account("rea")), mine.team("resume", "somebody")
    rea = mine.caller("rea")
    eventually(partial(sees, rea, stays))
    objects = version_of(rea, CONFIG_MAPS)
    mine.put(stays, "meanwhile")
    with watching(rea, CONFIG_MAPS, resourceVersion=objects) as watch:
        watch.tells("ADDED meanwhile")
        assert watch.told == ["ADDED meanwhile"], "what was listed is told again"
        version = watch.version
    mine.put(stays, "after")
    with watching(rea, CONFIG_MAPS, resourceVersion=version) as watch:
        watch.tells("ADDED after")
        assert watch.told == ["ADDED after"]
    spaces = version_of(rea)
    mine.give(comes, account("rea"))
    eventually(partial(sees, rea, stays, comes))
    with watching(rea, resourceVersion=spaces) as watch:
        watch.tells(f"ADDED {comes}")
        assert watch.told == [f"ADDED {comes}"]
        mine.give(comes)
        watch.tells(f"DELETED {comes}")
        version = watch.version
    with watching(rea, resourceVersion=version) as watch:
        mine.cluster.admin.patch(ns_path(stays), {"metadata": {"labels": {"seen": "yes"}}})
        watch.tells(f"MODIFIED {stays}")
        assert watch.told == [f"MODIFIED {stays}"]
    mine.give(comes, account("rea"))
    eventually(partial(sees, rea, stays, comes))
    both = version_of(rea)
    mine.give(comes)
    eventually(partial(sees, rea, stays))
    # A client that was away when the rights ended has to list again.
    assert "may have ended since" in refusal(
        rea.api.get, NAMESPACES, status=410, watch="true", resourceVersion=both
    )


def test_another_replica_resumes_a_watch_or_answers_410_expired(
    mine: MineUsers, tmp_path: Path
) -> None:
    team = mine.team("replica", account("rex"))
    rex = mine.caller("rex")
    eventually(partial(sees, rex, team))
    before = version_of(rex, CONFIG_MAPS)
    mine.put(team, "meanwhile")
    with another_replica(mine.cluster, tmp_path) as elsewhere:
        there = elsewhere(rex)
        expired = refusal(
            there.api.get, CONFIG_MAPS, status=410, watch="true", resourceVersion=before
        )
        assert "too old resource version" in expired
        version = version_of(rex, CONFIG_MAPS)
        mine.put(team, "new")
        with watching(there, CONFIG_MAPS, resourceVersion=version) as watch:
            watch.tells("ADDED new")


@contextmanager
def another_replica(
    cluster: GatewayCluster, folder: Path
) -> Iterator[Callable[[Resident], Resident]]:
    port = free_port()
    process: GatewayProcess = cluster.another_gateway("replica", port)
    process.start()

    def there(caller: Resident) -> Resident:
        text = caller.kubeconfig.read_text().replace(str(cluster.port), str(port))
        file = folder / "replica.kubeconfig"
        file.write_text(text)
        return Resident(caller.person, file)

    try:
        yield there
    finally:
        process.stop()


class Informer:
    """The names of what a client keeps: it lists, watches, and lists again where it must."""

    def __init__(self, caller: Resident, path: str) -> None:
        self._visitor, self._path = caller, path
        self.known: set[tuple[str, str]] = set()
        self.lists = 0
        self._stopped = False
        self._watch: Watch | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped:
            listed = self._visitor.api.get(self._path)
            self.lists += 1
            self.known = {_key(item) for item in listed["items"]}
            version = listed["metadata"]["resourceVersion"]
            self._watch = Watch(self._visitor, self._path, resourceVersion=version)
            seen = 0
            while not (self._stopped or (self._watch.ended and seen == len(self._watch.events))):
                for event in self._watch.events[seen:]:
                    seen += 1
                    if event["type"] in ("ADDED", "MODIFIED"):
                        self.known = self.known | {_key(event["object"])}
                    elif event["type"] == "DELETED":
                        self.known = self.known - {_key(event["object"])}
                threading.Event().wait(0.02)
            self._watch.stop()

    def stop(self) -> None:
        """End it."""
        self._stopped = True
        self._thread.join()


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def test_an_informer_stays_in_sync_while_rights_change(mine: MineUsers) -> None:
    teams = [mine.team("informed", "somebody") for _ in range(3)]
    caller = mine.caller("ina")
    informers = [Informer(caller, path) for path in (NAMESPACES, CONFIG_MAPS)]
    spaces, objects = informers
    try:
        for turn, members in enumerate(((0,), (0, 1), (1, 2), (), (0, 1, 2), (2,))):
            for number, team in enumerate(teams):
                mine.give(team, *([account("ina")] if number in members else []))
                mine.put(team, f"turn-{turn}")
            expected = {teams[each] for each in members}
            admin = mine.cluster.admin
            kept = {
                (team, item["metadata"]["name"])
                for team in expected
                for item in admin.items(ns_path(team, "configmaps"))
            }
            told = {("", team) for team in expected}
            eventually(lambda: spaces.known == told, what=f"{spaces.known} is not {told}")  # noqa: B023
            eventually(lambda: objects.known == kept, what=f"{objects.known} is not {kept}")  # noqa: B023
    finally:
        for informer in informers:
            informer.stop()
    assert spaces.lists == 1, "Namespaces come and go as events"


@pytest.mark.parametrize(
    "selector", ["metadata.name={}", "metadata.name!=x", "metadata.name={}\\", "metadata.name={},"]
)
def test_no_field_selector_lists_a_foreign_namespace(
    mine: MineUsers, teams: tuple[str, str], selector: str
) -> None:
    own, other = teams
    eve = mine.caller("eve")
    query = urlencode({"fieldSelector": selector.format(other)})
    answer = eve.api.answer("GET", f"{NAMESPACES}?{query}")
    assert answer.status in (200, 400)
    if answer.status == 200:
        found = {item["metadata"]["name"] for item in json.loads(answer.body)["items"]}
        assert found <= {own}


def test_a_person_cannot_read_foreign_namespaces_by_any_path(
    mine: MineUsers, teams: tuple[str, str]
) -> None:
    own, other = teams
    eve, olga = mine.caller("eve"), mine.caller("olga")
    assert eve.api.items(CONFIG_MAPS, fieldSelector=f"metadata.namespace={other}") == []
    for path in (ns_path(other), ns_path(other, "configmaps"), f"{NAMESPACES}/{own}/../{other}"):
        with pytest.raises(ApiError) as refused:
            eve.api.get(path)
        assert refused.value.status in (400, 403, 404), path
    for path in (f"/api/v1/watch{CONFIG_MAPS[7:]}", f"/api/v1/watch/namespaces/{other}"):
        refusal(eve.api.get, path, status=404)
    # The place in a list of somebody else.
    page = olga.api.get(CONFIG_MAPS, limit="1")
    token = page["metadata"]["continue"]
    assert "not valid" in refusal(
        eve.api.get, CONFIG_MAPS, status=400, limit="1", **{"continue": token}
    )
    assert olga.api.get(CONFIG_MAPS, limit="1", **{"continue": token})["items"]
    # Who one is, is what the API server says of the token.
    for acting in (eve.api.acting("system:serviceaccount:people:olga"), eve.api.acting("admin")):
        for path in (NAMESPACES, CONFIG_MAPS, ns_path(other)):
            assert "cannot impersonate" in refusal(acting.get, path)
    proxied = (("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters"))
    answer = eve.api.answer("GET", NAMESPACES, headers=proxied)
    assert [item["metadata"]["name"] for item in json.loads(answer.body)["items"]] == [own]
    assert eve.api.answer("GET", ns_path(other), headers=proxied).status == 403
    assert eve.api.answer("GET", NAMESPACES, headers=olga.api.headers).status == 401


def test_a_certificate_login_reads_namespaces_and_is_referred_to_tokens(
    mine: MineUsers, teams: tuple[str, str]
) -> None:
    own, other = mine.team("cert", "carol"), teams[1]
    carol = mine.certified("carol")
    eventually(partial(sees, carol, own))
    assert own in carol.kubectl("get", "ns", own).ok()
    for words in (
        ("get", "ns", other),
        ("get", "pods", "-A"),
        ("get", "pods", "-n", own),
        ("get", "nodes"),
        ("delete", "ns", own),
        ("get", "ns", "--as=system:serviceaccount:people:olga"),
        ("get", "--raw", "/metrics"),
        ("get", "--raw", "/openapi/%2e%2e/metrics"),
        ("get", "--raw", f"/api/v1/namespaces/{own}/configmaps"),
    ):
        assert (
            "client certificate, which the gateway cannot pass on"
            in carol.kubectl(*words).refused()
        )


def test_service_accounts_of_an_lcluster_are_refused(mine: MineUsers) -> None:
    LClusters(mine.cluster, mine.people).make("beside", "alice")
    robot = mine.cluster.behind("mine", mine.people.account("beside-default", "robot"))
    for path in (NAMESPACES, "/apis", CONFIG_MAPS):
        assert 'is of LCluster "beside"' in refusal(robot.api.get, path)


def test_an_lcluster_named_mine_is_refused(mine: MineUsers) -> None:
    body = {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": "mine"},
        "spec": {"users": [{"name": "alice"}]},
    }
    path = "/apis/tenancy.loblaw.digital/v1beta1/lclusters"
    assert "reserved" in refusal(mine.cluster.admin.create, path, body, status=422)


def test_sudo_adds_its_namespaces_to_lists_and_is_refused_to_other_people(mine: MineUsers) -> None:
    sue, tom = mine.caller("sue"), mine.caller("tom")
    plain = mine.team("plain", account("sue"))
    team = mine.tenants.make(
        "sudo", users=["somebody"], managers=["manager"], sudoers=[account("sue")]
    )
    eventually(partial(sees, sue, plain))
    mine.put(team, "by-sudo")
    out = sue.kubectl("sudo", "-n", team, "get", "configmaps", "-A", "-o", "name").ok()
    assert "configmap/by-sudo" in out.split()
    spaces = names(sue.kubectl("sudo", "-n", team, "get", "ns", "-o", "name").ok())
    assert spaces == sorted((plain, team)), "with sudo one is oneself, in one group more"
    acting = ("--as=system:serviceaccount:people:tom", f"--as-group={team}-sudoers")
    for what in ("ns", "configmaps"):
        assert "cannot impersonate" in tom.kubectl("get", what, "-A", *acting).refused()


def test_a_kind_readable_in_some_namespaces_is_listed_from_only_these(mine: MineUsers) -> None:
    one, two = mine.team("some", account("leo")), mine.team("some", account("leo"))
    leo = mine.caller("leo")
    eventually(partial(sees, leo, one, two))
    templates = "/api/v1/podtemplates"

    def refused() -> bool:
        return "cannot list resource" in leo.kubectl("get", "podtemplates", "-A").refused()

    eventually(refused)
    eventually(lambda: "in any namespace" in refusal(leo.api.get, templates, watch="true"))
    admin: Api = mine.cluster.admin
    rule = {"apiGroups": [""], "resources": ["podtemplates"], "verbs": ["*"]}
    admin.create(rbac_path("roles", namespace=two), {"metadata": {"name": "l"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "l"}
    subject = service_account("people", "leo")
    binding = {"metadata": {"name": "l"}, "roleRef": role, "subjects": [subject]}
    admin.create(rbac_path("rolebindings", namespace=two), binding)
    for namespace in (one, two):
        path = ns_path(namespace, "podtemplates")
        admin.create(path, _template(f"in-{namespace}"))
    shown = partial(leo.kubectl, "get", "podtemplates", "-A", "-o", "name")
    eventually(lambda: shown().code == 0)
    assert names(shown().ok()) == [f"in-{two}"]
    with watching(leo, templates) as watch:
        watch.tells(f"ADDED in-{two}")
        assert watch.told == [f"ADDED in-{two}"]


def _template(name: str) -> Object:
    pod = {"spec": {"containers": [{"name": "x", "image": "x"}]}}
    return {"metadata": {"name": name}, "template": pod}


def test_the_plugin_adds_a_context_for_the_endpoint(mine: MineUsers, tmp_path: Path) -> None:
    team = mine.team("plugin", account("pia"))
    pia = mine.people.account("people", "pia")
    file = tmp_path / "kubeconfig"
    file.write_text(pia.kubeconfig.read_text())
    here = {"KUBECONFIG": str(file)}
    told = pia.run("kubectl", "lns", "kubeconfig", "--mine", **here).ok()
    assert told.startswith('context "mine" leads to your LNamespaces (https://gateway.test/mine)')
    authority = mine.cluster.certificates / "ca.crt"
    flags = (f"--gateway={mine.cluster.url}", f"--gateway-ca={authority}", "--force")
    pia.run("kubectl", "lns", "kubeconfig", "--mine", *flags, **here).ok()
    out = pia.run("kubectl", "--context=mine", "get", "ns", "-o", "name", **here).ok()
    assert names(out) == [team]
    assert "takes no NAME" in pia.run("kubectl", "lns", "kubeconfig", "--mine", "x", **here).err
