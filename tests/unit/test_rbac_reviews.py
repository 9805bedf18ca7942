"""The kinds by which clients ask who they are and what somebody may do."""

import json
from typing import Any

import pytest
from lnamespace.rbac.attributes import User
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.reviews import ReviewAnswers
from lnamespace.rbac.store import RoleStore
from lnamespace.rbac.token_reviews import token_review_down
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.rbac import JANE, binding, role, rule

NOW = "2026-11-23T06:17:25Z"
STORE = RoleStore.from_objects(
    [role("r", rule("get", "pods"), {"verbs": ["get"], "nonResourceURLs": ["/x"]})],
    [binding("b", "r", "Group|team"), binding("c", "gone", "User|jane", namespace="n")],
)
PODS = {"verb": "get", "resource": "pods"}


def answer(plural: str, body: Any, namespace: str = "", group: str = "authorization") -> Any:
    answers = ReviewAnswers(Authorizer(STORE), JANE, NOW)
    found = answers.answer(
        GroupResource(f"{group}.k8s.io", plural), namespace, json.dumps(body).encode()
    )
    return None if found is None else json.loads(found)


def refusal(plural: str, body: Any, namespace: str = "") -> Refused:
    with pytest.raises(Refused) as refused:
        answer(plural, body, namespace)
    return refused.value


def test_a_self_subject_access_review_is_about_the_caller() -> None:
    review = answer(
        "selfsubjectaccessreviews", {"spec": {"resourceAttributes": PODS, "user": "root"}}
    )
    assert review == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {"resourceAttributes": PODS},
        "status": {
            "allowed": True,
            "reason": 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "team"',
        },
    }


def test_a_subject_access_review_is_about_the_given_user() -> None:
    spec = {
        "nonResourceAttributes": {"path": "/x", "verb": "get"},
        "user": "joe",
        "groups": ["team"],
    }
    review = answer("subjectaccessreviews", {"metadata": {"creationTimestamp": None}, "spec": spec})
    assert review["spec"] == spec
    assert review["status"]["allowed"] is True
    review = answer("subjectaccessreviews", {"spec": {**spec, "groups": None, "uid": None}})
    assert review["status"] == {"allowed": False}


def test_a_local_subject_access_review_is_limited_to_its_namespace() -> None:
    spec = {"resourceAttributes": {**PODS, "namespace": "n"}, "user": "joe", "groups": ["team"]}
    review = answer("localsubjectaccessreviews", {"spec": spec}, "n")
    assert review["metadata"] == {"namespace": "n"}
    assert review["status"]["allowed"] is True
    other = refusal(
        "localsubjectaccessreviews", {"metadata": {"namespace": "m"}, "spec": spec}, "n"
    )
    assert other.status.code == 400
    wrong = refusal("localsubjectaccessreviews", {"spec": spec}, "m")
    assert "must match metadata.namespace" in wrong.status.message


@pytest.mark.parametrize(
    ("plural", "body", "message"),
    [
        (
            "subjectaccessreviews",
            {"spec": {"user": "jane"}},
            (
                '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null:'
                " exactly one of nonResourceAttributes or resourceAttributes must be specified"
            ),
        ),
        (
            "subjectaccessreviews",
            {"metadata": {"name": "x"}, "spec": {"resourceAttributes": {"verb": "get"}}},
            (
                '.authorization.k8s.io "" is invalid: [spec.user: Invalid value: "": at least one'
                ' of user or group must be specified, metadata: Invalid value: {"name":"x"}:'
                " must be empty]"
            ),
        ),
        (
            "localsubjectaccessreviews",
            {"spec": {"user": "jane", "nonResourceAttributes": {"verb": "get"}}},
            (
                '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value:'
                ' {"Path":"","Verb":"get"}: disallowed on this kind of request'
            ),
        ),
        (
            "selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": {}, "nonResourceAttributes": {"path": "/x"}}},
            (
                '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value:'
                ' {"Path":"/x","Verb":""}: cannot be specified in combination with'
                " resourceAttributes"
            ),
        ),
        ("selfsubjectrulesreviews", {"spec": {}}, "no namespace on request"),
    ],
)
def test_an_invalid_review_is_refused_in_the_words_of_kubernetes(
    plural: str, body: dict[str, Any], message: str
) -> None:
    assert (
        refusal(plural, body, "n" if plural.startswith("local") else "").status.message == message
    )


def test_a_malformed_review_is_a_bad_request() -> None:
    bodies: tuple[Any, ...] = (
        [],
        {"kind": "Pod"},
        {"apiVersion": "v1"},
        {"spec": {"resourceAttributes": {"verb": []}}},
    )
    for body in bodies:
        assert refusal("selfsubjectaccessreviews", body).status.code == 400


@pytest.mark.parametrize(
    ("selectors", "error"),
    [
        ({"fieldSelector": {"rawSelector": "a=b,c!=d"}}, None),
        ({"fieldSelector": {"rawSelector": "a=b=c,,"}}, "fieldSelector ignored"),
        ({"fieldSelector": {"rawSelector": "a"}}, "fieldSelector ignored"),
        (
            {"labelSelector": {"rawSelector": "a=b, !c, d in (e, f), g, h notin (i), j!=k, l>3"}},
            None,
        ),
        ({"labelSelector": {"rawSelector": "a in (b"}}, "labelSelector ignored"),
        ({"labelSelector": {"rawSelector": "a b"}}, "labelSelector ignored"),
        ({"labelSelector": {"rawSelector": "a>b"}}, "labelSelector ignored"),
        ({"labelSelector": {"rawSelector": "a=-b"}}, "labelSelector ignored"),
        ({"labelSelector": {"rawSelector": "a,"}}, "labelSelector ignored"),
        (
            {
                "labelSelector": {
                    "requirements": [
                        {"key": "a", "operator": "Exists"},
                        {"key": "a", "operator": "Like", "values": ["b"]},
                    ]
                }
            },
            "labelSelector partially ignored",
        ),
        (
            {
                "fieldSelector": {
                    "requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]
                }
            },
            "fieldSelector ignored",
        ),
    ],
)
def test_selectors_do_not_change_a_review_and_invalid_ones_are_reported(
    selectors: dict[str, Any], error: str | None
) -> None:
    review = answer(
        "selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**PODS, **selectors}}}
    )
    assert review["spec"]["resourceAttributes"] == {**PODS, **selectors}
    assert review["status"]["allowed"] is True
    told = error and f"spec.resourceAttributes.{error} due to parse error"
    assert review["status"].get("evaluationError") == told


@pytest.mark.parametrize("raw", ["a{}x", "a={}!", "a in {}x", "!{}!", "a in ({}"])
def test_a_label_selector_of_many_blanks_is_parsed_in_linear_time(raw: str) -> None:
    # Two repeats of blanks side by side took a minute for 32 KB of them, and held all workers.
    selector = {"labelSelector": {"rawSelector": raw.format(" " * 60_000)}}
    review = answer(
        "selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**PODS, **selector}}}
    )
    assert "labelSelector ignored" in review["status"]["evaluationError"]


@pytest.mark.parametrize("kind", ["fieldSelector", "labelSelector"])
def test_a_raw_selector_is_limited_in_length(kind: str) -> None:
    attributes = {**PODS, kind: {"rawSelector": "a" * 65_537}}
    refused = refusal("selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}})
    assert refused.status.code == 422
    assert f"{kind}.rawSelector: Too long: may not be more than 65536 bytes" in (
        refused.status.message
    )


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        ({"fieldSelector": {}}, "requirements or rawSelector is required"),
        (
            {
                "labelSelector": {
                    "rawSelector": "a",
                    "requirements": [{"key": "b", "operator": "Exists"}],
                }
            },
            "may not specified at the same time as requirements",
        ),
        (
            {"labelSelector": {"requirements": [{"key": "a b", "operator": "In"}]}},
            "name part must consist",
        ),
        (
            {"fieldSelector": {"requirements": [{"operator": "In", "values": ["x"]}]}},
            "must be specified",
        ),
    ],
)
def test_contradictory_selectors_are_invalid(selectors: dict[str, Any], message: str) -> None:
    refused = refusal(
        "selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**PODS, **selectors}}}
    )
    assert refused.status.code == 422
    assert message in refused.status.message


def test_a_self_subject_rules_review_lists_the_rules_of_the_caller() -> None:
    review = answer("selfsubjectrulesreviews", {"spec": {"namespace": "n"}})
    assert review["spec"] == {}
    assert review["status"] == {
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
        "incomplete": False,
        "evaluationError": 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    }


def test_a_self_subject_review_returns_the_identity_of_the_caller() -> None:
    review = answer("selfsubjectreviews", {}, group="authentication")
    assert review == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": NOW},
        "status": {"userInfo": {"username": "jane", "groups": ["team", "system:authenticated"]}},
    }


def test_other_resources_are_not_handled_as_reviews() -> None:
    assert answer("pods", {}) is None
    assert answer("tokenreviews", {}, group="authentication") is None


def reviewed(**status: Any) -> Any:
    upstream = {"metadata": {"managedFields": [{}]}, "spec": {"token": "t"}, "status": status}
    return json.loads(
        token_review_down(json.dumps(upstream).encode(), TenantView("acme"), {"acme-prod"})
    )


NOBODY = {"user": {}, "error": "invalid bearer token"}


def test_a_revoked_token_is_reported_as_unauthenticated() -> None:
    user = {
        "username": "system:serviceaccount:acme-prod:sa",
        "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]},
    }
    answer = json.dumps({"status": {"authenticated": True, "user": user}}).encode()
    for revoked, found in (((), True), (("JTI=2",), True), (("JTI=1", "JTI=2"), None)):
        down = json.loads(token_review_down(answer, TenantView("acme"), {"acme-prod"}, revoked))
        assert down["status"].get("authenticated") is found


def test_a_token_of_the_tenant_is_reported_with_translated_names() -> None:
    key = "authentication.kubernetes.io/"
    review = reviewed(
        authenticated=True,
        audiences=["x"],
        user={
            "username": "system:serviceaccount:acme-prod:sa",
            "uid": "1",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:acme-prod", "lns:secret"],
            "extra": {f"{key}pod-name": ["p"], f"{key}node-name": ["node-of-the-platform"]},
        },
    )
    assert review == {
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {},
        "spec": {"token": "t"},
        "status": {
            "authenticated": True,
            "audiences": ["x"],
            "user": {
                "username": "system:serviceaccount:prod:sa",
                "uid": "1",
                "groups": [
                    "system:serviceaccounts",
                    "system:serviceaccounts:prod",
                    "system:authenticated",
                ],
                "extra": {f"{key}pod-name": ["p"]},
            },
        },
    }


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"authenticated": False, "error": "token of acme2 has expired", "user": {}},
        {"authenticated": True, "user": {"username": "system:serviceaccount:other-prod:sa"}},
        {"authenticated": True, "user": {"username": "system:serviceaccount:kube-system:sa"}},
        {"authenticated": True, "user": {"username": "system:serviceaccount:acme-platform:sa"}},
        {"authenticated": True, "user": {"username": "jane"}},
        {"authenticated": True, "user": {"username": "lcluster:acme:jane"}},
        {"authenticated": "yes", "user": {"username": "system:serviceaccount:acme-prod:sa"}},
    ],
)
def test_a_foreign_token_is_reported_as_unauthenticated(status: dict[str, Any]) -> None:
    assert reviewed(**status)["status"] == NOBODY


def test_a_subject_access_review_adds_no_implicit_groups() -> None:
    assert User("jane").groups == ()
    review = answer("subjectaccessreviews", {"spec": {"resourceAttributes": PODS, "user": "jane"}})
    assert review["status"]["allowed"] is False
