"""Names are judged as a plain API server judges them, though it sees them with a prefix."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from lnamespace.translate.bodies.object_names import refuse_names
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.translators import object_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType
from lnamespace.translate.protocol.status import ApiStatus, Refused

from tests.unit.support.translation import ACME, TYPES


def judged(
    plural: str, body: dict[str, Any], verb: str = "create", view: TenantView = ACME
) -> ApiStatus | None:
    members = object_of(msgspec.json.encode(body))
    assert members is not None
    try:
        refuse_names(ResourceRequest(verb, TYPES[plural], "v1"), members, view)
    except Refused as refused:
        return refused.status
    return None


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def stem(name: str) -> dict[str, Any]:
    return {"metadata": {"generateName": name}}


@pytest.mark.parametrize(
    ("plural", "body"),
    [
        ("namespaces", named("prod")),
        ("namespaces", named("a" * 58)),
        ("namespaces", named("acme")),
        ("namespaces", stem("e2e-tests-")),
        ("namespaces", stem("a" * 300)),
        ("namespaces", {}),
        ("namespaces", {"metadata": {"name": 1}}),
        ("clusterroles", named("a:B_c")),
        ("persistentvolumes", named("a.b")),
        ("configmaps", named("-x")),
        ("customresourcedefinitions", {"spec": {"group": "example.com"}}),
    ],
)
def test_good_names_pass(plural: str, body: dict[str, Any]) -> None:
    assert judged(plural, body) is None


@pytest.mark.parametrize(
    ("plural", "body", "code", "words"),
    [
        ("namespaces", named("a" * 59), 422, "must be no more than 58 characters"),
        ("namespaces", named("-a"), 422, "a lowercase RFC 1123 label must consist of"),
        ("namespaces", named("a.b"), 422, "a lowercase RFC 1123 label must consist of"),
        ("namespaces", stem("-a"), 422, "metadata.generateName: Invalid value"),
        ("namespaces", named("acme-x"), 403, 'names that begin with "acme-" are reserved'),
        ("namespaces", stem("acme-"), 403, 'names that begin with "acme-" are reserved'),
        ("persistentvolumes", named("-a"), 422, "a lowercase RFC 1123 subdomain must consist"),
        ("persistentvolumes", named("a" * 249), 422, "must be no more than 248 characters"),
        ("clusterroles", named("cluster-admin"), 409, "already exists"),
        (
            "customresourcedefinitions",
            {"metadata": {"name": "x.apps"}, "spec": {"group": "apps"}},
            403,
            'the API group "apps" is built in',
        ),
    ],
)
def test_bad_names_are_refused(plural: str, body: dict[str, Any], code: int, words: str) -> None:
    status = judged(plural, body)
    assert status is not None
    assert (status.code, words in status.message) == (code, True)


@pytest.mark.parametrize("spec", [{}, {"spec": {}}, {"spec": {"conversion": {"strategy": "None"}}}])
def test_an_applied_part_of_a_definition_needs_no_group(spec: dict[str, Any]) -> None:
    """A server-side apply of the labels was refused: ``the API group "" is built in``."""
    body = {"metadata": {"name": "widgets.example.com"}} | spec
    assert judged("customresourcedefinitions", body) is None


def test_a_refusal_has_the_words_of_the_api_server() -> None:
    status = judged("namespaces", named("Bad_x"))
    assert status is not None
    assert status.message == (
        'Namespace "Bad_x" is invalid: metadata.name: Invalid value: "Bad_x": a lowercase RFC 1123'
        " label must consist of lower case alphanumeric characters or '-', and must start and end"
        " with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation"
        " is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("certificates.platform.example.org", "AlreadyExists"),
        ("others.platform.example.org", "Forbidden"),
    ],
)
def test_no_custom_resources_may_be_defined_in_a_published_group(name: str, reason: str) -> None:
    group = name.partition(".")[2]
    usable = ResourceType(group, "certificates", "Certificate", namespaced=True)
    resources = ResourceTable.from_types((*ACME.resources.types, usable))
    view = replace(ACME, resources=resources, platform_groups=frozenset({group}))
    body = named(name) | {"spec": {"group": group}}
    status = judged("customresourcedefinitions", body, view=view)
    assert status is not None
    assert status.reason == reason
    assert judged("customresourcedefinitions", body) is None


def test_applying_an_object_with_a_published_name_passes_the_name_check() -> None:
    assert judged("clusterroles", named("cluster-admin"), "patch") is None


def test_a_client_in_a_pod_may_apply_its_namespace_by_the_upstream_spelling() -> None:
    members = object_of(msgspec.json.encode(named("acme-prod")))
    assert members is not None
    request = ResourceRequest("patch", TYPES["namespaces"], "v1", name="prod", in_pod=True)
    refuse_names(request, members, ACME)
    with pytest.raises(Refused):
        refuse_names(replace(request, in_pod=False), members, ACME)
