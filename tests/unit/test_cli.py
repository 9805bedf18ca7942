"""The command line, as people meet it: help, exit codes, errors on one line."""

import errno
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from lnamespace import console
from lnamespace.cli import main

ROOT = Path(__file__).resolve().parents[2]


def lnamespace(*argv: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Return the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "lnamespace.cli", *argv],
        env={k: v for k, v in os.environ.items() if not k.startswith("LNAMESPACE_")} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    "argv", [["--help"], ["controller", "--help"], ["webhook", "--help"], ["render", "--help"]]
)
def test_help_succeeds(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 0
    assert "usage: lnamespace" in capsys.readouterr().out


def test_the_version_of_the_package_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"lnamespace {version('lnamespace')}\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "COMMAND"),
        (["paint"], "paint"),
        (["controller", "--colour", "red"], "--colour"),
        (["controller", "--workers", "many"], "--workers"),
        (["webhook", "--workers", "3"], "--workers"),
        (["webhook", "--certificate-hours", "many"], "--certificate-hours"),
        (["render"], "what"),
        (["render", "poem"], "poem"),
        (["--context", "x", "check"], "options stand behind the command: lnamespace COMMAND --co"),
    ],
)
def test_an_invalid_command_line_exits_with_2(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["controller", "--log-format", "xml"], "--log-format must be text or json"),
        (["controller", "--workers", "0"], "--workers must be at least 1"),
        (["webhook", "--lclusters", "maybe"], "--lclusters must be yes or no"),
        (["render", "crd", "somewhere"], "render crd prints; a folder is for samples"),
        (["gateway", "check", "--account", "x"], "--account must be NAMESPACE/NAME"),
    ],
)
def test_an_invalid_value_exits_with_2_and_one_line(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was 1, as if the command had been right and had failed."""
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.err == f"error: {said}\n"
    assert captured.out == ""


def test_an_invalid_environment_variable_exits_with_2() -> None:
    done = lnamespace("render", "crd", LNAMESPACE_WORKERS="many")
    assert (done.returncode, done.stderr) == (
        2,
        "error: LNAMESPACE_WORKERS: not a number: 'many'\n",
    )


def test_help_names_the_values_of_an_option_that_has_a_few(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["controller", "--help"])
    shown = capsys.readouterr().out
    assert "--log-level debug|info|warning|error" in shown
    assert "--sudo-layout group|serviceaccount" in shown
    assert "--lclusters yes|no" in shown


@pytest.mark.parametrize("command", ["controller", "webhook"])
def test_a_missing_cluster_configuration_exits_with_1_and_one_line(command: str) -> None:
    done = lnamespace(command, "--kubeconfig", "nowhere/config")
    assert done.returncode == 1
    assert done.stderr.startswith("error: no usable cluster configuration: ")
    assert "nowhere/config" in done.stderr
    assert done.stderr.count("\n") == 1


KUBECONFIG = {
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "current-context": "c",
}


class Answering(BaseHTTPRequestHandler):
    """Something that answers in the place of the API server."""

    status, body = 200, b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>Log in</html>", "error: an answer that cannot be read: JSON is malformed"),
        (503, b"", "error: HTTP 503 Service Unavailable"),
        (401, b"", "error: HTTP 401 Unauthorized\nLog in again, or choose another --context"),
        (403, b"", "error: HTTP 403 Forbidden\nThis is for administrators of the cluster"),
    ],
)
def test_an_answer_that_is_not_of_an_api_server_is_reported_in_words(
    status: int, body: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page of a proxy was a stack trace."""
    handler = type("Handler", (Answering,), {"status": status, "body": body})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
        kubeconfig = tmp_path / "kubeconfig"
        clusters = {"clusters": [{"name": "c", "cluster": cluster}]}
        kubeconfig.write_text(json.dumps(KUBECONFIG | clusters))
        assert main(["check", "--kubeconfig", str(kubeconfig)]) == 1
        server.shutdown()
    assert capsys.readouterr().err.startswith(said)


COMPLETED = """\
eval "$1"
function=$(complete -p lnamespace | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
COMP_WORDS=(lnamespace ledger cos) COMP_CWORD=2
$function lnamespace cos ledger
echo "${COMPREPLY[@]}"
"""


def test_bash_completes_commands_by_the_script_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    command = ["bash", "--norc", "-c", COMPLETED, "bash", capsys.readouterr().out]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == "costs\n"


def test_environment_variables_apply_to_commands() -> None:
    done = lnamespace("render", "crd", LNAMESPACE_API_GROUP_SUFFIX="example.com")
    assert done.returncode == 0
    assert yaml.safe_load(done.stdout)["metadata"]["name"] == "lnamespaces.tenancy.example.com"


@pytest.mark.parametrize("what", ["crd", "billingrecords"])
def test_rendered_manifests_match_the_repository(what: str) -> None:
    done = lnamespace("render", what)
    assert done.returncode == 0
    name = {"crd": "lnamespaces"}.get(what, what)
    assert done.stdout == (ROOT / "crds" / f"{name}.yaml").read_text()


def test_rendering_imports_no_client_or_server_libraries() -> None:
    code = (
        "import sys; from lnamespace.cli import main; main(['render', 'crd']);"
        "sys.exit(any(name in sys.modules for name in ('kopf', 'aiohttp', 'kubernetes')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("command", [["render", "crd"], ["render", "billingrecords"]])
def test_output_that_cannot_be_written_is_one_line_of_error(command: list[str]) -> None:
    code = "import sys; from lnamespace import console; sys.exit(console.main())"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: standard output: No space left on device\n"


def test_an_error_of_the_system_that_is_not_of_the_output_keeps_its_stack_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("lnamespace.cli.main", fail)
    with pytest.raises(OSError, match="No space"):
        console.main()
