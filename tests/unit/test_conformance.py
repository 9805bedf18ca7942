"""Both results of the conformance specs side by side."""

from conformance import suite
from conformance.cli import EXCEPTIONS
from conformance.comparison import Comparison, read_reasons
from conformance.scanning import Scanner


def test_only_specs_that_pass_directly_and_fail_unexcused_are_regressions() -> None:
    compared = Comparison(
        ["same", "lost", "excused", "broken", "unseen"],
        {"same": "", "lost": "", "excused": "", "broken": "no", "unseen": ""},
        {"same": "", "lost": "not there\nmore", "excused": "no", "broken": "no"},
        {"excused": "not a tenant's", "same": "not so"},
    )
    assert compared.regressions() == ["lost", "unseen"]
    assert compared.outdated() == ["same"]
    lines = list(compared.lines())
    assert "passed    failed    lost" in lines
    assert "passed    not run   unseen" in lines
    assert any(line.strip() == "not there" for line in lines)
    assert lines[-1].startswith("4 of 5 passed directly, 1 through the gateway; 2 of those")


def test_a_run_without_a_spec_that_passed_directly_has_failed() -> None:
    assert Comparison(["a"], {}, {}, {}).failed
    assert Comparison(["a"], {"a": "no"}, {"a": "no"}, {}).failed
    assert not Comparison(["a"], {"a": ""}, {"a": ""}, {}).failed


def test_every_exception_names_a_spec_that_is_run() -> None:
    reasons = read_reasons(EXCEPTIONS)
    assert set(reasons) <= {*suite.specs(), *suite.specs(further=True)}
    assert all(reasons.values())


def test_specs_are_unique_and_can_be_selected_by_an_expression() -> None:
    names = suite.specs()
    assert len(names) == len(set(names))
    assert all(name.endswith("[Conformance]") for name in names)
    others = suite.specs(further=True)
    assert len(others) == len(set(others))
    assert not any("[Conformance]" in name for name in others)
    assert suite.specs("Watchers") == [name for name in names if "Watchers" in name]


def test_a_foreign_word_is_found_in_any_case_and_across_chunks() -> None:
    """A scanner that finds nothing would pass every run, so these words must be found."""
    scanner = Scanner([b"zyzzyva", b"qoph-"])
    one, other = scanner.stream(), scanner.stream()
    one.take(b"HTTP/1.1 200 OK\r\nX: qo")
    other.take(b"ph-prod")
    assert scanner.leaks == [], "the pieces of two connections are no word"
    one.take(b"ph-prod\r\n\r\nnothing")
    one.take(b" more")
    assert len(scanner.leaks) == 1
    other.take(b"... ZyzzYva ... zyzzyva")
    assert len(scanner.leaks) == 3
    assert "zyzzyva" in scanner.leaks[1]
    assert scanner.size == 75


def test_an_answer_that_cannot_be_read_counts_as_a_leak() -> None:
    scanner = Scanner([b"zyzzyva"])
    scanner.stream().take(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n...")
    assert scanner.leaks
