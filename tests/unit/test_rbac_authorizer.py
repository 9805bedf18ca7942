"""What Roles and bindings allow, as Kubernetes' RBAC authorizer has it."""

from typing import Any

import msgspec
import pytest
from lnamespace.rbac.attributes import (
    Attributes,
    User,
    access_denied,
    path_attributes,
    person,
    request_attributes,
    service_account,
)
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.base import base_access
from lnamespace.rbac.objects import RbacRole, decode_role
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.protocol.quoting import go_quote, go_quote_all
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType, ServingPolicy

from tests.unit.support.rbac import JANE, asks, binding, role, rule


def one_rule(**wire: list[str]) -> Authorizer:
    return Authorizer(RoleStore.from_objects([role("r", wire)], [binding("b", "r", "User|jane")]))


@pytest.mark.parametrize(
    ("resources", "asked", "allowed"),
    [
        (["pods"], "pods", True),
        (["pods"], "pods/log", False),
        (["pods/log"], "pods/log", True),
        (["pods/log"], "pods", False),
        (["*"], "pods/log", True),
        (["*/scale"], "deployments/scale", True),
        (["*/scale"], "deployments", False),
        (["*/scale"], "scale", False),
        (["*/*"], "pods/log", False),
        (["pods/*"], "pods/log", False),
        (["pods/*"], "pods", False),
        ([], "pods", False),
    ],
)
def test_a_rule_matches_resources_and_subresources(
    resources: list[str], asked: str, allowed: bool
) -> None:
    authorizer = one_rule(verbs=["get"], apiGroups=[""], resources=resources)
    assert authorizer.allows(JANE, asks("get", asked)).allowed is allowed


@pytest.mark.parametrize(
    ("urls", "path", "allowed"),
    [
        (["/healthz"], "/healthz", True),
        (["/healthz"], "/healthz/etcd", False),
        (["/healthz/*"], "/healthz/etcd", True),
        (["/healthz/*"], "/healthz", False),
        (["/healthz*"], "/healthzz", True),
        (["/a**"], "/ab", True),
        (["*"], "/anything", True),
        (["/a/*/c"], "/a/b/c", False),
    ],
)
def test_a_rule_matches_non_resource_paths(urls: list[str], path: str, allowed: bool) -> None:
    authorizer = one_rule(verbs=["get"], nonResourceURLs=urls)
    assert authorizer.allows(JANE, path_attributes("get", path)).allowed is allowed


def test_a_rule_for_paths_allows_no_resource_and_a_resource_rule_no_path() -> None:
    paths = one_rule(verbs=["*"], nonResourceURLs=["*"])
    assert not paths.allows(JANE, asks("get", "pods")).allowed
    resources = one_rule(verbs=["*"], apiGroups=["*"], resources=["*"])
    assert not resources.allows(JANE, path_attributes("get", "/version")).allowed
    assert not resources.allows(JANE, path_attributes("get", "")).allowed
    assert resources.allows(JANE, Attributes("get")).allowed


def test_resource_names_limit_a_rule_and_exclude_requests_without_a_name() -> None:
    authorizer = one_rule(verbs=["*"], apiGroups=[""], resources=["pods"], resourceNames=["a", "b"])
    assert authorizer.allows(JANE, asks("get", "pods", "n", "a")).allowed
    assert authorizer.allows(JANE, asks("get", "pods", "n", "b")).allowed
    assert not authorizer.allows(JANE, asks("get", "pods", "n", "c")).allowed
    assert not authorizer.allows(JANE, asks("list", "pods", "n")).allowed
    assert not authorizer.allows(JANE, asks("create", "pods", "n")).allowed


def test_a_role_binding_counts_in_its_namespace_only() -> None:
    store = RoleStore.from_objects(
        [role("reader", rule("get", "pods"), namespace="n")],
        [binding("b", "reader", "User|jane", namespace="n", kind="Role")],
    )
    authorizer = Authorizer(store)
    assert authorizer.allows(JANE, asks("get", "pods", "n")).allowed
    assert not authorizer.allows(JANE, asks("get", "pods", "other")).allowed
    assert not authorizer.allows(JANE, asks("get", "pods")).allowed


@pytest.mark.parametrize(
    ("subject", "user", "allowed"),
    [
        ("User|jane", JANE, True),
        ("User|team", JANE, False),
        ("Group|team", JANE, True),
        ("Group|jane", JANE, False),
        ("Group|system:authenticated", JANE, True),
        ("ServiceAccount|sa|n", service_account("n", "sa"), True),
        ("ServiceAccount|sa", service_account("n", "sa"), True),
        ("ServiceAccount|sa", service_account("m", "sa"), False),
        ("User|system:serviceaccount:n:sa", service_account("n", "sa"), True),
        ("Group|system:serviceaccounts", service_account("m", "sa"), True),
        ("Group|system:serviceaccounts:n", service_account("n", "sa"), True),
        ("Group|system:serviceaccounts:n", service_account("m", "sa"), False),
        ("Robot|jane", JANE, False),
    ],
)
def test_a_binding_applies_to_its_subjects(subject: str, user: User, allowed: bool) -> None:
    store = RoleStore.from_objects(
        [role("r", rule("get", "pods"))], [binding("b", "r", subject, namespace="n")]
    )
    assert Authorizer(store).allows(user, asks("get", "pods", "n")).allowed is allowed


def test_a_service_account_without_a_namespace_in_a_cluster_role_binding_is_ignored() -> None:
    store = RoleStore.from_objects(
        [role("r", rule("get", "pods"))], [binding("b", "r", "ServiceAccount|sa")]
    )
    for user in (service_account("n", "sa"), User("system:serviceaccount::sa")):
        assert not Authorizer(store).allows(user, asks("get", "pods", "n")).allowed


def test_the_reason_names_the_binding_in_the_words_of_kubernetes() -> None:
    store = RoleStore.from_objects(
        [role("r", rule("get", "pods")), role("x", rule("get", "secrets"), namespace="n")],
        [
            binding("b", "r", "User|joe", "Group|team"),
            binding("c", "x", "ServiceAccount|sa", namespace="n", kind="Role"),
        ],
    )
    authorizer = Authorizer(store)
    assert authorizer.allows(JANE, asks("get", "pods")).reason == (
        'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "team"'
    )
    assert authorizer.allows(service_account("n", "sa"), asks("get", "secrets", "n")).reason == (
        'RBAC: allowed by RoleBinding "c/n" of Role "x" to ServiceAccount "sa/n"'
    )
    assert authorizer.allows(JANE, asks("get", "secrets", "n")).reason == ""


def test_a_refusal_names_the_roles_that_do_not_exist() -> None:
    one = RoleStore.from_objects([], [binding("b", "gone", "User|jane")])
    assert Authorizer(one).allows(JANE, asks("get", "pods")).reason == (
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
    two = one.with_binding(binding("c", "r", "User|jane", namespace="n", kind="Role"))
    assert Authorizer(two).allows(JANE, asks("get", "pods", "n")).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found,'
        ' role.rbac.authorization.k8s.io "r" not found]'
    )


def test_system_masters_may_do_everything() -> None:
    root = User("root", groups=("system:masters",))
    assert Authorizer(RoleStore()).allows(root, asks("escalate", "anything")).allowed
    assert Authorizer(RoleStore()).allows(root, path_attributes("get", "/metrics")).allowed


def test_a_cached_authorization_equals_the_first_one() -> None:
    authorizer = one_rule(verbs=["get"], apiGroups=[""], resources=["pods"], resourceNames=["a"])
    for _ in range(2):
        assert authorizer.allows(JANE, asks("get", "pods", "n", "a")).allowed
        assert not authorizer.allows(JANE, asks("get", "pods", "n", "b")).allowed
        assert not authorizer.allows(User("joe"), asks("get", "pods", "n", "a")).allowed


def test_the_authorization_cache_is_limited_in_size() -> None:
    authorizer = one_rule(verbs=["get"], apiGroups=[""], resources=["pods"])
    authorizer.allows(JANE, asks("get", "x" * 5000))
    authorizer.allows(User("joe", groups=("g" * 5000,)), asks("get", "pods"))
    assert authorizer._answers == {}  # noqa: SLF001
    for number in range(5000):
        authorizer.allows(JANE, asks("get", f"r{number}"))
    assert len(authorizer._answers) <= 4096  # noqa: SLF001


def aggregating(name: str, *labels: str, **own: str) -> RbacRole:
    return role(
        name,
        rule("get", "stale"),
        labels=own,
        aggregationRule={
            "clusterRoleSelectors": [{"matchLabels": {each: "true"}} for each in labels]
        },
    )


def test_a_cluster_role_aggregates_the_roles_that_it_selects() -> None:
    roles = [
        aggregating("all", "a"),
        aggregating("middle", "b", a="true"),
        role("leaf", rule("get", "pods"), labels={"b": "true"}),
        role("no", rule("get", "secrets"), labels={"b": "false"}),
    ]
    store = RoleStore.from_objects(roles, [binding("b", "all", "User|jane")])
    assert Authorizer(store).allows(JANE, asks("get", "pods")).allowed
    assert not Authorizer(store).allows(JANE, asks("get", "secrets")).allowed
    assert not Authorizer(store).allows(JANE, asks("get", "stale")).allowed
    relabelled = store.with_role(role("no", rule("get", "secrets"), labels={"b": "true"}))
    assert Authorizer(relabelled).allows(JANE, asks("get", "secrets")).allowed
    assert not Authorizer(store).allows(JANE, asks("get", "secrets")).allowed


def test_cyclic_aggregation_terminates() -> None:
    roles = [
        aggregating("one", "to-one", **{"to-two": "true"}),
        aggregating("two", "to-two", **{"to-one": "true"}),
        role("leaf", rule("get", "pods"), labels={"to-two": "true"}),
    ]
    store = RoleStore.from_objects(roles, [binding("b", "one", "User|jane")])
    assert Authorizer(store).allows(JANE, asks("get", "pods")).allowed


def test_a_long_chain_of_aggregation_is_followed() -> None:
    roles = [aggregating(f"r{n}", f"l{n + 1}", **{f"l{n}": "true"}) for n in range(300)]
    roles.append(role("end", rule("get", "pods"), labels={"l300": "true"}))
    store = RoleStore.from_objects(roles, [binding("b", "r0", "User|jane")])
    assert Authorizer(store).allows(JANE, asks("get", "pods")).allowed


def test_the_aggregation_effort_of_one_tenant_is_limited() -> None:
    labels = {f"l{number}": "true" for number in range(400)}
    roles = [aggregating(f"r{number:03}", *labels, **labels) for number in range(400)]
    end = role("end", rule("get", "pods"), labels=labels)
    store = RoleStore.from_objects([*roles, end], [binding("b", "r000", "User|jane")])
    assert not Authorizer(store).allows(JANE, asks("get", "secrets")).allowed
    assert next(store.cluster_roles._steps, None) is None  # noqa: SLF001


def test_rules_beyond_the_reading_limit_allow_nothing() -> None:
    long = rule("get", " ".join(f"x{number}" for number in range(1000)))
    roles = [role("a", rule("get", "pods")), *(role(f"b{n}", *[long] * 10) for n in range(60))]
    roles.append(role("c", rule("get", "secrets")))
    bindings = [binding(each.name, each.name, "User|jane") for each in roles]
    authorizer = Authorizer(RoleStore.from_objects(roles, bindings))
    assert authorizer.allows(JANE, asks("get", "pods")).allowed
    refused = authorizer.allows(JANE, asks("get", "secrets"))
    assert refused.reason == "RBAC: there are too many rules to read"
    held = authorizer.rules_for(JANE, "")
    assert not held.complete
    assert len(held.rules) < 600


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ({"key": "tier", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "tier", "operator": "In", "values": ["c"]}, False),
        ({"key": "tier", "operator": "NotIn", "values": ["c"]}, True),
        ({"key": "none", "operator": "NotIn", "values": ["c"]}, True),
        ({"key": "tier", "operator": "Exists"}, True),
        ({"key": "none", "operator": "Exists"}, False),
        ({"key": "none", "operator": "DoesNotExist"}, True),
        ({"key": "tier", "operator": "Like", "values": ["a"]}, False),
    ],
)
def test_aggregation_supports_match_expressions(expression: dict[str, Any], selected: bool) -> None:
    selectors = {"clusterRoleSelectors": [{"matchExpressions": [expression]}]}
    roles = [
        role("all", aggregationRule=selectors),
        role("x", rule("get", "pods"), labels={"tier": "a"}),
    ]
    store = RoleStore.from_objects(roles, [binding("b", "all", "User|jane")])
    assert Authorizer(store).allows(JANE, asks("get", "pods")).allowed is selected


def test_a_published_role_has_its_own_rules_and_aggregated_roles_of_the_tenant() -> None:
    admin = role(
        "admin",
        rule("get", "pods"),
        aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to-admin": "true"}}]},
    )
    own = [
        role("mine", rule("get", "widgets"), labels={"to-admin": "true"}),
        role("admin", rule("get", "secrets")),
    ]
    store = RoleStore.from_objects(own, [binding("b", "admin", "User|jane")], {"admin": admin})
    assert Authorizer(store).allows(JANE, asks("get", "pods")).allowed
    assert Authorizer(store).allows(JANE, asks("get", "widgets")).allowed
    assert not Authorizer(store).allows(JANE, asks("get", "secrets")).allowed


def test_an_update_of_the_store_leaves_the_previous_store_unchanged() -> None:
    before = RoleStore.from_objects([role("r", rule("get", "pods"))])
    after = before.with_binding(binding("b", "r", "User|jane", namespace="n"))
    later = after.without_binding("n", "b")
    allowed = [
        Authorizer(store).allows(JANE, asks("get", "pods", "n")).allowed
        for store in (before, after, later)
    ]
    assert allowed == [False, True, False]
    assert later.namespaces == {}
    assert after.without_role("", "r").cluster_roles.own == {}
    assert before.with_role(role("s", namespace="m")).without_role("m", "s").namespaces == {}


def test_an_update_keeps_the_indexes_of_all_other_namespaces() -> None:
    store = RoleStore.from_objects(
        [role("r", rule("get", "pods"))], [binding("b", "r", "User|jane", namespace="n")]
    )
    after = store.with_binding(binding("b", "r", "User|jane", namespace="m"))
    assert after.namespaces["n"] is store.namespaces["n"]
    assert after.cluster_roles is store.cluster_roles


WIDGETS = ResourceType(
    "rbac.authorization.k8s.io", "widgets", "Widget", namespaced=True, custom=True
)
NODES = ResourceType("", "nodes", "Node", namespaced=False, policy=ServingPolicy.HIDDEN)
VOLUMES = ResourceType("", "persistentvolumes", "PersistentVolume", namespaced=False)
ADMIN = role("admin", rule("*", "pods"))


def of_users(*own: RbacRole) -> Authorizer:
    table = ResourceTable.from_types([WIDGETS, NODES, VOLUMES])
    return Authorizer(RoleStore.from_objects(own, (), {"admin": ADMIN}, base_access(table)))


@pytest.mark.parametrize(
    ("attributes", "allowed"),
    [
        (asks("delete", "pods", "n", "x"), True),
        (asks("create", "namespaces"), True),
        (asks("update", "namespaces/finalize", "n", "n"), True),
        (asks("create", "customresourcedefinitions", group="apiextensions.k8s.io"), True),
        (asks("patch", "widgets/status", "n", "w", WIDGETS.group), True),
        (asks("escalate", "clusterroles", group=WIDGETS.group), False),
        (asks("create", "clusterroles", group=WIDGETS.group), False),
        (asks("list", "persistentvolumes"), True),
        (asks("delete", "persistentvolumes", name="x"), False),
        (asks("list", "nodes"), False),
        (asks("impersonate", "groups", name="system:masters"), False),
        (asks("create", "selfsubjectaccessreviews", group="authorization.k8s.io"), True),
        (path_attributes("get", "/openapi/v2"), True),
        (path_attributes("get", "/metrics"), False),
    ],
)
def test_users_of_the_lcluster_have_the_base_rules(attributes: Attributes, allowed: bool) -> None:
    assert of_users().allows(person("ann"), attributes).allowed is allowed


def test_objects_of_the_tenant_do_not_change_the_base_rules() -> None:
    forged = (
        role("lcluster:users", rule("*", "*", "*")),
        role("system:basic-user", rule("*", "*", "*")),
    )
    authorizer = of_users(*forged)
    assert not authorizer.allows(person("ann"), asks("get", "secrets", "n")).allowed
    unpublished = RoleStore.from_objects(
        [role("admin", rule("*", "*", "*"))], base=base_access(ResourceTable())
    )
    assert not Authorizer(unpublished).allows(person("ann"), asks("get", "secrets", "n")).allowed


def test_reserved_groups_of_a_user_are_removed() -> None:
    ann = person("ann", ("devs", "system:masters", "system:nodes", "lcluster:users:x"))
    assert ann.groups == ("devs", "lcluster:users", "system:authenticated")


def test_a_sudoer_may_impersonate_themselves_in_system_masters_only() -> None:
    ann = person("ann", sudoer=True)
    authorizer = of_users()
    assert authorizer.allows(ann, asks("impersonate", "users", name="ann")).allowed
    assert authorizer.allows(ann, asks("impersonate", "groups", name="system:masters")).allowed
    for resource, name in (
        ("users", "joe"),
        ("groups", "system:nodes"),
        ("serviceaccounts", "ann"),
    ):
        assert not authorizer.allows(ann, asks("impersonate", resource, name=name)).allowed
    assert not authorizer.allows(person("ann"), asks("impersonate", "users", name="ann")).allowed


NAMESPACES = ResourceType("", "namespaces", "Namespace", namespaced=False)
PODS = ResourceType("", "pods", "Pod", namespaced=True)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (PathRequest("get", "/api"), path_attributes("get", "/api")),
        (
            ResourceRequest("get", NAMESPACES, "v1", name="n"),
            Attributes("get", "", "v1", "namespaces", "", "n", "n"),
        ),
        (
            ResourceRequest("get", PODS, "v1", "n", "p", "log"),
            Attributes("get", "", "v1", "pods", "log", "n", "p"),
        ),
        *(
            (
                ResourceRequest("list", PODS, "v1", "n", query=(("fieldSelector", selector),)),
                Attributes("list", "", "v1", "pods", "", "n", name),
            )
            for selector, name in [
                ("metadata.name=a", "a"),
                ("metadata.name==a", "a"),
                ("spec.nodeName=x,metadata.name=a", "a"),
                ("metadata.name!=a", ""),
                ("metadata.name=a\\,b", ""),
                ("metadata.name=..", ""),
                ("metadata.name=a/b", ""),
                ("status.phase=Running", ""),
            ]
        ),
        (
            ResourceRequest(
                "deletecollection", PODS, "v1", "n", query=(("fieldSelector", "metadata.name=a"),)
            ),
            Attributes("deletecollection", "", "v1", "pods", "", "n", ""),
        ),
    ],
)
def test_request_attributes_equal_those_of_the_api_server(
    request_: ResourceRequest | PathRequest, expected: Attributes
) -> None:
    assert request_attributes(request_) == expected


def test_a_refusal_has_the_words_of_the_api_server() -> None:
    refused = access_denied(
        JANE, Attributes("list", "apps", "v1", "deployments", "scale", "n", "d"), "why"
    )
    assert refused.status.message == (
        'deployments.apps "d" is forbidden: User "jane" cannot list resource "deployments/scale"'
        ' in API group "apps" in the namespace "n": why'
    )
    assert refused.status.details == {"name": "d", "group": "apps", "kind": "deployments"}
    refused = access_denied(User("<b>"), path_attributes("get", "/metrics"))
    assert refused.status.message == 'forbidden: User "&lt;b&gt;" cannot get path "/metrics"'
    assert access_denied(JANE, asks("list", "nodes")).status.message == (
        'nodes is forbidden: User "jane" cannot list resource "nodes" in API group ""'
        " at the cluster scope"
    )


def test_strings_are_quoted_as_in_go() -> None:
    assert go_quote('a"b\\c\n\x01é\u200b\U000e0001') == '"a\\"b\\\\c\\n\\x01é\\u200b\\U000e0001"'
    assert go_quote_all(("a", "b")) == '["a" "b"]'


def test_null_in_a_role_is_decoded_as_an_empty_list() -> None:
    assert decode_role(b'{"metadata":{"name":"r","labels":null},"rules":null}') == RbacRole("r")
    with pytest.raises(msgspec.MsgspecError):
        decode_role(b'{"metadata":{"name":"r"},"rules":[{"verbs":[null]}]}')
