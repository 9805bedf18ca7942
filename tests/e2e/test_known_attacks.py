"""Weaknesses that were published of tools like this one, each tried here under its own name.

docs/security-tests.md lists them all, with where each was published, and the tests elsewhere.
"""

from collections.abc import Callable
from functools import partial

import pytest

from tests.e2e.support.api import (
    APPLY,
    CONFIGURATIONS,
    GROUP,
    JSON_PATCH,
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
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.support.people import People, Person, Who, account, user
from tests.e2e.support.rights import Deed, Rights, work
from tests.e2e.support.tenants import Tenants, manifest
from tests.e2e.support.waiting import eventually

OWNER = f"{GROUP}/owner-uid"
TENANT = f"{GROUP}/lnamespace"
MARKED = {"labelSelector": "app.kubernetes.io/managed-by=lnamespace"}
SYSTEM = ("default", "kube-system", "kube-public", RELEASE_NAMESPACE)
RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def eve(people: People) -> Person:
    """Return Eve, who attacks with all that a tenant can have."""
    return people.person("eve")


@pytest.fixture(scope="module")
def name(tenants: Tenants, eve: Person, rights: Rights) -> str:
    """Her LNamespace."""
    made = tenants.make("eves", users=["eve"], managers=["eve"], sudoers=["eve"])
    checks = (rights.works, rights.edits, rights.sudoes)
    eventually(lambda: all(may(eve.who, made) for may in checks))
    return made


@pytest.fixture(scope="module")
def sudo(name: str, eve: Person) -> Api:
    """Eve with sudo in it."""
    return eve.sudo(name)


def everything(admin: Api) -> dict[str, set[str]]:
    """Return what there is of the kinds that give power over the cluster."""
    registration = "/apis/admissionregistration.k8s.io/v1"
    kinds = {
        "clusterroles": rbac_path("clusterroles"),
        "clusterrolebindings": rbac_path("clusterrolebindings"),
        "roles": rbac_path("roles"),
        "rolebindings": rbac_path("rolebindings"),
        "webhooks": f"{registration}/mutatingwebhookconfigurations",
        "policies": f"{registration}/validatingadmissionpolicies",
    }
    return {
        kind: {
            f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
            for item in admin.items(path)
        }
        for kind, path in kinds.items()
    }


# --- Capsule


def test_cve_2022_46167_the_owner_reference_cannot_be_removed(
    name: str, sudo: Api, admin: Api
) -> None:
    """Without its owner the Namespace was nobody's, and no rule held for it any more."""
    path = ns_path(name)
    before = admin.get(path)
    metadata = {k: v for k, v in before["metadata"].items() if k != "ownerReferences"}
    removal = [{"op": "remove", "path": "/metadata/ownerReferences"}]
    strategic = "application/strategic-merge-patch+json"
    deletion = {"metadata": {"ownerReferences": [{"$patch": "replace"}]}}
    ways: tuple[Callable[[], object], ...] = (
        partial(sudo.patch, path, {"metadata": {"ownerReferences": None}}),
        partial(sudo.patch, path, {"metadata": {"ownerReferences": []}}),
        partial(sudo.patch, path, removal, JSON_PATCH),
        partial(sudo.patch, path, deletion, strategic),
        partial(sudo.replace, path, before | {"metadata": metadata}),
    )
    for way in ways:
        assert "only a cluster administrator may change" in refusal(way)
    assert admin.get(path) == before


def test_cve_2024_39690_an_unowned_namespace_cannot_be_seized(
    eve: Person, name: str, sudo: Api, tenants: Tenants, admin: Api, rights: Rights
) -> None:
    """An owner could patch a Namespace of nobody's into his tenant."""
    legacy = tenants.name("legacy")
    before = admin.create(NAMESPACES, {"metadata": {"name": legacy}})
    hers = tenants.get(name)["metadata"]["uid"]
    marks: tuple[Object, ...] = (
        {"labels": {TENANT: name}},
        {"labels": {"app.kubernetes.io/managed-by": "lnamespace"}},
        {"annotations": {OWNER: hers}},
        {"ownerReferences": admin.get(ns_path(name))["metadata"]["ownerReferences"]},
    )
    for api in (eve.api, sudo):
        for mark in marks:
            assert refusal(api.patch, ns_path(legacy), {"metadata": mark})
    # Nor by its name, with all the marks of ownership on what she may write.
    body = manifest(legacy, users=["eve"], managers=["eve"], sudoers=["eve"])
    body["metadata"] |= {"annotations": {OWNER: before["metadata"]["uid"]}}
    body |= {"status": {"namespaceUID": before["metadata"]["uid"]}}
    eve.api.create(LNAMESPACES, body)
    tenants.unready(legacy, "Conflict")
    assert not rights.works(eve.who, legacy)
    assert not rights.may(eve.who.sudo(legacy), work(legacy))
    assert admin.get(ns_path(legacy)) == before
    tenants.delete(legacy)
    eventually(lambda: admin.find(lns_path(legacy)) is None)
    assert admin.get(ns_path(legacy)) == before


@pytest.mark.parametrize("system", SYSTEM)
def test_capsule_1300_a_system_namespace_cannot_be_seized(
    system: str, eve: Person, admin: Api, rights: Rights
) -> None:
    before = admin.get(ns_path(system))
    with pytest.raises(ApiError) as refused:
        eve.api.create(LNAMESPACES, manifest(system, users=["eve"]))
    assert refused.value.status in (403, 422)
    assert admin.find(lns_path(system)) is None
    assert admin.get(ns_path(system)) == before
    assert not rights.works(eve.who, system)


def test_cve_2025_55205_labels_cannot_be_injected_into_namespaces(
    name: str, eve: Person, sudo: Api, tenants: Tenants, admin: Api
) -> None:
    """Labels on Namespaces of the system, by which policies exempt them or let them in."""
    labels = {"team": "eve", "pod-security.kubernetes.io/enforce": "privileged", TENANT: "x"}
    for system in (*SYSTEM, tenants.make("neighbour", users=["vic"])):
        for key, value in labels.items():
            change = {"metadata": {"labels": {key: value}}}
            for api in (eve.api, sudo):
                for path in (ns_path(system), f"{ns_path(system)}/status"):
                    assert refusal(api.patch, path, change)
    before = admin.get(ns_path(name))["metadata"]["labels"]
    sent = labels | {f"{GROUP}/cost-center": "1", "kubernetes.io/metadata.name": "kube-system"}
    eve.api.patch(lns_path(name), {"metadata": {"labels": sent}})
    tenants.ready(name)
    assert admin.get(ns_path(name))["metadata"]["labels"] == before


@pytest.mark.parametrize("subresource", ["status", "finalize"])
def test_ghsa_2ww6_hf35_mfjm_subresources_are_protected_like_their_object(
    subresource: str, name: str, sudo: Api, admin: Api
) -> None:
    """What is refused of an object was taken of its subresources."""
    path = ns_path(name)
    before = admin.get(path)
    stolen = before["metadata"]["labels"] | {TENANT: "victim"}
    changed = before | {"metadata": before["metadata"] | {"labels": stolen}}
    words = refusal(sudo.replace, f"{path}/{subresource}", changed)
    assert "only a cluster administrator may change" in words
    assert admin.get(path) == before


def test_cve_2026_22872_the_controllers_rights_cannot_be_abused(
    eve: Person, tenants: Tenants, admin: Api
) -> None:
    """Tenants had the controller make ClusterRoles and webhooks for them."""
    before = everything(admin)
    name = tenants.name("abuse")
    spec: Object = {
        "usersRole": "cluster-admin",
        "additionalRoleBindings": [{"clusterRoleName": "cluster-admin", "subjects": ["eve"]}],
        "resources": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}],
        "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    }
    body = manifest(name, users=["eve"], sudoers=["eve"], managers=["eve"])
    body["metadata"]["annotations"] = {f"{GROUP}/{key}": str(value) for key, value in spec.items()}
    body["spec"] |= spec
    eve.api.create(LNAMESPACES, body)
    tenants.ready(name)
    grown = {kind: found - before[kind] for kind, found in everything(admin).items()}
    own = {f"/lnamespace:{name}:{part}" for part in ("editor", "sudoer-impersonator")}
    mine = {f"{name}/lnamespace-users", f"{name}/lnamespace-sudoers"}
    selves = {item for item in grown["clusterroles"] if "self-impersonator" in item}
    assert grown["rolebindings"] == mine
    assert grown["clusterroles"] == grown["clusterrolebindings"] == own | selves
    assert not grown["roles"] | grown["webhooks"] | grown["policies"]
    bound = admin.get(rbac_path("rolebindings", "lnamespace-users", name))
    assert bound["roleRef"]["name"] == "admin"


# --- Hierarchical Namespaces, kiosk, rbac-manager, k8spin, kubectl-sudo


def test_hnc_322_other_accounts_of_the_operators_namespace_are_not_trusted(
    people: People, name: str, admin: Api
) -> None:
    """Only the accounts by their whole names are: a neighbour of theirs is anybody."""
    neighbour = people.account(RELEASE_NAMESPACE, "neighbour").api
    before = admin.get(ns_path(name))
    assert refusal(neighbour.patch, ns_path(name), {"metadata": {"labels": {TENANT: "x"}}})
    assert refusal(neighbour.patch, lns_path(name), {"spec": {"users": []}})
    assert refusal(neighbour.patch, f"{lns_path(name)}/status", {"status": {"namespaceUID": "x"}})
    records = LNAMESPACES.replace("lnamespaces", "billingrecords")
    assert refusal(neighbour.create, records, {"metadata": {"name": "x.delete"}})
    secrets = ns_path(RELEASE_NAMESPACE, "secrets")
    assert refusal(neighbour.get, secrets)
    made = neighbour.create(LNAMESPACES, manifest("of-the-neighbour"), dryRun="All")
    assert made["spec"]["requester"] == f"system:serviceaccount:{RELEASE_NAMESPACE}:neighbour"
    assert admin.get(ns_path(name)) == before


def test_hnc_321_labels_of_other_tools_are_not_copied(
    eve: Person, tenants: Tenants, admin: Api
) -> None:
    """Argo CD and Flux delete what bears their labels and is not in their repository."""
    tools = {
        "argocd.argoproj.io/instance": "app",
        "app.kubernetes.io/instance": "app",
        "kustomize.toolkit.fluxcd.io/name": "app",
        "helm.toolkit.fluxcd.io/name": "app",
        "app.kubernetes.io/managed-by": "Helm",
    }
    noted = {"argocd.argoproj.io/tracking-id": "app:x", "meta.helm.sh/release-name": "app"}
    noted["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
    name = tenants.name("copied")
    body = manifest(name, users=["eve"], managers=["eve"], sudoers=["eve"])
    body["metadata"] |= {"labels": tools, "annotations": noted}
    eve.api.create(LNAMESPACES, body)
    tenants.ready(name)
    owned = _owned(admin, tenants.get(name)["metadata"]["uid"])
    assert len(owned) >= 7  # And what the person shares, a moment later.
    for item in owned:
        metadata = item["metadata"]
        assert not metadata.get("annotations", {}).keys() & noted.keys()
        theirs = {k: v for k, v in metadata["labels"].items() if k in tools}
        assert theirs == {"app.kubernetes.io/managed-by": "lnamespace"}


def test_capsule_773_block_owner_deletion_is_set_only_if_permitted(
    name: str, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    """OpenShift refuses `blockOwnerDeletion` to whoever may not finalize the owner."""
    controller = account(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
    finalizes = Deed("update", "lnamespaces", group=GROUP, subresource="finalizers")
    assert rights.may(controller, finalizes)
    for item in _owned(admin, tenants.get(name)["metadata"]["uid"]):
        owners = item["metadata"]["ownerReferences"]
        assert {owner["kind"] for owner in owners} == {"LNamespace"}
        controllers = [owner for owner in owners if owner.get("controller")]
        shared = "self-impersonator" in item["metadata"]["name"]
        assert len(controllers) == (not shared)
        assert [owner for owner in owners if owner.get("blockOwnerDeletion")] == controllers


def _owned(admin: Api, uid: str) -> list[Object]:
    kinds = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
    items = [*admin.items(NAMESPACES, **MARKED)]
    for kind in kinds:
        items += admin.items(rbac_path(kind), **MARKED)
    return [
        item
        for item in items
        if uid in {owner["uid"] for owner in item["metadata"].get("ownerReferences", ())}
    ]


WIDE_OPEN = 'x\n- kind: Group\n  name: "system:authenticated"\n- kind: User\n  name: y'


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
@pytest.mark.parametrize("field", ["users", "managers", "sudoers"])
def test_k8spin_a_name_cannot_break_out_of_yaml(
    field: str, version: str, eve: Person, tenants: Tenants, admin: Api, rights: Rights
) -> None:
    """A name was written into YAML as it came, so that a line feed bound everybody."""
    collection = LNAMESPACES.replace("v1beta1", version)
    for text in (WIDE_OPEN, "x\r- {kind: Group}", "x\x00", "x\u2028- kind: Group"):
        body = manifest("broken-out", **{field: [text]}) | {"apiVersion": f"{GROUP}/{version}"}
        assert refusal(eve.api.create, collection, body, status=422)
    # What only looks like YAML or a template is a name.
    texts = ["{kind: Group, name: 'system:authenticated'}", "{{ .Release.Name }}", "- x: &a [*a]"]
    name = tenants.name("quoted")
    eve.api.create(LNAMESPACES, manifest(name, managers=["eve"], **_also(field, texts)))
    tenants.ready(name)
    assert not rights.works(user("anybody"), name)
    if field == "users":
        bound = admin.get(rbac_path("rolebindings", "lnamespace-users", name))["subjects"]
        assert {(s["kind"], s["name"]) for s in bound} == {("User", text) for text in texts}


def _also(field: str, names: list[str]) -> dict[str, list[str]]:
    return {field: names} if field != "managers" else {"users": names}


def test_kubectl_sudo_every_impersonation_rule_names_one_subject(admin: Api) -> None:
    """Its role had `impersonate` without names: everybody, and `system:masters`."""
    impersonating = 0
    for kind in ("clusterroles", "roles"):
        for role in admin.items(rbac_path(kind), **MARKED):
            for rule in role["rules"]:
                if any(verb.startswith(("impersonate", "*")) for verb in rule["verbs"]):
                    impersonating += 1
                    assert len(rule["resourceNames"]) == len(rule["resources"]) == 1
                    assert rule["verbs"] == ["impersonate"]
                    assert rule["apiGroups"] == [""]
                    assert not rule["resourceNames"][0].startswith("system:")
    assert impersonating


@pytest.mark.parametrize("mode", ["user-info", "serviceaccount", "arbitrary-node"])
def test_kep_5284_constrained_impersonation_gives_no_further_rights(
    mode: str, name: str, eve: Person, rights: Rights
) -> None:
    """Kubernetes 1.36 has verbs besides `impersonate`: none of them is anybody's of ours."""
    identities = (eve.who, eve.who.sudo(name))
    for who in identities:
        for resource in ("users", "groups", "serviceaccounts", "uids", "nodes", "userextras"):
            for verb in (f"impersonate:{mode}", f"impersonate-on:{mode}:get"):
                for group in ("", "authentication.k8s.io"):
                    assert not rights.may(who, Deed(verb, resource, group=group))


VIEWER = Who("viewer")


def test_kiosk_an_authenticated_user_can_only_create_lnamespaces(name: str, rights: Rights) -> None:
    """A role called view could write templates, which were applied with all power."""
    kinds = {
        "lnamespaces": GROUP,
        "lnamespaces/status": GROUP,
        "billingrecords": GROUP,
        "namespaces": "",
        "configmaps": "",
        "secrets": "",
        "pods": "",
        "serviceaccounts": "",
        "roles": RBAC,
        "rolebindings": RBAC,
        "clusterroles": RBAC,
        "clusterrolebindings": RBAC,
        "leases": "coordination.k8s.io",
        "customresourcedefinitions": "apiextensions.k8s.io",
        "mutatingwebhookconfigurations": "admissionregistration.k8s.io",
        "validatingadmissionpolicies": "admissionregistration.k8s.io",
        "certificatesigningrequests": "certificates.k8s.io",
    }
    allowed = set()
    for kind, group in kinds.items():
        resource, _, subresource = kind.partition("/")
        for verb in ("create", "update", "patch", "delete", "deletecollection", "escalate", "bind"):
            for namespace in ("", name, "kube-system"):
                deed = Deed(verb, resource, namespace, group=group, subresource=subresource)
                if rights.may(VIEWER, deed):
                    allowed.add((verb, kind))
    assert allowed == {("create", "lnamespaces")}
    for namespace in (name, "kube-system", RELEASE_NAMESPACE):
        assert not rights.may(VIEWER, Deed("get", "secrets", namespace))


def test_kiosk_an_lnamespace_cannot_be_given_to_another_requester(
    name: str, eve: Person, sudo: Api, tenants: Tenants
) -> None:
    """Who held a space could give it to any account, and have that pay."""
    before = tenants.get(name)
    forged: Object = {"metadata": {"name": name, "uid": "0-0"}, "spec": before["spec"]}
    applied = {"fieldManager": "eve", "force": "true"}
    other = before["spec"] | {"requester": "vic"}
    body = manifest(name) | {"spec": other}
    for api in (eve.api, sudo):
        assert refusal(api.patch, lns_path(name), {"spec": {"requester": "vic"}}, status=422)
        assert refusal(api.patch, lns_path(name), body, APPLY, status=422, **applied)
        assert refusal(api.replace, lns_path(name), before | {"spec": other}, status=422)
        assert refusal(api.patch, lns_path(name), forged, status=422)
        assert refusal(api.patch, lns_path(name), {"spec": {"className": "other"}})
    assert tenants.get(name)["spec"] == before["spec"]


def test_hnc_352_the_webhooks_match_only_lnamespaces(admin: Api) -> None:
    """A webhook that was asked about everything took the cluster with it when it died."""
    for path in CONFIGURATIONS:
        for webhook in admin.get(path)["webhooks"]:
            assert webhook["timeoutSeconds"] <= 10
            for rule in webhook["rules"]:
                assert rule["apiGroups"] == [GROUP]
                assert rule["resources"] == ["lnamespaces"]
                if webhook["failurePolicy"] != "Ignore":
                    assert set(rule["operations"]) <= {"CREATE", "UPDATE"}
