"""One name, one thing: of classes, functions and modules; and each package names its modules."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "operator" / "lnamespace"

BY_MODULE = {"KIND", "PLURAL", "VERSION"}
"""Constants that are imported from several modules: each API has its own."""


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE), ast.parse(file.read_text(encoding="utf-8"))


def test_class_names_are_unique_in_the_package() -> None:
    files = defaultdict(list)
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(file))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def assigned(tree: ast.Module) -> Iterator[str]:
    """Constants and aliases of types that others may import."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def test_no_two_shared_constants_or_aliases_have_one_name() -> None:
    """Those that another module imports; the plugins stand apart."""
    modules, shared = defaultdict(set), set()
    for file, tree in trees():
        if file.parts[0] == "plugins":
            continue
        module = ".".join(("lnamespace", *file.with_suffix("").parts))
        for name in assigned(tree):
            modules[name].add(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                shared |= {(node.module, each.name) for each in node.names}
    both = {name: {each for each in modules[name] if (each, name) in shared} for name in modules}
    twice = {name: where for name, where in both.items() if len(where) > 1}
    assert twice.keys() == BY_MODULE


def test_no_function_has_the_name_of_its_module() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    same = [
        str(file)
        for file, tree in trees()
        for node in tree.body
        if isinstance(node, functions) and node.name == file.stem
    ]
    assert same == []


def test_each_package_names_all_its_modules() -> None:
    """But for the outermost: pyproject.toml lists its layers."""
    missing = []
    for file in sorted(PACKAGE.glob("*/**/__init__.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        modules = [path.stem for path in file.parent.glob("[!_]*.py")]
        modules += [path.parent.name for path in file.parent.glob("*/__init__.py")]
        package = file.parent.relative_to(PACKAGE)
        missing += [f"{package}/{name}" for name in modules if not re.search(rf"[.`]{name}`", text)]
    assert missing == []
