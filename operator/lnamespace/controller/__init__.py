"""The loop that makes the cluster as the LNamespaces say.

Level-triggered: whatever happened, a key is put into the queue, and a worker compares what
should be with what is. In the order in which they build on each other:

* :mod:`~lnamespace.controller.queue` - which keys wait to be worked on.
* :mod:`~lnamespace.controller.resource` - the LNamespace as an API resource; pure.
* :mod:`~lnamespace.controller.quota` - the limit of LNamespaces per requester.
* :mod:`~lnamespace.controller.people` - which LNamespaces need which person.
* :mod:`~lnamespace.controller.lnamespace_index` - the LNamespaces by UID, readable or not.
* :mod:`~lnamespace.controller.cache` - what is known of the cluster, and whom news concerns.
* :mod:`~lnamespace.controller.accounts`, :mod:`~lnamespace.controller.profiles`,
  :mod:`~lnamespace.controller.admission_drift` - which ServiceAccounts there are, which profiles
  are in force, and whether the chart's policies are.
* :mod:`~lnamespace.controller.status` - what to say of an LNamespace; pure.
* :mod:`~lnamespace.controller.outcome` - what came of working on a key.
* :mod:`~lnamespace.controller.observation`, :mod:`~lnamespace.controller.observer` - what is known
  of one LNamespace, as a value, and what reads it from the cache.
* :mod:`~lnamespace.controller.decision` - what is to be done about it; pure.
* :mod:`~lnamespace.controller.execution` - the writes, in order.
* :mod:`~lnamespace.controller.report` - the status, Events and metrics;
  :mod:`~lnamespace.controller.events` - Events about LNamespaces and LClusters.
* :mod:`~lnamespace.controller.reconciler`, :mod:`~lnamespace.controller.person` - the reconcilers.
* :mod:`~lnamespace.controller.outbox` - creates BillingRecords.
* :mod:`~lnamespace.controller.deletion` - the end of an LNamespace, for the ledger;
  :mod:`~lnamespace.controller.deleted` - deleted LNamespaces, until the ledger has been told.
* :mod:`~lnamespace.controller.lclusters` - the same for LClusters.
* :mod:`~lnamespace.controller.dispatch` - makes the reconcilers; hands each key to its own.
* :mod:`~lnamespace.controller.handlers` - the kopf handlers of LNamespaces.
* :mod:`~lnamespace.controller.embedded_kopf` - kopf, embedded without a connection.
* :mod:`~lnamespace.controller.controller` - workers and reflectors, together.
* :mod:`~lnamespace.controller.instrumentation`, :mod:`~lnamespace.controller.liveness` - metrics;
  liveness and readiness.
* :mod:`~lnamespace.controller.process` - the process.
"""
