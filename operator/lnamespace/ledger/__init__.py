"""The ledger: a database of who paid for which namespace, from when to when.

An event is first a BillingRecord in the cluster, then a row of the database. In that order:

* :mod:`~lnamespace.ledger.outbox` - BillingRecords, which wait in etcd for the publisher.
* :mod:`~lnamespace.ledger.database` - the table, its views, and a connection from a URL.
* :mod:`~lnamespace.ledger.publisher` - the process that writes records into the database.
* :mod:`~lnamespace.ledger.costs` - a cloud's bill, divided by cost centre.
* :mod:`~lnamespace.ledger.commands` - ``lnamespace ledger``, for people.
"""
