"""Everything fails at once: the ledger has each event once, in order, at its time.

Many people create, change and delete LNamespaces while the database fails in every way that the
stand-in knows and the processes are killed at random. What they did is known; the ledger must say
the same. LNAMESPACE_STORM=1000 makes it that many LNamespaces; LNAMESPACE_SEED repeats a run.
"""

import itertools
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.bigquery import QUICK_FAULTS, Fault, Kind
from tests.e2e.support.api import LNAMESPACES, Api, ApiError, Object, lns_path, ns_path
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.ledger import StandIn, compared, drained, standin
from tests.e2e.support.people import People, Person
from tests.e2e.support.processes import Process, Publisher
from tests.e2e.support.tenants import Tenants, manifest
from tests.e2e.support.waiting import Measurements, eventually

COUNT = int(os.environ.get("LNAMESPACE_STORM", "120"))
SEED = int(os.environ.get("LNAMESPACE_SEED", "0")) or random.randrange(1, 10**6)
PEOPLE = 8
AT_ONCE = 32
PATIENCE = 240.0
TICK = 0.3
"""Seconds; so many people must not keep the machine busy with asking."""

PROMPT = timedelta(seconds=10)
"""So late at most is the end of what was deleted while somebody knew."""

AWAKENING = timedelta(seconds=6)
"""So long at most after its start the publisher does not see all."""

WRITTEN = timedelta(seconds=2)
"""So long at most the webhook takes to write it down; after that it lets a deletion through."""

WEATHER = (
    *QUICK_FAULTS,
    Fault(Kind.HANG, seconds=2),
    Fault(Kind.LATE, times=2, seconds=2),
    Fault(Kind.SLOW, seconds=1),
)

TEXTS = ("plain", "it's", '"; DROP TABLE lnamespace_billing_events; --', "=1+1", "né 🦆", "")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Span:
    """From before something until after it."""

    start: datetime
    end: datetime

    def meets(self, other: "Span") -> bool:
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Event:
    """What was done, as the ledger must tell it."""

    operation: str
    namespace: str
    uid: str
    generation: int
    when: Span
    by: str
    charge: Object

    @property
    def identity(self) -> str:
        if self.operation == "DELETE":
            return f"{self.uid}/DELETE"
        return f"{self.uid}/{self.generation}/APPLY"


@dataclass(frozen=True)
class Farewell:
    """What was so when somebody asked for a deletion.

    ``told``: the generation that the controller had recorded before.
    """

    told: int
    asked: Span
    gone: datetime


@dataclass
class Life:
    """One LNamespace by the hand of one person, and by its name another after its end."""

    name: str
    person: Person
    admin: Api
    chance: random.Random
    events: list[Event] = field(default_factory=list)
    farewells: dict[str, Farewell] = field(default_factory=dict)
    """By UID."""
    recorded: dict[str, datetime] = field(default_factory=dict)
    """When that was seen, by the UID of one that followed another of its name."""

    def live(self) -> "Life":
        """From its creation to whatever comes."""
        self._create()
        if self.chance.random() < 0.6:
            namespace = self._delete()
            if self.chance.random() < 0.3:
                # At once: the former one's Namespace is there still, and costs.
                self._create()
                self.recorded[self.events[-1].uid] = now()
            self._see_gone(namespace)
        return self

    def _create(self) -> None:
        charge = self._charge()
        body = manifest(self.name, billing=charge)
        lns, when = self._do(lambda: self.person.api.create(LNAMESPACES, body))
        self._note(lns, when, charge)
        for _ in range(self.chance.randrange(4)):
            charge = self._edit(charge)
        self._see_recorded()

    def _edit(self, charge: Object) -> Object:
        if self.chance.random() < 0.3:
            users = [{"kind": "User", "name": f"guest-{self.chance.randrange(99)}"}]
            self._patch({"users": [{"kind": "User", "name": self.person.name}, *users]})
            return charge
        new = self._charge()
        gone = {key: None for key in charge.get("labels", {}) if key not in new.get("labels", {})}
        lns, when = self._patch({"billing": new | {"labels": new["labels"] | gone}})
        self._note(lns, when, new)
        return new

    def _delete(self) -> str:
        """Delete it; returns the UID of its Namespace."""
        last = self.events[-1]
        namespace: str = self.person.api.get(lns_path(self.name))["status"]["namespaceUID"]
        told = self._recorded()
        query = self.chance.choice(({}, {}, {}, {"propagationPolicy": "Foreground"}))
        _, asked = self._do(lambda: self.person.api.delete(lns_path(self.name), **query))
        eventually(lambda: self._uid() != last.uid, PATIENCE, "it does not go", tick=TICK)
        self.farewells[last.uid] = Farewell(told, asked, now())
        when = Span(asked.start, self.farewells[last.uid].gone)
        self.events.append(Event("DELETE", self.name, last.uid, 0, when, "", last.charge))
        return namespace

    def _see_gone(self, namespace: str) -> None:
        """Note an end when the Namespace is gone."""

        def gone() -> bool:
            found = self.admin.find(ns_path(self.name))
            return found is None or found["metadata"]["uid"] != namespace

        eventually(gone, PATIENCE, "its Namespace does not go", tick=TICK)
        (at,) = (n for n, event in enumerate(self.events) if event.operation == "DELETE")
        event, moment = self.events[at], now()
        self.events[at] = replace(event, when=Span(event.when.start, moment))
        self.farewells[event.uid] = replace(self.farewells[event.uid], gone=moment)

    def _patch(self, spec: Object) -> tuple[Object, Span]:
        return self._do(lambda: self.person.api.patch(lns_path(self.name), {"spec": spec}))

    def _do(self, request: Callable[[], Object]) -> tuple[Object, Span]:
        """Ask until it is done: the webhook may be dead, or the right be yet to be granted."""

        def attempt() -> tuple[Object, Span] | None:
            start = now()
            try:
                return request(), Span(start, now())
            except ApiError as error:
                if error.status in (403, 500):
                    raise AssertionError(str(error)) from error
                raise

        done = eventually(attempt, PATIENCE, self.name, tick=TICK)
        assert done
        return done

    def _note(self, lns: Object, when: Span, charge: Object) -> None:
        meta = lns["metadata"]
        uid, generation = meta["uid"], meta["generation"]
        self.events.append(
            Event("APPLY", self.name, uid, generation, when, self.person.name, charge)
        )

    def _see_recorded(self) -> None:
        """Nobody deletes what they have not yet got; some do not wait for more."""
        first = next(e for e in self.events if e.uid == self.events[-1].uid)
        wanted = self.chance.choice((first, self.events[-1])).generation
        eventually(lambda: self._recorded() >= wanted, PATIENCE, "not recorded", tick=TICK)

    def _recorded(self) -> int:
        lns = self.person.api.get(lns_path(self.name))
        return int(lns.get("status", {}).get("recorded", {}).get("generation", 0))

    def _uid(self) -> str:
        lns = self.person.api.find(lns_path(self.name))
        return lns["metadata"]["uid"] if lns else ""

    def _charge(self) -> Object:
        """Return who is to pay from now on; never the same twice."""
        text = self.chance.choice(TEXTS)
        return {
            "costCenter": f"{self.chance.randrange(10**9)}",
            "owner": text,
            "labels": {f"key-{self.chance.randrange(3)}": text},
        }


@dataclass
class Weather:
    """What befalls the database and the processes, one thing after the other."""

    service: StandIn
    victims: Sequence[Process]
    chance: random.Random
    outages: dict[Process, list[Span]] = field(default_factory=lambda: defaultdict(list))
    """When who was not there."""

    @property
    def webhook(self) -> Process:
        return self.victims[1]

    @property
    def publisher(self) -> Process:
        return self.victims[-1]

    def rage(self, fault: Fault) -> None:
        """Somebody is killed before the fault, or by it; afterwards all is well."""
        victim = self.chance.choice((*self.victims, None))
        if victim is self.publisher:
            self._suffer(fault)
        with self.killed(victim) if victim else nullcontext():
            if victim is not self.publisher:
                self._suffer(fault)
        self.service.clear()

    @contextmanager
    def killed(self, victim: Process) -> Iterator[None]:
        """It is dead for as long as the block takes."""
        since = now()
        victim.kill()
        try:
            yield
        finally:
            victim.start()
            self.outages[victim].append(Span(since, now() + AWAKENING))

    def unknown(self, farewell: Farewell) -> bool:
        """Return whether nobody may have known: the webhook is asked, and two processes watch."""
        asked, seen = farewell.asked, Span(farewell.asked.start, farewell.gone + PROMPT)
        hasty = asked.end - asked.start >= WRITTEN
        unasked = hasty or self._was_away(self.webhook, asked)
        return unasked and all(
            self._was_away(one, seen) for one in self.victims if one is not self.webhook
        )

    def _was_away(self, process: Process, moment: Span) -> bool:
        return any(map(moment.meets, self.outages[process]))

    def _suffer(self, fault: Fault) -> None:
        """See that somebody meets it: who has nothing to write, or pauses, is started anew."""
        self.service.plan(fault)
        try:
            eventually(lambda: self.service.planned() != [fault], 1.5, tick=0.05)
        except AssertionError:
            with self.killed(self.publisher):
                pass
            eventually(lambda: self.service.planned() != [fault], 60, "unmet", tick=0.05)


@pytest.fixture(scope="module")
def service() -> Iterator[StandIn]:
    with standin() as service:
        yield service


@pytest.fixture
def publisher(cluster: Cluster, service: StandIn) -> Iterator[Publisher]:
    process = service.ledger(cluster).publisher(LNAMESPACE_BATCH_SIZE="20")
    process.start()
    yield process
    process.stop()
    assert process.defect not in process.log()


@pytest.mark.thorough
@pytest.mark.timeout(300 + 3 * COUNT, func_only=True)
def test_the_ledger_records_every_event_once_despite_random_faults(
    cluster: Cluster,
    service: StandIn,
    publisher: Publisher,
    people: People,
    tenants: Tenants,
    measurements: Measurements,
) -> None:
    sys.stdout.write(f"LNAMESPACE_STORM={COUNT} LNAMESPACE_SEED={SEED}\n")
    started = time.monotonic()
    weather = Weather(
        service, (cluster.controller, cluster.webhook, publisher), random.Random(SEED)
    )
    crowd = [people.person(f"storm-{n}") for n in range(PEOPLE)]
    lives = [
        Life(tenants.name("storm"), crowd[n % PEOPLE], cluster.admin, random.Random(f"{SEED}-{n}"))
        for n in range(COUNT)
    ]
    with ThreadPoolExecutor(AT_ONCE) as hands:
        living = [hands.submit(life.live) for life in lives]
        storm(weather, living)
    for one in living:
        one.result()
    measurements.note("storm: all was done after", time.monotonic() - started)

    assert service.suffered() == set(Kind)
    calm(cluster.admin, publisher, [life.name for life in lives])
    measurements.note("storm: all was recorded after", time.monotonic() - started)
    ledger = service.ledger(cluster)
    assert "0 differences" in ledger.command("reconcile", "--dry-run").ok()
    events = [event for life in lives for event in life.events]
    farewells = {uid: one for life in lives for uid, one in life.farewells.items()}
    unknown = {uid: one.told for uid, one in farewells.items() if weather.unknown(one)}
    sys.stdout.write(f"{len(farewells)} deletions, {len(unknown)} while nobody may have known\n")
    mine = {event.namespace for event in events}
    shown = ledger.show()
    (facts,) = json.loads(ledger.command("status", "-o", "json").ok())
    assert (facts["outbox"], facts["rows"]) == (0, len(shown))  # No row is there twice.
    rows = [row for row in shown if row["namespace"] in mine]
    followed = {uid: when for life in lives for uid, when in life.recorded.items()}
    check = Check(rows, events, unknown, weather, followed)
    check.each_once_and_in_order()
    for seconds in check.as_they_were():
        measurements.note("storm: an end told late by", seconds)
    intervals = [one for one in ledger.intervals() if one["namespace"] in mine]
    assert sorted(map(span, intervals)) == sorted(expected_spans(rows))


def storm(weather: Weather, living: Sequence[Future[Life]]) -> None:
    """Cause every fault at least once, and go on until nobody does anything any more."""
    faults = list(WEATHER)
    weather.chance.shuffle(faults)
    for turn, fault in enumerate(itertools.cycle(faults)):
        if turn >= len(faults) and all(one.done() for one in living):
            return
        weather.rage(fault)


def calm(admin: Api, publisher: Publisher, names: Iterable[str]) -> None:
    """Wait until all that is there is recorded, written and compared."""
    tenants = Tenants(admin)
    there = {item["metadata"]["name"] for item in admin.items(LNAMESPACES)} & set(names)
    tenants.all_ready(there, 240)
    for _ in range(2):  # What the first finds, the second writes.
        publisher.stop()
        since = publisher.position
        publisher.start()
        compared(publisher, since)
    drained(admin)


@dataclass(frozen=True)
class Check:
    """What the ledger says, beside what was done.

    ``unknown`` are LNamespaces that went while nobody was there, by UID, with the generation that
    had been recorded: of these alone a later change may be missing, and the end be late.
    """

    rows: Sequence[Object]
    events: Sequence[Event]
    unknown: Mapping[str, int]
    weather: Weather
    followed: Mapping[str, datetime]
    """Those that waited for a Namespace of their name pay from when they have their own."""

    def each_once_and_in_order(self) -> None:
        """Nothing is missing, nothing is there twice, nothing was made up."""
        found = {row["event_id"] for row in self.rows}
        assert len(found) == len(self.rows)
        assert not found - {event.identity for event in self.events}
        lost = [e for e in self.events if e.identity not in found and not self._is_forgiven(e)]
        assert not lost, "\n".join(map(self._story, lost))
        told, done = (defaultdict[str, list[str]](list) for _ in range(2))
        for row in self.rows:
            told[row["event_id"].partition("/")[0]].append(row["event_id"])
        for event in self.events:
            if event.identity in found:
                done[event.uid].append(event.identity)
        assert told == done

    def as_they_were(self) -> Iterator[float]:
        """Check what each says was done, by whom and when; yield the seconds that ends are late."""
        done = {event.identity: event for event in self.events}
        for row in self.rows:
            event = done[row["event_id"]]
            assert row["operation"] == event.operation
            if event.operation == "APPLY":
                assert as_applied(row) == as_done(event)
                latest = self.followed.get(event.uid, event.when.end)
                assert event.when.start <= instant(row["valid_from"]) <= latest, (
                    row,
                    event,
                )
            else:
                yield self._lateness(row, event)

    def _is_forgiven(self, event: Event) -> bool:
        told = self.unknown.get(event.uid)
        return told is not None and event.operation == "APPLY" and event.generation > told

    def _lateness(self, row: Object, event: Event) -> float:
        ended = instant(row["valid_from"])
        # The API server's own time of a deletion has no fractions.
        assert event.when.start.replace(microsecond=0) <= ended <= now()
        late = ended - event.when.end
        assert late < PROMPT or event.uid in self.unknown, self._story(event)
        return max(late.total_seconds(), 0)

    def _story(self, of: Event) -> str:
        """Return all that can be said of an event that is not as it should be."""
        span = Span(of.when.start, max(e.when.end for e in self.events if e.uid == of.uid) + PROMPT)
        lines = [of.identity]
        lines += [f"  done: {e.identity} {e.when}" for e in self.events if e.uid == of.uid]
        own = (row for row in self.rows if row["event_id"].startswith(of.uid))
        lines += [f"  told: {row['event_id']} {row['valid_from']}" for row in own]
        for process, outages in self.weather.outages.items():
            lines += [f"  {process} was away: {one}" for one in outages if one.meets(span)]
        return "\n".join(lines)


def as_applied(row: Object) -> tuple[Any, ...]:
    names = ("cost_center", "owner", "labels", "changed_by", "requester", "generation")
    return tuple(row[name] for name in names)


def as_done(event: Event) -> tuple[Any, ...]:
    charge = event.charge
    said = (charge["costCenter"], charge["owner"], charge["labels"])
    return (*said, event.by, event.by, event.generation)


def span(row: Object) -> tuple[str, ...]:
    return (row["namespace"], row["valid_from"], row["valid_to"] or "", row["cost_center"])


def expected_spans(rows: Iterable[Object]) -> Iterator[tuple[str, ...]]:
    """Yield each payment until the next one in its namespace, or its LNamespace's end."""
    applied = defaultdict(list)
    ends = {}
    for row in rows:
        if row["operation"] == "APPLY":
            applied[row["namespace"]].append(row)
        else:
            ends[row["event_id"].partition("/")[0]] = row["valid_from"]
    for pays in applied.values():
        pays.sort(key=lambda row: instant(row["valid_from"]))
        for row, follower in itertools.zip_longest(pays, pays[1:]):
            bounds = [follower["valid_from"]] if follower else []
            bounds += [ends[uid]] if (uid := row["event_id"].partition("/")[0]) in ends else []
            until = min(bounds, key=instant, default="")
            if not until or instant(until) > instant(row["valid_from"]):
                yield span(row | {"valid_to": until})


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
