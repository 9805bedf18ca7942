"""The plugins need Python and nothing else, not even the rest of this package."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "operator"
MODULES = sorted((SOURCE / "lnamespace" / "plugins").rglob("*.py"))
OURS = "lnamespace.plugins"


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole way"
            yield str(node.module)


def alone(program: str) -> "subprocess.CompletedProcess[str]":
    """Run with no installed package at all: neither the environment's nor the user's."""
    path = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); "
    command = (sys.executable, "-I", "-S", "-c", path + program)
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_plugin_imports_only_the_standard_library_and_the_plugins_package(module: Path) -> None:
    for name in imported(module):
        known = name.partition(".")[0] in sys.stdlib_module_names
        assert known or f"{name}.".startswith(f"{OURS}."), name


def test_every_plugin_can_be_imported_without_installed_packages() -> None:
    paths = [path.relative_to(SOURCE).with_suffix("") for path in MODULES]
    names = [".".join(path.parts) for path in paths if path.name != "__init__"]
    program = f"import importlib; [importlib.import_module(name) for name in {names}]; "
    done = alone(program + "print(*(n for n in sys.modules if n.startswith('lnamespace')))")
    assert done.returncode == 0, done.stderr
    strangers = [name for name in done.stdout.split() if not name.startswith(OURS)]
    assert strangers == ["lnamespace"]


@pytest.mark.parametrize(
    "modules",
    [
        "commands.sudo",
        "commands.lns views.listing views.rows",
        "commands.create commands.creation",
        "commands.lns commands.complete",
        "sudo.check",
    ],
)
def test_no_command_imports_slow_modules(modules: str) -> None:
    slow = {"asyncio", "enum", "importlib", "json", "pathlib", "re", "subprocess", "typing"}
    names = [f"{OURS}.{name}" for name in modules.split()]
    done = alone(f"[__import__(name) for name in {names}]; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert not slow & set(done.stdout.split())


def test_the_package_has_no_dependencies_and_the_server_is_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == []
    assert any(one.startswith("kopf") for one in project["optional-dependencies"]["server"])


def test_the_server_command_explains_its_installation_if_only_plugins_are_installed() -> None:
    done = alone("from lnamespace.console import main; sys.exit(main())")
    assert (done.returncode, done.stdout) == (1, "")
    assert "only the kubectl plugins are installed here" in done.stderr
    assert "pip install '.[server]'" in done.stderr


def test_an_interrupted_server_command_ends_without_a_stack_trace() -> None:
    """Loading takes seconds, in which Ctrl-C is likely."""
    done = alone(
        "from lnamespace import console\n"
        "def interrupted(): raise KeyboardInterrupt\n"
        "console._run = interrupted\n"
        "sys.exit(console.main())"
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_full_disk_under_the_output_is_one_line_of_error() -> None:
    done = alone(
        "sys.argv = ['kubectl-lns', '--help']\n"
        "sys.stdout = open('/dev/full', 'w')\n"
        "from lnamespace.plugins.commands.lns import main; main()"
    )
    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["grant", "--frob"], "kubectl lns grant"),
        (["ls", "name"], "kubectl lns list"),
        (["create", "--frob"], "kubectl lns create"),
        (["frob"], "kubectl lns"),
    ],
)
def test_a_usage_error_names_the_help_of_its_own_command(words: list[str], command: str) -> None:
    done = alone(
        f"sys.argv = ['kubectl-lns', *{words}]\n"
        "from lnamespace.plugins.commands.lns import main; main()"
    )
    assert done.returncode == 2
    assert done.stderr.endswith(f"See '{command} --help' for usage.\n")
