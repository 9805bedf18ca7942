"""What the story is played on: a cluster of its own, the chart, our processes, the people."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Self

from .process import Process, StageError

REPOSITORY = Path(__file__).resolve().parents[2]
PAYERS = Path(__file__).with_name("payers.yaml")
CLOUD = Path(__file__).with_name("cloud.py")
DEFINITIONS = tuple(Path(__file__).with_name(f"widgets-{each}.yaml") for each in ("v1", "v2"))
CLUSTER_TOOL = REPOSITORY / "hack" / "cluster"
NAMESPACE = "lnamespace-system"
ADMIN = "admin"

_GATEWAY_CA = "kube-public/lnamespace-gateway"
_FIRST = """
apiVersion: tenancy.loblaw.digital/v1beta1
kind: LNamespace
metadata: {name: knock-knock}
spec: {}
"""


@dataclass(frozen=True)
class Answer:
    """The answer of a command: its output as a person sees it, and its exit code."""

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
    processes: list[Process] = field(default_factory=list)

    @classmethod
    def new(cls, say: Callable[[str], None]) -> Self:
        """Return a stage in a folder of its own, so that demos do not disturb each other."""
        clusters = REPOSITORY / ".cluster"
        clusters.mkdir(exist_ok=True)
        return cls(Path(tempfile.mkdtemp(prefix="demo-", dir=clusters)), say)

    def set_up(self, people: Mapping[str, Sequence[str]]) -> None:
        """Start everything, in the order in which it is needed; people come with their groups.

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
        port = _free_port()
        self._helm_install(port)
        self._introduce_new_kind()
        self.say(
            "Starting webhook, controller, gateway and ledger, as the chart's ServiceAccounts."
        )
        self._start_webhook(port)
        gateway = _free_port()
        self._start_controller(gateway)
        self._start_gateway(gateway)
        self._start_ledger()
        self.say(f"Making users with certificates: {', '.join(people)}.")
        for person, groups in people.items():
            script = str(REPOSITORY / "hack" / "new-user.sh")
            self.kubeconfigs[person] = self._output([script, person, *groups])

    def run(self, who: str, command: str, seconds: float = 90.0) -> Answer:
        """Run a command as a person, without a shell in between."""
        environment = self.environment | {"KUBECONFIG": self.kubeconfigs[who]}
        try:
            done = subprocess.run(
                shlex.split(command),
                env=environment,
                cwd=self.directory,
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

    def logs(self) -> str:
        """Return the ends of the logs of our processes."""
        return "\n".join(f"log of {p.name}:\n{p.tail()}" for p in self.processes)

    def take_down(self) -> None:
        """Stop what was started, the last first, and delete the folder."""
        while self.processes:
            self.processes.pop().stop()
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
        """Return the commands to go on by hand, and to end the stage."""
        place = shlex.quote(os.path.relpath(self.directory))
        processes = " ".join(str(p.process.pid) for p in self.processes)
        ours = {k: v for k, v in self.environment.items() if k.startswith("LNAMESPACE_")}
        ledger = " ".join(f"{name}={shlex.quote(value)}" for name, value in ours.items())
        logs = " ".join(os.path.relpath(p.log) for p in self.processes)
        people = "\n".join(
            f"  as {who:<24} export KUBECONFIG={shlex.quote(os.path.relpath(path))}"
            for who, path in self.kubeconfigs.items()
            if who != ADMIN
        )
        return (
            f"The cluster and our processes are still up (their tokens are good for a day).\n"
            f'  use it, as admin            eval "$(hack/cluster env --dir {place})"\n'
            f"{people}\n"
            f"  the ledger                  export {ledger}\n"
            f"                              lnamespace ledger status\n"
            f"  their logs                  tail -f {logs}\n"
            f"  stop it                     kill {processes}; hack/cluster down --dir {place}"
        )

    def _story_environment(self) -> dict[str, str]:
        """Return a minimal environment: no proxy, no settings, not the home of the caller."""
        exports = self._checked(
            [sys.executable, str(CLUSTER_TOOL), "env", "--dir", str(self.directory)], os.environ
        )
        script = 'eval "$1"; printf "%s\\n" "$KUBECONFIG" "$PATH"'
        answer = self._checked(["bash", "-c", script, "bash", exports], os.environ)
        kubeconfig, path = answer.splitlines()
        home = self.directory / "home"
        home.mkdir()
        return {"PATH": path, "HOME": str(home), "KUBECONFIG": kubeconfig, "LC_ALL": "C.UTF-8"}

    def _helm_install(self, port: int) -> None:
        chart = str(REPOSITORY / "charts" / "lnamespace")
        place = ["--namespace", NAMESPACE, "--create-namespace"]
        values = ["controller.deploy=false", "ledger.deploy=false", "webhook.deploy=false"]
        values.append(f"webhook.url=https://127.0.0.1:{port}")
        values += ["gateway.enabled=true", "gateway.deploy=false", "gateway.host=localhost"]
        # No pods run here, and the policies for them refuse a CA that no gateway has told.
        values.append("gateway.pods=false")
        self._output(["helm", "install", "lnamespace", chart, *place, "--set", ",".join(values)])
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

    def _start_webhook(self, port: int) -> None:
        options = {
            "LISTEN": f"127.0.0.1:{port}",
            "SERVING_NAMES": "127.0.0.1",
            "DRAIN_SECONDS": "1",
            "PAYERS_FILE": str(PAYERS),
            "LCLUSTERS": "yes",
        }
        self._start("webhook", "webhook", **options).until(self._lets_in)

    def _lets_in(self) -> bool:
        command = ["kubectl", "create", "--dry-run=server", "-f", "-"]
        done = subprocess.run(
            command, env=self.environment, input=_FIRST.encode(), capture_output=True, check=False
        )
        return done.returncode == 0

    def _start_controller(self, gateway: int) -> None:
        options = {
            "LCLUSTERS": "yes",
            "GATEWAY_URL": f"https://localhost:{gateway}",
            "GATEWAY_CA_CONFIG_MAP": _GATEWAY_CA,
        }
        controller = self._start("controller", "controller", **options)
        controller.until(lambda: "caches are complete" in controller.tail())

    def _start_gateway(self, port: int) -> None:
        """Start the gateway with a certificate that it makes itself, as it does by default."""
        options = {
            "GATEWAY_LISTEN": f"127.0.0.1:{port}",
            "GATEWAY_HOST": "localhost",
            "GATEWAY_CERTIFICATE_DIRECTORY": "",
            "GATEWAY_CA_CONFIG_MAP": _GATEWAY_CA,
            "GATEWAY_SIGNER_SECRET": f"{NAMESPACE}/lnamespace-gateway-signer",
            "DRAIN_SECONDS": "1",
        }
        gateway = self._start("gateway", "gateway", **options)
        gateway.until(lambda: "listening" in gateway.tail())
        for file in DEFINITIONS:
            shutil.copy(file, self.directory)

    def _start_ledger(self) -> None:
        """Start the publisher; it writes rows every second, so that the story need not wait."""
        self.environment["LNAMESPACE_LEDGER_URL"] = f"sqlite:///{self.directory}/ledger.db"
        here = {"PROJECT_ID": "demo", "CLUSTER_LOCATION": "here", "CLUSTER_NAME": "demo"}
        self.environment |= {f"LNAMESPACE_{name}": value for name, value in here.items()}
        ledger = self._start("ledger", "ledger publish", FLUSH_SECONDS="1")
        ledger.until((self.directory / "ledger.db").exists)
        shutil.copy(CLOUD, self.directory)

    def _start(self, name: str, command: str, **options: str) -> Process:
        """Start a process of ours as its ServiceAccount; options as in its variables."""
        script = str(REPOSITORY / "hack" / "service-account-kubeconfig.sh")
        kubeconfig = self._output([script, NAMESPACE, f"lnamespace-{name}"])
        variables = {f"LNAMESPACE_{option}": value for option, value in options.items()}
        environment = self.environment | {"KUBECONFIG": kubeconfig} | variables
        log = self.directory / "logs" / f"{name}.log"
        self.processes.append(Process.start(command, log, environment))
        return self.processes[-1]

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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
