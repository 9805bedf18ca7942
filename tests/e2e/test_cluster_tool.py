"""hack/cluster, hack/new-user.sh and its neighbour, as a developer runs them: real processes."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from controlplane.cli import VARIABLE
from controlplane.versions import EMULATED, pinned, release

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = REPOSITORY / "hack" / "cluster"
NEW_USER = REPOSITORY / "hack" / "new-user.sh"
TOKEN = REPOSITORY / "hack" / "service-account-kubeconfig.sh"
DAEMONS = ("etcd", "kube-apiserver", "kube-controller-manager")
PATIENCE = 120.0

# The first `up` on a machine builds the control plane, which takes minutes.
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1800)]


@dataclass(frozen=True)
class Cluster:
    """A cluster by its folder."""

    directory: Path

    def run(
        self, command: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """`hack/cluster COMMAND` on it, whatever the outcome."""
        return run([TOOL, command, "--dir", self.directory], env)

    def up(self) -> None:
        """Start it; must succeed."""
        succeed(self.run("up"))

    def environment(self) -> dict[str, str]:
        """Return what a shell has after eval of `env`; a cluster keeps its places."""
        return _environment(self)

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl as its administrator; must succeed."""
        return succeed(run(["kubectl", *arguments], self.environment()))

    def new_user(self, *names: str, users: Path | None = None) -> Path:
        """Return the kubeconfig of a new user."""
        place = {"LNAMESPACE_USERS_DIR": str(users)} if users else {}
        return Path(succeed(run([NEW_USER, *names], self.environment() | place)).rstrip("\n"))

    def pid(self, daemon: str) -> int:
        """Return the number of a process that must be running or have been."""
        return int((self.directory / f"{daemon}.pid").read_text())

    def kill(self, *daemons: str) -> None:
        """Kill as a crash does; they are gone when it returns, or `up` would leave them alone."""
        for daemon in daemons:
            os.kill(self.pid(daemon), signal.SIGKILL)
        programs = [f"/{daemon} " for daemon in daemons]
        eventually(lambda: not any(each in line for each in programs for line in self.processes()))

    def processes(self) -> list[str]:
        """Return the command lines that name its folder; a dead process has none."""
        listing = succeed(run(["ps", "-eww", "-o", "args="])).splitlines()
        return [line for line in listing if f"={self.directory}/" in line]


@cache
def _environment(cluster: Cluster) -> dict[str, str]:
    script = f'{succeed(cluster.run("env"))}\nprintf "%s\\n" "$KUBECONFIG" "$PATH"'
    kubeconfig, path = succeed(run(["/bin/sh", "-c", script])).splitlines()
    return {"KUBECONFIG": kubeconfig, "PATH": path}


def run(
    command: Sequence[str | Path],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command, whatever the outcome; a KUBECONFIG of the caller stays out of it."""
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return subprocess.run(
        command,
        check=False,
        cwd=cwd,
        env=inherited | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=1500,
    )


def succeed(result: subprocess.CompletedProcess[str]) -> str:
    """Return the stdout of a command that must succeed."""
    assert result.returncode == 0, f"{result.args}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def eventually(condition: Callable[[], bool]) -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not true after {PATIENCE:.0f} s"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One running cluster for the tests that leave it as it was."""
    shared = Cluster(tmp_path_factory.mktemp("with a space") / "the cluster")
    try:
        shared.up()
        yield shared
    finally:
        succeed(shared.run("down"))


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Cluster]:
    """Yield a cluster that is not up, and is taken down in any case."""
    own = Cluster(tmp_path / "fresh")
    yield own
    succeed(own.run("down"))


# --- up, env, down


def test_up_starts_a_ready_cluster_of_the_pinned_version(cluster: Cluster) -> None:
    chosen = release(os.environ.get(VARIABLE))
    versions = json.loads(cluster.kubectl("version", "-o", "json"))
    assert versions["serverVersion"]["gitVersion"] == f"v{chosen.versions.kubernetes}"
    assert versions["clientVersion"]["gitVersion"] == f"v{pinned().kubernetes}"
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"


def test_up_refuses_another_version_for_an_existing_cluster(cluster: Cluster) -> None:
    other = next(name for name in EMULATED if name != os.environ.get(VARIABLE))
    result = cluster.run("up", {VARIABLE: other})
    assert result.returncode == 1
    assert "is a cluster of Kubernetes " in result.stderr
    assert "hack/cluster down" in result.stderr
    assert len(cluster.processes()) == len(DAEMONS)


def test_env_puts_every_tool_on_the_path(cluster: Cluster) -> None:
    path = cluster.environment()["PATH"]
    for tool in (*DAEMONS, "kubectl", "helm"):
        found = shutil.which(tool, path=path)
        assert found is not None
        assert found.startswith(path.split(":", maxsplit=1)[0])


def test_the_controller_manager_works_with_its_own_rights(cluster: Cluster) -> None:
    cluster.kubectl("create", "namespace", "works")
    eventually(lambda: "default" in cluster.kubectl("get", "serviceaccount", "-n", "works"))
    cluster.kubectl("create", "quota", "one", "--hard=configmaps=5", "-n", "works")
    counted = ("get", "quota", "one", "-n", "works", "-o", "jsonpath={.status.used.configmaps}")
    eventually(lambda: cluster.kubectl(*counted) == "1")  # kube-root-ca.crt
    cluster.kubectl("delete", "namespace", "works", "--timeout=300s")


def test_a_second_up_changes_nothing(cluster: Cluster) -> None:
    before = [cluster.pid(daemon) for daemon in DAEMONS]
    result = cluster.run("up")
    assert "up already" in result.stderr
    assert [cluster.pid(daemon) for daemon in DAEMONS] == before


def test_up_after_a_crash_keeps_data_and_kubeconfigs(cluster: Cluster) -> None:
    """That of the API server alone is in most tests of faults."""
    name = "survivor"
    kubeconfig = cluster.environment()["KUBECONFIG"]
    cluster.kubectl("create", "namespace", name)
    cluster.kill(*DAEMONS)
    cluster.up()
    get = ("kubectl", f"--kubeconfig={kubeconfig}", "get", "namespace", name, "-o", "name")
    assert succeed(run(get, cluster.environment())).strip() == f"namespace/{name}"
    # Needs working controllers, which come back to a server that was away after a pause.
    cluster.kubectl("delete", "namespace", name, "--timeout=300s")


def test_env_of_a_crashed_cluster_names_the_command_to_run(cluster: Cluster) -> None:
    cluster.kill("kube-controller-manager")
    eventually(lambda: cluster.run("env").returncode == 1)
    result = cluster.run("env")
    assert result.stdout == ""
    assert f"run `hack/cluster up --dir {shlex.quote(str(cluster.directory))}`" in result.stderr
    cluster.up()


def test_the_cluster_listens_only_on_the_loopback_interface(cluster: Cluster) -> None:
    ports = json.loads((cluster.directory / "cluster.json").read_text())["ports"].values()
    assert len(set(ports)) == 4
    tables = [table for table in map(Path, ("/proc/net/tcp", "/proc/net/tcp6")) if table.exists()]
    if not tables:
        pytest.skip("needs /proc/net/tcp")
    rows = [line.split() for table in tables for line in table.read_text().splitlines()]
    listening = [row[1].split(":") for row in rows if row[3] == "0A"]
    assert {address for address, port in listening if int(port, 16) in ports} == {"0100007F"}


def test_kubeconfig_and_keys_are_readable_only_by_their_owner(cluster: Cluster) -> None:
    secret = [cluster.directory / "kubeconfig", *cluster.directory.glob("pki/*.key")]
    assert len(secret) > 3
    assert {file.stat().st_mode & 0o777 for file in secret} == {0o600}


def test_a_relative_dir_works_from_any_working_directory(tmp_path: Path, cluster: Cluster) -> None:
    relative = os.path.relpath(cluster.directory, tmp_path)
    output = succeed(run([TOOL, "env", "--dir", relative], cwd=tmp_path))
    assert str(cluster.directory) in output


def test_down_removes_all_processes_and_files(fresh: Cluster) -> None:
    fresh.up()
    assert len(fresh.processes()) == len(DAEMONS)
    succeed(fresh.run("down"))
    assert fresh.processes() == []
    assert not fresh.directory.exists()
    again = fresh.run("down")
    assert again.returncode == 0
    assert "Nothing to stop" in again.stderr


def test_down_refuses_a_folder_not_created_by_up(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = Cluster(tmp_path).run("down")
    assert result.returncode == 1
    assert "was not made by `hack/cluster up`" in result.stderr
    assert (tmp_path / "thesis.txt").exists()


def test_up_refuses_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = Cluster(tmp_path).run("up")
    assert result.returncode == 1
    assert "has other files in it" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_process_that_dies_at_startup_is_reported_and_cleaned_up(fresh: Cluster) -> None:
    fresh.up()
    fresh.kill("kube-apiserver")
    (fresh.directory / "pki" / "service-account.key").write_text("not a key")
    result = fresh.run("up")
    assert result.returncode == 1
    assert "kube-apiserver ended while it started" in result.stderr
    assert "does not contain a valid RSA or ECDSA private key" in result.stderr
    assert str(fresh.directory / "logs" / "kube-apiserver.log") in result.stderr
    succeed(fresh.run("down"))
    assert fresh.processes() == []


def test_down_does_not_kill_a_foreign_process_with_a_reused_pid(fresh: Cluster) -> None:
    fresh.up()
    fresh.kill("etcd")
    (fresh.directory / "etcd.pid").write_text(f"{os.getpid()}\n")
    assert fresh.run("env").returncode == 1
    succeed(fresh.run("down"))  # would end this test run


# --- where the executables come from


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the tool, whose .venv these tests may break."""
    copy = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "hack", copy / "hack", ignore=ignored)
    (copy / "requirements").mkdir()
    shutil.copy(REPOSITORY / "requirements" / "go.txt", copy / "requirements")
    return copy


def executable(path: Path, script: str) -> Path:
    """Write a script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def bare_environment(tmp_path: Path, *path: Path) -> dict[str, str]:
    """Nothing cached, and only the system's commands beside those of `path`."""
    return {
        "PATH": ":".join([*map(str, path), "/usr/bin", "/bin"]),
        "LNAMESPACE_CACHE": str(tmp_path / "cache"),
        "KUBEBUILDER_ASSETS": "",
    }


def fake_go(folder: Path, build: str) -> Path:
    """Return a `go` whose builds do what the test says; $6 is the file to make."""
    return executable(folder / "go", f'if [ "$1" = env ]; then echo go1.99.0; exit; fi\n{build}')


def test_the_tool_without_python_packages_names_the_command_to_run(checkout: Path) -> None:
    result = run([sys.executable, "-S", checkout / "hack" / "cluster", "up"])
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "run `make .venv` first" in result.stderr


def test_another_python_reexecutes_the_tool_with_the_projects_python(checkout: Path) -> None:
    executable(checkout / ".venv" / "bin" / "python", 'shift; echo "handed over: $*"')
    bare = (sys.executable, "-S", checkout / "hack" / "cluster", "up", "--dir", "some where")
    assert succeed(run(bare)).strip() == "handed over: up --dir some where"


def test_up_without_go_reports_the_tool_to_install(checkout: Path, tmp_path: Path) -> None:
    executable(checkout / ".venv" / "bin" / "python", f'exec {shlex.quote(sys.executable)} "$@"')
    result = run(
        [sys.executable, checkout / "hack" / "cluster", "up", "--dir", tmp_path / "none"],
        bare_environment(tmp_path) | {"PIP_NO_INDEX": "1"},  # nothing is downloaded
    )
    assert result.returncode == 1
    assert re.search(r"needs Go 1\.\d+\S* or newer and pip could not install it", result.stderr)
    assert "install Go and put it on PATH" in result.stderr
    assert not (tmp_path / "none").exists()


def test_a_failed_build_shows_its_log_and_leaves_no_partial_files(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    go = fake_go(tmp_path / "go", "echo no space left on device >&2; exit 1")
    result = Cluster(tmp_path / "none").run("up", bare_environment(tmp_path, go.parent))
    assert result.returncode == 1
    assert "minutes on two processors" in result.stderr
    assert "building etcd failed" in result.stderr
    assert "    no space left on device" in result.stderr
    assert not (tmp_path / "none").exists()
    assert [file.suffix for file in sorted((cache / "controlplane").iterdir())] == [".lock", ".log"]


def test_two_clusters_started_at_once_share_one_build(cluster: Cluster, tmp_path: Path) -> None:
    built, record = cluster.environment()["PATH"].split(":")[0], tmp_path / "record"
    go = fake_go(
        tmp_path / "go",
        f'echo "$6" >>{shlex.quote(str(record))}\n'
        f'ln -s {shlex.quote(built)}/"$(basename "$6")" "$6"',
    )
    env = os.environ | bare_environment(tmp_path, go.parent)
    pair = [Cluster(tmp_path / "one"), Cluster(tmp_path / "two")]
    try:
        starting = [subprocess.Popen([TOOL, "up", "--dir", one.directory], env=env) for one in pair]
        assert [process.wait(timeout=900) for process in starting] == [0, 0]
        made = record.read_text().splitlines()
        assert len(made) == len({Path(path).name for path in made}) > 0
        pair[0].kubectl("create", "namespace", "only-in-one")
        assert "only-in-one" not in pair[1].kubectl("get", "namespaces")
        succeed(pair[0].run("down"))
        assert pair[1].kubectl("get", "--raw", "/readyz") == "ok"
    finally:
        for one in pair:
            succeed(one.run("down"))


# --- users

ODD_NAMES = [
    "alice",
    "first.last@loblaw.ca",
    "https://issuer.example#sub",
    "n" * 250,
    "Ünïcødé 名前",
    '"}], {"kind": x\n---\ny: \'$(id)`',
    "-rf",
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_a_new_user_has_exactly_the_requested_name_and_groups(cluster: Cluster, name: str) -> None:
    groups = ["team-a", "O=x, CN=admin/ü", "g" * 100]
    kubeconfig = cluster.new_user(name, *groups)
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    assert kubeconfig.parent == cluster.directory / "users"
    assert re.fullmatch(r"[a-z0-9-]+\.kubeconfig", kubeconfig.name)
    whoami = cluster.kubectl(f"--kubeconfig={kubeconfig}", "auth", "whoami", "-o", "json")
    user = json.loads(whoami)["status"]["userInfo"]
    assert user["username"] == name
    assert user["groups"] == [*groups, "system:authenticated"]


def test_user_kubeconfigs_are_written_to_the_configured_folder(
    cluster: Cluster, tmp_path: Path
) -> None:
    place = tmp_path / "other users"
    kubeconfig = cluster.new_user("carol", users=place)
    assert list(place.iterdir()) == [kubeconfig]  # and no scratch files


def test_a_new_user_has_no_rights_of_its_own(cluster: Cluster) -> None:
    kubeconfig = cluster.new_user("nobody")
    command = ["kubectl", f"--kubeconfig={kubeconfig}", "get", "secrets", "-A"]
    result = run(command, cluster.environment())
    assert 'User "nobody" cannot list resource "secrets"' in result.stderr


def test_new_user_refuses_group_system_masters(cluster: Cluster) -> None:
    result = run([str(NEW_USER), "eve", "system:masters"], cluster.environment())
    assert result.returncode == 1
    assert result.stdout == ""
    assert "system:masters group is not allowed" in result.stderr


def test_a_service_account_has_a_private_kubeconfig_with_a_token(cluster: Cluster) -> None:
    made = run([TOKEN, "kube-system", "default"], cluster.environment())
    kubeconfig = Path(succeed(made).rstrip("\n"))
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    whoami = cluster.kubectl(f"--kubeconfig={kubeconfig}", "auth", "whoami", "-o", "json")
    user = json.loads(whoami)["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:kube-system:default"


def test_new_user_without_kubeconfig_fails_and_writes_nothing(tmp_path: Path) -> None:
    result = run([NEW_USER, "alice"], {"HOME": str(tmp_path)})
    assert result.returncode == 1
    assert "KUBECONFIG is not set" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [TOOL, NEW_USER], ids=lambda path: path.name)
def test_help_shows_examples(command: Path) -> None:
    text = succeed(run([command, "--help"]))
    assert "examples:" in text
    assert 'eval "$(hack/cluster env)"' in text
