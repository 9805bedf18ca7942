"""What the story is played on: a cluster of its own, the chart, the controller, the people."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Self

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER_TOOL = REPOSITORY / "hack" / "cluster"
NAMESPACE = "lnamespace-system"
ACCOUNT = "lnamespace-controller"
ADMIN = "admin"

PATIENCE = 20.0
"""Seconds for the controller to start."""


class StageError(Exception):
    """The stage cannot be set; the text says why and what to do."""


@dataclass(frozen=True)
class Answer:
    """What a command answered: its output as a person sees it, and its exit code."""

    code: int
    text: str


@dataclass
class Stage:
    """A folder with a control plane in it, and all that belongs to it.

    Nothing outside the folder is used or written: neither the caller's KUBECONFIG nor their
    ``~/.kube``. ``say`` is told what is going on.
    """

    directory: Path
    say: Callable[[str], None]
    environment: dict[str, str] = field(default_factory=dict)
    kubeconfigs: dict[str, str] = field(default_factory=dict)
    _controller: "subprocess.Popen[bytes] | None" = None

    @classmethod
    def new(cls, say: Callable[[str], None]) -> Self:
        """A stage in a folder of its own, so that demos do not meet."""
        clusters = REPOSITORY / ".cluster"
        clusters.mkdir(exist_ok=True)
        return cls(Path(tempfile.mkdtemp(prefix="demo-", dir=clusters)), say)

    def set_up(self, people: Sequence[str]) -> None:
        """Start everything, in the order in which it is needed.

        Raises
        ------
        StageError
            Something did not start.
        """
        self.say("Starting a Kubernetes control plane (the first time ever, this builds it).")
        self._cluster_up()
        self.environment = self._story_environment()
        self.kubeconfigs[ADMIN] = self.environment["KUBECONFIG"]
        self.say("Installing the chart.")
        self._helm_install()
        self._introduce_new_kind()
        self.say("Starting the controller, as the chart's ServiceAccount.")
        self._start_controller()
        self.say(f"Making users with certificates: {', '.join(people)}.")
        for person in people:
            script = str(REPOSITORY / "hack" / "new-user.sh")
            self.kubeconfigs[person] = self._output([script, person])

    def run(self, who: str, command: str, seconds: float = 90.0) -> Answer:
        """Run a command as that person, no shell in between."""
        environment = self.environment | {"KUBECONFIG": self.kubeconfigs[who]}
        try:
            done = subprocess.run(
                shlex.split(command),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return Answer(124, f"{_text(error.stdout)}(no end after {seconds:.0f} s)")
        except OSError as error:
            return Answer(127, str(error))
        return Answer(done.returncode, done.stdout)

    def controller_log(self, lines: int = 20) -> str:
        """The end of what the controller wrote."""
        try:
            text = self._log.read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def take_down(self) -> None:
        """Stop what was started, the last first, and delete the folder."""
        if self._controller is not None:
            self._controller.terminate()
            try:
                self._controller.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._controller.kill()
                self._controller.wait()
        if not any(self.directory.iterdir()):
            self.directory.rmdir()
            return
        # In a session of its own: a second Ctrl-C must not leave half a cluster behind.
        subprocess.run(
            [sys.executable, str(CLUSTER_TOOL), "down", "--dir", str(self.directory)],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )

    def how_to_use(self) -> str:
        """What to type to go on by hand, and to end it."""
        place = shlex.quote(os.path.relpath(self.directory))
        process = self._controller.pid if self._controller else ""
        people = "\n".join(
            f"  as {who:<24} export KUBECONFIG={shlex.quote(os.path.relpath(path))}"
            for who, path in self.kubeconfigs.items()
            if who != ADMIN
        )
        return (
            f"The cluster and the controller are still up (the controller's token is good for a "
            f"day).\n"
            f'  use it, as admin            eval "$(hack/cluster env --dir {place})"\n'
            f"{people}\n"
            f"  the controller's log        tail -f {os.path.relpath(self._log)}\n"
            f"  stop it                     kill {process}; hack/cluster down --dir {place}"
        )

    @property
    def _log(self) -> Path:
        return self.directory / "logs" / "controller.log"

    def _story_environment(self) -> dict[str, str]:
        """As little as there must be: no proxy, no settings, no home of the caller's."""
        exports = self._checked(
            [sys.executable, str(CLUSTER_TOOL), "env", "--dir", str(self.directory)], os.environ
        )
        script = 'eval "$1"; printf "%s\\n" "$KUBECONFIG" "$PATH"'
        answer = self._checked(["bash", "-c", script, "bash", exports], os.environ)
        kubeconfig, path = answer.splitlines()
        home = self.directory / "home"
        home.mkdir()
        return {"PATH": path, "HOME": str(home), "KUBECONFIG": kubeconfig, "LC_ALL": "C.UTF-8"}

    def _helm_install(self) -> None:
        chart = str(REPOSITORY / "charts" / "lnamespace")
        place = ["--namespace", NAMESPACE, "--create-namespace"]
        self._output(
            ["helm", "install", "lnamespace", chart, *place, "--set", "controller.deploy=false"]
        )
        crd = "crd/lnamespaces.tenancy.loblaw.digital"
        self._output(["kubectl", "wait", "--for=condition=Established", crd, "--timeout=30s"])

    def _introduce_new_kind(self) -> None:
        """Restart kube-controller-manager, so that its garbage collector knows LNamespaces.

        It looks for new kinds when it starts and every 30 s; that is nothing to a cluster that
        lives for years, and a long wait in a demo.
        """
        self.say("Introducing the new kind to the garbage collector, which looks every 30 s only.")
        pid = int((self.directory / "kube-controller-manager.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        self._cluster_up()

    def _cluster_up(self) -> None:
        _attached([sys.executable, str(CLUSTER_TOOL), "up", "--dir", str(self.directory)])

    def _start_controller(self) -> None:
        script = str(REPOSITORY / "hack" / "service-account-kubeconfig.sh")
        kubeconfig = self._output([script, NAMESPACE, ACCOUNT])
        with self._log.open("wb") as log:
            self._controller = subprocess.Popen(
                [str(Path(sys.executable).with_name("lnamespace")), "controller"],
                env=self.environment | {"KUBECONFIG": kubeconfig},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us; we stop it in order
            )
        deadline = time.monotonic() + PATIENCE
        while "caches are complete" not in self.controller_log():
            if self._controller.poll() is not None or time.monotonic() > deadline:
                raise StageError(f"the controller did not start:\n{self.controller_log()}")
            time.sleep(0.05)

    def _output(self, command: Sequence[str]) -> str:
        return self._checked(command, self.environment)

    @staticmethod
    def _checked(command: Sequence[str], environment: Mapping[str, str]) -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            _fail(command, done.returncode, done.stderr or done.stdout)
        return done.stdout.strip()


def _attached(command: Sequence[str]) -> None:
    """Run a command whose progress the caller sees; end it with us, in order."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait(timeout=30)
        raise
    if code:
        _fail(command, code, "see above")


def _fail(command: Sequence[str], code: int, text: str) -> NoReturn:
    raise StageError(f"`{shlex.join(command)}` failed with {code}: {text.strip()}")


def _text(output: str | bytes | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""
