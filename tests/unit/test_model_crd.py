"""The CustomResourceDefinition says what the types and the rules say, and nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.cli import main
from lnamespace.errors import ModelError
from lnamespace.model import rules
from lnamespace.model.billing import BILLING_TEXTS
from lnamespace.model.crd import build_crd
from lnamespace.model.lnamespace import ENTRIES_MAX, NAME_MAX, decode_lnamespace
from lnamespace.model.names import Names
from lnamespace.model.subject import NAME_MAX_LENGTH, Member, SubjectKind

from tests.unit.support import cel
from tests.unit.support.strategies import members, schema_values, tenants, texts
from tests.unit.support.structural import Schema, accepts

FILE = Path(__file__).resolve().parents[2] / "crds" / "lnamespaces.yaml"
CRD = build_crd(Names())
VERSION, OLDER = CRD["spec"]["versions"]
ROOT: Schema = VERSION["schema"]["openAPIV3Schema"]
SPEC: Schema = ROOT["properties"]["spec"]
OLDER_ROOT: Schema = OLDER["schema"]["openAPIV3Schema"]
OLDER_SPEC: Schema = OLDER_ROOT["properties"]["spec"]
LISTS = ("users", "managers", "sudoers")
MEMBER: Schema = SPEC["properties"]["users"]["items"]


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield all schemas within a schema, with their paths."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[]")


def rules_of(schema: Schema) -> list[cel.Rule]:
    return [cel.compiled(entry["rule"]) for entry in schema["x-kubernetes-validations"]]


def hold(schema: Schema, value: Any, old: Any = None) -> bool:
    return all(
        cel.compiled(entry["rule"])(
            cel.value(value), cel.Old(old) if entry.get("optionalOldSelf") else cel.value(old)
        )
        for entry in schema["x-kubernetes-validations"]
    )


def test_the_crd_file_is_the_rendered_output_of_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["render", "crd"]) == 0
    assert capsys.readouterr().out == FILE.read_text(), "run `make crds`"


def test_the_crd_file_is_parsed_to_the_generated_crd() -> None:
    assert yaml.safe_load(FILE.read_text()) == CRD


def test_another_instance_has_another_group() -> None:
    other = build_crd(Names("example.com"))
    assert other["metadata"]["name"] == "lnamespaces.tenancy.example.com"
    assert other["spec"]["group"] == "tenancy.example.com"
    assert other["spec"]["versions"] == CRD["spec"]["versions"]


def test_the_crd_has_plural_singular_and_short_names() -> None:
    names = CRD["spec"]["names"]
    assert (names["plural"], names["singular"], names["shortNames"]) == (
        "lnamespaces",
        "lnamespace",
        ["lns"],
    )
    assert CRD["spec"]["scope"] == "Cluster"


def test_both_versions_are_served_and_the_newer_one_is_stored() -> None:
    said = {v["name"]: (v["served"], v["storage"]) for v in CRD["spec"]["versions"]}
    assert said == {"v1beta1": (True, True), "v1alpha1": (True, False)}
    assert CRD["spec"]["conversion"]["strategy"] == "Webhook"


def test_the_older_version_is_deprecated_with_a_warning() -> None:
    assert OLDER["deprecated"]
    assert "use v1beta1" in OLDER["deprecationWarning"]
    assert "deprecated" not in VERSION


@pytest.mark.parametrize("version", [VERSION, OLDER], ids=lambda v: v["name"])
def test_kubectl_get_shows_the_important_columns(version: Schema) -> None:
    columns = [column["name"] for column in version["additionalPrinterColumns"]]
    assert {"Ready", "Requester", "Cost Center", "Age"} <= set(columns)


@pytest.mark.parametrize(
    ("path", "node"),
    [pytest.param(*node, id=node[0] or ".") for root in (ROOT, OLDER_ROOT) for node in nodes(root)],
)
def test_every_node_is_structural(path: str, node: Schema) -> None:
    assert "type" in node, path
    assert not {"$ref", "allOf", "anyOf", "oneOf", "not", "title", "$defs"} & set(node), path
    assert not ("properties" in node and "additionalProperties" in node), path


@pytest.mark.parametrize(
    ("path", "node"),
    [
        pytest.param(*node, id=node[0])
        for spec in (SPEC, OLDER_SPEC)
        for node in nodes(spec, "spec")
        if not node[0].endswith(("labels[]", "billing[]", "superseded[]"))
    ],
)
def test_every_field_of_the_spec_is_described(path: str, node: Schema) -> None:
    assert node.get("description"), f"kubectl explain has nothing to say of {path}"


@pytest.mark.parametrize("spec", [SPEC, OLDER_SPEC], ids=["v1beta1", "v1alpha1"])
@pytest.mark.parametrize("name", LISTS)
def test_the_lists_are_list_maps_that_are_merged_by_member(name: str, spec: Schema) -> None:
    schema = spec["properties"][name]
    keys = schema["x-kubernetes-list-map-keys"]
    assert schema["x-kubernetes-list-type"] == "map"
    # Kubernetes wants every key of a list to be required or to have a default.
    for key in keys:
        properties = schema["items"]["properties"]
        assert key in schema["items"]["required"] or "default" in properties[key]
    assert "maxItems" in schema


def test_the_refusal_of_a_reserved_name_says_what_to_do() -> None:
    """That of an LCluster did already."""
    told = [
        line for line in json.dumps(build_crd(Names())).split('"') if "name is reserved" in line
    ]
    assert told == ["metadata.name is reserved; choose another"] * 2


def test_the_older_version_has_the_validation_rules_of_the_newer_one() -> None:
    for name in LISTS:
        older, newer = OLDER_SPEC["properties"][name], SPEC["properties"][name]
        assert "expiresAt" in newer["items"]["properties"]
        assert "expiresAt" not in older["items"]["properties"]
        for key in set(newer) - {"items"}:
            assert older[key] == newer[key], key
        rules_ = "x-kubernetes-validations"
        assert older["items"][rules_] == newer["items"][rules_]
    assert OLDER_SPEC["x-kubernetes-validations"] == SPEC["x-kubernetes-validations"]
    assert OLDER_ROOT["x-kubernetes-validations"] == ROOT["x-kubernetes-validations"]
    assert OLDER_ROOT["properties"]["status"] == ROOT["properties"]["status"]


@pytest.mark.parametrize(
    ("billing", "taken"),
    [
        ({}, True),
        ({"costCenter": "4711", "app": "shop"}, True),
        ({"app": 7}, False),
        ({"app": "x" * 1025}, False),
        ({"k" * 63: ""}, True),
        ({"k" * 64: ""}, False),
        ({"app": "a\x00b"}, False),
        ({"a\x00b": ""}, False),
        ({"app": "quote'\"\n=\t\u200b", "a\nb": ""}, True),
        ({f"k{n}": "" for n in range(32)}, True),
        ({f"k{n}": "" for n in range(33)}, False),
        ({f"k{n}": "" for n in range(32)} | dict.fromkeys(BILLING_TEXTS, ""), True),
    ],
)
def test_the_flat_billing_accepts_only_values_that_the_newer_version_can_hold(
    billing: Schema, taken: bool
) -> None:
    schema = OLDER_SPEC["properties"]["billing"]
    keys = [cel.Text(key) for key in billing]
    said = accepts(schema, billing) and all(rule(keys) for rule in rules_of(schema))
    assert said is taken


def test_the_defaults_of_the_schema_equal_those_of_the_types() -> None:
    member = {key: p["default"] for key, p in MEMBER["properties"].items() if "default" in p}
    assert member == {"kind": Member("a").kind, "namespace": Member("a").namespace}
    read = decode_lnamespace(b'{"metadata": {"name": "a"}, "spec": {}}')
    assert read.spec.deletion_policy == SPEC["properties"]["deletionPolicy"]["default"]


# The rules in CEL are the rules in Python


@given(members)
@example(Member("a..b", SubjectKind.SERVICE_ACCOUNT, "a"))
@example(Member("system:serviceaccount:a:b"))
@example(Member(f"system:serviceaccount:{'a' * 64}:b"))
@example(Member(f"system:serviceaccount:a:{'b' * 254}"))
@example(Member("al\u200bice"))
@example(Member("alice\u00a0"))
@example(Member("alice\n"))
@example(Member("al ice"))
@example(Member("al\u00a0ice"))
@example(Member("al\u3000ice"))
@example(Member("al\u3164ice"))
@example(Member("alice\ufe0f"))
@example(Member("alice\U000e0100"))
@example(Member("al\u2800ice"))
@example(Member("al\u0378ice"))
@example(Member("x" * (NAME_MAX + 1)))
def test_cel_and_python_agree_on_allowed_members(member: Member) -> None:
    value = {"name": member.name, "kind": member.kind.value, "namespace": member.namespace}
    if accepts(MEMBER, value):
        # As one that was there before: only a new name is bounded in length by a rule.
        assert hold(MEMBER, value, value) == (rules.member_problem(member) is None)
    else:
        # What the schema refuses by length never comes to the rules.
        assert not 1 <= len(member.name) <= NAME_MAX_LENGTH or len(member.namespace) > 63


@given(st.lists(members, max_size=4))
def test_cel_and_python_agree_on_allowed_sudoers(listed: list[Member]) -> None:
    value = [{"name": m.name, "kind": m.kind.value, "namespace": m.namespace} for m in listed]
    schema = SPEC["properties"]["sudoers"]
    if accepts(schema, value):
        both = hold(schema, value) and all(hold(schema["items"], item, item) for item in value)
        assert both == all(rules.sudoer_problem(member) is None for member in listed)


def names_around_the_rules() -> list[str]:
    exact = [pattern.rstrip("*") for pattern in rules.RESERVED_NAMES]
    grown = [name + "x" for name in exact] + ["x" + name for name in exact]
    return [*exact, *grown, *(n.rstrip("-") for n in exact), "a.b", "A", "a\n", "a" * 63, "a" * 64]


@given(st.one_of(tenants, st.sampled_from(names_around_the_rules()), st.text(max_size=5)))
def test_cel_and_python_agree_on_names(name: str) -> None:
    cel_accepts = hold(ROOT, {"metadata": {"name": name}})
    assert cel_accepts == (rules.name_problem(name) is None)


@pytest.mark.parametrize("pattern", rules.RESERVED_NAMES)
def test_reserved_names_are_patterns_that_cel_can_express(pattern: str) -> None:
    assert not set("*?[]!'\\") & set(pattern.removesuffix("*"))


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ({}, {}, True),
        ({"requester": "alice"}, {"requester": "alice"}, True),
        ({"requester": "alice"}, {"requester": "bob"}, False),
        ({"requester": "alice"}, {}, False),
        ({}, {"requester": "bob"}, False),
        ({"countedTo": "alice"}, {"countedTo": "alice"}, True),
        ({"countedTo": "alice"}, {"countedTo": "bob"}, False),
        ({"countedTo": "alice"}, {}, False),
        ({}, {"countedTo": "bob"}, False),
    ],
)
def test_the_requester_never_changes(old: Schema, new: Schema, allowed: bool) -> None:
    assert hold(SPEC, new, old) is allowed


# What the API server takes, we can read: otherwise one entry would freeze a whole LNamespace


def clocks() -> st.SearchStrategy[str]:
    return st.from_regex(rules.MOMENT, fullmatch=True, alphabet=st.characters(codec="ascii"))


def takes(moment: str) -> bool:
    """Return whether the API server takes it as the end of an entry."""
    end = MEMBER["properties"]["expiresAt"]
    return accepts(MEMBER, {"name": "alice", "expiresAt": moment}) and hold(end, moment)


def readable(spec: dict[str, Any]) -> bool:
    try:
        decode_lnamespace(json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode())
    except ModelError:
        return False
    return True


@given(clocks())
@example("2030-01-01T00:00:00+99:99")
@example("2030-01-01T00:00:00+24:00")
@example("2030-01-01T00:00:00-23:59")
@example("0000-01-01T00:00:00Z")
@example("0001-01-01T00:00:00+01:00")
@example("9999-12-31T23:59:59.999999999Z")
@example("9999-12-31T23:59:59-23:59")
@example("2030-01-01T00:00:00.123456789Z")
@example("2030-02-30T00:00:00Z")
@example("2100-02-29T00:00:00Z")
@example("2000-02-29T00:00:00Z")
def test_every_expiry_accepted_by_the_api_server_can_be_parsed(moment: str) -> None:
    if takes(moment):
        assert readable({"users": [{"name": "alice", "expiresAt": moment}]})


@pytest.mark.parametrize(
    "moment",
    [
        "2030-01-01",
        "2030-01-01T00:00:00",
        "2030-01-01 00:00:00Z",
        "2030-01-01t00:00:00z",
        "2030-13-01T00:00:00Z",
        "2030-01-01T24:00:00Z",
        "tomorrow",
        "",
    ],
)
def test_an_ambiguous_expiry_is_refused(moment: str) -> None:
    assert not takes(moment)


@pytest.mark.parametrize("field", ["costCenter", "owner", "team", "environment", "labels"])
@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("'; DROP TABLE x; -- \U0001f680 =1+1", True),
        ("Müller & Söhne / 経理部", True),
        ("", True),
        *((text, False) for text in (" ", "4711 ", " 4711", "a\x00b", "a\nb", "\x1b[31mred")),
        *((text, False) for text in ("4711\u200b", "\u202e1174", "a\u00a0b", "\u3164", "\ufeffa")),
    ],
)
def test_a_billing_text_contains_only_visible_characters(field: str, text: str, good: bool) -> None:
    properties = SPEC["properties"]["billing"]["properties"]
    schema = properties[field].get("additionalProperties", properties[field])
    assert (accepts(schema, text) and hold(schema, text)) is good
    assert (rules.text_problem(text) is None) is good


@given(st.one_of(texts, st.text(max_size=4)))
@example("SHARED")
@example("shared")
@example("unallocated")
@example("Unallocated")
@example("\uff14\uff17")
def test_every_cost_center_accepted_by_python_is_accepted_by_cel(
    text: str,
) -> None:
    schema = SPEC["properties"]["billing"]["properties"]["costCenter"]
    if rules.cost_center_problem(text) is None:
        assert accepts(schema, text)
        assert hold(schema, text)


@pytest.mark.parametrize("text", ["SHARED", "shared", "Unallocated", "\uff14\uff17", "\uff21"])
def test_ambiguous_and_reserved_cost_centers_are_refused(text: str) -> None:
    schema = SPEC["properties"]["billing"]["properties"]["costCenter"]
    assert not hold(schema, text)
    assert rules.cost_center_problem(text)
    assert hold(schema, "unallocated")
    assert rules.cost_center_problem("unallocated") is None


@pytest.mark.parametrize("field", LISTS)
def test_a_list_cannot_grow_beyond_its_limit_and_a_longer_one_can_shrink(field: str) -> None:
    schema, most = SPEC["properties"][field], ENTRIES_MAX[field]
    people = [{"name": f"u{n}", "kind": "User", "namespace": ""} for n in range(most + 3)]
    assert hold(schema, people[:most])
    assert not hold(schema, people[: most + 1])
    assert not hold(schema, people[: most + 1], people[:most])
    assert hold(schema, people[: most + 1], people[: most + 2])
    assert not hold(schema, people, people[: most + 2])


def test_a_long_name_is_refused_only_in_a_new_entry() -> None:
    long = {"name": "u" * (NAME_MAX + 1), "kind": "User", "namespace": ""}
    assert not hold(MEMBER, long)
    assert hold(MEMBER, long, long)
    assert hold(MEMBER, long | {"name": "u" * NAME_MAX})


def test_every_billing_label_accepted_by_the_api_server_can_be_decoded() -> None:
    billing = SPEC["properties"]["billing"]
    for length in (0, 1, 63, 64, 1000):
        labels = {"labels": {"k" * length: "v"}}
        said = billing["properties"]["labels"].get("x-kubernetes-validations", [])
        keys = [cel.Text(key) for key in labels["labels"]]
        taken = accepts(billing, labels) and all(cel.compiled(r["rule"])(keys) for r in said)
        assert readable({"billing": labels}) or not taken, f"a key of {length} characters"


@given(schema_values(SPEC))
def test_every_spec_accepted_by_the_schema_can_be_decoded(spec: Schema) -> None:
    assert accepts(SPEC, spec)
    assert readable(spec)
