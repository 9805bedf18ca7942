"""`lnamespace ledger correct`: the past is corrected by a row that says who and why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lnamespace.cli import main
from lnamespace.ledger.database.corrections import history_of
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.settings import Settings

from tests.unit.support.engines import DATABASES
from tests.unit.support.ledger_contract import applied, day, ended, spans

WHO = ("--reason", "ticket 7", "--by", "fin@example.com")
Correct = Callable[..., tuple[int, str]]


DECIDED_HERE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
"""Of what is decided before a statement is sent, which is alike in every database."""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    made = DATABASES[request.param](tmp_path)
    with_rows = Ledger.from_settings(Settings(ledger_url=made))
    rows = [applied("u", 1, 0, cost_center="1", team="red"), applied("u", 2, 4, cost_center="2")]
    with_rows.append([*rows, ended("u", 2, 8)])
    with_rows.append([applied("alive", 1, 0, namespace="z", cost_center="3")])
    with_rows.close()
    return made


@pytest.fixture
def correct(url: str, capsys: pytest.CaptureFixture[str]) -> Correct:
    def command(*words: str) -> tuple[int, str]:
        code = main(["ledger", "correct", *words, "--ledger-url", url])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return command


def known(url: str) -> list[tuple[str, float, float | None]]:
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    try:
        return spans(ledger)
    finally:
        ledger.close()


def events(url: str) -> list[dict[str, Any]]:
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    try:
        return ledger.read(ledger.events())
    finally:
        ledger.close()


BEFORE = [("1", 0, 4), ("2", 4, 8), ("3", 0, None)]


def test_a_correction_replaces_the_cost_center_of_a_deleted_lnamespace(
    url: str, correct: Correct
) -> None:
    code, said = correct("u/1/APPLY", "--cost-center", "9", *WHO)
    assert code == 0, said
    assert known(url) == [("9", 0, 4), ("2", 4, 8), ("3", 0, None)]
    (made,) = (row for row in events(url) if row["corrects"])
    assert (made["changed_by"], made["reason"]) == ("fin@example.com", "ticket 7")
    assert (made["team"], made["billing_source"]) == ("red", "Correction")


def test_the_intervals_view_shows_the_reason_of_a_correction(url: str, correct: Correct) -> None:
    correct("u/1/APPLY", "--cost-center", "9", *WHO)
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    found = {row["cost_center"]: row["reason"] for row in ledger.read(ledger.intervals())}
    ledger.close()
    assert found == {"9": "ticket 7", "2": None, "3": None}


def test_a_dry_run_shows_the_correction_and_writes_nothing(url: str, correct: Correct) -> None:
    code, said = correct("u/1/APPLY", "--cost-center", "9", "--dry-run", *WHO)
    assert code == 0
    assert "nothing was written" in said
    before, after = said.split("after:")
    assert ("  9  " in after, "  9  " in before) == (True, False)
    assert known(url) == BEFORE


def test_the_time_of_a_deletion_is_corrected(url: str, correct: Correct) -> None:
    assert correct("u/DELETE", "--at", "2026-03-07T00:00:00Z", *WHO)[0] == 0
    assert known(url) == [("1", 0, 4), ("2", 4, 6), ("3", 0, None)]
    assert correct("u/DELETE/1", "--at", "2026-03-11T12:00:00Z", *WHO)[0] == 0
    assert known(url) == [("1", 0, 4), ("2", 4, 10.5), ("3", 0, None)]
    assert {row["event_id"] for row in events(url)} >= {"u/DELETE", "u/DELETE/1", "u/DELETE/2"}


@DECIDED_HERE
@pytest.mark.parametrize(
    "at", ["2026-03-07T00:00:00Z", "2026-03-07 00:00 UTC", "2026-03-06T20:00:00-04:00"]
)
def test_a_time_is_taken_with_any_zone(url: str, correct: Correct, at: str) -> None:
    """One without a zone was silently taken for UTC, which was hours off."""
    assert correct("u/DELETE", "--at", at, *WHO)[0] == 0
    assert known(url)[1] == ("2", 4, 6)


def test_an_event_that_did_not_happen_is_voided(url: str, correct: Correct) -> None:
    assert correct("u/2/APPLY", "--void", *WHO)[0] == 0
    assert known(url) == [("1", 0, 8), ("3", 0, None)]


def test_a_correction_can_be_corrected(url: str, correct: Correct) -> None:
    correct("u/1/APPLY", "--cost-center", "9", *WHO)
    code, said = correct("u/1/APPLY", "--cost-center", "8", *WHO)
    assert code == 1
    assert "by u/1/APPLY/RETRACT: correct that" in said
    assert correct("u/1/APPLY/RETRACT", "--cost-center", "8", *WHO)[0] == 0
    assert known(url)[0] == ("8", 0, 4)


@DECIDED_HERE
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("u/9/APPLY", "--void"), "no event 'u/9/APPLY'"),
        (("u/1/APPLY",), "--void"),
        (("u/1/APPLY", "--void", "--team", "x"), "--void"),
        (("u/DELETE", "--void"), "only its time"),
        (("u/DELETE", "--cost-center", "1"), "only its time"),
        (("alive/1/APPLY", "--void"), "has not ended"),
        (("u/1/APPLY", "--at", "2999-01-01T00:00:00Z"), "in the future"),
    ],
)
def test_an_impossible_correction_is_refused_and_nothing_is_written(
    url: str, correct: Correct, words: tuple[str, ...], said: str
) -> None:
    code, text = correct(*words, *WHO)
    assert (code, said in text) == (1, True), text
    assert known(url) == BEFORE


@DECIDED_HERE
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("u/1/APPLY", "--at", "yesterday"), "is not a time"),
        (("u/DELETE", "--at", "2026-03-07T18:00"), "18:00 names no time zone: write it with a Z"),
        (("u/DELETE", "--at", "2026-03-07 18:00:00"), "names no time zone"),
        (("u/1/APPLY", "--cost-center", " 9"), "--cost-center:"),
        (("u/1/APPLY", "--cost-center", ""), "--cost-center:"),
        (("u/1/APPLY", "--cost-center", "SHARED"), "--cost-center:"),
        (("u/1/APPLY", "--team", "\x1b[2J"), "--team:"),
    ],
)
def test_an_invalid_value_of_a_correction_exits_with_2(
    url: str, correct: Correct, words: tuple[str, ...], said: str
) -> None:
    code, text = correct(*words, *WHO)
    assert (code, said in text) == (2, True), text
    assert known(url) == BEFORE


def test_a_correction_requires_an_author_and_a_reason(url: str, correct: Correct) -> None:
    code, said = correct("u/1/APPLY", "--cost-center", "9")
    assert (code, "--reason" in said) == (2, True)
    assert known(url) == BEFORE


@pytest.mark.parametrize(
    ("event", "mine", "theirs"),
    [
        ("u/1/APPLY", ("--cost-center", "8"), ("--cost-center", "9")),
        ("u/DELETE", ("--at", "2026-03-08T00:00:00Z"), ("--at", "2026-03-07T00:00:00Z")),
    ],
)
def test_the_second_of_two_concurrent_corrections_is_refused(
    url: str,
    correct: Correct,
    monkeypatch: pytest.MonkeyPatch,
    event: str,
    mine: tuple[str, ...],
    theirs: tuple[str, ...],
) -> None:
    """It saw its own correction under `after`, and exit code 0."""

    def first(ledger: Ledger, asked: str) -> list[dict[str, Any]]:
        found = history_of(ledger, asked)
        monkeypatch.undo()
        assert correct(event, *theirs, *WHO)[0] == 0
        return found

    monkeypatch.setattr("lnamespace.ledger.commands.correct.history_of", first)
    code, said = correct(event, *mine, *WHO)
    assert (code, f"{event} was corrected meanwhile" in said) == (1, True), said
    assert correct(event, *mine, *WHO)[0] == 1
    assert known(url)[:2] in ([("9", 0, 4), ("2", 4, 8)], [("1", 0, 4), ("2", 4, 6)])


@pytest.fixture
def successor(url: str) -> list[tuple[str, float, float | None]]:
    """One lives that has the name of the one that is gone; returns all spans."""
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    ledger.append([applied("w", 1, 9, cost_center="4")])
    ledger.close()
    return known(url)


@DECIDED_HERE
@pytest.mark.parametrize(
    ("event", "at", "said"),
    [
        ("w/1/APPLY", -2, "nobody would pay any more for LNamespace w"),
        (
            "w/1/APPLY",
            4,
            "u/2/APPLY would have no time left; --at may lie after 2026-03-05",
        ),
        ("u/2/APPLY", 10, "w/1/APPLY would begin at 2026-03-11T00:00:00Z"),
        (
            "u/2/APPLY",
            8.5,
            "lie after 2026-03-01T00:00:00Z and before 2026-03-09T00:00:00Z",
        ),
        ("u/2/APPLY", -1, "u/1/APPLY would have no time left"),
        (
            "u/1/APPLY",
            5,
            "u/2/APPLY would begin at 2026-03-06T00:00:00Z; --at may lie before",
        ),
        ("u/DELETE", -1, "u/1/APPLY would have no time left"),
        (
            "u/DELETE",
            3,
            "u/2/APPLY would have no time left; --at may lie after 2026-03-05",
        ),
        ("u/DELETE", 9.5, "u/DELETE would not take effect then"),
    ],
)
def test_a_time_that_conflicts_with_another_event_is_refused(
    url: str,
    correct: Correct,
    successor: list[tuple[str, float, float | None]],
    event: str,
    at: float,
    said: str,
) -> None:
    """It was written, and a living LNamespace had no payer, or the row changed nothing."""
    code, text = correct(event, "--at", day(at).isoformat(), *WHO)
    assert (code, said in text) == (1, True), text
    assert known(url) == successor
    assert len(events(url)) == 5


@pytest.mark.usefixtures("successor")
def test_a_time_between_the_neighbouring_events_is_accepted(url: str, correct: Correct) -> None:
    for event, at in (("w/1/APPLY", 8.5), ("u/2/APPLY", 3), ("u/DELETE", 8.25), ("u/1/APPLY", -1)):
        code, text = correct(event, "--at", day(at).isoformat(), *WHO)
        assert code == 0, text
    assert known(url)[:3] == [("1", -1, 3), ("2", 3, 8.25), ("4", 8.5, None)]


@pytest.mark.usefixtures("successor")
def test_a_wrong_time_accepted_by_an_earlier_version_can_be_corrected(
    url: str, correct: Correct
) -> None:
    wrong = applied("u", 2, 10, cost_center="2")
    row = {"event_id": "u/2/APPLY/RETRACT", "operation": "RETRACT", "corrects": "u/2/APPLY"}
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    ledger.append([wrong | row])
    ledger.close()
    code, text = correct("u/2/APPLY/RETRACT", "--at", day(4).isoformat(), *WHO)
    assert code == 0, text
    assert known(url)[:3] == [("1", 0, 4), ("2", 4, 8), ("4", 9, None)]


def test_every_column_has_a_comment_in_postgresql(tmp_path: Path) -> None:
    ledger = Ledger.from_settings(Settings(ledger_url=DATABASES["postgresql"](tmp_path)))
    ledger.prepare()
    with ledger.engine.connect() as connection:
        query = (
            "select c.relname, count(col_description(c.oid, a.attnum)), count(*) "
            "from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 "
            "where c.relname like 'lnamespace_billing_events%%' and c.relkind in ('r', 'v') "
            "and c.relname not like '%%version' group by 1 order by 1"
        )
        found = [tuple(row) for row in connection.exec_driver_sql(query)]
    ledger.close()
    assert [described == columns for _, described, columns in found] == [True, True]
