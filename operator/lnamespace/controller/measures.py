"""What the controller tells Prometheus of its work.

Nothing that is counted here decides anything. Names of people and of LNamespaces stay inside.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from prometheus_client import Counter as Total
from prometheus_client import Gauge

from lnamespace.controller.cache import Tenant, WorkKey
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.controller.status import READY, is_ready
from lnamespace.kube.plan import Action, Delete
from lnamespace.kube.reflector import Pulse
from lnamespace.kube.resources import resource_of
from lnamespace.metrics.controller import ControllerMetrics
from lnamespace.model.lnamespace import LNamespace

DONE = "Done"
DEFECT = "Defect"
"""Results of a reconcile, besides the type of the error that put it off."""

PENDING = "Pending"
"""The reason of an LNamespace of which nothing has been said yet."""

_VERBS = {"POST": "create", "GET": "get", "PATCH": "patch", "DELETE": "delete"}


class Measures:
    """Counts, and remembers since when people have been waiting.

    Not ``active``, as a standby is, it measures no waiting: another process ends it.
    """

    def __init__(
        self,
        metrics: ControllerMetrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.metrics = metrics or ControllerMetrics.new()
        self.active = False
        self._clock = clock
        self._created: dict[str, float] = {}
        self._taken: dict[str, float] = {}
        self._failing: dict[WorkKey, str] = {}
        # What is looked up for each request is looked up once: labels cost more than counting.
        self._requests: Callable[[str, str, int], Total] = cache(self._requests_of)
        self._seconds = cache(self.metrics.api_seconds.labels)

    # --- requests and reconciles

    def requested(self, method: str, path: str, status: int, seconds: float) -> None:
        """Take note of a request to the API server."""
        self._requests(method, resource_of(path), status).inc()
        self._seconds(_VERBS[method]).observe(seconds)

    def _requests_of(self, method: str, resource: str, status: int) -> Total:
        return self.metrics.api_requests.labels(_VERBS[method], resource, status)

    def reconciled(self, key: WorkKey, result: str, seconds: float) -> None:
        """Take note of a reconcile: what came of it, and how long it took."""
        kind = "LNamespace" if isinstance(key, Tenant) else type(key).__name__
        self.metrics.reconciles.labels(kind, result).inc()
        self.metrics.reconcile_seconds.labels(kind).observe(seconds)
        if result == DONE:
            self._failing.pop(key, None)
        else:
            self._failing[key] = result

    # --- how long people wait

    def news(self, old: CachedLNamespace | None, new: CachedLNamespace | None) -> None:
        """Take in what the watch tells of an LNamespace: perhaps somebody begins to wait."""
        known = new or old
        if known is None:
            return
        lns, now = known.lns, self._clock()
        if old is None and new is not None and not new.lns.status.conditions:
            self._created.setdefault(lns.uid, now)
        if old is not None and (new is None or new.lns.uid != old.lns.uid):
            self._created.pop(old.lns.uid, None)
        if old is not None and _takes(old, new):
            self._taken.setdefault(lns.name, now)
        if not self.active and is_ready(lns):
            self._created.pop(lns.uid, None)
            self._taken.pop(lns.name, None)

    def ready(self, lns: LNamespace) -> None:
        """The status says Ready: who created it waits no more."""
        since = self._created.pop(lns.uid, None)
        if since is not None:
            self.metrics.create_to_ready.observe(self._clock() - since)

    def refused(self, lns: LNamespace) -> None:
        """It gets nothing for now: how long that takes is up to people."""
        self._created.pop(lns.uid, None)

    def applied(self, name: str, actions: Sequence[Action]) -> None:
        """Everything is as it should be, by these actions; with none, others had done it."""
        since = self._taken.pop(name, None)
        if since is not None and actions:
            self.metrics.edit_to_revoked.observe(self._clock() - since)

    @property
    def waiting(self) -> tuple[int, int]:
        """How many creations and how many revocations people are known to wait for."""
        return len(self._created), len(self._taken)

    def forget(self, name: str) -> None:
        """It is another controller's now, which does what people wait for."""
        self._taken.pop(name, None)

    def repaired(self, actions: Iterable[Action]) -> None:
        """These were necessary though nobody had asked for anything."""
        for action in actions:
            resource = action.resource if isinstance(action, Delete) else action.desired.resource
            self.metrics.drift.labels(resource.plural).inc()

    # --- what is true at the moment of being asked

    def text(self, leads: bool, waiting: int, lnamespaces: Iterable[CachedLNamespace]) -> bytes:
        """All metrics, as of now."""
        self.metrics.leader.set(leads)
        self.metrics.queue_depth.set(waiting)
        _fill(self.metrics.lnamespaces, (_reason(listed.lns) for listed in lnamespaces))
        _fill(self.metrics.failing, self._failing.values())
        return self.metrics.text()

    def heard(self, pulses: Iterable[tuple[str, Pulse]]) -> None:
        """Take note of since when nothing was heard of each resource."""
        for resource, pulse in pulses:
            self.metrics.watch_silence.labels(resource).set(self._clock() - pulse.heard)


def _takes(old: CachedLNamespace, new: CachedLNamespace | None) -> bool:
    """Whether somebody has less than before."""
    if new is None or new.lns.uid != old.lns.uid:
        return True
    return (new.going and not old.going) or not _listed(old.lns) <= _listed(new.lns)


def _listed(lns: LNamespace) -> set[tuple[str, str, str, str]]:
    lists = {"users": lns.spec.users, "managers": lns.spec.managers, "sudoers": lns.spec.sudoers}
    return {(f, m.kind, m.namespace, m.name) for f, members in lists.items() for m in members}


def _reason(lns: LNamespace) -> str:
    ready = lns.status.condition(READY)
    return ready.reason if ready else PENDING


def _fill(gauge: Gauge, values: Iterable[str]) -> None:
    gauge.clear()
    for value, count in Counter(values).items():
        gauge.labels(value).set(count)
