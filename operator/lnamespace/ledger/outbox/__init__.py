"""BillingRecords: the billing events that wait in etcd until the publisher has written them.

* :mod:`~lnamespace.ledger.outbox.record` - the record of an event, and which records an LNamespace
  needs; pure.
* :mod:`~lnamespace.ledger.outbox.endings` - the records of its end; pure.
* :mod:`~lnamespace.ledger.outbox.tenant_charge` - the same of an LCluster's namespaces; pure.
* :mod:`~lnamespace.ledger.outbox.crd` - its CustomResourceDefinition.
* :mod:`~lnamespace.ledger.outbox.client` - create, list and delete records.
"""
