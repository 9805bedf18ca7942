"""What we say of our tests is true: those that are named exist, and no pitfall has none."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security-tests.md"
PAGES = (
    PAGE,
    ROOT / "docs" / "what-it-showed.md",
    ROOT / "docs" / "decisions" / "0071-defects-and-their-tests.md",
)
PITFALLS = 40


def rows() -> list[list[str]]:
    """Return the cells of every row of a table that is about something."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def named(text: str) -> Iterator[tuple[str, str]]:
    yield from re.findall(r"`(\w+)::(\w+)`", text)


@cache
def defined(file: str) -> set[str]:
    """Return the tests of a file of that name, of all suites."""
    paths = [*(ROOT / "tests").glob(f"*/test_{file}.py")]
    return {name for path in paths for name in re.findall(r"def test_(\w+)\(", path.read_text())}


def test_the_tests_named_in_the_documentation_exist() -> None:
    everywhere = {test for page in PAGES for test in named(page.read_text())}
    assert len(everywhere) > 250
    assert sorted(test for test in everywhere if test[1] not in defined(test[0])) == []


def test_every_numbered_vulnerability_has_a_test_named_after_it() -> None:
    """Where it has a number, and was tried on a cluster."""
    for cells in rows():
        for number in re.findall(r"(?:CVE|GHSA)-[\w-]+", cells[1]) if len(cells) == 3 else ():
            name = number.lower().replace("-", "_")
            assert any(name in test for _, test in named(cells[2])), number


def test_every_pitfall_has_a_test() -> None:
    numbered = {int(cells[0]): cells[-1] for cells in rows() if cells[0].isdecimal()}
    assert sorted(numbered) == [*range(1, PITFALLS + 1)]
    assert [number for number, tests in numbered.items() if not list(named(tests))] == []


def test_every_known_attack_is_listed_in_the_documentation() -> None:
    on_the_page = {name for file, name in named(PAGE.read_text()) if file == "known_attacks"}
    assert on_the_page == defined("known_attacks")
