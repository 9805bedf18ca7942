"""Both versions of the API, through the real API server: whatever is used, nothing is lost."""

import base64
import itertools
import json
import ssl
import urllib.request
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.e2e.support.api import (
    APPLY,
    CRD,
    GROUP,
    JSON_PATCH,
    LNAMESPACES,
    Api,
    ApiError,
    Object,
    lns_path,
    refusal,
)
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import REPOSITORY
from tests.e2e.support.processes import yet_to_answer
from tests.e2e.support.tenants import Tenants, manifest
from tests.e2e.support.waiting import eventually

NEWER, OLDER = "v1beta1", "v1alpha1"
KEY = f"{GROUP}/{NEWER}"
OLDER_LNAMESPACES = LNAMESPACES.replace(NEWER, OLDER)
OLDER_RESOURCE = f"lnamespaces.{OLDER}.{GROUP}"
END = "2999-12-31T23:59:59Z"
CARL = {"kind": "User", "name": "carl", "namespace": ""}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def whole(name: str) -> Object:
    """Return an LNamespace that says all that the older version cannot."""
    return manifest(
        name,
        users=["alice", {"name": "bob", "expiresAt": END}],
        managers=["alice", {"kind": "Group", "name": "ops", "expiresAt": END}],
        sudoers=[{"name": "bob", "expiresAt": END}],
        billing={"costCenter": "R-42", "team": "a", "labels": {"team": "b", "app": "shop"}},
    )


def as_older(lns: Object) -> Object:
    """Return the same as somebody would write it down who knows only the older version."""
    copy = deepcopy(lns)
    copy["apiVersion"] = f"{GROUP}/{OLDER}"
    billing = copy["spec"].pop("billing")
    labels = {k: v for k, v in billing.pop("labels").items() if k not in billing}
    copy["spec"]["billing"] = billing | labels
    for entries in (copy["spec"].get(name, ()) for name in ("users", "managers", "sudoers")):
        for entry in entries:
            entry.pop("expiresAt", None)
    return copy


def older_path(name: str) -> str:
    return f"{OLDER_LNAMESPACES}/{name}"


def said(lns: Object) -> Object:
    """Return the spec, with entries in no order: each way of editing has its own."""
    spec: Object = deepcopy(lns["spec"])
    for name in ("users", "managers", "sudoers"):
        if name in spec:
            spec[name] = sorted(spec[name], key=lambda entry: (entry["kind"], entry["name"]))
    return spec


def with_carl(lns: Object) -> Object:
    copy = deepcopy(lns)
    copy["spec"]["users"].append(CARL)
    return copy


# Ways to write, all with kubectl


class Kubectl:
    """kubectl of an administrator."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __call__(self, *words: str, body: Object | None = None) -> str:
        stdin = None if body is None else yaml.safe_dump(body)
        more = () if body is None else ("-f", "-")
        return self._cluster.run("kubectl", *words, *more, stdin=stdin).ok()

    def edit(self, name: str, program: str) -> str:
        """Edit it in the older version, with a program of sed as the editor."""
        editor = f"KUBE_EDITOR=sed -i '{program}'"
        return self._cluster.run("env", editor, "kubectl", "edit", OLDER_RESOURCE, name).ok()


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster)


def merge_patch(kubectl: Kubectl, name: str, lns: Object) -> None:
    patch = json.dumps({"spec": {"users": as_older(with_carl(lns))["spec"]["users"]}})
    kubectl("patch", OLDER_RESOURCE, name, "--type=merge", "-p", patch)


def json_patch(kubectl: Kubectl, name: str, _: Object) -> None:
    patch = json.dumps([{"op": "add", "path": "/spec/users/0", "value": CARL}])
    kubectl("patch", OLDER_RESOURCE, name, "--type=json", "-p", patch)


def edit(kubectl: Kubectl, name: str, _: Object) -> None:
    kubectl.edit(name, r's/^  users:$/  users:\n  - {kind: User, name: carl, namespace: ""}/')


def apply(kubectl: Kubectl, _: str, lns: Object) -> None:
    kubectl("apply", body=as_older(with_carl(lns)))


def replace_what_was_read(kubectl: Kubectl, name: str, _: Object) -> None:
    read = json.loads(kubectl("get", OLDER_RESOURCE, name, "-o", "json"))
    kubectl("replace", body=with_carl(read))


def replace_by_a_file(kubectl: Kubectl, _: str, lns: Object) -> None:
    kubectl("replace", body=as_older(with_carl(lns)))


def server_side_apply(kubectl: Kubectl, _: str, lns: Object) -> None:
    kubectl("apply", "--server-side", "--force-conflicts", body=as_older(with_carl(lns)))


def server_side_apply_by_another(kubectl: Kubectl, _: str, lns: Object) -> None:
    manager = ("--server-side", "--field-manager=another")
    kubectl("apply", *manager, body=as_older(with_carl(lns)))


EDITS = (
    merge_patch,
    json_patch,
    edit,
    apply,
    replace_what_was_read,
    replace_by_a_file,
    server_side_apply,
    server_side_apply_by_another,
)
WRITES = {
    "create": ("create",),
    "apply": ("apply",),
    "server-side": ("apply", "--server-side"),
}


def each_once(change: Callable[[Kubectl, str, Object], None], how: str) -> Any:
    """Return pairs of edit and way to write: each edit is in every run, all pairs are thorough."""
    rare = how != "apply" and change is not merge_patch
    marks = [pytest.mark.thorough] if rare else []
    return pytest.param(change, how, marks=marks, id=f"{change.__name__}-{how}")


@pytest.mark.parametrize(
    ("change", "how"), [each_once(*pair) for pair in itertools.product(EDITS, WRITES)]
)
def test_an_edit_in_the_older_version_loses_nothing(
    how: str,
    change: Callable[[Kubectl, str, Object], None],
    kubectl: Kubectl,
    tenants: Tenants,
) -> None:
    name = tenants.name("versions")
    kubectl(*WRITES[how], body=whole(name))
    # Until then the controller writes its status, and `kubectl replace` would meet a conflict.
    before = tenants.ready(name)
    change(kubectl, name, whole(name))
    after = tenants.get(name)
    assert said(after) == said(with_carl(before))
    assert KEY not in after["metadata"].get("annotations", {})


@pytest.mark.parametrize("how", WRITES)
def test_an_edit_in_the_newer_version_loses_nothing(
    how: str, kubectl: Kubectl, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("versions")
    kubectl(*WRITES[how], body=as_older(whole(name)))
    first = admin.get(older_path(name))
    ended = [{"name": "alice"}, {"name": "bob", "expiresAt": END}]
    kubectl("patch", "lns", name, "--type=merge", "-p", json.dumps({"spec": {"users": ended}}))
    second = admin.get(older_path(name))
    assert second["spec"] == first["spec"]
    assert json.loads(second["metadata"]["annotations"][KEY])["users"] == {"User//bob": END}
    kubectl("patch", OLDER_RESOURCE, name, "--type=merge", "-p", '{"spec":{"billing":{"x":"y"}}}')
    spec = tenants.get(name)["spec"]
    assert [entry.get("expiresAt") for entry in spec["users"]] == [None, END]
    assert spec["billing"]["labels"] == {"app": "shop", "x": "y"}


def test_both_versions_have_the_same_content(
    kubectl: Kubectl, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("versions")
    kubectl("create", body=whole(name))
    newer, older = tenants.ready(name), admin.get(older_path(name))
    assert older["apiVersion"] == f"{GROUP}/{OLDER}"
    assert older["status"] == newer["status"]
    assert older["spec"]["requester"] == newer["spec"]["requester"]
    assert older["spec"]["billing"] == {"costCenter": "R-42", "team": "a", "app": "shop"}
    assert "expiresAt" not in json.dumps(older["spec"])
    same = ("name", "uid", "resourceVersion", "generation", "creationTimestamp")
    assert [older["metadata"][k] for k in same] == [newer["metadata"][k] for k in same]


def test_an_lnamespace_created_in_the_older_version_becomes_ready(
    kubectl: Kubectl, tenants: Tenants
) -> None:
    name = tenants.name("versions")
    kubectl("create", body=as_older(whole(name)))
    lns = tenants.ready(name)
    assert lns["spec"]["requester"] == "lnamespace-admin"
    assert lns["spec"]["billing"]["provenance"]["source"] == "Explicit"


def test_billing_edits_in_both_versions_update_the_provenance(
    kubectl: Kubectl, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("versions")
    kubectl("create", body=whole(name))
    for path, centre in ((older_path(name), "1"), (lns_path(name), "2"), (older_path(name), "3")):
        old = tenants.get(name)
        admin.patch(path, {"spec": {"billing": {"costCenter": centre}}})
        new = tenants.get(name)
        assert new["spec"]["billing"]["costCenter"] == centre
        assert new["spec"]["billing"]["labels"] == {"team": "b", "app": "shop"}
        generation = new["spec"]["billing"]["provenance"]["generation"]
        assert generation == new["metadata"]["generation"] == old["metadata"]["generation"] + 1


# Server-side apply, each manager in a version of its own


def test_two_field_managers_share_an_object_in_two_versions(
    kubectl: Kubectl, tenants: Tenants
) -> None:
    name = tenants.name("versions")
    newer = manifest(name, users=[{"name": "bob", "expiresAt": END}], billing={"costCenter": "1"})
    older = as_older(manifest(name, users=["carl", "bob"], billing={"labels": {"tier": "gold"}}))
    one = ("apply", "--server-side", "--field-manager=one")
    other = ("apply", "--server-side", "--field-manager=other")
    for _ in range(2):
        kubectl(*one, body=newer)
        kubectl(*other, body=older)
        lns = tenants.get(name)
        ends = {entry["name"]: entry.get("expiresAt") for entry in lns["spec"]["users"]}
        assert ends == {"bob": END, "carl": None}
        billing = lns["spec"]["billing"]
        assert (billing["costCenter"], billing["labels"]) == ("1", {"tier": "gold"})
    # Nobody owns what conversion adds.
    assert f"f:{KEY}" not in json.dumps(lns["metadata"]["managedFields"])


def test_field_managers_in_two_versions_conflict_on_the_same_field(
    tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("versions")
    newer = manifest(name, managers=["alice"], billing={"costCenter": "1"})
    admin.patch(lns_path(name), newer, APPLY, fieldManager="one")
    older = newer | {"apiVersion": f"{GROUP}/{OLDER}"}
    older["spec"] = older["spec"] | {"billing": {"costCenter": "2"}}
    words = refusal(admin.patch, older_path(name), older, APPLY, status=409, fieldManager="other")
    assert 'conflict with "one"' in words
    assert ".spec.billing.costCenter" in words


# What somebody writes into the annotation

HOSTILE = (
    "",
    "null",
    "[]",
    "{",
    "[" * 50_000,
    '{"users":' * 10_000,
    '{"users": {"User//eve": "2999-12-31T23:59:59Z", "User//bob": "tomorrow"}}',
    '{"users": [{"kind": "User", "name": "eve"}], "sudoers": {"User//bob": 7}}',
    '{"spec": {"sudoers": [{"name": "eve"}]}, "metadata": {"name": "other"}}',
    '{"billing": {"provenance": {"generation": 1e400}, "superseded": "x", "labels": [1]}}',
    '{"billing": {"provenance": {"generation": 99999999999999999999, "source": "Explicit"}}}',
    '{"billing": {"labels": {"team": "\\u0000", "costCenter": {"a": 1}}}}',
    "\u202e\U0001f680",
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=str(number), marks=() if number % 3 == 1 else pytest.mark.thorough)
        for number, text in enumerate(HOSTILE)
    ],
)
def test_hostile_annotations_break_no_list_and_grant_no_access(
    text: str, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("hostile")
    body = as_older(manifest(name, managers=["bob"], users=["bob"], billing={"labels": {}}))
    body["metadata"]["annotations"] = {KEY: text}
    admin.create(OLDER_LNAMESPACES, body)
    for path in (LNAMESPACES, OLDER_LNAMESPACES):
        assert name in [item["metadata"]["name"] for item in admin.items(path)]
    for path in (older_path(name), lns_path(name)):
        admin.patch(path, {"metadata": {"annotations": {KEY: text}}})
        lns = tenants.get(name)
        assert KEY not in lns["metadata"].get("annotations", {})
        bob = {"kind": "User", "name": "bob", "namespace": ""}
        assert lns["spec"]["users"] == lns["spec"]["managers"] == [bob]
        assert "sudoers" not in lns["spec"]
        assert lns["spec"]["billing"]["provenance"]["generation"] == 1
    admin.delete(lns_path(name))


# What people are told


@pytest.mark.parametrize(
    ("version", "field", "words"),
    [
        (NEWER, "", "who may do what in it and who pays for it"),
        (NEWER, ".spec.users.expiresAt", "When this entry ends by itself"),
        (NEWER, ".spec.billing", "costCenter"),
        (OLDER, "", "Use v1beta1"),
        (OLDER, ".spec.billing", "Every other key is one of its billing.labels"),
        (OLDER, ".spec.users", "letter by letter"),
        (OLDER, ".spec.sudoers", "for one command"),
    ],
)
def test_kubectl_explain_describes_both_versions(
    version: str, field: str, words: str, kubectl: Kubectl
) -> None:
    text = kubectl("explain", f"lns{field}", f"--api-version={GROUP}/{version}")
    assert words in " ".join(text.split())


def test_the_older_version_returns_a_deprecation_warning(cluster: Cluster) -> None:
    result = cluster.run("kubectl", "get", OLDER_RESOURCE)
    assert "Warning: LNamespace v1alpha1 is deprecated; use v1beta1" in result.err
    assert "deprecated" not in cluster.run("kubectl", "get", "lns").err


@pytest.mark.parametrize("path", [LNAMESPACES, OLDER_LNAMESPACES], ids=[NEWER, OLDER])
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"users": [{"name": "system:masters", "kind": "Group"}]}, "system: names are the cluster"),
        ({"users": [{"name": "*"}]}, "not a pattern"),
        ({"users": [{"name": "al\u200bice"}]}, "invisible"),
        ({"users": [{"name": "al\u3164ice"}]}, "invisible"),
        ({"users": [{"name": "al\u00a0ice"}]}, "invisible"),
        ({"users": [{"name": "al\u2800ice"}]}, "invisible"),
        ({"users": [{"name": "alice\ufe0f"}]}, "invisible"),
        ({"users": [{"name": "alice\U000e0101"}]}, "invisible"),
        ({"users": [{"name": "al\u0378ice"}]}, "invisible"),
        ({"sudoers": [{"name": "ops", "kind": "Group"}]}, "a Group cannot be a sudoer"),
        ({"billing": {"costCenter": "a\x00b"}}, "spec.billing.costCenter"),
        ({"deletionPolicy": "Never"}, "Unsupported value"),
    ],
)
def test_both_versions_have_the_same_validation_rules(
    path: str, spec: dict[str, Any], words: str, admin: Api
) -> None:
    version = path.split("/")[3]
    body = manifest("rules") | {"apiVersion": f"{GROUP}/{version}", "spec": spec}
    assert words in refusal(admin.create, path, body, status=422, dryRun="All")


# What lies in etcd


def stored(cluster: Cluster, name: str) -> Object:
    """Return an LNamespace as etcd has it."""
    pki = cluster.folder / "pki"
    context = ssl.create_default_context(cafile=str(pki / "etcd-ca.crt"))
    context.load_cert_chain(pki / "etcd-client.crt", pki / "etcd-client.key")
    key = f"/registry/{GROUP}/lnamespaces/{name}"
    request = urllib.request.Request(  # noqa: S310 - https, written here
        f"{etcd(cluster)}/v3/kv/range",
        data=json.dumps({"key": base64.b64encode(key.encode()).decode()}).encode(),
    )
    with urllib.request.urlopen(request, context=context, timeout=30) as response:  # noqa: S310 - as above
        (found,) = json.load(response)["kvs"]
    value: Object = json.loads(base64.b64decode(found["value"]))
    return value


def etcd(cluster: Cluster) -> str:
    flag = "--listen-client-urls="
    words = " ".join(cluster.processes()).split()
    return next(word.removeprefix(flag) for word in words if word.startswith(flag))


def store(admin: Api, version: str) -> None:
    """Have new objects stored in a version."""
    versions = admin.get(CRD)["spec"]["versions"]
    patch = [
        {"op": "replace", "path": f"/spec/versions/{i}/storage", "value": item["name"] == version}
        for i, item in enumerate(versions)
    ]
    admin.patch(CRD, patch, JSON_PATCH)


def migrate(cluster: Cluster, *flags: str) -> str:
    return cluster.run(REPOSITORY / ".venv" / "bin" / "lnamespace", "migrate", *flags).ok()


@pytest.mark.thorough
def test_objects_stored_in_the_older_version_are_migrated(
    cluster: Cluster, tenants: Tenants, admin: Api
) -> None:
    names = [tenants.name("stored") for _ in range(3)]
    store(admin, OLDER)
    try:

        def older_is_stored() -> bool:
            try:
                admin.remove(lns_path(names[0]))
                admin.create(LNAMESPACES, whole(names[0]))
            except ApiError as error:
                if yet_to_answer(error):
                    return False
                raise
            version: str = stored(cluster, names[0])["apiVersion"]
            return version == f"{GROUP}/{OLDER}"

        eventually(older_is_stored, tick=0.2, what="the API server stores the newer version")
        for name in names[1:]:
            admin.create(LNAMESPACES, whole(name))
    finally:
        store(admin, NEWER)
    before = [tenants.ready(name) for name in names]
    assert admin.get(CRD)["status"]["storedVersions"] == [NEWER, OLDER]
    waiting = {name: stored(cluster, name)["apiVersion"] for name in names}

    assert "would be written anew" in migrate(cluster, "--dry-run")
    assert {name: stored(cluster, name)["apiVersion"] for name in names} == waiting

    assert f"lnamespaces.{GROUP}: stored as {NEWER}" in migrate(cluster)
    assert admin.get(CRD)["status"]["storedVersions"] == [NEWER]
    for name, lns in zip(names, before, strict=True):
        raw = stored(cluster, name)
        assert raw["apiVersion"] == f"{GROUP}/{NEWER}"
        assert KEY not in raw["metadata"].get("annotations", {})
        after = tenants.get(name)
        for part in ("spec", "status"):
            assert after[part] == lns[part]
        for key in ("uid", "generation", "creationTimestamp"):
            assert after["metadata"][key] == lns["metadata"][key]

    versions = [tenants.get(name)["metadata"]["resourceVersion"] for name in names]
    migrate(cluster)
    assert [tenants.get(name)["metadata"]["resourceVersion"] for name in names] == versions
