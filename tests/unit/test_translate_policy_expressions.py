"""CEL in the policies of a tenant reads the tenant's own names, and is read as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.names.view import View
from lnamespace.translate.objects.confinement.policy_expressions import (
    policy_expression_down,
    policy_expression_up,
)
from lnamespace.translate.objects.texts import text_down

VIEW = View("acme")
NAMESPACE = (
    "(request.namespace.startsWith('acme-') ? request.namespace.substring(5) : request.namespace)"
)
NAME = (
    "(has(object.metadata.namespace) ? object.metadata.name : object.metadata.name"
    ".startsWith('acme-') ? object.metadata.name.substring(5) : object.metadata.name)"
)
PARTS = (
    "request.namespace",
    "request.name",
    "object.metadata.name",
    "oldObject.metadata.namespace",
    "namespaceObject.metadata.name",
    "params.metadata.name",
    "has(request.namespace)",
    "'request.name'",
    '"a \\" request.name"',
    "// request.name\n",
    "variables.object.metadata.name",
    " == 'prod' && ",
    ".matches('^a')",
    "object.spec.request.name",
)


@pytest.mark.parametrize(
    ("written", "upstream"),
    [
        ("request.namespace == 'prod'", f"{NAMESPACE} == 'prod'"),
        ("object.metadata.name.matches('a')", f"{NAME}.matches('a')"),
        ("has(request.namespace)", "has(request.namespace)"),
        ("has( object.metadata.namespace )", "has( object.metadata.namespace )"),
        ("has(object.metadata.name // c\n)", "has(object.metadata.name // c\n)"),
        ("has(params.metadata.name.x)", "has(params.metadata.name.x)"),
        ("params.metadata.name.x", "params.metadata.name.x"),
        ("'request.namespace'", "'request.namespace'"),
        ("r'\\' + request.namespace", f"r'\\' + {NAMESPACE}"),
        ("true // request.namespace", "true // request.namespace"),
        ("myrequest.namespace", "myrequest.namespace"),
        ("request.namespaces", "request.namespaces"),
        ("o.object.metadata.name", "o.object.metadata.name"),
        ("object.metadata.names", "object.metadata.names"),
    ],
)
def test_a_name_is_read_without_the_prefix(written: str, upstream: str) -> None:
    assert policy_expression_up(written, VIEW) == upstream


@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_an_expression_reads_back_as_written(written: str) -> None:
    assert policy_expression_down(policy_expression_up(written, VIEW), VIEW) == written


def test_a_failure_quotes_the_expression_as_written() -> None:
    upstream = policy_expression_up("request.name == object.metadata.name", VIEW)
    told = text_down(VIEW, f"expression '{upstream}' resulted in error: no such key: metadata")
    assert told == (
        "expression 'request.name == object.metadata.name' resulted in error: no such key: metadata"
    )
