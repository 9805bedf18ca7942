"""A control plane with the chart installed and our processes on it, by the public commands."""

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from tests.e2e.support.api import CRD, Api, ApiError
from tests.e2e.support.commands import REPOSITORY, Result, run
from tests.e2e.support.logins import with_token
from tests.e2e.support.processes import Controller, Process, Publisher, Webhook, free_port
from tests.e2e.support.programs import TOOL
from tests.e2e.support.waiting import eventually

RELEASE_NAMESPACE = "lnamespace-system"
SERVICE_ACCOUNT = "lnamespace-controller"
WEBHOOK_ACCOUNT = "lnamespace-webhook"
LEDGER_ACCOUNT = "lnamespace-ledger"

_CHART = REPOSITORY / "charts" / "lnamespace"
_BUILD = 1500.0


class Cluster:
    """One cluster by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cluster"
        self._home = folder / "home"
        self._home.mkdir()
        self._logs = folder
        self._port = free_port()

    def up(self) -> None:
        """Start what is not running; the first time on a machine this builds the control plane."""
        run(TOOL, "up", "--dir", self.folder, timeout=_BUILD).ok()

    def keep_audit_log(self, policy: str) -> None:
        """Make the API server write an audit log from its first start on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / ".lnamespace-cluster").touch()
        (self.folder / "audit-policy.yaml").write_text(policy)

    def install(self) -> None:
        """Install the chart, but for the Deployments: there is nothing here to run them on."""
        self.helm("install", "--create-namespace", "--wait", "--timeout", "280s")
        self.learn_kinds()
        eventually(self._guarded, what="the policies are not in force")

    def learn_kinds(self) -> None:
        """Restart kube-controller-manager, so that its garbage collector knows the present kinds.

        It looks for new ones every 30 s; one that starts now knows them.
        """
        self.kill("kube-controller-manager")
        self.up()

    def helm(self, verb: str, *flags: str) -> None:
        """Install or upgrade the chart for processes that run outside of the cluster."""
        outside = {
            "controller.deploy": "false",
            "ledger.deploy": "false",
            "webhook.deploy": "false",
            "webhook.url": f"https://127.0.0.1:{self._port}",
        }
        values = [f"--set={name}={value}" for name, value in outside.items()]
        release = ("lnamespace", str(_CHART), "--namespace", RELEASE_NAMESPACE)
        self.run("helm", verb, *release, *values, *flags).ok()

    def forget_discovery(self) -> None:
        """Delete kubectl's cache of discovery, which it keeps for hours by the server's address."""
        shutil.rmtree(self._home / ".kube" / "cache", ignore_errors=True)

    def down(self) -> None:
        """Stop it and leave nothing."""
        run(TOOL, "down", "--dir", self.folder).ok()
        assert self.processes() == []

    def kill(self, daemon: str) -> None:
        """Kill a process of the control plane, as a crash does; it is gone when this returns.

        A process that is about to end may still answer, and `up` would not restart it.
        """
        os.kill(int((self.folder / f"{daemon}.pid").read_text()), signal.SIGKILL)
        program = f"/{daemon} "
        eventually(lambda: not any(program in line for line in self.processes()), tick=0.05)

    @cached_property
    def environment(self) -> dict[str, str]:
        """Return the environment of a shell after `hack/cluster env`, with a home of its own."""
        script = run(TOOL, "env", "--dir", self.folder).ok()
        script += '\nprintf "%s\\n" "$KUBECONFIG" "$PATH"'
        kubeconfig, path = run("/bin/sh", "-c", script).ok().splitlines()
        return {"KUBECONFIG": kubeconfig, "PATH": path, "HOME": str(self._home)}

    @cached_property
    def admin(self) -> Api:
        """Return a client of the administrator."""
        return Api(Path(self.environment["KUBECONFIG"]))

    @cached_property
    def controller(self) -> Controller:
        """Return the controller; it is not started."""
        token = self.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
        return Controller(token, self._logs / "controller.log")

    @cached_property
    def webhook(self) -> Webhook:
        """Return the webhook; it is not started."""
        return self.another_webhook("webhook", self._port)

    def another_webhook(self, name: str, port: int, **variables: str) -> Webhook:
        """Return a further webhook; it is not started."""
        token = self.token(RELEASE_NAMESPACE, WEBHOOK_ACCOUNT)
        return Webhook(token, self._logs / f"{name}.log", self.admin, port, **variables)

    def publisher(self, url: str, **variables: str) -> Publisher:
        """Return the publisher for a database; it is not started."""
        token = self.token(RELEASE_NAMESPACE, LEDGER_ACCOUNT)
        return Publisher(token, self._logs / "ledger.log", url, **variables)

    @property
    def ours(self) -> Sequence[Process]:
        """Return our processes, in the order in which they are started."""
        return (self.webhook, self.controller)

    def token(self, namespace: str, account: str) -> Path:
        """Return the kubeconfig of a service account."""
        return with_token(self.admin, namespace, account)

    def run(self, *command: str | Path, stdin: str | None = None) -> Result:
        """Run a command as the administrator."""
        return run(*command, env=self.environment, stdin=stdin)

    def processes(self) -> list[str]:
        """Return the command lines that name the cluster's folder; a dead process has none."""
        lines = run("ps", "-eww", "-o", "args=").ok().splitlines()
        return [line for line in lines if f"={self.folder}/" in line]

    def _guarded(self) -> bool:
        """Return whether the policies are in force; they are a moment after they are created."""
        try:
            self.admin.delete(CRD, dryRun="All")
        except ApiError as error:
            return "it would delete every LNamespace" in error.message
        return False


@contextmanager
def running(folder: Path, kind: type[Cluster] = Cluster) -> Iterator[Cluster]:
    """Yield a cluster with the chart and our processes; nothing is left of it afterwards."""
    cluster = kind(folder)
    try:
        cluster.up()
        cluster.install()
        with ExitStack() as stack:
            for process in cluster.ours:
                stack.callback(process.stop)
                process.start()
            yield cluster
        for process in cluster.ours:
            assert process.defect not in process.log()
    finally:
        cluster.down()
