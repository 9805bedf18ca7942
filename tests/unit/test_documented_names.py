"""Docstrings: of functions they begin with a verb, and a documented parameter exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("operator", "bench", "hack", "tests")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)

NO_VERBS = re.compile(
    "(A|All|An|As|By|Each|Every|For|How|In|Its|Of|Our|Seconds|The|Their|Those|What|Where|Whether|"
    "Which|Who|Whoever) "
)

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def nodes() -> Iterator[tuple[Path, Documented]]:
    for folder in FOLDERS:
        for file in sorted((REPOSITORY / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "Parameters\n" in text else ():
                if isinstance(node, Documented):
                    yield file.relative_to(REPOSITORY), node


def documented_names(node: Documented) -> set[str]:
    section = SECTION.search(ast.get_docstring(node) or "")
    heads = re.findall(r"^(?! )[^\n:]+", section[1], re.MULTILINE) if section else []
    return {name.strip(" *") for head in heads for name in head.split(",")}


def real_names(node: Documented, classes: dict[str, ast.ClassDef]) -> set[str]:
    if isinstance(node, FUNCTIONS):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        return {argument.arg for argument in every if argument}
    bases = [classes[name] for name in map(ast.unparse, node.bases) if name in classes]
    names = set[str]().union(*(real_names(base, classes) for base in bases))
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            names.add(each.target.id)
        if isinstance(each, FUNCTIONS) and each.name == "__init__":
            names |= real_names(each, classes)
    return names


def test_each_documented_parameter_exists() -> None:
    every = list(nodes())
    classes = {node.name: node for _, node in every if isinstance(node, ast.ClassDef)}
    documented = [(file, node, names) for file, node in every if (names := documented_names(node))]
    assert len(documented) > 100
    wrong = {
        f"{file}:{node.lineno} {node.name}": unknown
        for file, node, names in documented
        if (unknown := names - real_names(node, classes))
    }
    assert wrong == {}


def test_no_docstring_of_a_function_or_property_begins_with_a_noun_or_a_clause() -> None:
    """The linter checks functions (D401), and neither properties nor all nouns."""
    files = (file for folder in FOLDERS for file in (REPOSITORY / folder).rglob("*.py"))
    wrong = [
        f"{file.relative_to(REPOSITORY)}:{node.lineno} {node.name}"
        for file in sorted(files)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, FUNCTIONS) and not node.name.startswith("test_")
        if NO_VERBS.match(ast.get_docstring(node) or "")
    ]
    assert wrong == []
