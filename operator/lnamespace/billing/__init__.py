"""Who pays for a namespace, and the ledger that remembers it for ever.

Who pays by default, in the order in which they build on each other:

* :mod:`~lnamespace.billing.payers` - who pays for whom, as values.
* :mod:`~lnamespace.billing.group_pattern` - patterns of group names that say who pays.
* :mod:`~lnamespace.billing.payers_yaml` - the file of it; :mod:`~lnamespace.billing.payers_file`
  reads it anew when it changes.
* :mod:`~lnamespace.billing.resolve` - who pays for what somebody creates; pure.
* :mod:`~lnamespace.billing.refusals` - why nobody does, and what to do about it.
* :mod:`~lnamespace.billing.directory` - groups that the API server does not know;
  :mod:`~lnamespace.billing.cloud_identity` asks Google for them.
* :mod:`~lnamespace.billing.payers_command` - ``lnamespace payers check``.

The ledger, likewise:

* :mod:`~lnamespace.billing.record` - one billing event, as a value and as an object in etcd.
* :mod:`~lnamespace.billing.crd` - the CustomResourceDefinition of such objects.
* :mod:`~lnamespace.billing.table` - the ledger's table, and the questions asked of it.
* :mod:`~lnamespace.billing.failures` - what a database's error means to us.
* :mod:`~lnamespace.billing.engines` - a database from its URL, every wait bounded;
  :mod:`~lnamespace.billing.bigquery` is the client for BigQuery.
* :mod:`~lnamespace.billing.ledger` - rows into the table, each once; rows out of it.
* :mod:`~lnamespace.billing.delivery` - a batch, so that a bad row does not stop the others.
* :mod:`~lnamespace.billing.outbox` - the records in etcd that the ledger does not have yet.
* :mod:`~lnamespace.billing.compare` - what the ledger lacks of the cluster; pure.
  :mod:`~lnamespace.billing.reconcile` looks at both and mends it.
* :mod:`~lnamespace.billing.publisher` - the process that carries records into the ledger.
* :mod:`~lnamespace.billing.commands` - ``lnamespace ledger``, for people.
* :mod:`~lnamespace.billing.costs` - the cloud's bill by cost centre.
"""
