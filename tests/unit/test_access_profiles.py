"""Guard rails: which profile counts, and which labels a Namespace has because of us."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.access.conventions import Conventions
from lnamespace.access.lnamespace import NamespaceState, namespace_object
from lnamespace.access.ownership import Ownership
from lnamespace.access.profiles import (
    DesiredLabels,
    ProfileSet,
    ResolvedProfile,
    labels_annotation,
    namespace_labels,
    profile_objects,
)
from lnamespace.kube.resources import NETWORK_POLICY, RESOURCE_QUOTA
from lnamespace.kube.state import ObservedObject, canonical_json, read_observed
from lnamespace.model.billing import Billing
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec
from lnamespace.model.names import Names

from tests.unit.support.objects import served

LAYOUT = Conventions(required_labels=("class", "zone"), forbidden_labels=("bad", "evil.io/"))
LISTED = LAYOUT.names.labels_annotation
DEFAULT, BIG = ResolvedProfile(labels={"mesh": "on"}), ResolvedProfile({RESOURCE_QUOTA: b"{}"})


def lns(profile: str = "", **own: str) -> LNamespace:
    return LNamespace(Metadata("team-a", "u", labels=own), Spec(profile=profile))


def seen(given: str = "", **present: str) -> ObservedObject:
    said = {LISTED: given} if given else {}
    return ObservedObject(("", "team-a"), "u", 1, False, True, (), said, None, b"", labels=present)


CASES: dict[
    str, tuple[LNamespace, ResolvedProfile | None, ObservedObject | None, DesiredLabels]
] = {
    "nothing": (lns(), ResolvedProfile(), None, {}),
    "a profile's": (lns(), DEFAULT, None, {"mesh": "on"}),
    "put right": (lns(), DEFAULT, seen("mesh", mesh="off"), {"mesh": "on"}),
    "gone from the profile": (lns(), ResolvedProfile(), seen("mesh", mesh="on"), {"mesh": None}),
    "two gone": (lns(), ResolvedProfile(), seen("a,b", a="1", b="2"), {"a": None, "b": None}),
    "gone already": (lns(), ResolvedProfile(), seen("mesh"), {}),
    "somebody's of that key": (lns(), ResolvedProfile(), seen(mesh="theirs"), {}),
    "not known": (lns(), None, seen("mesh", mesh="on"), {"mesh": "on"}),
    "required": (lns(**{"class": "a", "other": "b"}), ResolvedProfile(), None, {"class": "a"}),
    "required, not known": (lns(zone="a"), None, seen("zone", zone="b"), {"zone": "a"}),
    "required no more": (lns(), None, seen("zone", zone="b"), {"zone": None}),
    "both": (lns(zone="a"), ResolvedProfile(labels={"zone": "b"}), None, {"zone": "a"}),
    "forbidden": (lns(), ResolvedProfile(), seen(bad="1", good="1"), {"bad": None}),
    "forbidden prefix": (
        lns(),
        ResolvedProfile(),
        seen(**{"evil.io/x": "1", "evil.iox": "1"}),
        {"evil.io/x": None},
    ),
    "forbidden, but given": (
        lns(),
        ResolvedProfile(labels={"bad": "1"}),
        seen(bad="2"),
        {"bad": "1"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_namespace_labels_follow_from_the_profile_and_the_present_labels(case: str) -> None:
    tenant, profile, found, should = CASES[case]
    assert namespace_labels(tenant, profile, found, LAYOUT) == should


def test_the_default_profile_does_not_apply_to_adopted_namespaces() -> None:
    """Its quota, network policy and Pod Security stopped running workloads at once."""
    profiles = ProfileSet({"default": DEFAULT, "big": BIG})
    assert profiles.resolve(lns()) == DEFAULT
    assert profiles.resolve(lns(), adopted=True) == ResolvedProfile()
    assert profiles.resolve(lns("default"), adopted=True) == DEFAULT
    assert profiles.resolve(lns("big"), adopted=True) == BIG


def test_an_adopted_namespace_needs_the_profiles_only_if_it_names_one() -> None:
    unreadable = ProfileSet(problem="no such file")
    assert unreadable.resolve(lns(), adopted=True) == ResolvedProfile()
    assert unreadable.problem_of(lns(), adopted=True) == ""
    assert unreadable.resolve(lns("big"), adopted=True) is None
    assert "no such file" in unreadable.problem_of(lns("big"), adopted=True)


keys = st.sampled_from(["mesh", "class", "zone", "bad", "evil.io/x", "mine"])
maps = st.dictionaries(keys, st.sampled_from("xy"))


@given(maps, maps, maps, st.sets(keys), st.booleans())
def test_namespace_labels_are_idempotent_and_keep_foreign_labels(
    own: dict[str, str],
    given_: dict[str, str],
    present: dict[str, str],
    former: set[str],
    known: bool,
) -> None:
    tenant, profile = lns(**own), ResolvedProfile(labels=given_) if known else None
    should = namespace_labels(tenant, profile, seen(",".join(former), **present), LAYOUT)
    after = {k: v for k, v in (present | should).items() if v is not None}
    listed = labels_annotation(should, LAYOUT).get(LISTED, "")
    again = namespace_labels(tenant, profile, seen(listed, **after), LAYOUT)
    assert all(after.get(key) == value for key, value in again.items())
    assert labels_annotation(again, LAYOUT).get(LISTED, "") == listed
    assert not {"bad", "evil.io/x"} & after.keys() - set(listed.split(","))
    if "mine" not in {*former, *given_}:
        assert after.get("mine") == present.get("mine")


def test_the_named_profile_or_else_the_default_profile_applies() -> None:
    both = ProfileSet({"default": DEFAULT, "big": BIG})
    assert both.resolve(lns()) is DEFAULT
    assert both.resolve(lns("default")) is DEFAULT
    assert both.resolve(lns("big")) is BIG
    assert both.resolve(lns("huge")) is None
    assert both.problem_of(lns("huge")) == 'There is no profile "huge" (there are: big, default).'
    assert not both.problem_of(lns("big"))
    none = 'There is no profile "default" (there are: none).'
    assert ProfileSet().problem_of(lns("default")) == none
    assert ProfileSet({"big": BIG}).resolve(lns()) == ResolvedProfile()
    assert ProfileSet().resolve(lns()) == ResolvedProfile()
    assert ProfileSet().resolve(lns("default")) is None
    assert ProfileSet(problem="f:1: bad").resolve(lns()) is None
    assert "f:1: bad" in ProfileSet(problem="f:1: bad").problem_of(lns())


def test_profile_objects_are_labelled_and_have_no_owner_reference() -> None:
    profile = ResolvedProfile({RESOURCE_QUOTA: b'{"hard":{}}', NETWORK_POLICY: b"{}"})
    made = profile_objects(lns(), profile, LAYOUT)
    assert [want.resource for want in made] == [RESOURCE_QUOTA, NETWORK_POLICY]
    metadata = {
        "name": "lnamespace",
        "namespace": "team-a",
        "labels": {
            "app.kubernetes.io/managed-by": "lnamespace",
            "tenancy.loblaw.digital/lnamespace": "team-a",
        },
    }
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {}}}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {}}
    assert [msgspec.json.decode(msgspec.json.encode(want.object)) for want in made] == [
        {**quota, "metadata": metadata},
        {**policy, "metadata": metadata},
    ]


def test_a_namespace_is_created_with_the_labels_of_its_profile() -> None:
    made = namespace_object(lns(), NamespaceState(Ownership.ABSENT, profile=DEFAULT), LAYOUT)
    assert made.object.metadata.labels == LAYOUT.labels("team-a") | {"mesh": "on"}
    assert made.object.metadata.annotations[LISTED] == "mesh"


def test_labels_to_remove_are_none_in_the_patch_and_absent_in_the_object() -> None:
    space = NamespaceState(Ownership.OURS, seen("old", old="1"), DEFAULT)
    made = namespace_object(lns(), space, LAYOUT)
    assert made.object.metadata.labels == LAYOUT.labels("team-a") | {"mesh": "on"}
    assert made.labels == {"mesh": "on", "old": None}


def test_no_forbidden_label_rule_removes_managed_or_server_labels() -> None:
    rules = ("kubernetes.io/", "app.kubernetes.io/", "tenancy.loblaw.digital/")
    conventions = Conventions(Names(class_name="silver"), forbidden_labels=rules)
    tenant = LNamespace(Metadata("team-a", "u"), Spec(billing=Billing("4711", "a", "b", "c")))
    shown = served(namespace_object(tenant, NamespaceState(Ownership.ABSENT), conventions))
    found = read_observed(msgspec.json.encode(shown), conventions.managed_metadata)
    assert namespace_labels(tenant, ResolvedProfile(), found, conventions) == {}


def test_equal_specs_have_one_canonical_json_whatever_the_key_order() -> None:
    assert canonical_json(b'{"a": 1, "b": {"d":[], "c":2}}') is canonical_json(
        b'{"a": 1, "b": {"d":[], "c":2}}'
    )
    assert canonical_json(b'{"b":{"c":2,"d":[]},"a":1}') == canonical_json(
        b'{"a": 1, "b": {"d":[], "c":2}}'
    )
