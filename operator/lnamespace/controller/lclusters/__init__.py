"""Reconcile LClusters: observe, decide, execute, report, as for LNamespaces.

* :mod:`~lnamespace.controller.lclusters.resource` - an LCluster as stored in the cluster; pure.
* :mod:`~lnamespace.controller.lclusters.cache` - the LClusters and the namespaces of each.
* :mod:`~lnamespace.controller.lclusters.quota` - the limit of LClusters of a requester; pure.
* :mod:`~lnamespace.controller.lclusters.observation` - the input of a decision; pure.
* :mod:`~lnamespace.controller.lclusters.decision` - from an observation to actions; pure.
* :mod:`~lnamespace.controller.lclusters.status` - the status and its conditions; pure.
* :mod:`~lnamespace.controller.lclusters.observer` - reads the caches, asks whether a name is free.
* :mod:`~lnamespace.controller.lclusters.charges` - BillingRecords of a tenant's namespaces.
* :mod:`~lnamespace.controller.lclusters.gateway_endpoints`,
  :mod:`~lnamespace.controller.lclusters.api_service` - the Service ``kubernetes`` of a tenant.
* :mod:`~lnamespace.controller.lclusters.executor` - the writes, in order.
* :mod:`~lnamespace.controller.lclusters.reconciler` - the reconciler, with its report.
"""
