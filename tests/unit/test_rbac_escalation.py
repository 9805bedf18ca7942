"""Nobody grants what they do not have."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lnamespace.rbac.attributes import Attributes, User
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.covering import missing_rights, missing_text
from lnamespace.rbac.escalation import confirm_no_escalation, is_rbac_write
from lnamespace.rbac.objects import AccessRule, RbacBinding, RbacRole
from lnamespace.rbac.preconditions import with_preconditions
from lnamespace.rbac.rules import rule_matches
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.rbac import JANE, binding, role, rule

RBAC = "rbac.authorization.k8s.io"
READER = role("reader", rule("get list", "pods"))
BOUND = binding("b", "reader", "User|jane")


def write(plural: str, namespace: str = "", name: str = "", verb: str = "create") -> Attributes:
    return Attributes(verb, RBAC, "v1", plural, "", namespace, name)


def body(name: str, *rules: dict[str, list[str]], **members: Any) -> bytes:
    return json.dumps({"metadata": {"name": name}, "rules": list(rules), **members}).encode()


def bound(name: str, kind: str, to: str) -> bytes:
    return body(name, roleRef={"kind": kind, "name": to, "apiGroup": RBAC})


def authorizer(*objects: RbacRole | RbacBinding) -> Authorizer:
    return Authorizer(
        RoleStore.from_objects(
            [READER, *(each for each in objects if isinstance(each, RbacRole))],
            [BOUND, *(each for each in objects if isinstance(each, RbacBinding))],
        )
    )


def test_a_role_whose_rules_the_writer_holds_is_allowed() -> None:
    new = body("r", rule("get", "pods"))
    confirm_no_escalation(authorizer(), JANE, write("roles", "n"), new)


def test_a_role_with_further_rights_is_refused_in_the_words_of_kubernetes() -> None:
    new = body(
        "r", rule("get delete list", "pods services"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    )
    with pytest.raises(Refused) as refused:
        confirm_no_escalation(authorizer(), JANE, write("roles", "n"), new)
    assert refused.value.status.message == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane"'
        ' (groups=["team" "system:authenticated"]) is attempting to grant RBAC permissions not'
        " currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["services"], Verbs:["get" "delete" "list"]}\n'
        '{NonResourceURLs:["/x"], Verbs:["get"]}'
    )
    assert refused.value.status.code == 403
    assert refused.value.status.details == {"name": "r", "group": RBAC, "kind": "roles"}


def test_unresolved_bindings_are_named_in_the_refusal() -> None:
    lost = binding("c", "gone", "User|jane")
    with pytest.raises(Refused, match=r"; resolution errors: \[roles\..*not found\]$"):
        confirm_no_escalation(
            authorizer(lost), JANE, write("roles", "n"), body("r", rule("get", "x"))
        )


def test_the_verb_escalate_allows_any_rule() -> None:
    trusted = role("trusted", rule("escalate", "roles", RBAC))
    objects = authorizer(trusted, binding("c", "trusted", "User|jane", namespace="n"))
    new = body("r", rule("*", "*", "*"))
    confirm_no_escalation(objects, JANE, write("roles", "n"), new)
    for elsewhere in (write("roles", "m"), write("clusterroles")):
        with pytest.raises(Refused):
            confirm_no_escalation(objects, JANE, elsewhere, new)


def test_the_verb_escalate_limited_to_a_name_applies_only_to_updates() -> None:
    trusted = role("trusted", rule("escalate", "clusterroles", RBAC, "r"))
    objects = authorizer(trusted, binding("c", "trusted", "User|jane"))
    new = body("r", rule("*", "*", "*"))
    confirm_no_escalation(
        objects, JANE, write("clusterroles", name="r", verb="patch"), new, body("r")
    )
    with pytest.raises(Refused):
        confirm_no_escalation(objects, JANE, write("clusterroles"), new)


def test_system_masters_may_grant_everything() -> None:
    root = User("root", groups=("system:masters",))
    confirm_no_escalation(authorizer(), root, write("clusterroles"), body("r", rule("*", "*", "*")))


def test_an_aggregation_rule_needs_all_rights() -> None:
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    new = body("r", aggregationRule=selectors)
    with pytest.raises(
        Refused, match="must have cluster-admin privileges to use the aggregationRule"
    ):
        confirm_no_escalation(authorizer(), JANE, write("clusterroles"), new)
    everything = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    admin = role("root", rule("*", "*", "*"), everything)
    objects = authorizer(admin, binding("c", "root", "User|jane"))
    confirm_no_escalation(objects, JANE, write("clusterroles"), new)


def test_an_aggregation_rule_cannot_be_taken_away_without_all_rights() -> None:
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    old, new = body("r", aggregationRule=selectors), body("r", rule("get", "pods"))
    with pytest.raises(Refused, match="aggregationRule"):
        confirm_no_escalation(
            authorizer(), JANE, write("clusterroles", name="r", verb="update"), new, old
        )


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ({"finalizers": ["x"]}, {}, False),
        ({"managedFields": []}, {"ownerReferences": [{"uid": "1"}]}, False),
        ({"labels": {}}, {"labels": None, "resourceVersion": "2"}, False),
        ({}, {"labels": {"a": "b"}}, True),
        ({}, {"annotations": {"a": ""}}, True),
    ],
)
def test_a_write_of_metadata_for_the_garbage_collector_is_not_checked(
    before: dict[str, Any], after: dict[str, Any], refused: bool
) -> None:
    much = [rule("*", "*", "*")]
    old, new = (
        json.dumps({"metadata": {"name": "r", **each}, "rules": much}).encode()
        for each in (before, after)
    )
    attributes = write("roles", "n", "r", "update")
    if not refused:
        confirm_no_escalation(authorizer(), JANE, attributes, new, old)
        return
    with pytest.raises(Refused):
        confirm_no_escalation(authorizer(), JANE, attributes, new, old)


def test_a_binding_to_a_role_whose_rules_the_writer_holds_is_allowed() -> None:
    confirm_no_escalation(
        authorizer(), JANE, write("rolebindings", "n"), bound("b", "ClusterRole", "reader")
    )


def test_a_binding_to_further_rights_is_refused() -> None:
    objects = authorizer(role("more", rule("delete", "pods"), namespace="n"))
    with pytest.raises(Refused) as refused:
        confirm_no_escalation(objects, JANE, write("rolebindings", "n"), bound("x", "Role", "more"))
    assert refused.value.status.message.startswith(
        'rolebindings.rbac.authorization.k8s.io "x" is forb'
    )
    assert refused.value.status.message.endswith(
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    )


def test_the_verb_bind_allows_granting_a_role_within_its_scope() -> None:
    more = role("more", rule("delete", "pods"))
    may = role("may", rule("bind", "clusterroles", RBAC, "more"))
    objects = authorizer(more, may, binding("c", "may", "User|jane", namespace="n"))
    new = bound("x", "ClusterRole", "more")
    confirm_no_escalation(objects, JANE, write("rolebindings", "n"), new)
    for elsewhere in (write("rolebindings", "m"), write("clusterrolebindings")):
        with pytest.raises(Refused):
            confirm_no_escalation(objects, JANE, elsewhere, new)


def test_a_binding_to_a_role_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(Refused) as refused:
        confirm_no_escalation(
            authorizer(), JANE, write("rolebindings", "n"), bound("x", "Role", "gone")
        )
    assert refused.value.status.code == 404
    # The API server names the resource of the request.
    assert refused.value.status.message == 'rolebindings.rbac.authorization.k8s.io "gone" not found'


def test_a_cluster_role_binding_to_a_role_is_answered_with_404() -> None:
    objects = authorizer(role("more", rule("get", "pods"), namespace="n"))
    with pytest.raises(Refused) as refused:
        confirm_no_escalation(
            objects, JANE, write("clusterrolebindings"), bound("x", "Role", "more")
        )
    assert refused.value.status.code == 404


def test_rules_with_more_combinations_than_can_be_compared_are_refused() -> None:
    many = " ".join(f"x{number}" for number in range(1000))
    new = body("r", rule(many, f"pods {many}", many))
    with pytest.raises(Refused) as refused:
        confirm_no_escalation(authorizer(), JANE, write("roles", "n"), new)
    assert refused.value.status.code == 400


def test_rules_that_take_too_many_comparisons_are_refused() -> None:
    held = [rule("get", "pods", names=f"x{number}") for number in range(600)]
    objects = authorizer(role("own", *held), binding("c", "own", "User|jane"))
    new = body("r", *[rule("delete", "pods", names=f"y{number}") for number in range(600)])
    with pytest.raises(Refused) as refused:
        confirm_no_escalation(objects, JANE, write("roles", "n"), new)
    assert refused.value.status.code == 400


def test_an_object_that_cannot_be_read_is_refused() -> None:
    for new in (b"[", b"[]", b'{"rules":[{"verbs":"get"}]}', b'{"rules":[{"verbs":[null]}]}'):
        with pytest.raises(Refused) as refused:
            confirm_no_escalation(authorizer(), JANE, write("roles", "n"), new)
        assert refused.value.status.code == 400


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (write("roles"), True),
        (write("clusterrolebindings", verb="patch"), True),
        (write("roles", verb="delete"), False),
        (write("roles", verb="get"), False),
        (Attributes("create", "", "v1", "roles"), False),
    ],
)
def test_writes_of_roles_and_bindings_are_recognized(
    attributes: Attributes, expected: bool
) -> None:
    assert is_rbac_write(attributes) is expected


WORDS = st.sampled_from(["*", "a", "b", "c", "a/s", "*/s"])
SOME = st.lists(WORDS, min_size=1, max_size=3).map(tuple)
NAMES = st.one_of(st.just(()), st.lists(st.sampled_from("xyz"), max_size=2).map(tuple))
URLS = st.lists(st.sampled_from(["*", "/a", "/a/*", "/b", "/b/c"]), min_size=1, max_size=2).map(
    tuple
)
RULES = st.one_of(
    st.builds(AccessRule, SOME, SOME, SOME, NAMES),
    st.builds(lambda verbs, urls: AccessRule(verbs=verbs, non_resource_urls=urls), SOME, URLS),
)
QUESTIONS = st.builds(
    lambda verb, group, resource, sub, name: Attributes(verb, group, "", resource, sub, "", name),
    *[st.sampled_from("abc")] * 3,
    st.sampled_from(["", "s"]),
    st.sampled_from(["", "x", "y", "z"]),
)


def allows(rule: AccessRule, question: Attributes) -> bool:
    named = not rule.resource_names or question.name in rule.resource_names
    return rule_matches(rule, question) and named


@settings(max_examples=200)
@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=3), QUESTIONS)
def test_covered_rules_allow_nothing_beyond_the_rules_of_the_owner(
    owner: list[AccessRule], wanted: list[AccessRule], question: Attributes
) -> None:
    if missing_rights(owner, wanted):
        return
    if any(allows(each, question) for each in wanted):
        assert any(allows(each, question) for each in owner)


@given(st.lists(RULES, max_size=3))
def test_rules_cover_themselves_and_no_rules_cover_nothing(rules: list[AccessRule]) -> None:
    assert missing_rights(rules, rules) == []
    assert bool(missing_rights([], rules)) is bool(rules)
    assert missing_text(missing_rights(rules, [])) == ""


@pytest.mark.parametrize(
    ("media_type", "patch", "expected"),
    [
        (
            "application/json-patch+json",
            [{"op": "remove", "path": "/rules/0"}],
            [
                {"op": "remove", "path": "/rules/0"},
                {"op": "add", "path": "/metadata/resourceVersion", "value": "7"},
            ],
        ),
        (
            "application/merge-patch+json",
            {"rules": []},
            {"rules": [], "metadata": {"resourceVersion": "7"}},
        ),
        (
            "application/json",
            {"metadata": {"name": "r"}, "rules": []},
            {"metadata": {"name": "r", "resourceVersion": "7"}, "rules": []},
        ),
        (
            "application/strategic-merge-patch+json",
            {"metadata": {"labels": {"a": None}, "resourceVersion": "1"}},
            {"metadata": {"labels": {"a": None}, "resourceVersion": "7"}},
        ),
    ],
)
def test_a_patch_has_the_checked_resource_version_as_precondition(
    media_type: str, patch: Any, expected: Any
) -> None:
    assert (
        json.loads(
            with_preconditions(media_type, json.dumps(patch).encode(), {"resourceVersion": "7"})
        )
        == expected
    )


@pytest.mark.parametrize("metadata", [None, [], {"$patch": "delete"}, {"$retainKeys": ["name"]}])
def test_a_patch_that_replaces_metadata_as_a_whole_is_refused(metadata: Any) -> None:
    with pytest.raises(Refused):
        with_preconditions(
            "application/merge-patch+json",
            json.dumps({"metadata": metadata}).encode(),
            {"resourceVersion": "7"},
        )


@pytest.mark.parametrize(
    ("sent", "expected"), [({}, "1"), ({"uid": None}, "1"), ({"uid": ""}, "1"), ({"uid": "2"}, "2")]
)
def test_an_apply_has_the_checked_uid_as_precondition_unless_it_names_a_uid(
    sent: Any, expected: str
) -> None:
    body = json.dumps({"metadata": sent}).encode()
    pinned = with_preconditions("application/apply-patch+yaml", body, {"uid": "1"})
    assert json.loads(pinned) == {"metadata": {"uid": expected}}
