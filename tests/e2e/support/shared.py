"""Clusters that several files share: started by the first of them, stopped after the last.

A control plane on which nothing happens any more computes all the same.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.support.cluster import Cluster, running
from tests.e2e.support.instances import Instance, bare

C = TypeVar("C", bound=Cluster)
T = TypeVar("T")


@dataclass
class SharedClusters:
    """The clusters of one process, by the fixtures that return them."""

    folders: pytest.TempPathFactory
    _known: dict[str, Any] = field(default_factory=dict)
    _stacks: dict[str, ExitStack] = field(default_factory=dict)

    def running(self, name: str, kind: type[C]) -> C:
        """Return a cluster with our processes on it."""
        found = self.entered(name, lambda folder: running(folder, kind))
        assert isinstance(found, kind)
        return found

    def entered(self, name: str, start: Callable[[Path], AbstractContextManager[T]]) -> T:
        """Return what is there by that name, or else is started now."""
        if name not in self._known:
            self._stacks[name] = stack = ExitStack()
            self._known[name] = stack.enter_context(start(self.folders.mktemp(name)))
        found: T = self._known[name]
        return found

    def stop(self, name: str) -> None:
        """Stop it, if it was started."""
        self._known.pop(name, None)
        self._stacks.pop(name, ExitStack()).close()

    def stop_all(self) -> None:
        """Stop what a session that ends early has left."""
        for name in list(self._known):
            self.stop(name)


def all_running(cluster: C) -> C:
    """Start what the file before has left dead or stopped."""
    cluster.up()
    for process in cluster.ours:
        if not process.running:
            process.start()
    return cluster


@contextmanager
def with_lclusters(folder: Path) -> Iterator[Instance]:
    """Start a cluster with the chart, its gateway's parts and a webhook, without a controller."""
    with bare(folder) as instance:
        instance.install(
            "--set=gateway.enabled=true",
            "--set=gateway.deploy=false",
            "--set=gateway.host=lclusters.example.com",
            "--set=gateway.limitPerRequester=3",
            "--set=gateway.endpoints={192.0.2.7:6443}",
        )
        instance.cluster.learn_kinds()
        instance.webhook.start({"LNAMESPACE_LCLUSTERS": "yes"})
        yield instance
