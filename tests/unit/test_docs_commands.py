"""The commands that documents show exist, and take the flags that they are shown with."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from lnamespace.cli import arguments_parser
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), ROOT / "charts/lnamespace/README.md", *DOCS.rglob("*.md")]
    if page.name != "CHANGELOG.md" and not {"decisions", "reference"} & {*page.parts}
)
OURS = ("make", "lnamespace", "kubectl")
OF_KUBECTL = {"-n", "--namespace", "--context", "--kubeconfig", "--as", "--as-group", "--help"}
"""Flags of kubectl itself that the plugins take everywhere; their help does not repeat them."""

TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
HELP = dict(
    re.findall(
        r"^## kubectl ([^\n]+)\n(.*?)(?=^## |\Z)",
        (REFERENCE / "plugins.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)
"""The help of each plugin and each of its commands; a test keeps the page equal to the code."""


def code(text: str) -> Iterator[str]:
    """Lines of code blocks without their prompt, and code within sentences."""
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        if block.type in ("fence", "code_block"):
            yield from re.sub(r"\\\n\s*", " ", block.content).splitlines()
        for token in block.children or ():
            if token.type == "code_inline":
                yield token.content


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each of our commands, from its name to the end of it."""
    for line in code(text):
        # What a command does stands behind it, after some spaces or as a comment.
        words = re.split(r"\s{3,}", re.sub(r"^\S*\$ ", "", line.strip()))[0]
        try:
            found = shlex.split(words, comments=True)
        except ValueError:  # a sentence, or the first line of a quotation
            continue
        if found and found[0] in OURS:
            ends = [at for at, word in enumerate(found) if re.match(r"\||;|&|>|<|\d>", word)]
            yield found[: ends[0]] if ends else found


def wrong(words: list[str]) -> str | None:
    """Return what is wrong with one of our commands, if anything is."""
    match words:
        case ["make", *rest]:
            return unknown_target(rest)
        case ["lnamespace", *rest]:
            return unknown_argument(arguments_parser(), rest)
        case ["kubectl", "sudo", "lns", *rest] | ["kubectl", "lns", *rest]:
            return unknown_flag("lns", rest)
        case ["kubectl", "create", "lns" | "lnamespace", *rest]:
            return flags_that_are_not_in(HELP["create lns"], rest)
        case ["kubectl", "create", "lc" | "lcluster", *rest]:
            return flags_that_are_not_in(HELP["create lcluster"], rest)
        case _:
            return None


def unknown_target(words: list[str]) -> str | None:
    targets = [word for word in words if re.fullmatch(r"[a-z][a-z0-9-]*", word)]
    return next((f"no target {target}" for target in targets if target not in TARGETS), None)


def unknown_argument(parser: argparse.ArgumentParser, words: list[str]) -> str | None:
    for action in parser._actions:  # noqa: SLF001 - argparse tells it in no other way
        if isinstance(action, argparse._SubParsersAction) and words:  # noqa: SLF001 - as above
            if words[0] not in action.choices:
                return f"no command {words[0]}"
            return unknown_argument(action.choices[words[0]], words[1:])
    known = {flag for action in parser._actions for flag in action.option_strings}  # noqa: SLF001 - as above
    return next((f"no flag {flag}" for flag in flags(words) if flag not in known), None)


def unknown_flag(plugin: str, words: list[str]) -> str | None:
    if words[:1] == ["create"]:
        return flags_that_are_not_in(HELP["create lns"], words)
    at = next((at for at, word in enumerate(words) if f"{plugin} {word}" in HELP), None)
    if at is None:
        named = [word for word in words if re.fullmatch(r"[a-z]+", word)]
        return f"no command {named[0]}" if named else flags_that_are_not_in(HELP[plugin], words)
    return flags_that_are_not_in(HELP[f"{plugin} {words[at]}"] + HELP[plugin], words)


def flags_that_are_not_in(text: str, words: list[str]) -> str | None:
    known = {*re.findall(r"(?<![\w-])--?[a-z][\w-]*", text), *OF_KUBECTL}
    return next((f"no flag {flag}" for flag in flags(words) if flag not in known), None)


def flags(words: list[str]) -> list[str]:
    return [word.partition("=")[0].strip("[]") for word in words if re.match(r"\[?--?[a-z]", word)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_shown_on_a_page_exists(page: Path) -> None:
    found = [(shlex.join(words), wrong(words)) for words in commands(page.read_text())]
    assert [each for each in found if each[1]] == []


def test_more_than_100_commands_are_found_on_the_pages() -> None:
    found = [words for page in PAGES for words in commands(page.read_text())]
    assert len(found) > 100


@pytest.mark.parametrize(
    "line",
    [
        "make tests",
        "lnamespace leger status",
        "lnamespace ledger status --quickly",
        "kubectl lns gant team-a --user bob",
        "kubectl lns grant team-a --serviceaccount ci:deployer",
        "kubectl sudo lns grant team-a --usr bob",
        "kubectl create lns team-a --cost-centre 4711",
    ],
)
def test_a_command_that_does_not_exist_is_reported(line: str) -> None:
    [words] = commands(f"```console\nalice$ {line}\nsome output\n```\n")
    assert wrong(words) is not None
