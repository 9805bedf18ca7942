"""What is known of the cluster, and whom a piece of news concerns."""

from dataclasses import dataclass

import msgspec

from lnamespace.access.layout import Layout
from lnamespace.access.person import Person
from lnamespace.controller.people import People
from lnamespace.controller.queue import WorkQueue
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
from lnamespace.model.lnamespace import LNamespace, Metadata, Status, decode
from lnamespace.model.names import SUDOERS_BINDING, USERS_BINDING

SPONSOR_DELAY = 0.5
"""Seconds to wait before a person's owner references follow a change of the lists.

They matter to the garbage collector alone, and a person listed by a thousand new LNamespaces
would otherwise have one list of references written a thousand times.
"""


@dataclass(frozen=True)
class Tenant:
    """The key of one LNamespace."""

    name: str


WorkKey = Tenant | Person


class Listed(msgspec.Struct, frozen=True):
    """An LNamespace as the cluster has it; ``problem`` says why it could not be read."""

    key: Key
    version: int
    lns: LNamespace
    problem: str = ""

    @property
    def going(self) -> bool:
        """Whether it is being deleted, waiting for somebody's finalizer."""
        return self.lns.metadata.deletion_timestamp is not msgspec.UNSET


class _Head(msgspec.Struct, frozen=True):
    metadata: Metadata
    status: msgspec.Raw = msgspec.Raw(b"{}")


_head = msgspec.json.Decoder(_Head)
_status = msgspec.json.Decoder(Status)


def read_listed(raw: bytes | msgspec.Raw) -> Listed:
    """Read an LNamespace; one that breaks its schema becomes a problem to report, no failure."""
    try:
        lns, problem = decode(raw), ""
    except ModelError as error:
        lns, problem = _without_spec(raw), str(error)
    return Listed(("", lns.name), int(lns.metadata.resource_version), lns, problem)


def _without_spec(raw: bytes | msgspec.Raw) -> LNamespace:
    """Keep the status even so: it proves whose the Namespace is."""
    head = _head.decode(raw)
    try:
        return LNamespace(head.metadata, status=_status.decode(head.status))
    except msgspec.DecodeError:
        return LNamespace(head.metadata)


class Cache:
    """The stores of all kinds that matter, feeding the queue."""

    def __init__(self, layout: Layout, queue: WorkQueue[WorkKey]) -> None:
        self._names = layout.names
        self._queue = queue
        self.people = People()
        self.lnamespaces: Store[Listed] = Store(self._lnamespace_changed)
        self.objects: dict[Resource, Store[Seen]] = {
            NAMESPACE: Store(self._namespace_changed),
            ROLE: Store(self._grant_changed),
            ROLE_BINDING: Store(self._grant_changed),
            CLUSTER_ROLE: Store(self._grant_changed),
            CLUSTER_ROLE_BINDING: Store(self._grant_changed),
        }

    def look(self, resource: Resource, key: Key) -> Seen | None:
        """What is known of an object."""
        return self.objects[resource].get(key)

    def tenant(self, name: str) -> Listed | None:
        """The LNamespace of that name."""
        return self.lnamespaces.get(("", name))

    def enqueue_all(self) -> None:
        """Have everything compared again."""
        for person in self.people:
            self._queue.add(person)
        for listed in self.lnamespaces:
            self._queue.add(Tenant(listed.lns.name))

    def _lnamespace_changed(self, old: Listed | None, new: Listed | None) -> None:
        # People first: by the time the LNamespace is done, its sudoers are, and it need not wait.
        for person in self.people.update(old.lns if old else None, new.lns if new else None):
            self._person_changed(person)
        for listed in (old, new):
            if listed is not None:
                self._queue.add(Tenant(listed.lns.name))

    def _person_changed(self, person: Person) -> None:
        key = (person.namespace, self._names.self_impersonator(person.digest))
        binding = ROLE_BINDING if person.namespace else CLUSTER_ROLE_BINDING
        if self.look(binding, key) is None:
            self._queue.add(person)
        else:
            self._queue.add_after(person, SPONSOR_DELAY)

    def _namespace_changed(self, old: Seen | None, new: Seen | None) -> None:
        for seen in (old, new):
            if seen is not None and (seen.managed or self.tenant(seen.key[1])):
                self._queue.add(Tenant(seen.key[1]))
        if old is None and new is not None:
            self._namespace_appeared(new.key[1])

    def _namespace_appeared(self, name: str) -> None:
        """A ServiceAccount's objects could not be made where there was no namespace."""
        for person in self.people.problems:
            if person.namespace == name:
                self._queue.add(person)

    def _grant_changed(self, old: Seen | None, new: Seen | None) -> None:
        seen = new or old
        if seen is not None and (key := self._concerned(*seen.key)):
            self._queue.add(key)

    def _concerned(self, namespace: str, name: str) -> WorkKey | None:
        if namespace and name in (USERS_BINDING, SUDOERS_BINDING):
            return Tenant(namespace)
        if not namespace and (tenant := self._names.tenant_of(name)):
            return Tenant(tenant)
        if person := self._names.person_of(name):
            return Person(person, namespace)
        return None
