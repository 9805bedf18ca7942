"""`lnamespace ledger`: what people see is what is there, and does no harm."""

import asyncio
import csv
import io
import json
import logging
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.cli import main
from lnamespace.ledger.commands.output import harmless, visible, write
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import CLUSTER_COLUMNS, COLUMNS, ClusterIdentity, to_row
from lnamespace.ledger.outbox.record import BillingRecord
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lnamespace import LNamespace, Spec, Status
from lnamespace.settings import Settings

from tests.unit.support.ledger_contract import NASTY, applied, day, ended
from tests.unit.support.outbox_server import OutboxServer, outbox_server
from tests.unit.test_ledger_publisher import event, lnamespace

HERE = ("--project-id", "project", "--cluster-location", "northamerica-northeast1")
Run = Callable[..., str]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/deep/ledger.db"


@pytest.fixture
def run(url: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must succeed; returns what it printed."""

    def command(*words: str) -> str:
        place = (*HERE, "--cluster-name", "cluster-a")
        code = main(["ledger", *words, "--ledger-url", url, *place])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return command


@pytest.fixture
def fill(run: Run, url: str) -> Callable[..., None]:
    def rows(*wanted: dict[str, Any]) -> None:
        run("create-table")
        ledger = Ledger.from_settings(Settings(ledger_url=url))
        ledger.append(wanted)
        ledger.close()

    return rows


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OutboxServer]:
    """Run a cluster in a loop of its own, for a command has its own too."""
    loop = asyncio.new_event_loop()
    context = outbox_server()
    made = loop.run_until_complete(context.__aenter__())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    monkeypatch.setenv("KUBECONFIG", _kubeconfig(tmp_path, made.url))
    yield made
    asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _kubeconfig(folder: Path, url: str) -> str:
    path = folder / "kubeconfig"
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [context],
                "clusters": [{"name": "c", "cluster": {"server": url}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    return str(path)


def test_intervals_show_the_payer_with_start_and_end(run: Run, fill: Callable[..., None]) -> None:
    fill(
        applied("u", 1, 0, cost_center="1", changed_by="alice"),
        applied("u", 2, 3, cost_center="2"),
        ended("u", 2, 5),
    )
    header, *lines = run("intervals").splitlines()
    assert header.split()[:5] == ["NAMESPACE", "VALID", "FROM", "VALID", "TO"]
    assert [line.split()[:4] for line in lines] == [
        ["team-a", "2026-03-01T00:00:00Z", "2026-03-04T00:00:00Z", "1"],
        ["team-a", "2026-03-04T00:00:00Z", "2026-03-06T00:00:00Z", "2"],
    ]


def test_events_are_shown_in_order(run: Run, fill: Callable[..., None]) -> None:
    fill(ended("u", 2, 5), applied("u", 1, 0))
    shown = json.loads(run("show", "-o", "json"))
    assert [found["operation"] for found in shown] == ["APPLY", "DELETE"]


@pytest.mark.parametrize("command", ["show", "intervals"])
def test_rows_can_be_filtered(command: str, run: Run, fill: Callable[..., None]) -> None:
    fill(
        applied("a", 1, 0, cost_center="1"),
        applied("b", 1, 0, cost_center="2", namespace="team-b"),
        applied("c", 1, 0, cost_center="1", namespace="team-c") | {"cluster_name": "other"},
    )

    def namespaces(*words: str) -> list[str]:
        return [found["namespace"] for found in json.loads(run(command, "-o", "json", *words))]

    assert sorted(namespaces()) == ["team-a", "team-b"]
    assert namespaces("-n", "team-b") == ["team-b"]
    assert namespaces("--cost-center", "1") == ["team-a"]
    assert sorted(namespaces("--cost-center", "1", "--all-clusters")) == ["team-a", "team-c"]
    assert namespaces("-n", "'; DROP TABLE lnamespace_billing_events; --") == []
    assert len(namespaces()) == 2


@pytest.mark.parametrize("command", ["show", "intervals", "costs"])
def test_a_command_for_an_unknown_cluster_names_the_known_ones(
    command: str,
    url: str,
    fill: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fill(applied("u", 1, 0))
    bill = tmp_path / "bill.csv"
    bill.write_text(
        "namespace,usage_start_time,usage_end_time,cost,currency\n"
        "team-a,2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,1,CAD\n"
    )
    words = [command, *([str(bill)] if command == "costs" else []), "--ledger-url", url]

    def told(*place: str) -> str:
        assert main(["ledger", *words, *place]) == 0
        return capsys.readouterr().err

    assert "it has project/northamerica-northeast1/cluster-a" in told("--cluster-name", "cluster-b")
    assert "knows nothing of this cluster" in told()
    assert told(*HERE, "--cluster-name", "cluster-a") == ""


@pytest.mark.parametrize("text", NASTY)
def test_text_is_printed_exactly(text: str, run: Run, fill: Callable[..., None]) -> None:
    fill(applied("u", 1, 0, cost_center=text, labels={"k": text}))
    (shown,) = json.loads(run("show", "-o", "json"))
    assert (shown["cost_center"], shown["labels"]) == (text, {"k": text})
    (exact,) = csv.DictReader(io.StringIO(run("show", "-o", "csv", "--exact"), newline=""))
    assert exact["cost_center"] == text
    (safe,) = csv.DictReader(io.StringIO(run("show", "-o", "csv"), newline=""))
    assert restored(safe["cost_center"]) == text
    assert visible(text) in run("show")


def restored(cell: str) -> str:
    """Return what the documentation says to do to a cell."""
    first = "^'(?='*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])"
    return re.sub(f"{first}|(?<=[;\t\r\n])'(?='*[=+\\-@\uff1d\uff0b\uff0d\uff20])", "", cell)


@given(st.text(alphabet="'=+-@\t\r\n;a＝", max_size=6) | st.text())  # noqa: RUF001 - as meant
@example("=cmd|' /C calc'!A0")
@example("'=1")
@example("47;=1+1;")
@example("\t=1\t\t'=1")
@example("47\n=1+1")
def test_csv_cells_cannot_be_run_as_formulas_and_can_be_restored(text: str) -> None:
    """Whatever it takes for the end of a cell: a comma, a semicolon, a tab or a line end."""
    assert not re.match("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]", harmless(text))
    for part in re.split("[;\t\r\n]", harmless(text)):
        assert not re.match("[=+\\-@\uff1d\uff0b\uff0d\uff20]", part)
    assert restored(harmless(text)) == text


@given(st.text())
@example("\x1b[2J\x9b1A\u202e\u2028\x00\ud800")
def test_control_characters_do_not_reach_a_terminal(text: str) -> None:
    assert visible(text).isprintable()


def test_visible_text_is_printed_unchanged() -> None:
    assert visible("Zoë 漢字 [red]x[/red]") == "Zoë 漢字 [red]x[/red]"


def test_on_a_terminal_csv_has_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    write([{"a": "\x1b[2J"}], ["a"], "csv")
    assert "\x1b" not in terminal.getvalue()


def test_markup_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    write([{"a": "[bold]x[/bold] [/nothing]"}], ["a"], "table")
    assert "[bold]x[/bold] [/nothing]" in capsys.readouterr().out


def test_create_table_prints_its_sql_in_a_dry_run(run: Run, tmp_path: Path) -> None:
    shown = run("create-table", "--dry-run")
    assert "CREATE TABLE lnamespace_billing_events" in shown
    assert "CREATE VIEW lnamespace_billing_events_intervals" in shown
    assert not (tmp_path / "deep").exists()


def test_create_table_prints_the_upgrade_of_an_older_table_in_a_dry_run(
    run: Run, tmp_path: Path
) -> None:
    """It printed a CREATE TABLE, which fails where there is one."""
    (tmp_path / "deep").mkdir()
    with closing(sqlite3.connect(tmp_path / "deep" / "ledger.db")) as older:
        columns = ", ".join(f"{name} text" for name in COLUMNS if name not in ("team", "reason"))
        older.execute(f"create table lnamespace_billing_events ({columns})")
        shown = run("create-table", "--dry-run")
        assert "CREATE TABLE" not in shown
        assert shown.count("ALTER TABLE") == 2
        older.executescript(shown)
        older.executescript(run("create-table", "--dry-run"))
    assert "ALTER TABLE" not in run("create-table", "--dry-run")
    assert json.loads(run("intervals", "-o", "json")) == []


def test_create_table_prints_its_sql_without_a_reachable_database(
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = "postgresql://127.0.0.1:1/d"
    assert main(["ledger", "create-table", "--dry-run", "--ledger-url", url]) == 0
    captured = capsys.readouterr()
    assert "CREATE TABLE lnamespace_billing_events" in captured.out
    assert "note: this is for a new table" in captured.err


def test_reading_creates_no_database_file(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "show", "--ledger-url", url]) == 1
    error = capsys.readouterr().err
    assert "lnamespace ledger create-table" in error
    assert not (tmp_path / "deep").exists()


@pytest.fixture
def public() -> Iterator[Path]:
    """Yield a folder that everybody may read, in which there is none of pytest's own."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@contextmanager
def nobody() -> Iterator[None]:
    """Be somebody whom the rights of files hold for: root may write all files."""
    if os.geteuid():
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("command", ["show", "intervals", "status"])
def test_a_read_only_user_reads_the_file_without_changing_it(
    command: str, journal: str, public: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{public}/ledger.db"
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    ledger.append([applied("u", 1, 0)])
    ledger.close()
    file = public / "ledger.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
    file.chmod(0o444)
    public.chmod(0o555)
    before = file.read_bytes()
    main(["ledger", command, "--ledger-url", url])  # Imports what somebody else may not read.
    with nobody():
        assert main(["ledger", command, "--ledger-url", url, "--project-id", "project"]) == 0
    assert "refuses" not in capsys.readouterr().err
    assert file.read_bytes() == before
    assert list(public.iterdir()) == [file]


def test_a_read_only_user_reads_the_file_while_it_is_written(
    public: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{public}/ledger.db"
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    ledger.append([applied("u", 1, 0, cost_center="4711")])
    words = ["ledger", "intervals", "--all-clusters", "--ledger-url", url]
    with nobody():
        assert main(words) == 0
    ledger.close()
    assert "4711" in capsys.readouterr().out


OUTBOX = "records wait in the outbox (kubectl get billingrecords)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show"], OUTBOX),
        (["intervals"], OUTBOX),
        (["create-table"], OUTBOX),
        (["reconcile"], OUTBOX),
        (["replay"], "run it again"),
        (["correct", "u/1/APPLY", "--void", "--reason", "r"], "as a whole or not at all"),
    ],
)
def test_an_unreachable_database_is_an_error_that_says_if_anything_was_written(
    words: list[str], said: str, server: OutboxServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a correction or a replay was to write is in no outbox."""
    server.lnamespaces = [lnamespace("a")]
    url = "postgresql://u:hunter2@127.0.0.1:1/d"
    assert main(["ledger", *words, "--ledger-url", url, "--cluster-name", "c"]) == 1
    error = capsys.readouterr().err
    assert "does not answer" in error
    assert "hunter2" not in error
    assert said in error
    assert (OUTBOX in error) == (said == OUTBOX)


def test_status_shows_the_rows_and_the_outbox(
    run: Run, fill: Callable[..., None], server: OutboxServer
) -> None:
    fill(applied("u", 1, 0))
    server.add(event("a", 2))
    (facts,) = json.loads(run("status", "-o", "json"))
    assert facts["reachable"] is True
    assert (facts["rows"], facts["outbox"]) == (1, 1)
    assert facts["oldest_in_outbox"] == "2026-03-03T00:00:00Z"
    assert facts["stuck_in_outbox"] == "a.2.apply"
    assert "lnamespace_billing_events" in run("status")


def test_status_of_an_unreachable_database_shows_the_outbox(
    server: OutboxServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add(event("a"))
    assert main(["ledger", "status", "--ledger-url", "postgresql://127.0.0.1:1/d"]) == 1
    captured = capsys.readouterr()
    assert re.search(r"^outbox\s+1\s*$", captured.out, re.MULTILINE)
    assert "does not answer" in captured.err


def test_reconcile_prints_the_differences_and_creates_the_records(
    run: Run, fill: Callable[..., None], server: OutboxServer
) -> None:
    fill(applied("gone", 1, 0) | {"cluster_uid": "this-cluster"})
    server.lnamespaces = [lnamespace("a")]
    shown = run("reconcile", "--dry-run")
    assert "missing: team-a a/1/APPLY" in shown
    assert "gone: team-a gone/DELETE" in shown
    assert not server.records
    assert "2 records put into the outbox" in run("reconcile")
    assert set(server.records) == {"a.1.apply", "gone.delete"}
    assert "0 records put into the outbox" in run("reconcile")


def test_reconcile_finds_an_unseen_change_after_a_manual_correction(
    run: Run, fill: Callable[..., None], server: OutboxServer
) -> None:
    """The correction differs from the cluster for good: nothing was compared any more."""
    first = lnamespace("a")
    fill(applied("a", 1, 1, cost_center="1") | {"cluster_uid": "this-cluster"})
    run("correct", "a/1/APPLY", "--cost-center", "8", "--reason", "r", "--by", "b")
    run("correct", "a/1/APPLY/RETRACT", "--cost-center", "9", "--reason", "r", "--by", "b")
    later = msgspec.structs.replace(first.metadata, generation=3)
    server.lnamespaces = [msgspec.structs.replace(first, metadata=later)]
    assert "0 differences" in run("reconcile", "--dry-run")
    changed = msgspec.structs.replace(first.spec.billing, cost_center="2")
    server.lnamespaces = [LNamespace(later, Spec(billing=changed), first.status)]
    assert "changed: team-a a/3/APPLY" in run("reconcile", "--dry-run")


def test_a_dry_run_of_reconcile_makes_no_table(
    url: str, server: OutboxServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.lnamespaces = [lnamespace("a")]
    command = ["ledger", "reconcile", "--dry-run", "--ledger-url", url]
    assert main(command) == 1
    assert "lnamespace ledger create-table" in capsys.readouterr().err
    assert not (tmp_path / "deep").exists()
    (tmp_path / "deep").mkdir()
    sqlite3.connect(tmp_path / "deep" / "ledger.db").close()
    assert main(command) == 1
    assert "lnamespace ledger create-table" in capsys.readouterr().err


def test_a_dry_run_of_reconcile_leaves_an_older_table_unchanged(
    run: Run, server: OutboxServer, tmp_path: Path
) -> None:
    """It gave it columns and views. It compares what the command itself would compare."""
    server.lnamespaces = [lnamespace("a")]
    (tmp_path / "deep").mkdir()
    names = ("event_id", *CLUSTER_COLUMNS, "namespace", "lnamespace_uid", "operation")
    columns = ", ".join(f"{name} text" for name in (*names, "valid_from", "recorded_at"))
    with closing(sqlite3.connect(tmp_path / "deep" / "ledger.db")) as older:
        older.execute(f"create table lnamespace_billing_events (generation int, {columns})")
        before = older.execute("select sql from sqlite_master").fetchall()
        shown = run("reconcile", "--dry-run")
        assert older.execute("select sql from sqlite_master").fetchall() == before
    assert "missing: team-a a/1/APPLY" in shown
    assert "1 differences" in shown


def test_replay_fills_a_new_table(run: Run, server: OutboxServer) -> None:
    server.lnamespaces = [lnamespace("a"), lnamespace("b")]
    server.add(event("c"))
    assert "3 events" in run("replay", "--dry-run")
    assert "3 rows added, 0 were there" in run("replay")
    assert "0 rows added, 3 were there" in run("replay")
    assert len(json.loads(run("show", "-o", "json"))) == 3


def test_replay_writes_only_events_recorded_by_the_controller(
    run: Run, server: OutboxServer
) -> None:
    """One waits for its Namespace, and would pay for what is another's; one has just changed."""
    changed = lnamespace("b")
    origin = Provenance(2, day(2), BillingSource.EXPLICIT)
    billing = Billing(cost_center="2", provenance=origin, superseded=(changed.spec.billing,))
    server.lnamespaces = [
        msgspec.structs.replace(lnamespace("a"), status=Status()),
        msgspec.structs.replace(changed, spec=Spec(billing=billing)),
    ]
    assert "1 events" in run("replay", "--dry-run")
    run("replay")
    assert [row["event_id"] for row in json.loads(run("show", "-o", "json"))] == ["b/1/APPLY"]


def test_a_publisher_that_cannot_run_names_the_missing_option(
    capsys: pytest.CaptureFixture[str], server: OutboxServer
) -> None:
    assert server.url
    assert main(["ledger", "publish", "--ledger-url", "postgresql://127.0.0.1:1/d"]) == 2
    assert "--cluster-name" in capsys.readouterr().err
    logging.getLogger().handlers.clear()


def test_costs_of_a_csv_file_are_summed_by_cost_center(
    run: Run, fill: Callable[..., None], tmp_path: Path
) -> None:
    fill(applied("u", 1, 0, cost_center="=4711"))
    file = tmp_path / "costs.csv"
    file.write_text(
        "namespace,usage_start_time,usage_end_time,cost,currency\n"
        "team-a,2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,2.50,CAD\n"
        "team-b,2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,1.00,CAD\n"
    )
    shown = json.loads(run("costs", str(file), "-o", "json"))
    assert [(line["cost_center"], line["cost"]) for line in shown] == [
        ("=4711", 2.5),
        ("UNALLOCATED", 1.0),
    ]
    assert '"\'=4711"' in run("costs", str(file), "-o", "csv")


def test_a_sum_is_a_number_in_every_format(
    run: Run, fill: Callable[..., None], bill: Callable[..., str]
) -> None:
    """A negative sum was the text '-5.0, and another 491.2599999999999."""
    fill(applied("u", 1, 0, cost_center="-1"))
    file = bill("team-a,490.96", "team-a,0.1", "team-a,0.2", "team-b,-5.50", "team-b,0.5")
    assert '"cost": 491.26' in run("costs", file, "-o", "json")
    rows = list(csv.DictReader(io.StringIO(run("costs", file, "-o", "csv"), newline="")))
    assert [(row["cost_center"], row["cost"]) for row in rows] == [
        ("'-1", "491.26"),
        ("UNALLOCATED", "-5.00"),
    ]
    assert re.search(r"UNALLOCATED +unallocated +CAD +-5\.00\s*$", run("costs", file))


def test_costs_can_be_reported_by_namespace_team_and_day(
    run: Run, fill: Callable[..., None], bill: Callable[..., str]
) -> None:
    fill(applied("u", 1, 0, cost_center="1", team="payments"))
    shown = run("costs", bill("team-a,1", "kube-system,2"), "--by", "namespace,team,day",
                "--shared", "proportional", "-o", "json")  # fmt: skip
    assert json.loads(shown) == [
        {"cost_center": "1", "kind": "payer", "namespace": "team-a", "team": "payments",
         "day": "2026-03-02", "currency": "CAD", "own_cost": 1, "shared_cost": 2, "cost": 3}
    ]  # fmt: skip


def test_omitted_bill_lines_are_counted_with_their_cost(
    fill: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(applied("u", 1, 0, cost_center="1"))
    file = tmp_path / "bill.csv"
    day = "2026-03-02T00:00:00Z,2026-03-02T01:00:00Z"
    file.write_text(
        "namespace,usage_start_time,usage_end_time,cost,currency,cluster_name\n"
        f"team-a,{day},1,CAD,\n"
        f"team-a,{day},2.50,cad,cluster-b\n"
        f"team-a,{day.replace('-03-', '-04-')},4,CAD,\n"
    )
    command = ["ledger", "costs", str(file), "-o", "json", "--ledger-url"]
    place = [*HERE, "--cluster-name", "cluster-a", "--month", "2026-03"]
    url = f"sqlite:///{tmp_path}/deep/ledger.db"
    assert main([*command, url, *place]) == 0
    out, error = capsys.readouterr()
    assert [row["cost"] for row in json.loads(out)] == [1]
    assert "1 lines of other clusters (--all-clusters): 2.50 CAD" in error
    assert "1 lines that are not of the month: 4.00 CAD" in error
    assert main([*command, url, *place, "--all-clusters"]) == 0
    assert sum(row["cost"] for row in json.loads(capsys.readouterr().out)) == 3.5


@pytest.fixture
def bill(tmp_path: Path) -> Callable[..., str]:
    """Return a file of lines of an hour, each a namespace and its cost."""

    def written(*lines: str) -> str:
        file = tmp_path / "bill.csv"
        cells = (line.split(",") for line in lines)
        file.write_text(
            "namespace,usage_start_time,usage_end_time,cost,currency\n"
            + "".join(
                f"{name},2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,{cost},CAD\n"
                for name, cost in cells
            )
        )
        return str(file)

    return written


@pytest.mark.parametrize(
    "words",
    [
        ["--month", "soon"],
        ["--month", "2026-13"],
        ["--month", "0000-01"],
        ["--month", "9999-12"],
        ["--by", "week"],
        ["--currency", "dollars"],
    ],
)
def test_invalid_arguments_of_costs_are_refused(
    words: list[str], bill: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "costs", bill(), "--ledger-url", "sqlite://", *words]) == 2
    assert words[1] in capsys.readouterr().err


NONSENSE = ("nonsense", "postgresql://h:port/d", "://", "mysql://h/d", "sqlite", "")


@pytest.mark.parametrize("url", NONSENSE)
@pytest.mark.parametrize("command", ["status", "show", "events", "intervals", "costs",
                                     "create-table", "replay", "reconcile", "publish"])  # fmt: skip
def test_an_invalid_url_is_an_error_on_one_line(
    command: str,
    url: str,
    server: OutboxServer,
    bill: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert server.url
    file = [bill("team-a,1")] if command == "costs" else []
    assert main(["ledger", command, *file, "--ledger-url", url, "--cluster-name", "c"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --ledger-url")
    assert error.count("\n") == 1
    logging.getLogger().handlers.clear()


@pytest.mark.parametrize("content", [b"", b"no database at all" * 1000])
def test_a_file_that_is_no_database_is_an_error_without_traceback(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ledger.db"
    file.write_bytes(content)
    for command in ("show", "intervals", "status"):
        assert main(["ledger", command, "--ledger-url", f"sqlite:///{file}"]) == 1
        assert "error: the ledger's database refuses" in capsys.readouterr().err
    assert main(["ledger", "show", "--ledger-url", f"sqlite:///{tmp_path}"]) == 1
    assert "error: the ledger's database" in capsys.readouterr().err


def test_status_needs_no_cluster(
    run: Run, fill: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An analyst has the database, and no kubeconfig."""
    fill(applied("u", 1, 0))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (facts,) = json.loads(run("status", "-o", "json"))
    assert (facts["reachable"], facts["rows"]) == (True, 1)
    assert facts["outbox"].startswith("left out, for it is in the cluster")


def test_csv_output_has_the_recording_time_and_the_uid(run: Run, fill: Callable[..., None]) -> None:
    fill(applied("u", 1, 0))
    for command in ("show", "events", "intervals"):
        (found,) = csv.DictReader(io.StringIO(run(command, "-o", "csv"), newline=""))
        assert found["lnamespace_uid"] == "u"
        assert found["recorded_at"] == "2026-03-01T00:00:00Z"
        assert (found["cluster_uid"], found["corrects"]) == ("", "")


def test_a_closed_pipe_gives_no_traceback(run: Run, fill: Callable[..., None], url: str) -> None:
    fill(*(applied(f"u{n}", 1, 0, namespace=f"team-{n}") for n in range(3000)))
    assert run("status")
    with subprocess.Popen(
        [sys.executable, "-m", "lnamespace.cli", "ledger", "show", "-o", "json",
         "--all-clusters", "--ledger-url", url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


def test_an_unreadable_cost_file_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"\xff\xfe")
    for file in (bad, tmp_path / "none.csv"):
        assert main(["ledger", "costs", str(file), "--ledger-url", "sqlite://"]) == 1
        assert f"cannot read {file}" in capsys.readouterr().err


def test_a_row_has_every_column() -> None:
    record: BillingRecord = event("a")
    names = {
        column.name for column in Ledger.from_settings(Settings(ledger_url="sqlite://")).table.c
    }
    assert set(to_row(record, ClusterIdentity())) == names
