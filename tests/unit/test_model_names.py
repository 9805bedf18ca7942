"""A name is the identity of an object: no two meet, and each tells whose it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.model.names import DEFAULT_SUFFIX, DIGEST_LENGTH, Names, subject_digest
from lnamespace.model.rules import name_problem
from lnamespace.model.subject import Subject, SubjectKind

from tests.unit.support.strategies import tenants

suffixes = st.sampled_from([DEFAULT_SUFFIX, "example.com", "loblaw", "loblaw.digital.example"])
# Few letters, so that joining parts carelessly would soon make two of them meet.
pieces = st.text(alphabet="ab:\x00\x01", max_size=4)
subjects = st.builds(Subject, st.sampled_from(SubjectKind), pieces, pieces)
digests = subjects.map(subject_digest)


@given(subjects, subjects)
def test_different_subjects_have_different_digests(one: Subject, other: Subject) -> None:
    assert (subject_digest(one) == subject_digest(other)) == (one == other)


@given(st.builds(Subject, st.sampled_from(SubjectKind), st.text(), st.text()))
def test_a_digest_is_valid_in_object_names(subject: Subject) -> None:
    assert re.fullmatch(rf"[a-z2-7]{{{DIGEST_LENGTH}}}", subject_digest(subject))


def test_a_digest_does_not_change_between_releases() -> None:
    """Objects on clusters carry it."""
    alice = Subject(SubjectKind.USER, "alice@loblaw.digital")
    assert subject_digest(alice) == "eeqqogpjhi6ztrsiwjniyxfrgm3zytty6ljhdsvipzgqb3ye5csa"
    ci = Subject(SubjectKind.SERVICE_ACCOUNT, "deployer", "ci")
    assert subject_digest(ci) == "wypbzexpqjfh4fteg522wzz4lqgl3exxnwn2idfkv5gdlazdmteq"


@given(suffixes, tenants)
def test_the_tenant_is_read_from_its_object_names(suffix: str, tenant: str) -> None:
    names = Names(suffix)
    for name in (names.editor(tenant), names.sudoer(tenant)):
        assert names.lnamespace_of(name) == tenant
        assert names.person_of(name) is None


@given(suffixes, digests)
def test_the_person_is_read_from_the_object_name(suffix: str, person: str) -> None:
    names = Names(suffix)
    assert names.person_of(names.self_impersonator(person)) == person
    assert names.lnamespace_of(names.self_impersonator(person)) is None


@pytest.mark.parametrize("tenant", ["self-impersonator", "editor", "sudoer-impersonator"])
def test_a_tenant_named_like_a_name_part_causes_no_ambiguity(tenant: str) -> None:
    names = Names()
    assert names.lnamespace_of(names.editor(tenant)) == tenant
    assert names.lnamespace_of(names.sudoer(tenant)) == tenant
    assert names.person_of(names.editor(tenant)) is None
    assert names.person_of(names.sudoer(tenant)) is None


@given(tenants, tenants, digests)
def test_object_names_are_unique(one: str, other: str, person: str) -> None:
    names = Names()
    made = [names.self_impersonator(person)]
    for tenant in {one, other}:
        made += [names.editor(tenant), names.sudoer(tenant)]
    assert len(set(made)) == len(made)


@given(suffixes, suffixes, tenants, digests)
def test_names_of_two_instances_do_not_collide(
    one: str, other: str, tenant: str, person: str
) -> None:
    ours, theirs = Names(one), Names(other)
    if one == other:
        return
    assert ours.prefix != theirs.prefix
    assert ours.group != theirs.group
    for name in (theirs.editor(tenant), theirs.sudoer(tenant), theirs.self_impersonator(person)):
        assert ours.lnamespace_of(name) is None
        assert ours.person_of(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "lnamespace",
        "lnamespace:team-a",
        "lnamespace:team-a:viewer",
        "lnamespace:team-a:editor:more",
        "lnamespace:self-impersonator:short",
        "cluster-admin",
        "system:controller:job-controller",
    ],
)
def test_a_foreign_name_belongs_to_no_tenant_and_no_person(name: str) -> None:
    assert Names().lnamespace_of(name) is None
    assert Names().person_of(name) is None


@given(tenants, tenants)
def test_no_two_tenants_share_a_sudoers_group(one: str, other: str) -> None:
    names = Names()
    assert (names.sudoers_group(one) == names.sudoers_group(other)) == (one == other)


@given(suffixes, suffixes, tenants, tenants)
def test_no_two_instances_share_a_sudoers_group(
    one: str, other: str, tenant: str, another: str
) -> None:
    """Who may become it by one instance would be a sudoer of the other."""
    ours, theirs = Names(one), Names(other)
    same = (one, tenant) == (other, another)
    assert (ours.sudoers_group(tenant) == theirs.sudoers_group(another)) == same


def test_the_sudoers_group_has_the_suffix_of_a_non_default_instance() -> None:
    assert Names("team1.example.com").sudoers_group("a") == "a-sudoers.team1.example.com"
    assert Names("team1.example.com", "x:{name}").sudoers_group("a") == "x:a"


@given(suffixes, st.sampled_from(["", "gold", "self", "editor"]), digests, tenants)
def test_personal_names_of_two_classes_differ_and_tenant_names_are_equal(
    suffix: str, other: str, person: str, tenant: str
) -> None:
    """A tenant has one class at a time; a person may be listed in several."""
    ours, theirs = Names(suffix, class_name="silver"), Names(suffix, class_name=other)
    assert ours.person_of(ours.self_impersonator(person)) == person
    assert ours.person_of(theirs.self_impersonator(person)) is None
    assert theirs.person_of(ours.self_impersonator(person)) is None
    assert ours.lnamespace_of(ours.self_impersonator(person)) is None
    assert ours.editor(tenant) == theirs.editor(tenant)


def test_the_sudoers_group_follows_the_configured_format() -> None:
    assert Names().sudoers_group("team-a") == "team-a-sudoers"
    assert Names(sudoers_group_format="k8s:{name}:sudo").sudoers_group("a") == "k8s:a:sudo"


@given(suffixes, suffixes, tenants)
def test_two_instances_have_different_sudo_accounts(suffix: str, other: str, tenant: str) -> None:
    ours, theirs = Names(suffix), Names(other)
    same = ours.sudo_account(tenant) == theirs.sudo_account(tenant)
    assert same == (suffix == other)


@given(suffixes, suffixes, tenants)
def test_every_instance_recognizes_sudo_accounts_of_all_instances(
    suffix: str, other: str, tenant: str
) -> None:
    """Also another's: it is nobody who could answer for an LNamespace."""
    assert Names(suffix).is_sudo_account(Names(other).sudo_account(tenant).username)
    assert not Names(suffix).is_sudo_account(f"system:serviceaccount:{tenant}:lnamespace-sudo")


@given(st.text(alphabet="abc.-", min_size=1, max_size=52))
def test_the_namespace_of_sudo_accounts_is_a_reserved_name(suffix: str) -> None:
    home = Names(suffix).sudo_namespace
    assert name_problem(home) == f'"{home}" is reserved'
    assert Names().sudo_namespace == "lnamespace-sudo"
