"""A control plane with the chart installed and the controller running, by the public commands."""

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from tests.e2e.support.api import LNAMESPACES, Api, ApiError
from tests.e2e.support.commands import REPOSITORY, Result, run
from tests.e2e.support.controller import DEFECT, Controller
from tests.e2e.support.tenants import manifest
from tests.e2e.support.waiting import eventually

RELEASE_NAMESPACE = "lnamespace-system"
SERVICE_ACCOUNT = "lnamespace-controller"

_TOOL = REPOSITORY / "hack" / "cluster"
_TOKEN = REPOSITORY / "hack" / "service-account-kubeconfig.sh"
_CHART = REPOSITORY / "charts" / "lnamespace"
_BUILD = 1500.0


class Cluster:
    """One cluster by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cluster"
        self._home = folder / "home"
        self._home.mkdir()
        self._log = folder / "controller.log"

    def up(self) -> None:
        """Start what is not running; the first time on a machine this builds the control plane."""
        run(_TOOL, "up", "--dir", self.folder, timeout=_BUILD).ok()

    def install(self) -> None:
        """Install the chart, but for the Deployment: there is nothing here to run it on."""
        words = f"install lnamespace {shlex.quote(str(_CHART))} --namespace {RELEASE_NAMESPACE}"
        flags = "--create-namespace --set controller.deploy=false --wait --timeout 60s"
        self.run("helm", *shlex.split(words), *flags.split()).ok()
        # The garbage collector looks for new kinds every 30 s; one that starts now knows ours.
        self.kill("kube-controller-manager")
        self.up()
        eventually(self._guarded, what="the policies are not in force")

    def down(self) -> None:
        """Stop it and leave nothing."""
        run(_TOOL, "down", "--dir", self.folder).ok()
        assert self.processes() == []

    def kill(self, daemon: str) -> None:
        """What a crash of a process of the control plane does."""
        os.kill(int((self.folder / f"{daemon}.pid").read_text()), signal.SIGKILL)

    @cached_property
    def environment(self) -> dict[str, str]:
        """What a shell has after eval of `hack/cluster env`, with a home of its own."""
        script = run(_TOOL, "env", "--dir", self.folder).ok()
        script += '\nprintf "%s\\n" "$KUBECONFIG" "$PATH"'
        kubeconfig, path = run("/bin/sh", "-c", script).ok().splitlines()
        return {"KUBECONFIG": kubeconfig, "PATH": path, "HOME": str(self._home)}

    @cached_property
    def admin(self) -> Api:
        """The administrator."""
        return Api(Path(self.environment["KUBECONFIG"]))

    @cached_property
    def controller(self) -> Controller:
        """The controller, with the token of the chart's service account; not started."""
        return Controller(self.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT), self._log)

    def token(self, namespace: str, account: str) -> Path:
        """The kubeconfig of a service account."""
        return Path(self.run(_TOKEN, namespace, account).ok().strip())

    def run(self, *command: str | Path, stdin: str | None = None) -> Result:
        """Run a command as the administrator."""
        return run(*command, env=self.environment, stdin=stdin)

    def processes(self) -> list[str]:
        """The command lines that name its folder; one that is dead already has none."""
        lines = run("ps", "-eww", "-o", "args=").ok().splitlines()
        return [line for line in lines if f"={self.folder}/" in line]

    def _guarded(self) -> bool:
        """Whether the policies act: they do so a moment after they are made."""
        person = self.admin.acting("nobody", "system:masters")
        body = manifest("guarded", requester="somebody")
        try:
            person.create(LNAMESPACES, body, dryRun="All")
        except ApiError as error:
            return "spec.requester is who creates" in error.message
        return False


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster with the chart and the controller; nothing is left of it, whatever happens."""
    cluster = Cluster(folder)
    try:
        cluster.up()
        cluster.install()
        cluster.controller.start()
        try:
            yield cluster
        finally:
            cluster.controller.stop()
        assert DEFECT not in cluster.controller.log()
    finally:
        cluster.down()
