"""A match condition of a tenant costs nothing for requests that are not the tenant's."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement import Form, confine, confine_operations
from lnamespace.translate.objects.confinement.admission import expression, mutating_expression
from lnamespace.translate.objects.confinement.conditions import condition_down, condition_up
from lnamespace.translate.objects.texts import text_down
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.test_translate_confinement import (
    MUTATING_POLICY,
    POLICY,
    VIEW,
    WEBHOOKS,
    Object,
    webhook,
)

Condition = Callable[[TenantView], str]
PARTS = (
    "a",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "'''",
    '"""',
    "\\",
    "r",
    "b",
    "//",
    "\n",
    "`",
    " ",
)
OF_KIND = ((WEBHOOKS, expression), (POLICY, expression), (MUTATING_POLICY, mutating_expression))


def holder(kind: ResourceType, conditions: list[Object]) -> Object:
    if kind is WEBHOOKS:
        return {"webhooks": [webhook(matchConditions=conditions)]}
    return {"spec": {"matchConditions": conditions}}


@pytest.mark.parametrize("form", [*Form])
@pytest.mark.parametrize(("kind", "confining"), OF_KIND)
def test_each_condition_is_evaluated_for_requests_of_its_tenant_only(
    kind: ResourceType, confining: Condition, form: Form
) -> None:
    """The API server evaluates all of them for all requests, and refuses those too dear."""
    body = holder(kind, [{"name": "mine", "expression": "object.a // b"}])
    above = confine(kind, "", body, VIEW, form)
    held = above["webhooks"][0] if kind is WEBHOOKS else above["spec"]
    own, of_gateway = held["matchConditions"]
    assert of_gateway["expression"] == confining(VIEW)
    assert own["expression"] == f"{confining(VIEW)} ? (\nobject.a // b\n) : false"


def test_a_condition_that_a_json_patch_adds_is_confined_too() -> None:
    value = {"name": "mine", "expression": "true"}
    patch = {"op": "add", "path": "/spec/matchConditions/-", "value": value}
    (operation,) = confine_operations(POLICY, "", [patch], VIEW)
    assert operation["value"]["expression"] == f"{expression(VIEW)} ? (\ntrue\n) : false"


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "f(a)[0] == {'a': 1}",
        "object.a == '(' || object.b == \"[\"",
        r"object.a == '\'(' || object.b.matches(r'\(') || 'c' in'('",
        "'''('\\''' ''' == \"\"\"[\"\"\" || bR'(' == b'('",
        "// )\ntrue // (",
        "object.`a-b/c`",
    ],
)
def test_any_expression_may_be_a_condition(text: str) -> None:
    assert condition_down(condition_up(text, "confining") or "") == text


@pytest.mark.parametrize(
    "text",
    [
        "true) || (true",
        "true\n) : true || (true ? (false",
        "// \n) || (true",
        "'\\'' ) || ('a'",
        r"r'\' ) || (r'\'",
        "rb'\\' ) || (rb'\\'",
        "`a//b`) || (true",
        "'''a",
        "'a\n'",
        "(]",
        "(",
    ],
)
def test_a_condition_that_ends_before_its_end_is_refused(text: str) -> None:
    body = {"spec": {"matchConditions": [{"name": "mine", "expression": text}]}}
    with pytest.raises(Refused, match=r"matchConditions\.expression"):
        confine(POLICY, "", body, VIEW, Form.WHOLE)


@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_a_condition_is_refused_or_read_back(text: str) -> None:
    above = condition_up(text, "confining")
    assert above is None or condition_down(above) == text


@pytest.mark.parametrize("part", ["'''\"\\'''\"", "'''", "'''\\'''", "r'''", "(", "`a", "/"])
def test_a_condition_is_read_in_linear_time(part: str) -> None:
    condition_up(part * 200_000, "confining")


@pytest.mark.parametrize("confining", [expression, mutating_expression])
def test_a_failure_quotes_a_condition_as_written(confining: Condition) -> None:
    above = condition_up("object.a > 1", confining(VIEW)) or ""
    told = text_down(VIEW, f"expression '{above}' resulted in error: no such key: a")
    assert told == "expression 'object.a > 1' resulted in error: no such key: a"
    quoted = above.replace("\n", r"\n")
    assert text_down(VIEW, f'Invalid value: "{quoted}": x') == 'Invalid value: "object.a > 1": x'


def test_a_missing_expression_is_said_to_be_missing_by_the_api_server() -> None:
    assert condition_up(" ", "confining") == " "
