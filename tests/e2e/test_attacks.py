"""What a tenant, a sudoer or a manager may try, with real credentials; and a stolen token."""

import json
from functools import partial
from typing import Any

import pytest
from lnamespace.model.names import LCLUSTER_KEYS

from tests.e2e.support.api import (
    APPLY,
    GROUP,
    LNAMESPACES,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.people import People, Person, Who, account, user
from tests.e2e.support.rights import Deed, Rights, bind, edit, rule, work
from tests.e2e.support.tenants import Tenants, group, manifest, member, service_account
from tests.e2e.support.waiting import eventually

OWNER = f"{GROUP}/owner-uid"
COUNTED = "count/rolebindings.rbac.authorization.k8s.io"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED = "managedFields"
ENFORCE = "pod-security.kubernetes.io/enforce"
NOT_YOURS = "only a cluster administrator may change"


@pytest.fixture(scope="module")
def name(tenants: Tenants, alice: Person, rights: Rights) -> str:
    """Return an LNamespace of which Alice is everything."""
    made = tenants.make("attack", users=["alice"], managers=["alice"], sudoers=["alice"])
    checks = (rights.works, rights.edits, rights.sudoes)
    eventually(lambda: all(may(alice.who, made) for may in checks))
    return made


@pytest.fixture(scope="module")
def sudo(name: str, alice: Person) -> Api:
    """Alice with sudo in it."""
    return alice.sudo(name)


@pytest.fixture(scope="module")
def victim(tenants: Tenants, rights: Rights) -> str:
    """Return an LNamespace of others."""
    made = tenants.make("victim", users=["vic"], managers=["vic"], sudoers=["vic"])
    eventually(lambda: rights.sudoes(user("vic"), made))
    return made


# --- the Namespace object, which cluster-admin in a namespace covers

METADATA: dict[str, Any] = {
    "owner removed": {"ownerReferences": None},
    "another owner": {
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "mine",
                "uid": "00000000-0000-0000-0000-000000000000",
            }
        ]
    },
    "owner annotation removed": {"annotations": {OWNER: None}},
    "owner annotation changed": {"annotations": {OWNER: "0-0"}},
    "managed-by removed": {"labels": {MANAGED_BY: None}},
    "managed-by changed": {"labels": {MANAGED_BY: "helm"}},
    "tenant label changed": {"labels": {f"{GROUP}/lnamespace": "victim"}},
    "all labels removed": {"labels": None},
    "pod security lifted": {"labels": {ENFORCE: "privileged"}},
    "devices of others": {"labels": {"resource.kubernetes.io/admin-access": "true"}},
    "mark of an LCluster": {"annotations": {f"{LCLUSTER_KEYS}emptied": "x"}},
    "finalizer added": {"finalizers": ["example.com/for-ever"]},
}


@pytest.mark.parametrize("subresource", ["", "status", "finalize"])
@pytest.mark.parametrize("metadata", METADATA.values(), ids=METADATA)
def test_a_sudoer_cannot_change_protected_namespace_metadata(
    metadata: Object, subresource: str, name: str, sudo: Api, admin: Api
) -> None:
    path = ns_path(name)
    before = admin.get(path)
    if subresource == "finalize":  # knows no PATCH
        changed = before | {"metadata": _merged(before["metadata"], metadata)}
        _harmless(partial(sudo.replace, f"{path}/finalize", changed))
    else:
        where = f"{path}/{subresource}" if subresource else path
        _harmless(partial(sudo.patch, where, {"metadata": metadata}))
    assert admin.get(path) == before  # its version too: nothing had to be repaired


def _harmless(attempt: "partial[Object]") -> None:
    """Refused, or taken and ignored: a subresource changes only what it is about."""
    try:
        attempt()
    except ApiError as error:
        told = error
    else:
        return
    assert told.status == 403, str(told)
    assert NOT_YOURS in told.message


def _merged(before: Object, change: Object) -> Object:
    """Return what a merge patch makes of metadata."""
    result = dict(before)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            whole = before.get(key, {}) | value
            result[key] = {k: v for k, v in whole.items() if v is not None}
        else:
            result[key] = value
    return result


def test_a_sudoer_cannot_finalize_or_delete_the_namespace(
    name: str, sudo: Api, admin: Api, alice: Person
) -> None:
    path = ns_path(name)
    before = admin.get(path)
    assert NOT_YOURS in refusal(sudo.replace, f"{path}/finalize", before | {"spec": {}})
    assert "delete the LNamespace" in refusal(sudo.delete, path)
    told = alice.kubectl("sudo", "delete", "namespace", name).refused()
    assert f"kubectl delete lns.{GROUP} {name}" in told
    assert admin.get(path)["metadata"].get("deletionTimestamp") is None


def test_a_sudoer_may_set_other_labels_on_the_namespace(name: str, sudo: Api, admin: Api) -> None:
    sudo.patch(ns_path(name), {"metadata": {"labels": {"team": "red"}, "annotations": {"a": "b"}}})
    assert admin.get(ns_path(name))["metadata"]["labels"]["team"] == "red"


# --- giving one's power away


def test_roles_granted_by_a_sudoer_are_limited_to_the_namespace(
    name: str, victim: str, sudo: Api, people: People, rights: Rights
) -> None:
    people.account(name, "mine")
    subjects = [
        service_account(name, "mine"),
        {"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"},
    ]
    sudo.create(rbac_path("rolebindings", namespace=name), _binding("friends", subjects))
    sudo.create(
        rbac_path("roles", namespace=name),
        {
            "metadata": {"name": "dreams"},
            "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        },
    )
    for friend in (account(name, "mine"), user("mallory")):
        eventually(partial(rights.may, friend, rule(name)))
        _stays_inside(rights, friend, victim)
    _stays_inside(rights, people.person("alice").who.sudo(name), victim)


def _stays_inside(rights: Rights, who: Who, victim: str) -> None:
    for namespace in (victim, "default", "kube-system", RELEASE_NAMESPACE):
        assert not rights.may(who, work(namespace))
        assert not rights.may(who, bind(namespace))
        assert not rights.may(who, Deed("get", "secrets", namespace))
    assert not rights.may(who, edit(victim))
    for kind in ("users", "groups"):
        assert not rights.may(who, Deed("impersonate", kind))
        assert not rights.may(who, Deed("impersonate", kind, name=f"{victim}-sudoers"))
    for resource in ("clusterroles", "clusterrolebindings"):
        assert not rights.may(who, Deed("create", resource, group="rbac.authorization.k8s.io"))


def _binding(name: str, subjects: list[Object], role: str = "cluster-admin") -> Object:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": subjects}


def test_a_service_account_with_admin_rights_is_subject_to_the_same_policies(
    name: str, sudo: Api, people: People, rights: Rights
) -> None:
    robot = people.account(name, "strong")
    binding = _binding("strong", [service_account(name, "strong")])
    sudo.create(rbac_path("rolebindings", namespace=name), binding)
    eventually(lambda: rights.may(robot.who, rule(name)))
    assert "delete the LNamespace" in refusal(robot.api.delete, ns_path(name))
    lifted = {"metadata": {"labels": {ENFORCE: "privileged"}}}
    assert NOT_YOURS in refusal(robot.api.patch, ns_path(name), lifted)


def test_a_sudoer_cannot_change_or_delete_managed_bindings(
    name: str, sudo: Api, rights: Rights, admin: Api, alice: Person
) -> None:
    mallory = [{"kind": "User", "name": "mallet", "apiGroup": "rbac.authorization.k8s.io"}]
    for binding in ("lnamespace-users", "lnamespace-sudoers"):
        path = rbac_path("rolebindings", binding, name)
        before = admin.get(path)
        for attempt in (
            partial(sudo.patch, path, {"subjects": mallory}),
            partial(sudo.delete, path),
        ):
            assert "follows the lists of the LNamespace" in refusal(attempt)
        assert admin.get(path) == before
    assert not rights.works(user("mallet"), name)
    assert rights.works(alice.who, name)
    assert rights.sudoes(alice.who, name)


def test_a_user_cannot_bind_roles_with_more_rights_than_the_user_has(
    name: str, victim: str, alice: Person
) -> None:
    bindings = rbac_path("rolebindings", namespace=name)
    me = [member("alice") | {"apiGroup": "rbac.authorization.k8s.io"}]
    for role in ("cluster-admin", f"lnamespace:{victim}:editor", "lnamespace:controller"):
        words = refusal(alice.api.create, bindings, _binding("more", me, role))
        assert "attempting to grant RBAC permissions not currently held" in words


# --- being somebody else


def test_a_sudoer_can_impersonate_only_the_sudoers_group_of_the_namespace(
    name: str, victim: str, alice: Person
) -> None:
    whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    mine = f"{name}-sudoers"
    assert alice.api.acting("alice", mine).create(whoami, body)
    for who, groups in (
        ("vic", ()),
        ("vic", (mine,)),
        ("alice", (f"{victim}-sudoers",)),
        ("alice", (mine, f"{victim}-sudoers")),
        ("alice", (mine, "system:masters")),
        ("alice", ("system:masters",)),
        ("alice", ("system:serviceaccounts",)),
        ("system:masters", (mine,)),
        ("system:admin", (mine,)),
        ("lnamespace-admin", (mine,)),
        ("system:kube-controller-manager", (mine,)),
        (f"system:serviceaccount:{RELEASE_NAMESPACE}:{SERVICE_ACCOUNT}", (mine,)),
        ("system:serviceaccount:kube-system:namespace-controller", ()),
        ("system:node:one", (mine,)),
    ):
        assert "cannot impersonate" in refusal(alice.api.acting(who, *groups).create, whoami, body)
    for header in ("Impersonate_Uid", "Impersonate_Extra_Scopes"):
        other = alice.api.acting("alice", mine, **{header: "x"})
        assert "cannot impersonate" in refusal(other.create, whoami, body)


def test_impersonation_is_not_nested(name: str, victim: str, sudo: Api, alice: Person) -> None:
    """With sudo one is in one group; what one could become otherwise is no way further."""
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for resource, who in (("groups", f"{victim}-sudoers"), ("groups", f"{name}-sudoers")):
        attributes = {"verb": "impersonate", "resource": resource, "name": who}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        allowed = sudo.create(reviews, body)["status"]["allowed"]
        assert allowed == (who == f"{name}-sudoers")  # which Alice is anyway, by her name
    words = alice.kubectl("sudo", "-n", name, "--as=vic", "get", "pods")
    assert words.code == 2
    assert "--as cannot be combined with kubectl sudo" in words.err


# --- the LNamespace


def test_only_the_controller_writes_the_status(name: str, sudo: Api, alice: Person) -> None:
    status = {"status": {"sudoersGroup": "system:masters", "namespaceUID": "0-0"}}
    before = alice.api.get(lns_path(name))["status"]
    for api in (alice.api, sudo):
        assert "cannot patch" in refusal(api.patch, f"{lns_path(name)}/status", status)
        assert "cannot update" in refusal(
            api.replace, f"{lns_path(name)}/status", api.get(lns_path(name)) | status
        )
        api.patch(lns_path(name), status)  # taken, and without effect
        assert api.get(lns_path(name))["status"] == before
    mine = manifest("with-status") | status
    made = alice.api.create(LNAMESPACES, mine, dryRun="All")
    assert "status" not in made


def _created_as(api: Api, name: str, how: str, spoof: Object) -> Object:
    """Return an LNamespace that somebody creates, one of the ways, with lies in it."""
    body = manifest(name, managers=["alice"]) | {"apiVersion": f"{GROUP}/{_version(how)}"}
    body["spec"] |= spoof.get("spec", {})
    body["metadata"] |= spoof.get("metadata", {})
    body |= {"status": spoof.get("status", {})}
    collection = LNAMESPACES.replace("v1beta1", _version(how))
    if "apply" in how:
        force = {"fieldManager": "lnamespace", "force": "true"}
        return api.patch(f"{collection}/{name}", body, APPLY, **force)
    return api.create(collection, body, **({"dryRun": "All"} if "dry" in how else {}))


def _version(how: str) -> str:
    return "v1alpha1" if "v1alpha1" in how else "v1beta1"


SPOOFS: dict[str, Object] = {
    "spec": {"spec": {"requester": "vic"}},
    "an administrator": {"spec": {"requester": "lnamespace-admin"}},
    "nobody": {"spec": {"requester": ""}},
    "the status": {"status": {"recorded": {"generation": 99}}},
    "annotations": {
        "metadata": {
            "annotations": {
                f"{GROUP}/requester": "vic",
                f"{GROUP}/v1beta1": '{"requester":"vic","users":{"User//vic":"2999-01-01T00:00Z"}}',
                "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"requester":"vic"}}',
            }
        }
    },
    "who changed it": {
        "spec": {"billing": {"provenance": {"changedBy": "vic", "generation": 7}}},
    },
}
WAYS = ("create", "create in v1alpha1", "apply", "apply in v1alpha1", "dry run")


@pytest.fixture(scope="module")
def applier(people: People, cluster: Cluster, rights: Rights) -> Person:
    """Return somebody who may create by server-side apply, with `patch` on all LNamespaces."""
    gitops = people.person("gitops")
    verbs = ["get", "create", "patch"]
    rules = [{"apiGroups": [GROUP], "resources": ["lnamespaces"], "verbs": verbs}]
    role = {"metadata": {"name": "appliers"}, "rules": rules}
    cluster.admin.create(rbac_path("clusterroles"), role)
    subject = member(gitops.name) | {"apiGroup": "rbac.authorization.k8s.io"}
    binding = _binding("appliers", [subject], "appliers")
    cluster.admin.create(rbac_path("clusterrolebindings"), binding)
    eventually(lambda: rights.may(gitops.who, Deed("patch", "lnamespaces", group=GROUP)))
    return gitops


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("spoof", SPOOFS.values(), ids=SPOOFS)
def test_a_creator_cannot_forge_requester_or_provenance(
    spoof: Object, how: str, tenants: Tenants, name: str, alice: Person, applier: Person
) -> None:
    if "provenance" in str(spoof) and "v1alpha1" in how:
        pytest.skip("cannot be said in v1alpha1")
    apis = {alice.api: "alice", alice.sudo(name): "alice", applier.api: applier.name}
    for api, who in apis.items() if "apply" not in how else [(applier.api, applier.name)]:
        made = _created_as(api, tenants.name("spoofed"), how, spoof)
        stored = made if "dry" in how else tenants.get(made["metadata"]["name"])
        assert stored["spec"]["requester"] == who
        assert f"{GROUP}/v1beta1" not in stored["metadata"].get("annotations", {})
        provenance = stored["spec"]["billing"]["provenance"]
        assert (provenance["changedBy"], provenance["generation"]) == (who, 1)
        assert "recorded" not in made.get("status", {})
        assert stored["spec"].get("users", []) == []


def test_an_edit_cannot_forge_requester_or_provenance(
    name: str, sudo: Api, alice: Person, admin: Api
) -> None:
    before = admin.get(lns_path(name))["spec"]
    older = lns_path(name).replace("v1beta1", "v1alpha1")
    for api in (alice.api, sudo):
        for path in (lns_path(name), older):
            change = {"spec": {"requester": "vic"}}
            assert "requester is set" in refusal(api.patch, path, change, status=422)
        forged = {"provenance": {"changedBy": "vic", "generation": 1}, "superseded": []}
        api.patch(lns_path(name), {"spec": {"billing": forged}})
        smuggled = '{"provenance":{"changedBy":"vic"},"users":{"User//vic":"2999-01-01T00:00:00Z"}}'
        for path in (lns_path(name), older):
            mark = {"metadata": {"annotations": {f"{GROUP}/v1beta1": smuggled}}}
            api.patch(path, mark)
    after = admin.get(lns_path(name))
    assert after["spec"]["requester"] == before["requester"]
    assert after["spec"]["users"] == before["users"]
    assert after["spec"]["billing"] == before["billing"]
    assert f"{GROUP}/v1beta1" not in after["metadata"].get("annotations", {})


def test_an_impersonated_creation_has_the_impersonated_user_as_requester(
    people: People, admin: Api, tenants: Tenants
) -> None:
    """As everywhere in Kubernetes: the audit log has both."""
    made = admin.acting("ann", "system:authenticated").create(
        LNAMESPACES, manifest(tenants.name("as-ann"), requester="lnamespace-admin"), dryRun="All"
    )
    assert made["spec"]["requester"] == "ann"
    assert [entry["name"] for entry in made["spec"]["managers"]] == ["ann"]
    robot = people.account("default", "asker")
    made = robot.api.create(
        LNAMESPACES, manifest(tenants.name("as-robot"), requester="ann"), dryRun="All"
    )
    assert made["spec"]["requester"] == robot.name


def test_a_manager_cannot_edit_lnamespaces_or_roles_of_others(
    victim: str, sudo: Api, alice: Person, admin: Api
) -> None:
    before = admin.get(lns_path(victim))
    for api in (alice.api, sudo):
        assert refusal(api.patch, lns_path(victim), {"spec": {"sudoers": [member("alice")]}})
        assert refusal(api.delete, lns_path(victim))
        assert refusal(api.delete, LNAMESPACES)
        assert refusal(api.create, NAMESPACES, {"metadata": {"name": "mine"}})
        for path in (rbac_path("clusterroles"), rbac_path("clusterrolebindings")):
            assert refusal(api.create, path, {"metadata": {"name": "mine"}})
    assert admin.get(lns_path(victim)) == before


def test_a_foreign_sudoers_group_on_a_list_gives_no_access_to_its_namespace(
    tenants: Tenants, victim: str, rights: Rights
) -> None:
    theirs = group(f"{victim}-sudoers")
    name = tenants.make("embrace", users=[theirs], managers=[theirs], sudoers=["alice"])
    vic, alice = user("vic"), user("alice")
    eventually(lambda: rights.works(vic.sudo(victim), name))
    eventually(lambda: rights.sudoes(alice, name))
    assert not rights.works(alice, victim)
    assert not rights.sudoes(alice, victim)
    assert not rights.may(alice.sudo(name), work(victim))
    assert not rights.works(vic, name)
    assert not rights.may(vic, Deed("impersonate", "groups", name=f"{name}-sudoers"))


def test_a_person_listed_elsewhere_keeps_sudo_and_cannot_be_impersonated(
    tenants: Tenants, victim: str, rights: Rights
) -> None:
    tenants.make("unwilling", users=["vic"], sudoers=["vic", "lnamespace-admin"])
    assert rights.sudoes(user("vic"), victim)
    assert not rights.may(user("alice"), Deed("impersonate", "users", name="vic"))
    assert not rights.may(user("alice"), Deed("impersonate", "users", name="lnamespace-admin"))


def test_system_and_operator_service_accounts_cannot_be_sudoers(
    tenants: Tenants, rights: Rights, admin: Api
) -> None:
    name = tenants.name("system-sudoers")
    with pytest.raises(ApiError) as refused:
        tenants.create(name, sudoers=["sue", service_account("kube-system", "default")])
    assert "the system's ServiceAccounts cannot be sudoers" in refused.value.message
    ours = service_account(RELEASE_NAMESPACE, "default")
    tenants.create(name, users=["una"], sudoers=["sue", ours])
    tenants.unready(name, "SudoNotReady")
    eventually(lambda: rights.works(user("una"), name) and rights.sudoes(user("sue"), name))
    for kind in ("roles", "rolebindings"):
        labels = {"labelSelector": f"{MANAGED_BY}=lnamespace"}
        assert admin.items(rbac_path(kind, namespace=RELEASE_NAMESPACE), **labels) == []
    tenants.delete(name)  # or it is tried again for ever, which other tests would count


def test_forged_ownership_labels_on_an_lnamespace_have_no_effect(
    tenants: Tenants, alice: Person, victim: str, rights: Rights
) -> None:
    """Marks and owners that a tenant puts on an LNamespace lead nowhere."""
    theirs = tenants.get(victim)["metadata"]["uid"]
    name = tenants.name("marked")
    body = manifest(name, users=["alice"])
    body["metadata"] |= {
        "labels": {MANAGED_BY: "lnamespace", f"{GROUP}/lnamespace": victim},
        "annotations": {OWNER: theirs},
    }
    alice.api.create(LNAMESPACES, body)
    tenants.ready(name)
    eventually(lambda: rights.works(alice.who, name))
    namespace = alice.api.get(ns_path(name))["metadata"]
    assert namespace["labels"][f"{GROUP}/lnamespace"] == name
    assert namespace["annotations"][OWNER] != theirs
    assert not rights.works(alice.who, victim)


# --- the controller's own token, stolen


@pytest.fixture(scope="module")
def thief(cluster: Cluster) -> Api:
    """Return a client with the stolen token."""
    return Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))


MALLORY = [{"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"}]
EVERYTHING = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


def test_a_stolen_controller_token_gives_no_rights_over_the_cluster(thief: Api, name: str) -> None:
    for title in ("mine", f"lnamespace:{name}:editor-too", "lnamespace:x:editor"):
        named = {"metadata": {"name": title}}
        role = named | {"rules": EVERYTHING}
        assert refusal(thief.create, rbac_path("clusterroles"), role)
        binding = _binding("", MALLORY) | named
        assert refusal(thief.create, rbac_path("clusterrolebindings"), binding)
    for namespace in ("kube-system", "default", RELEASE_NAMESPACE):
        for title in ("lnamespace-users", "lnamespace-sudoers", "mine"):
            path = rbac_path("rolebindings", namespace=namespace)
            assert refusal(thief.create, path, _binding(title, MALLORY))
    widened = {"rules": EVERYTHING}
    assert refusal(thief.patch, rbac_path("clusterroles", f"lnamespace:{name}:editor"), widened)
    assert refusal(thief.patch, rbac_path("clusterroles", "view"), widened)
    assert refusal(thief.patch, ns_path("kube-system"), {"metadata": {"labels": {"a": "b"}}})
    assert refusal(thief.delete, ns_path(name))
    assert refusal(thief.get, ns_path(name, "secrets"))
    assert refusal(thief.patch, lns_path(name), {"spec": {"users": []}})
    assert refusal(thief.acting("lnamespace-admin").get, NAMESPACES)


def test_the_stolen_token_authenticates_as_the_controllers_service_account(thief: Api) -> None:
    whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    info = thief.create(whoami, body)["status"]["userInfo"]
    assert info["username"] == f"system:serviceaccount:{RELEASE_NAMESPACE}:{SERVICE_ACCOUNT}"
    assert "system:masters" not in info["groups"]


def test_missing_service_accounts_on_a_list_use_up_no_quota_of_their_namespace(
    tenants: Tenants, alice: Person, rights: Rights, admin: Api
) -> None:
    """200 ServiceAccounts of a namespace that comes later used up its quota of RoleBindings."""
    future, name = tenants.name("future"), tenants.name("ghosts")
    ghosts = [service_account(future, f"ghost-{number}") for number in range(40)]
    alice.api.create(LNAMESPACES, manifest(name, sudoers=["alice", *ghosts]))
    # They hold up nothing of the list's other people.
    eventually(lambda: rights.sudoes(alice.who, name))
    tenants.unready(name, "SudoNotReady")
    admin.create(ns_path(future).rpartition("/")[0], {"metadata": {"name": future}})
    tight = {"metadata": {"name": "tight"}, "spec": {"hard": {COUNTED: "3"}}}
    admin.create(ns_path(future, "resourcequotas"), tight)
    path, roles = (rbac_path(kind, namespace=future) for kind in ("rolebindings", "roles"))
    # All of them have been looked at since: the last one that comes is there at once.
    tenants.account(future, "ghost-39")
    eventually(lambda: admin.items(path) and admin.items(roles), 240)  # made at the same time
    assert len(admin.items(path)) == 1
    assert len(admin.items(roles)) == 1
    eventually(lambda: rights.sudoes(account(future, "ghost-39"), name))
    words = f'there is no ServiceAccount "ghost-0" in namespace "{future}"'

    def told() -> bool:
        conditions = tenants.unready(name, "SudoNotReady")["status"]["conditions"]
        return words in conditions[0]["message"]

    eventually(told, 240)
    tenants.delete(name)  # or it is tried again for ever, which other tests would count


def deepest_managed_fields(item: Object) -> bytes:
    """Return an object as JSON, with managed fields as deep as the API server takes them."""
    fields = b'{"f:a":' * 9900 + b"{}" + b"}" * 9900
    entry = b'{"manager":"x","operation":"Update","fieldsType":"FieldsV1","apiVersion":"%b"'
    entry %= item["apiVersion"].encode()
    deep = b'"metadata":{"managedFields":[' + entry + b',"fieldsV1":' + fields + b"}],"
    shown = item | {"metadata": {k: v for k, v in item["metadata"].items() if k != MANAGED}}
    return json.dumps(shown, separators=(",", ":")).encode().replace(b'"metadata":{', deep, 1)


@pytest.mark.thorough
def test_deeply_nested_managed_fields_do_not_prevent_revocation(
    tenants: Tenants, rights: Rights, alice: Person, admin: Api
) -> None:
    """The controller could not read it any more, and neither revoked nor let entries expire.

    Its list could not be converted either, for anybody. The edit is one that needs no webhook.
    """
    made = tenants.make("deep", users=["bob", "carol"], managers=["alice"])
    eventually(lambda: rights.works(user("bob"), made) and rights.works(user("carol"), made))
    seen = admin.get(lns_path(made))
    seen["spec"]["users"] = [each for each in seen["spec"]["users"] if each["name"] != "bob"]
    alice.api.send("PUT", lns_path(made), deepest_managed_fields(seen))
    assert admin.text(lns_path(made)).count("f:a") > 9000
    eventually(lambda: not rights.works(user("bob"), made))
    alice.kubectl("lns", "revoke", made, "--user", "carol").ok()
    assert not rights.works(user("carol"), made)
    alice.kubectl("lns", "grant", made, "--manager", "dave").ok()
    assert rights.edits(user("dave"), made)
    assert made in alice.kubectl("lns", "list").ok()
    older = f"/apis/{GROUP}/v1alpha1/lnamespaces"
    assert made in admin.text(older)
    tenants.delete(made)


def test_an_lnamespace_with_more_than_256_labels_is_refused(
    name: str, alice: Person, admin: Api
) -> None:
    """20 LNamespaces with 1.4 MB of them each ended the controller, again after each restart."""
    many = {"metadata": {"labels": {f"k{number}": "v" for number in range(257)}}}
    for api in (alice.api, admin):
        assert "may have at most 256" in refusal(api.patch, lns_path(name), many, status=422)


def test_deeply_nested_managed_fields_of_a_namespace_are_refused(name: str, sudo: Api) -> None:
    """The API server takes 10,000 levels, and the watch stopped at more than 1,000."""
    deepest = deepest_managed_fields(sudo.get(ns_path(name)))
    assert "managedFields and conditions" in refusal(sudo.send, "PUT", ns_path(name), deepest)


def test_no_time_of_a_namespace_is_one_that_nobody_can_read(name: str, sudo: Api) -> None:
    """No client in Go or Python could list Namespaces as JSON any more."""
    late = "9999-12-31T23:59:59-10:00"
    # What changes nothing but times is not written.
    managed = sudo.get(ns_path(name))
    managed["metadata"]["labels"]["team"] = "late"
    managed["metadata"][MANAGED] = [each | {"time": late} for each in managed["metadata"][MANAGED]]
    assert "a year of four digits" in refusal(sudo.replace, ns_path(name), managed)
    condition = {"type": "Mine", "status": "True"}
    status = f"{ns_path(name)}/status"
    late_condition = {"status": {"conditions": [condition | {"lastTransitionTime": late}]}}
    assert "a year of four digits" in refusal(sudo.patch, status, late_condition)
    sudo.patch(status, {"status": {"conditions": [condition]}})
