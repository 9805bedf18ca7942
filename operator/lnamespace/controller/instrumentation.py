"""The controller's metrics for Prometheus.

No decision depends on a metric. No label holds the name of a person or of an LNamespace.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from prometheus_client import Counter as PrometheusCounter
from prometheus_client import Gauge

from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.controller.cache import LNamespaceKey, WorkKey
from lnamespace.controller.deleted import DeletedLNamespaceKey
from lnamespace.controller.lclusters.cache import LClusterKey
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.controller.status import READY, is_ready
from lnamespace.kube.plan import Action, resource_changed
from lnamespace.kube.reflector import WatchActivity
from lnamespace.kube.resources import resource_of
from lnamespace.metrics.controller import ControllerMetrics
from lnamespace.model.lnamespace import LNamespace

DONE = "Done"
DEFECT = "Defect"
"""Results of a reconcile, besides the type of the error for which it is retried."""

PENDING = "Pending"
"""The reason of an LNamespace without a status."""

_KINDS = {
    LNamespaceKey: "LNamespace",
    LClusterKey: "LCluster",
    ImpersonatorKey: "Person",
    DeletedLNamespaceKey: "Departed",
}
"""Values of a label of the metrics, which people's dashboards and alerts may name."""
_VERBS = {"POST": "create", "GET": "get", "PATCH": "patch", "DELETE": "delete"}


class Instrumentation:
    """Counters of requests and reconciles, and the times that people wait.

    While it is not ``active``, as on a standby, it measures no waits: the leader ends them.
    """

    def __init__(
        self,
        metrics: ControllerMetrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.metrics = metrics or ControllerMetrics.new()
        self.active = False
        self._clock = clock
        self._creations: dict[str, float] = {}
        """Since when people wait for a new LNamespace, by its UID."""
        self._revocations: dict[str, float] = {}
        """Since when somebody is to lose access, by the name of the LNamespace."""
        self._failing: dict[WorkKey, str] = {}
        # Each series is looked up once: to find it by its labels costs more than to count.
        self._requests: Callable[[str, str, int], PrometheusCounter] = cache(self._requests_of)
        self._seconds = cache(self.metrics.api_seconds.labels)

    # --- requests and reconciles

    def requested(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request to the API server."""
        self._requests(method, resource_of(path), status).inc()
        self._seconds(_VERBS[method]).observe(seconds)

    def _requests_of(self, method: str, resource: str, status: int) -> PrometheusCounter:
        return self.metrics.api_requests.labels(_VERBS[method], resource, status)

    def reconciled(self, key: WorkKey, result: str, seconds: float) -> None:
        """Count a reconcile by its result, and measure its duration."""
        kind = _KINDS[type(key)]
        self.metrics.reconciles.labels(kind, result).inc()
        self.metrics.reconcile_seconds.labels(kind).observe(seconds)
        if result == DONE:
            self._failing.pop(key, None)
        else:
            self._failing[key] = result

    # --- how long people wait

    def record_change(self, old: CachedLNamespace | None, new: CachedLNamespace | None) -> None:
        """Note a change of an LNamespace, which may begin a wait."""
        known = new or old
        if known is None:
            return
        lns, now = known.lns, self._clock()
        if old is None and new is not None and not new.lns.status.conditions:
            self._creations.setdefault(lns.uid, now)
        if old is not None and (new is None or new.lns.uid != old.lns.uid):
            self._creations.pop(old.lns.uid, None)
        if old is not None and _revokes(old, new):
            self._revocations.setdefault(lns.name, now)
        if not self.active and is_ready(lns):
            self._creations.pop(lns.uid, None)
            self._revocations.pop(lns.name, None)

    def ready(self, lns: LNamespace) -> None:
        """Note that the status says Ready: its creation is complete."""
        since = self._creations.pop(lns.uid, None)
        if since is not None:
            self.metrics.create_to_ready.observe(self._clock() - since)

    def refused(self, lns: LNamespace) -> None:
        """Note that the LNamespace is refused: the length of its wait depends on people."""
        self._creations.pop(lns.uid, None)

    def applied(self, name: str, actions: Sequence[Action]) -> None:
        """Note that the actions were applied; with none, another process had applied them."""
        since = self._revocations.pop(name, None)
        if since is not None and actions:
            self.metrics.edit_to_revoked.observe(self._clock() - since)

    @property
    def waiting(self) -> tuple[int, int]:
        """Return how many creations and how many revocations are being waited for."""
        return len(self._creations), len(self._revocations)

    def forget(self, name: str) -> None:
        """Forget an LNamespace that another controller now reconciles."""
        self._revocations.pop(name, None)

    def repaired(self, actions: Iterable[Action]) -> None:
        """Count actions that repair drift."""
        for action in actions:
            self.metrics.drift.labels(resource_changed(action).plural).inc()

    # --- gauges

    def text(self, leads: bool, waiting: int, lnamespaces: Iterable[CachedLNamespace]) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self.metrics.leader.set(leads)
        self.metrics.queue_depth.set(waiting)
        _fill(self.metrics.lnamespaces, (_reason(listed.lns) for listed in lnamespaces))
        _fill(self.metrics.failing, self._failing.values())
        return self.metrics.text()

    def record_watch_activity(self, activities: Iterable[tuple[str, WatchActivity]]) -> None:
        """Set for each resource that is watched now how long its watch has been silent."""
        self.metrics.watch_silence.clear()
        for resource, activity in activities:
            self.metrics.watch_silence.labels(resource).set(self._clock() - activity.answered_at)


def _revokes(old: CachedLNamespace, new: CachedLNamespace | None) -> bool:
    """Return whether a change takes access away from somebody."""
    if new is None or new.lns.uid != old.lns.uid:
        return True
    return (new.terminating and not old.terminating) or not _listed(old.lns) <= _listed(new.lns)


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
