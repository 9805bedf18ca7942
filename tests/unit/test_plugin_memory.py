"""What the plugins remember of one command for the next, and how they run kubectl by it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lnamespace.plugins.runtime.memory import RECORDS_MAX, FileCache, connection_key
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

SOURCE = Path(__file__).resolve().parents[2] / "operator"
KUBECTL = """\
#!/bin/sh
echo "$@" >> "{asked}"
case "$*" in
  *whoami*) echo '{{"status": {{"userInfo": {{"username": "{who}"}}}}}}' ;;
  *--raw*) echo '{{"metadata": {{"name": "team-a"}},' ;
           echo '  "spec": {{"sudoers": [{{"name": "{sudoer}"}}]}},' ;
           echo '  "status": {{"observedGeneration": 1}}}}' ;;
  *) {does} ;;
esac
"""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileCache:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return FileCache("kept", 60)


def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "lnamespace" / "kept"


def test_a_remembered_value_is_recalled_until_it_is_forgotten(
    memory: FileCache, tmp_path: Path
) -> None:
    assert memory.recall("a") == ()
    memory.remember("a", ("--as=me", "--as-group=g"))
    memory.remember("b", ("x",))
    assert memory.recall("a") == ("--as=me", "--as-group=g")
    assert oct(kept(tmp_path).stat().st_mode)[-3:] == "600"
    memory.forget("a")
    assert (memory.recall("a"), memory.recall("b")) == ((), ("x",))


def test_a_remembered_value_expires(memory: FileCache) -> None:
    memory.remember("a", ("x",))
    assert memory._replace(seconds=0).recall("a") == ()


@pytest.mark.parametrize(
    "content", [b"\xff", b"x\ta\tb\n", b"99999999999\ta\tb\n", b"\n\n", b"1\ta"]
)
def test_a_damaged_cache_file_is_ignored_and_replaced(
    content: bytes, memory: FileCache, tmp_path: Path
) -> None:
    memory.remember("b", ("x",))
    kept(tmp_path).write_bytes(content)
    assert memory.recall("a") == ()
    memory.remember("a", ("y",))
    assert memory.recall("a") == ("y",)


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\u2028b", "a\x1eb"])
def test_a_value_with_separator_characters_is_not_remembered(name: str, memory: FileCache) -> None:
    memory.remember("a", (name,))
    assert memory.recall("a") == ()


def test_a_cache_file_of_another_owner_is_ignored(
    memory: FileCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("a", ("--as=somebody",))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert memory.recall("a") == ()


@pytest.mark.parametrize("change", ["writable by a group", "writable by all", "a link"])
def test_a_cache_directory_writable_by_others_is_not_used(
    change: str, memory: FileCache, tmp_path: Path
) -> None:
    memory.remember("a", ("--as=somebody",))
    folder, before = kept(tmp_path).parent, kept(tmp_path).read_text()
    if change == "a link":
        folder = folder.rename(tmp_path / "elsewhere")
        kept(tmp_path).parent.symlink_to(folder)
    else:
        folder.chmod(0o770 if "group" in change else 0o707)
    assert memory.recall("a") == ()
    memory.remember("b", ("x",))
    assert kept(tmp_path).read_text() == before
    assert [path.name for path in folder.iterdir()] == ["kept"]


def test_a_symbolic_link_at_the_temporary_file_is_not_followed(
    memory: FileCache, tmp_path: Path
) -> None:
    memory.remember("a", ("x",))
    other = tmp_path / "other"
    other.write_text("theirs")
    kept(tmp_path).with_name(f"kept.{os.getpid()}").symlink_to(other)
    memory.remember("b", ("y",))
    assert other.read_text() == "theirs"
    assert memory.recall("b") == ("y",)
    assert [path.name for path in kept(tmp_path).parent.iterdir()] == ["kept"]


def test_a_symbolic_link_at_the_cache_file_is_not_followed(
    memory: FileCache, tmp_path: Path
) -> None:
    memory.remember("a", ("x",))
    kept(tmp_path).rename(tmp_path / "other")
    kept(tmp_path).symlink_to(tmp_path / "other")
    assert memory.recall("a") == ()


def test_an_empty_key_is_not_remembered(memory: FileCache, tmp_path: Path) -> None:
    memory.remember("", ("x",))
    assert memory.recall("") == ()
    assert not kept(tmp_path).exists()


def test_the_number_of_remembered_values_is_limited(memory: FileCache) -> None:
    for number in range(RECORDS_MAX + 5):
        memory.remember(str(number), ("x",))
    assert sum(memory.recall(str(number)) != () for number in range(RECORDS_MAX + 5)) == RECORDS_MAX


def test_the_cache_key_depends_on_the_content_and_flags_of_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config"
    file.write_text("a")
    monkeypatch.setenv("KUBECONFIG", str(file))
    first = connection_key(())
    assert first == connection_key(())
    assert first != connection_key(("--context=b",))
    file.write_text("other")
    assert first != connection_key(())


@pytest.mark.parametrize("name", ["--kubeconfig", "--client-certificate"])
def test_the_cache_key_depends_on_the_file_behind_a_flag_and_not_on_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    places = set()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("config").write_text("x")
        os.utime("config", ns=(1, 1))
        places.add(connection_key((f"{name}=config",)))
    assert len(places) == 2
    assert connection_key((f"{name}=config",)) in places
    Path("config").write_text("y")
    places.add(connection_key((f"{name}=config",)))
    Path("config").rename("former")
    Path("config").write_text("y")
    os.utime("config", ns=(Path("former").stat().st_mtime_ns,) * 2)
    places.add(connection_key((f"{name}=config",)))
    assert len(places) == 4


def test_the_cache_key_depends_on_the_kubectl_executable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path))
    first = connection_key(())
    monkeypatch.setenv("KUBECTL", "/opt/kubectl")
    assert first != connection_key(())


@pytest.mark.parametrize("flags", [(), ("--kubeconfig=",), ("--kubeconfig=none",)])
def test_no_kubeconfig_gives_no_cache_key(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert connection_key(flags) == ""


DEFAULTS = (
    "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "signal.signal(signal.SIGINT, signal.default_int_handler); "
)
"""Tests that are started in the background, or by nohup, are started with these ignored."""


class Shell:
    """A folder with a kubectl in it that answers as it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = folder / "asked"
        self.answers()
        (folder / "config").write_text("")

    def answers(self, who: str = "me", sudoer: str = "me", does: str = "echo done") -> None:
        kubectl = self.folder / "kubectl"
        kubectl.write_text(KUBECTL.format(asked=self.asked, who=who, sudoer=sudoer, does=does))
        kubectl.chmod(0o755)
        self.asked.write_text("")

    def sudo(self, *words: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        path = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); "
        program = path + DEFAULTS + "from lnamespace.plugins.commands.sudo import main; main()"
        return subprocess.Popen(
            (sys.executable, "-I", "-c", program, *words),
            env={
                "PATH": "/usr/bin:/bin",
                "KUBECTL": str(self.folder / "kubectl"),
                "KUBECONFIG": str(self.folder / "config"),
                "XDG_CACHE_HOME": str(self.folder / "cache"),
            },
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tells(self, *words: str, cwd: Path | None = None) -> tuple[int, str, str]:
        process = self.sudo(*words, cwd=cwd)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    @property
    def questions(self) -> list[str]:
        return self.asked.read_text().splitlines()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


ACTING = "--as=me --as-group=team-a-sudoers -n team-a get pods"
COMMAND = ("-n", "team-a", "get", "pods")


def test_a_repeated_sudo_command_sends_no_access_review(shell: Shell) -> None:
    assert shell.tells(*COMMAND)[:2] == (0, "done\n")
    assert len(shell.questions) == 3
    assert shell.questions[-1] == ACTING
    shell.answers()
    assert shell.tells(*COMMAND)[:2] == (0, "done\n")
    assert shell.questions == [ACTING]
    assert shell.tells("-n", "team-b", "get", "pods")[0] == 0, "another namespace is asked about"
    assert len(shell.questions) == 4


def test_a_former_sudoer_is_reported_after_the_error_of_kubectl(shell: Shell) -> None:
    shell.tells(*COMMAND)
    shell.answers(sudoer="nina", does="echo Forbidden >&2; exit 1")
    code, out, err = shell.tells(*COMMAND)
    assert (code, out) == (1, "")
    assert err.startswith('Forbidden\nerror: you (me) are not a sudoer of "team-a"; ')
    code, _, err = shell.tells(*COMMAND)
    assert err.startswith("error: you (me) are not a sudoer"), "nothing is run by what is forgotten"


def test_a_changed_login_is_reported_with_the_advice_to_repeat_the_command(shell: Shell) -> None:
    shell.tells(*COMMAND)
    shell.answers(who="nina", sudoer="nina", does="exit 1")
    code, _, err = shell.tells(*COMMAND)
    assert code == 1
    assert "run the command again" in err
    shell.answers(who="nina", sudoer="nina")
    assert shell.tells(*COMMAND)[0] == 0
    assert shell.questions == [ACTING.replace("=me", "=nina")]


def test_a_failure_of_the_command_itself_is_reported_unchanged(shell: Shell) -> None:
    shell.tells(*COMMAND)
    for code in (1, 3):
        shell.answers(does=f"echo no >&2; exit {code}")
        assert shell.tells(*COMMAND) == (code, "", "no\n")


OTHER_INSTANCE = """\
#!/bin/sh
echo "$@" >> "{asked}"
case "$*" in
  *whoami*) echo '{{"status": {{"userInfo": {{"username": "me"}}}}}}' ;;
  *"--raw /apis") echo '{{"groups": [{{"name": "tenancy.example.com",' ;
                  echo '  "versions": [{{"version": "v1beta1"}}]}}]}}' ;;
  *"--raw /apis/tenancy.example.com/v1beta1") echo '{{"resources": [{{"name": "lnamespaces"}}]}}' ;;
  *--raw*/tenancy.example.com/*) echo '{{"metadata": {{"name": "team-a"}},' ;
           echo '  "spec": {{"sudoers": [{{"name": "me"}}]}},' ;
           echo '  "status": {{"observedGeneration": 1}}}}' ;;
  *--raw*) echo 'Error from server (NotFound): the server could not find the requested resource' >&2
           exit 1 ;;
  *) exit 1 ;;
esac
"""


def test_a_failed_command_is_run_only_once_if_another_instance_is_found(shell: Shell) -> None:
    words = ("-n", "team-a", "exec", "web-0", "--", "sh", "-c", "charge-card; exit 1")
    shell.tells(*words)
    shell.answers()
    (shell.folder / "kubectl").write_text(OTHER_INSTANCE.format(asked=shell.asked))
    code, out, err = shell.tells(*words)
    assert [line for line in shell.questions if "charge-card" in line] == [
        "--as=me --as-group=team-a-sudoers -n team-a exec web-0 -- sh -c charge-card; exit 1"
    ]
    assert (code, out) == (1, "")
    assert err.startswith("error: ")


def test_a_kubeconfig_of_the_same_name_in_another_directory_is_not_remembered(shell: Shell) -> None:
    for folder in ("a", "b"):
        (shell.folder / folder).mkdir()
        (shell.folder / folder / "config").write_text("")
        shell.answers(who=folder, sudoer=folder)
        flags = ("--kubeconfig=config", *COMMAND)
        assert shell.tells(*flags, cwd=shell.folder / folder)[0] == 0
        acting = f"--as={folder} --as-group=team-a-sudoers"
        assert shell.questions[-1].startswith(acting)


def test_sudo_sends_access_reviews_each_time_without_a_kubeconfig(shell: Shell) -> None:
    (shell.folder / "config").unlink()
    for _ in range(2):
        assert shell.tells(*COMMAND)[0] == 0
    assert len(shell.questions) == 6


@pytest.mark.parametrize("flag", ["--token=secret", "--password=secret"])
def test_secrets_of_the_command_line_are_not_written_to_the_cache(flag: str, shell: Shell) -> None:
    for _ in range(2):
        assert shell.tells(flag, *COMMAND)[0] == 0
    assert len(shell.questions) == 6
    assert not (shell.folder / "cache").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_sudo_is_forwarded_to_kubectl(number: signal.Signals, shell: Shell) -> None:
    shell.tells(*COMMAND)
    trap = f"trap 'echo ended; exit 7' {number.name.removeprefix('SIG')}; echo ready; "
    shell.answers(does=trap + "while :; do sleep 0.05; done")
    process = shell.sudo(*COMMAND)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (7, "ended\n")


def test_sudo_ends_with_the_signal_that_ended_kubectl(shell: Shell) -> None:
    shell.tells(*COMMAND)
    shell.answers(does="kill -INT $$")
    assert shell.tells(*COMMAND)[0] == -signal.SIGINT


@pytest.mark.skipif(TYPE_CHECKING, reason="checkers see typing's own")
def test_the_named_tuple_replacement_behaves_like_that_of_typing() -> None:
    class Point(NamedTuple):
        x: int
        y: int = 2

    assert (Point(1), Point(x=1, y=3), Point(1, y=4)) == ((1, 2), (1, 3), (1, 4))
    assert (Point(1).x, Point(1)._replace(x=5), repr(Point(1))) == (1, (5, 2), "Point(x=1, y=2)")
    for values, named in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 1})):
        with pytest.raises(TypeError):
            Point(*values, **named)
