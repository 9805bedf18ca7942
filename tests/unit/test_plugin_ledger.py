"""Who pays, as `kubectl lns ledger` shows it: from the spec, and from what waits for the ledger."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.ledger.commands import output
from lnamespace.plugins.views.ledger import (
    as_json,
    charged_namespaces,
    harmless,
    payments,
    table,
    write_csv,
)

PRESENT = {
    "costCenter": "2",
    "team": "payments",
    "labels": {"product": "checkout"},
    "provenance": {
        "generation": 5,
        "effectiveAt": "2026-06-01T12:00:00.123456Z",
        "changedBy": "alice",
        "source": "Group",
        "group": "payments@example.com",
    },
}
FORMER = {
    "costCenter": "1",
    "provenance": {"generation": 3, "effectiveAt": "2026-05-01T12:00:00Z", "source": "Default"},
}
FIRST = {
    "lnamespaceUID": "u",
    "generation": 1,
    "validFrom": "2026-04-01T12:00:00Z",
    "costCenter": "0",
    "changedBy": "bob",
    "billingSource": "Explicit",
}


def lns(recorded: int = 0, **billing: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": "u", "generation": 7},
        "spec": {"billing": billing} if billing else {},
        "status": {"recorded": {"generation": recorded}} if recorded else {},
    }


def record(**more: Any) -> dict[str, Any]:
    return {"spec": {**FIRST, **more}}


def shown(lns: dict[str, Any], *records: dict[str, Any]) -> list[tuple[str, str, bool, str]]:
    return [
        (row.texts["cost_center"], row.why, row.present, row.ledger)
        for row in payments(lns, records)
    ]


def test_payments_are_listed_once_in_chronological_order() -> None:
    assert shown(lns(3, **PRESENT, superseded=[FORMER]), record()) == [
        ("0", "as asked for", False, "waiting"),
        ("1", "by default", False, "written"),
        ("2", "the entry of group payments@example.com", True, "due"),
    ]


def test_a_payment_with_a_pending_record_is_waiting() -> None:
    assert shown(lns(5, **PRESENT), record(generation=5))[0][3] == "waiting"


def test_records_of_other_lnamespaces_are_not_shown() -> None:
    assert len(shown(lns(5, **PRESENT), record(lnamespaceUID="v"))) == 1


def test_a_pending_deletion_is_not_shown_as_a_payment() -> None:
    assert shown(lns(5, **PRESENT), record(operation="ENDING", generation=7)) == shown(
        lns(5, **PRESENT)
    )


def test_payments_are_shown_from_the_spec_without_access_to_the_records() -> None:
    assert payments(lns(5, **PRESENT), None)[0].ledger == "recorded"
    assert payments(lns(4, **PRESENT), None)[0].ledger == "due"


def test_an_lnamespace_without_provenance_has_one_payment_without_source() -> None:
    row = payments(lns(costCenter="1"), ())[0]
    assert (row.generation, row.since, row.source, row.why) == (7, "", "", "")
    assert payments(lns(), ())[0].texts["cost_center"] == ""


def test_placeholders_and_control_characters_in_a_group_name_are_not_interpreted() -> None:
    provenance = {**PRESENT["provenance"], "group": "{group}\x1b[2J"}  # type: ignore[dict-item]
    rows = payments(lns(5, **PRESENT | {"provenance": provenance}), ())
    assert rows[0].why == "the entry of group {group}\x1b[2J"
    assert "\x1b" not in table(rows)


def test_the_table_shows_all_columns_of_a_payment() -> None:
    line = table(payments(lns(5, **PRESENT), ())).splitlines()[1]
    assert re.split(r" {2,}", line) == [
        "2026-06-01T12:00:00Z",
        "2",
        "<none>",
        "payments",
        "<none>",
        "product=checkout",
        "alice",
        "the entry of group payments@example.com",
        "written",
    ]


def test_a_long_text_is_cut_in_the_table() -> None:
    line = table(payments(lns(5, **PRESENT | {"costCenter": "R" * 300}), ())).splitlines()[1]
    assert f"  {'R' * 61}...  " in line


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=2))
def test_texts_are_preserved_in_json_output(text: str, labels: dict[str, str]) -> None:
    rows = payments(lns(5, **PRESENT | {"costCenter": text, "labels": labels}), ())
    (found,) = json.loads(as_json(rows))
    assert (found["cost_center"], found["labels"]) == (text, labels)
    assert as_json(rows).isascii()


def read_back(text: str, capsys: pytest.CaptureFixture[str], *, exact: bool) -> str:
    write_csv(payments(lns(5, **PRESENT | {"costCenter": text}), ()), exact)
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))
    assert json.loads(row["labels"]) == {"product": "checkout"}
    return row["cost_center"]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "'=1", "\t=1", "a,b", 'a"b', "a\nb", "ünï", "'; DROP TABLE x", "-1", "'a", "a;=1"],
)
def test_csv_output_can_be_parsed_by_a_csv_reader(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_back(text, capsys, exact=True) == text
    safe = read_back(text, capsys, exact=False)
    assert safe == output.harmless(text)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(st.text(alphabet="'=-\t\n;a", max_size=6) | st.text())
def test_cells_are_escaped_as_the_ledger_command_does(text: str) -> None:
    assert harmless(text) == output.harmless(text)


def test_the_payers_of_an_lcluster_are_shown_for_each_of_its_namespaces() -> None:
    """A namespace costs from its creation on; who paid before that did not pay for it."""
    lcluster = lns(5, **PRESENT, superseded=[FORMER])
    lcluster["status"]["charged"] = [
        {"name": "a-old", "uid": "v", "created": "2026-05-20T12:00:00Z"},
        {"name": "a-new", "uid": "w", "created": "2026-07-01T12:00:00Z"},
    ]
    waits = record(lnamespaceUID="w", generation=5, validFrom="2026-07-01T12:00:00Z")
    rows = [row for each in charged_namespaces(lcluster) for row in payments(each, [waits])]
    assert [(row.namespace, row.since, row.texts["cost_center"], row.ledger) for row in rows] == [
        ("a-old", "2026-05-20T12:00:00Z", "1", "written"),
        ("a-old", "2026-06-01T12:00:00.123456Z", "2", "written"),
        ("a-new", "2026-07-01T12:00:00Z", "2", "waiting"),
    ]
    shown = table(rows, named=True).splitlines()
    assert shown[0].split()[:2] == ["NAMESPACE", "SINCE"]
    assert shown[3].split()[:3] == ["a-new", "2026-07-01T12:00:00Z", "2"]


def test_an_lcluster_without_provenance_or_namespaces_has_a_ledger() -> None:
    lcluster = lns(costCenter="1")
    assert not list(charged_namespaces(lcluster))
    lcluster["status"] = {"charged": [{"name": "a-b", "uid": "v"}]}
    (each,) = charged_namespaces(lcluster)
    assert [(row.namespace, row.since) for row in payments(each, None)] == [("a-b", "")]
