"""Reconcile LClusters: observe, decide, execute, report, as for LNamespaces.

* :mod:`~lnamespace.controller.lclusters.resource` - an LCluster as stored in the cluster; pure.
* :mod:`~lnamespace.controller.lclusters.shares`,
  :mod:`~lnamespace.controller.lclusters.division` - the totals of ``spec.quota``, divided
  among the namespaces; pure.
  :mod:`~lnamespace.controller.lclusters.share_quotas` - the ResourceQuotas of shares as stored.
* :mod:`~lnamespace.controller.lclusters.definitions` - CustomResourceDefinitions of tenants.
* :mod:`~lnamespace.controller.lclusters.cache` - the LClusters and the namespaces of each;
  :mod:`~lnamespace.controller.lclusters.reflectors` - the reflectors that keep the caches current.
* :mod:`~lnamespace.controller.lclusters.failed_creations` - Events of objects that did not fit into
  a share.
* :mod:`~lnamespace.controller.lclusters.quota` - the limit of LClusters of a requester; pure.
* :mod:`~lnamespace.controller.lclusters.observation` - the input of a decision; pure.
* :mod:`~lnamespace.controller.lclusters.decision` - from an observation to actions; pure.
* :mod:`~lnamespace.controller.lclusters.status` - the status and its conditions; pure.
* :mod:`~lnamespace.controller.lclusters.observer` - reads the caches, asks whether a name is free.
* :mod:`~lnamespace.controller.lclusters.charges` - BillingRecords of a tenant's namespaces.
* :mod:`~lnamespace.controller.lclusters.gateway_endpoints`,
  :mod:`~lnamespace.controller.lclusters.api_service` - the Service ``kubernetes`` of a tenant.
* :mod:`~lnamespace.controller.lclusters.location` - the address of the gateway, for the status.
* :mod:`~lnamespace.controller.lclusters.cost_reports`,
  :mod:`~lnamespace.controller.lclusters.tenant_info` - the ConfigMap in which a tenant reads who
  pays, what it cost and its limits.
* :mod:`~lnamespace.controller.lclusters.sharing` - writes shares, into the status first.
* :mod:`~lnamespace.controller.lclusters.executor` - the writes, in order.
* :mod:`~lnamespace.controller.lclusters.reporter` - writes the status and Events.
* :mod:`~lnamespace.controller.lclusters.reconciler` - the reconciler.
"""
