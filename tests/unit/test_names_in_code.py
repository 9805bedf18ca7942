"""One name, one thing: no class stands twice, and no function has its module's name."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "operator" / "lnamespace"


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE), ast.parse(file.read_text(encoding="utf-8"))


def test_no_class_name_stands_twice() -> None:
    files = defaultdict(list)
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(file))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_no_function_has_the_name_of_its_module() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    same = [
        str(file)
        for file, tree in trees()
        for node in tree.body
        if isinstance(node, functions) and node.name == file.stem
    ]
    assert same == []
