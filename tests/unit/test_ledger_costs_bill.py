"""A bill is read as it comes, or refused with its line: nothing in it is guessed."""

import csv
import io
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.errors import SettingsError
from lnamespace.ledger.costs.allocation import Line
from lnamespace.ledger.costs.bill import BillFormat, open_bill, read_lines

HEADING = "namespace,usage_start_time,usage_end_time,cost,currency"
EARLIEST = "0001-01-01T00:00:00+23:00"
FINE = "team-a,2026-11-01T00:00:00Z,2026-11-01T01:00:00Z,1.5,CAD"
CREDITS = '[{"name":"x","amount":-0.25},{"amount":"-0.25"}]'
HERE = ("here", "there", "main")
HOUR = 3_600_000_000


def read(text: str | Iterable[str], bill: BillFormat | None = None) -> list[Line]:
    lines = io.StringIO(text, newline="") if isinstance(text, str) else iter(text)
    return list(read_lines(iter(lines), bill or BillFormat(HERE)))


def only(text: str, bill: BillFormat | None = None) -> Line:
    (line,) = read(text, bill)
    return line


def written(*rows: Iterable[str], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


PLAIN = only(f"{HEADING}\n{FINE}\n")


def test_a_simple_bill_line_is_parsed() -> None:
    assert (
        Line(HERE, "team-a", PLAIN.start, PLAIN.start + HOUR, Decimal("1.5"), "CAD", month="")
        == PLAIN
    )


@pytest.mark.parametrize(
    "text",
    [
        # Excel writes a byte order mark; `opened` removes it, see below.
        f"{HEADING}\r\n{FINE}\r\n\r\n",
        f"{HEADING.upper()}\n{FINE}\n",
        f"Namespace, Usage Start Time ,usage.end.time,COST,Currency Code\n{FINE}\n",
        f"{HEADING}\n{FINE.replace('T', ' ').replace('Z', ' UTC')}\n",
        f"{HEADING}\n{FINE.replace('Z', '')}\n",
        f"{HEADING}\n{FINE.replace(':00Z', 'Z')}\n",
        f"{HEADING}\n{FINE.replace('T00', 'T02').replace('T01', 'T03').replace('Z', '+02:00')}\n",
        f"{HEADING}\n{FINE.replace('CAD', 'cad ')}\n",
        f"{HEADING}\n{FINE.replace('1.5', '1.50')}\n",
        f"{HEADING}\n{FINE.replace('1.5', '15E-1')}\n",
        f"{HEADING};\n{FINE};\n".replace(",", ";"),
        f"{HEADING}\n{FINE}\n".replace(",", "\t"),
        f"{HEADING}\n{FINE}\n".replace(",", ";").replace("1.5", "1,5"),
        f'"{HEADING}"\n"{FINE}"\n'.replace(",", '","'),
        written(
            ["k8s-namespace", "usage_start_time", "usage_end_time", "cost", "credits", "currency"],
            ["team-a", *FINE.split(",")[1:3], "2", CREDITS, "CAD"],
        ),
        written(
            ["labels", "usage_start_time", "usage_end_time", "cost", "currency"],
            [
                '[{"key":"k8s-namespace","value":"team-a"},{"key":"goog-k8s-cluster-name","value":"main"}]',
                *FINE.split(",")[1:],
            ],
        ),
    ],
)  # fmt: skip
def test_bills_in_different_formats_are_read_alike(text: str) -> None:
    assert only(text) == PLAIN


def test_an_opencost_csv_is_parsed() -> None:
    heading = "Date,Namespace,ControllerKind,CPUCost,RAMCost,TotalCost"
    text = f"{heading}\n2026-11-01,team-a,deployment,0.5,1,1.5\n"
    line = only(text, BillFormat(HERE, currency="USD"))
    assert (line.end - line.start, line.start) == (24 * HOUR, PLAIN.start)
    assert (line.cost, line.currency) == (Decimal("1.5"), "USD")
    assert only(text).currency == ""


def test_a_google_billing_export_is_parsed() -> None:
    labels = [
        {"key": "k8s-namespace", "value": "team-a"},
        {"key": "goog-k8s-cluster-name", "value": "main"},
        {"key": "goog-k8s-cluster-location", "value": "there"},
    ]
    heading = ["invoice", "project", "labels", "usage_start_time", "usage_end_time", "cost",
               "cost_at_list", "currency", "location"]  # fmt: skip
    cells = ['{"month":"202611"}', '{"id":"here","name":"x"}', str(labels).replace("'", '"'),
             "2026-11-01 00:00:00 UTC", "2026-11-01 01:00:00.000000 UTC",
             "1.5", "2", "CAD", "eu"]  # fmt: skip
    assert only(written(heading, cells)) == PLAIN._replace(month="202611")
    flat = ["invoice.month", "project.id", "labels.k8s-namespace", *heading[3:6], "currency",
            "labels.goog-k8s-cluster-name", "goog_k8s_cluster_location"]  # fmt: skip
    row = ["202611", "here", "team-a", *cells[3:6], "CAD", "main", "there"]
    assert only(written(flat, row)) == PLAIN._replace(month="202611")
    assert only(written(flat, [*row[:-2], "", ""])).cluster is None


def test_a_line_without_a_cluster_is_of_this_cluster() -> None:
    lines = read(f"{HEADING},project_id\n{FINE},\n{FINE},other\n")
    assert [line.cluster for line in lines] == [HERE, ("other", "there", "main")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n", "is no CSV"),
        ("\x00\x01,cost\n", "is no CSV"),
        ("namespace,cost\n", "lacks the columns usage_start_time, usage_end_time"),
        ("one,two\nthree,four\n", "lacks the columns namespace, usage_start_time"),
        (f"{HEADING},net_cost\n{FINE},1\n", "two columns for the cost"),
        (f"{HEADING},labels.key,labels.value\n", "counts its cost several times"),
        (f"{HEADING}\n{FINE}\n{FINE.replace('1.5', 'much')}\n", "line 3: 'much' is not a number"),
        (f"{HEADING}\n{FINE.replace('1.5', 'nan')}\n", "line 2: 'nan' is not a number"),
        (f"{HEADING}\n{FINE.replace('1.5', '')}\n", "line 2: '' is not a number"),
        (f"{HEADING}\n{FINE.replace('1.5', '１.5')}\n", "is not a number"),  # noqa: RUF001
        (f"{HEADING}\n{FINE.replace('1.5', '1E999999999')}\n", "is not a number"),
        (f"{HEADING}\n{FINE.replace('1.5', '1E+99')}\n", "line 2: '1E.99' is too large"),
        (f"{HEADING}\n{FINE.replace('1.5', '1E-99')}\n", "line 2: '1E-99' is too large or too"),
        (f"{HEADING}\n{FINE.replace('2026-11-01T00:00:00Z', EARLIEST)}\n", "is not a time"),
        (f'{HEADING},credits\n{FINE},"[{{""value"":-3}}]"\n', "not a list of structs with amount"),
        (f"{HEADING}\n{FINE.replace('1.5', '$1.5')}\n", "is not a number"),
        (f"{HEADING}\n{FINE.replace('1.5', '(1.5)')}\n", "is not a number"),
        (f"{HEADING}\n{FINE.replace('T00', 'T01')}\n", "line 2: usage ends at .* not after"),
        (f"{HEADING}\n{FINE.replace('2026-11-01T01', 'soon')}\n", "line 2: .* is not a time"),
        (f"{HEADING}\n{FINE.replace('2026-11-01T01', '2026-11-31T01')}\n", "is not a time"),
        (f"{HEADING}\n{FINE.replace('2026-11-01T00', '11/01/2026 00')}\n", "is not a time"),
        (f"{HEADING}\n{FINE.replace('2026-11-01T00', '0206-11-01T00')}\n", "longer than ten years"),
        (f"{HEADING}\n{FINE.replace('CAD', '40')}\n", "line 2: '40' is not a currency"),
        (f"{HEADING}\nteam-a\n", "line 2: there are 1 cells, where the heading has 5"),
        (f'{HEADING}\n"{"x" * 200_000}"\n', "line 2: field larger"),
        (f'{HEADING}\n{FINE}\n"team-b,\n', "line 3: unexpected end of data"),
        ("Date,Namespace,TotalCost\n1.11.2026,a,1\n", "line 2: '1.11.2026' is not a day"),
        (written(["labels", *HEADING.split(",")[1:]], ["[[", *FINE.split(",")[1:]]), "not JSON"),
        (written(["labels", *HEADING.split(",")[1:]], ["[1]", *FINE.split(",")[1:]]), "not a list"),
    ],
)  # fmt: skip
def test_an_invalid_bill_is_refused_with_the_line_number(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read(text)


def test_an_unquoted_decimal_comma_is_refused() -> None:
    """12,40 was an amount of 12 in the currency "40"."""
    with pytest.raises(SettingsError, match=r"line 2: there are 6 cells.*decimal comma"):
        read(f"{HEADING}\n{FINE.replace('1.5', '12,40')}\n")


@pytest.mark.parametrize("unclear", ["1.234", "1,234", "-12.345"])
def test_an_ambiguous_number_is_refused_until_the_decimal_mark_is_known(unclear: str) -> None:
    text = f"{HEADING}\n{FINE}\n".replace(",", ";")
    with pytest.raises(SettingsError, match=r"line 2: .* may be a thousand"):
        read(text.replace("1.5", unclear))
    point, mark = ("point", ".") if "." in unclear else ("comma", ",")
    told = only(text.replace("1.5", unclear), BillFormat(HERE, decimal=point))
    assert told.cost == Decimal(unclear.replace(",", "."))
    learned = text.replace("1.5", f"1{mark}5") + text.splitlines()[1].replace("1.5", unclear)
    assert read(learned)[1].cost == told.cost


def test_a_file_that_mixes_decimal_marks_is_refused() -> None:
    text = f"{HEADING}\n{FINE}\n{FINE.replace('1.5', '1,5')}\n"
    semicolons = f"{HEADING}\n{FINE}\n".replace(",", ";") + FINE.replace(",", ";").replace(
        "1.5", "1,5"
    )
    with pytest.raises(SettingsError, match="line 3: there are 6 cells"):
        read(text)
    with pytest.raises(SettingsError, match="line 3: '1,5' has a decimal comma, where this file"):
        read(semicolons)


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=9, min_value=-(10**9), max_value=10**9
    )
)
def test_no_digit_of_an_amount_is_lost(amount: Decimal) -> None:
    assert only(f"{HEADING}\n{FINE.replace('1.5', format(amount, 'f'))}\n").cost == amount


def test_a_file_is_text_in_utf8_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "bill.csv"
    for mark in (b"", b"\xef\xbb\xbf"):
        file.write_bytes(mark + f"{HEADING}\n{FINE}\n".encode())
        with open_bill(str(file)) as text:
            assert list(read_lines(text, BillFormat(HERE))) == [PLAIN]


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", f"{HEADING}\n{FINE}\n".encode("utf-16"), f"{HEADING}\n\xe9,".encode("latin-1")],
)
def test_other_encodings_are_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bill.csv"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="is not text in UTF-8"), open_bill(str(file)) as text:
        list(read_lines(text, BillFormat(HERE)))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(SettingsError, match="cannot read"), open_bill(str(name)):
            pass
