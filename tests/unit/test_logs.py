"""A record is a line, whatever stands in its fields."""

import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.runtime import logs

log = logging.getLogger("lnamespace.test")
Stderr = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave the loggers as they were."""
    root, kopf = logging.getLogger(), logging.getLogger("kopf")
    handlers, level, kopf_level = root.handlers[:], root.level, kopf.level
    # Configuring closes the handlers that it finds; those of the test runner are not ours.
    root.handlers[:] = []
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    kopf.setLevel(kopf_level)


ODD = "x\ny\r\nz\u2028\u2029\x85\x0b\x0c\x1b[31m\0"


def formatted(value: object) -> str:
    record = log.makeRecord(log.name, logging.INFO, "", 0, "said", (), None, extra={"who": value})
    return logs.TextFormatter("%(levelname)s %(message)s").format(record)


@given(st.one_of(st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.text())))
@example(ODD)
@example([ODD])
def test_no_value_of_a_field_can_start_a_new_line(value: object) -> None:
    line = formatted(value)
    assert line.splitlines() == [line]
    assert line.startswith("INFO said who=")
    assert line.isprintable()


def test_fields_follow_the_message() -> None:
    assert formatted("alice") == "INFO said who='alice'"


def test_the_text_format_logs_one_readable_line_per_record(capsys: Stderr) -> None:
    logs.configure("text", "info")
    log.info("caches are complete", extra={"lnamespaces": 3})
    log.debug("not shown")
    line = capsys.readouterr().err
    assert line.endswith("INFO    caches are complete lnamespaces=3\n")
    assert line.count("\n") == 1


def test_the_json_format_logs_one_object_per_record(capsys: Stderr) -> None:
    logs.configure("json", "warning")
    log.warning("put off", extra={"key": ODD, "retryable": True})
    log.info("not shown")
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    assert record.pop("timestamp")
    assert record == {
        "level": "WARNING",
        "logger": "lnamespace.test",
        "message": "put off",
        "key": ODD,
        "retryable": True,
    }


def test_an_exception_is_one_json_record_with_its_traceback(capsys: Stderr) -> None:
    logs.configure("json", "info")
    try:
        raise ValueError(ODD)  # noqa: TRY301 - raised to be logged
    except ValueError:
        log.exception("reconcile failed", extra={"key": "a"})
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    assert record["key"] == "a"
    assert "ValueError" in record["exc_info"]


def test_the_fields_of_an_exception_are_on_its_first_line(capsys: Stderr) -> None:
    """Whoever searches for the message finds the key beside it, not below the traceback."""
    logs.configure("text", "info")
    try:
        raise ValueError("x")  # noqa: TRY301 - raised to be logged
    except ValueError:
        log.exception("reconcile failed", extra={"key": "a"})
    first, *traceback = capsys.readouterr().err.splitlines()
    assert first.endswith("ERROR   reconcile failed key='a'")
    assert traceback[0] == "Traceback (most recent call last):"
    assert traceback[-1] == "ValueError: x"


def test_messages_of_kopf_below_warning_are_not_logged(capsys: Stderr) -> None:
    logs.configure("text", "info")
    logging.getLogger("kopf.activities").info("Initial authentication has been initiated.")
    assert capsys.readouterr().err == ""
    logging.getLogger("kopf.activities").warning("trouble")
    assert "trouble" in capsys.readouterr().err
