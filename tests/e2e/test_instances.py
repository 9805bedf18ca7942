"""Two instances on one cluster: of two versions, in two namespaces, mixed up on purpose.

The tests run in order: the later ones end instances that the earlier ones use.
"""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import Api, ns_path, rbac_path, refusal, unless
from tests.e2e.support.cluster import LEDGER_ACCOUNT, SERVICE_ACCOUNT, WEBHOOK_ACCOUNT, Cluster
from tests.e2e.support.instances import CHART, Instance, bare
from tests.e2e.support.people import People, Person
from tests.e2e.support.processes import Controller, Publisher
from tests.e2e.support.rights import Deed, Rights
from tests.e2e.support.waiting import Measurements, eventually, measured, settled

pytestmark = pytest.mark.thorough

OTHER = "team1.example.com"
KINDS = ("clusterroles", "clusterrolebindings")


@dataclass
class Pair:
    """Two instances, both running."""

    first: Instance
    second: Instance
    people: People

    @property
    def cluster(self) -> Cluster:
        """Return the cluster that they share."""
        return self.first.cluster

    @property
    def admin(self) -> Api:
        """Return the administrator of both."""
        return self.cluster.admin

    def person(self, name: str) -> Person:
        """Somebody with a certificate."""
        return self.people.person(name)

    def at(self, instance: Instance, who: Person, *words: str) -> str:
        """Return what a person's kubectl says, having said which instance they mean."""
        variable = {"LNAMESPACE_API_GROUP_SUFFIX": instance.suffix}
        return who.run("kubectl", *words, **variable).ok()


def another_version(folder: Path) -> Path:
    """Return the chart, as a release that is not this one."""
    copy = folder / "chart"
    shutil.copytree(CHART, copy)
    file = copy / "Chart.yaml"
    file.write_text(re.sub(r"(?m)^(version|appVersion): .*", r'\1: "0.0.7"', file.read_text()))
    return copy


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Yield a cluster with the default instance and one more, of another version."""
    folder = tmp_path_factory.mktemp("instances")
    with bare(folder) as first:
        cluster = first.cluster
        second = Instance(cluster, OTHER, "lns-team1", "team1", another_version(folder))
        first.install()
        second.install()
        cluster.learn_kinds()
        eventually(lambda: first.guarded() and second.guarded(), what="not guarded")
        try:
            first.start()
            second.start()
            yield Pair(first, second, People(cluster))
        finally:
            second.stop()
        second.no_defect()


def made_by(instance: Instance, pair: Pair) -> set[str]:
    """Return the cluster-wide grants of an instance, by the label that it selects them by."""
    selector = f"app.kubernetes.io/managed-by={instance.prefix}"
    found = (pair.admin.items(rbac_path(kind), labelSelector=selector) for kind in KINDS)
    return {item["metadata"]["name"] for items in found for item in items}


def state(pair: Pair, instance: Instance, name: str) -> dict[str, str]:
    """Everything about one LNamespace of an instance, by its resource version."""
    paths = [instance.path(name), ns_path(name)]
    paths += [rbac_path(k, f"{instance.prefix}:{name}:{part}") for k in KINDS for part in PARTS]
    paths += [rbac_path("rolebindings", f"lnamespace-{part}", name) for part in BINDINGS]
    return {path: pair.admin.get(path)["metadata"]["resourceVersion"] for path in paths}


PARTS = ("editor", "sudoer-impersonator")
BINDINGS = ("users", "sudoers")


def test_the_two_releases_have_no_object_in_common(pair: Pair) -> None:
    ours, theirs = pair.first.objects(), pair.second.objects()
    assert ours
    assert not ours & theirs
    cluster_wide = [name for _, namespace, name in theirs if not namespace]
    assert [name for name in cluster_wide if OTHER not in name] == []
    assert {(kind, name) for kind, at, name in theirs if at == "default"} == {
        ("Role", f"{pair.second.prefix}:controller-events"),
        ("RoleBinding", f"{pair.second.prefix}:controller-events"),
    }


def test_each_instance_serves_its_own_users(pair: Pair) -> None:
    alice = pair.person("alice")
    for instance, name in ((pair.first, "one"), (pair.second, "two")):
        assert f"{instance.group}/{name} created" in pair.at(instance, alice, "create", "lns", name)
        pair.at(instance, alice, "sudo", "-n", name, "create", "quota", "q", "--hard=pods=1")
        lns = instance.get(name)
        assert lns["spec"]["requester"] == "alice"
        assert lns["status"]["sudoersGroup"] == instance.sudoers_group(name)
        assert name in pair.at(instance, alice, "lns", "list", "-o", "name")
        namespace = pair.admin.get(ns_path(name))["metadata"]
        assert namespace["labels"]["app.kubernetes.io/managed-by"] == instance.prefix
        assert namespace["ownerReferences"][0]["apiVersion"] == f"{instance.group}/v1beta1"
        marks = {key.partition("/")[0] for key in namespace["labels"] | namespace["annotations"]}
        assert {mark for mark in marks if mark.startswith("tenancy.")} == {instance.group}
    assert "two" not in pair.at(pair.first, alice, "lns", "list", "-o", "name")
    assert not made_by(pair.first, pair) & made_by(pair.second, pair)
    assert {name.partition(":")[0] for name in made_by(pair.second, pair)} == {pair.second.prefix}


def test_the_plugins_find_an_lnamespace_of_another_instance_by_its_name(pair: Pair) -> None:
    """A namespace belongs to one instance, so nobody has to be told which."""
    alice = pair.person("alice")
    alice.kubectl("sudo", "-n", "two", "get", "quota", "q").ok()
    assert OTHER in alice.kubectl("lns", "describe", "two", "-o", "json").ok()
    alice.kubectl("lns", "grant", "two", "--user", "bob").ok()
    assert 'no LNamespace "three"' in alice.kubectl("lns", "describe", "three").refused()


def test_a_namespace_belongs_to_the_instance_that_created_it(pair: Pair) -> None:
    pair.first.make("both", users=["alice"], managers=["alice"], sudoers=["alice"])
    before = settled(lambda: state(pair, pair.first, "both"))
    pair.second.create("both", users=["mallory"], managers=["mallory"], sudoers=["mallory"])
    pair.second.wait("both", "False", "Conflict")
    assert settled(lambda: state(pair, pair.first, "both")) == before
    pair.admin.delete(pair.second.path("both"))
    eventually(lambda: f"{pair.second.prefix}:both:editor" not in made_by(pair.second, pair))
    assert settled(lambda: state(pair, pair.first, "both")) == before


@pytest.mark.parametrize("first_is_theirs", [True, False], ids=["of the first", "of the second"])
def test_an_lnamespace_of_the_same_name_elsewhere_gives_no_access(
    pair: Pair, first_is_theirs: bool
) -> None:
    """Mallory makes LNamespace X where X is somebody's of the other instance."""
    theirs, hers = (pair.first, pair.second) if first_is_theirs else (pair.second, pair.first)
    name = "prize-1" if first_is_theirs else "prize-2"
    mallory, rights = pair.person("mallory"), Rights(pair.admin)
    theirs.make(name, users=["alice"], managers=["alice"], sudoers=["alice"])
    everything = {"users": ["mallory"], "managers": ["mallory"], "sudoers": ["mallory"]}
    hers.create(name, mallory.api, **everything)
    hers.wait(name, "False", "Conflict")
    assert theirs.sudoers_group(name) != hers.sudoers_group(name)
    for instance in (theirs, hers):
        group = instance.sudoers_group(name)
        assert not rights.may(mallory.who, Deed("impersonate", "groups", name=group))
        refusal(mallory.api.acting("mallory", group).get, ns_path(name, "secrets"))
    refusal(mallory.api.get, ns_path(name, "secrets"))
    # And the sudoers of the one whose namespace it is have no say over hers.
    alice = pair.person("alice")
    sudo = alice.api.acting("alice", theirs.sudoers_group(name))
    eventually(lambda: unless("Forbidden", sudo.get, ns_path(name, "secrets")))
    refusal(sudo.patch, hers.path(name), {"spec": {"managers": []}})


def test_a_controller_token_cannot_change_objects_of_the_other_instance(pair: Pair) -> None:
    token = Api(pair.cluster.token(pair.first.namespace, SERVICE_ACCOUNT))
    refusal(token.patch, f"{pair.second.path('two')}/status", {"status": {"namespaceUID": ""}})
    for kind in KINDS:
        path = rbac_path(kind, f"{pair.second.prefix}:two:sudoer-impersonator")
        refusal(token.patch, path, {"metadata": {"labels": {"a": "b"}}})
        refusal(token.delete, path)
    for kind in BINDINGS:
        binding = rbac_path("rolebindings", f"lnamespace-{kind}", "two")
        refusal(token.patch, binding, {"subjects": []})
        refusal(token.patch, binding, {"metadata": {"labels": {"a": "b"}}})
        refusal(token.delete, binding)
    refusal(token.patch, ns_path("two"), {"metadata": {"labels": {"a": "b"}}})
    webhook = Api(pair.cluster.token(pair.first.namespace, WEBHOOK_ACCOUNT))
    refusal(webhook.get, pair.second.crd)
    refusal(
        webhook.get, ns_path(pair.second.namespace, "secrets", f"{WEBHOOK_ACCOUNT}-certificate")
    )
    ledger = Api(pair.cluster.token(pair.first.namespace, LEDGER_ACCOUNT))
    refusal(ledger.get, f"/apis/{pair.second.group}/v1beta1/billingrecords")


def test_a_controller_with_the_other_instances_suffix_writes_nothing(pair: Pair) -> None:
    binding = rbac_path("rolebindings", "lnamespace-users", "two")
    mixed = pair.first.another_controller("mixed-up", LNAMESPACE_API_GROUP_SUFFIX=OTHER)
    mixed.start()
    try:
        with held(pair.second.controller):
            pair.admin.delete(binding)
            pair.admin.patch(pair.second.path("two"), {"spec": {"managers": []}})
            eventually(lambda: "orbidden" in mixed.log(), what="nothing was refused")
            assert pair.admin.find(binding) is None
            lns = pair.second.get("two")
            assert lns["status"]["observedGeneration"] < lns["metadata"]["generation"]
        eventually(lambda: pair.admin.find(binding))
        pair.second.wait("two")
    finally:
        mixed.stop()


@contextmanager
def held(controller: Controller) -> Iterator[None]:
    """Stop a controller meanwhile."""
    controller.hold()
    try:
        yield
    finally:
        controller.release()


def test_the_chart_refuses_releases_that_conflict_with_another_instance(pair: Pair) -> None:
    again = Instance(pair.cluster, "team9.example.com", pair.first.namespace, "again")
    assert "cannot be imported into the current release" in again.helm("install").refused()
    clash = Instance(pair.cluster, OTHER, "lns-clash", "clash")
    told = clash.helm("install", "--create-namespace").refused()
    assert "cannot be imported into the current release" in told


def test_each_instance_repairs_its_own_objects(pair: Pair) -> None:
    for instance, name in ((pair.first, "one"), (pair.second, "two")):
        path = rbac_path("rolebindings", "lnamespace-users", name)
        pair.admin.delete(path)
        eventually(partial(pair.admin.find, path))
        role = rbac_path("clusterroles", f"{instance.prefix}:{name}:editor")
        pair.admin.patch(role, {"rules": []})
        eventually(partial(has_rules, pair, role))


def has_rules(pair: Pair, path: str) -> bool:
    """Return whether a role gives anything."""
    return bool(pair.admin.get(path).get("rules"))


def test_two_instances_can_share_a_ledger_without_losing_rows(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    publishers = {id(one): one.publisher(f"sqlite:///{file}") for one in (pair.first, pair.second)}
    # Each once more, with all rows there.
    for instance in (pair.first, pair.second, pair.first, pair.second):
        compare(publishers[id(instance)])
        eventually(partial(is_empty, pair, instance), 240, "records still wait")
    for publisher in publishers.values():
        publisher.stop()
    with sqlite3.connect(file) as ledger:
        events = set(
            ledger.execute(
                "SELECT namespace, api_group, operation FROM lnamespace_billing_events "
                "WHERE namespace IN ('one', 'two')"
            )
        )
    ledger.close()
    assert events == {("one", pair.first.group, "APPLY"), ("two", pair.second.group, "APPLY")}


def compare(publisher: Publisher) -> None:
    """Have it compare the ledger with the cluster, and go on."""
    publisher.stop()
    since = publisher.position
    publisher.start()
    eventually(lambda: "ledger and cluster compared" in publisher.log(since), 240)


def is_empty(pair: Pair, instance: Instance) -> bool:
    """Return whether no record of an instance waits."""
    return not pair.admin.items(f"/apis/{instance.group}/v1beta1/billingrecords")


def test_an_upgrade_of_one_instance_does_not_affect_the_other(pair: Pair) -> None:
    before = settled(lambda: state(pair, pair.first, "one"))
    configuration = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"
    webhook = pair.admin.get(configuration + "lnamespace-webhook")
    crd = pair.admin.get(pair.first.crd)
    pair.second.chart = CHART
    pair.second.upgrade("--set=reservedNames={vault}")
    eventually(lambda: pair.second.refuses("vault"), what="not upgraded")
    assert pair.admin.get(configuration + "lnamespace-webhook") == webhook
    assert pair.admin.get(pair.first.crd)["spec"] == crd["spec"]
    assert state(pair, pair.first, "one") == before
    pair.first.make("vault", managers=["alice"])
    assert pair.second.trusted()
    pair.second.make("after-upgrade", managers=["alice"])


def test_a_removal_of_one_instance_does_not_affect_the_other(
    pair: Pair, measurements: Measurements
) -> None:
    alice, first, second = pair.person("alice"), pair.first, pair.second
    before = settled(lambda: state(pair, second, "two"))
    first.stop()
    first.uninstall()
    remove(pair, first)
    eventually(lambda: pair.admin.find(ns_path("one")) is None, 240, "namespaces of the first stay")
    assert settled(lambda: state(pair, second, "two")) == before
    # Now there is one, and the plugins find it without being told.
    first_time = measured(lambda: alice.kubectl("create", "lns", "three").ok())
    measurements.note("kubectl create lns, the API group not known yet", first_time)
    alice.kubectl("sudo", "-n", "three", "create", "quota", "q", "--hard=pods=1").ok()
    assert f"{second.group}/three" in alice.kubectl("lns", "list", "-o", "name").ok()
    for _ in range(3):
        took = measured(lambda: alice.kubectl("lns", "whoami").ok())
        measurements.note("kubectl lns whoami, the API group remembered", took)
    alice.kubectl("lns", "grant", "three", "--user", "bob").ok()


def remove(pair: Pair, instance: Instance) -> None:
    """Remove it as NOTES.txt tells, by which the LNamespaces and their namespaces go too."""
    pair.cluster.run(
        "kubectl", "annotate", "crd", f"lnamespaces.{instance.group}",
        f"lclusters.{instance.group}", f"billingrecords.{instance.group}",
        f"{instance.group}/allow-deletion=true",
    ).ok()  # fmt: skip
    pair.cluster.run(
        "kubectl", "delete", "crd", f"lnamespaces.{instance.group}",
        f"lclusters.{instance.group}", f"billingrecords.{instance.group}",
    ).ok()  # fmt: skip
    pair.cluster.run(
        "kubectl", "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding",
        f"{instance.prefix}-crd",
    ).ok()  # fmt: skip


def test_the_plugins_require_a_choice_among_several_instances(pair: Pair) -> None:
    third = Instance(pair.cluster, "team2.example.com", "lns-team2", "team2")
    third.install()
    eventually(third.served)
    newcomer = pair.person("newcomer")
    told = newcomer.kubectl("lns", "list").refused()
    assert "set LNAMESPACE_API_GROUP_SUFFIX to one of: team1.example.com, team2.example.com" in told
    assert "several instances" in newcomer.kubectl("create", "lns", "four").refused()
    assert pair.admin.find(ns_path("four")) is None
    assert "three" in pair.at(pair.second, pair.person("alice"), "lns", "list", "-o", "name")
