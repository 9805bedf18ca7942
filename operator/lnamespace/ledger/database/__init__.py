"""The ledger in a database.

* :mod:`~lnamespace.ledger.database.table` - the table's columns, names and rows.
* :mod:`~lnamespace.ledger.database.queries` - the statements on it;
  :mod:`~lnamespace.ledger.database.insertion` - how many rows each inserts.
* :mod:`~lnamespace.ledger.database.schema` - create and extend the table, replace the views.
* :mod:`~lnamespace.ledger.database.ledger` - :class:`Ledger`: append rows, read rows.
* :mod:`~lnamespace.ledger.database.corrections` - correct an event by hand, by further rows.
* :mod:`~lnamespace.ledger.database.engines` - a connection from a URL, every wait bounded;
  :mod:`~lnamespace.ledger.database.watchdog` for PostgreSQL,
  :mod:`~lnamespace.ledger.database.bigquery` for BigQuery.
* :mod:`~lnamespace.ledger.database.embedded` - the file of sqlite or DuckDB.
* :mod:`~lnamespace.ledger.database.failures` - errors of databases as LedgerErrors.
"""
