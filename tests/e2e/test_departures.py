"""What the webhook writes down before an LNamespace goes, while nobody else is there to see it."""

import json
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.support.api import (
    CONFIGURATIONS,
    GROUP,
    LNAMESPACES,
    Api,
    ApiError,
    Object,
    lns_path,
    refusal,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, WEBHOOK_ACCOUNT, Cluster
from tests.e2e.support.ledger import BILLINGRECORDS, Ledger, compared, outbox
from tests.e2e.support.people import People, Person
from tests.e2e.support.processes import free_port
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, manifest
from tests.e2e.support.waiting import eventually
from tests.unit.support.engines import DATABASES

OLDER = f"/apis/{GROUP}/v1alpha1/lnamespaces"
CHARGE = {"costCenter": "4711"}
VALIDATING = CONFIGURATIONS[1]


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    return people.person("departing-alice")


@pytest.fixture
def ledger(cluster: Cluster, tmp_path: Path) -> Ledger:
    """Return an empty ledger in a file."""
    return Ledger(cluster, DATABASES["sqlite"](tmp_path))


@contextmanager
def alone(cluster: Cluster) -> Iterator[None]:
    """Run the webhook while nobody watches."""
    cluster.controller.kill()
    try:
        yield
    finally:
        cluster.controller.start()


@contextmanager
def refusing(admin: Api, name: str) -> Iterator[None]:
    """Keep an LNamespace from being deleted by a webhook of somebody else."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["lnamespaces"]}
    webhook = {
        "name": "keep.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{free_port()}/"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [rule | {"operations": ["DELETE"]}],
        "matchConditions": [{"name": "this", "expression": f"request.name == '{name}'"}],
    }
    collection = VALIDATING.rpartition("/")[0]
    admin.create(collection, {"metadata": {"name": "keep"}, "webhooks": [webhook]})
    try:
        eventually(lambda: _is_refused(admin, name))
        yield
    finally:
        admin.delete(f"{collection}/keep")
    eventually(lambda: not _is_refused(admin, name))


def _is_refused(admin: Api, name: str) -> bool:
    try:
        admin.delete(lns_path(name), dryRun="All")
    except ApiError as error:
        return "keep.example.com" in error.message
    return False


def mine(who: Person, tenants: Tenants, rights: Rights, name: str) -> Object:
    """Return an LNamespace that is ready, and that they may edit and delete by now."""
    lns = tenants.ready(name)
    eventually(lambda: rights.edits(who.who, name))
    return lns


def announced(admin: Api, uid: str) -> list[str]:
    """Return the ends of an LNamespace that the webhook has told of."""
    return [name for name in outbox(admin) if name.startswith(uid) and name.endswith(".ending")]


def test_changes_and_deletion_during_downtime_are_recorded_with_their_times(
    cluster: Cluster, ledger: Ledger, alice: Person, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.name("unseen")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    mine(alice, tenants, rights, name)
    ledger.publish()
    with alone(cluster):
        for cost_center in ("8", "9"):
            charge = {"spec": {"billing": {"costCenter": cost_center}}}
            alice.api.patch(lns_path(name), charge)
        before = datetime.now(UTC)
        alice.api.delete(lns_path(name))
    ledger.publish()
    # Its Namespace may go some seconds later, and costs until then.
    after = datetime.now(UTC)
    rows = ledger.show("-n", name)
    told = [(row["operation"], row["cost_center"], row["changed_by"]) for row in rows]
    assert told == [
        ("APPLY", "4711", alice.name),
        ("APPLY", "8", alice.name),
        ("APPLY", "9", alice.name),
        ("DELETE", "9", ""),
    ]
    assert before < datetime.fromisoformat(rows[3]["valid_from"]) < after
    spans = [(one["valid_from"], one["valid_to"]) for one in ledger.intervals("-n", name)]
    moments = [row["valid_from"] for row in rows]
    assert spans == list(pairwise(moments))
    assert "0 differences" in ledger.command("reconcile", "--dry-run").ok()


def test_a_refused_deletion_records_no_end(
    cluster: Cluster,
    ledger: Ledger,
    alice: Person,
    tenants: Tenants,
    rights: Rights,
    admin: Api,
) -> None:
    name = tenants.name("refused")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    uid = mine(alice, tenants, rights, name)["metadata"]["uid"]
    with refusing(admin, name):
        refusal(alice.api.delete, lns_path(name), status=500)
    assert len(announced(admin, uid)) == 1
    before = ledger.publisher().position
    with ledger.published() as publisher:
        compared(publisher, before)
        eventually(lambda: not [one for one in outbox(admin) if one.endswith(".apply")], 240)
    assert [row["operation"] for row in ledger.show("-n", name)] == ["APPLY"]
    with alone(cluster):
        alice.api.patch(lns_path(name), {"spec": {"billing": {"costCenter": "9"}}})
        asked = datetime.now(UTC)
        alice.api.delete(lns_path(name))
    ledger.publish()
    after = datetime.now(UTC)
    *_, end = rows = ledger.show("-n", name)
    assert [row["operation"] for row in rows] == ["APPLY", "APPLY", "DELETE"]
    assert asked < datetime.fromisoformat(end["valid_from"]) < after


def test_every_kind_of_deletion_is_recorded_and_a_refused_deletion_is_not(
    cluster: Cluster,
    ledger: Ledger,
    alice: Person,
    tenants: Tenants,
    rights: Rights,
    admin: Api,
) -> None:
    ways = ("kubectl", "older", "collection", "foreground", "dry", "protected")
    names = {way: tenants.name("way") for way in ways}
    for way, name in names.items():
        body = manifest(name, billing=CHARGE, deletionProtection=way == "protected")
        body["metadata"]["labels"] = {"way": way}
        alice.api.create(LNAMESPACES, body)
    made = {way: mine(alice, tenants, rights, name) for way, name in names.items()}
    uids = {way: lns["metadata"]["uid"] for way, lns in made.items()}
    with alone(cluster):
        alice.kubectl("delete", "lns", names["kubectl"], "--wait=false").ok()
        alice.api.delete(f"{OLDER}/{names['older']}")
        admin.delete(LNAMESPACES, labelSelector="way=collection")
        alice.api.delete(lns_path(names["foreground"]), propagationPolicy="Foreground")
        alice.kubectl("delete", "lns", names["dry"], "--dry-run=server").ok()
        refusal(alice.api.delete, lns_path(names["protected"]))
        found = {way: len(announced(admin, uid)) for way, uid in uids.items()}
    gone = ways[:4]
    assert found == {way: int(way in gone) for way in ways}
    ledger.publish()
    for way, name in names.items():
        told = [row["operation"] for row in ledger.show("-n", name)]
        assert told == (["APPLY", "DELETE"] if way in gone else ["APPLY"]), way


def test_a_direct_call_of_the_webhook_forges_no_billing_records(
    alice: Person, tenants: Tenants, admin: Api
) -> None:
    """Whoever reaches the port may say what they like of an LNamespace; nobody believes them."""
    name = tenants.name("forged")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    lns = tenants.ready(name)
    uid = lns["metadata"]["uid"]
    origin = {"generation": 7, "effectiveAt": "2020-01-01T00:00:00Z", "source": "Explicit"}
    lie = {"costCenter": "theirs", "provenance": origin | {"changedBy": "bob"}}
    _ask_the_webhook(admin, lns | {"spec": {"billing": lie}, "status": {"namespaceUID": "n"}})
    _ask_the_webhook(admin, {"metadata": {"name": "nowhere", "uid": "forged"}})
    told = [r["spec"] for r in admin.items(BILLINGRECORDS) if "theirs" in json.dumps(r)]
    assert told == []
    generation = lns["metadata"]["generation"]
    (only,) = announced(admin, uid)
    assert only == f"{uid}.{generation}.ending"
    assert not [one for one in outbox(admin) if one.startswith("forged")]
    admin.remove(f"{BILLINGRECORDS}/{only}")  # Or other tests would wait until it is withdrawn.


def _ask_the_webhook(admin: Api, old: Object) -> None:
    """Ask what only the API server should ask, and anybody can."""
    urls = (entry["clientConfig"]["url"] for entry in admin.get(VALIDATING)["webhooks"])
    (url,) = (url for url in urls if url.endswith("/depart"))
    asked = {
        "uid": "r-1",
        "kind": {"group": GROUP, "version": "v1beta1", "kind": "LNamespace"},
        "operation": "DELETE",
        "name": old["metadata"]["name"],
        "userInfo": {"username": "system:admin"},
        "oldObject": old,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(url, json.dumps(review).encode())  # noqa: S310 - on loopback
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:  # noqa: S310
        assert json.load(answer)["response"] == {"uid": "r-1", "allowed": True}


def test_a_stolen_webhook_token_cannot_record_an_end(
    cluster: Cluster, alice: Person, tenants: Tenants, admin: Api
) -> None:
    """It may tell of charges and of deletions that were asked for, and of no end."""
    name = tenants.name("stolen")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    uid = tenants.ready(name)["metadata"]["uid"]
    thief = Api(cluster.token(RELEASE_NAMESPACE, WEBHOOK_ACCOUNT))
    path = f"{BILLINGRECORDS}/{uid}.1.apply"
    applied = admin.get(path)["spec"]
    end = applied | {"eventId": f"{uid}/DELETE", "operation": "DELETE"}
    assert "made by the controller and the webhook" in refusal(
        thief.create, BILLINGRECORDS, _record(f"{uid}.delete", end)
    )
    misnamed = applied | {"operation": "ENDING"}
    told = refusal(thief.create, BILLINGRECORDS, _record(f"{uid}.1.apply", misnamed), status=422)
    assert "eventId is UID/GENERATION/APPLY" in told
    ending = misnamed | {"eventId": f"{uid}/1/ENDING"}
    assert thief.create(BILLINGRECORDS, _record(f"{uid}.1.ending", ending), dryRun="All")
    for attempt in (thief.get, thief.delete):
        assert refusal(attempt, path)
    assert refusal(thief.get, BILLINGRECORDS)
    assert refusal(thief.patch, path, {"metadata": {"labels": {"a": "b"}}})


def _record(name: str, spec: Object) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "BillingRecord",
        "metadata": {"name": name},
        "spec": spec,
    }
