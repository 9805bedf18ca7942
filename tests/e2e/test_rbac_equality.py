"""RBAC inside a tenant is evaluated as a real API server does: the same questions to both."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from lnamespace.rbac.aggregation import ClusterRoleSet
from lnamespace.rbac.attributes import Attributes, User, access_denied, service_account
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.escalation import confirm_no_escalation
from lnamespace.rbac.impersonation import impersonated_user
from lnamespace.rbac.objects import AccessRule
from lnamespace.rbac.preconditions import with_preconditions
from lnamespace.rbac.secondary import confirm_connection, confirm_existing
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.protocol.status import Refused

from tests.e2e.support.api import (
    APPLY,
    JSON_PATCH,
    MERGE,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.rbac_world import (
    GROUP,
    World,
    encoded,
    reviews,
    stored,
    stored_objects,
)
from tests.e2e.support.versions import is_since
from tests.e2e.support.waiting import eventually

SSR = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
RULES_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
WHO_AM_I = Attributes("create", "authentication.k8s.io", "v1", "selfsubjectreviews")


@pytest.fixture
def bare_world(admin: Api) -> Iterator[World]:
    """Return a world with no objects but what a test adds: generated ones may allow anything."""
    made = World(f"rbac-{uuid4().hex[:8]}", Random(uuid4().int))
    try:
        made.create(admin)
        yield made
    finally:
        made.remove(admin)


@pytest.fixture
def world(admin: Api, bare_world: World) -> World:
    """Return generated objects that are on the API server."""
    bare_world.generate()
    for path, manifest in bare_world.objects:
        admin.create(path, manifest)
    return bare_world


def parts(reason: str) -> list[str]:
    """Return the errors of a reason in an order of our own: the API server's is by chance."""
    return sorted(re.findall(r"\S+ \"[^\"]*\" not found", reason)) or [reason]


class Reasons:
    """All reasons for which something is allowed: which one the API server tells is by chance."""

    def __init__(self, admin: Api, name: str) -> None:
        roles, bindings = stored_objects(admin)
        own = [each for each in bindings if each.name.startswith(name) or not each.namespace]
        self._alone = [Authorizer(RoleStore.from_objects(roles, [each])) for each in own]

    def of(self, user: User, asked: Attributes) -> set[str]:
        """One authorizer for each binding says what that binding alone allows."""
        answers = (each.allows(user, asked) for each in self._alone)
        return {answer.reason for answer in answers if answer.allowed}


def differences(admin: Api, questions: list[tuple[User, Attributes]], name: str) -> list[Any]:
    """Return the questions that both answer differently, with both answers."""
    ours = Authorizer(stored(admin))
    reasons = Reasons(admin, name)
    found: list[Any] = []
    for (user, asked), theirs in zip(questions, reviews(admin, questions), strict=True):
        own = ours.allows(user, asked)
        reason = theirs.get("reason", "")
        if own.allowed:
            same = theirs["allowed"] and {own.reason, reason} <= reasons.of(user, asked)
        else:
            same = not theirs["allowed"] and parts(own.reason) == parts(reason)
        if not same:
            found.append((user, asked, own, theirs))
    return found


def confirm_equal(admin: Api, world: World, count: int) -> None:
    """Show that both answer all questions equally, once the API server's caches are there."""
    questions = list(world.questions(count))
    left: list[Any] = [(user, asked, None, None) for user, asked in questions]

    def agreed() -> bool:
        nonlocal left
        left = differences(admin, [(user, asked) for user, asked, *_ in left], world.name)
        assert not left, left[0]
        return True

    eventually(aggregated(admin, world), tick=0.1)
    eventually(agreed, tick=0.5)
    ours = Authorizer(stored(admin))
    answers = {ours.allows(*question).allowed for question in questions}
    assert answers == {True, False}


def aggregated(admin: Api, world: World) -> Any:
    """Return the condition that the controller's ClusterRoles are what we compute."""

    def same() -> bool:
        roles, _ = stored_objects(admin)
        own = {role.name: role for role in roles if not role.namespace}
        for name, role in own.items():
            if name.startswith(world.name):
                assert ClusterRoleSet(own).rules_of(name) == role.rules, name
        return True

    return same


def test_access_reviews_match_the_api_server(admin: Api, world: World) -> None:
    confirm_equal(admin, world, 400)


@pytest.mark.thorough
@pytest.mark.timeout(7200, func_only=True)
def test_a_hundred_thousand_access_reviews_match_the_api_server(admin: Api) -> None:
    for _ in range(25):
        made = World(f"rbac-{uuid4().hex[:8]}", Random(uuid4().int))
        made.generate()
        try:
            made.create(admin)
            confirm_equal(admin, made, 4000)
        finally:
            made.remove(admin)


def rules_of_review(status: Object) -> Counter[AccessRule]:
    keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    rules = [*status["resourceRules"], *status["nonResourceRules"]]
    return Counter(AccessRule(*(tuple(each.get(key, ())) for key in keys)) for each in rules)


def test_self_subject_rules_reviews_match_the_api_server(admin: Api, world: World) -> None:
    eventually(aggregated(admin, world))

    def same() -> bool:
        ours = Authorizer(stored(admin))
        for user in world.users:
            # Who is impersonated is logged in, as everybody is who asks for their rules.
            logged_in = tuple(dict.fromkeys((*user.groups, "system:authenticated")))
            caller = User(user.name, groups=logged_in)
            for namespace in world.namespaces:
                body = {"spec": {"namespace": namespace}}
                status = admin.acting(user.name, *user.groups).create(RULES_REVIEW, body)["status"]
                held = ours.rules_for(caller, namespace)
                assert rules_of_review(status) == Counter(held.rules)
                assert bool(held.missing) is bool(status.get("evaluationError"))
        return True

    eventually(same)


def writes(world: World) -> Iterator[tuple[Attributes, Object]]:
    """Think of Roles and bindings that somebody writes."""
    other = World(f"{world.name}-new", world.random)
    other.generate()
    for path, manifest in other.objects:
        kind = path.rpartition("/")[2]
        namespace = manifest["metadata"].get("namespace", "")
        if namespace:
            namespace = manifest["metadata"]["namespace"] = world.random.choice(world.namespaces)
        if "roleRef" in manifest:
            manifest["roleRef"]["name"] = manifest["roleRef"]["name"].replace("-new-", "-")
        yield Attributes("create", GROUP, "v1", kind, "", namespace), manifest


def every_answer(world: World) -> Iterator[tuple[Attributes, Object]]:
    """Write what is accepted, what gives too much, and what names no role: chance may leave out."""
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    nowhere = {"apiGroup": GROUP, "kind": "ClusterRole", "name": f"{world.name}-nowhere"}
    for kind, written in (
        ("clusterroles", {"rules": []}),
        ("clusterroles", {"rules": [everything]}),
        ("clusterrolebindings", {"roleRef": nowhere, "subjects": []}),
    ):
        manifest: Object = {"metadata": {"name": f"{world.name}-certain"}} | written
        yield Attributes("create", GROUP, "v1", kind, "", ""), manifest


def test_escalation_checks_match_the_api_server(admin: Api, world: World) -> None:
    writer = {
        "metadata": {"name": f"{world.name}-writer"},
        "rules": [
            {
                "verbs": ["create"],
                "apiGroups": [GROUP],
                "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
            }
        ],
    }
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": user.name} for user in world.users]
    to_writers = {
        "metadata": {"name": f"{world.name}-writer"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": f"{world.name}-writer"},
        "subjects": subjects,
    }
    for kind, manifest in (("clusterroles", writer), ("clusterrolebindings", to_writers)):
        world.objects.append((rbac_path(kind), manifest))
        admin.create(rbac_path(kind), manifest)
    tries = [(world.random.choice(world.users), *write) for write in writes(world)]
    tries += [(user, *write) for user in world.users for write in every_answer(world)]
    eventually(aggregated(admin, world))

    def same() -> bool:
        ours = Authorizer(stored(admin))
        codes = set()
        for user, attributes, manifest in tries:
            theirs = comparable(refusal_of_server(admin, user, attributes, manifest))
            own = comparable(our_refusal(ours, user, attributes, manifest))
            codes.add(own and own[0])
            if own is None or theirs is None or "resolution errors" not in own[1]:
                assert own == theirs, (user, attributes, manifest)
            else:  # these are in an order by chance
                assert own[0] == theirs[0]
                assert sorted(own[1]) == sorted(theirs[1])
        assert codes == {None, 403, 404}
        return True

    eventually(same)


def comparable(refused: tuple[int, str] | None) -> tuple[int, str] | None:
    """Return a refusal without the resource of a role that is missing, before Kubernetes 1.32.

    Since then a role is looked up in the context of the request, and one that is missing is called
    a resource of that: `rolebindings.rbac.authorization.k8s.io "x" not found`, as we say it.
    Before, it was `roles` or `clusterroles`.
    """
    if refused is None or is_since("1.32"):
        return refused
    code, message = refused
    missing = rf'\w+\.{re.escape(GROUP)} (?="[^"]*" not found)'
    return code, re.sub(missing, "", message)


def refusal_of_server(
    admin: Api, user: User, attributes: Attributes, manifest: Object
) -> tuple[int, str] | None:
    path = rbac_path(attributes.resource, namespace=attributes.namespace)
    try:
        admin.acting(user.name, *user.groups).create(path, manifest, dryRun="All")
    except ApiError as error:
        return error.status, error.message
    return None


def our_refusal(
    ours: Authorizer, user: User, attributes: Attributes, manifest: Object
) -> tuple[int, str] | None:
    groups = tuple(dict.fromkeys((*user.groups, "system:authenticated")))
    try:
        confirm_no_escalation(ours, User(user.name, groups=groups), attributes, encoded(manifest))
    except Refused as refused:
        return refused.status.code, refused.status.message
    return None


def impersonator(admin: Api, world: World, folder: Path) -> tuple[User, Api]:
    """Return a ServiceAccount that may impersonate some, and its requests."""
    namespace = world.namespaces[0]
    everybody = {"verbs": ["impersonate"], "apiGroups": [""]}
    extras = {"verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"]}
    rules = [
        {**everybody, "resources": ["users"], "resourceNames": ["joe", "system:anonymous"]},
        {**everybody, "resources": ["groups"], "resourceNames": ["devs", "system:unauthenticated"]},
        {**everybody, "resources": ["serviceaccounts"], "resourceNames": ["robot"]},
        {**extras, "resources": ["uids"], "resourceNames": ["7"]},
        {**extras, "resources": ["userextras/scopes"], "resourceNames": ["x"]},
    ]
    name = f"{world.name}-impersonator"
    role = {"metadata": {"name": name}, "rules": rules}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "impersonator", "namespace": namespace}],
    }
    for kind, manifest in (("clusterroles", role), ("clusterrolebindings", binding)):
        world.objects.append((rbac_path(kind), manifest))
        admin.create(rbac_path(kind), manifest)
    accounts = ns_path(namespace, "serviceaccounts")
    admin.create(accounts, {"metadata": {"name": "impersonator"}})
    token = admin.create(f"{accounts}/impersonator/token", {"spec": {}})["status"]["token"]
    account = service_account(namespace, "impersonator")
    return account, admin.with_token(token, folder / "kubeconfig")


WANTED = [
    User("joe"),
    User("ann"),
    User("joe", groups=("devs",)),
    User("joe", groups=("devs", "ops")),
    User("joe", groups=("system:masters",)),
    User("joe", groups=("system:unauthenticated",)),
    User("joe", "7", ("devs",), {"scopes": ("x",)}),
    User("joe", "8"),
    User("joe", extra={"scopes": ("x", "y")}),
    User("joe", extra={"other": ("x",)}),
    User("system:anonymous"),
    User("system:serviceaccount:default:robot"),
    User("system:serviceaccount:default:robot", groups=("devs",)),
    User("system:serviceaccount:default:other"),
    User("system:serviceaccount:default:robot:x"),
    User("system:node:a"),
]


def test_impersonation_checks_match_the_api_server(
    admin: Api, world: World, tmp_path: Path
) -> None:
    requestor, robot = impersonator(admin, world, tmp_path)

    def same() -> bool:
        ours = Authorizer(stored(admin))
        for wanted in WANTED:
            assert as_answered_by_us(ours, requestor, wanted) == as_answered(robot, wanted), wanted
        return True

    eventually(same)


def as_answered(robot: Api, wanted: User) -> Any:
    headers = [("Impersonate-Group", group) for group in wanted.groups]
    headers += [("Impersonate-Uid", wanted.uid)] if wanted.uid else []
    headers += [
        (f"Impersonate-Extra-{key}", value)
        for key, values in wanted.extra.items()
        for value in values
    ]
    try:
        answer = robot.with_headers(("Impersonate-User", wanted.name), *headers).create(SSR, {})
    except ApiError as error:
        return error.status, who_is_refused(error.message)
    info = answer["status"]["userInfo"]
    return info["username"], info.get("uid", ""), info["groups"], info.get("extra", {})


def as_answered_by_us(ours: Authorizer, requestor: User, wanted: User) -> Any:
    try:
        user = impersonated_user(ours, requestor, wanted, WHO_AM_I)
        decision = ours.allows(user, WHO_AM_I)
        if not decision.allowed:
            raise access_denied(user, WHO_AM_I, decision.reason)
    except Refused as refused:
        return refused.status.code, who_is_refused(refused.status.message)
    extra = {key: list(values) for key, values in user.extra.items()}
    return user.name, user.uid, list(user.groups), extra


def grant(admin: Api, world: World, *rules: Object) -> User:
    """Return a user who has these rules everywhere."""
    name = f"{world.name}-granted"
    role = {"metadata": {"name": name}, "rules": list(rules)}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": name}],
    }
    for kind, manifest in (("clusterroles", role), ("clusterrolebindings", binding)):
        world.objects.append((rbac_path(kind), manifest))
        admin.create(rbac_path(kind), manifest)
    return User(name, groups=("system:authenticated",))


def told(request: Callable[[], object]) -> tuple[int, str]:
    """Return code and message of the refusal of a request, by either."""
    try:
        request()
    except ApiError as error:
        return error.status, error.message
    except Refused as refused:
        return refused.status.code, refused.status.message
    return 0, ""


def told_without_reason(request: Callable[[], object]) -> tuple[int, str]:
    """Return a refusal of ours as the API server told one of a write that creates, before 1.32.

    It told why the authorizer allows nothing, and RBAC has nothing to tell; since then it begins
    with who asked for what, as in any other refusal.
    """
    code, message = told(request)
    before, forbidden, _ = message.partition(" is forbidden: ")
    return code, before + forbidden


def test_additional_authorization_checks_match_the_api_server(
    admin: Api, bare_world: World
) -> None:
    namespace = bare_world.namespaces[0]
    user = grant(
        admin,
        bare_world,
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods/exec"]},
        {"verbs": ["patch", "update"], "apiGroups": [""], "resources": ["configmaps", "services"]},
    )
    person = admin.acting(user.name)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
    service = {"metadata": {"name": "new"}, "spec": {"ports": [{"port": 80}]}}
    at = ns_path(namespace, "configmaps", "new")
    asked = Attributes("patch", "", "v1", "configmaps", "", namespace, "new")
    replaced = Attributes("update", "", "v1", "services", "", namespace, "new")
    connected = Attributes("get", "", "v1", "pods", "exec", namespace, "new")

    def same() -> bool:
        ours = Authorizer(stored(admin))
        creating = told if is_since("1.32") else told_without_reason
        pairs = [
            (
                told(lambda: person.patch(at, applied, APPLY, fieldManager="test")),
                creating(lambda: confirm_existing(ours, user, asked, exists=False)),
            ),
            (
                told(lambda: person.replace(ns_path(namespace, "services", "new"), service)),
                creating(lambda: confirm_existing(ours, user, replaced, exists=False)),
            ),
        ]
        # Before, who might get might connect (AuthorizePodWebsocketUpgradeCreatePermission).
        if is_since("1.35"):
            opened = told(lambda: person.get(ns_path(namespace, "pods", "new/exec")))
            pairs.append((opened, told(lambda: confirm_connection(ours, user, connected))))
        for theirs, own in pairs:
            assert theirs == own
            assert own[0] == 403
        return True

    eventually(same)


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (JSON_PATCH, [{"op": "replace", "path": "/rules", "value": []}]),
        (MERGE, {"rules": None}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"a": "b"}}}),
        (
            APPLY,
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "ClusterRole",
                "metadata": {"labels": {"a": "b"}},
            },
        ),
    ],
)
def test_a_write_with_a_resource_version_is_refused_for_another_version(
    admin: Api, bare_world: World, kind: str, patch: Any
) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    at = rbac_path("clusterroles", grant(admin, bare_world, rule).name)
    query = {"fieldManager": "test", "force": "true"} if kind == APPLY else {}
    judged = admin.patch(at, patch, kind, dryRun="All", **query)["metadata"]["resourceVersion"]
    assert judged == admin.get(at)["metadata"]["resourceVersion"]
    pinned = json.loads(
        with_preconditions(kind, json.dumps(patch).encode(), {"resourceVersion": judged})
    )
    admin.patch(at, {"metadata": {"annotations": {"changed": "since"}}})
    assert "has been modified" in refusal(admin.patch, at, pinned, kind, status=409, **query)


def test_a_server_side_apply_with_a_uid_does_not_create_an_object(
    admin: Api, bare_world: World
) -> None:
    at = ns_path(bare_world.namespaces[0], "configmaps", "new")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
    pinned = json.loads(
        with_preconditions(APPLY, json.dumps(applied).encode(), {"uid": str(uuid4())})
    )
    words = refusal(admin.patch, at, pinned, APPLY, status=409, fieldManager="test")
    assert "no existing object was found" in words


def test_the_api_server_merges_duplicate_json_members(admin: Api) -> None:
    everything = '{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}'
    meta = f'"metadata":{{"name":"rbac-{uuid4().hex[:8]}-twice"}}'
    body = f'{{{meta},"rules":[{everything}],"rules":[{{"verbs":["get"]}}]}}'.encode()
    path = f"{rbac_path('clusterroles')}?dryRun=All"
    with pytest.raises(ApiError, match="422"):  # no rule without resources
        admin.send("POST", path, json.dumps(json.loads(body)).encode())
    assert json.loads(admin.send("POST", path, body))["rules"][0]["resources"] == ["*"]


def who_is_refused(message: str) -> str:
    """Return the user of a refusal, in whatever way of impersonation."""
    return message.partition(" cannot ")[0].partition(" is forbidden: ")[2]
