"""What is known of the cluster, and whom a piece of news concerns."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from lnamespace.access.layout import Layout
from lnamespace.access.limit import Limits
from lnamespace.access.person import Person
from lnamespace.controller.outbox import Departed, Departure
from lnamespace.controller.people import People
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.slots import Place, Slots
from lnamespace.errors import ModelError
from lnamespace.kube.objects import Key, Seen
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.store import Store
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec, Status, decode
from lnamespace.model.names import ACCOUNT_BINDING, RAILS_NAME, SUDOERS_BINDING, USERS_BINDING

NO_LIMITS = Limits()

SPONSOR_DELAY = 0.5
"""Seconds to wait before a person's owner references follow a change of the lists.

They matter to the garbage collector alone, and a person listed by a thousand new LNamespaces
would otherwise have one list of references written a thousand times.
"""


@dataclass(frozen=True)
class Tenant:
    """The key of one LNamespace."""

    name: str


WorkKey = Tenant | Person | Departed


class Listed(msgspec.Struct, frozen=True):
    """An LNamespace as the cluster has it; ``problem`` says why it could not be read."""

    key: Key
    version: int
    lns: LNamespace
    problem: str = ""

    def of_class(self, name: str) -> bool:
        """Whether it is for controllers of that class."""
        return self.lns.spec.class_name == name

    @property
    def going(self) -> bool:
        """Whether it is being deleted, waiting for somebody's finalizer."""
        return self.lns.metadata.deletion_timestamp is not msgspec.UNSET


TakeIn = Callable[[str, LNamespace | None, Seen | None], None]
News = Callable[[Listed | None, Listed | None], None]
"""Told what an LNamespace was and what it is, before anything is done about it."""


class _Head(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class _Class(msgspec.Struct, frozen=True, rename="camel"):
    class_name: str = ""


_head = msgspec.json.Decoder(_Head)
_class = msgspec.json.Decoder(_Class)
_status = msgspec.json.Decoder(Status)


def read_listed(raw: bytes | msgspec.Raw) -> Listed:
    """Read an LNamespace; one that breaks its schema becomes a problem to report, no failure."""
    try:
        lns, problem = decode(raw), ""
    except ModelError as error:
        lns, problem = _without_spec(raw), str(error)
    return Listed(("", lns.name), int(lns.metadata.resource_version), lns, problem)


def _without_spec(raw: bytes | msgspec.Raw) -> LNamespace:
    """Keep the status even so: it proves whose the Namespace is; and the class, if it has one."""
    head = _head.decode(raw)
    return LNamespace(head.metadata, Spec(class_name=_class_of(head.spec)), _status_of(head.status))


def _class_of(spec: msgspec.Raw) -> str:
    try:
        return _class.decode(spec).class_name
    except msgspec.DecodeError:
        return ""


def _status_of(status: msgspec.Raw) -> Status:
    try:
        return _status.decode(status)
    except msgspec.DecodeError:
        return Status()


class Cache:
    """The stores of all kinds that matter, feeding the queue."""

    def __init__(
        self,
        layout: Layout,
        queue: WorkQueue[WorkKey],
        news: News = lambda _, __: None,
        limits: Limits = NO_LIMITS,
        reserved: tuple[str, ...] = (),
        rails: Iterable[Resource] = (),
    ) -> None:
        self._names = layout.names
        self._queue = queue
        self._news = news
        self.people = People()
        self._slots = Slots(layout, limits, reserved, lambda name: queue.add(Tenant(name)))
        self.departures: dict[str, Departure] = {}
        """LNamespaces that are gone, by UID, until the ledger has been told."""
        self.lnamespaces: Store[Listed] = Store(self._lnamespace_changed)
        self.objects: dict[Resource, Store[Seen]] = {
            NAMESPACE: Store(self._namespace_changed),
            ROLE: Store(self._grant_changed),
            ROLE_BINDING: Store(self._grant_changed),
            CLUSTER_ROLE: Store(self._grant_changed),
            CLUSTER_ROLE_BINDING: Store(self._grant_changed),
        }
        self.objects |= {kind: Store[Seen](self._rail_changed) for kind in rails}

    def look(self, resource: Resource, key: Key) -> Seen | None:
        """What is known of an object."""
        return self.objects[resource].get(key)

    def tenant(self, name: str) -> Listed | None:
        """The LNamespace of that name."""
        return self.lnamespaces.get(("", name))

    @property
    def limited(self) -> bool:
        """Whether there is a limit of LNamespaces for anybody."""
        return self._slots.limits.exist

    def place(self, lns: LNamespace) -> Place:
        """Where one that has no Namespace is in its requester's line; if it is its turn, it has."""
        waited = self._slots.waits(lns.name)
        place = self._slots.ask(lns.name)
        if waited and place is Place.HOLDS:
            self._people_changed(None, lns)
        return place

    def exceeded(self, lns: LNamespace, place: Place) -> str:
        """Why one that is in line has to wait."""
        if place is Place.NEXT:
            return "It is made as soon as another namespace that is being deleted is gone."
        return self._slots.limits.refusal(lns.spec.requester, self._slots.used(lns.name))

    def doubts(self, name: str) -> bool:
        """Whether a Namespace may have been made of which nothing is known, for one that is gone.

        A request without an answer may have been carried out: its slot is not free before
        somebody has looked.
        """
        listed, given = self.tenant(name), self._slots.given_to(name)
        there = listed is not None and not listed.going and listed.lns.uid == given
        return bool(given) and not there and self.look(NAMESPACE, ("", name)) is None

    def settle(self, name: str) -> None:
        """Nobody works on that name but the caller: a slot that was given in vain is free again."""
        if self.limited:
            lns = self.ours(self.tenant(name))
            self._recount(name, lns, lns, self._slots.settle)

    def enqueue_all(self) -> None:
        """Have everything compared again."""
        for person in self.people:
            self._queue.add(person)
        for listed in self.lnamespaces:
            self._queue.add(Tenant(listed.lns.name))

    def ours(self, listed: Listed | None) -> LNamespace | None:
        """The LNamespace, if it is for our class; another's is none of our business."""
        return listed.lns if listed and listed.of_class(self._names.class_name) else None

    def _lnamespace_changed(self, old: Listed | None, new: Listed | None) -> None:
        was, is_ = self.ours(old), self.ours(new)
        self._news(old, new)
        waited = was is not None and self._slots.waits(was.name)
        # People first: by the time the LNamespace is done, its sudoers are, and it need not wait.
        if known := was or is_:
            self._recount(known.name, was, is_, self._slots.note)
        for lns in (was, is_):
            if lns is not None:
                self._queue.add(Tenant(lns.name))
        # One that is handed to another class is not gone; one that waited never cost anything.
        if was is not None and not waited and (new is None or new.lns.uid != was.uid):
            self.departures[was.uid] = Departure(was, datetime.now(UTC))
            self._queue.add(Departed(was.uid))

    def _recount(
        self, name: str, was: LNamespace | None, is_: LNamespace | None, take_in: TakeIn
    ) -> None:
        """See anew who has a slot. Of whom is still in line, the sudoers get nothing."""
        before = None if self._slots.waits(name) else was
        listed = self.tenant(name)
        lns = None if listed is None or listed.problem or listed.going else self.ours(listed)
        take_in(name, lns, self.look(NAMESPACE, ("", name)))
        self._people_changed(before, None if self._slots.waits(name) else is_)

    def _people_changed(self, was: LNamespace | None, is_: LNamespace | None) -> None:
        for person in self.people.update(was, is_):
            self._person_changed(person)

    def _person_changed(self, person: Person) -> None:
        key = (person.namespace, self._names.self_impersonator(person.digest))
        binding = ROLE_BINDING if person.namespace else CLUSTER_ROLE_BINDING
        if self.look(binding, key) is None:
            self._queue.add(person)
        else:
            self._queue.add_after(person, SPONSOR_DELAY)

    def _namespace_changed(self, old: Seen | None, new: Seen | None) -> None:
        if self.limited and (known := new or old):
            lns = self.ours(self.tenant(known.key[1]))
            self._recount(known.key[1], lns, lns, self._slots.note)
        for seen in (old, new):
            if seen is not None and (seen.managed or self.tenant(seen.key[1])):
                self._queue.add(Tenant(seen.key[1]))
        if old is None and new is not None:
            self._namespace_appeared(new.key[1])

    def _namespace_appeared(self, name: str) -> None:
        """What belongs there could not be made where there was no namespace."""
        if name == self._names.sudo_namespace:
            for listed in self.lnamespaces:
                self._queue.add(Tenant(listed.lns.name))
        for person in self.people.problems:
            if person.namespace == name:
                self._queue.add(person)

    def _grant_changed(self, old: Seen | None, new: Seen | None) -> None:
        seen = new or old
        if seen is not None and (key := self._concerned(*seen.key)):
            self._queue.add(key)

    def _rail_changed(self, old: Seen | None, new: Seen | None) -> None:
        """A quota tells of every pod that comes or goes, which changes nothing of ours."""
        seen = new or old
        if seen is None or (old and new and old.fingerprint == new.fingerprint):
            return
        if seen.key[1] == RAILS_NAME:
            self._queue.add(Tenant(seen.key[0]))

    def _concerned(self, namespace: str, name: str) -> WorkKey | None:
        if namespace and name in (USERS_BINDING, SUDOERS_BINDING, ACCOUNT_BINDING):
            return Tenant(namespace)
        shared = namespace in ("", self._names.sudo_namespace)
        if shared and (tenant := self._names.tenant_of(name)):
            return Tenant(tenant)
        if person := self._names.person_of(name):
            return Person(person, namespace)
        return None
