"""Documents are true where a program can tell: links lead somewhere, the reference is the code."""

import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from docsite.contents import CONTENTS
from lnamespace.settings import documented
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MARKDOWN = MarkdownIt("commonmark").enable("table")


def generated(folder: Path) -> dict[str, str]:
    command = [sys.executable, "-m", "docsite", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}/hack"})
    return {path.name: path.read_text() for path in folder.iterdir()}


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--nitpicky", "--fail-on-warning", "--conf-dir", f"{ROOT}/hack/docsite"]
    command = [sys.executable, "-m", "sphinx", *options, str(docs), str(site)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def inline(text: str) -> Iterator[Token]:
    for block in MARKDOWN.parse(text):
        yield from block.children or ()


def links(text: str) -> list[str]:
    found = [str(t.attrs["href"]) for t in inline(text) if t.type == "link_open"]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub makes of headings."""
    tokens = MARKDOWN.parse(text)
    heads = [tokens[at + 1].content for at, t in enumerate(tokens) if t.type == "heading_open"]
    slugs = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]
    return set(slugs)


def broken(page: Path) -> list[str]:
    wrong = []
    for link in links(page.read_text()):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_has_a_target(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n[1](#a-title) [2](#b) [3](gone.md) [4](page.md#a-title)\n")
    assert broken(page) == ["#b", "gone.md"]


def test_every_module_named_in_the_architecture_exists() -> None:
    text = (DOCS / "architecture.md").read_text()
    there = [f"/{path.relative_to(ROOT)}" for path in (ROOT / "operator").rglob("*.py")]
    named = set(re.findall(r"[a-z_/]+\.py\b", text))
    assert len(named) > 40
    assert {name for name in named if not any(path.endswith(f"/{name}") for path in there)} == set()


def test_contributing_lists_exactly_the_folders_of_the_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    package = ROOT / "operator" / "lnamespace"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    listed = set(re.findall(r"^      ([a-z]+)/ ", text, re.MULTILINE))
    assert listed == folders


def test_the_committed_reference_matches_the_generated_reference(tmp_path: Path) -> None:
    kept = {path.name: path.read_text() for path in (DOCS / "reference").iterdir()}
    assert kept == generated(tmp_path), "run `make reference`"


def test_the_reference_has_every_option_every_field_and_every_value() -> None:
    operator = (DOCS / "reference" / "operator.md").read_text()
    for flag, variable, _, _ in documented():
        assert f"| `{flag}` | `{variable}` |" in operator
    chart = (DOCS / "reference" / "chart.md").read_text()
    for path in leaves(yaml.safe_load((ROOT / "charts/lnamespace/values.yaml").read_text())):
        assert f"| `{path}` |" in chart
    fields = (DOCS / "reference" / "lnamespace.md").read_text()
    assert "`spec.users[].expiresAt`" in fields
    assert "`status.conditions[].observedGeneration`" in fields


def leaves(values: dict[str, object], path: str = "") -> Iterator[str]:
    """Paths down to what has a name of its own in values.yaml; free-form maps are one value."""
    for key, value in values.items():
        free_form = key in ("issuerRef", "urlSecret", "labels") or path.endswith("resources.")
        if isinstance(value, dict) and value and not free_form:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield path + key


def test_every_page_is_in_the_contents_of_the_site() -> None:
    """One that was split from another was in none, and the site was not built."""
    listed = [pattern for patterns in CONTENTS.values() for pattern in patterns]
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    assert {page for page in pages if not any(fnmatch(page, each) for each in listed)} == {"index"}


def test_no_page_links_to_a_page_that_the_site_does_not_have() -> None:
    """CONTRIBUTING.md is beside docs/, and the site was not built."""
    for page in DOCS.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+\.md)[)#]", page.read_text()):
            assert (page.parent / link).resolve().is_relative_to(DOCS), f"{page}: {link}"


@pytest.mark.thorough
def test_the_site_is_built_and_needs_no_network(tmp_path: Path) -> None:
    done = build(DOCS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    architecture = (tmp_path / "architecture.html").read_text()
    assert '<figure class="diagram"><svg' in architecture
    for page in tmp_path.rglob("*.html"):
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', page.read_text())
    assert "finance-analyst" in (tmp_path / "searchindex.js").read_text()


def test_each_broken_link_fails_the_build_of_the_site(tmp_path: Path) -> None:
    links, docs = ("gone.md", "#nowhere", "page.md#nowhere"), tmp_path / "docs"
    docs.mkdir()
    lines = (f"[link]({link})\n" for link in links)
    (docs / "index.md").write_text("# Index\n\n" + "\n".join(lines))
    (docs / "page.md").write_text("---\norphan: true\n---\n# Page\n")
    done = build(docs, tmp_path / "site")
    assert done.returncode != 0
    told = [line for line in done.stderr.splitlines() if "myst" in line]
    assert len(told) == len(links), done.stderr
    for number, line in enumerate(told):
        assert f"index.md:{3 + 2 * number}:" in line
