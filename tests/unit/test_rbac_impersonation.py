"""UpstreamIdentity as somebody else inside a tenant."""

import pytest
from lnamespace.rbac.attributes import User, path_attributes, person
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.impersonation import impersonated_user
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.rbac import JANE, asks, binding, role, rule

AUTHN = "authentication.k8s.io"
PODS = asks("list", "pods", "n")


def may(*rules: dict[str, list[str]], namespace: str = "") -> Authorizer:
    objects = [role("r", *rules)], [binding("b", "r", "User|jane", namespace=namespace)]
    return Authorizer(RoleStore.from_objects(*objects))


def test_every_impersonated_attribute_must_be_allowed() -> None:
    rules = [
        rule("impersonate", "users", names="joe"),
        rule("impersonate", "groups", names="devs"),
        rule("impersonate", "uids", AUTHN, "7"),
        rule("impersonate", "userextras/scopes", AUTHN, "x"),
    ]
    whole = User("joe", "7", ("devs",), {"scopes": ("x",)})
    as_joe = impersonated_user(may(*rules), JANE, whole, PODS)
    assert as_joe == User("joe", "7", ("devs", "system:authenticated"), {"scopes": ("x",)})
    for left_out in range(len(rules)):
        rest = [each for number, each in enumerate(rules) if number != left_out]
        with pytest.raises(Refused):
            impersonated_user(may(*rest), JANE, whole, PODS)


def test_impersonating_a_service_account_is_checked_in_its_namespace() -> None:
    authorizer = may(rule("impersonate", "serviceaccounts"), namespace="n")
    robot = impersonated_user(authorizer, JANE, User("system:serviceaccount:n:sa"), PODS)
    assert robot.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:n",
        "system:authenticated",
    )
    with pytest.raises(Refused):
        impersonated_user(authorizer, JANE, User("system:serviceaccount:m:sa"), PODS)


def test_an_invalid_service_account_name_is_checked_as_a_user() -> None:
    authorizer = may(rule("impersonate", "serviceaccounts"))
    for name in (
        "system:serviceaccount:n:",
        "system:serviceaccount:n:a:b",
        "system:serviceaccount:N:a",
    ):
        with pytest.raises(Refused):
            impersonated_user(authorizer, JANE, User(name), PODS)


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [
        (User("joe"), ("system:authenticated",)),
        (User("joe", groups=("a",)), ("a", "system:authenticated")),
        (User("joe", groups=("system:unauthenticated",)), ("system:unauthenticated",)),
        (User("system:anonymous"), ("system:unauthenticated",)),
        (User("system:serviceaccount:n:sa", groups=("a",)), ("a", "system:authenticated")),
    ],
)
def test_the_group_system_authenticated_is_added_unless_unauthenticated(
    wanted: User, groups: tuple[str, ...]
) -> None:
    authorizer = may(rule("impersonate", "users groups serviceaccounts"))
    assert impersonated_user(authorizer, JANE, wanted, PODS).groups == groups


def test_a_sudoer_may_impersonate_system_masters_only_as_themselves() -> None:
    nothing = Authorizer(RoleStore())
    ann = person("ann", ("devs",), sudoer=True)
    root = impersonated_user(nothing, ann, User("ann", groups=("system:masters",)), PODS)
    assert root == User("ann", "", ("system:masters", "system:authenticated"))
    assert nothing.allows(root, PODS).allowed
    for wanted in (
        User("joe", groups=("system:masters",)),
        User("ann", groups=("system:masters", "system:nodes")),
        User("ann", "7", ("system:masters",)),
        User("ann", "", ("system:masters",), {"a": ("b",)}),
        User("system:serviceaccount:n:sa", groups=("system:masters",)),
    ):
        with pytest.raises(Refused):
            impersonated_user(nothing, ann, wanted, PODS)
    with pytest.raises(Refused):
        impersonated_user(nothing, person("ann"), User("ann", groups=("system:masters",)), PODS)


def test_a_sudoer_may_not_impersonate_another_user_in_system_masters() -> None:
    authorizer = may(rule("impersonate", "users"))
    jane = person("jane", sudoer=True)
    assert impersonated_user(authorizer, jane, User("joe"), PODS).name == "joe"
    with pytest.raises(Refused):
        impersonated_user(authorizer, jane, User("joe", groups=("system:masters",)), PODS)


def test_an_impersonated_user_is_no_sudoer() -> None:
    ann = person("ann", sudoer=True)
    assert not impersonated_user(Authorizer(RoleStore()), ann, User("ann"), PODS).sudoer


def test_constrained_impersonation_allows_a_single_verb_as_a_single_user() -> None:
    authorizer = may(
        rule("impersonate-on:user-info:list", "pods"),
        rule("impersonate:user-info", "users groups", AUTHN, "joe devs"),
    )
    as_joe = impersonated_user(authorizer, JANE, User("joe", groups=("devs",)), PODS)
    assert as_joe.groups == ("devs", "system:authenticated")
    for wanted, asked in (
        (User("joe"), asks("get", "pods", "n", "x")),
        (User("joe"), path_attributes("get", "/version")),
        (User("ann"), PODS),
        (User("joe", groups=("system:masters",)), PODS),
    ):
        with pytest.raises(Refused):
            impersonated_user(authorizer, JANE, wanted, asked)


def test_constrained_impersonation_never_gives_system_masters() -> None:
    everything = ["impersonate-on:user-info:list impersonate:user-info", "*", "*"]
    authorizer = may(rule(*everything))
    assert impersonated_user(authorizer, JANE, User("joe", groups=("a",) * 5), PODS).name == "joe"
    for groups in (("system:masters",), ("",)):
        with pytest.raises(Refused):
            impersonated_user(authorizer, JANE, User("joe", groups=groups), PODS)


def test_constrained_impersonation_has_modes_for_service_accounts_and_nodes() -> None:
    authorizer = may(
        rule("impersonate-on:serviceaccount:list impersonate-on:arbitrary-node:list", "pods"),
        rule("impersonate:serviceaccount", "serviceaccounts", AUTHN),
        rule("impersonate:arbitrary-node", "nodes", AUTHN),
    )
    robot = impersonated_user(authorizer, JANE, User("system:serviceaccount:n:sa"), PODS)
    assert robot.groups[0] == "system:serviceaccounts"
    node = impersonated_user(authorizer, JANE, User("system:node:a"), PODS)
    assert node.groups == ("system:nodes", "system:authenticated")


def test_the_refusal_is_that_of_constrained_impersonation() -> None:
    with pytest.raises(Refused) as refused:
        impersonated_user(may(), JANE, User("joe"), PODS)
    assert refused.value.status.message == (
        'pods is forbidden: User "jane" cannot impersonate-on:user-info:list resource "pods"'
        ' in API group "" in the namespace "n"'
    )
