"""The API server answers badly, or not at all: the controller makes everything so all the same.

Between the controller and the API server is a wire on which things go wrong; people reach the API
server by ways of their own. When all is well again everybody has what the lists say, nothing is
left of what is gone, and the ledger is told of each event.
"""

import itertools
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from tests.e2e.support.api import GROUP, Api, rbac_path
from tests.e2e.support.ledger import BILLINGRECORDS
from tests.e2e.support.people import user
from tests.e2e.support.processes import Controller
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import LISTS, Tenants
from tests.e2e.support.waiting import Measurements, eventually, measured
from tests.e2e.support.wire import Call, Kind, Trouble, Wire, every_other

PERSON = f"{GROUP}/person"
RECOVERY = 180.0
"""Seconds, on a busy machine too; what it took is measured."""

PATIENCE = 180.0
"""Seconds for what is done while things go wrong."""

PARTS = ("editor", "sudoer-impersonator")


@dataclass
class Town:
    """Some LNamespaces, what their lists should be, and of which there was which UID."""

    tenants: Tenants
    rights: Rights
    people: str
    lists: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    events: set[str] = field(default_factory=set)
    watched: bool = True
    """Whether the controller sees all that goes; who else does is for the tests of the ledger."""

    @property
    def admin(self) -> Api:
        return self.tenants.admin

    def day(self, interrupt: Callable[[], object] = lambda: None) -> None:
        """Everything that people do: create, edit, delete, spoil what is not theirs."""
        names = [self.tenants.name("wired") for _ in range(3)]
        for number, name in enumerate(names):
            self._create(name, number)
        interrupt()
        self.tenants.all_ready(names, PATIENCE)
        for number, name in enumerate(names):
            self._edit(name, number + 1)
        interrupt()
        # What it was changed to is known to it alone until it is recorded.
        self.tenants.ready(names[0], PATIENCE)
        self._delete(names[0])
        self.admin.remove(rbac_path("rolebindings", "lnamespace-users", names[1]))
        self.admin.patch(rbac_path("clusterroles", f"lnamespace:{names[2]}:editor"), {"rules": []})

    def settled(self) -> bool:
        """Return whether everybody has what the lists say, and nothing is left of what is gone."""
        self.tenants.all_ready(self.lists, 0)
        for name, lists in self.lists.items():
            assert self._subjects(name) == lists
        for name in self.gone:
            assert self._left_of(name) == []
        assert self._own() == self._sudoers()
        assert self._recorded() == self.events
        for name, lists in self.lists.items():
            self._check_rights(name, lists)
        return True

    def _create(self, name: str, number: int) -> None:
        lists = self._listed(number)
        made = self.tenants.create(name, billing={"costCenter": f"{number}"}, **lists)
        self.lists[name] = lists
        self.events.add(f"{made['metadata']['uid']}.1.apply")

    def _edit(self, name: str, number: int) -> None:
        lists = self._listed(number)
        made = self.tenants.edit(name, billing={"costCenter": f"{number}"}, **lists)
        self.lists[name] = lists
        self.events.add(f"{made['metadata']['uid']}.2.apply")

    def _delete(self, name: str) -> None:
        uid = self.tenants.get(name)["metadata"]["uid"]
        self.tenants.delete(name)
        self.events |= {f"{uid}.delete"} if self.watched else set()
        del self.lists[name]
        self.gone.add(name)

    def _listed(self, number: int) -> dict[str, list[str]]:
        return {field: [f"{self.people}-{field}-{number}"] for field in LISTS}

    def _check_rights(self, name: str, lists: dict[str, list[str]]) -> None:
        checks = (self.rights.works, self.rights.edits, self.rights.sudoes)
        for check, field_ in zip(checks, LISTS, strict=True):
            for number in range(4):
                who = f"{self.people}-{field_}-{number}"
                assert check(user(who), name) == (who in lists[field_]), (name, who)

    def _subjects(self, name: str) -> dict[str, list[str]]:
        paths = (
            rbac_path("rolebindings", "lnamespace-users", name),
            *(rbac_path("clusterrolebindings", f"lnamespace:{name}:{part}") for part in PARTS),
        )
        found = [(self.admin.find(path) or {}).get("subjects", []) for path in paths]
        names = [[subject["name"] for subject in subjects] for subjects in found]
        names[1] = [one for one in names[1] if one != f"{name}-sudoers"]  # who edits with sudo
        return dict(zip(LISTS, names, strict=True))

    def _left_of(self, name: str) -> list[str]:
        """Return what is left of its grants; the Namespace goes when it has been emptied."""
        places: list[str] = []
        for kind in ("clusterroles", "clusterrolebindings"):
            places += [rbac_path(kind, f"lnamespace:{name}:{part}") for part in PARTS]
        return [place for place in places if self.admin.find(place)]

    def _own(self) -> dict[str, set[str]]:
        """Return the people's own objects: whom they are for, and on whose account."""
        found: dict[str, set[str]] = {}
        for kind in ("clusterroles", "clusterrolebindings"):
            for item in self.admin.items(rbac_path(kind)):
                whose = item["metadata"].get("annotations", {}).get(PERSON, "")
                if whose.startswith(f"{self.people}-"):
                    owners = {o["uid"] for o in item["metadata"]["ownerReferences"]}
                    assert found.setdefault(whose, owners) == owners
        return found

    def _sudoers(self) -> dict[str, set[str]]:
        wanted: dict[str, set[str]] = {}
        for name, lists in self.lists.items():
            for person in lists["sudoers"]:
                wanted.setdefault(person, set()).add(self.tenants.get(name)["metadata"]["uid"])
        return wanted

    def _recorded(self) -> set[str]:
        """Return the events, without those which only say that an end was asked for."""
        mine = {event.partition(".")[0] for event in self.events}
        names = [item["metadata"]["name"] for item in self.admin.items(BILLINGRECORDS)]
        told = (".apply", ".delete") if self.watched else (".apply",)
        events = [name for name in names if name.endswith(told)]
        return {name for name in events if name.partition(".")[0] in mine}


_towns = itertools.count(1)


@pytest.fixture
def town(tenants: Tenants, rights: Rights) -> Town:
    """People of their own for each test."""
    return Town(tenants, rights, f"town{next(_towns)}")


def some(troubles: Mapping[str, Trouble], *usual: str) -> list[Any]:
    """Return the troubles; all but the usual ones are like these to the controller."""
    rare = pytest.mark.thorough
    return [pytest.param(how, marks=[] if how in usual else [rare]) for how in troubles]


def writes(call: Call) -> bool:
    return call.writes


def reads(call: Call) -> bool:
    return call.lists or call.watches


BAD_GATEWAY = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
TROUBLES = {
    "401": Trouble(Kind.REFUSED, 401, "Unauthorized"),
    "409": Trouble(Kind.REFUSED, 409, "Conflict"),
    "429": Trouble(Kind.REFUSED, 429, "TooManyRequests", seconds=1),
    "500": Trouble(Kind.REFUSED, 500, "InternalError"),
    "a proxy's page": Trouble(Kind.REFUSED, 502, body=BAD_GATEWAY),
    "cut": Trouble(Kind.CUT),
    "carried out and cut": Trouble(Kind.LOST),
    "half an answer": Trouble(Kind.HALF),
    "slow": Trouble(Kind.SLOW, seconds=0.3),
}


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("how", some(TROUBLES, "carried out and cut", "429"))
def test_failed_writes_are_retried_until_the_state_is_as_desired(
    how: str, line: Wire, town: Town, measurements: Measurements
) -> None:
    with line.trouble(every_other(TROUBLES[how], writes)):
        town.day()
    took = measured(town.settled, RECOVERY, tick=0.1)
    measurements.note(f"writes: {how}; well again, all is so", took)


WATCHES = {
    "410": Trouble(Kind.REFUSED, 410, "Expired"),
    "410 in the watch": Trouble(Kind.EXPIRED),
    "429": TROUBLES["429"],
    "500": TROUBLES["500"],
    "cut": TROUBLES["cut"],
    "half an answer": TROUBLES["half an answer"],
    "slow": TROUBLES["slow"],
}


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("how", some(WATCHES, "410", "cut"))
def test_no_event_is_lost_by_failing_watches(
    how: str, line: Wire, town: Town, measurements: Measurements
) -> None:
    with line.trouble(every_other(WATCHES[how], reads)):
        town.day(line.cut)
    took = measured(town.settled, RECOVERY, tick=0.1)
    measurements.note(f"watches: {how}; well again, all is so", took)


def test_a_request_without_an_answer_does_not_delay_other_lnamespaces(
    line: Wire, remote: Controller, tenants: Tenants, measurements: Measurements
) -> None:
    stuck = tenants.name("stuck")

    def silent(call: Call) -> Trouble | None:
        return Trouble(Kind.SILENT) if call.writes and call.about(stuck) else None

    since = remote.position
    with line.trouble(silent):
        tenants.create(stuck, users=["una"])
        eventually(lambda: line.met and line.met[-1].kind is Kind.SILENT)
        for _ in range(3):
            name = tenants.name("beside")
            tenants.create(name, users=["una"])
            # Before the request that gets no answer is given up.
            took = measured(partial(tenants.ready, name, 0), 20)
            measurements.note("created to Ready beside one without an answer", took)
    took = measured(partial(tenants.ready, stuck, 0), RECOVERY)
    measurements.note("no answer; well again, Ready", took)
    assert remote.running
    assert remote.defect not in remote.log(since)


@dataclass
class Reaper:
    """Kills a controller at writes of its own, and has it started again each time."""

    controller: Controller
    chance: random.Random
    died: threading.Event = field(default_factory=threading.Event)
    deaths: int = 0
    _left: int = 3

    def plan(self, call: Call) -> Trouble | None:
        """Before the write reaches the API server; or when it is done, and nobody heard of it."""
        if not call.writes or self.died.is_set():
            return None
        self._left -= 1
        if self._left:
            return None
        self._left = self.chance.randrange(10, 30)
        self.controller.kill()
        self.deaths += 1
        self.died.set()
        return Trouble(self.chance.choice((Kind.CUT, Kind.LOST)))

    @contextmanager
    def nurse(self) -> Iterator[None]:
        """Start it again, while the block runs, and once more if need be."""
        over = threading.Event()

        def start_again() -> None:
            while not over.is_set() or self.died.is_set():
                if self.died.wait(0.05):
                    self.controller.start()
                    self.died.clear()

        with ThreadPoolExecutor(1) as pool:
            nurse = pool.submit(start_again)
            try:
                yield
            finally:
                over.set()
            nurse.result()


def test_a_controller_killed_at_any_write_recovers(
    line: Wire, remote: Controller, town: Town, measurements: Measurements
) -> None:
    seed = int(os.environ.get("LNAMESPACE_SEED", "0")) or random.randrange(1, 10**6)
    sys.stdout.write(f"LNAMESPACE_SEED={seed}\n")
    town.watched = False
    reaper = Reaper(remote, random.Random(seed))
    with reaper.nurse(), line.trouble(reaper.plan):
        town.day()
        # A day may have too few writes, for those while it is started again are not counted.
        while reaper.deaths < 2:
            town.day()
    took = measured(town.settled, RECOVERY, tick=0.1)
    measurements.note("killed at writes and started again, all is so", took)
    assert reaper.deaths >= 2
    assert remote.running
