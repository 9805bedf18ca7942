"""CEL in the policies of a tenant reads the tenant's own names, and is read as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement import confine_operations
from lnamespace.translate.objects.confinement.policy_expressions import (
    PolicyExpressions,
    policy_expression_down,
    policy_expression_up,
)
from lnamespace.translate.objects.confinement.rules import ConfinedBody
from lnamespace.translate.objects.texts import text_down
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

VIEW = TenantView("acme")
POLICY = ResourceType(
    "admissionregistration.k8s.io", "validatingadmissionpolicies", "P", namespaced=False
)
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
        (r'rb"\" + request.namespace', rf'rb"\" + {NAMESPACE}'),
        (r"'''\''' request.name''' + request.namespace", rf"'''\''' request.name''' + {NAMESPACE}"),
        ("'no end + request.namespace", "'no end + request.namespace"),
        ("true // request.namespace", "true // request.namespace"),
        ("myrequest.namespace", "myrequest.namespace"),
        ("request.namespaces", "request.namespaces"),
        ("o.object.metadata.name", "o.object.metadata.name"),
        ("object.metadata.names", "object.metadata.names"),
    ],
)
def test_names_in_an_expression_are_read_without_the_prefix(written: str, upstream: str) -> None:
    assert policy_expression_up(written, VIEW) == upstream


@pytest.mark.parametrize("part", [r"\"", r"\'", r"r'''", r"'''\'''", r"'\ "])
def test_an_unterminated_string_is_parsed_in_linear_time(part: str) -> None:
    # From each quote the rest was searched for its end: 400 KB took half an hour.
    written = part * 200_000
    assert policy_expression_down(policy_expression_up(written, VIEW), VIEW) == written


def confine(expression: str) -> None:
    body = {"spec": {"validations": [{"expression": expression}]}}
    PolicyExpressions().confine(ConfinedBody(body, POLICY, VIEW))


@pytest.mark.parametrize(
    "call",
    [
        "authorizer.serviceAccount('a', 'b')",
        "authorizer.serviceAccount // a\n // b\n ('a', 'b')",
        "'serviceAccount//' + authorizer.serviceAccount('a', 'b')",
        "'''serviceAccount//\n// ''' + authorizer.serviceAccount //\n('a', 'b')",
    ],
)
def test_checking_service_accounts_in_an_expression_is_refused(call: str) -> None:
    with pytest.raises(Refused, match=r"authorizer\.serviceAccount is not available"):
        confine(call)


@pytest.mark.parametrize("call", ["reason()", "error ()", "reason // a\n ()"])
def test_why_the_platform_decides_so_may_not_be_asked(call: str) -> None:
    """The answer names bindings, roles and groups of the platform."""
    with pytest.raises(Refused, match=r"authorizer\.(reason|error) is not available"):
        confine(f"authorizer.group('').resource('secrets').check('get').{call} == ''")
    confine("object.status.reason == 'a' && variables.error.message == 'b'")


@pytest.mark.parametrize("end", ["", "\n", "\n// c" * 10_000])
def test_comments_after_an_authorizer_call_are_parsed_in_linear_time(end: str) -> None:
    # From each name in the line its end was searched for: the square of 3 MB is hours.
    confine("serviceAccount//" * 190_000 + end)


def test_names_that_become_longer_than_a_body_are_refused_before_it_takes_time() -> None:
    """3 MB of them became 38 MB, and nobody was answered for six seconds."""
    with pytest.raises(Refused, match="too long"):
        confine("request.name " * 200_000)
    value = {"name": "a", "expression": "request.name " * 20}
    operation = {"op": "add", "path": "/spec/matchConditions/-", "value": value}
    with pytest.raises(Refused, match="too long"):
        confine_operations(POLICY, "", [operation] * 10_000, VIEW)


@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_an_expression_round_trips(written: str) -> None:
    assert policy_expression_down(policy_expression_up(written, VIEW), VIEW) == written


def test_a_failure_quotes_the_expression_as_written() -> None:
    upstream = policy_expression_up("request.name == object.metadata.name", VIEW)
    told = text_down(VIEW, f"expression '{upstream}' resulted in error: no such key: metadata")
    assert told == (
        "expression 'request.name == object.metadata.name' resulted in error: no such key: metadata"
    )
