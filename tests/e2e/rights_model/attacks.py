"""What nobody may do, tried by people who hope that it was forgotten."""

from typing import get_args

from tests.e2e.rights_model.cast import SUBJECTS, WHO
from tests.e2e.rights_model.misdeeds import AtTheAccounts, Steal
from tests.e2e.rights_model.model import ACCOUNTS, Layout, Subject, sudoers
from tests.e2e.rights_model.stage import Stage
from tests.e2e.rights_model.tampering import bound
from tests.e2e.support.api import GROUP, LNAMESPACES, Api, Object, lns_path, ns_path, rbac_path
from tests.e2e.support.tenants import manifest

_SYSTEM = "lnamespace-system"
_OWNER = f"{GROUP}/owner-uid"
_TENANT = f"{GROUP}/lnamespace"


def attack(stage: Stage, step: Steal) -> None:
    """Send the request; whoever sends it hopes that it is not refused."""
    own, sudo = stage.api(step.actor), stage.api(step.actor, step.name)
    if step.attack in ("status", "class", "reserved"):
        _at_the_lnamespace(own, step)
    elif step.attack in ("relabel", "disown", "delete-namespace"):
        _at_the_namespace(sudo, step)
    elif step.attack in ("masters", "other", "unquota"):
        _as_another(own, sudo, step)
    elif step.attack in get_args(AtTheAccounts):
        _at_the_accounts(own, sudo, step)
    else:
        _at_the_cluster(own, step)


def _at_the_lnamespace(own: Api, step: Steal) -> None:
    path, uid = lns_path(step.name), "00000000-0000-0000-0000-000000000000"
    match step.attack:
        case "status":  # what proves whose a Namespace is
            own.patch(f"{path}/status", {"status": {"namespaceUID": uid}})
        case "class":
            own.patch(path, {"spec": {"className": "nobodys"}})
        case _:
            own.create(LNAMESPACES, manifest("kube-model", managers=["model-eve"]))


def _at_the_namespace(sudo: Api, step: Steal) -> None:
    path = ns_path(step.name)
    match step.attack:
        case "relabel":
            metadata: Object = {"labels": {_TENANT: "another"}, "annotations": {_OWNER: "another"}}
            sudo.patch(path, {"metadata": metadata})
        case "disown":
            sudo.patch(path, {"metadata": {"ownerReferences": None, "annotations": {_OWNER: None}}})
        case _:
            sudo.delete(path)


def _as_another(own: Api, sudo: Api, step: Steal) -> None:
    match step.attack:
        case "masters":
            own.acting(WHO[step.actor].user, "system:masters").items(ns_path(_SYSTEM, "secrets"))
        case "other":
            victim = SUBJECTS[step.label].username
            own.acting(victim, f"{step.name}-sudoers").items(ns_path(step.name, "secrets"))
        case _:
            quota = {"metadata": {"generateName": "model-"}, "spec": {"hard": {"pods": "99"}}}
            sudo.create(ns_path(step.name, "resourcequotas"), quota, dryRun="All")


def _at_the_cluster(own: Api, step: Steal) -> None:
    eve = SUBJECTS["eve"]
    match step.attack:
        case "bind-more":
            path, role = rbac_path("rolebindings", namespace=step.name), "cluster-admin"
            own.create(path, bound("more", "ClusterRole", role, eve))
        case "bind-elsewhere":
            path = rbac_path("rolebindings", namespace="kube-system")
            own.create(path, bound("elsewhere", "ClusterRole", "view", eve))
        case "token":
            path = ns_path(_SYSTEM, "serviceaccounts", "lnamespace-controller/token")
            own.create(path, {"spec": {}})
        case _:
            path = rbac_path("clusterrolebindings")
            own.create(path, bound("nobodys", "ClusterRole", "cluster-admin", eve))


def _at_the_accounts(own: Api, sudo: Api, step: Steal) -> None:
    name, secrets = sudoers(step.name, Layout.ACCOUNT).username, ns_path(step.name, "secrets")
    match step.attack:
        case "stand":
            own.acting(name).items(secrets)
        case "stand-more":
            own.acting(name, "system:masters").items(secrets)
        case "stand-abroad":
            own.acting(name).items(ns_path(_SYSTEM, "secrets"))
        case "stand-creates":  # nobody would answer for it
            own.acting(name).create(LNAMESPACES, manifest("model-nobodys"), dryRun="All")
        case "namesake":  # users impersonate every account of their namespace
            namesake = Subject("ServiceAccount", step.name, step.name).username
            quota = {"metadata": {"generateName": "model-"}, "spec": {"hard": {"pods": "99"}}}
            own.acting(namesake).create(ns_path(step.name, "resourcequotas"), quota, dryRun="All")
        case "edit-role" | "bind-role":
            _at_the_roles(sudo, step)
        case _:
            _make(own, step)


def _at_the_roles(sudo: Api, step: Steal) -> None:
    role = f"lnamespace:{step.name}:sudoer-impersonator"
    if step.attack == "edit-role":
        rule = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]}
        sudo.patch(rbac_path("roles", role, ACCOUNTS), {"rules": [rule]})
    else:
        path = rbac_path("rolebindings", namespace=ACCOUNTS)
        sudo.create(path, bound("model-more", "Role", role, SUBJECTS["eve"]))


def _make(own: Api, step: Steal) -> None:
    """Create what would have a token."""
    accounts = ns_path(ACCOUNTS, "serviceaccounts")
    match step.attack:
        case "make-account":
            own.create(accounts, {"metadata": {"name": step.name}})
        case "make-token":
            own.create(f"{accounts}/default/token", {"spec": {}})
        case "make-secret":
            account = {"kubernetes.io/service-account.name": "default"}
            metadata = {"name": "model-token", "annotations": account}
            body = {"metadata": metadata, "type": "kubernetes.io/service-account-token"}
            own.create(ns_path(ACCOUNTS, "secrets"), body)
        case _:
            pod = {"serviceAccountName": "default", "containers": [{"name": "a", "image": "a"}]}
            own.create(ns_path(ACCOUNTS, "pods"), {"metadata": {"name": "model"}, "spec": pod})
