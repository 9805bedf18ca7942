"""The real cluster and its people: who can ask it for something, and what of it is up."""

import time
from collections.abc import Callable
from typing import Self

from tests.e2e.rights_model.accidents import Process as Killed
from tests.e2e.rights_model.books import LONG, Books
from tests.e2e.rights_model.cast import ADMIN, ROBOT, SUBJECTS, USERS, WHO
from tests.e2e.rights_model.collecting import overlooked
from tests.e2e.rights_model.model import Layout, sudoers
from tests.e2e.rights_model.steps import Parts
from tests.e2e.support.api import Api, ApiError, Unreachable
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.people import People
from tests.e2e.support.processes import Process
from tests.e2e.support.rights import Deed, Rights
from tests.e2e.support.waiting import eventually

_CANARY = Deed("create", "lnamespaces", group="tenancy.loblaw.digital")


class Stage:
    """A cluster with our processes, and those who act on it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.admin = cluster.admin
        self.rights = Rights(cluster.admin)
        self.parts = Parts()
        self.layout = self._started = Layout.GROUP
        self._held = False
        self.books = Books(cluster)
        self._apis = {ADMIN: cluster.admin, **_people(cluster)}

    def __enter__(self) -> Self:
        self.books.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.books.stop()

    def api(self, actor: str, sudo_in: str = "") -> Api:
        """Somebody's requests, perhaps with the headers that `kubectl sudo` sends."""
        own = self._apis[actor]
        if not sudo_in or actor == ADMIN:
            return own
        name = sudoers(sudo_in, self.parts.layout).username
        if self.parts.layout is Layout.GROUP:
            return own.acting(WHO[actor].user, name)
        return own.acting(name)

    def kill(self, process: Killed) -> None:
        """Crash what answers requests, and wait until it answers again."""
        match process:
            case "controller":
                if self.parts.controller:
                    self.cluster.controller.kill()
                self.parts.controller = self._held = False
            case "webhook":
                if self.parts.webhook:
                    self.cluster.webhook.kill()
                self.parts.webhook = False
            case "ledger":
                self.books.kill()
            case "kube-controller-manager":
                if self.parts.collector:
                    self.cluster.kill(process)
                self.parts.collector = False
            case _:
                self.cluster.kill(process)
                self._up()

    def pause(self) -> None:
        """Let the controller stand still."""
        if self.parts.controller and not self._held:
            self.cluster.controller.hold()
            self._held = True

    def upgrade(self, layout: Layout) -> None:
        """Upgrade the release; the controller knows nothing of it before it is started anew."""
        self.layout = layout
        # An API server that has just come back refuses what its policies do not know yet.
        eventually(self._upgraded, LONG, tick=0.5)

    def hurry(self) -> None:
        """Start the controller with the layout that the release does not have."""
        self.kill("controller")
        self._run(Layout.ACCOUNT if self.layout is Layout.GROUP else Layout.GROUP)
        self.parts.controller = True

    def start(self) -> None:
        """Have everything run, the controller in the layout of the release."""
        if self._started is not self.layout:
            self.kill("controller")
        if not self.parts.collector:
            self._up()
        if not self.parts.webhook:
            _start(self.cluster.webhook)
        if self._held:
            self.cluster.controller.release()
        if not self.parts.controller:
            self._run(self.layout)
        self.books.start()
        self._held, self.parts = False, Parts(layout=self.layout)

    def collect(self) -> list[str]:
        """Start the collector anew where it overlooked Namespaces, as the runbook says."""
        if found := overlooked(self.admin):
            self.kill("kube-controller-manager")
            self._up()
            eventually(lambda: not overlooked(self.admin), LONG, "it overlooks them still")
        return found

    def _run(self, layout: Layout) -> None:
        self._started = layout
        _start(self.cluster.controller, LNAMESPACE_SUDO_LAYOUT=layout)

    def _upgraded(self) -> bool:
        self.cluster.helm("upgrade", f"--set=sudoLayout={self.layout}")
        return True

    def _up(self) -> None:
        """Wait for the API server, which serves before it knows all roles and policies again."""
        self.cluster.up()
        self.parts.collector = True
        ann = WHO["ann"]
        eventually(lambda: reached(lambda: self.rights.may(ann, _CANARY)), LONG)


def reached(request: Callable[[], bool]) -> bool:
    """Return the answer to a request; False where there is none yet."""
    try:
        return request()
    except Unreachable:
        return False
    except ApiError as error:
        if not passing(error):
            raise
        return False


def passing(error: ApiError) -> bool:
    """Return whether it is no answer yet: something is about to be there."""
    if "failed calling webhook" in error.message:
        return False
    again = error.status in (401, 429) or error.status >= 500 or error.reason == "Conflict"
    return again or "not yet ready" in error.message


def persistently(request: Callable[[], None]) -> bool:
    """Ask until there is a definite answer; whether it was yes.

    What was asked before without an answer may have been done: then it cannot be done again.
    """
    started, asked_before = time.monotonic(), False
    while True:
        try:
            request()
        except (Unreachable, ApiError) as error:
            if isinstance(error, ApiError) and not passing(error):
                return asked_before and error.status in (404, 409)
            if time.monotonic() - started > LONG:
                raise
            asked_before = True
            time.sleep(0.1)
        else:
            return True


def _start(process: Process, **variables: str) -> None:
    since = process.launch(variables)
    eventually(lambda: process.ready(process.log(since)), LONG, f"{process} is not ready")


def _people(cluster: Cluster) -> dict[str, Api]:
    people, robot = People(cluster), SUBJECTS[ROBOT]
    apis = {label: people.person(WHO[label].user, *groups).api for label, groups in USERS.items()}
    return {**apis, ROBOT: people.account(robot.namespace, robot.name).api}
