"""The kopf handlers of LNamespaces.

kopf calls a handler for every LNamespace that is created, edited or deleted::

    API server --watch--> reflector --> kopf --> lnamespace_changed --> store --> queue
         +------list----> reflector -----------------------------------> store

A handler puts the LNamespace of its event into the store, which compares resource versions. The
:class:`~lnamespace.controller.cache.Cache` enqueues one that has changed (``_lnamespace_changed``).
A worker of the :class:`~lnamespace.controller.controller.Controller` then reconciles it by the
caches (:mod:`~lnamespace.controller.reconciler`), not by the event: events may be late, or one for
many.

The :class:`~lnamespace.kube.reflector.Reflector` lists too: no watch reports LNamespaces that were
deleted while it was interrupted (docs/decisions/0038-kopf-handlers.md).
LClusters have no handler: a Reflector without kopf lists and watches them
(:mod:`~lnamespace.controller.lclusters.reflectors`).
"""

from collections.abc import Callable
from typing import Any

import kopf
import msgspec

from lnamespace.controller.embedded_kopf import EmbeddedKopf
from lnamespace.controller.resource import CachedLNamespace, read_lnamespace
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store


def lnamespace_handlers(
    resource: Resource, store: Store[CachedLNamespace], on_start: Callable[[], object]
) -> EmbeddedKopf:
    """Return a kopf operator that keeps a store of LNamespaces; ``on_start``: when it starts."""
    operator = EmbeddedKopf(resource, on_start)

    @kopf.on.event(resource.group, resource.version, resource.plural, registry=operator.registry)
    @operator.delivers
    async def lnamespace_changed(event: kopf.RawEvent, **_: Any) -> None:
        lnamespace = read_lnamespace(msgspec.json.encode(event["object"]))
        if event["type"] == "DELETED":
            store.remove(lnamespace.key, lnamespace.version)
        else:
            store.apply_event(lnamespace)

    return operator
