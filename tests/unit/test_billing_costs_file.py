"""A file of costs is charged by the rules of the analyst's query, or refused with its line."""

import csv
import io

import pytest
from lnamespace.billing.costs_file import REQUIRED, read_lines, totals
from lnamespace.billing.ledger import Place
from lnamespace.errors import SettingsError

from tests.ledger.month import HOUR, LINES, SINCE, UNTIL, expected, told
from tests.ledger.rows import PLACE

HEADING = ",".join(REQUIRED)
FINE = "team-a,2026-11-01T00:00:00Z,2026-11-01T01:00:00Z,1.5,CAD"


def month() -> io.StringIO:
    """The same month as the other joins have, as a file that says another cluster where it must."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([*REQUIRED, "cluster_name"])
    for line in LINES:
        cluster = "" if line.cluster == PLACE.cluster_name else line.cluster
        span = (line.start.isoformat(), (line.start + HOUR).isoformat())
        writer.writerow([line.namespace, *span, line.net, line.currency, cluster])
    file.seek(0)
    return file


def test_a_file_is_charged_as_the_export_is() -> None:
    found = totals(told(), read_lines(month(), PLACE), SINCE, UNTIL)
    charged = {(row["cost_center"], row["currency"]): row["cost"] for row in found}
    assert charged == pytest.approx(expected())


def test_without_a_span_all_counts() -> None:
    assert len(totals(told(), read_lines(month(), PLACE))) == len(expected())
    assert totals(told(), []) == []


def test_a_line_says_its_cluster_or_it_is_this_one() -> None:
    text = f"{HEADING},project_id\n{FINE},\n{FINE},other\n"
    lines = read_lines(io.StringIO(text), Place("here", "there", "main"))
    assert [line["project_id"] for line in lines] == ["here", "other"]
    assert [line["cluster_name"] for line in lines] == ["main", "main"]


def test_times_without_a_zone_are_utc() -> None:
    (with_zone,) = read_lines([HEADING, FINE], PLACE)
    (without,) = read_lines([HEADING, FINE.replace("Z", "")], PLACE)
    assert with_zone == without


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the columns namespace"),
        ("namespace,cost\n", "lacks the columns usage_start_time"),
        (f"{HEADING}\n{FINE}\n{FINE.replace('1.5', 'much')}\n", "line 3: could not convert"),
        (f"{HEADING}\n{FINE.replace('1.5', 'nan')}\n", "line 2: cost must be a number"),
        (f"{HEADING}\n{FINE.replace('T00', 'T01')}\n", "line 2: usage_end_time must be after"),
        (f"{HEADING}\n{FINE.replace('2026-11-01T01', 'soon')}\n", "line 2: Invalid isoformat"),
        (f"{HEADING}\nteam-a\n", "line 2"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_lines(io.StringIO(text), PLACE)
