"""The controller: reconciles LNamespaces and LClusters.

It is level-triggered: each change adds a key to the queue, and a worker compares the desired
objects with the observed ones. In the order in which the modules build on each other:

* :mod:`~lnamespace.controller.queue` - the keys that wait for a worker; the result of
  a reconcile.
* :mod:`~lnamespace.controller.resource` - the LNamespace as an API resource; pure.
* :mod:`~lnamespace.controller.quota` - the limit of LNamespaces per requester.
* :mod:`~lnamespace.controller.indexes` - the LNamespaces by UID, readable or not; which of them
  need which person.
* :mod:`~lnamespace.controller.cache` - the stores of watched objects, and the keys of each change.
* :mod:`~lnamespace.controller.profiles`, :mod:`~lnamespace.controller.admission_drift` - which
  profiles are in force, and whether the chart's policies are.
* :mod:`~lnamespace.controller.status` - the status, with its conditions; pure.
* :mod:`~lnamespace.controller.observation`, :mod:`~lnamespace.controller.observer` - the inputs
  of a decision about one LNamespace, as a value, and what reads them from the cache.
* :mod:`~lnamespace.controller.decision` - the desired objects, and the actions; pure.
* :mod:`~lnamespace.controller.executor` - the writes, in order.
* :mod:`~lnamespace.controller.reporter` - the status, Events and metrics;
  :mod:`~lnamespace.controller.status_writer` - writes status and Events of both kinds.
* :mod:`~lnamespace.controller.reconciler`, :mod:`~lnamespace.controller.impersonator` - the
  reconcilers.
* :mod:`~lnamespace.controller.outbox` - creates BillingRecords.
* :mod:`~lnamespace.controller.deleted` - deleted LNamespaces, until their deletion is recorded by
  :mod:`~lnamespace.controller.deletion`.
* :mod:`~lnamespace.controller.lclusters` - the same for LClusters.
* :mod:`~lnamespace.controller.dispatch` - makes the reconcilers; hands each key to its own.
* :mod:`~lnamespace.controller.handlers` - the kopf handlers of LNamespaces.
* :mod:`~lnamespace.controller.embedded_kopf` - kopf, embedded without a connection.
* :mod:`~lnamespace.controller.controller` - workers and reflectors, together.
* :mod:`~lnamespace.controller.instrumentation`, :mod:`~lnamespace.controller.liveness` - metrics;
  liveness and readiness.
* :mod:`~lnamespace.controller.process` - the process.
"""
