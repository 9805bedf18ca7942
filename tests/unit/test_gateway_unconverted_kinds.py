"""Kinds whose objects nobody converts: who knows of them, and what tenants may do with them."""

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.gateway.tenants.unconverted_kinds import UnconvertedKinds
from lnamespace.gateway.tenants.watched_parts import PartReader
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.names.webhook_routes import TenantWebhook, WebhookPath, with_verbatim
from lnamespace.translate.objects.labels import UNCONVERTED
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import GroupResource, ResourceTable, ResourceType
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests.targets import upstream_target
from lnamespace.translate.webhooks.conversion_reviews import (
    read_conversion_review,
    read_review_of_former,
)

from tests.unit.support.translation import ACME, LABEL
from tests.unit.support.webhook_routes import ROUTE

CARTS = ResourceType(
    "shop.example.com", "carts", "Cart", namespaced=True, custom=True, versions=("v3", "v2", "v1")
)
NAME = GroupResource("shop.example.com", "carts")
VIEW = replace(
    ACME, resources=ResourceTable((CARTS,)), webhook_route=ROUTE, unconverted={NAME: "v1"}
)
WEBHOOK = TenantWebhook("acme-hooks", "hook", 443, "/convert")
NOT_ASKED = replace(ROUTE, verbatim=True)
REVIEW = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}


def watched(path: str, *, tenant: str = "acme", group: str = "acme-shop.example.com") -> Any:
    """Return a definition as a watch shows it."""
    client = {"service": {"path": path}}
    spec = {
        "conversion": {"webhook": {"clientConfig": client}},
        "versions": [{"name": "v2", "storage": False}, {"name": "v1", "storage": True}],
    }
    metadata = {"name": f"carts.{group}", "resourceVersion": "1", "labels": {LABEL: tenant}}
    return PartReader(LABEL).definition(json.dumps({"metadata": metadata, "spec": spec}).encode())


def question(version: str, *namespaces: str) -> bytes:
    """Return a ConversionReview of objects that are stored in v1."""
    objects = [
        {
            "apiVersion": "acme-shop.example.com/v1",
            "kind": "Cart",
            "metadata": {"name": "one", "namespace": each, "labels": {"a": "b"}},
            "size": 1e300,
        }
        for each in namespaces
    ]
    request = {
        "uid": "u",
        "desiredAPIVersion": f"acme-shop.example.com/{version}",
        "objects": objects,
    }
    return json.dumps(REVIEW | {"request": request}).encode()


def test_the_path_says_whether_the_webhook_is_asked_and_has_one_length() -> None:
    """A definition that etcd has no room for could not be changed."""
    asked, not_asked = ROUTE.path_of(WEBHOOK), NOT_ASKED.path_of(WEBHOOK)
    assert len(asked) == len(not_asked)
    assert with_verbatim(asked, verbatim=True) == not_asked
    assert with_verbatim(not_asked, verbatim=False) == asked
    assert with_verbatim("/convert", verbatim=True) == "/convert"
    parsed = [WebhookPath.parse(each) for each in (asked, not_asked)]
    assert [(each.webhook, each.verbatim) for each in parsed if each] == [
        (WEBHOOK, False),
        (WEBHOOK, True),
    ]
    assert ROUTE.webhook_at(not_asked) == WEBHOOK


def test_a_failure_to_connect_shows_no_path_of_the_gateway() -> None:
    text = f'Post "https://{ROUTE.service.host}:443{NOT_ASKED.path_of(WEBHOOK)}?timeout=30s": EOF'
    assert (
        ROUTE.text_down(text) == 'Post "https://hook.acme-hooks.svc:443/convert?timeout=30s": EOF'
    )


def test_a_definition_whose_webhook_is_not_asked_is_in_the_view_of_its_tenant() -> None:
    kinds = UnconvertedKinds(LABEL)
    honest, verbatim = watched(ROUTE.path_of(WEBHOOK)), watched(NOT_ASKED.path_of(WEBHOOK))
    assert kinds.change(None, honest) == ""
    assert kinds.change(honest, verbatim) == "acme"
    assert kinds.kinds_of("acme") == {NAME: "v1"}
    assert kinds.change(verbatim, verbatim) == ""
    assert kinds.change(verbatim, None) == "acme"
    assert kinds.kinds_of("acme") == {}


@pytest.mark.parametrize(
    ("tenant", "group"), [("", "acme-shop.example.com"), ("acme", "beta-shop.example.com")]
)
def test_a_definition_of_nobody_is_in_no_view(tenant: str, group: str) -> None:
    kinds = UnconvertedKinds(LABEL)
    item: WatchedObject = watched(NOT_ASKED.path_of(WEBHOOK), tenant=tenant, group=group)
    assert kinds.change(None, item) == ""


@pytest.mark.parametrize(("version", "preferred"), [("v3", True), ("v2", False), ("v1", False)])
def test_only_into_the_version_that_kubernetes_lists_nobody_converts(
    version: str, preferred: bool
) -> None:
    """What is written in it would be stored as another: there the webhook is asked."""
    review = read_conversion_review(question(version, "acme-a"), VIEW)
    assert review.into_preferred == preferred


def test_what_nobody_converts_has_a_label_but_for_what_is_not_the_tenants() -> None:
    """By it a policy selects what nobody may write. What is another's goes with its namespace."""
    body = question("v3", "acme-a", "beta-b")
    answer = json.loads(read_conversion_review(body, VIEW).answer_without_webhook(labelled=True))
    own, foreign = answer["response"]["convertedObjects"]
    assert own["apiVersion"] == foreign["apiVersion"] == "acme-shop.example.com/v3"
    assert own["metadata"]["labels"] == {"a": "b", UNCONVERTED: "v1"}
    assert foreign["metadata"]["labels"] == {"a": "b"}
    assert own["size"] == 1e300
    assert answer["response"]["uid"] == "u"
    assert answer["response"]["result"] == {"status": "Success"}


def test_of_a_former_lcluster_everything_has_the_label() -> None:
    answer = json.loads(
        read_review_of_former(question("v3", "acme-a")).answer_without_webhook(labelled=True)
    )
    (one,) = answer["response"]["convertedObjects"]
    assert one["metadata"]["labels"][UNCONVERTED] == "v1"


def test_what_was_stored_unconverted_is_shown_to_the_webhook_without_the_label() -> None:
    """One that refused it failed the list of its kind, which could never be listed again."""
    members = json.loads(question("v2", "acme-a"))
    members["request"]["objects"][0]["metadata"]["labels"][UNCONVERTED] = "v3"
    review = read_conversion_review(json.dumps(members).encode(), VIEW)
    (below,) = json.loads(review.body)["request"]["objects"]
    assert below["metadata"]["labels"] == {"a": "b"}


def test_its_tenant_is_not_shown_what_nobody_has_converted() -> None:
    metadata = {"name": "one", "namespace": "acme-a", "labels": {UNCONVERTED: "v1"}}
    body = {"apiVersion": "acme-shop.example.com/v3", "kind": "Cart", "metadata": metadata}
    request = ResourceRequest("get", CARTS, "v3", "a", "one")
    with pytest.raises(Refused, match="Kind=Cart failed: it is asked again"):
        answer_down(request, json.dumps(body).encode(), VIEW)


@pytest.mark.parametrize(
    ("verb", "version", "refused"),
    [
        ("patch", "v2", True),
        ("update", "v2", True),
        ("patch", "v1", False),
        ("patch", "v3", False),
        ("get", "v2", False),
        ("create", "v2", True),
        ("create", "v1", False),
        ("delete", "v2", True),
        ("deletecollection", "v2", True),
        ("deletecollection", "v1", False),
        ("delete", "v3", False),
        ("watch", "v2", False),
    ],
)
def test_a_write_that_would_be_stored_unconverted_is_refused(
    verb: str, version: str, refused: bool
) -> None:
    """In the version of the list, a policy refuses it; in the stored one, nothing is converted.

    A deletion writes what has finalizers, and so stored it as another version than it was.
    """
    request = ResourceRequest(verb, CARTS, version, "a", "one")
    with pytest.raises(Refused, match="Internal error") if refused else nullcontext():
        upstream_target(request, VIEW)
    assert upstream_target(request, replace(VIEW, unconverted={}))


def test_a_write_of_the_definition_leaves_its_webhook_unasked() -> None:
    """Whoever wrote it all the time had it asked all the time."""
    route = VIEW.for_write_of("carts.shop.example.com").webhook_route
    assert route
    assert route.verbatim
    for name in ("tills.shop.example.com", "carts", "carts.other.example.com"):
        assert VIEW.for_write_of(name) is VIEW
