"""Who pays, from a command to a row: by people, the real processes and real databases."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.support.api import GROUP, LNAMESPACES, Api, Object, lns_path, ns_path, refusal
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.ledger import BILLINGRECORDS, Ledger, drained, outbox
from tests.e2e.support.people import AUTHENTICATED, People, Person
from tests.e2e.support.processes import free_port
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, manifest
from tests.e2e.support.waiting import Measurements, eventually, measured
from tests.unit.support.engines import DATABASES

CHARGE = {"costCenter": "4711", "owner": "olga", "team": "reds", "environment": "test"}
HOSTILE = (
    'it\'s "quoted" \\ `back` $(touch /tmp/x) {{ .Values }}',
    "🦆 né Ω 中",
    "'; DROP TABLE lnamespace_billing_events; --",
    '=HYPERLINK("http://x";"y")',
    "'=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\uff1d1",
    "%(owner)s :owner @owner ? {owner} NULL",
    "0123456789é🦆" * 83,  # 1 kB: five of them fill a bill
    "",
)
ADDED = re.compile("^'(?='*[=+\\-@\t\r\n\uff1d])")
"""The one apostrophe that docs/ledger.md tells to remove."""


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    return people.person("ledger-alice")


@pytest.fixture
def ledger(cluster: Cluster, tmp_path: Path) -> Ledger:
    """Return an empty ledger in a file."""
    return Ledger(cluster, DATABASES["sqlite"](tmp_path))


def charge(who: Person, name: str, **billing: object) -> Object:
    """Change who pays."""
    return who.api.patch(lns_path(name), {"spec": {"billing": billing}})


def recorded(tenants: Tenants, name: str) -> None:
    """Wait until the controller has recorded what is."""

    def is_recorded() -> bool:
        lns = tenants.get(name)
        wanted = lns["spec"]["billing"]["provenance"]["generation"]
        return bool(lns.get("status", {}).get("recorded", {}).get("generation") == wanted)

    eventually(is_recorded)


@pytest.mark.parametrize(
    "kind",
    # DuckDB is a file as SQLite is, and tests/unit has all its queries.
    [
        "sqlite",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("postgresql", "duckdb")),
    ],
)
def test_creation_edit_and_deletion_are_recorded_in_each_database(
    kind: str,
    cluster: Cluster,
    tmp_path: Path,
    alice: Person,
    tenants: Tenants,
    rights: Rights,
    admin: Api,
) -> None:
    ledger, name = Ledger(cluster, DATABASES[kind](tmp_path)), tenants.name("life")
    flags = ("--cost-center=4711", "--owner=olga", "--billing-label=k=v")
    before = datetime.now(UTC)
    alice.kubectl("create", "lns", name, *flags).ok()
    tenants.ready(name)
    eventually(lambda: rights.edits(alice.who, name))
    patch = '{"spec":{"billing":{"costCenter":"4712"}}}'
    alice.kubectl("patch", "lns", name, "--type=merge", "-p", patch).ok()
    uid = tenants.ready(name)["metadata"]["uid"]
    alice.kubectl("delete", "lns", name).ok()
    eventually(lambda: f"{uid}.delete" in outbox(admin))
    ledger.publish()

    rows = ledger.show("-n", name)
    told = [(row["event_id"], row["cost_center"], row["changed_by"]) for row in rows]
    assert told == [
        (f"{uid}/1/APPLY", "4711", "ledger-alice"),
        (f"{uid}/2/APPLY", "4712", "ledger-alice"),
        (f"{uid}/DELETE", "4712", ""),
    ]
    assert {row["requester"] for row in rows} == {"ledger-alice"}
    assert {row["owner"] for row in rows} == {"olga"}
    assert [row["labels"] for row in rows] == [{"k": "v"}] * 3
    assert {row["billing_source"] for row in rows} == {"Explicit"}
    moments = [row["valid_from"] for row in rows]
    assert before < datetime.fromisoformat(moments[0]) < datetime.now(UTC)
    spans = [(i["valid_from"], i["valid_to"]) for i in ledger.intervals("-n", name)]
    assert spans == [(moments[0], moments[1]), (moments[1], moments[2])]
    only = ledger.intervals("-n", name, "--cost-center", "4712")
    assert [i["valid_from"] for i in only] == [moments[1]]

    def all_is_told() -> bool:
        if not outbox(admin) and "0 differences" in ledger.command("reconcile", "--dry-run").ok():
            return True
        ledger.publish()  # The Namespace of a test before this one may have gone meanwhile.
        return False

    eventually(all_is_told, what="ledger and cluster differ")
    facts = json.loads(ledger.command("status", "-o", "json").ok())[0]
    assert facts["reachable"]


def test_an_unavailable_database_delays_no_lnamespace_and_is_reported(
    cluster: Cluster,
    ledger: Ledger,
    alice: Person,
    tenants: Tenants,
    admin: Api,
    measurements: Measurements,
) -> None:
    name, health = tenants.name("down"), f"127.0.0.1:{free_port()}"
    nowhere = Ledger(cluster, f"postgresql+psycopg://u:secret@127.0.0.1:{free_port()}/x")
    with nowhere.published(LNAMESPACE_HEALTH_LISTEN=health) as publisher:
        since = publisher.position
        alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
        measurements.note("create to Ready, ledger down", measured(lambda: tenants.ready(name)))
        uid = tenants.get(name)["metadata"]["uid"]
        eventually(lambda: "records wait in the outbox" in publisher.log(since))
        assert f"{uid}.1.apply" in outbox(admin)
        refused = nowhere.command("show")
        assert "the ledger's database does not answer" in refused.refused()
        assert "kubectl get billingrecords" in refused.err
        status = nowhere.command("status", "-o", "json")
        assert (status.code, json.loads(status.out)[0]["reachable"]) == (1, False)
        waiting = json.loads(alice.kubectl("lns", "ledger", name, "-o", "json").ok())
        assert [row["cost_center"] for row in waiting] == ["4711"]
        assert "secret" not in publisher.log() + refused.err + status.out + status.err
    ledger.publish()
    assert [row["event_id"] for row in ledger.show("-n", name)] == [f"{uid}/1/APPLY"]


def test_changes_during_downtime_of_the_controller_are_recorded(
    cluster: Cluster,
    ledger: Ledger,
    alice: Person,
    people: People,
    tenants: Tenants,
    rights: Rights,
    admin: Api,
) -> None:
    bob = people.person("ledger-bob")
    name = tenants.name("unseen")
    managers = ["ledger-alice", "ledger-bob"]
    alice.api.create(LNAMESPACES, manifest(name, managers=managers, billing=CHARGE))
    uid = tenants.ready(name)["metadata"]["uid"]
    eventually(lambda: rights.edits(alice.who, name) and rights.edits(bob.who, name))
    cluster.controller.kill()
    try:
        moments = [datetime.now(UTC)]
        for who, center in ((alice, "1"), (bob, "2"), (alice, "3")):
            charge(who, name, costCenter=center)
            moments.append(datetime.now(UTC))
        cluster.webhook.stop()
        cluster.webhook.start()
    finally:
        cluster.controller.start()
    recorded(tenants, name)
    ledger.publish()
    rows = ledger.show("-n", name)
    told = [(row["cost_center"], row["changed_by"]) for row in rows]
    alices, bobs = "ledger-alice", "ledger-bob"
    assert told == [("4711", alices), ("1", alices), ("2", bobs), ("3", alices)]
    for row, start, end in zip(rows[1:], moments, moments[1:], strict=False):
        assert start < datetime.fromisoformat(row["valid_from"]) < end
    tenants.edit(name, users=["carol"])
    tenants.ready(name)
    recorded(tenants, name)
    assert not [record for record in outbox(admin) if record.startswith(uid)]


def test_a_deletion_missed_by_all_processes_is_recorded_on_reconciliation(
    cluster: Cluster, ledger: Ledger, alice: Person, tenants: Tenants
) -> None:
    name = tenants.name("unseen-end")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    tenants.ready(name)
    ledger.publish()
    cluster.controller.kill()
    cluster.webhook.kill()
    try:
        alice.api.delete(lns_path(name))
    finally:
        cluster.webhook.start()
        cluster.controller.start()
    ledger.publish()
    begin, end = ledger.show("-n", name)
    assert (end["operation"], end["billing_source"]) == ("DELETE", "Reconcile")
    (interval,) = ledger.intervals("-n", name)
    span = (interval["valid_from"], interval["valid_to"])
    assert span == (begin["valid_from"], end["valid_from"])


def test_the_publisher_records_a_deletion_while_the_controller_is_down(
    cluster: Cluster,
    ledger: Ledger,
    alice: Person,
    tenants: Tenants,
    rights: Rights,
    admin: Api,
) -> None:
    name = tenants.name("witnessed")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    uid = tenants.ready(name)["metadata"]["uid"]
    with ledger.published() as publisher:
        eventually(lambda: f"{uid}.1.apply" not in outbox(admin), 240)
        eventually(lambda: rights.edits(alice.who, name))
        cluster.controller.kill()
        try:
            charge(alice, name, costCenter="9")
            alice.api.delete(lns_path(name))
            eventually(lambda: len(ledger.show("-n", name)) == 3, 240, tick=0.5)
        finally:
            cluster.controller.start()
        drained(admin)
        assert publisher.running
    late = datetime.now(UTC)  # its Namespace may go some seconds later, and costs until then
    rows = ledger.show("-n", name)
    told = [(row["operation"], row["cost_center"]) for row in rows]
    assert told == [("APPLY", "4711"), ("APPLY", "9"), ("DELETE", "9")]
    assert rows[1]["changed_by"] == "ledger-alice"
    assert datetime.fromisoformat(rows[2]["valid_from"]) < late


def test_a_change_made_while_the_webhook_is_down_is_recorded(
    cluster: Cluster, ledger: Ledger, alice: Person, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("past")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    tenants.ready(name)
    ledger.publish()
    cluster.webhook.kill()
    try:
        admin.patch(lns_path(name), {"spec": {"billing": {"costCenter": "9"}}})
    finally:
        cluster.webhook.start()
    tenants.ready(name)
    ledger.publish()
    told = [(row["cost_center"], row["billing_source"]) for row in ledger.show("-n", name)]
    assert told == [("4711", "Explicit"), ("9", "Reconcile")]
    charge(alice, name, costCenter="10")
    recorded(tenants, name)
    ledger.publish()
    assert [row["cost_center"] for row in ledger.show("-n", name)] == ["4711", "9", "10"]


def test_a_lost_database_can_be_refilled_by_replay(
    cluster: Cluster, tmp_path: Path, alice: Person, tenants: Tenants
) -> None:
    name = tenants.name("replayed")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    uid = tenants.ready(name)["metadata"]["uid"]
    first, second = (Ledger(cluster, f"sqlite:///{tmp_path}/{n}.db") for n in (1, 2))
    first.publish()
    assert "rows added" in second.command("replay").ok()
    assert "\n0 rows added" in f"\n{second.command('replay').ok()}"
    (old,), (new,) = first.show("-n", name), second.show("-n", name)
    assert new["event_id"] == f"{uid}/1/APPLY"
    assert new | {"recorded_at": ""} == old | {"recorded_at": ""}


# --- what people write


@pytest.fixture(scope="module")
def hostile(
    cluster: Cluster,
    tmp_path_factory: pytest.TempPathFactory,
    alice: Person,
    tenants: Tenants,
) -> Iterator[tuple[Ledger, dict[str, Object]]]:
    """Yield a ledger with every text in every field, and by the LNamespace what was written."""
    ledger = Ledger(cluster, DATABASES["sqlite"](tmp_path_factory.mktemp("hostile")))
    written = {}
    for text in HOSTILE:
        name = tenants.name("hostile")
        said = {
            "costCenter": unicodedata.normalize("NFKC", text),
            "owner": text,
            "team": text,
            "environment": text,
            "labels": {text[:60]: text},
        }
        alice.api.create(LNAMESPACES, manifest(name, billing=said))
        written[name] = said
    tenants.all_ready(written)
    ledger.publish()
    yield ledger, written
    for name in written:
        tenants.delete(name)


def _cells(row: Object) -> list[str]:
    return [row[column] for column in ("cost_center", "owner", "team", "environment")]


def _expected(said: Object) -> list[str]:
    # No text at all is nobody who pays.
    center = said["costCenter"] or "unallocated"
    return [center, said["owner"], said["team"], said["environment"]]


def test_json_output_has_the_exact_values(
    hostile: tuple[Ledger, dict[str, Object]], alice: Person
) -> None:
    ledger, written = hostile
    rows = {row["namespace"]: row for row in ledger.show()}
    spans = {row["namespace"]: row for row in ledger.intervals()}
    for name, said in written.items():
        for row in (rows[name], spans[name]):
            assert _cells(row) == _expected(said)
            assert row["labels"] == said["labels"]
    for name, said in list(written.items())[::4]:
        mine = json.loads(alice.kubectl("lns", "ledger", name, "-o", "json").ok())
        assert [_cells(row) for row in mine] == [_expected(said)]


@pytest.mark.parametrize("what", ["show", "intervals"])
def test_csv_output_reads_back_exactly_and_escapes_spreadsheet_formulas(
    what: str, hostile: tuple[Ledger, dict[str, Object]]
) -> None:
    ledger, written = hostile
    exact, safe = (
        {row["namespace"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
        for text in (
            ledger.raw(what, "-o", "csv", "--exact"),
            ledger.raw(what, "-o", "csv"),
        )
    )
    for name, said in written.items():
        assert _cells(exact[name]) == _expected(said)
        assert json.loads(exact[name]["labels"]) == said["labels"]
        for cell, text in zip(_cells(safe[name]), _expected(said), strict=True):
            assert ADDED.sub("", cell) == text
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))


def test_table_output_contains_no_terminal_control_characters(
    hostile: tuple[Ledger, dict[str, Object]], alice: Person
) -> None:
    ledger, written = hostile
    lines = ledger.command("show").ok()
    for name in list(written)[1::5]:
        lines += alice.kubectl("lns", "ledger", name).ok()
    assert all(line.isprintable() for line in lines.split("\n"))
    logged = ledger.publisher().log()
    assert "DROP TABLE" not in logged


# --- labels for other tools


def test_the_namespace_labels_mirror_the_billing_data(
    alice: Person, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    name = tenants.name("mirror")
    argo = {"argocd.argoproj.io/instance": "platform", "app.kubernetes.io/instance": "x"}
    body = manifest(name, billing=CHARGE | {"labels": {"argocd.argoproj.io/instance": "y"}})
    body["metadata"]["labels"] = argo
    alice.api.create(LNAMESPACES, body)
    tenants.ready(name)
    eventually(lambda: rights.edits(alice.who, name) and rights.sudoes(alice.who, name))

    def mirrored() -> dict[str, str]:
        labels = admin.get(ns_path(name))["metadata"]["labels"]
        assert not labels.keys() & argo.keys()
        prefix = f"{GROUP}/"
        return {k.removeprefix(prefix): v for k, v in labels.items() if k.startswith(prefix)}

    def pays() -> dict[str, str]:
        return {k: v for k, v in mirrored().items() if k in PAYS}

    assert pays() == {"cost-center": "4711", "owner": "olga", "team": "reds", "environment": "test"}
    charge(alice, name, costCenter="Ünï, 4711", owner="o" * 300, team="", environment=None)
    eventually(lambda: pays().keys() == {"cost-center", "owner"})
    assert pays()["cost-center"].startswith("n-4711-")
    assert all(len(value) <= 63 for value in pays().values())
    before = mirrored()
    for change in ({f"{GROUP}/cost-center": "mine"}, {f"{GROUP}/owner": None}):
        patch = {"metadata": {"labels": change}}
        assert refusal(alice.sudo(name).patch, ns_path(name), patch)
        assert refusal(alice.sudo(name).patch, f"{ns_path(name)}/status", patch)
    assert mirrored() == before
    admin.patch(ns_path(name), {"metadata": {"labels": {f"{GROUP}/cost-center": "other"}}})
    eventually(lambda: mirrored() == before)


PAYS = ("cost-center", "owner", "team", "environment")


# --- the outbox is not the tenants'


def test_a_tenant_cannot_create_or_change_billing_records(
    cluster: Cluster, alice: Person, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    name = tenants.name("outbox")
    alice.api.create(LNAMESPACES, manifest(name, billing=CHARGE))
    uid = tenants.ready(name)["metadata"]["uid"]
    eventually(lambda: rights.edits(alice.who, name) and rights.sudoes(alice.who, name))
    path = f"{BILLINGRECORDS}/{uid}.1.apply"
    record = admin.get(path)
    forged = {key: record[key] for key in ("apiVersion", "kind")}
    forged |= {"metadata": {"name": f"{uid}.9.apply"}}
    forged |= {"spec": record["spec"] | {"eventId": f"{uid}/9/APPLY", "costCenter": "theirs"}}
    for api in (alice.api, alice.sudo(name), admin.acting("alice", AUTHENTICATED)):
        assert refusal(api.get, path)
        assert refusal(api.get, BILLINGRECORDS)
        assert refusal(api.create, BILLINGRECORDS, forged)
        assert refusal(api.patch, path, {"spec": {"costCenter": "theirs"}})
        assert refusal(api.delete, path)
        assert refusal(api.delete, BILLINGRECORDS)
    controller = Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    assert refusal(controller.delete, path)
    assert refusal(controller.patch, path, {"metadata": {"labels": {"a": "b"}}})
    assert "cannot be edited" in refusal(
        admin.patch, path, {"spec": {"costCenter": "0"}}, status=422
    )
    assert "ownerReferences" not in record["metadata"]


def test_provenance_sent_by_a_client_is_overwritten(
    alice: Person, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.name("forged")
    lie = {"generation": 99, "effectiveAt": "2020-01-01T00:00:00Z", "changedBy": "bob"}
    lie |= {"source": "Group", "group": "finance"}
    former = [{"costCenter": "theirs", "provenance": lie}]
    body = manifest(name, billing=CHARGE | {"provenance": lie, "superseded": former})
    made = alice.api.create(LNAMESPACES, body)
    tenants.ready(name)
    recorded(tenants, name)
    eventually(lambda: rights.edits(alice.who, name))
    edited = charge(alice, name, costCenter="1", provenance=lie, superseded=former)
    for lns in (made, edited):
        billing = lns["spec"]["billing"]
        assert billing["provenance"]["changedBy"] == "ledger-alice"
        assert billing["provenance"]["source"] == "Explicit"
        assert billing["provenance"]["generation"] == lns["metadata"]["generation"]
        assert "superseded" not in billing
