"""The namespaces in which users have rights through LNamespaces, and since which resource version.

The RoleBindings that the controller writes into the Namespaces of LNamespaces count. The API server
decides by them, and their resource versions show whether a client that resumes at a version has
seen them.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.model.names import NAMESPACE_BINDINGS
from lnamespace.model.subject import Subject, SubjectKind
from lnamespace.rbac.objects import decode_binding
from lnamespace.translate.protocol.numbers import is_version

_KINDS = frozenset(SubjectKind)
_LAG = 10.0
"""Seconds by which our watch of RoleBindings may be behind a list of something else."""
_ENDED = 20_000
_LISTED = 10_000

Subjects = frozenset[Subject]
Listener = Callable[[], None]


@dataclass(frozen=True)
class ObservedAt:
    """The resource version of a change, and when we observed it by the monotonic clock."""

    version: int
    observed: float


@dataclass(frozen=True)
class Resumption:
    """The changes of rights that a client has missed when it resumes at a resource version.

    Parameters
    ----------
    joined
        Namespaces whose events may not have been sent to it.
    lost
        Whether it may know of a namespace in which the rights have ended since.
    """

    joined: frozenset[str] = frozenset()
    lost: bool = False


class NamespaceRights:
    """The subjects that have rights, by namespace."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[Subject, dict[str, dict[str, ObservedAt]]] = {}
        """By subject and namespace, each binding that gives rights there."""
        self._lnamespaces: set[str] = set()
        self._bindings: dict[str, dict[str, WatchedObject]] = {}
        """By namespace and name, also where they do not count."""
        self._ended: OrderedDict[tuple[Subject, str], ObservedAt] = OrderedDict()
        """When the rights of a subject in a namespace ended last.

        There is one entry for each, so that a subject that is removed and added again does not
        displace the entries of others.
        """
        self._oldest_known_version = 0
        """The version before which ends of rights are not known."""
        self._listed: OrderedDict[tuple[int, str], float] = OrderedDict()
        """By the hash of the subjects: 10,000 lists of users with 200 groups held 200 MB."""
        self._listeners: dict[Subject, set[Listener]] = {}

    def begin(self, version: int) -> None:
        """Note the version of the first list of RoleBindings."""
        self._oldest_known_version = max(self._oldest_known_version, version)

    def update(
        self, old: WatchedObject | None, new: WatchedObject | None, newest_version: int
    ) -> None:
        """Update the rights after a change of a RoleBinding.

        Parameters
        ----------
        newest_version
            The newest version of any RoleBinding, for a deletion, which has no version of its own.
        """
        item = new or old
        if item is None or item.name not in NAMESPACE_BINDINGS or not item.namespace:
            return
        bindings = self._bindings.setdefault(item.namespace, {})
        if new:
            bindings[item.name] = new
        else:
            bindings.pop(item.name, None)
        if not bindings:
            del self._bindings[item.namespace]
        if item.namespace in self._lnamespaces:
            self._apply(old, new, new.version if new else newest_version)

    def update_namespace(
        self, old: WatchedObject | None, new: WatchedObject | None, newest_version: int
    ) -> None:
        """Update the rights after a Namespace became an LNamespace's, or is none any more.

        Bindings in other namespaces do not count: an admin of any namespace could bind all users
        there, delete the binding, and so end the watches of all.
        """
        item = new or old
        if item is None or (new is not None) == (item.name in self._lnamespaces):
            return
        for binding in self._bindings.get(item.name, {}).values():
            if new:
                self._apply(None, binding, max(binding.version, new.version))
            else:
                self._apply(binding, None, newest_version)
        (self._lnamespaces.add if new else self._lnamespaces.discard)(item.name)

    def _apply(self, old: WatchedObject | None, new: WatchedObject | None, version: int) -> None:
        item = new or old
        if item is None:
            return
        before, after = _bound(old), _bound(new)
        at = ObservedAt(version, self._clock())
        for subject in after - before:
            spaces = self._held.setdefault(subject, {})
            spaces.setdefault(item.namespace, {})[item.name] = at
        for subject in before - after:
            self._end(subject, item, at)
        for subject in before ^ after:
            for listener in list(self._listeners.get(subject, ())):
                listener()

    def held(self, subjects: Subjects) -> dict[str, ObservedAt]:
        """Return the namespaces in which any of the subjects has rights, and since when."""
        found: dict[str, ObservedAt] = {}
        for subject in subjects:
            for namespace, bindings in self._held.get(subject, {}).items():
                oldest = min(bindings.values(), key=lambda each: each.version)
                known = found.get(namespace)
                if known is None or oldest.version < known.version:
                    found[namespace] = oldest
        return found

    def recently_granted(self, subjects: Subjects, namespace: str, seconds: float) -> bool:
        """Return whether the API server may not know yet of the rights in a namespace."""
        # held() is too slow here: it was built once for each of a caller's namespaces.
        spaces = (self._held.get(subject, {}).get(namespace, {}) for subject in subjects)
        bindings = [at for each in spaces for at in each.values()]
        oldest = min(bindings, key=lambda each: each.version, default=None)
        return oldest is not None and self._clock() - oldest.observed < seconds

    def ended(self, subjects: Subjects, namespace: str) -> int:
        """Return the version at which the rights in a namespace ended last; 0 if unknown."""
        return max(
            (at.version for each in subjects if (at := self._ended.get((each, namespace)))),
            default=0,
        )

    def listed(self, subjects: Subjects, version: str, began: float) -> None:
        """Record that a list at a version has the namespaces with rights at ``began``."""
        self._listed.setdefault((hash(subjects), version), began)
        if len(self._listed) > _LISTED:
            self._listed.popitem(last=False)

    def now(self) -> float:
        """Return the time by which lists are noted."""
        return self._clock()

    def resumption(self, subjects: Subjects, version: str) -> Resumption:
        """Return the changes that a client has missed when it resumes at a version.

        Another replica may have answered the client's list a little before it or we observed a
        right. An event that is sent twice does no harm.
        """
        if not is_version(version) or int(version) < self._oldest_known_version:
            return Resumption(lost=True)
        resumed = int(version)
        observed = self._listed.get((hash(subjects), version), self._clock() - _LAG)

        def unknown(at: ObservedAt) -> bool:
            return at.version > resumed or at.observed > observed

        held = self.held(subjects)
        joined = frozenset(each for each, since in held.items() if unknown(since))
        lost = any(
            subject in subjects and unknown(at)
            for (subject, namespace), at in self._ended.items()
            if namespace not in held or namespace in joined
        )
        return Resumption(joined, lost)

    def listen(self, subjects: Subjects, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` when a right of the subjects changes; return a function to stop it."""
        for subject in subjects:
            self._listeners.setdefault(subject, set()).add(listener)

        def stop() -> None:
            for subject in subjects:
                listeners = self._listeners.get(subject, set())
                listeners.discard(listener)
                if not listeners:
                    self._listeners.pop(subject, None)

        return stop

    def _end(self, subject: Subject, item: WatchedObject, at: ObservedAt) -> None:
        spaces = self._held.get(subject, {})
        bindings = spaces.get(item.namespace, {})
        bindings.pop(item.name, None)
        if not bindings:
            spaces.pop(item.namespace, None)
        if not spaces:
            self._held.pop(subject, None)
        self._ended[subject, item.namespace] = at
        self._ended.move_to_end((subject, item.namespace))
        if len(self._ended) > _ENDED:
            _, forgotten = self._ended.popitem(last=False)
            self._oldest_known_version = max(self._oldest_known_version, forgotten.version)


def _bound(item: WatchedObject | None) -> frozenset[Subject]:
    """Return the subjects of a RoleBinding; empty if it cannot be read."""
    if item is None:
        return frozenset()
    try:
        binding = decode_binding(item.raw)
    except msgspec.MsgspecError:
        return frozenset()
    return frozenset(
        Subject(SubjectKind(each.kind), each.name, each.namespace)
        for each in binding.subjects
        if each.kind in _KINDS
    )
