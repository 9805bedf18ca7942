"""Guard rails: they are there before anybody gets in, they stay, and nobody gets past them."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.support.api import (
    APPLY,
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
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, running
from tests.e2e.support.commands import REPOSITORY
from tests.e2e.support.people import People, Person
from tests.e2e.support.probes import metric
from tests.e2e.support.profiles import (
    BIG,
    DEFAULT,
    KINDS,
    PROFILES,
    ProfilesCluster,
    profile_object_path,
)
from tests.e2e.support.rights import Rights, rule
from tests.e2e.support.tenants import Tenants, condition, manifest
from tests.e2e.support.waiting import Measurements, eventually, measured
from tests.e2e.support.writes import KINDS as OURS
from tests.e2e.support.writes import quiet_writes

RBAC = "rbac.authorization.k8s.io"
ONLY_ADMINS = "only a cluster administrator may"
QUOTA, RANGE, NETWORK = KINDS
SPECS: dict[str, Object] = {
    QUOTA: {"hard": {"count/configmaps": "2", "requests.cpu": "2", "limits.cpu": "1500m"}},
    RANGE: {
        "limits": [
            {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "500m"}}
        ]
    },
    NETWORK: {"podSelector": {}, "policyTypes": ["Ingress"]},
}
"""The profile `default` as the API server writes it."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProfilesCluster]:
    with running(tmp_path_factory.mktemp("profiles"), ProfilesCluster) as own:
        assert isinstance(own, ProfilesCluster)
        yield own


@pytest.fixture(scope="module")
def name(tenants: Tenants, alice: Person, rights: Rights) -> str:
    """Return an LNamespace of which Alice is everything."""
    everything = {field: ["alice"] for field in ("users", "managers", "sudoers")}
    made = tenants.make("profiles", **everything)
    eventually(lambda: rights.sudoes(alice.who, made) and rights.works(alice.who, made))
    eventually(lambda: rights.edits(alice.who, made) and rights.edits(alice.who.sudo(made), made))
    return made


@pytest.fixture(scope="module")
def sudo(name: str, alice: Person) -> Api:
    """Alice with sudo in it."""
    return alice.sudo(name)


@pytest.fixture
def file(cluster: ProfilesCluster) -> Iterator[ProfilesCluster]:
    """Yield the profiles' file, which the test may change; restore it afterwards."""
    yield cluster
    cluster.tell(PROFILES)
    eventually(lambda: metric(cluster.controller, UNUSABLE) == 0)


CLUSTER_POLICY = (
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/lnamespace-lnamespaces"
)
UNUSABLE = "lnamespace_controller_profiles_unusable"


def spec(admin: Api, kind: str, namespace: str) -> Object | None:
    """Return what is there; None: nothing."""
    found = admin.find(profile_object_path(kind, namespace))
    return found["spec"] if found else None


def labels(admin: Api, name: str) -> dict[str, str]:
    found: dict[str, str] = admin.get(ns_path(name))["metadata"]["labels"]
    return found


# --- what is made, and when


def test_a_namespace_has_the_objects_and_labels_of_its_profile(
    name: str, admin: Api, tenants: Tenants
) -> None:
    assert {kind: spec(admin, kind, name) for kind in KINDS} == SPECS
    assert labels(admin, name).items() >= DEFAULT["labels"].items()
    told = condition(tenants.get(name), "GuardRailsReady")
    assert (told["status"], told["reason"]) == ("True", "InPlace")


def test_profile_objects_are_created_before_role_bindings(tenants: Tenants, admin: Api) -> None:
    """By the API server's own count of writes; a quota is written again when it is used."""
    name = tenants.make("first", users=["ursula"])
    bindings = admin.items(rbac_path("rolebindings", namespace=name))
    first = min(int(binding["metadata"]["resourceVersion"]) for binding in bindings)
    for kind in (RANGE, NETWORK):
        made = admin.get(profile_object_path(kind, name))["metadata"]
        assert int(made["resourceVersion"]) < first


def test_the_quota_of_a_profile_is_enforced(name: str, alice: Person, admin: Api) -> None:
    place = ns_path(name, "configmaps")
    eventually(lambda: admin.get(profile_object_path(QUOTA, name))["status"].get("used"))

    def full() -> bool:
        try:
            alice.api.create(place, {"metadata": {"generateName": "map-"}})
        except ApiError as error:
            # Until it has heard of its status, the API server says that it knows none.
            return "exceeded quota: lnamespace" in error.message
        return False

    eventually(full)
    # One of the two is Kubernetes' own; whether it had counted that yet, who knows.
    assert len(admin.items(place)) <= 3


ALL_KINDS = OURS | set(KINDS)
"""What the controller may write, guard rails too."""


def test_each_profile_object_costs_one_write_and_none_on_resync(
    tenants: Tenants, admin: Api, cluster: ProfilesCluster
) -> None:
    before = quiet_writes(admin, kinds=ALL_KINDS, span=2.5)
    tenants.make("counted")
    made = quiet_writes(admin, kinds=ALL_KINDS, span=2.5) - before
    assert {kind: made["POST", kind] for kind in KINDS} == dict.fromkeys(KINDS, 1)
    assert made["POST", "namespaces"] == 1
    assert not [verb for verb, _ in made if verb not in ("POST", "PATCH")]
    assert [what for verb, what in made if verb == "PATCH"] == ["lnamespaces/status"]
    cluster.controller.stop()
    cluster.controller.start({"LNAMESPACE_RESYNC_SECONDS": "1"})
    quiet = quiet_writes(admin, kinds=ALL_KINDS, span=2.5)
    assert quiet == before + made
    cluster.controller.stop()
    cluster.controller.start()


# --- repaired


def _strip(item: Object, *path: str) -> None:
    for step in path[:-1]:
        item = item[step]
    item.pop(path[-1])


DEEDS: dict[str, tuple[str, Callable[[Object], object]]] = {
    "more pods": (QUOTA, lambda o: o["spec"]["hard"].update({"count/configmaps": "99"})),
    "no limit": (QUOTA, lambda o: _strip(o, "spec", "hard", "requests.cpu")),
    "another limit": (QUOTA, lambda o: o["spec"]["hard"].update({"pods": "0"})),
    "no spec": (QUOTA, lambda o: o.pop("spec")),
    "no labels": (QUOTA, lambda o: _strip(o, "metadata", "labels")),
    "an owner": (
        QUOTA,
        lambda o: o["metadata"].update(
            ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "0-0"}]
        ),
    ),
    "another default": (RANGE, lambda o: o["spec"]["limits"][0]["default"].update(cpu="9")),
    "no limits": (RANGE, lambda o: o["spec"].update(limits=[])),
    "another selector": (
        NETWORK,
        lambda o: o["spec"].update(podSelector={"matchLabels": {"a": "b"}}),
    ),
    "all let in": (NETWORK, lambda o: o["spec"].update(ingress=[{}])),
    "another direction": (NETWORK, lambda o: o["spec"].update(policyTypes=["Egress"])),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_an_edit_of_a_profile_object_is_reverted(
    deed: str, name: str, admin: Api, measurements: Measurements
) -> None:
    kind, change = DEEDS[deed]
    path = profile_object_path(kind, name)
    marks = admin.get(path)["metadata"]["labels"]

    def done() -> bool:
        item = admin.get(path)
        change(item)
        return unless("Conflict", admin.replace, path, item)

    eventually(done)
    took = measured(lambda: _as_before(admin, path, SPECS[kind], marks), what="not repaired")
    measurements.note("guard rail edited, repaired", took)


def _as_before(admin: Api, path: str, spec: Object, marks: dict[str, str]) -> bool:
    now = admin.find(path)
    if now is None:
        return False
    meta = now["metadata"]
    return (now["spec"], meta.get("labels")) == (spec, marks) and not meta.get("ownerReferences")


@pytest.mark.parametrize("kind", KINDS)
def test_a_deleted_profile_object_is_recreated(
    kind: str, name: str, admin: Api, measurements: Measurements
) -> None:
    path = profile_object_path(kind, name)
    marks = admin.get(path)["metadata"]["labels"]
    admin.delete(path)
    took = measured(lambda: _as_before(admin, path, SPECS[kind], marks), what="not made anew")
    measurements.note("guard rail deleted, made anew", took)


def test_profile_labels_are_restored_and_forbidden_labels_removed(name: str, admin: Api) -> None:
    wrong = {
        "example.com/mesh": "off",
        "sneaky": "x",
        "forbidden.example.com/any": "x",
        "mine": "kept",
    }
    admin.patch(ns_path(name), {"metadata": {"labels": wrong}})

    def right() -> bool:
        now = labels(admin, name)
        gone = not {"sneaky", "forbidden.example.com/any"} & now.keys()
        return gone and now["example.com/mesh"] == "on"

    eventually(right)
    assert labels(admin, name)["mine"] == "kept"


# --- attacked


def _attacks(kind: str, namespace: str) -> dict[str, Callable[[Api, Api], Any]]:
    """Return the ways to get rid of a guard rail, each by who may do all in the namespace."""
    path, all_of_it = profile_object_path(kind, namespace), profile_object_path(kind, namespace, "")
    wide = {"spec": {"hard": {"count/configmaps": "99"}}} if kind == QUOTA else {"spec": {}}

    def put(api: Api, admin: Api) -> object:
        item = admin.get(path)
        item["metadata"]["labels"] = {}
        del item["metadata"]["resourceVersion"]  # or a new status would be a conflict
        return api.replace(path, item)

    def apply(api: Api, admin: Api) -> object:
        item = admin.get(path)
        body = {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            "metadata": {"name": "lnamespace"},
        }
        return api.patch(path, body | wide, APPLY, fieldManager="lnamespace", force="true")

    finalizer = {"metadata": {"finalizers": ["example.com/x"]}}
    owner = [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "0-0"}]
    return {
        "delete": lambda api, _: api.delete(path),
        "delete all": lambda api, _: api.delete(all_of_it),
        "delete by label": lambda api, _: api.delete(all_of_it, labelSelector="a!=b"),
        "merge patch": lambda api, _: api.patch(path, wide),
        "JSON patch": lambda api, _: api.patch(
            path, [{"op": "remove", "path": "/metadata/labels"}], JSON_PATCH
        ),
        "apply": apply,
        "PUT": put,
        "finalizer": lambda api, _: api.patch(path, finalizer),
        "dead owner": lambda api, _: api.patch(path, {"metadata": {"ownerReferences": owner}}),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", _attacks(QUOTA, ""))
def test_a_sudoer_cannot_change_or_delete_profile_objects(
    how: str, kind: str, name: str, sudo: Api, admin: Api
) -> None:
    before = admin.get(profile_object_path(kind, name))
    assert ONLY_ADMINS in refusal(_attacks(kind, name)[how], sudo, admin)
    after = admin.get(profile_object_path(kind, name))
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])


def test_a_sudoer_cannot_write_the_status_of_the_quota(name: str, sudo: Api, admin: Api) -> None:
    path = profile_object_path(QUOTA, name)
    eventually(lambda: admin.get(path)["status"].get("hard"))  # Kubernetes writes it in its time.
    status = {"status": {"hard": {"count/configmaps": "99"}, "used": {"count/configmaps": "0"}}}
    assert ONLY_ADMINS in refusal(sudo.patch, f"{path}/status", status)
    whole = admin.get(path) | status
    del whole["metadata"]["resourceVersion"]  # or a new one meanwhile would be a conflict
    assert ONLY_ADMINS in refusal(sudo.replace, f"{path}/status", whole)
    assert admin.get(path)["status"]["hard"]["count/configmaps"] == "2"


def test_a_service_account_of_a_sudoer_cannot_delete_profile_objects(
    name: str, sudo: Api, people: People, rights: Rights
) -> None:
    strong = people.account(name, "stronger")
    binding = {
        "metadata": {"name": "stronger"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "stronger", "namespace": name}],
    }
    sudo.create(rbac_path("rolebindings", namespace=name), binding)
    eventually(lambda: rights.may(strong.who, rule(name)))
    for kind in KINDS:
        assert ONLY_ADMINS in refusal(strong.api.delete, profile_object_path(kind, name))


def test_a_sudoer_can_manage_own_quotas_and_network_policies(name: str, sudo: Api) -> None:
    """Else the tests above would hold for a policy that forbids everything."""
    for kind in KINDS:
        mine = {"metadata": {"name": "mine"}, "spec": SPECS[kind]}
        place = profile_object_path(kind, name, "")
        sudo.create(place, mine)
        sudo.patch(f"{place}/mine", {"metadata": {"labels": {"a": "b"}}})
        sudo.delete(f"{place}/mine")


def test_a_sudoer_cannot_create_an_object_with_the_name_of_profile_objects(
    tenants: Tenants, alice: Person, rights: Rights
) -> None:
    """They could not get rid of it again."""
    name = tenants.make("taken", sudoers=["alice"], profile="big")
    eventually(lambda: rights.sudoes(alice.who, name))
    body = {"metadata": {"name": "lnamespace"}, "spec": SPECS[NETWORK]}
    assert ONLY_ADMINS in refusal(
        alice.sudo(name).create, profile_object_path(NETWORK, name, ""), body
    )


@pytest.mark.parametrize("label", ["example.com/mesh", "sneaky", "forbidden.example.com/x"])
def test_a_sudoer_cannot_change_profile_labels(
    label: str, name: str, sudo: Api, admin: Api
) -> None:
    before = labels(admin, name)
    change = {"metadata": {"labels": {label: "mine"}}}
    for path in (ns_path(name), f"{ns_path(name)}/status"):
        told = refusal(sudo.patch, path, change)
        assert ONLY_ADMINS in told or "forbidden" in told
    assert labels(admin, name) == before


def test_the_controller_can_write_profile_objects_only_in_lnamespaces(
    cluster: ProfilesCluster, name: str, admin: Api
) -> None:
    thief = Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    for kind in KINDS:
        body = {"metadata": {"name": "lnamespace"}, "spec": SPECS[kind]}
        for place in ("default", "kube-system", RELEASE_NAMESPACE):
            assert "no LNamespace's" in refusal(
                thief.create, profile_object_path(kind, place, ""), body
            )
        other = body | {"metadata": {"name": "other"}}
        assert "names itself" in refusal(thief.create, profile_object_path(kind, name, ""), other)
        admin.create(profile_object_path(kind, name, ""), other)
        assert refusal(thief.delete, profile_object_path(kind, name, "other"))
        assert refusal(thief.patch, profile_object_path(kind, name, "other"), {"spec": {}})
        assert refusal(thief.delete, profile_object_path(kind, name, ""))
        admin.delete(profile_object_path(kind, name, "other"))
    worse = {"pod-security.kubernetes.io/enforce": "privileged", "example.com/mesh": "off"}
    for label, value in worse.items():
        change = {"metadata": {"labels": {label: value}}}
        assert "only its own labels" in refusal(thief.patch, ns_path(name), change)
    change = {"metadata": {"annotations": {f"{GROUP}/labels": "mine"}}}
    assert "no labels but those" in refusal(thief.patch, ns_path(name), change)


# --- which profile


def test_choosing_another_profile_requires_the_verb_use(
    name: str, alice: Person, people: People, rights: Rights, admin: Api
) -> None:
    mine = manifest("chosen", profile="big")
    assert "you need the verb use" in refusal(alice.api.create, LNAMESPACES, mine)
    change = {"spec": {"profile": "big"}}
    assert "you need the verb use" in refusal(alice.api.patch, lns_path(name), change)
    assert "you need the verb use" in refusal(alice.sudo(name).patch, lns_path(name), change)
    role = {
        "apiGroups": [GROUP],
        "resources": ["profiles"],
        "resourceNames": ["big"],
        "verbs": ["use"],
    }
    admin.create(rbac_path("clusterroles"), {"metadata": {"name": "use-big"}, "rules": [role]})
    carol = people.person("carol")
    binding = {
        "metadata": {"name": "use-big"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "use-big"},
        "subjects": [{"kind": "User", "name": "carol", "apiGroup": RBAC}],
    }
    admin.create(rbac_path("clusterrolebindings"), binding)

    def chooses() -> bool:
        return unless("Forbidden", carol.api.create, LNAMESPACES, mine)

    eventually(chooses)
    eventually(lambda: rights.edits(carol.who, "chosen"))
    eventually(lambda: spec(admin, QUOTA, "chosen") == BIG["resourceQuota"])
    for kind in (RANGE, NETWORK):
        assert spec(admin, kind, "chosen") is None
    assert "Profiles:   big, default (if you name none)\n" in carol.kubectl("lns", "whoami").ok()
    plain = {"spec": {"profile": "plain"}}
    assert "you need the verb use" in refusal(carol.api.patch, lns_path("chosen"), plain)
    carol.api.patch(lns_path("chosen"), {"spec": {"profile": None}})
    eventually(lambda: spec(admin, NETWORK, "chosen") == SPECS[NETWORK])


def test_a_profile_chosen_by_an_administrator_cannot_be_changed_by_managers(
    tenants: Tenants, alice: Person, admin: Api, rights: Rights
) -> None:
    """It may be less than the default."""
    name = tenants.make("kept", managers=["alice"], profile="plain")
    eventually(lambda: rights.edits(alice.who, name))
    for other in (None, "default", "big"):
        told = refusal(alice.api.patch, lns_path(name), {"spec": {"profile": other}})
        assert "you need the verb use" in told
    alice.api.patch(lns_path(name), {"spec": {"deletionProtection": False}})
    assert all(spec(admin, kind, name) is None for kind in KINDS)


def test_an_unknown_profile_is_refused(admin: Api, name: str, alice: Person) -> None:
    for request, path, body in (
        (admin.create, LNAMESPACES, manifest("nothing", profile="huge")),
        (admin.patch, lns_path(name), {"spec": {"profile": "huge"}}),
    ):
        told = refusal(request, path, body, status=422)
        assert 'there is no profile "huge"; there are: big, default, plain' in told
    for command in (f"create {name}-2 --profile huge", f"set {name} --profile huge"):
        told = alice.kubectl("lns", *command.split()).refused()
        assert 'there is no profile "huge"; there are: big, default, plain' in told


def test_both_api_versions_have_the_profile(tenants: Tenants, admin: Api) -> None:
    older = f"/apis/{GROUP}/v1alpha1/lnamespaces"
    name = tenants.make("older", profile="big")
    shown = admin.get(f"{older}/{name}")
    assert shown["spec"]["profile"] == "big"
    shown["spec"].pop("users", None)
    admin.replace(f"{older}/{name}", shown)
    assert tenants.get(name)["spec"]["profile"] == "big"


# --- the file


def test_a_change_of_the_profiles_file_is_applied(
    name: str, file: ProfilesCluster, admin: Api
) -> None:
    other = copy.deepcopy(PROFILES)
    other["default"]["resourceQuota"]["hard"] = {"count/configmaps": "7"}
    del other["default"]["networkPolicy"]
    other["default"]["labels"] = {"pod-security.kubernetes.io/enforce": "baseline"}
    file.tell(other)
    eventually(lambda: spec(admin, QUOTA, name) == {"hard": {"count/configmaps": "7"}})
    eventually(lambda: spec(admin, NETWORK, name) is None)
    eventually(lambda: "example.com/mesh" not in labels(admin, name))
    other["default"]["resourceQuota"]["scopes"] = ["Terminating"]  # which cannot be changed
    other["default"]["resourceQuota"]["hard"] = {"pods": "3"}
    file.tell(other)
    eventually(lambda: (spec(admin, QUOTA, name) or {}).get("scopes") == ["Terminating"])
    file.tell(PROFILES)
    eventually(lambda: {kind: spec(admin, kind, name) for kind in KINDS} == SPECS)
    eventually(lambda: labels(admin, name).get("example.com/mesh") == "on")


BROKEN = {
    "no YAML": ("default: [", "profiles.yaml:1"),
    "no such field": ("default: {quota: {}}", 'unknown field "quota"'),
    "no such field of Kubernetes": (
        "default: {resourceQuota: {hardd: {pods: 1}}}",
        'unknown field \\"spec.hardd\\"',
    ),
    "no such quantity": ("default: {resourceQuota: {hard: {pods: lots}}}", "default: "),
    "no such resource": ("default: {resourceQuota: {hard: {podz: 1}}}", "spec.hard[podz]"),
    "our own label": (f"default: {{labels: {{{GROUP}/team: x}}}}", "is not a profile's to set"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_invalid_profiles_file_is_reported_and_changes_nothing(
    case: str, name: str, file: ProfilesCluster, admin: Api
) -> None:
    content, words = BROKEN[case]
    since = file.controller.position
    file.tell(content)
    eventually(lambda: metric(file.controller, UNUSABLE) == 1)
    eventually(lambda: words.replace("\\", "") in file.controller.log(since).replace("\\", ""))
    assert {kind: spec(admin, kind, name) for kind in KINDS} == SPECS


def test_a_removed_profile_keeps_its_objects_and_blocks_new_lnamespaces(
    file: ProfilesCluster, tenants: Tenants, admin: Api, rights: Rights, people: People
) -> None:
    old = tenants.make("old", users=["ursula"], profile="big")
    file.tell({"default": DEFAULT})
    told = tenants.unready(old, "UnknownProfile")
    assert 'There is no profile "big" (there are: default)' in str(told["status"])
    assert spec(admin, QUOTA, old) == BIG["resourceQuota"]
    tenants.edit(old, users=["uwe"])
    ursula, uwe = people.person("ursula").who, people.person("uwe").who
    eventually(lambda: rights.works(uwe, old) and not rights.works(ursula, old))
    new = tenants.name("new")
    tenants.create(new, users=["ursula"], profile="big")
    tenants.unready(new, "UnknownProfile")
    assert not rights.works(ursula, new)
    file.tell(PROFILES)
    tenants.ready(old)
    tenants.ready(new)
    eventually(lambda: rights.works(ursula, new))
    assert spec(admin, QUOTA, new) == BIG["resourceQuota"]


def test_no_access_is_granted_if_a_profile_object_is_refused(
    tenants: Tenants, admin: Api, rights: Rights, people: People
) -> None:
    policy: Object = {
        "metadata": {"name": "no-network-policies"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["networking.k8s.io"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE"],
                        "resources": [NETWORK],
                    }
                ]
            },
            "validations": [
                {"expression": "request.namespace == 'default'", "message": "not today"}
            ],
        },
    }
    place = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    admin.create(f"{place}ies", policy)
    bound = {"policyName": "no-network-policies", "validationActions": ["Deny"]}
    admin.create(f"{place}ybindings", {"metadata": policy["metadata"], "spec": bound})
    body = {"metadata": {"name": "x"}, "spec": SPECS[NETWORK]}
    in_kube_public = profile_object_path(NETWORK, "kube-public", "")

    def lets() -> bool:
        return unless("Invalid", admin.create, in_kube_public, body, dryRun="All")

    eventually(lambda: not lets())
    name = tenants.name("refused")
    tenants.create(name, users=["ursula"])
    told = tenants.unready(name, "Invalid")
    assert "not today" in str(told["status"])
    assert not rights.works(people.person("ursula").who, name)
    assert spec(admin, QUOTA, name) == SPECS[QUOTA]
    tenants.delete(name)
    for kind in ("ybindings", "ies"):
        admin.delete(f"{place}{kind}/no-network-policies")
    eventually(lets)


# --- the end


def test_profile_objects_stay_in_a_retained_namespace(tenants: Tenants, admin: Api) -> None:
    """A NetworkPolicy must not go before the pods that it is for."""
    name = tenants.make("retained", users=["ursula"], deletionPolicy="Retain")
    tenants.delete(name)
    place = rbac_path("rolebindings", namespace=name)
    eventually(
        lambda: not [b for b in admin.items(place) if b["metadata"]["name"] == "lnamespace-users"]
    )
    assert {kind: spec(admin, kind, name) for kind in KINDS} == SPECS


def given_pods(admin: Api, name: str) -> None:
    """Create a namespace with objects that the default profile would not let in: two too many."""
    admin.create(NAMESPACES, {"metadata": {"name": name, "labels": {"team": "before"}}})
    for number in range(4):
        admin.create(ns_path(name, "configmaps"), {"metadata": {"name": f"of-before-{number}"}})


def test_an_adopted_namespace_does_not_get_the_default_profile(
    tenants: Tenants, admin: Api, cluster: ProfilesCluster
) -> None:
    """Its Pod Security, its network policy and a quota that was exceeded came upon it at once."""
    name = tenants.name("adopted")
    given_pods(admin, name)
    tenants.create(name, users=["ursula"])
    uid = tenants.unready(name, "Conflict")["metadata"]["uid"]
    admin.patch(ns_path(name), {"metadata": {"annotations": {f"{GROUP}/owner-uid": uid}}})
    tenants.ready(name)
    assert {kind: spec(admin, kind, name) for kind in KINDS} == dict.fromkeys(KINDS)
    assert DEFAULT["labels"].keys().isdisjoint(labels(admin, name))
    assert labels(admin, name)["team"] == "before"
    admin.create(ns_path(name, "configmaps"), {"metadata": {"name": "one-more"}})
    # Nor after everything was read anew.
    cluster.controller.stop()
    cluster.controller.start()
    tenants.edit(name, users=["ursula", "una"])
    tenants.ready(name)
    assert {kind: spec(admin, kind, name) for kind in KINDS} == dict.fromkeys(KINDS)
    # The administrator names the profile, once they have seen that all fits.
    tenants.edit(name, profile="default")
    eventually(lambda: {kind: spec(admin, kind, name) for kind in KINDS} == SPECS)
    eventually(lambda: labels(admin, name).get("example.com/mesh") == "on")


def test_an_adopted_namespace_keeps_its_objects_named_like_profile_objects(
    tenants: Tenants, admin: Api, cluster: ProfilesCluster
) -> None:
    """A quota and a network policy called `lnamespace` went with the annotation that adopts."""
    name = tenants.name("adopted-own")
    admin.create(NAMESPACES, {"metadata": {"name": name}})
    own = {
        QUOTA: {"hard": {"pods": "3"}},
        NETWORK: {"podSelector": {}, "policyTypes": ["Ingress"]},
    }
    for kind, there in own.items():
        admin.create(
            profile_object_path(kind, name, ""), {"metadata": {"name": "lnamespace"}, "spec": there}
        )
    tenants.create(name, users=["ursula"])
    uid = tenants.unready(name, "Conflict")["metadata"]["uid"]
    admin.patch(ns_path(name), {"metadata": {"annotations": {f"{GROUP}/owner-uid": uid}}})
    tenants.ready(name)
    cluster.controller.stop()
    cluster.controller.start()
    tenants.edit(name, users=["ursula", "una"])
    tenants.ready(name)
    assert {kind: spec(admin, kind, name) for kind in own} == own
    # A profile that is named replaces them, and takes away what it made.
    tenants.edit(name, profile="default")
    eventually(lambda: {kind: spec(admin, kind, name) for kind in KINDS} == SPECS)
    tenants.edit(name, profile=None)
    eventually(lambda: {kind: spec(admin, kind, name) for kind in KINDS} == dict.fromkeys(KINDS))


def test_a_stolen_controller_token_cannot_mark_a_namespace_as_adopted(
    cluster: ProfilesCluster, name: str
) -> None:
    """It would have no default profile then."""
    thief = Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    change = {"metadata": {"annotations": {f"{GROUP}/adopted": "true"}}}
    assert "it made that it was adopted" in refusal(thief.patch, ns_path(name), change)


def test_a_released_namespace_keeps_no_managed_metadata_or_objects(
    tenants: Tenants, admin: Api, cluster: ProfilesCluster
) -> None:
    """By the commands of docs/adoption.md, letter by letter."""
    name = tenants.make("let-go", users=["ursula"])
    admin.create(profile_object_path(QUOTA, name, ""), {"metadata": {"name": "theirs"}, "spec": {}})
    page = (REPOSITORY / "docs" / "adoption.md").read_text().partition("## Let go")[2]
    lines = re.findall(r"^\$ ((?:.|\n    )*)$", page.partition("## ")[0], re.MULTILINE)
    assert len(lines) >= 5
    script = "\n".join(lines).replace("payments", name)
    cluster.run("bash", "-euo", "pipefail", "-c", script).ok()
    found = admin.get(ns_path(name))["metadata"]
    assert not [key for key in found.get("annotations", {}) if key.startswith(GROUP)]
    assert found["labels"] == {"kubernetes.io/metadata.name": name}
    kept = admin.items(profile_object_path(QUOTA, name, ""))
    assert [item["metadata"]["name"] for item in kept] == ["theirs"]
    assert not admin.items(profile_object_path(NETWORK, name, ""))
    eventually(lambda: not admin.items(rbac_path("rolebindings", namespace=name)))


def test_profile_objects_do_not_block_namespace_deletion(tenants: Tenants, admin: Api) -> None:
    name = tenants.make("gone")
    tenants.delete(name)
    eventually(lambda: admin.find(ns_path(name)) is None, 240)


# --- required labels: last, for from here on each LNamespace needs one


@pytest.fixture(scope="module")
def left(tenants: Tenants, alice: Person, rights: Rights) -> str:
    """One of Alice's with a profile that is about to go."""
    name = tenants.make("left", managers=["alice"], profile="plain")
    eventually(lambda: rights.edits(alice.who, name))
    return name


@pytest.fixture(scope="module")
def strict(cluster: ProfilesCluster, left: str) -> ProfilesCluster:
    """Return the cluster once labels are required."""
    assert cluster.admin.find(lns_path(left)), "it must be from before"
    cluster.helm("upgrade")
    path = f"{LNAMESPACES}?dryRun=All"

    def refuses() -> bool:
        return not unless("Invalid", cluster.admin.create, path, manifest("x", managers=["m"]))

    eventually(refuses)
    return cluster


def test_an_lnamespace_without_a_required_label_is_refused(
    strict: ProfilesCluster, alice: Person
) -> None:
    for given in ({}, {"data-class": "publicity"}, {"data-class": ""}):
        body = manifest("labelled")
        body["metadata"]["labels"] = given
        told = refusal(alice.api.create, LNAMESPACES, body, status=422)
        assert "needs the label data-class" in told
        assert "public|secret" in told
    made = alice.kubectl("create", "lns", "labelled", "--label", "data-class=public")
    assert made.code == 0, str(made)
    assert labels(strict.admin, "labelled")["data-class"] == "public"


def test_a_required_label_cannot_be_removed_and_its_change_is_applied(
    strict: ProfilesCluster, alice: Person, rights: Rights
) -> None:
    who = alice.who
    eventually(lambda: rights.edits(who, "labelled") and rights.sudoes(who, "labelled"))
    change: Object = {"metadata": {"labels": {"data-class": None}}}
    path = lns_path("labelled")
    assert "needs the label" in refusal(alice.api.patch, path, change, status=422)
    alice.api.patch(path, {"metadata": {"labels": {"data-class": "secret", "other": "x"}}})
    eventually(lambda: labels(strict.admin, "labelled").get("data-class") == "secret")
    assert "other" not in labels(strict.admin, "labelled")
    sudo = alice.sudo("labelled")
    wrong = {"metadata": {"labels": {"data-class": "mine"}}}

    def refuses() -> bool:
        return not unless("Forbidden", sudo.patch, ns_path("labelled"), wrong)

    eventually(refuses)  # each policy is in force in its own time
    assert ONLY_ADMINS in refusal(sudo.patch, ns_path("labelled"), wrong)
    strict.admin.patch(ns_path("labelled"), {"metadata": {"labels": {"data-class": None}}})
    eventually(lambda: labels(strict.admin, "labelled").get("data-class") == "secret")


def test_lnamespaces_older_than_a_required_label_can_be_edited_without_it(
    strict: ProfilesCluster, alice: Person, name: str
) -> None:
    alice.api.patch(lns_path(name), {"spec": {"users": [{"name": "alice"}, {"name": "new"}]}})
    assert "data-class" not in labels(strict.admin, name)


def test_lnamespaces_older_than_a_required_label_can_be_given_a_valid_value_only(
    strict: ProfilesCluster, alice: Person, name: str
) -> None:
    """Where there was no valid value, any was taken, and the controller copied it."""

    def given(value: str | None) -> Object:
        return {"metadata": {"labels": {"data-class": value}}}

    assert "must match" in refusal(alice.api.patch, lns_path(name), given("exempt"), status=422)
    strict.admin.patch(CLUSTER_POLICY, {"spec": {"validationActions": ["Audit"]}})
    eventually(lambda: unless("Invalid", alice.api.patch, lns_path(name), given("exempt")))
    strict.admin.patch(CLUSTER_POLICY, {"spec": {"validationActions": ["Deny"]}})
    other = {"metadata": {"labels": {"data-class": "other"}}}

    def refuses() -> bool:
        return not unless("Invalid", alice.api.patch, f"{lns_path(name)}?dryRun=All", other)

    eventually(refuses)
    alice.api.patch(lns_path(name), {"metadata": {"labels": {"example.com/note": "x"}}})
    alice.api.patch(lns_path(name), given(None))
    assert "must match" in refusal(alice.api.patch, lns_path(name), given("exempt"), status=422)
    alice.api.patch(lns_path(name), given("public"))
    eventually(lambda: labels(strict.admin, name).get("data-class") == "public")


@pytest.mark.usefixtures("strict")
def test_a_manager_can_leave_a_profile_that_no_longer_exists(
    left: str, alice: Person, admin: Api
) -> None:
    change = {"spec": {"profile": None}}
    # Each policy is in force in its own time.
    eventually(lambda: unless("Forbidden", alice.api.patch, lns_path(left), change))
    eventually(lambda: spec(admin, QUOTA, left) == SPECS[QUOTA])
