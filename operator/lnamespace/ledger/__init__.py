"""The ledger of who pays for which namespace, since when and until when.

* :mod:`~lnamespace.ledger.outbox` - BillingRecords in etcd that the database does not have yet.
* :mod:`~lnamespace.ledger.database` - the table, its views, and databases from their URLs.
* :mod:`~lnamespace.ledger.publisher` - the process that carries records into the database.
* :mod:`~lnamespace.ledger.costs` - a cloud's bill divided by cost centre.
* :mod:`~lnamespace.ledger.commands` - ``lnamespace ledger``, for people.
"""
