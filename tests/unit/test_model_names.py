"""A name is the identity of an object: no two meet, and each tells whose it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.model.names import DEFAULT_SUFFIX, DIGEST_LENGTH, Names, digest
from lnamespace.model.subject import Subject, SubjectKind

from tests.unit.support.strategies import tenants

suffixes = st.sampled_from([DEFAULT_SUFFIX, "example.com", "loblaw", "loblaw.digital.example"])
# Few letters, so that joining parts carelessly would soon make two of them meet.
pieces = st.text(alphabet="ab:\x00\x01", max_size=4)
subjects = st.builds(Subject, st.sampled_from(SubjectKind), pieces, pieces)
digests = subjects.map(digest)


@given(subjects, subjects)
def test_two_people_never_share_a_digest(one: Subject, other: Subject) -> None:
    assert (digest(one) == digest(other)) == (one == other)


@given(st.builds(Subject, st.sampled_from(SubjectKind), st.text(), st.text()))
def test_a_digest_can_stand_in_any_objects_name(subject: Subject) -> None:
    assert re.fullmatch(rf"[a-z2-7]{{{DIGEST_LENGTH}}}", digest(subject))


def test_a_digest_does_not_change_between_releases() -> None:
    """Objects on clusters carry it."""
    alice = Subject(SubjectKind.USER, "alice@loblaw.digital")
    assert digest(alice) == "eeqqogpjhi6ztrsiwjniyxfrgm3zytty6ljhdsvipzgqb3ye5csa"
    ci = Subject(SubjectKind.SERVICE_ACCOUNT, "deployer", "ci")
    assert digest(ci) == "wypbzexpqjfh4fteg522wzz4lqgl3exxnwn2idfkv5gdlazdmteq"


@given(suffixes, tenants)
def test_a_tenants_names_tell_the_tenant(suffix: str, tenant: str) -> None:
    names = Names(suffix)
    for name in (names.editor(tenant), names.sudoer(tenant)):
        assert names.tenant_of(name) == tenant
        assert names.person_of(name) is None


@given(suffixes, digests)
def test_a_persons_name_tells_the_person(suffix: str, person: str) -> None:
    names = Names(suffix)
    assert names.person_of(names.self_impersonator(person)) == person
    assert names.tenant_of(names.self_impersonator(person)) is None


@pytest.mark.parametrize("tenant", ["self-impersonator", "editor", "sudoer-impersonator"])
def test_a_tenant_called_like_a_part_of_a_name_takes_nobodys_objects(tenant: str) -> None:
    names = Names()
    assert names.tenant_of(names.editor(tenant)) == tenant
    assert names.tenant_of(names.sudoer(tenant)) == tenant
    assert names.person_of(names.editor(tenant)) is None
    assert names.person_of(names.sudoer(tenant)) is None


@given(tenants, tenants, digests)
def test_no_two_objects_have_one_name(one: str, other: str, person: str) -> None:
    names = Names()
    made = [names.self_impersonator(person)]
    for tenant in {one, other}:
        made += [names.editor(tenant), names.sudoer(tenant)]
    assert len(set(made)) == len(made)


@given(suffixes, suffixes, tenants, digests)
def test_two_instances_never_meet(one: str, other: str, tenant: str, person: str) -> None:
    ours, theirs = Names(one), Names(other)
    if one == other:
        return
    assert ours.prefix != theirs.prefix
    assert ours.group != theirs.group
    for name in (theirs.editor(tenant), theirs.sudoer(tenant), theirs.self_impersonator(person)):
        assert ours.tenant_of(name) is None
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
def test_what_is_not_ours_is_nobodys(name: str) -> None:
    assert Names().tenant_of(name) is None
    assert Names().person_of(name) is None


@given(tenants, tenants)
def test_no_two_tenants_share_a_sudoers_group(one: str, other: str) -> None:
    names = Names()
    assert (names.sudoers_group(one) == names.sudoers_group(other)) == (one == other)


def test_the_sudoers_group_is_called_as_configured() -> None:
    assert Names().sudoers_group("team-a") == "team-a-sudoers"
    assert Names(sudoers_group_format="k8s:{name}:sudo").sudoers_group("a") == "k8s:a:sudo"
