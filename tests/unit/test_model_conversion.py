"""What one version says comes back from the other; what is written in between gives nothing."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.errors import ModelError
from lnamespace.model import v1alpha1
from lnamespace.model.billing import BILLING_TEXTS, SUPERSEDED_MAX
from lnamespace.model.conversion import (
    annotation_key,
    convert_manifest,
    free_annotation_bytes,
    restore_unsupported,
)
from lnamespace.model.crd import build_crd
from lnamespace.model.lnamespace import LIST_MAX_ITEMS, MEMBER_LISTS, VERSION, decode_lnamespace
from lnamespace.model.names import Names
from lnamespace.model.subject import NAME_MAX_LENGTH

from tests.unit.support.strategies import manifests
from tests.unit.support.structural import accepts

Json = dict[str, Any]

NAMES = Names()
CRD = build_crd(NAMES)
KEY = annotation_key(NAMES)
OLDER = v1alpha1.VERSION
GOLDEN = Path(__file__).parent / "golden"
END, LATER = "2030-01-01T00:00:00Z", "2031-06-30T12:00:00.5-05:00"
SPECS = {
    v["name"]: v["schema"]["openAPIV3Schema"]["properties"]["spec"] for v in CRD["spec"]["versions"]
}
PROVENANCE = {"generation": 3, "effectiveAt": END, "changedBy": "alice", "source": "Explicit"}


def user(name: str, **more: str) -> Json:
    return {"kind": "User", "name": name, "namespace": "", **more}


def manifest(version: str, note: Any = None, /, **spec: Any) -> Json:
    metadata: Json = {"name": "team-a", "uid": "u-1"}
    if note is not None:
        text = note if isinstance(note, str) else json.dumps(note)
        metadata["annotations"] = {KEY: text}
    return {
        "apiVersion": f"{NAMES.group}/{version}",
        "kind": "LNamespace",
        "metadata": metadata,
        "spec": spec,
    }


def older(newer: Json) -> Json:
    return convert_manifest(newer, OLDER, NAMES)


def newer(older: Json) -> Json:
    return convert_manifest(older, VERSION, NAMES)


def note(older: Json) -> Json:
    text = older["metadata"].get("annotations", {}).get(KEY)
    value: Json = json.loads(text) if text is not None else {}
    return value


def without_note(older: Json) -> Json:
    copy = deepcopy(older)
    copy["metadata"].pop("annotations", None)
    return copy


# Nothing is lost


@given(manifests(CRD, VERSION))
def test_an_lnamespace_round_trips_through_the_older_version(lns: Json) -> None:
    before = deepcopy(lns)
    there = older(lns)
    assert newer(there) == lns
    assert lns == before, "conversion changes nothing in place"
    assert accepts(SPECS[OLDER], there["spec"])


@given(manifests(CRD, OLDER))
def test_an_lnamespace_round_trips_through_the_newer_version(lns: Json) -> None:
    before = deepcopy(lns)
    there = newer(lns)
    assert older(there) == lns
    assert lns == before
    assert accepts(SPECS[VERSION], there["spec"])
    assert KEY not in there["metadata"].get("annotations", {})


@given(manifests(CRD, VERSION))
def test_conversion_changes_only_the_annotation_of_the_metadata(lns: Json) -> None:
    there = older(lns)["metadata"]
    for key in set(lns["metadata"]) | set(there) - {"annotations"}:
        if key != "annotations":
            assert there[key] == lns["metadata"][key]
    kept = {k: v for k, v in there.get("annotations", {}).items() if k != KEY}
    assert kept == lns["metadata"].get("annotations", {})


@given(manifests(CRD, VERSION))
def test_the_annotation_is_added_only_where_it_is_needed(lns: Json) -> None:
    spec = lns["spec"]
    ends = any("expiresAt" in entry for name in MEMBER_LISTS for entry in spec.get(name, ()))
    billing = spec.get("billing", {})
    labels = billing.get("labels")
    more = {"provenance", "superseded"} & set(billing) or (
        labels is not None and (not labels or set(BILLING_TEXTS) & set(labels))
    )
    assert bool(note(older(lns))) == bool(ends or more)


def test_the_golden_pair_is_converted_in_both_directions() -> None:
    said, read = yaml.safe_load_all((GOLDEN / "versions.yaml").read_text())
    assert older(said) == read
    assert newer(read) == said


def test_the_longest_lists_fit_into_the_annotation_size_limit() -> None:
    long = [
        user(f'{n:04}"{"ü" * NAME_MAX_LENGTH}'[:NAME_MAX_LENGTH]) for n in range(LIST_MAX_ITEMS)
    ]
    legible = [user(f"{n:04}{chr(34) * 45}") for n in range(LIST_MAX_ITEMS)]
    for entries in (long, legible):
        listed = [entry | {"expiresAt": "2030-01-01T00:00:00.123456+05:00"} for entry in entries]
        lns = manifest(VERSION, users=listed, managers=listed, sudoers=listed)
        there = older(lns)
        assert len(there["metadata"]["annotations"][KEY].encode()) + len(KEY) < 256 * 1024
        assert newer(there) == lns


def test_equal_objects_have_equal_annotations() -> None:
    said = [user("bob", expiresAt=END), user("eve", expiresAt=LATER)]
    one = older(manifest(VERSION, users=said, sudoers=said))
    other = older(manifest(VERSION, sudoers=said[::-1], users=said[::-1]))
    assert one["metadata"] == other["metadata"]


@pytest.mark.parametrize("version", [VERSION, OLDER])
def test_an_object_of_the_requested_version_is_returned_unchanged(version: str) -> None:
    lns = manifest(version, {"users": {"User//bob": END}}, users=[user("bob")])
    assert convert_manifest(lns, version, NAMES) is lns


def test_another_instance_has_an_annotation_of_its_own() -> None:
    names = Names("example.com")
    lns = manifest(VERSION, users=[user("bob", expiresAt=END)])
    lns["apiVersion"] = f"{names.group}/{VERSION}"
    there = convert_manifest(lns, OLDER, names)
    assert there["apiVersion"] == f"tenancy.example.com/{OLDER}"
    assert list(there["metadata"]["annotations"]) == [f"tenancy.example.com/{VERSION}"]
    assert convert_manifest(there, VERSION, names) == lns


# Edits with the older version


def test_the_expiry_of_a_removed_entry_is_dropped() -> None:
    there = older(manifest(VERSION, users=[user("bob", expiresAt=END), user("eve")]))
    there["spec"]["users"] = [user("eve")]
    assert newer(there)["spec"] == {"users": [user("eve")]}


def test_expiries_follow_their_entries_when_entries_are_reordered_or_added() -> None:
    there = older(
        manifest(VERSION, users=[user("bob", expiresAt=END), user("eve", expiresAt=LATER)])
    )
    there["spec"]["users"] = [user("new"), user("eve"), user("bob")]
    assert newer(there)["spec"]["users"] == [
        user("new"),
        user("eve", expiresAt=LATER),
        user("bob", expiresAt=END),
    ]


def test_an_expiry_applies_only_to_its_own_list_and_kind() -> None:
    there = older(manifest(VERSION, users=[user("bob", expiresAt=END)]))
    there["spec"] = {"users": [user("bob") | {"kind": "Group"}], "managers": [user("bob")]}
    assert newer(there)["spec"] == there["spec"]


def test_an_entry_without_defaulted_fields_keeps_its_expiry() -> None:
    there = older(manifest(VERSION, users=[user("bob", expiresAt=END)]))
    there["spec"]["users"] = [{"name": "bob"}]
    assert newer(there)["spec"]["users"] == [{"name": "bob", "expiresAt": END}]


def test_a_key_of_the_bill_can_be_changed_beside_a_label_of_the_same_name() -> None:
    there = older(manifest(VERSION, billing={"team": "a", "labels": {"team": "b", "app": "c"}}))
    assert there["spec"]["billing"] == {"team": "a", "app": "c"}
    there["spec"]["billing"] = {"team": "x", "tier": "y"}
    assert newer(there)["spec"]["billing"] == {"team": "x", "labels": {"team": "b", "tier": "y"}}


def test_a_removed_billing_keeps_the_fields_that_the_older_version_lacks() -> None:
    there = older(manifest(VERSION, billing={"costCenter": "1", "provenance": PROVENANCE}))
    del there["spec"]["billing"]
    assert newer(there)["spec"]["billing"] == {"provenance": PROVENANCE}


def test_conversion_creates_no_more_labels_than_the_limit() -> None:
    flat = {f"k{n}": "v" for n in range(30)}
    carried = {"billing": {"labels": dict.fromkeys(BILLING_TEXTS, "v")}}
    labels = newer(manifest(OLDER, carried, billing=flat))["spec"]["billing"]["labels"]
    assert len(labels) == 32
    assert set(flat) < set(labels)


# What somebody writes into the annotation

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([END, "User//bob", "2030-02-30T00:00:00Z", "tomorrow"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*MEMBER_LISTS, "billing", "labels", "team", "provenance", "superseded"]
            )
            | st.sampled_from(["generation", "effectiveAt", "User//bob", "spec", "name", "kind"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
NOTES = st.one_of(
    st.text(max_size=20),
    JUNK.map(json.dumps),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(MEMBER_LISTS, st.dictionaries(st.just("User//bob"), JUNK))
        | {"billing": JUNK},
    ).map(json.dumps),
    st.sampled_from(["[" * 100_000, '{"users":' * 100_000, '{"users":{"User//bob":"\ud800"}}']),
)


@given(manifests(CRD, OLDER), NOTES)
def test_no_annotation_breaks_a_conversion_or_grants_access(lns: Json, text: str) -> None:
    lns["spec"].setdefault("users", []).append(user("bob"))
    lns["metadata"].setdefault("annotations", {})[KEY] = text
    there = newer(lns)
    assert KEY not in there["metadata"].get("annotations", {})
    assert accepts(SPECS[VERSION], there["spec"])
    for name in MEMBER_LISTS:
        ends_taken = [
            {k: v for k, v in entry.items() if k != "expiresAt"}
            for entry in there["spec"].get(name, ())
        ]
        assert ends_taken == lns["spec"].get(name, [])
    flat, deep = lns["spec"].get("billing", {}), there["spec"].get("billing", {})
    assert {k: deep[k] for k in BILLING_TEXTS if k in deep} == {
        k: flat[k] for k in BILLING_TEXTS if k in flat
    }
    decode_lnamespace(
        msgspec.json.encode({"metadata": {"name": "a"}, "spec": deepcopy(there["spec"])})
    )
    older(there)


@pytest.mark.parametrize(
    "end",
    [
        None,
        7,
        "",
        "tomorrow",
        "2030-01-01",
        "2030-02-30T00:00:00Z",
        "2030-01-01T00:00:00",
        "2030-01-01T00:00:00+99:99",
        "1970-01-01T00:00:00Z",
        f"{END}\n",
        "٢٠٣٠-01-01T00:00:00Z",
        [END],
        {"expiresAt": END},
    ],
)
def test_an_invalid_expiry_in_the_annotation_is_ignored(end: Any) -> None:
    lns = manifest(OLDER, {"users": {"User//bob": end}}, users=[user("bob")])
    assert newer(lns)["spec"]["users"] == [user("bob")]


@pytest.mark.parametrize(
    "provenance",
    [
        None,
        "alice",
        {},
        {"generation": 3},
        PROVENANCE | {"generation": "3"},
        PROVENANCE | {"generation": -(2**63) - 1},
        PROVENANCE | {"generation": 2**63},
        PROVENANCE | {"generation": True},
        PROVENANCE | {"effectiveAt": "tomorrow"},
        PROVENANCE | {"effectiveAt": "0001-01-01T00:00:00Z"},
        PROVENANCE | {"source": "Magic"},
        PROVENANCE | {"changedBy": "x" * 1025},
        PROVENANCE | {"changedBy": None},
    ],
)
def test_a_provenance_that_cannot_be_read_is_dropped(provenance: Any) -> None:
    note = {"billing": {"provenance": provenance, "superseded": [{"provenance": provenance}, 7]}}
    deep = newer(manifest(OLDER, note, billing={"costCenter": "1"}))["spec"]["billing"]
    assert deep == {"costCenter": "1", "superseded": []}


def test_only_known_fields_of_the_annotation_are_used() -> None:
    charge = {"costCenter": "1", "provenance": PROVENANCE}
    more = PROVENANCE | {"more": 1}
    note = {
        "spec": {"users": [user("eve")]},
        "users": {"User//eve": END},
        "billing": {
            "costCenter": "2",
            "labels": {"app": "x", "team": "t"},
            "provenance": more,
            "superseded": [charge | {"more": 1, "provenance": more}],
        },
    }
    deep = newer(manifest(OLDER, note, users=[user("bob")], billing={"costCenter": "1"}))["spec"]
    assert deep == {
        "users": [user("bob")],
        "billing": {
            "costCenter": "1",
            "labels": {"team": "t"},
            "provenance": PROVENANCE,
            "superseded": [charge],
        },
    }


def test_an_expiry_field_in_the_older_version_is_ignored() -> None:
    lns = manifest(OLDER, users=[user("bob", expiresAt="tomorrow")])
    assert newer(lns)["spec"]["users"] == [user("bob")]


def test_superseded_billings_beyond_the_limit_are_dropped() -> None:
    charges = [{"costCenter": str(n), "provenance": PROVENANCE} for n in range(SUPERSEDED_MAX + 3)]
    deep = newer(manifest(OLDER, {"billing": {"superseded": charges}}, billing={}))
    assert deep["spec"]["billing"]["superseded"] == charges[3:]


def test_the_annotation_is_ignored_in_the_newer_version() -> None:
    lns = manifest(VERSION, {"users": {"User//bob": END}}, users=[user("bob")])
    there = older(lns)
    assert there == manifest(OLDER, users=[user("bob")])
    ended = manifest(VERSION, "mine", users=[user("bob", expiresAt=END)])
    assert note(older(ended)) == {"users": {"User//bob": END}}
    assert "annotations" not in newer(older(ended))["metadata"]


# What no schema has seen


@given(JUNK)
def test_any_json_in_a_spec_is_converted_in_both_directions(spec: Any) -> None:
    for version, other in ((VERSION, OLDER), (OLDER, VERSION)):
        lns = manifest(version) | {"spec": spec}
        there = convert_manifest(lns, other, NAMES)
        assert there["apiVersion"] == f"{NAMES.group}/{other}"
        convert_manifest(there, version, NAMES)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "Pod"}, "not an LNamespace"),
        ({"kind": None}, "not an LNamespace"),
        ({"metadata": None}, "with metadata"),
        ({"metadata": []}, "with metadata"),
        ({"apiVersion": "v1"}, "apiVersion"),
        ({"apiVersion": None}, "apiVersion"),
        ({"apiVersion": f"{NAMES.group}/v9"}, "apiVersion"),
        ({"apiVersion": f"tenancy.example.com/{VERSION}"}, "apiVersion"),
    ],
)
def test_an_object_that_is_not_an_lnamespace_is_refused(change: Json, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        older(manifest(VERSION) | change)


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ModelError, match="v9"):
        convert_manifest(manifest(VERSION), "v9", NAMES)


@pytest.mark.parametrize("annotations", [None, [], "x", 7, {KEY: 7}, {KEY: None}])
def test_malformed_annotations_are_ignored(annotations: Any) -> None:
    lns = manifest(OLDER, users=[user("bob")])
    lns["metadata"]["annotations"] = annotations
    assert newer(lns)["spec"] == lns["spec"]


# What an update in the older version does not say


def test_expiries_are_kept_in_an_update_by_the_older_version() -> None:
    old = {"users": [user("bob", expiresAt=END), user("eve", expiresAt=END), user("al")]}
    new = {"users": [user("al"), user("bob"), user("zoe"), user("eve", expiresAt=LATER)]}
    assert restore_unsupported(new, old) == {
        "users": [user("al"), user("bob", expiresAt=END), user("zoe"), user("eve", expiresAt=END)]
    }


def test_an_older_manifest_does_not_restore_an_expiry_that_was_changed_since() -> None:
    """An export in the older version carries the ends that there were in its annotation."""
    old = {"users": [user("bob", expiresAt=END), user("al")]}
    export = {
        "users": [user("bob", expiresAt=LATER), user("al", expiresAt=END)],
        "managers": [user("bob", expiresAt=LATER)],
    }
    assert restore_unsupported(export, old) == old | {"managers": [user("bob", expiresAt=LATER)]}


def test_hidden_labels_are_kept_in_an_update_by_the_older_version() -> None:
    old = {"billing": {"team": "a", "labels": {"team": "b", "app": "c"}}}
    new = {"billing": {"team": "x", "labels": {"tier": "y"}}}
    assert restore_unsupported(new, old) == {
        "billing": {"team": "x", "labels": {"tier": "y", "team": "b"}}
    }


@given(manifests(CRD, VERSION))
def test_an_update_without_the_annotation_equals_an_update_with_it(lns: Json) -> None:
    bare = newer(without_note(older(lns)))
    assert restore_unsupported(bare["spec"], lns["spec"]) == lns["spec"]
    assert restore_unsupported(lns["spec"], lns["spec"]) == lns["spec"]


@given(JUNK, JUNK)
def test_restoring_unsupported_fields_accepts_any_json(spec: Any, old: Any) -> None:
    restore_unsupported(spec, old)


@pytest.mark.parametrize("left", [0, 10, 600, 10_000])
def test_the_annotation_is_omitted_if_it_exceeds_the_annotation_size_limit(left: int) -> None:
    """One annotation too long, and every LIST in that version failed, for everybody."""
    mine = manifest(VERSION, users=[user("bob", expiresAt=END)], billing={"provenance": PROVENANCE})
    mine["metadata"]["annotations"] = {"a": "x" * (256 * 1024 - 1 - left)}
    found = older(mine)["metadata"]["annotations"]
    assert sum(len(key) + len(value) for key, value in found.items()) <= 256 * 1024
    assert (KEY in found) is (left >= 600)
    assert found["a"] == mine["metadata"]["annotations"]["a"]


def test_the_reported_free_annotation_size_is_exact() -> None:
    mine = manifest(VERSION, users=[user("bob", expiresAt=END)])
    # What a v1beta1 object has of the annotation means nothing, and takes none of it.
    annotations = mine["metadata"]["annotations"] = {"a": "", KEY: "{}" * 100}
    most = free_annotation_bytes(mine, NAMES)
    for more in (0, 1):
        annotations["a"] = "x" * (most + more)
        assert free_annotation_bytes(mine, NAMES) == -more
        assert (KEY in older(mine)["metadata"]["annotations"]) is (more == 0)
