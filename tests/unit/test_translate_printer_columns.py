"""Printer columns of a tenant's kinds cost no more than the objects that they are about."""

import re
from pathlib import Path
from typing import Any

import pytest
from lnamespace.translate.objects.confinement.printer_columns import (
    MAX_COLUMNS,
    MAX_PATH,
    SELECTABLE,
    SIMPLE,
    is_simple,
)
from lnamespace.translate.protocol.status import Refused

from tests.unit.test_translate_hostile_patches import sent

CHART = Path(__file__).parents[2] / "charts/lnamespace/templates/policy-gateway-kinds.yaml"
CRDS = "customresourcedefinitions"


@pytest.mark.parametrize(
    "path",
    [
        ".",
        ".spec.range",
        ".metadata.creationTimestamp",
        r".metadata.annotations.crossplane\.io/external-name",
        ".metadata.labels['app.kubernetes.io/name']",
        ".status.conditions[-1:].type",
        ".status.conditions[0].status",
        ".status.conditions[:2].status",
        ".status.addresses[*].ip",
        ".status.*",
        '.status.conditions[?(@.type=="Ready")].status',
        ".status.conditions[?(@.type=='Ready, Set')].status",
        ".status.conditions[?( @.ready == true )].lastTransitionTime",
        r".metadata.labels['app\.kubernetes\.io/name']",
        ".spec.ports[?(@.port>=1024)].name",
        ".spec.ports[?(@.weight == -0.5)].name",
        ".spec.items[?(@.enabled)].name",
        ".status.phase ",
        ".spec.a-b_c/d:e",
        ".spec.größe",
    ],
)
def test_the_paths_that_people_write_are_taken(path: str) -> None:
    assert is_simple(path)


@pytest.mark.parametrize(
    "path",
    [
        ".a['a','a']['a','a']",
        ".a[0,0]",
        ".a[*,*]",
        ".a..b",
        ".a\n",
        "...a",
        "..a",
        ".a['.b']['.b']",
        ".a['b..c']",
        ".a['b range']",
        ".a['b}{.c']",
        ".a['b\"c\"']",
        ".a[?(..1..1)]",
        ".a[?(.1 == 1)]",
        ".a[?(@['.b'])]",
        ".a[?(@['a','a'])]",
        ".a[?(@..a)]..a",
        ".a[?(@[?(@.a)])]",
        ".a}{.a",
        ".a}{range .b[*]}{.c}{end}{.d",
        ".a range",
        ".a[0]range",
        ".a[?(@.a == range)]",
        ".a[?(@.a range)]",
        ".a 'b' .c",
        ".a$.b",
        ".a@.b",
        "." + "a" * MAX_PATH,
        ".a\n.b",
    ],
)
def test_a_path_that_multiplies_what_it_finds_is_refused(path: str) -> None:
    """The API server kept all that it found in memory, and showed the first."""
    assert not is_simple(path)
    column = {"name": "a", "type": "string", "jsonPath": path}
    for body in (defined(column), [operation(f"{COLUMNS}/-", column)]):
        with pytest.raises(Refused):
            written(body)
    with pytest.raises(Refused):
        written([operation(f"{COLUMNS}/0/jsonPath", path)])


COLUMNS = "/spec/versions/0/additionalPrinterColumns"


def operation(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def defined(*columns: dict[str, str]) -> dict[str, Any]:
    version = {"name": "v1", "additionalPrinterColumns": list(columns)}
    return {"spec": {"versions": [version]}}


def written(patch: Any) -> Any:
    kind = "json-patch" if isinstance(patch, list) else "merge-patch"
    return sent(CRDS, "patch", f"application/{kind}+json", patch)


def test_a_kind_has_a_bounded_number_of_columns() -> None:
    column = {"name": "a", "type": "string", "jsonPath": ".a"}
    assert written(defined(*[column] * MAX_COLUMNS)) == defined(*[column] * MAX_COLUMNS)
    with pytest.raises(Refused):
        written(defined(*[column] * (MAX_COLUMNS + 1)))


def test_the_policy_of_the_chart_has_the_same_rule() -> None:
    text = CHART.read_text()
    assert f"c.jsonPath.matches(r'''{SIMPLE}''')" in text
    assert f"c.jsonPath.size() <= {MAX_PATH}" in text
    assert f"v.additionalPrinterColumns.size() <= {MAX_COLUMNS}" in text


def test_the_rule_means_the_same_in_the_syntax_of_cel() -> None:
    """RE2 has neither groups that look around nor possessive repeats."""
    assert not re.search(r"\(\?[^:]|[*+?}]\+", SIMPLE.replace(r"\(", "").replace(r"\?", ""))


SELECTABLE_FIELDS = "/spec/versions/0/selectableFields"


def selecting(path: str) -> dict[str, Any]:
    return {"spec": {"versions": [{"name": "v1", "selectableFields": [{"jsonPath": path}]}]}}


@pytest.mark.parametrize("path", [".spec.color", ".a-b_c", ".spec.größe", ".range", ".spec.a:b"])
def test_a_selectable_field_is_a_path_of_names(path: str) -> None:
    assert written(selecting(path)) == selecting(path)


@pytest.mark.parametrize(
    "path",
    [
        ".*",
        ".a.*",
        "..",
        ".a..b",
        ".a{b",
        ".a}{.b",
        ".a b",
        ".a\nb",
        ".a,b",
        ".$",
        ".@",
        ".a\\",
        ".'a[*]'",
        ".'}{['a','a']['a','a']'",
        ".a[?(@)]",
        ".",
        "",
        "." + "a" * MAX_PATH,
    ],
)
def test_a_selectable_field_by_which_nobody_could_list_a_kind_is_refused(path: str) -> None:
    """The API server checks it by another parser than it evaluates it by."""
    for patch in (
        selecting(path),
        [operation(f"{SELECTABLE_FIELDS}/-", {"jsonPath": path})],
        [operation(f"{SELECTABLE_FIELDS}/0/jsonPath", path)],
    ):
        with pytest.raises(Refused, match="selectableFields"):
            written(patch)


def test_the_policy_of_the_chart_has_the_same_rule_about_selectable_fields() -> None:
    text = CHART.read_text()
    assert f"f.jsonPath.matches(r'''{SELECTABLE}''')" in text
    assert f"f.jsonPath.size() <= {MAX_PATH}" in text
