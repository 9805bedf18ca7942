"""The objects of an LNamespace, whole: the files in `golden/` are what reviewers read."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import chain
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.access import impersonator, lnamespace
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.entries import active_entries
from lnamespace.access.impersonator import ImpersonatorKey, self_impersonator
from lnamespace.access.lnamespace import NamespaceState, lnamespace_objects
from lnamespace.access.ownership import Ownership
from lnamespace.access.sudo import previous_conventions, sudo_subject
from lnamespace.kube.objects import MANAGED_BY, PolicyRule, RbacSubject
from lnamespace.kube.resources import NAMESPACE, RBAC, ROLE_BINDING
from lnamespace.kube.state import DesiredObject
from lnamespace.model.billing import Billing
from lnamespace.model.lnamespace import DeletionPolicy, LNamespace, Metadata, Spec
from lnamespace.model.names import Names
from lnamespace.model.rules import name_problem
from lnamespace.model.subject import Member, Subject, SubjectKind

from tests.unit.support import golden
from tests.unit.support.strategies import NOW, lnamespaces, tenants, uids

GROUP, ACCOUNT = SubjectKind.GROUP, SubjectKind.SERVICE_ACCOUNT
DEFAULT = Conventions()
OTHER = Conventions(Names("example.com", "k8s:{name}:sudo"), users_role="vetted-admin")
BY_ACCOUNT = Conventions(sudo=SudoLayout.SERVICE_ACCOUNT)
OTHER_BY_ACCOUNT = Conventions(OTHER.names, sudo=SudoLayout.SERVICE_ACCOUNT)
SILVER = Conventions(Names(class_name="silver"), counted=True)
UID = "11111111-1111-1111-1111-111111111111"

FULL = Spec(
    users=(
        Member("zoë@loblaw.digital"),
        Member("alice@loblaw.digital"),
        Member("https://accounts.example.com#110248495921238986420"),
        Member("alice@loblaw.digital", expires_at=NOW + timedelta(days=1)),  # twice
        Member("gone@loblaw.digital", expires_at=NOW),  # expired
        Member("data-science", GROUP),
        Member("quote\"'`${x} {{y}}: [z] # no comment"),
        Member("deployer", ACCOUNT, "ci"),
        Member("system:serviceaccount:ci:deployer"),  # the same
        Member("system:masters", GROUP),  # refused
        Member("*"),  # refused
    ),
    managers=(
        Member("first.last@loblaw.ca"),
        Member("platform", GROUP),
        Member("system:serviceaccount:team-a:bot"),
    ),
    sudoers=(
        Member("alice@loblaw.digital"),
        Member("soon@loblaw.digital", expires_at=NOW + timedelta(seconds=1)),
        Member("late@loblaw.digital", expires_at=NOW - timedelta(seconds=1)),  # expired
        Member("operators", GROUP),  # refused
        Member("deployer", ACCOUNT, "ci"),
    ),
    requester="alice@loblaw.digital",
    billing=Billing(
        cost_center="4711",
        owner="alice@loblaw.digital",
        team='Team Blue: "x" {{y}}',
        environment="production",
        labels={"argocd.argoproj.io/instance": "theirs"},
    ),
)


def named(spec: Spec, name: str = "team-a") -> LNamespace:
    return LNamespace(Metadata(name, UID), spec)


def objects(
    lns: LNamespace, conventions: Conventions = DEFAULT, whose: Ownership = Ownership.OURS
) -> tuple[DesiredObject, ...]:
    return lnamespace_objects(
        lns, active_entries(lns.spec, NOW), NamespaceState(whose), conventions
    )


def manifests(objects: Iterable[DesiredObject]) -> list[dict[str, Any]]:
    return [wanted.object.manifest() for wanted in objects]


@pytest.mark.parametrize(
    ("name", "lns", "conventions"),
    [
        ("full", named(FULL), DEFAULT),
        ("full-other-instance", named(FULL), OTHER),
        ("full-by-account", named(FULL), BY_ACCOUNT),
        ("empty-by-account-other-instance", named(Spec(), "a"), OTHER_BY_ACCOUNT),
        ("empty", named(Spec(), "a"), DEFAULT),
        ("retain", named(Spec(deletion_policy=DeletionPolicy.RETAIN)), DEFAULT),
        ("class-with-limit", named(Spec(requester="alice@loblaw.digital")), SILVER),
        ("odd-name", named(Spec(users=(Member("alice"),)), "self-impersonator"), DEFAULT),
    ],
)
def test_the_objects_of_a_tenant_match_the_golden_files(
    name: str, lns: LNamespace, conventions: Conventions
) -> None:
    golden.check(name, objects(lns, conventions))


ALICE = Subject(SubjectKind.USER, "alice@loblaw.digital")


def of_person(subject: Subject, conventions: Conventions = DEFAULT) -> tuple[DesiredObject, ...]:
    sponsors = {"team-b": "uid-b", "team-a": "uid-c", "team-c": "uid-a"}
    return self_impersonator(subject, sponsors, conventions)


@pytest.mark.parametrize(
    ("name", "subject"),
    [("person-user", ALICE), ("person-service-account", Subject(ACCOUNT, "deployer", "ci"))],
)
def test_the_objects_of_a_person_match_the_golden_files(name: str, subject: Subject) -> None:
    golden.check(name, of_person(subject))


def test_the_objects_of_people_differ_by_names_only() -> None:
    odd = Subject(SubjectKind.USER, "https://issuer#Zoë {{x}}: '\"")
    renamed = str(manifests(of_person(odd))).replace(repr(odd.name), repr(ALICE.name))
    digest = "ilfkrdlwy2tgn2n7s7mw2vhcs35ftrdrdjh4jv4pspig3pwjvjya"
    assert digest in renamed
    usual = manifests(of_person(ALICE))
    assert renamed.replace(digest, usual[0]["metadata"]["name"].rpartition(":")[2]) == str(usual)


def test_the_objects_of_instances_differ_by_names_only() -> None:
    made = str(manifests(of_person(ALICE, OTHER)))
    assert "tenancy.loblaw.digital" not in made
    renamed = made.replace("lnamespace.example.com", "lnamespace").replace(
        "tenancy.example.com", "tenancy.loblaw.digital"
    )
    assert renamed == str(manifests(of_person(ALICE)))


def test_a_person_whom_no_lnamespace_lists_has_no_objects() -> None:
    assert self_impersonator(Subject(SubjectKind.USER, "alice"), {}, DEFAULT) == ()


# What is made depends on whose the Namespace is


def made(whose: Ownership) -> list[tuple[str, str, str]]:
    return [(w.resource.kind, *w.key) for w in objects(named(FULL), whose=whose)]


EDITORS = [
    ("ClusterRole", "", "lnamespace:team-a:editor"),
    ("ClusterRoleBinding", "", "lnamespace:team-a:editor"),
]
SUDO = [
    ("ClusterRole", "", "lnamespace:team-a:sudoer-impersonator"),
    ("ClusterRoleBinding", "", "lnamespace:team-a:sudoer-impersonator"),
]
INSIDE = [
    ("RoleBinding", "team-a", "lnamespace-sudoers"),
    ("RoleBinding", "team-a", "lnamespace-users"),
]


@pytest.mark.parametrize("whose", [Ownership.OURS, Ownership.TERMINATING])
def test_all_objects_are_created_for_an_owned_namespace(whose: Ownership) -> None:
    assert made(whose) == [("Namespace", "", "team-a"), *EDITORS, *SUDO, *INSIDE]


def test_no_sudo_objects_are_created_before_the_namespace_exists() -> None:
    assert made(Ownership.ABSENT) == [("Namespace", "", "team-a"), *EDITORS]


@pytest.mark.parametrize("whose", [Ownership.FOREIGN, Ownership.PREDECESSOR])
def test_only_editor_objects_are_created_for_a_foreign_namespace(whose: Ownership) -> None:
    """The managers keep their rights to the LNamespace, so that they can delete it."""
    assert made(whose) == EDITORS


# What holds of all of them


def all_objects(lns: LNamespace, conventions: Conventions) -> list[DesiredObject]:
    people = active_entries(lns.spec, NOW).sudoers if conventions.sudo is SudoLayout.GROUP else ()
    own = (self_impersonator(one, {lns.name: lns.uid}, conventions) for one in people)
    return [*objects(lns, conventions), *chain.from_iterable(own)]


layouts = st.sampled_from([DEFAULT, OTHER, BY_ACCOUNT, OTHER_BY_ACCOUNT])


@given(lnamespaces(), layouts)
def test_every_rule_has_one_resource_and_names_its_objects(
    lns: LNamespace, conventions: Conventions
) -> None:
    for wanted in all_objects(lns, conventions):
        for rule in wanted.object.rules or ():
            assert len(rule.resources) == len(rule.api_groups) == 1
            assert rule.resource_names
            assert all(rule.resource_names)
            assert not {"*", ""} & {*rule.resources, *rule.resource_names, *rule.verbs}
            assert rule.non_resource_urls == ()


@given(lnamespaces(), layouts)
def test_a_person_may_impersonate_only_themselves(
    lns: LNamespace, conventions: Conventions
) -> None:
    people = active_entries(lns.spec, NOW).sudoers
    for one in people if conventions.sudo is SudoLayout.GROUP else ():
        role, binding = self_impersonator(one, {lns.name: lns.uid}, conventions)
        (rule,) = role.object.rules or ()
        assert rule.verbs == ("impersonate",)
        assert rule.resource_names == (one.name,)
        assert rule.resources != ("groups",)
        (subject,) = binding.object.subjects
        assert (subject.kind, subject.name) == (one.kind, one.name)
        assert subject.namespace == one.namespace == binding.key[0] == role.key[0]


@given(lnamespaces(), layouts)
def test_subjects_are_sorted_and_each_is_listed_once(
    lns: LNamespace, conventions: Conventions
) -> None:
    for wanted in all_objects(lns, conventions):
        subjects = [(s.kind, s.name, s.namespace) for s in wanted.object.subjects]
        assert len(set(subjects)) == len(subjects)
        sudo = sudo_subject(lns.name, conventions)
        people = [s for s in subjects if s != (sudo.kind, sudo.name, sudo.namespace)]
        assert people == sorted(people)


def test_a_sudoers_group_that_is_also_a_manager_is_listed_once() -> None:
    lns = named(Spec(managers=(Member("team-a-sudoers", GROUP),)))
    _, binding = lnamespace.editor_objects(lns, active_entries(lns.spec, NOW), DEFAULT)
    assert [subject.name for subject in binding.object.subjects] == ["team-a-sudoers"]


@given(lnamespaces(), layouts)
def test_subjects_have_the_defaults_that_the_server_would_fill_in(
    lns: LNamespace, conventions: Conventions
) -> None:
    """Without the defaults every binding would always look changed."""
    for wanted in all_objects(lns, conventions):
        for subject in wanted.object.subjects:
            account = subject.kind == "ServiceAccount"
            assert subject.api_group == ("" if account else RBAC)
            assert bool(subject.namespace) == account


@given(lnamespaces(), layouts)
def test_shared_cluster_roles_are_bound_only_inside_the_namespace(
    lns: LNamespace, conventions: Conventions
) -> None:
    """These are `cluster-admin` and the users' role; every other role belongs to the tenant."""
    for wanted in all_objects(lns, conventions):
        ref = wanted.object.role_ref
        if not ref:
            continue
        if wanted.resource is ROLE_BINDING and ref.name in (
            "cluster-admin",
            conventions.users_role,
        ):
            assert wanted.key[0] == lns.name
        else:
            assert ref.name == wanted.key[1]


def words_of(wanted: Iterable[DesiredObject]) -> set[str]:
    """Everything that says whose an object is: but for people's names, which may be anything."""
    words: set[str] = set()
    for one in wanted:
        built, meta = one.object, one.object.metadata
        words |= {meta.name, meta.namespace, *meta.labels.values(), *meta.annotations.values()}
        words |= {text for o in meta.owner_references for text in (o.name, o.uid)}
        words |= {name for rule in built.rules or () for name in rule.resource_names}
        words |= {s.name for s in built.subjects if s.kind == "Group"}
    return words


@given(tenants, tenants, uids, uids, layouts)
def test_a_tenants_objects_never_mention_another_tenant(
    one: str, other: str, uid: str, other_uid: str, conventions: Conventions
) -> None:
    if one == other or uid == other_uid:
        return
    spec = Spec(users=(Member("alice"),), managers=(Member("bob"),), sudoers=(Member("eve"),))
    ours = objects(LNamespace(Metadata(one, uid), spec), conventions)
    theirs = objects(LNamespace(Metadata(other, other_uid), spec), conventions)
    shared = {"", "lnamespace", "lnamespace.example.com", "lnamespace-users", "lnamespace-sudoers"}
    shared |= {"lnamespace-sudo-account", conventions.names.sudo_namespace}
    assert not (words_of(ours) & words_of(theirs)) - shared
    assert not {(w.resource, w.key) for w in ours} & {(w.resource, w.key) for w in theirs}


@given(lnamespaces())
def test_two_instances_share_no_object_name_outside_the_namespace(lns: LNamespace) -> None:
    for one, other in ((DEFAULT, OTHER), (BY_ACCOUNT, OTHER_BY_ACCOUNT)):
        ours = {(w.resource, w.key) for w in all_objects(lns, one) if w.key[0] != lns.name}
        theirs = {(w.resource, w.key) for w in all_objects(lns, other) if w.key[0] != lns.name}
        assert ours & theirs == {(NAMESPACE, ("", lns.name))}


@given(lnamespaces(), layouts)
def test_every_object_is_labelled_and_owned(lns: LNamespace, conventions: Conventions) -> None:
    retain = lns.spec.deletion_policy is DeletionPolicy.RETAIN
    for wanted in all_objects(lns, conventions):
        meta = wanted.object.metadata
        assert meta.labels[MANAGED_BY] == conventions.managed_metadata.manager
        if wanted.resource is NAMESPACE:
            assert meta.annotations == {conventions.names.owner_annotation: lns.uid}
        if not (retain and wanted.resource is NAMESPACE):
            assert [owner.uid for owner in meta.owner_references] == [lns.uid]


def test_every_label_and_annotation_of_ours_is_managed() -> None:
    """One that is not managed would be neither changed nor removed again."""
    texts = {each.name: "a" for each in msgspec.structs.fields(Spec) if each.default == ""}
    managed = SILVER.managed_metadata
    for wanted in all_objects(named(msgspec.structs.replace(FULL, **texts)), SILVER):
        meta = wanted.object.metadata
        assert {*meta.labels} - {*wanted.labels} <= {MANAGED_BY, *managed.labels}
        assert {*meta.annotations} <= {*managed.annotations}


@given(lnamespaces(), st.permutations(range(5)))
def test_the_order_of_the_lists_makes_no_difference(lns: LNamespace, order: list[int]) -> None:
    users = lns.spec.users
    shuffled = tuple(users[i] for i in order if i < len(users))
    again = named(Spec(users=shuffled))
    assert active_entries(again.spec, NOW).users == active_entries(lns.spec, NOW).users


@given(lnamespaces(), layouts, st.sampled_from(Ownership))
def test_every_grant_is_among_the_grant_references(
    lns: LNamespace, conventions: Conventions, whose: Ownership
) -> None:
    """A grant that is not among these references would never be revoked."""
    grants = {(w.resource, w.key) for w in objects(lns, conventions, whose)}
    former_grants = {
        (w.resource, w.key) for w in objects(lns, previous_conventions(conventions), whose)
    }
    places = lnamespace.grant_refs(lns.name, conventions)
    assert former_grants - {(NAMESPACE, ("", lns.name))} <= {
        *lnamespace.all_grant_refs(lns.name, conventions)
    }
    assert grants - {(NAMESPACE, ("", lns.name))} <= set(places)
    assert all(resource is not NAMESPACE for resource, _ in places)
    for one in active_entries(lns.spec, NOW).sudoers:
        own = {(w.resource, w.key) for w in self_impersonator(one, {"a": "u"}, conventions)}
        assert own == set(
            impersonator.impersonator_refs(ImpersonatorKey.from_subject(one), conventions)
        )


def test_bindings_are_ordered_before_the_roles_that_they_reference() -> None:
    for conventions in (DEFAULT, BY_ACCOUNT):
        kinds = [resource.kind for resource, _ in lnamespace.grant_refs("a", conventions)]
        assert kinds == sorted(kinds, key=lambda kind: not kind.endswith("Binding"))
    (first, _), (second, _) = impersonator.impersonator_refs(ImpersonatorKey("x" * 52), DEFAULT)
    assert (first.kind, second.kind) == ("ClusterRoleBinding", "ClusterRole")


# Sudo by accounts


@given(lnamespaces())
def test_sudo_by_account_creates_no_cluster_scoped_sudo_objects(lns: LNamespace) -> None:
    """Only the editors' role is cluster-scoped, because the LNamespace is."""
    for wanted in all_objects(lns, BY_ACCOUNT):
        if wanted.resource is not NAMESPACE and not wanted.key[0]:
            assert wanted.key[1] == BY_ACCOUNT.names.editor(lns.name)


@given(lnamespaces(), st.sampled_from([BY_ACCOUNT, OTHER_BY_ACCOUNT]))
def test_sudoers_may_impersonate_only_the_account_of_their_lnamespace(
    lns: LNamespace, conventions: Conventions
) -> None:
    home = conventions.names.sudo_namespace
    given_there = [w for w in all_objects(lns, conventions) if w.key[0] == home]
    role, binding = given_there
    (rule,) = role.object.rules or ()
    assert rule == PolicyRule(("impersonate",), ("",), ("serviceaccounts",), (lns.name,))
    assert [s.name for s in binding.object.subjects] == [
        s.name for s in active_entries(lns.spec, NOW).sudoers
    ]
    power = next(w for w in all_objects(lns, conventions) if w.key[1] == "lnamespace-sudo-account")
    account = RbacSubject("ServiceAccount", lns.name, home)
    assert (power.key[0], power.object.subjects) == (lns.name, (account,))
    # Where it is another's, the users of that Namespace would be the account.
    assert name_problem(home)


def test_sudo_by_account_creates_no_service_account() -> None:
    kinds = {w.resource.kind for w in all_objects(named(FULL), BY_ACCOUNT)}
    assert "ServiceAccount" not in kinds
