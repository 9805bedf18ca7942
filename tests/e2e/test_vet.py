"""Whether the users' role still gives what was vetted, on the real role of a real cluster."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.support.api import Api, Object, rbac_path
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import REPOSITORY, Result
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

COMMAND = Path(sys.executable).with_name("lnamespace")
SNAPSHOTS = REPOSITORY / "docs" / "vetted"
ADDON = "widgets-edit"
WIDGETS = ("example.com", "widgets")
LABEL = "rbac.authorization.k8s.io/aggregate-to-edit"

Vet = Callable[..., Result]
Aggregate = Callable[..., None]


@pytest.fixture
def vet(cluster: Cluster) -> Vet:
    """Return the command, as an administrator runs it in the repository."""
    return lambda *flags: cluster.run(COMMAND, "vet", *flags)


@pytest.fixture
def aggregate(admin: Api) -> Iterator[Aggregate]:
    """Have an add-on bring a ClusterRole that is made part of `edit`, and so of `admin`."""

    def given(rule: Object) -> bool:
        """Return whether it is there as written: of the resource, `admin` may have other rights."""
        return rule in admin.get(rbac_path("clusterroles", "admin"))["rules"]

    def add(group: str, resource: str, *verbs: str) -> None:
        rule = {"apiGroups": [group], "resources": [resource], "verbs": [*verbs]}
        body = {"metadata": {"name": ADDON, "labels": {LABEL: "true"}}, "rules": [rule]}
        admin.create(rbac_path("clusterroles"), body)
        eventually(lambda: given(rule), what="not aggregated")

    before = admin.get(rbac_path("clusterroles", "admin"))["rules"]
    yield add
    admin.remove(rbac_path("clusterroles", ADDON))
    eventually(
        lambda: admin.get(rbac_path("clusterroles", "admin"))["rules"] == before,
        what="the add-on's rights are still there",
    )


def table(result: Result) -> list[list[str]]:
    """Return the lines of the table, in words."""
    states = ("refused", "new", "lost", "vetted")
    lines = [line.split() for line in result.out.splitlines()]
    return [line for line in lines if line and line[0] in states]


def test_the_users_role_matches_the_snapshot_of_this_version(vet: Vet, admin: Api) -> None:
    result = vet()
    assert "Passed: nothing is new." in result.ok()
    assert "nearest earlier one" not in result.out
    assert result.err == ""
    version = admin.get("/version")
    emulates = version.get("emulationMinor", version["minor"]) != version["minor"]
    # A server that emulates an older one lacks what came between, and says it is the newer one.
    fine = {"vetted", "lost"} if emulates else {"vetted"}
    assert {line[0] for line in table(result)} <= fine


def test_the_right_to_impersonate_service_accounts_is_reported(vet: Vet) -> None:
    told = [line[:5] for line in table(vet())]
    role = "system:aggregate-to-edit"
    assert ["vetted", "core", "serviceaccounts", "impersonate", role] in told


def test_rights_added_by_an_addon_are_new_until_recorded(
    vet: Vet, aggregate: Aggregate, tmp_path: Path
) -> None:
    folder = tmp_path / "vetted"
    shutil.copytree(SNAPSHOTS, folder)
    where = f"--snapshots={folder}"
    aggregate(*WIDGETS, "get", "create")
    result = vet(where)
    assert "rights that are new: 2. Look through them" in result.refused()
    assert ["new", *WIDGETS, "create,", "get", ADDON] in table(result)
    recording = vet(where, "--record").ok()
    assert f"Recorded in {folder}" in recording
    assert vet(where).ok().endswith("Passed: nothing is new.\n")
    files = {path: path.read_text() for path in folder.iterdir()}
    vet(where, "--record").ok()
    assert {path: path.read_text() for path in folder.iterdir()} == files


def test_rights_lost_with_an_addon_are_reported_and_pass(
    vet: Vet, aggregate: Aggregate, admin: Api, tmp_path: Path
) -> None:
    where = f"--snapshots={tmp_path}"
    aggregate(*WIDGETS, "get")
    vet(where, "--record").ok()
    admin.delete(rbac_path("clusterroles", ADDON))
    lost = ["lost", *WIDGETS, "get"]
    eventually(lambda: lost in table(vet(where)), what="nothing is lost", tick=0.2)
    vet(where).ok()


@pytest.mark.parametrize(
    ("group", "resource", "verb", "why"),
    [
        ("", "namespaces", "delete", "the Namespace is the LNamespace's"),
        ("", "namespaces/finalize", "update", "the Namespace is the LNamespace's"),
        ("example.com", "*", "get", "a wildcard"),
        ("", "nodes/proxy", "get", "the kubelet"),
    ],
)
def test_forbidden_rights_are_refused_and_never_recorded(
    vet: Vet, aggregate: Aggregate, tmp_path: Path, group: str, resource: str, verb: str, why: str
) -> None:
    where = f"--snapshots={tmp_path}"
    vet(where, "--record").ok()
    files = {path: path.read_text() for path in tmp_path.iterdir()}
    aggregate(group, resource, verb)
    for flags in ([where], [where, "--record"]):
        result = vet(*flags)
        assert "rights that no tenant may have: 1." in result.refused()
        assert ["refused", group or "core", resource, verb, ADDON] == table(result)[0][:5]
        assert why in result.out
    assert {path: path.read_text() for path in tmp_path.iterdir()} == files


def test_json_output_contains_the_whole_result(
    vet: Vet, aggregate: Aggregate, admin: Api, tmp_path: Path
) -> None:
    where = f"--snapshots={tmp_path}"
    vet(where, "--record").ok()
    aggregate(*WIDGETS, "get")
    result = vet(where, "-o", "json")
    told: dict[str, Any] = json.loads(result.out)
    assert result.code == 1
    assert told["passed"] is False
    assert told["role"] == "admin"
    assert told["kubernetes"] == admin.get("/version")["gitVersion"]
    assert told["snapshot"]["role"] == "admin"
    assert told["recorded"] is None
    assert told["refused"] == told["lost"] == []
    right = {"group": "example.com", "resource": "widgets", "name": "", "verbs": ["get"]}
    assert told["new"] == [right | {"from": [ADDON], "why": ""}]


def test_all_rights_are_new_without_a_snapshot(vet: Vet, tmp_path: Path) -> None:
    result = vet(f"--snapshots={tmp_path}")
    assert "rights that are new: " in result.refused()
    assert "has no snapshot for this version or an earlier one" in result.out
    assert not any(tmp_path.iterdir())


def test_the_nearest_earlier_snapshot_is_used_and_named(vet: Vet, tmp_path: Path) -> None:
    vet(f"--snapshots={tmp_path}", "--record").ok()
    (recorded,) = tmp_path.iterdir()
    recorded.rename(tmp_path / "1.20.yaml")
    said = vet(f"--snapshots={tmp_path}").ok()
    assert f"Compared with {tmp_path / '1.20.yaml'}" in said
    assert "the nearest earlier one: there is none for this version." in said


def test_a_snapshot_can_be_created_as_a_role_with_the_same_rights(
    vet: Vet, cluster: Cluster, admin: Api, aggregate: Aggregate, tmp_path: Path
) -> None:
    where = f"--snapshots={tmp_path}"
    vet(where, "--record").ok()
    (recorded,) = tmp_path.iterdir()
    made = cluster.run("kubectl", "create", "-o", "name", "-f", recorded).ok()
    name = made.strip().partition("/")[2]
    aggregate(*WIDGETS, "get")
    try:
        result = vet(where, "--users-role", name)
        assert [line for line in table(result) if line[0] != "vetted"] == []
        result.ok()
        vet(where).refused()
    finally:
        admin.delete(rbac_path("clusterroles", name))


def test_the_right_to_get_the_role_suffices_to_vet_it(people: People, admin: Api) -> None:
    reader, name = people.person("auditor"), "reads-admin"
    rule = {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles"],
        "resourceNames": ["admin"],
        "verbs": ["get"],
    }
    assert "cannot get resource" in reader.run(str(COMMAND), "vet").refused()
    subject = {"kind": "User", "name": reader.name, "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    admin.create(rbac_path("clusterroles"), {"metadata": {"name": name}, "rules": [rule]})
    binding = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
    admin.create(rbac_path("clusterrolebindings"), binding)
    try:
        eventually(lambda: reader.run(str(COMMAND), "vet").code == 0, tick=0.2)
    finally:
        admin.delete(rbac_path("clusterrolebindings", name))
        admin.delete(rbac_path("clusterroles", name))


def test_a_missing_role_is_reported(vet: Vet) -> None:
    assert vet("--role", "nobody").refused() == (
        "error: there is no ClusterRole 'nobody' on this cluster; --users-role names the one that "
        "users have in their namespace\n"
    )
